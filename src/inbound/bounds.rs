//! What one client may make the daemon keep, and the refusals where there is no room for more.

use crate::{
    failure::{ErrorCode, Failure},
    wire::RpcError,
};

/// Limit: bytes of the URI of a resource that a client subscribes to, and of the id of a task that it follows. No server that is listed
/// has longer URIs.
pub(super) const MAX_URI: usize = 4096;

/// Limit: resources that one session is subscribed to.
pub(super) const MAX_SUBSCRIPTIONS: usize = 1_000;

/// What a subscription costs: its URI stands with the client, with the endpoint and with the server.
pub(super) fn cost_of_subscription(uri: &str) -> usize {
    3 * uri.len() + 512
}

/// Nothing more can be kept for any client.
pub(super) fn no_memory() -> RpcError {
    let text = "memory for requests is full";
    overloaded(text, "Retry in 5 s, with a smaller request.")
}

/// Something is refused because there is too much of it already; `hint` is what the client can do.
pub(super) fn overloaded(error: impl Into<String>, hint: &str) -> RpcError {
    Failure::not_run(ErrorCode::Overloaded, error, hint).as_rpc_error()
}
