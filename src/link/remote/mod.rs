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

use http::HeaderName;

pub(crate) use self::{
    client::{HttpClient, request},
    connection::ServerBody,
    refusal::{HttpRefusal, Posted, answers},
    reply::{End, Events, Reply, Whole, is_event_stream, linger},
    sse::Event,
};
pub use self::{
    connection::MessageBody,
    endpoint::{Endpoint, EndpointError},
    reach::AddressReach,
};

/// Names a session in every request of Streamable HTTP after `initialize`.
pub(crate) const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
