//! `mcp.lock.json`: approved tool definitions in a file that a team reviews and keeps. A daemon that uses one accepts exactly the definitions in
//! it. Pure but for reading the file.

use std::{
    collections::{BTreeSet, HashMap},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{kinds::HoldReason, ledger::Ledger, utc};
use crate::{failure::in_plain_words, storage, trust::fingerprint::Fingerprint, wire::json_fault};

/// The version of the file format.
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    version: u32,
    tools: Vec<LockedTool>,
}

/// An entry of the file: an accepted definition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LockedTool {
    /// The server.
    pub server: String,
    /// The tool, by the server's own name.
    pub tool: String,
    /// The fingerprint of its definition.
    pub fingerprint: String,
    /// The person who approved it; absent if a trusted server listed it first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved_by: Option<String>,
    /// The time of the approval.
    pub approved_at: String,
}

/// Why a lock file cannot be used.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum LockError {
    /// It does not exist.
    #[error("it does not exist")]
    Missing,
    /// It cannot be read, or its content is malformed.
    #[error("{0}")]
    Unreadable(String),
    /// Its version is not supported.
    #[error("its version is {0}, but mcpproxy reads version {VERSION}")]
    Version(u64),
    /// An entry has an invalid fingerprint.
    #[error("{server}:{tool} has no valid fingerprint")]
    Fingerprint {
        /// The server.
        server: String,
        /// The tool.
        tool: String,
    },
    /// A tool has two entries.
    #[error("{server}:{tool} appears twice")]
    Twice {
        /// The server.
        server: String,
        /// The tool.
        tool: String,
    },
}

/// The most names of reviewers that are shown.
const REVIEWERS: usize = 3;

/// The content of a lock file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lock {
    /// The accepted fingerprints by server and tool.
    accepted: HashMap<String, HashMap<String, Fingerprint>>,
    /// The entries in the order of the file.
    tools: Vec<LockedTool>,
    file: PathBuf,
}

/// The changes between an old lock file and a new one.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct LockChanges {
    /// `server:tool` of entries that the new one does not have.
    pub lost: Vec<String>,
    /// `server:tool` of entries that have another fingerprint in the new one.
    pub changed: Vec<String>,
}

impl Lock {
    /// Parses a lock file. Any mistake in it is an error, because a file that decides about trust must not be interpreted loosely.
    pub fn parse(text: &str) -> Result<Self, LockError> {
        let unreadable = |error| LockError::Unreadable(in_plain_words(&json_fault(&error)));
        let value: Value = serde_json::from_str(text).map_err(unreadable)?;
        // Checked first: another version may have other keys.
        let version = value.get("version").and_then(Value::as_u64);
        if let Some(version) = version.filter(|version| *version != u64::from(VERSION)) {
            return Err(LockError::Version(version));
        }
        let written: Written = serde_json::from_str(text).map_err(unreadable)?;
        if !is_made_of_objects(&value) {
            let problem = "the file must be an object {…}, and so must each of its tools";
            return Err(LockError::Unreadable(problem.to_owned()));
        }
        let mut lock = Self::default();
        for locked in &written.tools {
            let (server, tool) = (locked.server.clone(), locked.tool.clone());
            let Some(fingerprint) = Fingerprint::parse(&locked.fingerprint) else {
                return Err(LockError::Fingerprint { server, tool });
            };
            let tools = lock.accepted.entry(server.clone()).or_default();
            if tools.insert(tool.clone(), fingerprint).is_some() {
                return Err(LockError::Twice { server, tool });
            }
        }
        lock.tools = written.tools;
        Ok(lock)
    }

