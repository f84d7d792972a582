//! Checks an entry before it is written to a file.

use serde_json::{Map, Value};

use super::read_alone;
use crate::{
    config::{
        ConfigFinding, FindingKind, LeadsTo, OurAddress, finding::listed, ourselves::BEHIND_ITSELF,
        raw::entry_keys,
    },
    text::ServerName,
};

/// Whether an entry can have this key.
pub fn is_entry_key(key: &str) -> bool {
    entry_keys().contains(&key)
}

/// The mistakes of an entry.
pub struct EntryFault {
    /// The mistakes in words.
    pub text: String,
    /// Whether they are all about the URL.
    pub is_of_url: bool,
}

/// Checks an entry before it is written to a file. References are not resolved: only the daemon has its variables and secrets.
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
    // Of a quarantined entry less is checked, but it must also be right once it is approved.
    let mut entry = entry.clone();
    entry.retain(|key, value| key != "quarantined" || *value != true);
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
    // The references of a disabled entry are not resolved.
    let mut unresolved = entry.clone();
    unresolved.insert("enabled".to_owned(), Value::Bool(false));
    unresolved.shift_remove("disabled");
    fault(&unresolved).or_else(|| fault(&without_references(entry)))
}

fn has_references(value: &Value) -> bool {
    value.to_string().contains("${")
}

/// The values of an entry that have no references, and placeholders for `command` and `url` if these have some.
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
