//! HTTP+SSE of revision 2024-11-05: a stream that names the address to POST to and then carries everything the client is told.
//! A POST is answered at once; what follows from it comes on the stream. The session ends with the stream.

use std::sync::Arc;

use axum::{extract::Request as HttpRequest, response::Response};
use bytes::Bytes;
use http::{HeaderMap, StatusCode, Uri, header};

use super::{
    Inbound, Transport,
    answer::{self, REVISION, SESSION},
    body,
    dispatch::{ServedClient, Unframed, Work},
    session::{LegacySession, SessionKind},
    stream,
};
use crate::{
    access::Caller,
    error_code::{ErrorCode, Failure},
    router::View,
    wire::{FrameError, Message, Raw, Request, RpcError, error_frame},
};

/// The part of an address that names a session.
const SESSION_ID: &str = "session_id";

/// What the addresses of the streams end in.
pub(super) const SUFFIX: &str = "/sse";

/// Limit: messages of one client that are being worked on. Further requests are refused, so that a client which never waits for
/// answers costs no more than this.
const MAX_IN_FLIGHT: usize = 256;

impl Inbound {
    /// Opens a session and its stream, which begins with the address to POST to.
    pub(super) fn converse(
        &self,
        caller: Caller,
        view: View,
        transport: Transport,
        uri: &Uri,
    ) -> Response {
        let sessions = &self.0.sessions;
        let owner = sessions.open_owned(SessionKind::Conversation, caller, view);
        let own = owner.session.converse(&self.0.router);
        let address = format!(
            "event: endpoint\ndata: {}?{SESSION_ID}={}\n\n",
            endpoint(transport, uri.path()),
            owner.session.id
        );
        let closing = self.0.closing.clone();
        stream::listening(Bytes::from(address), own, Some(owner), closing)
    }

    /// Takes what a client says in its session.
    pub(super) async fn take_post(
        &self,
        caller: &Caller,
        view: View,
        request: HttpRequest,
    ) -> Response {
        let (head, body) = request.into_parts();
        let body = match body::read(body, self.memory()).await {
            Ok(body) => body,
            Err(refusal) => return refusal,
        };
        let id = session_id(&head.uri).unwrap_or_default();
        let sessions = &self.0.sessions;
        let Some(session) = sessions.find(id, SessionKind::Conversation, caller, &view) else {
            return answer::no_session(None);
        };
        let client = ServedClient::of_session(self, session.clone());
        match Unframed::read(&body) {
            Err(error) => return answer::malformed(&error),
            Ok(Unframed::One(message)) => self.take(&client, &session, Ok(message), Part::Whole),
            Ok(Unframed::Batch(messages)) => {
                if let Some(error) = client.no_batches() {
                    return answer::rpc_error(StatusCode::BAD_REQUEST, None, &error);
                }
                // Each member is answered by a message of its own, as if it had come alone.
                for message in messages {
                    self.take(&client, &session, message, Part::Member);
                }
            }
        }
        answer::accepted()
    }

    /// Takes a message. Never waits: the answer goes onto the client's stream, and the work ends with the session.
    fn take(
        &self,
        client: &ServedClient,
        session: &Arc<LegacySession>,
        message: Result<Message, FrameError>,
        part: Part,
    ) {
        let to_client = session.to_client();
        let is_full = session.in_flight() >= MAX_IN_FLIGHT;
        if let Ok(Message::Request(request)) = &message
            && is_full
        {
            to_client.send(too_many(request));
            return;
        }
        let work = match (message, part) {
            (Ok(message), Part::Whole) => client.serve(message, to_client.clone()),
            (message, _) => client.member(message, to_client.clone()),
        };
        match work {
            Work::Refused(frame) => to_client.send(frame),
            Work::Opening(answering)
            | Work::Answering(answering)
            | Work::Listening(_, answering) => self.run(session, async move {
                if let Some(answer) = answering.await {
                    to_client.send(answer.frame);
                }
            }),
            Work::Noting(noting) if !is_full => self.run(session, noting),
            // A withdrawal finds room above all when there is none.
            Work::Noting(_) | Work::Done => (),
        }
    }

    /// Works until done or until the session ends. A client that was given up, because it does not read, is forgotten here.
    fn run(&self, session: &Arc<LegacySession>, work: impl Future<Output = ()> + Send + 'static) {
        let (sessions, of) = (self.0.sessions.clone(), session.clone());
        session.spawn(async move {
            of.over().run_until_cancelled(work).await;
            if of.over().is_cancelled() {
                sessions.close(&of);
            }
        });
    }
}

/// What a message is of what was posted.
#[derive(Clone, Copy)]
enum Part {
    Whole,
    Member,
}

fn too_many(request: &Request) -> Bytes {
    let text = format!("{MAX_IN_FLIGHT} requests of this session are in flight already");
    let hint = "Wait for an answer before sending more.";
    let failure = Failure::new(ErrorCode::Overloaded, text.as_str(), hint);
    let error = RpcError::new(RpcError::INTERNAL, text.as_str()).with_data(Raw::author(&failure));
    error_frame(Some(&request.id), &error.to_raw())
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
fn endpoint(transport: Transport, path: &str) -> &str {
    match transport {
        Transport::Both => path,
        Transport::LegacySse => match path.strip_suffix(SUFFIX) {
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
        let check =
            |transport, path: &str, expected: &str| assert_eq!(endpoint(transport, path), expected);
        check(Transport::LegacySse, "/sse", "/mcp");
        check(Transport::LegacySse, "/mcp/sse", "/mcp");
        check(Transport::LegacySse, "/mcp/all/sse", "/mcp/all");
        check(
            Transport::LegacySse,
            "/mcp/server/a%2Eb/sse",
            "/mcp/server/a%2Eb",
        );
        check(
            Transport::LegacySse,
            "/mcp/server/sse/sse",
            "/mcp/server/sse",
        );
        check(Transport::Both, "/mcp", "/mcp");
        check(Transport::Both, "/mcp/server/sse", "/mcp/server/sse");
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
    fn only_who_accepts_nothing_but_events_opens_a_stream() {
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
