//! What the headers of a legacy client say.

use axum::response::Response;
use http::{HeaderMap, StatusCode, header};

use super::{
    answer::{self, REVISION},
    dispatch::id_of,
    stateless,
};
use crate::wire::{Message, Revision, RpcError};

/// The revision that a client without a session names.
#[expect(
    clippy::result_large_err,
    reason = "the error is the answer, made once"
)]
pub(super) fn revision_of(
    headers: &HeaderMap,
    first: Option<&Message>,
) -> Result<Revision, Response> {
    let Some(named) = headers.get(REVISION) else {
        return Ok(Revision::ASSUMED);
    };
    let named = named.to_str().unwrap_or_default();
    match Revision::from_header(named) {
        Some(revision) => Ok(revision),
        // `initialize` of a client that names a newer revision: what is agreed, its params say.
        None if first.is_some_and(stateless::is_opening) => Ok(Revision::NEWEST_LEGACY),
        None => Err(no_revision(named, first)),
    }
}

/// Refuses a request of a session that names what is no revision. What was agreed when the session was opened counts, not the header;
/// so whatever can be a revision is taken.
#[expect(
    clippy::result_large_err,
    reason = "the error is the answer, made once"
)]
pub(super) fn check_revision(headers: &HeaderMap, first: Option<&Message>) -> Result<(), Response> {
    let Some(named) = headers.get(REVISION) else {
        return Ok(());
    };
    let named = named.to_str().unwrap_or_default();
    if Revision::from_header(named).is_some() || Revision::is_modern_header(named) {
        return Ok(());
    }
    Err(no_revision(named, first))
}

fn no_revision(named: &str, first: Option<&Message>) -> Response {
    let known: Vec<&str> = Revision::all().map(Revision::as_str).collect();
    let error = format!(
        "MCP-Protocol-Version {named:?} is not a revision; known are {}",
        known.join(", ")
    );
    let (id, error) = (first.and_then(id_of), RpcError::invalid_request(error));
    answer::rpc_error(StatusCode::BAD_REQUEST, id, &error)
}

/// Whether a client takes an answer as a stream of events.
pub(super) fn accepts_events(headers: &HeaderMap) -> bool {
    headers
        .get_all(header::ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .any(|value| {
            value.contains("text/event-stream") || value.contains("*/*") || value.contains("text/*")
        })
}
