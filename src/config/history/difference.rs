//! What differs between two texts of the configuration: by value, as it may be shown, and as bytes. Pure.

use std::ops::Range;

use jsonc_parser::{ast, common::Ranged};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    config::{
        document::{self, Document, SERVERS},
        shown_file::{shown_entry, shown_setting},
    },
    text::redact::{self, TextKind},
};

/// Limit: bytes of a value that is kept; a larger one is left out.
const LARGEST_VALUE: usize = 8 << 10;

/// A changed value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct ChangedValue {
    /// The keys that lead to it.
    pub path: Vec<String>,
    /// The old value, secrets as `***`; absent if the key is new.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "present"
    )]
    pub before: Option<Value>,
    /// The new value, secrets as `***`; absent if the key was removed.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "present"
    )]
    pub after: Option<Value>,
    /// Whether the value is masked, shortened or left out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub partly: bool,
}

impl ChangedValue {
    /// The server that the change takes out, where that is what it does.
    pub fn removed_server(&self) -> Option<&str> {
        match &self.path[..] {
            [key, server] if key == SERVERS && self.before.is_some() && self.after.is_none() => {
                Some(server)
            }
            _ => None,
        }
    }
}

/// A null is a value here.
fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// The values that differ. What is shown of the others is not looked for.
pub(in crate::config) fn changed_values(
    before: &Document<'_>,
    after: &Document<'_>,
) -> Vec<ChangedValue> {
    let mut found = Vec::new();
    let (was, is) = (before.named(), after.named());
    let new = is.keys().filter(|name| !was.contains_key(*name));
    for name in was.keys().chain(new) {
        let path = vec![SERVERS.to_owned(), name.clone().into_owned()];
        let (was, is) = (was.get(name).copied(), is.get(name).copied());
        differ(path, was, is, shown_entry, &mut found);
    }
    let (was, is) = (&before.settings, &after.settings);
    let new = is.keys().filter(|key| !was.contains_key(*key));
    for key in was.keys().chain(new) {
        let shown = |value: &Value| shown_setting(key, value);
        let path = vec![key.clone()];
        differ(path, was.get(key), is.get(key), shown, &mut found);
    }
    found
}

fn differ(
    mut path: Vec<String>,
    before: Option<&Value>,
    after: Option<&Value>,
    shown: impl Fn(&Value) -> Value,
    found: &mut Vec<ChangedValue>,
) {
    if before != after {
        let (was, is) = (before.map(&shown), after.map(&shown));
        let (before, after) = (before.zip(was.as_ref()), after.zip(is.as_ref()));
        collect(before, after, &mut path, found);
    }
}

/// A value, and what is shown of it.
type Pair<'a> = (&'a Value, &'a Value);

/// The members of an object, and those that are shown of it.
type Members<'a> = (&'a Map<String, Value>, &'a Map<String, Value>);

fn collect<'a>(
    before: Option<Pair<'a>>,
    after: Option<Pair<'a>>,
    path: &mut Vec<String>,
    found: &mut Vec<ChangedValue>,
) {
    if before.map(|pair| pair.0) == after.map(|pair| pair.0) {
        return;
    }
    if let (Some(before), Some(after)) = (members(before), members(after)) {
        let new = after.0.keys().filter(|key| !before.0.contains_key(*key));
        for key in before.0.keys().chain(new) {
            path.push(key.clone());
            let of = |(all, shown): Members<'a>| Some((all.get(key)?, shown.get(key)?));
            collect(of(before), of(after), path, found);
            path.pop();
        }
        return;
    }
    let mut partly = false;
    let mut shown = |pair: Option<Pair<'_>>| {
        let (value, shown) = pair?;
        let is_long = shown.to_string().len() > LARGEST_VALUE;
        partly |= is_long || value != shown;
        Some(if is_long { "…".into() } else { shown.clone() })
    };
    let (before, after) = (shown(before), shown(after));
    found.push(ChangedValue {
        path: path.clone(),
        before,
        after,
        partly,
    });
}

/// The members of an object and of what is shown of it, where no name is hidden.
fn members(pair: Option<Pair<'_>>) -> Option<Members<'_>> {
    let (value, shown) = pair?;
    let (value, shown) = (value.as_object()?, shown.as_object()?);
    value
        .keys()
        .all(|key| shown.contains_key(key))
        .then_some((value, shown))
}

/// What turns a text back into the one before it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct WayBack {
    /// Where the texts begin to differ, in bytes.
    at: usize,
    /// How many bytes go.
    remove: usize,
    /// What comes in their place.
    insert: String,
}

impl WayBack {
    /// From `after` to `before`.
    pub(super) fn between(before: &str, after: &str) -> Self {
        let same = |pairs: &mut dyn Iterator<Item = (char, char)>| -> usize {
            let alike = pairs.take_while(|(one, other)| one == other);
            alike.map(|(one, _)| one.len_utf8()).sum()
        };
        let at = same(&mut before.chars().zip(after.chars()));
        let rest = |text: &str| text.get(at..).unwrap_or_default().to_owned();
        let (old, new) = (rest(before), rest(after));
        let end = same(&mut old.chars().rev().zip(new.chars().rev()));
        Self {
            at,
            remove: new.len() - end,
            insert: old.get(..old.len() - end).unwrap_or_default().to_owned(),
        }
    }

    /// The text before; nothing where this is no way back from it.
    pub(super) fn from(&self, after: &str) -> Option<String> {
        let head = after.get(..self.at)?;
        let tail = after.get(self.at.checked_add(self.remove)?..)?;
        Some(format!("{head}{}{tail}", self.insert))
    }

    /// How much it brings back.
    pub(super) fn len(&self) -> usize {
        self.insert.len()
    }

