//! What an authorization server of the tests does.

use axum::{
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
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
    /// How many authorization servers the MCP server names: this one, behind others that are not there.
    pub servers: usize,
    /// How the MCP server repeats the token that it got, where it does.
    pub tells: Option<Tells>,
    /// The issuer, where it is not the address.
    pub issuer: Option<String>,
    /// How it answers a registration.
    pub registers: bool,
    /// The secret that it gives.
    pub client_secret: Option<&'static str>,
    /// The `iss` of its redirects.
    pub iss: Iss,
    /// In seconds.
    pub lifetime: Option<Value>,
    /// How it answers a renewal.
    pub renewal: Renewal,
    /// Of the tokens that it issues.
    pub token_type: &'static str,
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

/// Where the token is repeated in the answer to a call, or to `initialize`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Tells {
    InFailedInitialize,
    AsScope,
    AsContentType,
    InRefusedCall,
}

impl Tells {
    /// Repeats a token where nobody may see it.
    pub(super) fn answer(self, token: &str, method: &str) -> Option<Response> {
        let is_call = method == "tools/call";
        let text = |kind: String| [(header::CONTENT_TYPE, kind)];
        let answer = match self {
            Self::InFailedInitialize if method == "initialize" => {
                let body = format!("boom Bearer {token}");
                (StatusCode::INTERNAL_SERVER_ERROR, body).into_response()
            }
            Self::AsScope if is_call => {
                let challenge = format!("Bearer error=\"insufficient_scope\", scope=\"{token}\"");
                let headers = [(header::WWW_AUTHENTICATE, challenge)];
                (StatusCode::FORBIDDEN, headers).into_response()
            }
            Self::AsContentType if is_call => {
                (text(format!("text/html; x={token}")), "hello").into_response()
            }
            Self::InRefusedCall if is_call => {
                (StatusCode::BAD_GATEWAY, format!("bad {token}")).into_response()
            }
            _ => return None,
        };
        Some(answer)
    }
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
            servers: 1,
            tells: None,
            issuer: None,
            registers: true,
            client_secret: None,
            iss: Iss::Absent,
            lifetime: Some(json!(3600)),
            renewal: Renewal::Works,
            token_type: "Bearer",
            takes_tokens: true,
            challenge_scopes: None,
            repeats: None,
            agrees: true,
            scopes: "basic",
        }
    }
}
