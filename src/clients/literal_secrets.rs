//! Secrets that stand in an entry as they are: where, and how they get into the keyring.

use serde::Serialize;
use serde_json::{Map, Value};

use super::placeholders::is_placeholder;
use crate::text::redact::{self, ListContext, TextKind};

/// A secret that stands in an entry as it is. Only its place is known here.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(transparent)]
pub struct LiteralSecret {
    /// Its key: `env.TOKEN`, `headers.Authorization`, `args`, `url`.
    pub place: String,
    /// What stands before it in its value and is no secret: `Bearer `.
    #[serde(skip)]
    pub scheme: &'static str,
    /// The name under which it can be kept: its server's own, and no other value is stored under it.
    #[serde(skip)]
    pub name: String,
    /// Whether it is stored under that name already.
    #[serde(skip)]
    pub is_stored: bool,
}

impl LiteralSecret {
    /// The variable or header whose value it is; nothing where it is a part of something else.
    pub fn key(&self) -> Option<&str> {
        self.place.split_once('.').map(|(_, key)| key)
    }

    /// What stands in its place once it is stored under a name.
    pub(super) fn reference(&self, name: &str) -> String {
        format!("{}${{keyring:{name}}}", self.scheme)
    }

    /// The commands that put it into the keyring.
    pub fn step(&self, server: &str) -> String {
        let (name, place) = (&self.name, &self.place);
        if place == "args" {
            return format!(
                "all users of this machine can read it; if {server} can read it from a variable, `mcpproxy secret set {name}`, `mcpproxy upstream patch {server} 'env.VARIABLE=${{keyring:{name}}}'`, then remove it from `args` with `mcpproxy config edit`"
            );
        }
        let store = if self.is_stored {
            "it is already stored; ".to_owned()
        } else {
            format!("`mcpproxy secret set {name}`, then ")
        };
        if self.key().is_none() {
            return format!(
                "{store}replace the secret with ${{keyring:{name}}} in the configuration file (`mcpproxy config path` names it)"
            );
        }
        let behind = match self.scheme.trim() {
            "" => String::new(),
            scheme => format!(" (the secret is what follows {scheme:?})"),
        };
        let reference = self.reference(name);
        format!("{store}`mcpproxy upstream patch {server} '{place}={reference}'`{behind}")
    }
}

/// Whether a text of ours refers to something.
pub(super) fn has_reference(text: &str) -> bool {
    text.match_indices("${")
        .any(|(at, _)| !text.get(..at).unwrap_or_default().ends_with('$'))
}

/// Whether a text is no reference, and nothing that a page has for the reader to replace.
fn is_literal(text: &str) -> bool {
    !has_reference(text) && !is_placeholder(text)
}

/// Where secrets stand in an entry of ours.
pub(super) fn literals(entry: &Map<String, Value>) -> Vec<LiteralSecret> {
    let mut places = Vec::new();
    for list in ["env", "headers"] {
        let members = entry.get(list).and_then(Value::as_object);
        for (key, value) in members.into_iter().flatten() {
            let value = value.as_str().unwrap_or_default();
            let is_secret = redact::redacted_value(key, value, TextKind::Prose) != value;
            if is_literal(value) && is_secret {
                places.push((format!("{list}.{key}"), scheme(value)));
            }
        }
    }
    let args = entry.get("args").and_then(Value::as_array);
    let command = entry.get("command").and_then(Value::as_str);
    let mut list = ListContext::of_command(command.unwrap_or_default());
    let mut is_secret = |arg: &str| {
        let follows = list.hide(arg);
        is_literal(arg) && (follows || redact::redacted(arg, TextKind::Prose) != arg)
    };
    let args = args.into_iter().flatten().filter_map(Value::as_str);
    // Each is looked at: what one is depends on those before it.
    if args.filter(|arg| is_secret(arg)).count() > 0 {
        places.push(("args".to_owned(), ""));
    }
    let url = entry.get("url").and_then(Value::as_str).unwrap_or_default();
    if !has_reference(url) && redact::redacted(url, TextKind::Prose) != url {
        places.push(("url".to_owned(), ""));
    }
    let oauth = entry.get("oauth");
    let secret = oauth.and_then(|oauth| oauth.get("client_secret"));
    if secret.and_then(Value::as_str).is_some_and(is_literal) {
        places.push(("oauth.client_secret".to_owned(), ""));
    }
    places
        .into_iter()
        .map(|(place, scheme)| LiteralSecret {
            place,
            scheme,
            ..LiteralSecret::default()
        })
        .collect()
}

/// The scheme of an `Authorization` header's value, with its blank.
pub(super) fn scheme(value: &str) -> &'static str {
    let schemes = ["Bearer ", "Basic ", "Token "];
    let is_it = |scheme: &&str| {
        let begin = value.get(..scheme.len());
        begin.is_some_and(|begin| begin.eq_ignore_ascii_case(scheme))
    };
    schemes.into_iter().find(is_it).unwrap_or_default()
}
