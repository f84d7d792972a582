//! What one client may make the daemon keep, and the refusals where there is no room for more.

use crate::{
    failure::{ErrorCode, Failure, shown_failure},
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
    let hint = format!("Nothing ran. {hint}");
    of_ours(&Failure::new(ErrorCode::Overloaded, error, hint))
}

/// An own failure that is no answer of a tool.
pub(super) fn of_ours(failure: &Failure) -> RpcError {
    let failure = failure.for_model();
    RpcError::new(RpcError::INTERNAL, failure.error.clone()).with_data(shown_failure(&failure))
}
