//! The key `oauth` of a remote server: settings for logging in. Most servers need none.

use std::fmt;

use serde_json::Value;

use crate::text::secret::Secret;

/// Settings for logging in to a server. `Debug` shows no secret.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct OAuth {
    /// The id of a client that was registered beforehand, or the https URL of a client id metadata document.
    pub client_id: Option<String>,
    /// The client's secret, if it has one.
    pub client_secret: Option<Secret>,
    /// The scopes to request; if empty, those that the server names.
    pub scopes: Vec<String>,
    /// The URI to which the browser returns; by default a free port of 127.0.0.1.
    pub redirect_uri: Option<String>,
    /// Additional parameters that the authorization server needs.
    pub extra_params: Vec<(String, Secret)>,
    /// The settings as listings show them, with secrets masked.
    pub(super) shown: Value,
}

impl OAuth {
    /// Whether nothing is configured.
    pub fn is_empty(&self) -> bool {
        self.parts().is_empty()
    }

    /// Everything that a login depends on, for a fingerprint.
    pub(super) fn parts(&self) -> Vec<(String, &str)> {
        let id = self.client_id.iter().map(|id| ("client_id", id.as_str()));
        let secret = self.client_secret.iter();
        let secret = secret.map(|secret| ("client_secret", secret.reveal()));
        let scopes = self.scopes.iter().map(|scope| ("scope", scope.as_str()));
        let redirect = self.redirect_uri.iter();
        let redirect = redirect.map(|uri| ("redirect_uri", uri.as_str()));
        let parts = id.chain(secret).chain(scopes).chain(redirect);
        let parts = parts.map(|(name, value)| (name.to_owned(), value));
        let extra = self.extra_params.iter();
        let extra = extra.map(|(name, value)| (format!("extra.{name}"), value.reveal()));
        parts.chain(extra).collect()
    }
}

impl fmt::Debug for OAuth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.shown)
    }
}
