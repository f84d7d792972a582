//! What every link over HTTP stands on: the address and headers of a server, the way to it, and the bodies that come back. Knows
//! neither sessions nor lanes.

mod client;
mod connection;
mod dial;
mod endpoint;
mod reach;
mod refusal;
mod reply;
pub mod sse;
#[cfg(test)]
mod tests;
mod tls;
mod unreached;

use std::time::Duration;

use http::HeaderName;

pub(crate) use self::{
    client::{HttpClient, request},
    connection::ServerBody,
    refusal::{HttpRefusal, Posted, answers},
    reply::{End, Events, Reply, Whole, is_event_stream, linger, wrong_type},
    sse::Event,
};
pub use self::{
    connection::MessageBody,
    endpoint::{Endpoint, EndpointError},
    reach::AddressReach,
};

/// How long a server may take to accept a message that wants no answer.
pub(crate) const ACCEPTANCE: Duration = Duration::from_secs(30);

/// How long telling a server of a withdrawal may take; later it is of no use.
pub(crate) const WITHDRAWAL: Duration = Duration::from_secs(5);

/// How long a goodbye may take.
pub(crate) const GOODBYE: Duration = Duration::from_secs(2);

/// Names a session in every request of Streamable HTTP after `initialize`.
pub(crate) const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
