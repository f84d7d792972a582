//! Masks the secrets of a server's entry in its definitions: a server may repeat what it was started with. Lists for operators and searches
//! show definitions this way. `tools/list` and `describe_tool` give them byte for byte. Names stay, because commands and calls take them. Pure.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::server_catalog::Tool;
use crate::{config::Settings, text::secret::Secrets, wire::Raw};

/// The secrets in the entry of a server.
pub fn secrets_of(settings: &Settings, server: &str) -> Secrets {
    let entry = settings.servers.get(server);
    entry.map_or_else(Secrets::default, |entry| entry.secrets.clone())
}

impl Tool {
    /// Whether its definition contains one of these secrets. Remembers the answer, because searches find the same tools again and again.
    pub fn repeats(&self, secrets: &Secrets) -> bool {
        if secrets.is_empty() {
            return false;
        }
        let mut known = self.repeated.lock();
        if let Some((of, repeats)) = &*known
            && of == secrets
        {
            return *repeats;
        }
        let shown = definition(secrets, self.definition.as_str());
        let repeats = matches!(shown, Cow::Owned(_));
        *known = Some((secrets.clone(), repeats));
        repeats
    }
}

/// A definition with these secrets masked, however its texts are escaped.
pub fn definition<'a>(secrets: &Secrets, definition: &'a str) -> Cow<'a, str> {
    if secrets.is_empty() {
        return Cow::Borrowed(definition);
    }
    let Ok(mut value) = serde_json::from_str(definition) else {
        return secrets.redacted(definition);
    };
    if mask(secrets, &mut value) {
        Cow::Owned(value.to_string())
    } else {
        Cow::Borrowed(definition)
    }
}

/// A raw definition with these secrets masked.
pub fn raw(secrets: &Secrets, value: Raw) -> Raw {
    match definition(secrets, value.as_str()) {
        Cow::Borrowed(_) => value,
        Cow::Owned(redacted) => Raw::parse_str(&redacted).unwrap_or_else(|_| Raw::empty_object()),
    }
}

/// A text with these secrets masked.
pub fn text(secrets: &Secrets, text: &str) -> String {
    secrets.redacted(text).into_owned()
}

/// Masks secrets in a value. Gives whether it had any. Definitions nest no deeper than what serde reads.
fn mask(secrets: &Secrets, value: &mut Value) -> bool {
    match value {
        Value::String(text) => match secrets.redacted(text) {
            Cow::Borrowed(_) => false,
            Cow::Owned(redacted) => {
                *text = redacted;
                true
            }
        },
        Value::Array(elements) => {
            let redacted = elements.iter_mut().map(|one| mask(secrets, one));
            redacted.fold(false, |any, one| any | one)
        }
        Value::Object(members) => {
            let redacted = members
                .iter_mut()
                .filter(|(key, value)| *key != "name" || !value.is_string())
                .map(|(_, one)| mask(secrets, one));
            let is_redacted = redacted.fold(false, |any, one| any | one);
            mask_names(secrets, members) | is_redacted
        }
        _ => false,
    }
}

/// Masks secrets in the names of members, by which nothing is called. Members that would get the same name get a number.
fn mask_names(secrets: &Secrets, members: &mut Map<String, Value>) -> bool {
    let repeats = |name: &String| matches!(secrets.redacted(name), Cow::Owned(_));
    if !members.keys().any(repeats) {
        return false;
    }
    let mut shown = Map::new();
    for (name, value) in std::mem::take(members) {
        let redacted = secrets.redacted(&name).into_owned();
        let mut unique = redacted.clone();
        let mut number = 2;
        while shown.contains_key(&unique) {
            unique = format!("{redacted} ({number})");
            number += 1;
        }
        shown.insert(unique, value);
    }
    *members = shown;
    true
}

#[cfg(test)]
mod tests;
