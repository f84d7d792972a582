//! What of values that strangers wrote may stand in a record: secrets of the configuration never, what looks like a credential only
//! where everything is wanted; and of everything only so much.

use std::{borrow::Cow, collections::HashMap, sync::Arc};

use serde_json::{Map, Value};

use crate::{
    config::{self, Kept},
    secret::{MASK, Secrets},
    sync::Guarded,
    wire::Raw,
};

/// Limit: bytes of one text, and of all that is kept of a value.
const REDACTED: Bounds = Bounds {
    text: 512,
    total: 4 << 10,
};
const FULL: Bounds = Bounds {
    text: 32 << 10,
    total: 64 << 10,
};

/// Limit: bytes of a name or of a sentence.
pub(super) const NAME: usize = 256;
const SENTENCE: usize = 1_024;

/// Limit: names that are remembered.
const MOST_NAMES: usize = 1_024;

/// Limit: how deep a value is looked into.
const DEPTH: usize = 24;

/// Members whose own members are variables or headers, which may be secret whatever their names are.
const HOLDERS: [&str; 4] = ["env", "env_json", "headers", "headers_json"];

/// Stands for what is left out.
const LEFT_OUT: &str = "…";

#[derive(Clone, Copy)]
struct Bounds {
    text: usize,
    total: usize,
}

/// Masks by the secrets of the settings in force.
#[derive(Debug, Default)]
pub(super) struct Redaction {
    secrets: Secrets,
    /// Names as they are shown: the same come again and again.
    names: Guarded<HashMap<Box<str>, Arc<str>>>,
}

impl Redaction {
    pub(super) fn new(secrets: Secrets) -> Self {
        Self {
            secrets,
            names: Guarded::default(),
        }
    }

    /// A name: of a client, a tool, a method.
    pub(super) fn name(&self, text: &str) -> String {
        if let Some(shown) = self.names.lock().get(text) {
            return shown.to_string();
        }
        let shown = self.masked(text, NAME);
        if text.len() <= NAME {
            let mut names = self.names.lock();
            if names.len() >= MOST_NAMES {
                names.clear();
            }
            names.insert(text.into(), shown.as_str().into());
        }
        shown
    }

    /// A sentence: a reason, an error.
    pub(super) fn sentence(&self, text: &str) -> String {
        self.masked(text, SENTENCE)
    }

    fn masked(&self, text: &str, longest: usize) -> String {
        // What is cut first can no longer be found as a whole, so that is done last; but nobody searches megabytes for nothing.
        let looked_at = beginning(text, longest.saturating_mul(4));
        let known = self.secrets.masked(looked_at);
        let masked = config::mask_text_of_strangers(&known);
        cut(&masked, longest, looked_at.len() < text.len())
    }

    /// A value, as far as it may be kept.
    pub(super) fn value(&self, raw: &Raw, kept: Kept) -> Option<Value> {
        let bounds = match kept {
            Kept::Off => return None,
            Kept::Redacted => REDACTED,
            Kept::Full => FULL,
        };
        let value: Value = raw.read().ok()?;
        let mut walk = Walk {
            redaction: self,
            kept,
            bounds,
            left: bounds.total,
        };
        Some(walk.value("", value, DEPTH))
    }
}

/// One value on its way into a record.
struct Walk<'a> {
    redaction: &'a Redaction,
    kept: Kept,
    bounds: Bounds,
    /// In bytes.
    left: usize,
}

impl Walk<'_> {
    fn value(&mut self, key: &str, value: Value, depth: usize) -> Value {
        if self.left == 0 || depth == 0 {
            return LEFT_OUT.into();
        }
        match value {
            Value::Null | Value::Bool(_) => {
                self.spend(4);
                value
            }
            Value::Number(number) => {
                let text = number.to_string();
                self.spend(text.len());
                if self.text_of(key, &text) == text {
                    Value::Number(number)
                } else {
                    MASK.into()
                }
            }
            Value::String(text) => self.text(key, &text, depth),
            Value::Array(elements) => {
                let mut shown = Vec::new();
                for element in elements {
                    if self.left == 0 {
                        shown.push(LEFT_OUT.into());
                        break;
                    }
                    self.spend(2);
                    shown.push(self.value(key, element, depth - 1));
                }
                Value::Array(shown)
            }
            Value::Object(members) => self.object(members, depth),
        }
    }

    fn object(&mut self, members: Map<String, Value>, depth: usize) -> Value {
        let mut shown = Map::new();
        for (key, value) in members {
            if self.left == 0 {
                shown.insert(LEFT_OUT.to_owned(), LEFT_OUT.into());
                break;
            }
            self.spend(key.len() + 4);
            let value = if self.kept == Kept::Redacted && HOLDERS.contains(&key.as_str()) {
                with_values_masked(value)
            } else {
                value
            };
            let value = self.value(&key, value, depth - 1);
            shown.insert(self.redaction.name(&key), value);
        }
        Value::Object(shown)
    }

    fn text(&mut self, key: &str, text: &str, depth: usize) -> Value {
        // JSON in a text has names of its own that say what is secret.
        let is_json = text.starts_with(['{', '[']);
        let inner = is_json
            .then(|| serde_json::from_str::<Value>(text).ok())
            .flatten();
        if let Some(inner) = inner {
            let shown = self.value(key, inner, depth - 1).to_string();
            return cut(&shown, self.bounds.text, false).into();
        }
        let looked_at = beginning(text, self.bounds.text.saturating_mul(4));
        let masked = self.text_of(key, looked_at);
        let shown = cut(
            &masked,
            self.bounds.text.min(self.left),
            looked_at.len() < text.len(),
        );
        self.spend(shown.len() + 2);
        shown.into()
    }

    fn text_of(&self, key: &str, text: &str) -> String {
        let known = self.redaction.secrets.masked(text);
        match self.kept {
            Kept::Full => known.into_owned(),
            Kept::Redacted | Kept::Off => config::mask_value(key, &known).into_owned(),
        }
    }

    fn spend(&mut self, bytes: usize) {
        self.left = self.left.saturating_sub(bytes);
    }
}

