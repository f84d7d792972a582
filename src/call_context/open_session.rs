//! The description of a client's session for operators.

use std::time::SystemTime;

use crate::wire::Revision;

/// An open session.
#[derive(Debug, Clone)]
pub struct OpenSession {
    /// The client's name and version, as it gives them.
    pub client: Option<String>,
    /// The protocol revision.
    pub revision: Revision,
    /// `http`, `sse` or `stdio`.
    pub transport: &'static str,
    /// The path of its endpoint.
    pub endpoint: String,
    /// The caller who opened it.
    pub caller: String,
    /// When it was opened, or continued, in this daemon.
    pub opened: SystemTime,
    /// When its client last sent something.
    pub last_seen: SystemTime,
    /// Whether its client has a stream open, or waits for an answer.
    pub is_attended: bool,
}
