//! What is wrong with an entry before it stands in a file.

use serde_json::{Map, Value};

use super::read_alone;
use crate::{
    config::{
        ConfigFinding, FindingKind, LeadsTo, OurAddress, finding::listed, ourselves::BEHIND_ITSELF,
        raw::entry_keys,
    },
    text::ServerName,
};

/// Whether an entry may have this key.
pub fn is_entry_key(key: &str) -> bool {
    entry_keys().contains(&key)
}

/// Why an entry cannot stand in a file.
pub struct EntryFault {
    /// In words.
    pub text: String,
    /// Whether another URL is all that it takes.
    pub is_of_url: bool,
}

/// What is wrong with an entry before it stands in a file, but for its references, which only the daemon's environment resolves.
pub fn entry_fault(
    name: &ServerName,
    entry: &Map<String, Value>,
    us: &OurAddress,
) -> Option<EntryFault> {
    if us.is_behind(&LeadsTo::of_written(entry)) {
        return Some(EntryFault {
            text: format!("it {BEHIND_ITSELF}"),
            is_of_url: entry.contains_key("url"),
        });
    }
    // Of what is held less is read; approved, it has to be right.
    let mut entry = entry.clone();
    entry.shift_remove("quarantined");
    let entry = &entry;
    let fault = |entry: &Map<String, Value>| {
        let findings = read_alone(name, entry).err()?;
        let is_of_url = |finding: &ConfigFinding| matches!(finding.kind, FindingKind::Url(_));
        Some(EntryFault {
            text: listed(&findings),
            is_of_url: findings.iter().all(is_of_url),
        })
    };
    if !has_references(&Value::Object(entry.clone())) {
        return fault(entry);
    }
    // Of what is switched off no reference is resolved.
    let mut unresolved = entry.clone();
    unresolved.insert("enabled".to_owned(), Value::Bool(false));
    unresolved.shift_remove("disabled");
    fault(&unresolved).or_else(|| fault(&without_references(entry)))
}

fn has_references(value: &Value) -> bool {
    value.to_string().contains("${")
}

/// What of an entry has no references, with something in place of what it cannot be without.
fn without_references(entry: &Map<String, Value>) -> Map<String, Value> {
    let rest = entry.iter().filter_map(|(key, value)| {
        let value = match (has_references(value), key.as_str()) {
            (false, _) => value.clone(),
            (true, "command") => "program".into(),
            (true, "url") => "https://localhost/".into(),
            (true, _) => return None,
        };
        Some((key.clone(), value))
    });
    rest.collect()
}
