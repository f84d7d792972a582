//! HTTP+SSE of revision 2024-11-05: a stream that names the address to POST to and then carries everything the client is told.
//! A POST is answered at once; what follows from it comes on the stream. The session ends with the stream.

use axum::{extract::Request as HttpRequest, response::Response};
use bytes::Bytes;
use http::{HeaderMap, StatusCode, Uri, header};

use super::{
    Door, Inbound,
    answer::{self, REVISION, SESSION},
    post,
    session::{Kind, Session},
    stream,
};
use crate::{
    access::Caller,
    router::View,
    wire::{FrameError, Message, RpcError, error_frame, method, parse_client},
};

/// The part of an address that names a session.
const SESSION_ID: &str = "session_id";

/// What the addresses of the streams end in.
pub(super) const SUFFIX: &str = "/sse";

impl Inbound {
    /// Opens a session and its stream, which begins with the address to POST to.
    pub(super) fn converse(&self, caller: Caller, view: View, door: Door, uri: &Uri) -> Response {
        let (session, listening) = self.0.sessions.converse(&self.0.router, caller, view);
        let address = format!(
            "event: endpoint\ndata: {}?{SESSION_ID}={}\n\n",
            endpoint(door, uri.path()),
            session.id
        );
        stream::listening(Bytes::from(address), listening, self.0.closing.clone())
    }

    /// Takes what a client says in its session.
    pub(super) async fn take_post(
        &self,
        caller: &Caller,
        view: View,
        request: HttpRequest,
    ) -> Response {
        let (head, body) = request.into_parts();
        let body = match post::read(body).await {
            Ok(body) => body,
            Err(refusal) => return refusal,
        };
        let id = session_id(&head.uri).unwrap_or_default();
        let sessions = &self.0.sessions;
        let Some(session) = sessions.find(id, Kind::Conversation, caller, &view) else {
            return answer::no_session(None);
        };
        match parse_client(&body) {
            Err(error) => post::malformed(&error),
            Ok((messages, true)) => self.take_batch(&session, messages),
            Ok((messages, false)) => {
                for message in messages {
                    match message {
                        Ok(message) => self.take(&session, message),
                        Err(error) => return post::malformed(&error),
                    }
                }
                answer::accepted()
            }
        }
    }

    /// Each member is answered by a message of its own, as if it had come alone.
    fn take_batch(
        &self,
        session: &std::sync::Arc<Session>,
        messages: Vec<Result<Message, FrameError>>,
    ) -> Response {
        let revision = session.agreed().revision;
        if !revision.has_batches() {
            let error = RpcError::invalid_request(format!("revision {revision} has no batches"));
            return answer::rpc_error(StatusCode::BAD_REQUEST, None, &error);
        }
        for message in messages {
            match message {
                Ok(Message::Request(request)) if &*request.method == method::INITIALIZE => {
                    let error = RpcError::invalid_request("initialize must not be part of a batch");
                    session
                        .to_client()
                        .send(error_frame(Some(&request.id), &error.to_raw()));
                }
                Ok(message) => self.take(session, message),
                Err(error) => session
                    .to_client()
                    .send(error_frame(None, &error.to_rpc_error().to_raw())),
            }
        }
        answer::accepted()
    }
}

/// Whether a GET on an endpoint that has both transports asks for this one: it names no session and no revision, and wants nothing
/// but events.
pub(super) fn is_asked_for(headers: &HeaderMap) -> bool {
    let accepts = |value: &http::HeaderValue| {
        let value = value.to_str().unwrap_or_default();
        value.to_ascii_lowercase().contains("text/event-stream")
    };
    !headers.contains_key(SESSION)
        && !headers.contains_key(REVISION)
        && headers.get_all(header::ACCEPT).iter().any(accepts)
}

/// Whether a POST belongs to a session of this transport.
pub(super) fn is_meant(uri: &Uri, headers: &HeaderMap) -> bool {
    !headers.contains_key(SESSION) && session_id(uri).is_some()
}

fn session_id(uri: &Uri) -> Option<&str> {
    let pairs = uri.query()?.split('&');
    let mut values = pairs.filter_map(|pair| pair.split_once('='));
    values
        .find(|(name, _)| *name == SESSION_ID)
        .map(|(_, value)| value)
}

/// Where a client posts whose stream is at `path`.
fn endpoint(door: Door, path: &str) -> &str {
    match door {
        Door::Both => path,
        Door::LegacySse => match path.strip_suffix(SUFFIX) {
            Some("") | None => "/mcp",
            Some(endpoint) => endpoint,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_names_the_endpoint_it_belongs_to() {
        let check = |door, path: &str, expected: &str| assert_eq!(endpoint(door, path), expected);
        check(Door::LegacySse, "/sse", "/mcp");
        check(Door::LegacySse, "/mcp/sse", "/mcp");
        check(Door::LegacySse, "/mcp/all/sse", "/mcp/all");
        check(
            Door::LegacySse,
            "/mcp/server/a%2Eb/sse",
            "/mcp/server/a%2Eb",
        );
        check(Door::LegacySse, "/mcp/server/sse/sse", "/mcp/server/sse");
        check(Door::Both, "/mcp", "/mcp");
        check(Door::Both, "/mcp/server/sse", "/mcp/server/sse");
    }

    #[test]
    fn a_session_is_named_by_the_address() {
        let check = |address: &str, expected: Option<&str>| {
            let uri: Uri = address.parse().expect("an address");
            assert_eq!(session_id(&uri), expected, "{address}");
        };
        check("/mcp?session_id=a-1", Some("a-1"));
        check("/mcp?x=1&session_id=a&session_id=b", Some("a"));
        check("/mcp?session_id=", Some(""));
        check("/mcp?session_id", None);
        check("/mcp?my_session_id=a", None);
        check("/mcp", None);
    }

    #[test]
    fn only_a_plain_wish_for_events_opens_a_stream() {
        let check = |headers: &[(&'static str, &'static str)], expected: bool| {
            let headers = headers
                .iter()
                .map(|(name, value)| {
                    let name = http::HeaderName::from_static(name);
                    (name, http::HeaderValue::from_static(value))
                })
                .collect();
            assert_eq!(is_asked_for(&headers), expected, "{headers:?}");
        };
        let events = ("accept", "text/event-stream");
        check(&[events], true);
        check(
            &[("accept", "application/json, Text/Event-Stream;q=0.9")],
            true,
        );
        check(&[("accept", "*/*")], false);
        check(&[("accept", "text/*")], false);
        check(&[], false);
        check(&[events, ("mcp-session-id", "a")], false);
        check(&[events, ("mcp-protocol-version", "2025-06-18")], false);
    }
}
