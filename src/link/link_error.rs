//! Why a request got no answer. Pure.

use std::time::Duration;

use crate::wire::instance::IS_OURSELVES;

/// A common mistake about TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TlsMistake {
    /// It speaks plain HTTP, or something else.
    #[error("it does not speak TLS; for plain HTTP use http://")]
    PlainHttp,
    /// No authority that is trusted issued it.
    #[error("its certificate's issuer is not trusted")]
    UnknownIssuer,
    /// Another authority of the same name signed it.
    #[error("its certificate was not signed by the trusted authority of that name")]
    OtherIssuer,
    /// It is for another host.
    #[error("its certificate is for another host")]
    OtherHost,
    /// It is out of date.
    #[error("its certificate has expired")]
    Expired,
    /// It is that of an authority.
    #[error("its certificate is a CA certificate (CA:TRUE)")]
    Authority,
}

impl TlsMistake {
    /// What to do about it, where the reason does not say it.
    pub fn step(self) -> Option<&'static str> {
        Some(match self {
            Self::UnknownIssuer | Self::OtherIssuer => {
                "name the authority's PEM file, or the server's self-signed certificate, in \"ca_file\" of its entry"
            }
            Self::Expired => "renew the server's certificate",
            Self::Authority => {
                "have the server use a certificate that is issued for it alone (CA:FALSE), and name that, or its issuer, in \"ca_file\" of its entry"
            }
            Self::PlainHttp | Self::OtherHost => return None,
        })
    }
}

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
