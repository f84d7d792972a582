//! What lists and searches show of a server's definitions, without the values that its entry has from references: a server may repeat what
//! it was started with. Names are left as they are, because commands and calls take them. Whatever forwards a definition as a whole
//! (`tools/list` of a client, `describe_tool`) does so byte for byte, and does not come here. Pure.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::server_catalog::Tool;
use crate::{config::Settings, text::secret::Secrets, wire::Raw};

/// What must not show of the entry of a server.
pub fn secrets_of(settings: &Settings, server: &str) -> Secrets {
    let entry = settings.servers.get(server);
    entry.map_or_else(Secrets::default, |entry| entry.secrets.clone())
}

impl Tool {
    /// Whether its definition has one of these values in it. Looked up once: searches find the same tools again and again.
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

/// A definition without them, as it is if there are none in it. They are looked for in its texts, not in how those are written.
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

/// The same of a value as it came.
pub fn raw(secrets: &Secrets, value: Raw) -> Raw {
    match definition(secrets, value.as_str()) {
        Cow::Borrowed(_) => value,
        Cow::Owned(redacted) => Raw::parse_str(&redacted).unwrap_or_else(|_| Raw::empty_object()),
    }
}

/// A text without them.
pub fn text(secrets: &Secrets, text: &str) -> String {
    secrets.redacted(text).into_owned()
}

/// Whether there was something to mask. Definitions nest no deeper than what serde reads.
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

/// Names of members, too: nothing is called by them. Members that would have the same name get a number.
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
