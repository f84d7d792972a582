//! The configuration file as it is written, with secrets as `***` and references by name. Pure.

use serde_json::{Map, Value};

use super::{AgentTexts, ConfigError, ShownSettings, document, reviewed_entry};
use crate::text::{
    MASK, TextKind,
    redact::{self, is_secret_name},
};

/// Keys of the top level whose values are secrets.
const KEYS: &[&str] = &["api_key", "session_key"];

/// The values of a file with secrets masked.
pub fn shown_file(text: &str) -> Result<Value, ConfigError> {
    let document = document::read(text)?;
    let settings = document.settings.iter();
    let settings = settings.map(|(key, value)| (key.clone(), shown_setting(key, value)));
    let mut shown: Map<String, Value> = settings.collect();
    let mut servers = Map::new();
    for (number, written) in document.servers.iter().enumerate() {
        let name = written.name.clone().unwrap_or_else(|| format!("#{number}"));
        // Of two entries with the same name the first counts.
        let entry = servers.entry(name);
        entry.or_insert_with(|| shown_entry(&written.entry));
    }
    shown.insert(document::SERVERS.to_owned(), servers.into());
    Ok(shown.into())
}

/// A value of the top level with secrets masked.
pub(super) fn shown_setting(key: &str, value: &Value) -> Value {
    match (key, value) {
        (key, value) if KEYS.contains(&key) => hidden(value),
        ("otlp_endpoint", Value::String(address)) => {
            redact::redacted(address, TextKind::Word).into()
        }
        ("serverAuth", value) => server_auth(value),
        _ => redacted(key, value),
    }
}

/// An entry of a server with secrets masked.
pub(super) fn shown_entry(entry: &Value) -> Value {
    let entry = entry
        .as_object()
        .map(|entry| reviewed_entry(entry, &AgentTexts::default(), ShownSettings::AllButSecrets));
    entry.into()
}

/// Masks a secret, but not a reference to one.
fn hidden(value: &Value) -> Value {
    let is_reference =
        |text: &str| text.starts_with("${") && text.ends_with('}') && !text.contains(":-");
    match value {
        Value::String(text) if is_reference(text) && text.matches("${").count() == 1 => {
            value.clone()
        }
        Value::Null => Value::Null,
        _ => MASK.into(),
    }
}

/// Masks `serverAuth`: tokens are keys there, and their callers are shown.
fn server_auth(value: &Value) -> Value {
    let Value::Object(groups) = value else {
        return redacted("serverAuth", value);
    };
    let shown = groups.iter().map(|(name, group)| {
        let shown = match group {
            Value::Object(bearer) if name == "bearer" => bearer.iter().map(of_bearer).collect(),
            _ => redacted(name, group),
        };
        (name.clone(), shown)
    });
    Value::Object(shown.collect())
}

fn of_bearer((name, value): (&String, &Value)) -> (String, Value) {
    let shown = match value {
        Value::Object(tokens) if name == "tokens" => {
            let of = tokens.values().enumerate();
            let numbered = of.map(|(number, of)| (numbered(number), redacted("", of)));
            Value::Object(numbered.collect())
        }
        _ => redacted(name, value),
    };
    (name.clone(), shown)
}

fn numbered(number: usize) -> String {
    format!("{MASK} {}", number + 1)
}

/// Masks a value under this name. In an object under the name of a secret, the keys are masked as well: they may be tokens in the wrong
/// place.
fn redacted(name: &str, value: &Value) -> Value {
    match value {
        Value::Object(members) if is_secret_name(name) && !members.is_empty() => {
            let numbered = (0..members.len()).map(|number| (numbered(number), MASK.into()));
            Value::Object(numbered.collect())
        }
        Value::Object(members) => {
            let members = members.iter();
            let members = members.map(|(name, member)| (name.clone(), redacted(name, member)));
            Value::Object(members.collect())
        }
        Value::Array(elements) => elements.iter().map(|one| redacted(name, one)).collect(),
        Value::String(_) if is_secret_name(name) => hidden(value),
        Value::String(text) => redact::redacted(text, TextKind::Prose).into(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_secret_of_the_file_is_shown() {
        let text = r#"{
            // a comment
            "api_key": "s3cret-value-1", "session_key": "${SESSION}", "listen": "127.0.0.1:1",
            "otlp_endpoint": "https://me:s3cret@h:4318/x?token=s3cret-value-4",
            "serverAuth": {"bearer": {"tokens": {"s3cret-token-aaaaaaaaa": {"subject": "ada", "roles": ["dev"]}}}},
            "environment": {"set": {"GITHUB_TOKEN": "s3cret-value-2", "LANG": "C"}},
            "mcpServers": {"a": {"command": "x", "env": {"API_KEY": "s3cret-value-3", "B": "${B}"}}},
        }"#;
        let shown = shown_file(text).expect("a good file");
        let whole = shown.to_string();
        assert!(!whole.contains("s3cret"), "{whole}");
        assert_eq!(shown["api_key"], MASK);
        assert_eq!(shown["session_key"], "${SESSION}");
        assert_eq!(shown["listen"], "127.0.0.1:1");
        assert_eq!(shown["otlp_endpoint"], "https://***@h:4318/x?token=***");
        assert_eq!(shown["environment"]["set"]["LANG"], "C");
        let tokens = &shown["serverAuth"]["bearer"]["tokens"];
        assert_eq!(tokens["*** 1"]["subject"], "ada");
        assert_eq!(shown["mcpServers"]["a"]["command"], "x");
        assert_eq!(shown["mcpServers"]["a"]["env"]["API_KEY"], MASK);
        assert_eq!(shown["mcpServers"]["a"]["env"]["B"], "${B}");
        shown_file("{").expect_err("it is cut");
    }

    #[test]
    fn tokens_at_a_wrong_place_are_not_shown() {
        let text = r#"{
            "serverAuth": {
                "provider": "bearer", "tokens": {"s3cret-a": "ann"}, "bearer": {"token": {"s3cret-b": {"subject": "s3cret-c"}}},
                "trusted": [{"tokens": [{"s3cret-d": 1}]}],
            },
            "tokens": {"s3cret-e": {"s3cret-f": []}},
        }"#;
        let shown = shown_file(text).expect("a good file");
        assert!(!shown.to_string().contains("s3cret"), "{shown}");
        assert_eq!(shown["serverAuth"]["provider"], "bearer");
        assert_eq!(shown["tokens"]["*** 1"], MASK);
    }
}
