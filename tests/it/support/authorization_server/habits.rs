//! What an authorization server of the tests does.

use serde_json::{Value, json};

/// What the server does. Tests change it while it runs.
#[derive(Clone)]
pub struct Habits {
    /// Where the metadata of the resource is: by a 401, at the well-known address, or nowhere.
    pub resource_metadata: Published,
    /// Where the authorization server says what it is.
    pub server_metadata: &'static str,
    /// What it says besides.
    pub more_metadata: Value,
    /// The issuer, where it is not the address.
    pub issuer: Option<String>,
    /// How it answers a registration.
    pub registers: bool,
    /// The secret that it gives.
    pub client_secret: Option<&'static str>,
    /// The `iss` of its redirects.
    pub iss: Iss,
    /// In seconds.
    pub lifetime: Option<u64>,
    /// How it answers a renewal.
    pub renewal: Renewal,
    /// Whether the MCP server takes the tokens.
    pub takes_tokens: bool,
    /// The scopes that its 401 names.
    pub challenge_scopes: Option<&'static str>,
    /// Requests for tokens are answered with this status and an error that repeats all that the server ever heard of secrets.
    pub repeats: Option<u16>,
    /// Whether the person agrees.
    pub agrees: bool,
    /// Scopes of tokens where none are asked for.
    pub scopes: &'static str,
}

#[derive(Clone, Copy, PartialEq)]
pub enum Published {
    InChallenge,
    WellKnown,
    Nowhere,
}

#[derive(Clone, Copy)]
pub enum Iss {
    Absent,
    Right,
    Wrong,
}

#[derive(Clone, Copy, PartialEq)]
pub enum Renewal {
    Works,
    Refused,
    Down,
    /// It answers when the test says so.
    Waits,
}

impl Default for Habits {
    fn default() -> Self {
        Self {
            resource_metadata: Published::InChallenge,
            server_metadata: "/.well-known/oauth-authorization-server",
            more_metadata: json!({}),
            issuer: None,
            registers: true,
            client_secret: None,
            iss: Iss::Absent,
            lifetime: Some(3600),
            renewal: Renewal::Works,
            takes_tokens: true,
            challenge_scopes: None,
            repeats: None,
            agrees: true,
            scopes: "basic",
        }
    }
}
