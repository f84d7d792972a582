//! `GET` and `DELETE` on an MCP endpoint: the streams of a session, and its end.

use std::sync::Arc;

use axum::response::Response;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, StatusCode};

use super::{
    Inbound,
    answer::{self, SESSION},
    resumable::Resumable,
    session::{LegacySession, SessionKind},
    sse_event, stateless_post, stream,
};
use crate::{access::Caller, router::View, wire::RpcError};

/// The last event that a client got.
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

impl Inbound {
    /// The stream of a session. Without a session there is nothing to listen to.
    pub(super) fn get(&self, caller: &Caller, view: &View, headers: &HeaderMap) -> Response {
        if !headers.contains_key(SESSION) {
            return answer::method_not_allowed("POST");
        }
        match self.session_of(caller, view, headers) {
            Some(session) => self.stream(&session, headers),
            None => unknown_session(headers),
        }
    }

    /// Ends a session.
    pub(super) fn delete(&self, caller: &Caller, view: &View, headers: &HeaderMap) -> Response {
        if !headers.contains_key(SESSION) {
            return answer::method_not_allowed("POST");
        }
        match self.session_of(caller, view, headers) {
            Some(session) => {
                self.0.sessions.close(&session);
                answer::empty(StatusCode::NO_CONTENT)
            }
            None => unknown_session(headers),
        }
    }

    /// The session of this caller that the headers name, if it is here.
    pub(super) fn session_of(
        &self,
        caller: &Caller,
        view: &View,
        headers: &HeaderMap,
    ) -> Option<Arc<LegacySession>> {
        let id = headers.get(SESSION)?.to_str().ok()?;
        let sessions = &self.0.sessions;
        sessions.find(id, SessionKind::Streamable, caller, view)
    }

    /// A stream of a session: its own, opened anew or taken up again, or that of a request which the client has lost.
    fn stream(&self, session: &LegacySession, headers: &HeaderMap) -> Response {
        let (closing, revision) = (&self.0.closing, session.revision());
        if !revision.has_resumption() {
            let own = session.listen(&self.0.router);
            return stream::listening(sse_event::comment(), own, None, closing.clone());
        }
        let own = |stream: &Arc<Resumable>, after: u64, first: Bytes| {
            stream::resumable(Some(first), stream.read_after(after), Some(closing.clone()))
        };
        let last_event = headers.get(LAST_EVENT).filter(|id| !id.is_empty());
        let Some(last_event) = last_event else {
            let stream = self.listen_resumably(session);
            let first = if revision.primes_streams() {
                stream.priming()
            } else {
                sse_event::comment()
            };
            return own(&stream, 0, first);
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
            None => unknown_event(),
        }
    }
}

/// A revision that has neither sessions nor streams of theirs knows no other verb than POST.
fn unknown_session(headers: &HeaderMap) -> Response {
    if stateless_post::is_named_by(headers) {
        return answer::method_not_allowed("POST");
    }
    answer::no_session(None)
}

/// The stream is over for good, or was never this session's. Nothing else must be sent in its place.
fn unknown_event() -> Response {
    let error = RpcError::invalid_request(
        "the stream of this Last-Event-ID is not here any more; open a new one without it",
    );
    answer::rpc_error(StatusCode::BAD_REQUEST, None, &error)
}
