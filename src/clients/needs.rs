//! What a server needs beside its entry: variables and secrets that the entry refers to.

use schemars::JsonSchema;
use serde::Serialize;

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
    /// The name in the keyring under which the secret is stored, or the variable's value could be.
    #[serde(skip)]
    pub kept_as: String,
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
            kept_as: String::new(),
            not_given: None,
            is_set: false,
            next_step: String::new(),
        }
    }

    /// Its name is settled: what to do about it can be said.
    pub(super) fn settle(&mut self, name: String) {
        self.kept_as = name;
        self.is_set = self.kind == NeededKind::Variable && std::env::var_os(&self.name).is_some();
        self.next_step = self.step();
    }

    /// The command that stores a secret, or what to do about a variable.
    fn step(&self) -> String {
        let from = self.file.as_ref().map(|file| format!(" < {file}"));
        let (name, kept, from) = (&self.name, &self.kept_as, from.unwrap_or_default());
        let command = format!("`mcpproxy secret set {kept}{from}`");
        match self.kind {
            NeededKind::Secret => match &self.not_given {
                Some(stored) => format!(
                    "{command}, or, if {stored:?} is meant, write ${{keyring:{stored}}} instead of ${{keyring:{kept}}} (`mcpproxy config path` names the file)"
                ),
                None => command,
            },
            NeededKind::Variable => format!(
                "set {name} for the daemon, or {command} and write ${{keyring:{kept}}} instead of ${{{name}}}"
            ),
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
