//! What a person arranged with the authorization server of a remote server (`oauth`). Most servers need none of it.

use std::fmt;

use serde_json::Value;

use crate::text::secret::Secret;

/// What is configured of logging in to a server. `Debug` shows no secret.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct OAuth {
    /// The id of a client that was registered beforehand, or the `https` address of a document that describes one.
    pub client_id: Option<String>,
    /// Its secret, where it has one.
    pub client_secret: Option<Secret>,
    /// The scopes to ask for; where there are none, those that the server names.
    pub scopes: Vec<String>,
    /// Where the authorization server sends the browser back to; a free port of 127.0.0.1 where none is given.
    pub redirect_uri: Option<String>,
    /// Parameters that this authorization server wants besides those of the protocol.
    pub extra_params: Vec<(String, Secret)>,
    /// All of it with secrets redacted.
    pub(super) shown: Value,
}

impl OAuth {
    /// Whether nothing is configured.
    pub fn is_empty(&self) -> bool {
        self.parts().is_empty()
    }

    /// As listings show it.
    pub(super) fn shown(&self) -> &Value {
        &self.shown
    }

    /// Everything that a login depends on, for a fingerprint.
    pub(super) fn parts(&self) -> Vec<(String, &str)> {
        let mut parts: Vec<(String, &str)> = Vec::new();
        parts.extend(
            self.client_id
                .iter()
                .map(|id| ("client_id".to_owned(), id.as_str())),
        );
        let secret = self.client_secret.iter();
        parts.extend(secret.map(|secret| ("client_secret".to_owned(), secret.reveal())));
        let scopes = self.scopes.iter();
        parts.extend(scopes.map(|scope| ("scope".to_owned(), scope.as_str())));
        let redirect = self.redirect_uri.iter();
        parts.extend(redirect.map(|uri| ("redirect_uri".to_owned(), uri.as_str())));
        let extra = self.extra_params.iter();
        parts.extend(extra.map(|(name, value)| (format!("extra.{name}"), value.reveal())));
        parts
    }
}

impl fmt::Debug for OAuth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.shown())
    }
}
