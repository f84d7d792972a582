//! One warning about the configuration, as data: terminal, page and REST each show it in their way.

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
    /// Concerns no key, or is in words of its own.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            server: None,
            key: None,
            unknown: false,
            closest: None,
            text: text.into(),
        }
    }

    /// With the key that it concerns.
    #[must_use]
    pub fn at(self, key: impl Into<String>) -> Self {
        Self {
            key: Some(key.into()),
            ..self
        }
    }

    /// Concerns this key, which its words begin with.
    pub fn of_key(key: impl Into<String>, what: impl fmt::Display) -> Self {
        let key = key.into();
        Self::new(format!("`{key}` {what}")).at(key)
    }

    /// Concerns the entry of this server.
    pub(super) fn of_server(self, name: &ServerName) -> Self {
        Self {
            server: Some(name.to_string()),
            ..self
        }
    }

    /// With each of its texts changed.
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
