//! All that is wrong with an entry, not only what is found first. Pure; how an entry is read, the caller knows.

use serde_json::{Map, Value};

use super::fields::BadField;

/// Limit: faults of one entry that are told at once.
const MOST: usize = 12;

/// What else is wrong with an entry, found by reading it again without what was found to be wrong.
pub(super) fn others(
    first: &BadField,
    mut entry: Map<String, Value>,
    fault_of: impl Fn(Map<String, Value>) -> Option<BadField>,
) -> String {
    let (mut key, mut others) = (first.key.clone(), String::new());
    for _ in 1..MOST {
        if !without_fault(&mut entry, &key) {
            break;
        }
        let Some(bad) = fault_of(entry.clone()) else {
            break;
        };
        others += "; ";
        others += &bad.to_string();
        key = bad.key;
    }
    others
}

/// Takes out what has a fault; what a server has to have is replaced by something without one. Whether anything was changed.
fn without_fault(entry: &mut Map<String, Value>, path: &str) -> bool {
    let (key, inside) = match path.split_once('.') {
        Some((key, inside)) => (key, Some(inside)),
        None => (path, None),
    };
    let key = key.split('[').next().unwrap_or_default();
    if let (Some(Value::Object(inner)), Some(inside)) = (entry.get_mut(key), inside)
        && inner.shift_remove(inside).is_some()
    {
        return true;
    }
    let had = entry.shift_remove(key);
    let has_target = ["command", "url"]
        .iter()
        .any(|key| entry.contains_key(*key));
    match key {
        "command" if !has_target => {
            let sound = Value::from("command");
            entry.insert(key.to_owned(), sound.clone());
            had != Some(sound)
        }
        "url" if !has_target => {
            let sound = Value::from("http://localhost");
            entry.insert(key.to_owned(), sound.clone());
            had != Some(sound)
        }
        _ => had.is_some(),
    }
}
