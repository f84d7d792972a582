//! `mcp.lock.json`: what was approved, as a file that a team reviews and keeps. A daemon that serves one accepts exactly what it has. Pure.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::{kinds::ThingKind, ledger::Ledger, moment::utc};
use crate::fingerprint::Fingerprint;

/// The version of the file format.
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    version: u32,
    tools: Vec<LockedTool>,
}

/// A definition that is accepted, as the file has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LockedTool {
    /// The server.
    pub server: String,
    /// The tool, by the server's own name.
    pub tool: String,
    /// The fingerprint of its definition.
    pub fingerprint: String,
    /// Who approved it; absent where it was seen first on a trusted server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved_by: Option<String>,
    /// When.
    pub approved_at: String,
}

/// Why a lock file cannot be used.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum LockError {
    /// It is not of the form.
    #[error("{0}")]
    Unreadable(String),
    /// It is of another version.
    #[error("its version is {0}, and this program knows {VERSION}")]
    Version(u32),
    /// A fingerprint is none.
    #[error("the fingerprint of {server}:{tool} is none")]
    Fingerprint {
        /// Whose.
        server: String,
        /// Of which tool.
        tool: String,
    },
    /// A tool stands there twice.
    #[error("{server}:{tool} stands there twice")]
    Twice {
        /// Whose.
        server: String,
        /// Which tool.
        tool: String,
    },
}

/// What a lock file accepts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lock(HashMap<String, HashMap<String, Fingerprint>>);

impl Lock {
    /// Reads a lock file. Whatever is wrong with it is an error: what decides about trust is not guessed at.
    pub fn parse(text: &str) -> Result<Self, LockError> {
        let written: Written =
            serde_json::from_str(text).map_err(|error| LockError::Unreadable(error.to_string()))?;
        if written.version != VERSION {
            return Err(LockError::Version(written.version));
        }
        let mut lock = Self::default();
        for LockedTool {
            server,
            tool,
            fingerprint,
            ..
        } in written.tools
        {
            let Some(fingerprint) = Fingerprint::parse(&fingerprint) else {
                return Err(LockError::Fingerprint { server, tool });
            };
            let tools = lock.0.entry(server.clone()).or_default();
            if tools.insert(tool.clone(), fingerprint).is_some() {
                return Err(LockError::Twice { server, tool });
            }
        }
        Ok(lock)
    }

    /// Whether this definition is accepted.
    pub fn accepts(&self, server: &str, tool: &str, fingerprint: Fingerprint) -> bool {
        let accepted = self.0.get(server).and_then(|tools| tools.get(tool));
        accepted.is_some_and(|accepted| *accepted == fingerprint)
    }

    /// How many definitions are accepted.
    pub fn len(&self) -> usize {
        self.0.values().map(HashMap::len).sum()
    }

    /// Whether nothing is accepted.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The text of the lock file that accepts what these ledgers have approved: by server and tool, the same for the same ledgers.
pub fn export<'a>(ledgers: impl Iterator<Item = (&'a str, &'a Ledger)>) -> String {
    let mut tools: Vec<LockedTool> = ledgers
        .flat_map(|(server, ledger)| {
            let tools = ledger.approved.iter();
            let tools = tools.filter(|((kind, _), _)| *kind == ThingKind::Tool);
            tools.map(move |((_, tool), approved)| LockedTool {
                server: server.to_owned(),
                tool: tool.to_string(),
                fingerprint: approved.fingerprint.to_hex(),
                approved_by: approved.by.as_deref().map(str::to_owned),
                approved_at: utc(approved.at),
            })
        })
        .collect();
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
        assert!(parsed.accepts("a", "x", print(&one)) && !parsed.accepts("a", "x", print(&two)));
        assert!(!parsed.accepts("a", "y", print(&one)) && !parsed.accepts("c", "x", print(&one)));
        assert_eq!(parsed.len(), 2);
        for broken in [
            String::new(),
            "{}".to_owned(),
            r#"{"version":2,"tools":[]}"#.to_owned(),
            r#"{"version":1,"tools":[],"more":1}"#.to_owned(),
            lock(&[tool("a", "x", "nonsense")]),
            lock(&[tool("a", "x", &one), tool("a", "x", &one)]),
            lock(&[tool("a", "x", &one).replace("tool", "tol")]),
        ] {
            assert!(Lock::parse(&broken).is_err(), "{broken}");
        }
    }
}
