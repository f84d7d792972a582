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

/// What a text with `***` in it is where no stored value is listed like that.
#[derive(Clone, Copy)]
pub(super) enum UnknownMask {
    /// A mistake, as in an entry, of which every value may be hidden.
    Mistake,
    /// A text with stars, as for settings, of which few are secret; `***` alone is a mistake there, too.
    Stars,
}

/// A new value for a place of the file, with the stored value in place of each mask.
pub(super) fn restored_at(
    path: &[String],
    new: &Value,
    stored: Option<&Value>,
) -> Result<Value, String> {
    let Value::Object(members) = new else {
        let is_of_entry = path.first().is_some_and(|key| key == SERVERS);
        let unknown = if is_of_entry {
            UnknownMask::Mistake
        } else {
            UnknownMask::Stars
        };
        return restored(&path.join("."), new, stored, unknown);
    };
    let members = members.iter().map(|(key, value)| {
        let stored = stored.and_then(|stored| stored.get(key));
        let inner = [path, std::slice::from_ref(key)].concat();
        if key.contains(MASK) && stored.is_none() {
            return Err(unknown_mask(&inner.join(".")));
        }
        Ok((key.clone(), restored_at(&inner, value, stored)?))
    });
    members.collect::<Result<_, _>>().map(Value::Object)
}

/// A new value that is no object, with the stored value in place of each mask. The error names the place of a mask that is a mistake.
pub(super) fn restored(
    place: &str,
    new: &Value,
    stored: Option<&Value>,
    unknown: UnknownMask,
) -> Result<Value, String> {
    let stars = |text: &Value| matches!(unknown, UnknownMask::Stars) && text != MASK;
    let or_unknown = |found: Option<&Value>, place: &str, text: &Value| {
        let meant = found.or(stars(text).then_some(text));
        meant.cloned().ok_or_else(|| unknown_mask(place))
    };
    match new {
        Value::String(text) if text.contains(MASK) => {
            let found = stored.filter(|stored| is_listed_as(text, stored));
            or_unknown(found, place, new)
        }
        Value::Array(elements) => {
            let stored = StoredList::new(stored);
            let mut before: Option<Value> = None;
            let restored = elements.iter().enumerate().map(|(i, element)| {
                let found = match element.as_str().filter(|text| text.contains(MASK)) {
                    Some(text) => {
                        let found = stored.find(i, text, before.as_ref());
                        or_unknown(found, &format!("{place}[{i}]"), element)?
                    }
                    None => element.clone(),
                };
                before = Some(found.clone());
                Ok(found)
            });
            restored.collect::<Result<_, _>>().map(Value::Array)
        }
        new => Ok(new.clone()),
    }
}

/// A stored list, and how it is listed: as it is written, and with its references resolved.
struct StoredList<'a> {
    values: &'a [Value],
    forms: [Vec<String>; 2],
}

impl<'a> StoredList<'a> {
    fn new(stored: Option<&'a Value>) -> Self {
        let values = stored.and_then(Value::as_array);
        let values = values.map_or(&[][..], Vec::as_slice);
        let listed = |form: fn(&str) -> String| {
            let texts: Vec<String> = values
                .iter()
                .map(|value| form(&plain_text(value)))
                .collect();
            redact::redacted_arguments(&texts)
        };
        Self {
            values,
            forms: [listed(str::to_owned), listed(references::redacted)],
        }
    }

    /// The stored value that is listed like this, at the same place first. One that is hidden as a whole is known by what stands before it,
    /// which is listed as a text even where it is a number.
    fn find(&self, place: usize, text: &str, before: Option<&Value>) -> Option<&'a Value> {
        let is_meant = |i: &usize| {
            let previous = i.checked_sub(1).and_then(|i| self.values.get(i));
            self.is_listed_as(text, *i)
                && (text != MASK || previous.map(plain_text) == before.map(plain_text))
        };
        let mut places = std::iter::once(place).chain(0..self.values.len());
        self.values.get(places.find(is_meant)?)
    }

    fn is_listed_as(&self, text: &str, i: usize) -> bool {
        let value = self.values.get(i).map(plain_text);
        let mut forms = self.forms.iter().filter_map(|form| form.get(i));
        forms.any(|form| form == text) || value.as_deref() == Some(text)
    }
}

/// Whether listings show the stored value as this text.
fn is_listed_as(text: &str, stored: &Value) -> bool {
    let stored = plain_text(stored);
    let unresolved = references::redacted(&stored);
    let mut forms = [&stored, &unresolved].into_iter();
    text == MASK || forms.any(|form| text == form || text == redact::redacted(form, TextKind::Word))
}

fn unknown_mask(place: &str) -> String {
    format!("`{place}` is masked, but no stored value matches it; write the value itself")
}
