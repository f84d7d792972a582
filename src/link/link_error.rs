//! Why a request got no answer. Pure.

use std::time::Duration;

use crate::{text::Quoted, wire::instance::IS_OURSELVES};

/// A common mistake about TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TlsMistake {
    /// It speaks plain HTTP, or something else.
    #[error("it does not speak TLS")]
    PlainHttp,
    /// No authority that is trusted issued it.
    #[error("its certificate is not trusted: its issuer is unknown")]
    UnknownIssuer,
    /// Another authority of the same name signed it.
    #[error("its certificate is not trusted: another issuer of the same name signed it")]
    OtherIssuer,
    /// It is for another host.
    #[error("its certificate is for another host")]
    OtherHost,
    /// It is out of date.
    #[error("its certificate has expired")]
    Expired,
    /// It is that of an authority.
    #[error("its certificate is not trusted: it is an issuer's certificate, not a server's")]
    Authority,
    /// It is none that can be checked.
    #[error("its certificate cannot be used")]
    Unusable,
    /// The server does not want this client.
    #[error("it refused the TLS connection")]
    Refused,
    /// They have no version or cipher in common.
    #[error("TLS failed: it offers no version that mcpproxy supports")]
    Incompatible,
}

impl TlsMistake {
    /// What to do about it.
    pub fn step(self) -> &'static str {
        match self {
            Self::PlainHttp => "write http:// instead of https:// in its `url`",
            Self::UnknownIssuer | Self::OtherIssuer => {
                "write the path of the issuer's certificate (a PEM file) into `ca_file` of its entry"
            }
            Self::OtherHost => "use the host name of the certificate in its `url`",
            Self::Expired => "renew the server's certificate",
            Self::Unusable => "give the server a valid certificate",
            Self::Authority => {
                "give that server a certificate of its own, and write the path of the issuer's into `ca_file` of its entry"
            }
            Self::Refused => "check whether it needs a `client_cert` in its entry",
            Self::Incompatible => "have that server offer TLS 1.2 or 1.3",
        }
    }

    /// The key of the server's entry that this changes, if it is one.
    pub fn key(self) -> Option<&'static str> {
        match self {
            Self::PlainHttp | Self::OtherHost => Some("url"),
            Self::UnknownIssuer | Self::OtherIssuer | Self::Authority => Some("ca_file"),
            Self::Refused => Some("client_cert"),
            Self::Expired | Self::Unusable | Self::Incompatible => None,
        }
    }
}

/// Why a request got no answer.
#[derive(Debug, Clone, thiserror::Error)]
pub enum LinkError {
    /// It certainly did not reach the upstream's program: it may be sent again over another connection.
    #[error("{0}")]
    NotDelivered(String),
    /// There is no host of this name.
    #[error("no such host: {0}")]
    NoHost(String),
    /// The proxy that leads to it does not.
    #[error("{0}")]
    NoProxy(String),
    /// What answers speaks something else, TLS perhaps.
    #[error("it does not speak HTTP")]
    NotHttp,
    /// No connection came about, because of this: it was not sent.
    #[error("{0}")]
    Tls(TlsMistake),
    /// The connection ended after it was sent; whether it was processed is unknown.
    #[error("connection lost: {0}")]
    Lost(String),
    /// The upstream answered, but not with a message of the protocol, or with one that is too large.
    #[error("unusable answer: {0}")]
    Broken(String),
    /// The server is the wanted one, and names no usable address for messages. Nothing was sent.
    #[error("{0}")]
    OddEndpoint(String),
    /// So many MiB came in one line that has no end: the connection is given up.
    #[error("it sent {0} MiB without a line end")]
    Endless(usize),
    /// The upstream finds that the request's headers do not say what its body says. It was not processed.
    #[error("the server says that a request's headers do not match its body: {0}")]
    HeaderMismatch(Quoted),
    /// The server had forgotten the session, and its lists have not been read in the new one. The request was not processed.
    #[error("its session had expired and was opened again")]
    SessionRenewed,
    /// The server had forgotten the session, and with a new one came this. The request was not processed.
    #[error("session lost: {0}")]
    SessionLost(Box<LinkError>),
    /// The server opens no session in the place of the one that it has forgotten, and says this.
    #[error("the server refused a new one: {0}")]
    NoNewSession(Quoted),
    /// What answers is the daemon that asks. The request was not processed.
    #[error("{IS_OURSELVES}")]
    Ourselves,
    /// The upstream refused over HTTP, without a JSON-RPC error.
    #[error("the server answered HTTP {status}{}", after_colon(text))]
    Status {
        /// The HTTP status.
        status: u16,
        /// What the body says: its beginning in quotation marks, or what it is; empty if it is.
        text: String,
        /// How long it asks to wait before the next request.
        retry_after: Option<Duration>,
    },
}

/// The part after the colon, where the server gave a text.
fn after_colon(text: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    format!(": {text}")
}

impl LinkError {
    /// Whether there was no connection on which it could reach the server.
    pub fn is_undelivered(&self) -> bool {
        matches!(
            self,
            Self::NotDelivered(_)
                | Self::NoHost(_)
                | Self::NoProxy(_)
                | Self::SessionLost(_)
                | Self::Tls(_)
        )
    }

    /// This error of a session that was lost.
    #[must_use]
    pub fn session_lost(self) -> Self {
        match self {
            Self::SessionLost(_) => self,
            why => Self::SessionLost(Box::new(why)),
        }
    }

    /// What a client may read: nothing in the server's own words.
    pub fn outside(&self) -> String {
        match self {
            Self::NotDelivered(_) | Self::NoProxy(_) => "nothing answers".to_owned(),
            Self::NoHost(_) => "its host was not found".to_owned(),
            Self::Tls(_) => "no secure connection".to_owned(),
            Self::Lost(_) => "connection lost".to_owned(),
            Self::Broken(_) | Self::OddEndpoint(_) | Self::Endless(_) => {
                "it did not answer as an MCP server does".to_owned()
            }
            Self::SessionRenewed => "its session had expired".to_owned(),
            Self::HeaderMismatch(_) => {
                "it says that a request's headers do not match its body".to_owned()
            }
            Self::SessionLost(why) => format!("session lost: {}", why.outside()),
            Self::NoNewSession(_) => "the server refused a new one".to_owned(),
            Self::Ourselves | Self::NotHttp => self.to_string(),
            Self::Status {
                status: status @ (401 | 403),
                ..
            } => format!("it refuses access (HTTP {status})"),
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
