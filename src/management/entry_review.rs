//! The review of an entry: how it is written, what agents changed of it, and which changes keep the server quarantined. The entry as a
//! person left it is kept in the data folder from the first such change on, as a reviewer may see it: without credentials.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Backing, Management, patching::Planned, writing::blocking};
use crate::{
    config::{
        self, AgentTexts, ReviewedValue, Settings, ShownSettings, reviewed_values, written_entry,
    },
    storage::{self, DataFile},
    text::names::ServerName,
};

/// The version of the format.
const VERSION: u32 = 2;

/// Limit: bytes of a file that are read. An entry that an agent writes has 32 KiB.
const LARGEST: u64 = 1 << 20;

/// The changes that agents made to an entry.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
pub struct EntryReview {
    /// The changes that keep the server quarantined.
    pub held_for: Vec<String>,
    /// Whether an agent added the server.
    pub is_new: bool,
    /// What agents changed; empty if one added the server.
    pub changes: Vec<EntryChange>,
}

/// A changed value of an entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct EntryChange {
    /// The key, such as `env.NAME`.
    pub place: String,
    /// The old value; absent if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub was: Option<String>,
    /// The new value; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is: Option<String>,
    /// Whether it keeps the server quarantined.
    pub holds: bool,
}

/// Where an entry is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ShownIn {
    /// In a review, with the texts that agents wrote.
    Review,
    /// Anywhere else, with every text masked that might be a secret.
    Listing,
}

/// The file that is kept for the review of an entry.
#[derive(Serialize, Deserialize)]
struct KeptEntry {
    version: u32,
    server: String,
    held_for: BTreeSet<String>,
    /// The values as a person left them; absent if an agent added the server.
    values: Option<BTreeMap<String, ReviewedValue>>,
    /// The texts that agents wrote since.
    by_agents: AgentTexts,
}

impl<B: Backing> Management<B> {
    /// The entry of a server as it is shown, usable or not, and what agents changed of it. The entry in force if no file has it. Blocks.
    pub(super) fn reviewed_entry(
        &self,
        settings: &Settings,
        name: &str,
        shown_in: ShownIn,
    ) -> (Option<Value>, Option<EntryReview>) {
        let in_force = settings.readable_entry(name).map(|entry| entry.shown());
        let text = config::read_text(self.config_file()).ok();
        let Some(written) = text.and_then(|text| written_entry(&text, name).ok()) else {
            return (in_force, None);
        };
        let kept = read(self.data_dir(), name).filter(|_| is_quarantined(&written));
        let none = AgentTexts::default();
        let reviewed = kept.as_ref().filter(|_| shown_in == ShownIn::Review);
        let by_agents = reviewed.map_or(&none, |kept| &kept.by_agents);
        let is_unknown = kept.is_none() && is_quarantined(&written) && is_agents(&written);
        // It is unknown which texts an agent wrote, so a reviewer has to see all but secrets.
        let settings = if is_unknown {
            ShownSettings::AllButSecrets
        } else {
            ShownSettings::References
        };
        let mut shown = config::reviewed_entry(&written, by_agents, settings);
        // Keys that the file leaves to their defaults are shown, too.
        if let Some(Value::Object(in_force)) = in_force {
            for (key, value) in in_force {
                shown.entry(key).or_insert(value);
            }
        }
        (Some(shown.into()), kept.map(|kept| kept.compared(&written)))
    }

    /// Keeps the entry before an agent's change for the review. If that fails, the review says that the former entry is unknown.
    pub(super) async fn keep_for_review(&self, name: &str, planned: &Planned) {
        let Some(by_agent) = planned.by_agent.clone() else {
            return;
        };
        let data_dir = self.data_dir().to_owned();
        let name = name.to_owned();
        let held_for = planned.held_for.iter().cloned().collect();
        let keeping = blocking(move || {
            if let Err(error) = keep(&data_dir, &name, &by_agent, held_for) {
                tracing::warn!(server = name, %error, "an agent's change was not kept for the review");
            }
        });
        // A failure is logged above.
        let _ = keeping.await;
    }
}

impl KeptEntry {
    fn compared(self, written: &Map<String, Value>) -> EntryReview {
        let now = reviewed_values(written, &self.by_agents);
        let holds = |place: &str| {
            let key = place.split('.').next().unwrap_or(place);
            self.held_for.contains(place) || self.held_for.contains(key)
        };
        let changes = self.values.as_ref().map_or_else(Vec::new, |before| {
            let places: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
            let differing =
                places
                    .into_iter()
                    .filter(|place| match (before.get(*place), now.get(*place)) {
                        (Some(before), Some(now)) => !before.is_same(now),
                        _ => true,
                    });
            let shown = |value: Option<&ReviewedValue>| value.map(|value| value.shown.clone());
            let changes = differing.map(|place| EntryChange {
                place: place.clone(),
                was: shown(before.get(place)),
                is: shown(now.get(place)),
                holds: holds(place),
            });
            changes.collect()
        });
        EntryReview {
            is_new: self.values.is_none(),
            changes,
            held_for: self.held_for.into_iter().collect(),
        }
    }
}

/// Deletes what is kept for the review of a server. Blocks.
pub(super) fn forget(data_dir: &Path, name: &str) {
    if let Some(file) = file(data_dir, name) {
        // A file that could not be deleted is ignored once the server is approved, and replaced by the next change.
        let _ = storage::remove(&file);
    }
}

