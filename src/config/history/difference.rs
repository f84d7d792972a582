//! The values that differ between two texts of the configuration, with secrets masked. Pure.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::config::{
    document::{Document, SERVERS},
    shown_file::{shown_entry, shown_setting},
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
    /// The server that the change removes, if it removes one.
    pub fn removed_server(&self) -> Option<&str> {
        match &self.path[..] {
            [key, server] if key == SERVERS && self.before.is_some() && self.after.is_none() => {
                Some(server)
            }
            _ => None,
        }
    }
}

/// Keeps a null as a value, where serde would read an absent one.
fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// The values that differ. Only these are masked, because masking a large file takes long.
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
        collect_shown(path, was, is, shown_entry, &mut found);
    }
    let (was, is) = (&before.settings, &after.settings);
    let new = is.keys().filter(|key| !was.contains_key(*key));
    for key in was.keys().chain(new) {
        let shown = |value: &Value| shown_setting(key, value);
        let path = vec![key.clone()];
        collect_shown(path, was.get(key), is.get(key), shown, &mut found);
    }
    found
}

/// Adds the differences between two values of a setting or an entry.
fn collect_shown(
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

/// A value, and its masked form.
type Pair<'a> = (&'a Value, &'a Value);

/// The members of an object, and of its masked form.
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

/// The members, where the masked form has all their names.
fn members(pair: Option<Pair<'_>>) -> Option<Members<'_>> {
    let (value, shown) = pair?;
    let (value, shown) = (value.as_object()?, shown.as_object()?);
    value
        .keys()
        .all(|key| shown.contains_key(key))
        .then_some((value, shown))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::config::document;

    #[track_caller]
    fn check(before: &str, after: &str, expected: &Value) {
        let read = |text| document::read(text).expect("a good document");
        let found = changed_values(&read(before), &read(after));
        let found = found.iter().map(|one| {
            let of = |value: &Option<Value>| value.clone().unwrap_or_else(|| "-".into());
            json!([one.path.join("."), of(&one.before), of(&one.after)])
        });
        assert_eq!(&found.collect::<Value>(), expected, "{before} {after}");
    }

    #[test]
    fn values_are_named_and_secrets_are_not_shown() {
        let one = r#"{"top_k": 5, "mcpServers": {"a": {"command": "x", "env": {"API_KEY": "s3cret-1"}}}}"#;
        let two = one.replace("5,", "7,");
        check(one, &two, &json!([["top_k", 5, 7]]));
        check(one, &one.replace("{\"top", "{ \"top"), &json!([]));
        let secret = one.replace("s3cret-1", "s3cret-2");
        let path = "mcpServers.a.env.API_KEY";
        check(one, &secret, &json!([[path, "***", "***"]]));
        check(
            "{}",
            one,
            &json!([["mcpServers.a", "-", {"command": "x", "env": {"API_KEY": "***"}}], ["top_k", "-", 5]]),
        );
        let gone = r#"{"top_k": 5, "mcpServers": {}}"#;
        check(
            one,
            gone,
            &json!([["mcpServers.a", {"command": "x", "env": {"API_KEY": "***"}}, "-"]]),
        );
        let listed = r#"{"mcpServers": [{"name": "a", "command": "x", "args": ["1"]}]}"#;
        check(
            listed,
            &listed.replace("[\"1\"]", "[]"),
            &json!([["mcpServers.a.args", ["1"], []]]),
        );
        let auth = r#"{"serverAuth": {"provider": "bearer", "bearer": {"tokens": {"s3cret-token-aaaaaaa": "ada"}}}}"#;
        check(
            auth,
            &auth.replace("aaaaaaa", "bbbbbbb"),
            &json!([["serverAuth.bearer.tokens", {"*** 1": "ada"}, {"*** 1": "ada"}]]),
        );
    }
}