/// An object, also as JSON in a text, of which only the names are shown.
fn with_values_masked(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let masked = members.into_iter().map(|(name, value)| {
                let shown = if value.is_null() { value } else { MASK.into() };
                (name, shown)
            });
            Value::Object(masked.collect())
        }
        Value::String(text) => match serde_json::from_str(&text) {
            Ok(inner @ Value::Object(_)) => with_values_masked(inner).to_string().into(),
            _ => Value::String(text),
        },
        other => other,
    }
}

/// A text of at most so many bytes, and then whether there is more.
fn cut(text: &str, longest: usize, is_cut: bool) -> String {
    let shown = beginning(text, longest);
    if shown.len() < text.len() || is_cut {
        format!("{shown}{LEFT_OUT}")
    } else {
        text.to_owned()
    }
}

fn beginning(text: &str, longest: usize) -> &str {
    text.split_at(text.floor_char_boundary(longest)).0
}

/// A resource by its URI, which may carry credentials as an address does.
pub(super) fn uri(redaction: &Redaction, uri: &str) -> String {
    let known: Cow<'_, str> = redaction.secrets.masked(uri);
    let masked = config::mask_text_of_strangers(&known);
    cut(&masked, 4 * NAME, false)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "ghp_0123456789abcdef";

    fn redaction() -> Redaction {
        Redaction::new(Secrets::new([
            "hunter2-hunter2".to_owned(),
            "424242".to_owned(),
        ]))
    }

    #[track_caller]
    fn check(kept: Kept, value: &str, expected: &str) {
        let raw = Raw::parse_str(value).expect("JSON");
        let shown = redaction().value(&raw, kept).map(|value| value.to_string());
        assert_eq!(shown.as_deref().unwrap_or("nothing"), expected, "{value}");
    }

    #[test]
    fn what_looks_like_a_credential_is_masked_wherever_it_stands() {
        let check = |value: &str, expected: &str| check(Kept::Redacted, value, expected);
        check(
            r#"{"a":1.5,"b":[true,null,"x"]}"#,
            r#"{"a":1.5,"b":[true,null,"x"]}"#,
        );
        check(
            r#"{"password":"p","n":{"api_key":["k"]}}"#,
            r#"{"password":"***","n":{"api_key":["***"]}}"#,
        );
        check(
            &format!(r#"["{TOKEN}","say {TOKEN}."]"#),
            r#"["***","say ***"]"#,
        );
        check(
            r#"{"u":"https://u:p@h/x?token=1"}"#,
            r#"{"u":"https://***@h/x?token=***"}"#,
        );
        check(
            r#"{"q":"its hunter2-hunter2!","n":424242,"m":4242421}"#,
            r#"{"q":"its ***!","n":"***","m":"***"}"#,
        );
        check(
            r#"{"j":"{\"token\":\"t\",\"a\":1}"}"#,
            r#"{"j":"{\"token\":\"***\",\"a\":1}"}"#,
        );
        check(
            r#"{"env":{"MODE":"x","OLD":null},"headers_json":"{\"X-A\":\"b\"}"}"#,
            r#"{"env":{"MODE":"***","OLD":null},"headers_json":"{\"X-A\":\"***\"}"}"#,
        );
        check(&format!(r#"{{"{TOKEN}":1}}"#), r#"{"***":1}"#);
        check(r#"{"pin":123,"token":5}"#, r#"{"pin":123,"token":"***"}"#);
    }

    #[test]
    fn secrets_of_the_configuration_are_masked_in_any_case() {
        let value = format!(r#"{{"t":"{TOKEN}","q":"hunter2-hunter2"}}"#);
        check(
            Kept::Full,
            &value,
            &format!(r#"{{"t":"{TOKEN}","q":"***"}}"#),
        );
        check(Kept::Off, &value, "nothing");
        let name = redaction().name("a hunter2-hunter2 b");
        assert_eq!(name, "a *** b");
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let size = |kept: Kept, value: &Value| {
            let raw = Raw::author(value);
            redaction()
                .value(&raw, kept)
                .expect("kept")
                .to_string()
                .len()
        };
        let long = Value::String("ab ".repeat(100_000));
        let wide = Value::Array(vec!["abc".into(); 100_000]);
        let members = (0..20_000).map(|n| (n.to_string(), Value::Null));
        let object = Value::Object(members.collect());
        let mut deep = Value::Null;
        for _ in 0..60 {
            deep = Value::Array(vec![deep]);
        }
        for value in [&long, &wide, &object, &deep] {
            assert!(
                size(Kept::Redacted, value) < 3 * REDACTED.total,
                "{value:.30}"
            );
            assert!(size(Kept::Full, value) < 3 * FULL.total, "{value:.30}");
        }
        assert_eq!(size(Kept::Redacted, &long), 512 + "…".len() + 2);
        assert_eq!(
            redaction().sentence(&"ä".repeat(9_000)).len(),
            SENTENCE + "…".len()
        );
    }
}
