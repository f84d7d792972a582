//! Puts stored values back where an edit contains what a listing masked as `***`. Pure.

use std::slice;

use serde_json::Value;

use super::{document::plain_text, references};
use crate::text::{redact::redacted_arguments, secret::MASK};

/// A text with a mask in it of which nobody can say what it stands for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnknownMask {
    /// No stored value is listed like that.
    #[error("`{0}` is masked, but no stored value matches it; write the value itself")]
    Unmatched(String),
    /// Several are, and it may be any of them.
    #[error("`{0}` is masked, and several stored values match it; write the value itself")]
    Ambiguous(String),
}

/// What becomes of a text with a mask that stands for no stored value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OnUnknown {
    /// It is an error.
    Refuse,
    /// It is the value itself, unless it is a mask as a whole.
    KeepUnlessWhole,
}

/// A new value for a place, with the stored value in place of each mask.
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
            let values = stored.and_then(Value::as_array);
            let known = StoredList::of(values.map_or(&[], Vec::as_slice));
            let mut restored: Vec<Value> = Vec::with_capacity(elements.len());
            for (i, element) in elements.iter().enumerate() {
                let place = format!("{place}[{i}]");
                let value = match known.meant(i, elements, restored.last()) {
                    Ok(Some(value)) => value,
                    Ok(None) => {
                        let there = known.values.get(i).filter(|_| !hides_whole(element));
                        restore(&place, element, there, on_unknown)?
                    }
                    Err(Ambiguous) => return Err(UnknownMask::Ambiguous(place)),
                };
                restored.push(value);
            }
            Ok(Value::Array(restored))
        }
        Value::String(text) if text.contains(MASK) => {
            // One that is hidden as a whole is known by its place.
            let is_meant = |stored: &&Value| {
                text == MASK || StoredList::of(slice::from_ref(stored)).is_listed_as(0, text)
            };
            match stored.filter(is_meant) {
                Some(stored) => Ok(stored.clone()),
                None if on_unknown == OnUnknown::KeepUnlessWhole && text != MASK => Ok(new.clone()),
                None => Err(UnknownMask::Unmatched(place.to_owned())),
            }
        }
        plain => Ok(plain.clone()),
    }
}

/// Several stored elements may be meant.
struct Ambiguous;

/// A stored list, whose elements a new one may have at other places.
struct StoredList<'a> {
    values: &'a [Value],
    /// How the elements are listed: as they are written, with their references hidden, and both without what looks like a secret.
    listings: [Vec<String>; 4],
}

impl<'a> StoredList<'a> {
    fn of(values: &'a [Value]) -> Self {
        let written: Vec<String> = values.iter().map(plain_text).collect();
        let unresolved: Vec<String> = written
            .iter()
            .map(|text| references::redacted(text))
            .collect();
        let [written_shown, unresolved_shown] =
            [&written, &unresolved].map(|texts| redacted_arguments(texts));
        Self {
            values,
            listings: [written, unresolved, written_shown, unresolved_shown],
        }
    }

    fn is_listed_as(&self, i: usize, text: &str) -> bool {
        let mut listings = self.listings.iter();
        listings.any(|listing| listing.get(i).is_some_and(|listed| listed == text))
    }

    /// What the element at this place of a new list stands for, where `before` stands before it; nothing if no stored element is meant.
    /// Of several that may be meant, the elements of the new list that look the same stand for them in their order, if they are as many,
    /// and each stands for the one at its place, if the lists are equally long. Otherwise nobody can say which ones were taken out.
    fn meant(
        &self,
        place: usize,
        elements: &[Value],
        before: Option<&Value>,
    ) -> Result<Option<Value>, Ambiguous> {
        let new = &elements[place];
        let fitting = match new {
            Value::String(text) if text.contains(MASK) => self.listed_as(text, before),
            Value::Object(_) | Value::Array(_) => self.restored_in(new),
            _ => Vec::new(),
        };
        let Some((_, first)) = fitting.first() else {
            return Ok(None);
        };
        if fitting.iter().all(|(_, value)| value == first) {
            return Ok(Some(first.clone()));
        }
        let is_hidden = new == MASK;
        let looks_same = |other: &usize| {
            let previous = |place: usize| elements.get(place.checked_sub(1)?);
            elements[*other] == *new && (!is_hidden || previous(*other) == previous(place))
        };
        let same: Vec<usize> = (0..elements.len()).filter(looks_same).collect();
        let in_order = same.iter().position(|other| *other == place);
        let in_order = in_order.filter(|_| same.len() == fitting.len());
        let in_place = fitting.iter().position(|(stored, _)| *stored == place);
        let in_place = in_place.filter(|_| elements.len() == self.values.len());
        let meant = in_order.or(in_place).ok_or(Ambiguous)?;
        Ok(Some(fitting[meant].1.clone()))
    }

    /// The stored elements that are listed as this text, with their places. One that is hidden as a whole is known by what stands
    /// before it.
    fn listed_as(&self, text: &str, before: Option<&Value>) -> Vec<(usize, Value)> {
        let stored = self.values.iter().enumerate();
        let is_meant =
            |i: usize| self.is_listed_as(i, text) && (text != MASK || self.follows(i, before));
        let meant = stored.filter(|(i, _)| is_meant(*i));
        meant.map(|(i, stored)| (i, stored.clone())).collect()
    }

    /// What this may be with the values of a stored element in place of its masks: one that changes nothing else of it, if there is one.
    fn restored_in(&self, new: &Value) -> Vec<(usize, Value)> {
        let restored = self.values.iter().enumerate().filter_map(|(i, stored)| {
            let restored = restore("", new, Some(stored), OnUnknown::Refuse).ok()?;
            Some((i, restored))
        });
        let is_unedited = |(i, restored): &(usize, Value)| self.values[*i] == *restored;
        let (unedited, edited): (Vec<_>, Vec<_>) = restored.partition(is_unedited);
        if unedited.is_empty() && !hides_whole(new) {
            return edited;
        }
        unedited
    }

    /// Whether `before` is what stands before an element. It is listed as a text even where it is a number.
    fn follows(&self, place: usize, before: Option<&Value>) -> bool {
        let previous = place.checked_sub(1).and_then(|i| self.values.get(i));
        previous.map(plain_text) == before.map(plain_text)
    }
}

/// Whether a value in it is hidden as a whole: nothing says which one that is but what stands around it.
fn hides_whole(value: &Value) -> bool {
    match value {
        Value::String(text) => text == MASK,
        Value::Array(elements) => elements.iter().any(hides_whole),
        Value::Object(members) => members.values().any(hides_whole),
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
        check(
            &stored,
            &json!(["x", shown, shown]),
            &json!(["x", one, two]),
        );
        check(&stored, &json!([shown, "x"]), &json!([one, "x"]));
        check(&json!([one, one]), &json!([shown]), &json!([one]));
        let named = |uri: &str| json!({ "uri": uri, "name": "a" });
        let objects = json!([named(one), named(two)]);
        check(&objects, &json!([named(shown), named(shown)]), &objects);
        let flags = json!(["--token", "s3cret-one", "--token", "s3cret-two"]);
        check(&flags, &json!(["--token", "***", "--token", "***"]), &flags);
        for (stored, listed, place) in [
            (&stored, json!([shown]), "p[0]"),
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
