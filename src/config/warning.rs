//! A warning about the configuration, as data: the terminal, the web UI and REST show it in different forms.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::text::names::ServerName;

/// A key without effect, or with an unexpected one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Warning {
    /// The server with the entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The path of the key; with `server` the path within its entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Whether no such key exists.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unknown: bool,
    /// The key that an unknown one was probably meant to be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closest: Option<String>,
    /// The warning in words, without the server.
    pub text: String,
}

impl Warning {
    /// A warning without a key.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            server: None,
            key: None,
            unknown: false,
            closest: None,
            text: text.into(),
        }
    }

    /// Adds the key that it is about.
    #[must_use]
    pub fn at(self, key: impl Into<String>) -> Self {
        Self {
            key: Some(key.into()),
            ..self
        }
    }

    /// A warning about this key; its text begins with the key.
    pub fn of_key(key: impl Into<String>, what: impl fmt::Display) -> Self {
        let key = key.into();
        Self::new(format!("`{key}` {what}")).at(key)
    }

    /// Adds the server whose entry it is about.
    pub(super) fn of_server(self, name: &ServerName) -> Self {
        Self {
            server: Some(name.to_string()),
            ..self
        }
    }

    /// Masks secrets in each of its texts.
    pub(super) fn mask(&mut self, mask: impl Fn(&mut String)) {
        mask(&mut self.text);
        self.key.iter_mut().for_each(mask);
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(server) = &self.server {
            write!(f, "server {server:?}: ")?;
        }
        f.write_str(&self.text)
    }
}