    /// Whether what it brings back of `before` has a secret in it, or a part of one.
    pub(super) fn has_secrets(&self, before: &Document<'_>) -> bool {
        let range = self.at..self.at + self.insert.len();
        if range.is_empty() {
            return false;
        }
        let text = before.written;
        let head = text.get(..range.start).unwrap_or_default();
        let tail = text.get(range.end..).unwrap_or_default();
        let start = head.rfind('\n').map_or(0, |line| line + 1);
        let end = tail.find('\n').map_or(text.len(), |line| range.end + line);
        let lines = text.get(start..end).unwrap_or_default();
        let hidden = redact::hidden(lines, TextKind::Prose).into_iter();
        let mut hidden = hidden.map(|part| {
            let at = start + (part.as_ptr().addr() - lines.as_ptr().addr());
            at..at + part.len()
        });
        if hidden.any(|part| part.start < range.end && range.start < part.end) {
            return true;
        }
        let mark = text.len() - before.text.len();
        let range = range.start.saturating_sub(mark)..range.end.saturating_sub(mark);
        let settings = before.members().iter();
        let settings = settings.filter(|member| member.name.as_str() != SERVERS);
        let mut settings = settings.filter(|member| is_in_range(&member.value, &range));
        let entries = before.servers.iter().zip(before.entries());
        let mut entries = entries.filter(|(_, entry)| is_in_range(*entry, &range));
        settings.any(|member| {
            let value = document::to_json(&member.value, "", &mut Vec::new());
            let shown = shown_setting(member.name.as_str(), &value);
            hides(&member.value, Some(&shown), &range)
        }) || entries.any(|(server, entry)| {
            let mut shown = shown_entry(&server.entry);
            if let (Value::Object(shown), Some(name)) = (&mut shown, &server.name) {
                // In an array of servers it is one of their keys.
                shown.entry("name").or_insert_with(|| name.as_str().into());
            }
            hides(entry, Some(&shown), &range)
        })
    }
}

fn is_in_range(node: &dyn Ranged, range: &Range<usize>) -> bool {
    node.start() < range.end && range.start < node.end()
}

/// Whether a part of the value that lies in the range is not shown as it is.
fn hides(value: &ast::Value<'_>, shown: Option<&Value>, range: &Range<usize>) -> bool {
    if !is_in_range(value, range) {
        return false;
    }
    match (value, shown) {
        (ast::Value::Object(object), Some(Value::Object(shown))) => {
            let members = object.properties.iter();
            let mut touched = members.filter(|one| is_in_range(*one, range));
            touched.any(|member| match shown.get(member.name.as_str()) {
                None => true,
                shown => hides(&member.value, shown, range),
            })
        }
        (ast::Value::Array(list), Some(Value::Array(shown)))
            if list.elements.len() == shown.len() =>
        {
            let mut elements = list.elements.iter().zip(shown);
            elements.any(|(element, shown)| hides(element, Some(shown), range))
        }
        (value, Some(shown)) => document::to_json(value, "", &mut Vec::new()) != *shown,
        (_, None) => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(before: &str, after: &str, expected: &Value, has_secrets: bool) {
        let read = |text| document::read(text).expect("a good document");
        let found = changed_values(&read(before), &read(after));
        let found = found.iter().map(|one| {
            let of = |value: &Option<Value>| value.clone().unwrap_or_else(|| "-".into());
            json!([one.path.join("."), of(&one.before), of(&one.after)])
        });
        assert_eq!(&found.collect::<Value>(), expected, "{before} {after}");
        let back = WayBack::between(before, after);
        assert_eq!(back.from(after).as_deref(), Some(before));
        assert_eq!(back.has_secrets(&read(before)), has_secrets, "{back:?}");
    }

    #[test]
    fn values_are_named_and_secrets_are_not_shown() {
        let one = r#"{"top_k": 5, "mcpServers": {"a": {"command": "x", "env": {"API_KEY": "s3cret-1"}}}}"#;
        let two = one.replace("5,", "7,");
        check(one, &two, &json!([["top_k", 5, 7]]), false);
        check(one, &one.replace("{\"top", "{ \"top"), &json!([]), false);
        let secret = one.replace("s3cret-1", "s3cret-2");
        let path = "mcpServers.a.env.API_KEY";
        check(one, &secret, &json!([[path, "***", "***"]]), true);
        check(
            "{}",
            one,
            &json!([["mcpServers.a", "-", {"command": "x", "env": {"API_KEY": "***"}}], ["top_k", "-", 5]]),
            false,
        );
        let gone = r#"{"top_k": 5, "mcpServers": {}}"#;
        check(
            one,
            gone,
            &json!([["mcpServers.a", {"command": "x", "env": {"API_KEY": "***"}}, "-"]]),
            true,
        );
        let listed = r#"{"mcpServers": [{"name": "a", "command": "x", "args": ["1"]}]}"#;
        check(
            listed,
            &listed.replace("[\"1\"]", "[]"),
            &json!([["mcpServers.a.args", ["1"], []]]),
            false,
        );
    }

    #[test]
    fn tokens_and_comments_with_secrets_do_not_come_back_from_disk() {
        let auth = r#"{"serverAuth": {"provider": "bearer", "bearer": {"tokens": {"s3cret-token-aaaaaaa": "ada"}}}}"#;
        let other = auth.replace("s3cret-token-aaaaaaa", "s3cret-token-bbbbbbb");
        let shown = json!([["serverAuth.bearer.tokens", {"*** 1": "ada"}, {"*** 1": "ada"}]]);
        check(auth, &other, &shown, true);
        let comment = "{ // ghp_0123456789abcdefghijABCDEFGHIJ012345\n \"top_k\": 1}";
        check(comment, "{\n \"top_k\": 1}", &json!([]), true);
    }
}
