//! A patch of a server's entry, which has only the keys to change. Scalars and arrays replace the old value, objects merge with it at every
//! depth, and null removes it. Pure; `management` decides who may patch what.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{
    FindingKind,
    edit::{Change, proper_name},
    entry_switches::EntryFlag,
    finding::{joined, without_credentials},
    masks,
    raw::entry_keys,
    unknown_keys,
    unrepeated::read_unrepeated,
};
use crate::text::cut::beginning;

/// The keys to change, under their proper names. A null removes a key. It may contain secrets, so it has no `Debug`.
#[derive(Clone, PartialEq)]
pub struct ServerPatch(Map<String, Value>);

/// An entry before and after a patch, under the proper names of its keys.
pub struct PatchedEntry {
    /// The entry before the patch.
    pub before: Map<String, Value>,
    /// The entry after it.
    pub after: Map<String, Value>,
}

/// Why a patch cannot be read or applied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", listed(.0))]
pub struct BadPatch(Vec<String>);

/// Limit: problems of one patch that an error lists.
const MOST_LISTED: usize = 12;

fn listed(problems: &[String]) -> String {
    without_credentials(&joined(problems, MOST_LISTED))
}

/// Limit: bytes of an unknown key that an error repeats.
const SHOWN: usize = 64;

/// Keys that can also be given as JSON in a string, with `_json` after their names.
const ALSO_AS_JSON: &[&str] = &["args", "env", "headers", "isolation", "oauth"];

/// The shape of the value of a key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ValueShape {
    /// An object of strings, whose keys the user chooses.
    Strings,
    /// An object with known keys.
    Object,
    /// An array.
    List,
    /// Neither an object nor an array.
    Single,
}

impl ValueShape {
    /// The shape of the value of this key of an entry.
    pub(super) fn of(key: &str) -> Self {
        match key {
            "env" | "headers" => Self::Strings,
            "isolation" | "oauth" | "tool_acl" => Self::Object,
            "args" | "roots" | "enabled_tools" | "disabled_tools" => Self::List,
            _ => Self::Single,
        }
    }
}

impl BadPatch {
    fn one(problem: String) -> Self {
        Self(vec![problem])
    }
}

impl ServerPatch {
    /// Reads a patch: keys of an entry in any spelling, and `args`, `env`, `headers`, `isolation` and `oauth` also as JSON in a string.
    /// The string "null" is a null. The error lists all mistakes.
    pub fn read(members: Map<String, Value>) -> Result<Self, BadPatch> {
        match Self::read_as_far_as_possible(members) {
            (patch, None) => Ok(patch),
            (_, Some(bad)) => Err(bad),
        }
    }

    /// The keys that can be read, and what is wrong with the others: a refusal can then list other problems with the patch, too.
    pub fn read_as_far_as_possible(members: Map<String, Value>) -> (Self, Option<BadPatch>) {
        let (mut patch, mut problems) = (Map::new(), Vec::new());
        let mut spellings = BTreeMap::new();
        for (key, value) in members {
            let read = proper(&key, value).and_then(|(name, value)| {
                check_shape(name, &value)?;
                if let Some(other) = spellings.insert(name.to_owned(), key.clone()) {
                    let problem = format!("and `{other}` are both given; keep one");
                    return Err(wrong(&key, &problem));
                }
                patch.insert(name.to_owned(), value);
                Ok(())
            });
            problems.extend(read.err().into_iter().flat_map(|bad| bad.0));
        }
        let bad = (!problems.is_empty()).then_some(BadPatch(problems));
        (Self(patch), bad)
    }

    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Applies it to an entry as it is written in the file. A value that a listing masked as `***` stands for the stored one.
    pub fn apply(&self, written: &Map<String, Value>) -> Result<PatchedEntry, BadPatch> {
        let before = under_proper_names(written);
        let mut after = before.clone();
        for (key, value) in &self.0 {
            let stored = before.get(key);
            let new = match value {
                Value::Null => None,
                value => Some(merged(key, stored, value)?),
            };
            match new {
                None if stored.is_none() && !entry_keys().contains(&key.as_str()) => {
                    return Err(unknown(key));
                }
                None => drop(after.shift_remove(key)),
                Some(new) => drop(after.insert(key.clone(), new)),
            }
        }
        Ok(PatchedEntry { before, after })
    }
}

impl PatchedEntry {
    /// The keys that differ; for objects the keys inside, such as `env.TOKEN`.
    pub fn changed(&self) -> Vec<String> {
        let mut changed = Vec::new();
        let none = Value::Object(Map::new());
        for key in differing(&self.before, &self.after) {
            let before = self.before.get(key);
            let is_map = ValueShape::of(key) == ValueShape::Strings;
            let before = before.or(is_map.then_some(&none));
            match (before, self.after.get(key)) {
                (Some(Value::Object(before)), Some(Value::Object(after))) => {
                    let inside = differing(before, after).into_iter();
                    changed.extend(inside.map(|inner| format!("{key}.{inner}")));
                }
                _ => changed.push(key.to_owned()),
            }
        }
        changed
    }

    /// Removes `enabled` and `quarantined` again where the patch only added their default.
    pub fn take_back_defaults(&mut self) {
        for flag in [EntryFlag::Enabled, EntryFlag::Quarantined] {
            let (key, was) = (flag.key(), flag.written(&self.before));
            let is = self.after.get(key).and_then(Value::as_bool);
            if !self.before.contains_key(key) && is.is_some() && is == was {
                self.after.shift_remove(key);
            }
        }
    }

