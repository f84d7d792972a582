//! Values that a page of a server has in place of the reader's own: they are asked for, never stored. Pure.

use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use crate::text::redact::{self, TextKind};

/// A value to give.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Placeholder {
    /// The key, such as `env.TOKEN`, `args.2` or `url`.
    pub place: String,
    /// The placeholder.
    #[serde(serialize_with = "redacted")]
    pub text: String,
}

/// Beside a placeholder there may be a secret.
fn redacted<S: Serializer>(text: &str, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&redact::redacted(text, TextKind::Prose))
}

/// Stand in paths of which the reader writes the first part.
const PATHS: [&str; 3] = ["/path/to", "\\path\\to", "path/to/your"];

impl Placeholder {
    /// Whether a path stands in its place, which is nothing to hide.
    pub fn is_path(&self) -> bool {
        let lower = self.text.to_ascii_lowercase();
        PATHS.iter().any(|mark| lower.contains(mark))
    }

    /// Its text with a value in it: of `Bearer <token>` only the blank gives way.
    pub(super) fn filled(&self, value: &str) -> String {
        let blank = self.text.split_once('<').and_then(|(before, rest)| {
            let (_, after) = rest.split_once('>')?;
            (!after.contains('<')).then_some((before, after))
        });
        match blank {
            Some((before, after)) if before.is_empty() || !value.starts_with(before) => {
                format!("{before}{value}{after}")
            }
            _ => value.to_owned(),
        }
    }
}

/// The placeholders of an entry of ours.
pub(super) fn placeholders(entry: &Map<String, Value>) -> Vec<Placeholder> {
    let mut found = Vec::new();
    for (key, value) in entry {
        match value {
            Value::Object(members) => {
                for (name, value) in members {
                    note(&mut found, format!("{key}.{name}"), value);
                }
            }
            Value::Array(values) => {
                for (at, value) in values.iter().enumerate() {
                    note(&mut found, format!("{key}.{at}"), value);
                }
            }
            value => note(&mut found, key.clone(), value),
        }
    }
    found
}

fn note(found: &mut Vec<Placeholder>, place: String, value: &Value) {
    if let Some(text) = value.as_str().filter(|text| is_placeholder(text)) {
        let text = text.to_owned();
        found.push(Placeholder { place, text });
    }
}

/// Puts a value in its place.
pub(super) fn fill(entry: &mut Map<String, Value>, place: &str, value: &str) {
    let (key, inner) = place.split_once('.').unwrap_or((place, ""));
    let slot = match entry.get_mut(key) {
        Some(Value::Object(members)) => members.get_mut(inner),
        Some(Value::Array(values)) => inner.parse().ok().and_then(|at: usize| values.get_mut(at)),
        slot => slot,
    };
    if let Some(slot) = slot {
        *slot = value.into();
    }
}

/// Whether a page means the reader to write something of their own here.
pub fn is_placeholder(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let marks = "replace_me replace-me replace_with insert_your changeme xxxxxx";
    let words = "key token secret password id url path name here pat workspace username";
    let is_yours = ["your_", "your-", "your "].iter().any(|begin| {
        lower.split_once(begin).is_some_and(|(before, _)| {
            let starts = !before.ends_with(|c: char| c.is_ascii_alphanumeric());
            starts && words.split(' ').any(|word| lower.contains(word))
        })
    });
    let mut marks = marks.split(' ').chain(PATHS);
    is_yours || marks.any(|mark| lower.contains(mark)) || has_brackets(text)
}

/// `<YOUR_KEY>`, `Bearer <token>`, `[PROJECT_ID]`.
fn has_brackets(text: &str) -> bool {
    let pairs = [('<', '>'), ('[', ']')];
    pairs.into_iter().any(|(open, close)| {
        let inside = text
            .split_once(open)
            .and_then(|(_, rest)| rest.split_once(close));
        inside.is_some_and(|(inside, _)| {
            let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | ' ' | '.');
            let is_loud = open == '<' || inside.chars().all(|c| !c.is_ascii_lowercase());
            inside.len() > 1
                && is_loud
                && inside.chars().all(is_word)
                && inside.contains(|c: char| c.is_ascii_alphabetic())
        })
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{fill, placeholders};

    #[test]
    fn what_the_reader_is_to_write_is_found_and_filled() {
        let entry = json!({
            "command": "npx",
            "args": ["-y", "server-files", "/path/to/folder", "/home/me"],
            "env": { "A": "<YOUR_API_KEY>", "B": "your-token-here", "C": "Bearer <token>", "D": "${TOKEN}", "E": "https://api.example.com", "F": "[PROJECT_ID]", "G": "[a-z]" },
            "url": "https://h/?key=YOUR_API_KEY"
        });
        let mut entry = entry.as_object().expect("a map").clone();
        let found = placeholders(&entry);
        let places: Vec<&str> = found.iter().map(|one| &*one.place).collect();
        assert_eq!(
            places,
            ["args.2", "env.A", "env.B", "env.C", "env.F", "url"]
        );
        for one in &found {
            fill(&mut entry, &one.place, &one.filled("x"));
        }
        assert_eq!(entry["env"]["C"], "Bearer x");
        assert_eq!(found[3].filled("Bearer x"), "Bearer x");
        assert_eq!(placeholders(&entry), []);
        assert_eq!(entry["args"][2], "x");
    }
}
