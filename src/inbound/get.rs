//! `GET` and `DELETE` on an MCP endpoint: the notification stream of a session, and its end.

use axum::response::Response;
use http::{HeaderMap, StatusCode};

use super::{
    Inbound,
    answer::{self, SESSION},
    session::{Kind, Session},
    stateless_post,
};
use crate::{access::Caller, router::View};

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
    ) -> Option<std::sync::Arc<Session>> {
        let id = headers.get(SESSION)?.to_str().ok()?;
        self.0.sessions.find(id, Kind::Streamable, caller, view)
    }
}

/// A revision that has neither sessions nor streams of theirs knows no other verb than POST.
fn unknown_session(headers: &HeaderMap) -> Response {
    if stateless_post::is_named_by(headers) {
        return answer::method_not_allowed("POST");
    }
    answer::no_session(None)
}
