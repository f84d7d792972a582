//! HTTP answers.

use axum::{
    body::Body,
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri, header};

use super::{answering::Answer, bounds};
use crate::{
    access::Refused,
    failure::{ErrorCode, Failure, NextStep, shown_failure},
    link::MessageBody,
    wire::{
        FrameError, Id, MessageFrame, RpcError, error_frame,
        instance::{INSTANCE, IS_OURSELVES},
    },
};

/// Carries the session's id both ways.
pub(super) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
/// Carries the revision.
pub(super) const REVISION: HeaderName = HeaderName::from_static("mcp-protocol-version");

/// One JSON-RPC message.
pub(super) fn json(status: StatusCode, body: impl Into<MessageFrame>) -> Response {
    let body = Body::new(MessageBody::from(body.into()));
    with_type(status, "application/json", body)
}

pub(super) fn with_type(status: StatusCode, kind: &'static str, body: Body) -> Response {
    let kind = [(header::CONTENT_TYPE, HeaderValue::from_static(kind))];
    (status, kind, body).into_response()
}

/// Whether a client says that it takes an answer of one of these types.
pub(super) fn accepts(headers: &HeaderMap, types: &[&str]) -> bool {
    let values = headers.get_all(header::ACCEPT).iter();
    let mut texts = values.filter_map(|value| value.to_str().ok());
    texts.any(|text| types.iter().any(|one| text.contains(*one)))
}

/// The HTTP status that goes with an error of a stateless request, an upstream's too: the one table (transports, "Protocol Version
/// Header" and "Server Validation"). An error about the requested thing, rather than about the request, is an answer like any other.
pub(super) fn status_of(code: i64) -> StatusCode {
    match code {
        RpcError::PARSE_ERROR
        | RpcError::INVALID_REQUEST
        | RpcError::HEADER_MISMATCH
        | RpcError::MISSING_CAPABILITY
        | RpcError::UNSUPPORTED_REVISION => StatusCode::BAD_REQUEST,
        RpcError::METHOD_NOT_FOUND => StatusCode::NOT_FOUND,
        _ => StatusCode::OK,
    }
}

/// Nothing to say.
pub(super) fn accepted() -> Response {
    empty(StatusCode::ACCEPTED)
}

pub(super) fn empty(status: StatusCode) -> Response {
    (status, Body::empty()).into_response()
}

/// A JSON-RPC error.
pub(super) fn rpc_error(status: StatusCode, id: Option<&Id>, error: &RpcError) -> Response {
    json(status, error_frame(id, &error.to_raw()))
}

/// No such session: the client begins anew (Streamable HTTP, "Session Management").
pub(super) fn no_session(id: Option<&Id>) -> Response {
    let message = "Session not found. Send initialize again.";
    let error = RpcError::new(RpcError::SESSION, message);
    rpc_error(StatusCode::NOT_FOUND, id, &error)
}

/// There is no room for the request now.
pub(super) fn busy() -> Response {
    let error = bounds::no_memory();
    let response = rpc_error(StatusCode::SERVICE_UNAVAILABLE, None, &error);
    ([(header::RETRY_AFTER, "5")], response).into_response()
}

pub(super) fn method_not_allowed(allow: &'static str) -> Response {
    let (error, hint) = match allow {
        "GET" => (
            "nothing was done: the address has no valid session_id".to_owned(),
            "Open the stream with GET; its first event names the address for messages.",
        ),
        "POST" => (
            "nothing was done: without a session this path takes only POST".to_owned(),
            "This is an address for MCP clients. The web UI is at /ui/.",
        ),
        _ => (
            format!("nothing was done: this path takes only {allow}"),
            "MCP clients send messages by POST.",
        ),
    };
    not_allowed(error, hint, allow)
}

/// A client sends messages to the address without a path.
pub(super) async fn no_endpoint() -> Response {
    let error = "MCP clients connect to /mcp, not to /".to_owned();
    not_allowed(error, "Add /mcp to the address.", "GET, HEAD")
}

