//! A session of a client, as operators see it.

use std::time::SystemTime;

use crate::wire::Revision;

/// An open session.
#[derive(Debug, Clone)]
pub struct OpenSession {
    /// The client's name and version, as it gives them.
    pub client: Option<String>,
    /// What was agreed on.
    pub revision: Revision,
    /// `http`, `sse` or `stdio`.
    pub transport: &'static str,
    /// The path of its endpoint.
    pub endpoint: String,
    /// Who opened it.
    pub caller: String,
    /// Since when it is open here.
    pub opened: SystemTime,
    /// When its client last sent something.
    pub last_seen: SystemTime,
    /// Whether its client has a stream open, or waits for an answer.
    pub is_attended: bool,
}