    /// Reads a lock file from the disk. Blocks.
    pub fn load(file: &Path) -> Result<Self, LockError> {
        let text = storage::read_text(file, u64::MAX).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => LockError::Missing,
            _ => LockError::Unreadable(storage::in_words(&error)),
        })?;
        Ok(Self::parse(&text)?.of_file(file))
    }

    /// The same content, read from this file.
    #[must_use]
    pub fn of_file(self, file: &Path) -> Self {
        Self {
            file: file.to_owned(),
            ..self
        }
    }

    /// The file; an empty path if the text came from none.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// The names of those who approved the entries: `ann, bob`. `None` if the file names nobody.
    pub fn reviewers(&self) -> Option<String> {
        let named = self
            .tools
            .iter()
            .filter_map(|tool| tool.approved_by.as_deref());
        let named: BTreeSet<&str> = named.collect();
        let first: Vec<&str> = named.iter().take(REVIEWERS).copied().collect();
        let more = if named.len() > REVIEWERS {
            " and others"
        } else {
            ""
        };
        (!first.is_empty()).then(|| format!("{}{more}", first.join(", ")))
    }

    /// The next step for a definition that the file does not have.
    pub fn next_step(&self) -> String {
        let file = self.file.display();
        let by = self
            .reviewers()
            .map_or_else(String::new, |by| format!(" ({by})"));
        format!("have a reviewer of {file}{by} approve the definitions, with entries there")
    }

    /// The text of a lock file with the entries of some servers, unchanged.
    pub fn export(&self, is_meant: impl Fn(&str) -> bool) -> String {
        let tools = self.tools.iter().filter(|tool| is_meant(&tool.server));
        lock_text(tools.cloned().collect())
    }

    /// The changes if `new` replaces this file. Entries that only `new` has are none.
    pub fn changes_to(&self, new: &Self) -> LockChanges {
        let mut changes = LockChanges::default();
        for tool in &self.tools {
            let before = self.fingerprint(&tool.server, &tool.tool);
            let after = new.fingerprint(&tool.server, &tool.tool);
            let named = format!("{}:{}", tool.server, tool.tool);
            match after {
                None => changes.lost.push(named),
                Some(_) if after != before => changes.changed.push(named),
                Some(_) => (),
            }
        }
        changes
    }

    fn fingerprint(&self, server: &str, tool: &str) -> Option<Fingerprint> {
        self.accepted.get(server)?.get(tool).copied()
    }

    /// Why this definition is held, if it is not accepted.
    pub fn hold_reason(&self, server: &str, tool: &str, one: Fingerprint) -> Option<HoldReason> {
        match self.fingerprint(server, tool) {
            Some(accepted) if accepted == one => None,
            Some(_) => Some(HoldReason::LockDiffers),
            None => Some(HoldReason::NotLocked),
        }
    }

    /// How many definitions are accepted.
    pub fn len(&self) -> usize {
        self.tools.len()
    }

    /// Whether nothing is accepted.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Whether the file's tools are objects. serde would also accept lists of the members' values.
fn is_made_of_objects(value: &Value) -> bool {
    let tools = value.get("tools").and_then(Value::as_array);
    tools.is_some_and(|tools| tools.iter().all(Value::is_object))
}

/// The text of a lock file with the approved tools of these ledgers, sorted, so that the same ledgers give the same text.
pub fn export<'a>(ledgers: impl Iterator<Item = (&'a str, &'a Ledger)>) -> String {
    let tools = ledgers
        .flat_map(|(server, ledger)| {
            let tools = ledger.approved_tools();
            tools.map(move |(tool, approved)| LockedTool {
                server: server.to_owned(),
                tool: tool.to_owned(),
                fingerprint: approved.fingerprint.to_hex(),
                approved_by: approved.by.as_deref().map(str::to_owned),
                approved_at: utc(approved.at),
            })
        })
        .collect();
    lock_text(tools)
}

fn lock_text(mut tools: Vec<LockedTool>) -> String {
    tools.sort_by(|a, b| (&a.server, &a.tool).cmp(&(&b.server, &b.tool)));
    let written = Written {
        version: VERSION,
        tools,
    };
    let mut text =
        serde_json::to_string_pretty(&written).expect("our own types have string keys only");
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(server: &str, tool: &str, fingerprint: &str) -> String {
        format!(
            r#"{{"server":"{server}","tool":"{tool}","fingerprint":"{fingerprint}","approved_at":"x"}}"#
        )
    }

    fn lock(tools: &[String]) -> String {
        format!(r#"{{"version":1,"tools":[{}]}}"#, tools.join(","))
    }

    #[test]
    fn whatever_is_wrong_with_a_lock_file_is_an_error() {
        let (one, two) = ("1".repeat(64), "2".repeat(64));
        let parsed = Lock::parse(&lock(&[tool("a", "x", &one), tool("b", "x", &two)]));
        let parsed = parsed.expect("a lock file");
        let print = |text: &str| Fingerprint::parse(text).expect("a fingerprint");
        for (server, tool, text, held) in [
            ("a", "x", &one, None),
            ("a", "x", &two, Some(HoldReason::LockDiffers)),
            ("a", "y", &one, Some(HoldReason::NotLocked)),
            ("c", "x", &one, Some(HoldReason::NotLocked)),
        ] {
            assert_eq!(parsed.hold_reason(server, tool, print(text)), held);
        }
        assert_eq!(parsed.len(), 2);
        for broken in [
            String::new(),
            "{}".to_owned(),
            r#"{"version":2,"tools":[]}"#.to_owned(),
            r#"{"version":1,"tools":[],"more":1}"#.to_owned(),
            lock(&[tool("a", "x", "nonsense")]),
            lock(&[tool("a", "x", &one), tool("a", "x", &one)]),
            lock(&[tool("a", "x", &one).replace("tool", "tol")]),
            "[1,[]]".to_owned(),
            lock(&[format!(r#"["a","x","{one}",null,"x"]"#)]),
        ] {
            assert!(Lock::parse(&broken).is_err(), "{broken}");
        }
        let later = r#"{"version":2,"tools":{},"more":1}"#;
        assert_eq!(Lock::parse(later), Err(LockError::Version(2)));
    }
}
