//! Puts stored values back into an edit that contains what a listing masked as `***`. Pure.
//!
//! The rule: a mask stands for the stored value at the same place, if listings show that value so. In a list it stands for the only stored
//! element that is shown so; of several for the one at the same place, if the list has the stored length. Otherwise it is an error.
//!
//! `***` alone matches every hidden value. So the rest of its element must be equal to the stored one: the argument before it, or the other
//! members of the object. An edit cannot move a secret to a place where it would be shown.

use serde_json::Value;

use super::{document::plain_text, references};
use crate::text::{
    redact::{TextKind, redacted, redacted_arguments},
    secret::MASK,
};

/// A text with a mask that does not stand for exactly one stored value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnknownMask {
    /// Listings show no stored value like this.
    #[error("`{0}` is masked, but no stored value matches it; write the value itself")]
    Unmatched(String),
    /// Listings show several stored values like this.
    #[error("`{0}` is masked, and several stored values match it; write the value itself")]
    Ambiguous(String),
}

/// What to do with a text with a mask that stands for no stored value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OnUnknown {
    /// Refuse it.
    Refuse,
    /// Keep it as the new value, unless the whole text is a mask.
    KeepUnlessWhole,
}

/// The new value for a place, with stored values in place of its masks.
pub(super) fn restore(
    place: &str,
    new: &Value,
    stored: Option<&Value>,
    on_unknown: OnUnknown,
) -> Result<Value, UnknownMask> {
    match new {
        Value::Object(members) => {
            let members = members.iter().map(|(key, value)| {
                let place = format!("{place}.{key}");
                let stored = stored.and_then(|stored| stored.get(key));
                if key.contains(MASK) && stored.is_none() {
                    return Err(UnknownMask::Unmatched(place));
                }
                Ok((key.clone(), restore(&place, value, stored, on_unknown)?))
            });
            members.collect::<Result<_, _>>().map(Value::Object)
        }
        Value::Array(elements) => {
            let stored = stored.and_then(Value::as_array);
            let stored = StoredList::of(stored.map_or(&[], Vec::as_slice), elements.len());
            let mut restored: Vec<Value> = Vec::with_capacity(elements.len());
            for (i, element) in elements.iter().enumerate() {
                let place = format!("{place}[{i}]");
                let before = restored.last();
                let value = stored.restore_element(&place, i, element, before, on_unknown)?;
                restored.push(value);
            }
            Ok(Value::Array(restored))
        }
        Value::String(text) if text.contains(MASK) => {
            match stored.filter(|stored| text == MASK || is_listed_as(stored, text)) {
                Some(stored) => Ok(stored.clone()),
                None if on_unknown == OnUnknown::KeepUnlessWhole && text != MASK => Ok(new.clone()),
                None => Err(UnknownMask::Unmatched(place.to_owned())),
            }
        }
        plain => Ok(plain.clone()),
    }
}

/// Whether listings show a stored value as this text: as it is written or with masked references, and both also with what looks like a
/// secret masked.
fn is_listed_as(stored: &Value, text: &str) -> bool {
    let written = plain_text(stored);
    let unresolved = references::redacted(&written);
    let mut listings = [written, unresolved].into_iter();
    listings.any(|listed| listed == text || redacted(&listed, TextKind::Word) == text)
}

/// A stored list, to find the elements that the masks of a new list stand for.
struct StoredList<'a> {
    values: &'a [Value],
    /// Whether listings show each value as `***` alone: because it follows a flag of a secret, or looks like a secret.
    hidden: Vec<bool>,
    /// Whether the new list has the same length, so that its elements are at the same places.
    keeps_places: bool,
}

impl<'a> StoredList<'a> {
    fn of(values: &'a [Value], new_length: usize) -> Self {
        let written: Vec<String> = values.iter().map(plain_text).collect();
        let unresolved = written.iter().map(|text| references::redacted(text));
        let unresolved: Vec<String> = unresolved.collect();
        let shown = [&written, &unresolved].map(|texts| redacted_arguments(texts));
        let is_hidden =
            |i: usize| unresolved[i] == MASK || shown.iter().any(|texts| texts[i] == MASK);
        Self {
            values,
            hidden: (0..values.len()).map(is_hidden).collect(),
            keeps_places: values.len() == new_length,
        }
    }

    /// Element `i` of the new list with its masks replaced; `before` is the element before it with its masks replaced.
    fn restore_element(
        &self,
        place: &str,
        i: usize,
        new: &Value,
        before: Option<&Value>,
        on_unknown: OnUnknown,
    ) -> Result<Value, UnknownMask> {
        if !has_text(new, |text| text.contains(MASK)) {
            return Ok(new.clone());
        }
        let hides_whole = has_text(new, |text| text == MASK);
        // What the element would be if its masks stood for each of the stored elements.
        let tried = self.values.iter();
        let tried = tried.map(|stored| restore(place, new, Some(stored), OnUnknown::Refuse));
        let tried: Vec<_> = tried.collect();
        let is_unedited = |stored: &usize| {
            let value = &self.values[*stored];
            tried[*stored].as_ref() == Ok(value)
                && (new != MASK || (self.hidden[*stored] && self.follows(*stored, before)))
        };
        let all = 0..self.values.len();
        // An element that was only moved; if there is none, and each mask hides a part of a text only, one that was also edited.
        let mut fitting: Vec<usize> = all.clone().filter(is_unedited).collect();
        if fitting.is_empty() && !hides_whole {
            fitting = all.filter(|stored| tried[*stored].is_ok()).collect();
        }
        match (fitting.first(), on_unknown) {
            (Some(first), _) if fitting.iter().all(|other| tried[*other] == tried[*first]) => {
                tried[*first].clone()
            }
            (Some(_), _) if self.keeps_places && fitting.contains(&i) => tried[i].clone(),
            (Some(_), _) => Err(UnknownMask::Ambiguous(place.to_owned())),
            (None, OnUnknown::KeepUnlessWhole) => {
                let there = self.values.get(i).filter(|_| !hides_whole);
                restore(place, new, there, on_unknown)
            }
            (None, OnUnknown::Refuse) => match tried.get(i) {
                // This error names the mask inside the element.
                Some(Err(unknown)) => Err(unknown.clone()),
                _ => restore(place, new, None, on_unknown),
            },
        }
    }

