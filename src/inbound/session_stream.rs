//! `GET` and `DELETE` on an MCP endpoint: the streams of a session, and its end.

use std::sync::Arc;

use axum::response::Response;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, Method, StatusCode};

use super::{
    Inbound,
    answer::{self, SESSION},
    event_id::{self, StreamOf},
    resumable::Resumable,
    session::{LegacySession, SessionOrigin},
    sessions::NoSession,
    sse_event, stateless_post, stream,
};
use crate::{
    access::Caller,
    failure::{ErrorCode, Failure},
    router::View,
    wire::{Id, RpcError, error_frame},
};

/// The last event that a client got.
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

impl Inbound {
    /// Opens a stream of a session, or ends the session. Without one there is nothing to listen to, and nothing to end.
    pub(super) async fn of_session(
        &self,
        caller: &Caller,
        view: &View,
        method: &Method,
        headers: &HeaderMap,
    ) -> Response {
        let Some(id) = headers.get(SESSION) else {
            return answer::method_not_allowed("POST");
        };
        match self.session_of(caller, view, id).await {
            Ok(session) if *method == Method::DELETE => {
                self.0.sessions.delete(&session).await;
                answer::empty(StatusCode::NO_CONTENT)
            }
            Ok(session) => self.stream(&session, headers),
            Err(why) => no_session(why, headers),
        }
    }

    /// A stream of a session: its own, opened anew or taken up again, or that of a request which the client has lost.
    fn stream(&self, session: &LegacySession, headers: &HeaderMap) -> Response {
        let (closing, revision) = (&self.0.closing, session.revision());
        if !revision.has_resumption() {
            let own = session.listen(&self.0.router);
            self.announce_missed(session);
            return stream::listening(sse_event::comment(), own, None, closing.clone());
        }
        let own = |stream: &Arc<Resumable>, after: u64, first: Bytes| {
            stream::resumable(Some(first), stream.read_after(after), Some(closing.clone()))
        };
        let last_event = headers.get(LAST_EVENT).filter(|id| !id.is_empty());
        let opened = || {
            let stream = self.listen_resumably(session);
            self.announce_missed(session);
            let first = if revision.primes_streams() {
                stream.priming()
            } else {
                sse_event::comment()
            };
            own(&stream, 0, first)
        };
        let Some(last_event) = last_event else {
            return opened();
        };
        let last_event = last_event.to_str().unwrap_or_default();
        if let Some((stream, after)) = session.own_stream_of(last_event) {
            return own(&stream, after, sse_event::comment());
        }
        match session.stream_of(last_event) {
            Some((stream, after)) => {
                let reader = stream.read_after(after);
                stream::resumable(Some(sse_event::comment()), reader, None)
            }
            None if session.origin == SessionOrigin::Opened => unknown_event(),
            // The stream may have been another daemon's, with which it ended.
            None => match event_id::stream_of(last_event) {
                Some(StreamOf::Session) => opened(),
                Some(StreamOf::Request(id)) => stream::single_event(&lost(&id)),
                None => unknown_event(),
            },
        }
    }
}

/// A revision that has neither sessions nor streams of theirs knows no other verb than POST.
fn no_session(why: NoSession, headers: &HeaderMap) -> Response {
    match why {
        NoSession::Unknown if stateless_post::is_named_by(headers) => {
            answer::method_not_allowed("POST")
        }
        NoSession::Unknown => answer::no_session(None),
        NoSession::Busy => answer::busy(),
    }
}

/// The answer to a request that another daemon was working on.
fn lost(id: &Id) -> Bytes {
    let text = "mcpproxy restarted during the request, which may have run";
    let hint = "Check before you repeat it. The session continues.";
    let error = Failure::new(ErrorCode::ConnectionLost, text, hint).as_rpc_error();
    error_frame(Some(id), &error.to_raw())
}

/// The stream is over for good, or was never this session's. Nothing else must be sent in its place. Its request may have been answered.
fn unknown_event() -> Response {
    let text = "Invalid Request: no stream with this Last-Event-ID is kept. A call whose answer was lost may have run: check before you repeat it. To listen again, open a stream without Last-Event-ID.";
    let error = RpcError::new(RpcError::INVALID_REQUEST, text);
    answer::rpc_error(StatusCode::BAD_REQUEST, None, &error)
}
