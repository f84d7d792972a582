//! A session of a client, as operators see it.

use schemars::JsonSchema;
use serde::Serialize;

/// An open session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OpenSession {
    /// The client's name and version, as it says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// The revision of MCP that was agreed on.
    pub revision: &'static str,
    /// `http`, `sse` or `stdio`.
    pub transport: &'static str,
    /// The path of its endpoint.
    pub endpoint: String,
    /// Who opened it.
    pub caller: String,
    /// Since when it is open here (RFC 3339).
    pub opened: String,
    /// When its client last sent something (RFC 3339).
    pub last_seen: String,
}
