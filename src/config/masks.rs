//! Puts stored values back where an edit contains what a listing masked as `***`. Pure.

use std::slice;

use serde_json::Value;

use super::{document::plain_text, references};
use crate::text::{redact::redacted_arguments, secret::MASK};

/// A text with a mask in it, where no stored value is listed like that.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{place}` is masked, but no stored value matches it; write the value itself")]
pub struct UnknownMask {
    pub(super) place: String,
    pub(super) text: String,
}

/// Says what stands for such a text, if anything does.
pub(super) type Judge<'a> = &'a dyn Fn(UnknownMask) -> Result<Value, UnknownMask>;

/// A new value for a place, with the stored value in place of each mask.
pub(super) fn restore(
    place: &str,
    new: &Value,
    stored: Option<&Value>,
    unknown: Judge<'_>,
) -> Result<Value, UnknownMask> {
    match new {
        Value::Object(members) => {
            let members = members.iter().map(|(key, value)| {
                let place = format!("{place}.{key}");
                let stored = stored.and_then(|stored| stored.get(key));
                if key.contains(MASK) && stored.is_none() {
                    let text = key.clone();
                    return Err(UnknownMask { place, text });
                }
                Ok((key.clone(), restore(&place, value, stored, unknown)?))
            });
            members.collect::<Result<_, _>>().map(Value::Object)
        }
        Value::Array(elements) => {
            let stored = stored.and_then(Value::as_array);
            let listed = Listed::of(stored.map_or(&[], Vec::as_slice));
            let mut restored: Vec<Value> = Vec::with_capacity(elements.len());
            for (i, element) in elements.iter().enumerate() {
                let find = |text: &str| listed.find(i, text, restored.last());
                let place = format!("{place}[{i}]");
                let value = unmask(place, element, find, unknown)?;
                restored.push(value);
            }
            Ok(Value::Array(restored))
        }
        new => {
            let find = |text: &str| match stored {
                // One that is hidden as a whole is known by its place.
                Some(stored) if text != MASK => {
                    Listed::of(slice::from_ref(stored)).find(0, text, None)
                }
                stored => stored,
            };
            unmask(place.to_owned(), new, find, unknown)
        }
    }
}

/// A value, or what is found to be listed like it where it is a text with a mask.
fn unmask<'a>(
    place: String,
    new: &Value,
    find: impl FnOnce(&str) -> Option<&'a Value>,
    unknown: Judge<'_>,
) -> Result<Value, UnknownMask> {
    match new {
        Value::String(text) if text.contains(MASK) => match find(text) {
            Some(stored) => Ok(stored.clone()),
            None => unknown(UnknownMask {
                place,
                text: text.clone(),
            }),
        },
        new => Ok(new.clone()),
    }
}

/// Stored values, and how they are listed.
struct Listed<'a> {
    values: &'a [Value],
    /// As they are written, with their references hidden, and both without what looks like a secret.
    spellings: [Vec<String>; 4],
}

impl<'a> Listed<'a> {
    fn of(values: &'a [Value]) -> Self {
        let written: Vec<String> = values.iter().map(plain_text).collect();
        let unresolved: Vec<String> = written
            .iter()
            .map(|text| references::redacted(text))
            .collect();
        let shown = [&written, &unresolved].map(|texts| redacted_arguments(texts));
        let [written_shown, unresolved_shown] = shown;
        Self {
            values,
            spellings: [written, unresolved, written_shown, unresolved_shown],
        }
    }

    /// The stored value that is listed like this, at the same place first. One that is hidden as a whole is known by what stands before it,
    /// which is listed as a text even where it is a number.
    fn find(&self, place: usize, text: &str, before: Option<&Value>) -> Option<&'a Value> {
        let is_meant = |i: &usize| {
            let mut spellings = self.spellings.iter().filter_map(|all| all.get(*i));
            let previous = i.checked_sub(1).and_then(|i| self.values.get(i));
            spellings.any(|spelling| spelling == text)
                && (text != MASK || previous.map(plain_text) == before.map(plain_text))
        };
        let mut places = std::iter::once(place).chain(0..self.values.len());
        self.values.get(places.find(is_meant)?)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(stored: &Value, listed: &Value, restored: &Value) {
        let found = restore("p", listed, Some(stored), &Err);
        assert_eq!(found.as_ref(), Ok(restored), "{stored} as {listed}");
    }

    #[track_caller]
    fn check_unknown(stored: Option<&Value>, listed: &Value, place: &str) {
        let unknown = restore("p", listed, stored, &Err).expect_err("it is not stored");
        assert_eq!(unknown.place, place, "{listed}");
    }

    #[test]
    fn a_listed_value_stands_for_the_stored_one() {
        for (stored, listed) in [
            ("hunter2", "***"),
            ("https://u:p@h:1/mcp", "https://***@h:1/mcp"),
            ("https://h/${ID}/mcp", "https://h/***/mcp"),
            ("https://h/mcp?api_key=${KEY}", "https://h/mcp?api_key=***"),
            ("https://h/mcp?api_key=x", "***"),
            (
                "https://h/$${ID}?api_key=${KEY}",
                "https://h/$${ID}?api_key=***",
            ),
            ("with *** stars", "with *** stars"),
        ] {
            check(&json!(stored), &json!(listed), &json!(stored));
            if listed != MASK {
                check(&json!([stored]), &json!([listed]), &json!([stored]));
            }
        }
        check(
            &json!({"a": "x", "b": 1}),
            &json!({"a": "***", "b": 2}),
            &json!({"a": "x", "b": 2}),
        );
    }

    #[test]
    fn a_hidden_argument_is_known_by_what_stands_before_it() {
        let stored = json!(["-y", "server", "--token", "s3cret-token"]);
        for listed in [
            json!(["-y", "server@2", "--token", "***"]),
            json!(["--quiet", "-y", "server", "--token", "***"]),
        ] {
            let mut restored = listed.clone();
            if let Some(last) = restored.as_array_mut().and_then(|all| all.last_mut()) {
                *last = json!("s3cret-token");
            }
            check(&stored, &listed, &restored);
        }
        // A number is listed as a text.
        check(
            &json!([8080, "ghp_0123456789"]),
            &json!(["8080", "***"]),
            &json!(["8080", "ghp_0123456789"]),
        );
    }

    #[test]
    fn a_mask_that_stands_for_nothing_is_named() {
        let stored = json!({"a": "https://me@h/mcp", "b": ["x"], "c": {}});
        let check = |listed: &Value, place| check_unknown(Some(&stored), listed, place);
        check(&json!({"d": "***"}), "p.d");
        check(&json!({"d": "Bearer ***"}), "p.d");
        check(&json!({"a": "https://***@evil.example/mcp"}), "p.a");
        check(&json!({"b": ["x", "***"]}), "p.b[1]");
        check(&json!({"c": {"e": "***"}}), "p.c.e");
        check(&json!({"c": {"*** 1": 1}}), "p.c.*** 1");
        check_unknown(None, &json!("***"), "p");
    }

    #[test]
    fn what_stands_for_an_unknown_mask_is_not_decided_here() {
        let itself = |unknown: UnknownMask| Ok(unknown.text.into());
        let new = json!(["*** stars", "***"]);
        let stored = json!(["s3cret"]);
        assert_eq!(restore("p", &new, Some(&stored), &itself), Ok(new));
    }
}
