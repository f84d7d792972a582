//! Why a request got no answer. Pure.

use std::time::Duration;

use super::remote::TlsMistake;
use crate::wire::instance::IS_OURSELVES;

/// Why a request got no answer.
#[derive(Debug, Clone, thiserror::Error)]
pub enum LinkError {
    /// It certainly did not reach the upstream's program: it may be sent again over another connection.
    #[error("{0}")]
    NotDelivered(String),
    /// No connection came about, because of this: it was not sent.
    #[error("{0}")]
    Tls(TlsMistake),
    /// The connection ended after it was sent; whether it was processed is unknown.
    #[error("connection lost: {0}")]
    Lost(String),
    /// The upstream answered, but not with a message of the protocol, or with one that is too large.
    #[error("unusable answer: {0}")]
    Broken(String),
    /// The upstream finds that the request's headers do not say what its body says. It was not processed.
    #[error("the server says that headers and body differ: {0}")]
    HeaderMismatch(String),
    /// What answers is the daemon that asks. The request was not processed.
    #[error("{IS_OURSELVES}")]
    Ourselves,
    /// The upstream refused over HTTP, without a JSON-RPC error.
    #[error("the server answered HTTP {status}{}", after_colon(text))]
    Status {
        /// The HTTP status.
        status: u16,
        /// The beginning of the body.
        text: String,
        /// How long it asks to wait before the next request.
        retry_after: Option<Duration>,
    },
}

/// The part after the colon, where the server gave a text.
fn after_colon(text: &str) -> String {
    let text = text.trim();
    if text.is_empty() {
        return String::new();
    }
    format!(": {text}")
}

impl LinkError {
    /// What a client may read: nothing in the server's own words.
    pub fn outside(&self) -> String {
        match self {
            Self::NotDelivered(_) | Self::Tls(_) => "nothing answers".to_owned(),
            Self::Lost(_) => "connection lost".to_owned(),
            Self::Broken(_) => "its answer was unusable".to_owned(),
            Self::HeaderMismatch(_) => "it says that headers and body differ".to_owned(),
            Self::Ourselves => self.to_string(),
            Self::Status {
                status: status @ (401 | 403),
                ..
            } => format!("it rejects the credentials (HTTP {status})"),
            Self::Status { status: 429, .. } => "too many requests (HTTP 429)".to_owned(),
            Self::Status { status, .. } => format!("it answered HTTP {status}"),
        }
    }

    /// How long the server asks to wait before the next request, if it does.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Status { retry_after, .. } => *retry_after,
            _ => None,
        }
    }
}
