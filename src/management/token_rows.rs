//! Issued tokens as REST and the history of changes show them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    config::{AllowedCalls, IssuedToken},
    text::moment,
};

/// A token to issue.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewToken {
    /// The name of the token, and of its caller if `subject` is absent.
    pub name: String,
    /// The caller's name in access rules and records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// The roles of the caller.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<String>,
    /// The servers that it may use; all if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub servers: Option<Vec<String>>,
    /// The profile that it may use, in place of servers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// The call types it allows.
    #[serde(default)]
    pub calls: AllowedCalls,
    /// How long it is valid, such as `"30d"` or `"12h"`; by default until you revoke it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<String>,
    /// The AI client into whose file it is written.
    #[serde(skip)]
    pub client: Option<String>,
}

/// A new token; only this answer shows it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct NewlyIssued {
    /// Its name.
    pub name: String,
    /// The token.
    pub token: String,
    /// When it expires (RFC 3339).
    pub expires: Option<String>,
    /// Whether `text` has MCPPROXY-HOST in place of the name of this machine, because mcpproxy listens on all addresses.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lacks_host: bool,
    /// The text to send with the token.
    pub text: String,
}

/// An issued token.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct TokenRow {
    /// Its name.
    pub name: String,
    /// The caller.
    pub subject: String,
    /// Its roles.
    pub roles: Vec<String>,
    /// The servers that it may use; null for all.
    pub servers: Option<Vec<String>>,
    /// The profile that it may use.
    pub profile: Option<String>,
    /// The call types it allows.
    pub calls: AllowedCalls,
    /// The first characters of the token.
    pub begins: String,
    /// When it was issued (RFC 3339).
    pub created: String,
    /// When it expires (RFC 3339).
    pub expires: Option<String>,
    /// Whether it has expired.
    pub expired: bool,
    /// When it was last used.
    pub last_used: Option<String>,
}

/// The tokens.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct TokenList {
    /// The issued tokens, by name.
    pub tokens: Vec<TokenRow>,
    /// The callers of tokens in the configuration file.
    pub in_file: Vec<String>,
    /// Whether mcpproxy refuses clients without a token.
    pub required: bool,
}

/// The token as lists show it.
pub(super) fn row_of(token: &IssuedToken, last_used: Option<u64>) -> TokenRow {
    TokenRow {
        name: token.name.clone(),
        subject: token.subject.clone(),
        roles: token.roles.clone(),
        servers: token.servers.clone(),
        profile: token.profile.clone(),
        calls: token.calls,
        begins: token.begins.clone(),
        created: moment::utc_millis(token.created),
        expires: token.expires.map(moment::utc_millis),
        expired: token.is_expired(),
        last_used: last_used.map(moment::utc_millis),
    }
}

/// A token as the history of changes shows it: without its hash and its first characters.
pub(super) fn noted(token: &IssuedToken) -> Value {
    let row = row_of(token, None);
    json!({
        "subject": row.subject, "roles": row.roles, "servers": row.servers, "profile": row.profile, "calls": row.calls,
        "created": row.created, "expires": row.expires,
    })
}
