//! What a server needs beside its entry: variables and secrets that the entry refers to.

use schemars::JsonSchema;
use serde::Serialize;

use crate::failure::NextStep;

/// The kind of a value to which an entry refers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NeededKind {
    /// A variable of the daemon's environment.
    Variable,
    /// A stored secret.
    Secret,
}

/// A value to which an entry refers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NeededValue {
    /// The kind of value.
    pub kind: NeededKind,
    /// Its name.
    pub name: String,
    /// The description in the client's file, or where the client keeps the value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// The file with the value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// A stored secret of the same name, which is not used because no entry refers to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_given: Option<String>,
    /// Whether the variable is set, or the secret stored.
    pub is_set: bool,
    /// The next step.
    pub next_step: String,
}

impl NeededValue {
    pub(super) fn variable(name: &str) -> Self {
        Self::new(NeededKind::Variable, name.to_owned(), None)
    }

    pub(super) fn secret(name: String, about: Option<String>) -> Self {
        Self::new(NeededKind::Secret, name, about)
    }

    fn new(kind: NeededKind, name: String, about: Option<String>) -> Self {
        Self {
            kind,
            name,
            about,
            file: None,
            not_given: None,
            is_set: false,
            next_step: String::new(),
        }
    }

    /// Its name is settled: what to do about it can be said.
    pub(super) fn settle(&mut self) {
        let name = &self.name;
        if self.kind == NeededKind::Variable {
            self.is_set = std::env::var_os(name).is_some();
            self.next_step = NextStep::set_variables([name]);
        } else {
            let from = self.file.as_ref().map(|file| format!(" < {file}"));
            let from = from.unwrap_or_default();
            self.next_step = format!("`mcpproxy secret set {name}{from}`");
        }
    }
}

/// Adds what is not there yet.
pub(super) fn note(needs: &mut Vec<NeededValue>, need: NeededValue) {
    let is_known = |known: &NeededValue| known.kind == need.kind && known.name == need.name;
    if !needs.iter().any(is_known) {
        needs.push(need);
    }
}

/// A name that a secret can have, as close to the text as can be.
pub(super) fn secret_name(text: &str) -> String {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let letters = text.chars().map(|c| if is_allowed(c) { c } else { '-' });
    let name: String = letters.take(100).collect();
    match name.trim_matches(['-', '.']) {
        "" => "secret".to_owned(),
        name => name.to_owned(),
    }
}