    /// The changes to make to the file.
    pub fn changes(&self, server: &str) -> Vec<Change> {
        let differing = differing(&self.before, &self.after).into_iter();
        let keys = differing.flat_map(|key| {
            let is_switch_gone = key == "enabled" && !self.after.contains_key(key);
            [key]
                .into_iter()
                .chain(is_switch_gone.then_some("disabled"))
        });
        keys.map(|key| Change::of_key(server, key, self.after.get(key).cloned()))
            .collect()
    }
}

/// The keys whose values differ between the objects, removed ones last.
pub fn differing<'a>(
    before: &'a Map<String, Value>,
    after: &'a Map<String, Value>,
) -> Vec<&'a str> {
    let new = after
        .iter()
        .filter(|(key, value)| before.get(*key) != Some(value));
    let gone = before.keys().filter(|key| !after.contains_key(*key));
    new.map(|(key, _)| key.as_str())
        .chain(gone.map(String::as_str))
        .collect()
}

/// A key's proper name, and its value under that name.
fn proper(key: &str, value: Value) -> Result<(&str, Value), BadPatch> {
    let base = key
        .strip_suffix("_json")
        .and_then(|base| ALSO_AS_JSON.iter().find(|name| **name == base));
    if let Some(name) = base {
        return Ok((name, from_json_text(key, value)?));
    }
    let Some(name) = entry_keys().iter().find(|name| **name == key) else {
        // Removing an unknown key is allowed if the entry has it.
        return match key {
            key if is_null(&value) => Ok((key, Value::Null)),
            "name" => Err(wrong(key, "cannot be changed")),
            key => Err(unknown(key)),
        };
    };
    if is_null(&value) {
        return Ok((proper_name(name), Value::Null));
    }
    let is_composed = ValueShape::of(name) != ValueShape::Single;
    // Another text is no attempt at JSON.
    let is_json = |text: &str| text.trim_start().starts_with(['{', '[', '"']);
    match (*name, value) {
        ("disabled", Value::Bool(disabled)) => Ok(("enabled", Value::Bool(!disabled))),
        (name, Value::String(text)) if is_composed && is_json(&text) => {
            Ok((name, from_json_text(key, Value::String(text))?))
        }
        (name, value) => Ok((proper_name(name), value)),
    }
}

/// Whether a value is null, or the string "null".
fn is_null(value: &Value) -> bool {
    value.is_null() || *value == Value::String("null".to_owned())
}

fn unknown(key: &str) -> BadPatch {
    let known = entry_keys();
    let meant = unknown_keys::meant(key, known);
    wrong(beginning(key, SHOWN), FindingKind::Unknown { meant, known })
}

/// The JSON in a string; another value as it is.
fn from_json_text(key: &str, value: Value) -> Result<Value, BadPatch> {
    match value {
        Value::String(text) => read_unrepeated(text.as_bytes())
            .map_err(|error| wrong(key, format_args!("must be JSON: {error}"))),
        value => Ok(value),
    }
}

fn check_shape(key: &str, value: &Value) -> Result<(), BadPatch> {
    let is_scalar = |value: &Value| !value.is_object() && !value.is_array();
    match (ValueShape::of(key), value) {
        (_, Value::Null)
        | (ValueShape::Object, Value::Object(_))
        | (ValueShape::List, Value::Array(_)) => Ok(()),
        (ValueShape::Strings, Value::Object(members)) => {
            match members.iter().find(|(_, value)| !is_scalar(value)) {
                Some((name, _)) => Err(wrong(&format!("{key}.{name}"), "must be a string")),
                None => Ok(()),
            }
        }
        (ValueShape::Strings | ValueShape::Object, _) => Err(wrong(key, "must be an object")),
        (ValueShape::List, _) => Err(wrong(key, "must be a list such as [\"a\", \"b\"]")),
        (ValueShape::Single, value) if is_scalar(value) => Ok(()),
        (ValueShape::Single, _) => Err(wrong(
            key,
            "must be a single value, not an object or an array",
        )),
    }
}

/// Merges a new value with the stored one: an object key by key, any other value replaces it.
fn merged(place: &str, stored: Option<&Value>, new: &Value) -> Result<Value, BadPatch> {
    let Value::Object(new) = new else {
        let restored = masks::restore(place, new, stored, masks::OnUnknown::Refuse);
        return restored.map_err(|unknown| BadPatch::one(unknown.to_string()));
    };
    let mut members = match stored {
        Some(Value::Object(stored)) => stored.clone(),
        _ => Map::new(),
    };
    for (key, value) in new {
        let inner = format!("{place}.{key}");
        let stored = members.get(key).cloned();
        if value.is_null() {
            members.shift_remove(key);
        } else {
            let value = merged(&inner, stored.as_ref(), value)?;
            members.insert(key.clone(), value);
        }
    }
    Ok(Value::Object(members))
}

/// An entry with one spelling of each key. A null counts as absent.
pub(super) fn under_proper_names(written: &Map<String, Value>) -> Map<String, Value> {
    let mut entry = Map::new();
    for (key, value) in written.iter().filter(|(_, value)| !value.is_null()) {
        let value = match value {
            Value::Bool(disabled) if key == "disabled" => Value::Bool(!disabled),
            value => value.clone(),
        };
        entry.entry(proper_name(key)).or_insert(value);
    }
    entry
}

fn wrong(key: &str, problem: impl std::fmt::Display) -> BadPatch {
    BadPatch::one(format!("`{key}` {problem}"))
}