fn not_allowed(error: String, hint: &str, allow: &'static str) -> Response {
    let response = failed(&Failure::new(ErrorCode::MethodNotAllowed, error, hint));
    ([(header::ALLOW, allow)], response).into_response()
}

/// What clients that probe for OAuth need to see: no HTML, no other status.
pub(super) async fn not_found() -> Response {
    json(
        StatusCode::NOT_FOUND,
        Bytes::from_static(br#"{"error":"not_found"}"#),
    )
}

/// The address leads nowhere.
pub(super) async fn unknown_path(uri: Uri) -> Response {
    let error = format!("nothing was done: there is no path {}", uri.path());
    let hint = "MCP clients connect to /mcp. The web UI is at /ui/, and REST at /api/v1/.";
    failed(&Failure::new(ErrorCode::UnknownPath, error, hint))
}

pub(super) fn unknown_profile(name: &str) -> Response {
    let error = format!("no profile {name:?} is configured");
    let hint = "Use /mcp, or an address that ends in the name of a configured profile.";
    failed(&Failure::new(ErrorCode::UnknownProfile, error, hint))
}

/// The answer to a request that failed: the status of its code, and the failure as JSON.
pub fn failed(failure: &Failure) -> Response {
    let status = StatusCode::from_u16(failure.code.http_status());
    let body = shown_failure(failure).bytes().clone();
    json(status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR), body)
}

/// Nobody knows who sent the request (RFC 6750, 3). The body is a JSON-RPC error, which is what clients read.
pub fn unauthorized(why: &Refused) -> Response {
    let hint = match why {
        Refused::BadHeader(bad) if bad.header != header::AUTHORIZATION => {
            format!("Let the reverse proxy send {} {}.", bad.wanted, bad.header)
        }
        Refused::NoBearer => {
            "Send a token in it as Bearer TOKEN; where none is needed, leave the header out.".to_owned()
        }
        Refused::NoUser(_) => {
            "Let the reverse proxy send it, or send a token from the user.".to_owned()
        }
        _ => "Send a valid token in the header Authorization: Bearer TOKEN; ask the user who runs mcpproxy for one.".to_owned(),
    };
    let (code, step) = (ErrorCode::Unauthorized, NextStep::ShowTokens);
    let failure = Failure::for_agents(code, why.to_string(), hint, step);
    let error = failure.as_rpc_error();
    let response = rpc_error(StatusCode::UNAUTHORIZED, None, &error);
    let challenge = match why {
        Refused::NoCredential | Refused::NoBearer | Refused::NoUser(_) => {
            r#"Bearer realm="mcpproxy""#
        }
        Refused::UnknownToken | Refused::ExpiredToken => {
            r#"Bearer realm="mcpproxy", error="invalid_token""#
        }
        Refused::BadHeader(_) => r#"Bearer realm="mcpproxy", error="invalid_request""#,
    };
    ([(header::WWW_AUTHENTICATE, challenge)], response).into_response()
}

/// The answer to a request of this very daemon, which would wait for itself.
pub fn behind_itself() -> Response {
    let hint = "Remove that server: it leads back to mcpproxy.";
    let failure = Failure::new(ErrorCode::ServerMisconfigured, IS_OURSELVES, hint);
    let error = failure.as_rpc_error();
    let response = rpc_error(StatusCode::LOOP_DETECTED, None, &error);
    ([(INSTANCE, "refused")], response).into_response()
}

/// An answer with the status that goes with it; 429 where its request was one too many and it is no tool's.
pub(super) fn answered(status: StatusCode, answer: Answer) -> Response {
    let Some(wait) = answer.retry_after else {
        return json(status, answer.frame);
    };
    let status = if answer.error.is_some() {
        StatusCode::TOO_MANY_REQUESTS
    } else {
        status
    };
    let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
    let wait = [(header::RETRY_AFTER, HeaderValue::from(seconds))];
    (wait, json(status, answer.frame)).into_response()
}

/// What was sent is no JSON-RPC message.
pub(super) fn malformed(error: &FrameError) -> Response {
    rpc_error(StatusCode::BAD_REQUEST, error.id(), &error.to_rpc_error())
}
