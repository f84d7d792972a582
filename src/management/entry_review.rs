//! What a person reviews of an entry: how it is written, what agents changed of it, and what of that holds the server. What stood there
//! before is kept in the data folder from the first change of an agent on, as a reviewer may see it: without credentials.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Backing, Management, patching::Planned};
use crate::{
    config::{
        self, OpenTexts, ReviewedValue, ServerEntry, Settings, reviewed_values, written_entry,
    },
    storage,
    text::names::ServerName,
};

/// The version of the format.
const VERSION: u32 = 1;

/// Limit: bytes of a file that are read. An entry that an agent writes has 32 KiB.
const LARGEST: u64 = 1 << 20;

/// What became of an entry that agents changed.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
pub struct EntryReview {
    /// What of it holds the server; nothing where a person held it.
    pub held_for: Vec<String>,
    /// Whether an agent added the server, so that all of it is new.
    pub is_new: bool,
    /// What differs from the entry as persons left it; nothing where all of it is new.
    pub changes: Vec<EntryChange>,
}

/// One place of an entry that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct EntryChange {
    /// The key, as `env.NAME`.
    pub place: String,
    /// What stood there; absent where nothing did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub was: Option<String>,
    /// What stands there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is: Option<String>,
    /// Whether the server is held for it.
    pub holds: bool,
}

/// What is kept of an entry, from the first change of an agent on.
#[derive(Serialize, Deserialize)]
struct KeptEntry {
    version: u32,
    server: String,
    held_for: BTreeSet<String>,
    /// As persons left it; absent where an agent added the server.
    values: Option<BTreeMap<String, ReviewedValue>>,
    /// What an agent wrote last at each place that one wrote at; nothing where it took out what stood there.
    #[serde(default)]
    by_agents: BTreeMap<String, Option<ReviewedValue>>,
    /// What agents wrote of it since.
    #[serde(default)]
    open: OpenTexts,
}

impl<B: Backing> Management<B> {
    /// The entry of a server as whoever reviews it sees it, and what agents changed of it. Every listing of one server shows this. Blocks.
    pub(super) fn reviewed_entry(
        &self,
        settings: &Settings,
        name: &str,
    ) -> (Option<Value>, Option<EntryReview>) {
        let in_force = settings.readable_entry(name).map(AsRef::as_ref);
        let mut review = self.entry_review(name);
        let mut shown = self.entry_for_review(name, in_force);
        self.mask_settings(name, &mut shown, &mut review);
        (shown, review)
    }

    /// The entry of a server as it is written, also where it cannot be used; one that stands in no file as it is in force. Blocks.
    fn entry_for_review(&self, name: &str, entry: Option<&ServerEntry>) -> Option<Value> {
        let text = fs::read_to_string(self.config_file()).ok();
        let mut written = text.and_then(|text| {
            let kept = read(self.backing().data_dir(), name);
            let is_held = || written_entry(&text, name).is_ok_and(|entry| is_quarantined(&entry));
            let open = kept.filter(|_| is_held()).map(|kept| kept.open);
            config::entry_for_review(&text, name, &open.unwrap_or_default())
        });
        let in_force = entry.map(ServerEntry::shown);
        if let (Some(Value::Object(written)), Some(Value::Object(in_force))) =
            (&mut written, &in_force)
        {
            // What the file leaves to the defaults counts, too.
            for (key, value) in in_force {
                if !written.contains_key(key) {
                    written.insert(key.clone(), value.clone());
                }
            }
        }
        written.or(in_force)
    }

    /// What agents changed of an entry; nothing where that is not known. Blocks.
    fn entry_review(&self, name: &str) -> Option<EntryReview> {
        let kept = read(self.backing().data_dir(), name)?;
        let text = fs::read_to_string(self.config_file()).ok()?;
        let written = written_entry(&text, name).ok()?;
        if !is_quarantined(&written) {
            return None;
        }
        let now = reviewed_values(&written, &kept.open);
        let is_held_for_it = !kept.held_for.is_empty();
        let review = kept.following(&now).compared(&now);
        (is_held_for_it || !review.changes.is_empty()).then_some(review)
    }

