//! Puts stored values back where an edit contains what a listing masked as `***`. Pure.

use serde_json::Value;

use super::{
    document::{SERVERS, plain_text},
    references,
};
use crate::text::{
    redact::{self, TextKind},
    secret::MASK,
};

/// Keys of an entry of whose values listings mask something.
const MASKED_KEYS: &[&str] = &[
    "command",
    "args",
    "env",
    "headers",
    "cwd",
    "url",
    "ca_file",
    "client_cert",
    "oauth",
    "isolation",
];

/// A new value for a place of the file, with what is stored in place of each mask that was shown there. A mask that stands for nothing is
/// an error, wherever listings mask something; elsewhere a text may have stars in it.
pub(super) fn restored_at(
    path: &[String],
    new: &Value,
    stored: Option<&Value>,
) -> Result<Value, String> {
    let shown = path.join(".");
    match new {
        Value::Object(members) => {
            let restored = members.iter().map(|(key, value)| {
                let stored = stored.and_then(|stored| stored.get(key));
                let inner = [path, std::slice::from_ref(key)].concat();
                if key.contains(MASK) && stored.is_none() {
                    return Err(nothing_stored(&inner.join(".")));
                }
                Ok((key.clone(), restored_at(&inner, value, stored)?))
            });
            restored.collect::<Result<_, _>>().map(Value::Object)
        }
        new => {
            let key = match path {
                [servers, _, key, ..] if servers == SERVERS => key,
                _ => "",
            };
            let mut here = StoredValue::new(key, stored);
            here.is_hidden |= new == MASK || stored.is_some_and(|stored| shows(new, stored));
            here.restored(&shown, new)
        }
    }
}

/// Whether a text is how listings show the stored value.
fn shows(new: &Value, stored: &Value) -> bool {
    new.as_str().is_some_and(|text| stands_for(text, stored))
}

/// Reads new values against the stored one at the same place.
#[derive(Clone, Copy)]
pub(super) struct StoredValue<'a> {
    stored: Option<&'a Value>,
    is_hidden: bool,
}

impl<'a> StoredValue<'a> {
    /// For the value of this key of an entry.
    pub(super) fn new(key: &str, stored: Option<&'a Value>) -> Self {
        Self {
            stored,
            is_hidden: MASKED_KEYS.contains(&key),
        }
    }

    /// For a value inside of it.
    pub(super) fn inside(self, stored: Option<&Value>) -> StoredValue<'_> {
        StoredValue {
            stored,
            is_hidden: self.is_hidden,
        }
    }

    /// The value that is meant. A mask that stands for nothing is an error: it would be stored as if it were a value.
    pub(super) fn restored(self, path: &str, new: &Value) -> Result<Value, String> {
        match new {
            Value::String(text) if self.is_hidden && text.contains(MASK) => {
                self.restored_text(path, text)
            }
            Value::Array(elements) if self.is_hidden => self.restored_elements(path, elements),
            new => Ok(new.clone()),
        }
    }

    fn restored_text(self, path: &str, text: &str) -> Result<Value, String> {
        let stored = self.stored.filter(|stored| stands_for(text, stored));
        stored.cloned().ok_or_else(|| nothing_stored(path))
    }

    /// An element that is redacted stands for a stored one that shows like it, at the same place first.
    fn restored_elements(self, path: &str, elements: &[Value]) -> Result<Value, String> {
        let stored = StoredList::new(self.stored);
        let mut before: Option<&Value> = None;
        let restored = elements.iter().enumerate().map(|(i, element)| {
            let found = match element.as_str() {
                Some(text) if text.contains(MASK) => stored
                    .find(i, text, before)
                    .ok_or_else(|| nothing_stored(&format!("{path}[{i}]"))),
                _ => Ok(element),
            };
            before = found.as_ref().ok().copied();
            found.cloned()
        });
        restored.collect::<Result<Vec<_>, _>>().map(Value::Array)
    }
}

/// A stored list, and how listings show it: as it is written, and with its references resolved.
struct StoredList<'a> {
    values: &'a [Value],
    forms: [Vec<String>; 2],
}

impl<'a> StoredList<'a> {
    fn new(stored: Option<&'a Value>) -> Self {
        let values = stored.and_then(Value::as_array);
        let values = values.map_or(&[][..], Vec::as_slice);
        let shown = |form: fn(&str) -> String| {
            let texts: Vec<String> = values
                .iter()
                .map(|value| form(&plain_text(value)))
                .collect();
            redact::redacted_arguments(&texts)
        };
        Self {
            values,
            forms: [shown(str::to_owned), shown(references::redacted)],
        }
    }

    /// The stored value that is shown like this. One that is redacted as a whole is told by what stands before it, which is shown as a text
    /// even where it is a number.
    fn find(&self, place: usize, text: &str, before: Option<&Value>) -> Option<&'a Value> {
        let is_meant = |i: &usize| {
            let previous = i.checked_sub(1).and_then(|i| self.values.get(i));
            self.shows(*i, text)
                && (text != MASK || previous.map(plain_text) == before.map(plain_text))
        };
        let mut places = std::iter::once(place).chain(0..self.values.len());
        self.values.get(places.find(is_meant)?)
    }

    fn shows(&self, i: usize, text: &str) -> bool {
        let mut shown = self.forms.iter().filter_map(|form| form.get(i));
        shown.any(|shown| shown == text)
            || self
                .values
                .get(i)
                .is_some_and(|value| plain_text(value) == text)
    }
}

/// Whether a text with a mask in it is how listings show the stored value.
fn stands_for(text: &str, stored: &Value) -> bool {
    if text == MASK {
        return true;
    }
    let stored = plain_text(stored);
    let unresolved = references::redacted(&stored);
    [stored, unresolved]
        .iter()
        .any(|form| text == form || text == redact::redacted(form, TextKind::Word))
}

fn nothing_stored(path: &str) -> String {
    format!("`{path}` is masked, but no stored value matches it; write the value itself")
}
