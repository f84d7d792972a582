//! Looks up keys of the configuration file in its JSON Schema.

use std::sync::LazyLock;

use serde_json::{Map, Value};

use super::{
    document::SERVERS,
    raw::{entry_keys, schema},
    unknown_keys,
};
use crate::text::names;

/// Whether the schema has a path of keys.
#[derive(Debug, PartialEq, Eq)]
pub enum KeyLookup {
    /// It has the path, or the path leads to names that users choose.
    Known,
    /// It has this similar path.
    Meant(String),
    /// It has no similar path.
    Unknown,
}

/// The default value of a key; of an object without one, the defaults of its keys.
pub fn default_of(path: &[String]) -> Option<Value> {
    let found = path
        .iter()
        .try_fold(parsed(), |of, key| of.get("properties")?.get(key))?;
    let own = |of: &Value| of.get("default").filter(|value| !value.is_null()).cloned();
    let inner = || {
        let inner = found.get("properties")?.as_object()?;
        let defaults = inner
            .iter()
            .filter_map(|(key, of)| Some((key.clone(), own(of)?)));
        let defaults: Map<String, Value> = defaults.collect();
        (!defaults.is_empty()).then_some(Value::Object(defaults))
    };
    own(found).or_else(inner)
}

/// Looks up a path of keys.
pub fn look_up(path: &[String]) -> KeyLookup {
    let with = |at: usize, close: Option<&str>| {
        close.map_or(KeyLookup::Unknown, |close| {
            let mut meant: Vec<&str> = path.iter().map(String::as_str).collect();
            meant[at] = close;
            KeyLookup::Meant(meant.join("."))
        })
    };
    // The schema has fewer spellings of an entry's keys than an entry may have.
    if let [servers, _, key, ..] = path
        && servers == SERVERS
        && !entry_keys().contains(&key.as_str())
    {
        return with(2, unknown_keys::meant(key, entry_keys()));
    }
    let mut of = parsed();
    for (at, key) in path.iter().enumerate() {
        let Some(known) = of.get("properties").and_then(Value::as_object) else {
            if is_object(of) {
                // Users choose the names of its members.
                break;
            }
            return KeyLookup::Unknown;
        };
        let Some(inner) = known.get(key) else {
            if path.iter().any(String::is_empty) {
                return KeyLookup::Unknown;
            }
            let known = known.keys().map(String::as_str);
            let close = names::closest(key, known.filter(|key| !key.starts_with('$')));
            return with(at, close);
        };
        of = inner;
    }
    KeyLookup::Known
}

/// Whether a value with this schema may have members.
fn is_object(of: &Value) -> bool {
    match of.get("type") {
        Some(Value::String(kind)) => kind == "object",
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "object"),
        _ => true,
    }
}

fn parsed() -> &'static Value {
    static PARSED: LazyLock<Value> =
        LazyLock::new(|| serde_json::from_str(schema()).unwrap_or_default());
    &PARSED
}

#[cfg(test)]
mod tests {
    use super::{KeyLookup, default_of, look_up};

    fn keys(path: &str) -> Vec<String> {
        path.split('.').map(str::to_owned).collect()
    }

    #[test]
    fn keys_are_known_or_meant_or_neither() {
        let check = |path: &str, expected: KeyLookup| {
            assert_eq!(look_up(&keys(path)), expected, "{path}");
        };
        check("activity.max_age", KeyLookup::Known);
        check("mcpServers.any", KeyLookup::Known);
        check(
            "activity.max_agee",
            KeyLookup::Meant("activity.max_age".to_owned()),
        );
        check("mcpServers.any.disabled", KeyLookup::Known);
        check("mcpServers.any.env.ANY", KeyLookup::Known);
        check(
            "mcpServers.any.commnd",
            KeyLookup::Meant("mcpServers.any.command".to_owned()),
        );
        check("activity.", KeyLookup::Unknown);
        check("top_k.x", KeyLookup::Unknown);
        check("zzzzzzzz", KeyLookup::Unknown);
    }

    #[test]
    fn an_object_has_the_defaults_of_its_keys() {
        let max_age = default_of(&keys("activity.max_age"));
        assert!(max_age.is_some());
        let whole = default_of(&keys("activity")).unwrap_or_default();
        assert_eq!(whole.get("max_age").cloned(), max_age);
        assert_eq!(default_of(&keys("zzzzzzzz")), None);
    }
}