    /// Keeps what stood in an entry before an agent's change. What cannot be kept is missing from the review, which
    /// says so.
    pub(super) async fn keep_for_review(&self, name: &str, planned: &Planned) {
        let Some(by_agent) = planned.by_agent.clone() else {
            return;
        };
        let data_dir = self.backing().data_dir().to_owned();
        let name = name.to_owned();
        let held_for = planned.held_for.iter().cloned().collect();
        let open = planned.open.clone();
        let keeping = tokio::task::spawn_blocking(move || {
            if let Err(error) = keep(&data_dir, &name, &by_agent, open, held_for) {
                tracing::warn!(server = name, %error, "what an agent changed of the entry could not be kept for its review");
            }
        });
        // It says itself what went wrong.
        let _ = keeping.await;
    }
}

impl KeptEntry {
    /// The same after what persons wrote since: while the server is not held for an agent, what is not as an agent left it is theirs.
    fn following(mut self, now: &BTreeMap<String, ReviewedValue>) -> Self {
        let Some(values) = self.values.as_mut().filter(|_| self.held_for.is_empty()) else {
            return self;
        };
        let places: BTreeSet<String> = values.keys().chain(now.keys()).cloned().collect();
        for place in places {
            let stands = now.get(&place);
            let is_agents = match (self.by_agents.get(&place), stands) {
                (Some(Some(written)), Some(stands)) => written.is_same(stands),
                (Some(None), None) => true,
                _ => false,
            };
            if is_agents {
                continue;
            }
            self.by_agents.remove(&place);
            match stands {
                Some(stands) => drop(values.insert(place, stands.clone())),
                None => drop(values.remove(&place)),
            }
        }
        self
    }

    /// Takes in what an agent wrote.
    fn note(&mut self, [before, after]: [&BTreeMap<String, ReviewedValue>; 2]) {
        let places: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        for place in places {
            let is_same = match (before.get(place), after.get(place)) {
                (Some(before), Some(after)) => before.is_same(after),
                (before, after) => before.is_none() && after.is_none(),
            };
            if !is_same {
                self.by_agents
                    .insert(place.clone(), after.get(place).cloned());
            }
        }
    }

