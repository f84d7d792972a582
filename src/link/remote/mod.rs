//! What every link over HTTP stands on: the address and headers of a server, the way to it, and the bodies that come back. Knows
//! neither sessions nor lanes.

mod body;
mod client;
mod connection;
mod dial;
mod endpoint;
mod excerpt;
mod message_body;
mod pool;
mod reach;
mod reading_pace;
mod refusal;
mod reply;
pub mod sse;
#[cfg(test)]
mod tests;
mod tls;
mod unreached;

use http::HeaderName;

pub(crate) use self::{
    body::ServerBody,
    client::{HttpClient, request},
    refusal::{HttpRefusal, Posted, answers},
    reply::{End, Events, Reply, Whole, is_event_stream, linger},
    sse::Event,
};
pub use self::{
    endpoint::{Endpoint, EndpointError},
    message_body::MessageBody,
    reach::AddressReach,
};

/// Names a session in every request of Streamable HTTP after `initialize`.
pub(crate) const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