    /// Whether `before` is equal to the element before a stored one. Listings show numbers as strings, so they are compared as strings.
    fn follows(&self, place: usize, before: Option<&Value>) -> bool {
        let previous = place.checked_sub(1).and_then(|i| self.values.get(i));
        previous.map(plain_text) == before.map(plain_text)
    }
}

/// Whether `is_so` is true of a string or a name in a value.
fn has_text(value: &Value, is_so: fn(&str) -> bool) -> bool {
    match value {
        Value::String(text) => is_so(text),
        Value::Array(elements) => elements.iter().any(|element| has_text(element, is_so)),
        Value::Object(members) => members
            .iter()
            .any(|(name, member)| is_so(name) || has_text(member, is_so)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(stored: &Value, listed: &Value, restored: &Value) {
        let found = restore("p", listed, Some(stored), OnUnknown::Refuse);
        assert_eq!(found.as_ref(), Ok(restored), "{stored} as {listed}");
    }

    #[track_caller]
    fn check_unknown(stored: Option<&Value>, listed: &Value, place: &str) {
        let unknown =
            restore("p", listed, stored, OnUnknown::Refuse).expect_err("it is not stored");
        let expected = UnknownMask::Unmatched(place.to_owned());
        assert_eq!(unknown, expected, "{listed}");
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
    fn a_mask_within_an_element_is_known_by_what_stands_beside_it() {
        let at = |secret, name| json!({ "uri": format!("https://{secret}@h/"), "name": name });
        let stored = json!([at("u:1", "a"), at("u:2", "b"), [["https://u:3@h"]]]);
        let (a, b) = (at("u:1", "a"), at("u:2", "b"));
        check(&stored, &json!([at("***", "a")]), &json!([a]));
        check(&stored, &json!([at("***", "b")]), &json!([b]));
        check(
            &stored,
            &json!([at("***", "b"), at("***", "a"), [["https://***@h"]]]),
            &json!([b, a, [["https://u:3@h"]]]),
        );
        check(
            &stored,
            &json!([at("***", "new"), 1, 2]),
            &json!([at("u:1", "new"), 1, 2]),
        );
        check_unknown(
            Some(&stored),
            &json!([{ "uri": "https://***@evil/" }]),
            "p[0].uri",
        );
        let stored = json!([{ "name": "a", "key": "A" }, { "name": "b", "key": "B" }]);
        let listed = json!([{ "name": "b", "key": "***" }]);
        check(&stored, &listed, &json!([{ "name": "b", "key": "B" }]));
        let listed = json!([{ "name": "c", "key": "***" }]);
        check_unknown(Some(&stored), &listed, "p[0].key");
    }

    #[test]
    fn no_element_gets_the_credential_of_one_that_looked_the_same() {
        let (one, two, shown) = ("https://u:1@h/", "https://u:2@h/", "https://***@h/");
        let stored = json!([one, two]);
        check(&stored, &json!([shown, shown]), &stored);
        check(&stored, &json!([shown, "x"]), &json!([one, "x"]));
        check(&json!([one, one]), &json!([shown]), &json!([one]));
        let named = |uri: &str| json!({ "uri": uri, "name": "a" });
        let objects = json!([named(one), named(two)]);
        check(&objects, &json!([named(shown), named(shown)]), &objects);
        let flags = json!(["--token", "s3cret-one", "--token", "s3cret-two"]);
        check(&flags, &json!(["--token", "***", "--token", "***"]), &flags);
        for (stored, listed, place) in [
            (&stored, json!([shown]), "p[0]"),
            (&stored, json!(["x", shown, shown]), "p[1]"),
            (&stored, json!(["x", shown, "y"]), "p[1]"),
            (&objects, json!([named(shown)]), "p[0]"),
            (&objects, json!([{ "uri": shown, "name": "b" }]), "p[0]"),
            (&flags, json!(["--token", "***"]), "p[1]"),
        ] {
            let unknown = restore("p", &listed, Some(stored), OnUnknown::Refuse);
            let expected = UnknownMask::Ambiguous(place.to_owned());
            assert_eq!(unknown, Err(expected), "{listed}");
        }
    }

    #[test]
    fn lists_within_lists_are_looked_at_once() {
        let nested = |text: &str| (0..100).fold(json!(text), |inner, _| json!([inner]));
        let stored = nested("https://u:p@h");
        check(&stored, &nested("https://***@h"), &stored);
        let place = format!("p{}", "[0]".repeat(100));
        check_unknown(Some(&stored), &nested("https://***@evil"), &place);
    }

    #[test]
    fn stars_may_be_kept_where_nothing_is_listed_like_that() {
        let restored = |new: &Value| {
            let stored = json!(["s3cret", { "a": "https://u:p@h" }]);
            restore("p", new, Some(&stored), OnUnknown::KeepUnlessWhole)
        };
        let new = json!(["*** stars", { "a": "https://***@h", "b": "*** stars" }]);
        let kept = json!(["*** stars", { "a": "https://u:p@h", "b": "*** stars" }]);
        assert_eq!(restored(&new), Ok(kept));
        restored(&json!(["***"])).expect_err("nothing is listed like that");
    }
}