    fn compared(self, now: &BTreeMap<String, ReviewedValue>) -> EntryReview {
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

/// Lets go what is kept of a server. Blocks.
pub(super) fn forget(data_dir: &Path, name: &str) {
    if let Some(file) = file(data_dir, name) {
        // What stays counts while the server is held for an agent, and is replaced by the next change that holds it.
        let _ = storage::remove(&file);
    }
}

fn keep(
    data_dir: &Path,
    name: &str,
    [before, after]: &[Map<String, Value>; 2],
    open: OpenTexts,
    held_for: BTreeSet<String>,
) -> io::Result<()> {
    let Some(file) = file(data_dir, name) else {
        return Ok(());
    };
    let is_held = is_quarantined(before);
    // Of what was held and is not any more, somebody has approved.
    let known = read(data_dir, name).filter(|kept| is_held || kept.held_for.is_empty());
    let is_agents = before.get("changed_by").and_then(Value::as_str) == Some("agent");
    let none = OpenTexts::default();
    let mut kept = match known {
        // Several changes are reviewed as one.
        Some(kept) => kept.following(&reviewed_values(before, &none)),
        // What a person trusted is not known any more.
        None if is_agents => return Ok(()),
        None => KeptEntry {
            version: VERSION,
            server: name.to_owned(),
            held_for: BTreeSet::new(),
            values: (!before.is_empty()).then(|| reviewed_values(before, &none)),
            by_agents: BTreeMap::new(),
            open: none,
        },
    };
    kept.held_for.extend(held_for);
    kept.open.extend(open);
    kept.note(
        [before, after]
            .map(|entry| reviewed_values(entry, &OpenTexts::default()))
            .each_ref(),
    );
    if let Some(folder) = file.parent() {
        storage::create_private_subfolder(folder)?;
    }
    storage::write_atomically(&file, &serde_json::to_vec(&kept)?)
}

fn read(data_dir: &Path, name: &str) -> Option<KeptEntry> {
    let file = file(data_dir, name)?;
    let is_small = fs::metadata(&file).is_ok_and(|found| found.len() <= LARGEST);
    let text = is_small.then(|| fs::read(&file).ok()).flatten()?;
    let kept: KeptEntry = serde_json::from_slice(&text).ok()?;
    (kept.version == VERSION && kept.server == name).then_some(kept)
}

fn is_quarantined(entry: &Map<String, Value>) -> bool {
    entry.get("quarantined") == Some(&Value::Bool(true))
}

fn file(data_dir: &Path, name: &str) -> Option<PathBuf> {
    let name = ServerName::parse(name).ok()?;
    Some(data_dir.join("reviews").join(format!("{name}.json")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry(value: &Value) -> Map<String, Value> {
        value.as_object().expect("an object").clone()
    }

    #[test]
    fn several_changes_are_compared_with_what_was_trusted() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let keep = |before: &Value, held: &str| {
            let held = BTreeSet::from([held.to_owned()]);
            keep(
                folder.path(),
                "s",
                &[entry(before), Map::new()],
                OpenTexts::default(),
                held,
            )
            .expect("the folder is ours");
        };
        let review = |now: &Value| {
            let kept = read(folder.path(), "s").expect("it was kept");
            kept.compared(&reviewed_values(&entry(now), &OpenTexts::default()))
        };
        let trusted = json!({ "command": "a", "env": { "LOG": "info", "API_KEY": "hunter22" } });
        keep(&trusted, "env.API_URL");
        let held = json!({ "command": "a", "env": { "API_URL": "https://evil/" }, "quarantined": true, "changed_by": "agent" });
        keep(&held, "command");
        let now = json!({ "command": "b", "env": { "API_URL": "https://evil/", "API_KEY": "hunter33" }, "quarantined": true });
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
                ("env.LOG", Some("info"), None, false),
            ]
        );
        let on_disk =
            fs::read_to_string(folder.path().join("reviews/s.json")).expect("it is there");
        assert!(!on_disk.contains("hunter"), "{on_disk}");
        // What was trusted since then counts.
        keep(&json!({ "command": "c" }), "command");
        assert_eq!(
            review(&json!({ "command": "d" })).changes[0].was.as_deref(),
            Some("c")
        );
        keep(&json!({}), "command");
        assert!(review(&now).is_new);
        forget(folder.path(), "s");
        assert!(read(folder.path(), "s").is_none());
        // An entry of which nothing is known stays so.
        keep(&held, "command");
        assert!(read(folder.path(), "s").is_none());
    }

    #[test]
    fn what_agents_changed_freely_before_is_theirs_and_what_persons_changed_since_is_not() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let keep = |before: &Value, after: &Value, held: &[&str]| {
            let held = held.iter().map(|&place| place.to_owned()).collect();
            let (before, after) = (entry(before), entry(after));
            let open = OpenTexts::of(&before, &after);
            keep(folder.path(), "s", &[before, after], open, held).expect("the folder is ours");
        };
        let review = |now: &Value| {
            let kept = read(folder.path(), "s").expect("it was kept");
            let now = reviewed_values(&entry(now), &kept.open);
            let review = kept.following(&now).compared(&now);
            let told = review.changes.into_iter();
            told.map(|one| (one.place, one.was, one.is, one.holds))
                .collect::<Vec<_>>()
        };
        let change = |place: &str, was: Option<&str>, is: Option<&str>, holds: bool| {
            (
                place.to_owned(),
                was.map(str::to_owned),
                is.map(str::to_owned),
                holds,
            )
        };
        let trusted = json!({ "command": "a", "args": ["1"], "env": { "OLD": "1" } });
        let free = json!({ "command": "a", "args": ["1"], "env": { "LOG": "debug" }, "idle_timeout": "never" });
        keep(&trusted, &free, &[]);
        let freely = [
            change("env.LOG", None, Some("debug"), false),
            change("env.OLD", Some("1"), None, false),
            change("idle_timeout", None, Some("never"), false),
        ];
        assert_eq!(review(&free), freely);
        // A person takes one of them back, writes over another, and adds something.
        let edited = json!({ "command": "a", "args": ["2"], "env": { "LOG": "debug", "OLD": "2" }, "cwd": "/x" });
        assert_eq!(review(&edited), freely[..1]);
        let held = json!({ "command": "a", "args": ["3"], "env": { "LOG": "debug", "OLD": "2" }, "cwd": "/x", "quarantined": true, "changed_by": "agent" });
        keep(&edited, &held, &["args"]);
        let args = change("args", Some("[\"2\"]"), Some("[\"3\"]"), true);
        let mine = [args, freely[0].clone()];
        assert_eq!(review(&held), mine);
        // Whoever lifts the quarantine by hand has approved all of it.
        let lifted = json!({ "command": "a", "args": ["3"], "env": { "LOG": "debug" } });
        let again = json!({ "command": "a", "args": ["4"], "env": { "LOG": "debug" } });
        keep(&lifted, &again, &["args"]);
        assert_eq!(review(&again).len(), 1);
    }
}