/// The text of what is kept for the review of a server. Blocks.
pub(super) fn kept_text(data_dir: &Path, name: &str) -> Option<String> {
    let kept = read(data_dir, name)?;
    serde_json::to_string(&kept).ok()
}

/// Keeps such a text again, unless there is a newer one. If that fails, the review says that the former entry is unknown. Blocks.
pub(super) fn bring_back(data_dir: &Path, name: &str, text: &str) {
    let Some(file) = file(data_dir, name).filter(|file| !file.exists()) else {
        return;
    };
    if let Err(error) = storage::write_in_subfolder(&file, text.as_bytes()) {
        tracing::warn!(server = name, %error, "review of the entry not restored");
    }
}

fn keep(
    data_dir: &Path,
    name: &str,
    [before, after]: &[Map<String, Value>; 2],
    held_for: BTreeSet<String>,
) -> io::Result<()> {
    let Some(file) = file(data_dir, name) else {
        return Ok(());
    };
    // What was kept before an approval is outdated.
    let known = read(data_dir, name).filter(|_| is_quarantined(before));
    let mut kept = match known {
        // Several changes are reviewed as one.
        Some(kept) => kept,
        // It is unknown how a person left the entry.
        None if is_agents(before) => return Ok(()),
        None => KeptEntry {
            version: VERSION,
            server: name.to_owned(),
            held_for: BTreeSet::new(),
            values: (!before.is_empty()).then(|| reviewed_values(before, &AgentTexts::default())),
            by_agents: AgentTexts::default(),
        },
    };
    kept.held_for.extend(held_for);
    kept.by_agents.extend(AgentTexts::of(before, after));
    storage::write_in_subfolder(&file, &serde_json::to_vec(&kept)?)
}

fn read(data_dir: &Path, name: &str) -> Option<KeptEntry> {
    let file = file(data_dir, name)?;
    let text = storage::read(&file, LARGEST).ok()?;
    let kept: KeptEntry = serde_json::from_slice(&text).ok()?;
    (kept.version == VERSION && kept.server == name).then_some(kept)
}

fn is_agents(entry: &Map<String, Value>) -> bool {
    entry.get("changed_by").and_then(Value::as_str) == Some("agent")
}

fn is_quarantined(entry: &Map<String, Value>) -> bool {
    entry.get("quarantined") == Some(&Value::Bool(true))
}

fn file(data_dir: &Path, name: &str) -> Option<PathBuf> {
    let name = ServerName::parse(name).ok()?;
    Some(DataFile::Reviews.of_server(data_dir, name, "json"))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;

    use super::*;

    fn entry(value: &Value) -> Map<String, Value> {
        value.as_object().expect("an object").clone()
    }

    #[test]
    fn several_changes_are_compared_with_what_was_trusted() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let keep = |before: &Value, after: &Value, held: &str| {
            let held = BTreeSet::from([held.to_owned()]);
            keep(folder.path(), "s", &[entry(before), entry(after)], held)
                .expect("the folder is ours");
        };
        let review = |now: &Value| {
            let kept = read(folder.path(), "s").expect("it was kept");
            kept.compared(&entry(now))
        };
        let trusted = json!({ "command": "a", "env": { "LOG": "info", "API_KEY": "hunter22" } });
        let held = json!({ "command": "a", "env": { "API_URL": "https://evil/", "API_KEY": "hunter22" }, "quarantined": true, "changed_by": "agent" });
        keep(&trusted, &held, "env.API_URL");
        let mut more = held.clone();
        more["command"] = "b".into();
        keep(&held, &more, "command");
        let mut now = more.clone();
        now["env"]["API_KEY"] = "hunter33".into();
        let seen = review(&now);
        assert_eq!(seen.held_for, ["command", "env.API_URL"]);
        let told: Vec<_> = seen
            .changes
            .iter()
            .map(|one| {
                (
                    one.place.as_str(),
                    one.was.as_deref(),
                    one.is.as_deref(),
                    one.holds,
                )
            })
            .collect();
        assert_eq!(
            told,
            [
                ("command", Some("a"), Some("b"), true),
                ("env.API_KEY", Some("***"), Some("***"), false),
                ("env.API_URL", None, Some("https://evil/"), true),
                ("env.LOG", Some("***"), None, false),
            ]
        );
        let on_disk =
            fs::read_to_string(folder.path().join("reviews/s.json")).expect("it is there");
        assert!(!on_disk.contains("hunter"), "{on_disk}");
        // What was trusted since then counts.
        keep(&json!({ "command": "c" }), &held, "command");
        assert_eq!(
            review(&json!({ "command": "d" })).changes[0].was.as_deref(),
            Some("c")
        );
        keep(&json!({}), &held, "command");
        assert!(review(&now).is_new);
        forget(folder.path(), "s");
        assert!(read(folder.path(), "s").is_none());
        // An entry of which nothing is known stays so.
        keep(&held, &more, "command");
        assert!(read(folder.path(), "s").is_none());
    }

    #[test]
    fn of_a_file_of_an_earlier_version_nothing_is_known() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let reviews = folder.path().join("reviews");
        fs::create_dir(&reviews).expect("the folder is ours");
        let old = r#"{"version":1,"server":"s","held_for":["command"],"values":null,"open":[]}"#;
        fs::write(reviews.join("s.json"), old).expect("the folder is ours");
        assert!(read(folder.path(), "s").is_none());
    }
}
