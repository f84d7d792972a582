//! An entry as it stands in the file, for whoever reviews it: which references stand where, by name; everything else that may be secret
//! as `***`. Nothing is resolved. Pure.

use serde_json::{Map, Value};

use super::{
    document, masking,
    references::{self, References},
};
use crate::secret::MASK;

/// What a header begins with before its credential.
const SCHEMES: &[&str] = &["Bearer", "Basic", "Token", "token", "ApiKey"];

/// The entry of a server as it is written in this text of a file, for a reviewer; `references` in it names every reference and where it
/// stands. Nothing if there is no such entry.
pub fn entry_for_review(text: &str, server: &str) -> Option<Value> {
    let document = document::read(text).ok()?;
    let mut servers = document.servers.into_iter();
    // Of two of one name the first counts.
    let written = servers.find(|written| written.name.as_deref() == Some(server))?;
    let Value::Object(entry) = written.entry else {
        return None;
    };
    let mut found = Map::new();
    let mut shown = Map::new();
    for (key, value) in &entry {
        note_references(key, value, &mut found);
        shown.insert(key.clone(), shown_value(key, value));
    }
    if !found.is_empty() {
        shown.insert("references".to_owned(), Value::Object(found));
    }
    Some(Value::Object(shown))
}

/// Adds the references of every text under this place.
fn note_references(place: &str, value: &Value, found: &mut Map<String, Value>) {
    match value {
        Value::String(text) => {
            let named: Vec<Value> = References::of(text).map(Value::String).collect();
            if !named.is_empty() {
                found.insert(place.to_owned(), Value::Array(named));
            }
        }
        Value::Array(elements) => {
            for (index, element) in elements.iter().enumerate() {
                note_references(&format!("{place}[{index}]"), element, found);
            }
        }
        Value::Object(members) => {
            for (key, member) in members {
                note_references(&format!("{place}.{key}"), member, found);
            }
        }
        _ => (),
    }
}

fn shown_value(key: &str, value: &Value) -> Value {
    match (key, value) {
        ("env" | "headers" | "oauth", Value::Object(members)) => {
            let shown = members.iter();
            let shown = shown.map(|(name, member)| (name.clone(), secret(member)));
            Value::Object(shown.collect())
        }
        ("args", Value::Array(elements)) => {
            let texts: Vec<String> = elements.iter().map(plain_text).collect();
            let masked = masking::mask_arguments(&texts).into_iter().zip(texts);
            let shown = masked.map(|(masked, text)| Value::String(argument(masked, &text)));
            shown.collect()
        }
        ("url", Value::String(url)) => Value::String(masking::mask_url(&references::by_name(url))),
        (_, Value::String(text)) => {
            let text = references::by_name(text);
            Value::String(super::mask_value(key, &masking::mask_text(&text)).into_owned())
        }
        (_, Value::Array(elements)) => elements.iter().map(|one| shown_value(key, one)).collect(),
        (_, Value::Object(members)) => {
            let shown = members.iter();
            let shown = shown.map(|(key, member)| (key.clone(), shown_value(key, member)));
            Value::Object(shown.collect())
        }
        (_, other) => other.clone(),
    }
}

/// An argument: a masked value that is nothing but references is shown as these.
fn argument(masked: String, text: &str) -> String {
    if references::is_made_of_references(text) {
        return references::by_name(text);
    }
    match text.split_once('=') {
        Some((flag, value)) if references::is_made_of_references(value) => {
            format!("{flag}={}", references::by_name(value))
        }
        _ => masked,
    }
}

/// A value that is taken for a secret, but for its references.
fn secret(value: &Value) -> Value {
    let Value::String(text) = value else {
        return Value::String(MASK.to_owned());
    };
    let shown = references::with_literals(text, |literal| match literal.trim() {
        "" => literal.to_owned(),
        scheme if SCHEMES.contains(&scheme) => literal.to_owned(),
        _ => MASK.to_owned(),
    });
    Value::String(shown)
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
            "env": { "A": "${HOME_KEY}", "B": "s3cret", "C": "Bearer ${TOKEN}", "D": "x${TOKEN}y", "E": 7 },
            "headers": { "Authorization": "Bearer ${env:TOKEN:-fallback}" },
            "url": "https://example.com/mcp?token=s3cret",
            "oauth": { "client_secret": "s3cret" },
            "changed_by": "agent",
        });
        let text = json!({ "mcpServers": { "s": entry } }).to_string();
        let shown = entry_for_review(&text, "s").expect("an entry");
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
            json!({ "A": "${HOME_KEY}", "B": "***", "C": "Bearer ${TOKEN}", "D": "***${TOKEN}***", "E": "***" })
        );
        assert_eq!(
            shown["headers"],
            json!({ "Authorization": "Bearer ${env:TOKEN:-***}" })
        );
        assert_eq!(shown["changed_by"], "agent");
        assert_eq!(shown["references"]["args[1]"], json!(["${TOKEN}"]));
        assert_eq!(shown["references"]["env.D"], json!(["${TOKEN}"]));
        let said = shown.to_string();
        for secret in ["s3cret", "hunter22", "abcdef", "fallback"] {
            assert!(!said.contains(secret), "{said}");
        }
        assert_eq!(entry_for_review(&text, "t"), None);
        assert_eq!(entry_for_review("{", "s"), None);
    }
}
