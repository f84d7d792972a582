//! `POST` on an MCP endpoint: one message, or a batch of the revision that has them.

use std::sync::Arc;

use axum::{extract::Request as HttpRequest, response::Response};
use http::{HeaderMap, HeaderValue, StatusCode, header, request::Parts};
use tokio::sync::Semaphore;

use super::{
    Inbound,
    answer::{self, REVISION, SESSION},
    answering::Answering,
    body, client_connection,
    dispatch::{ServedClient, Unframed, Work, id_of},
    session::{LegacySession, SessionKind},
    sessions::NoSession,
    stateless, stateless_post, stream,
};
use crate::{
    access::Caller,
    call_context::{ClientSender, shown_name},
    router::View,
    wire::{FrameError, Message, Revision, RpcError},
};

/// The types by which a client says that it takes an answer as a stream of events.
const EVENTS: [&str; 3] = ["text/event-stream", "*/*", "text/*"];

impl Inbound {
    pub(super) async fn post(&self, caller: Caller, view: View, request: HttpRequest) -> Response {
        let (head, body) = request.into_parts();
        let body = match body::read(body, self.memory()).await {
            Ok(body) => body,
            Err(refusal) => return refusal,
        };
        let agent = head.headers.get(header::USER_AGENT);
        let agent = agent.and_then(|agent| agent.to_str().ok());
        let id = head.headers.get(SESSION).and_then(|id| id.to_str().ok());
        let client = || {
            let kind = SessionKind::Streamable;
            match id.and_then(|id| self.0.sessions.find(id, kind, &caller, &view)) {
                Some(session) => session.shown_client(),
                None => shown_name(agent.unwrap_or_default()),
            }
        };
        let unframed = match self.read(&body, (&caller, &view), client) {
            Ok(unframed) => unframed,
            Err(error) => return answer::malformed(&error),
        };
        let session = self
            .named_session(&caller, &view, &head.headers, &unframed)
            .await;
        let has_session = matches!(session, Some(Ok(_)));
        if stateless_post::is_stateless(has_session, &head.headers, &unframed) {
            return self.post_stateless(caller, view, &head, unframed).await;
        }
        let first = unframed.first();
        let client = match self.client_of(session, caller, view, &head, first) {
            Ok(client) => client,
            Err(refusal) => return refusal,
        };
        let message = match unframed {
            // Boxed, because it is large and seldom.
            Unframed::Batch(messages) => return Box::pin(batch(&client, messages)).await,
            Unframed::One(message) => message,
        };
        let session = client
            .session()
            .filter(|_| answer::accepts(&head.headers, &EVENTS));
        let stream = session.map(|_| ClientSender::new(self.memory()));
        let request = id_of(&message).cloned();
        let (to_client, receiver) = stream.unzip();
        let to_client = to_client.unwrap_or_else(ClientSender::nowhere);
        let answering = match client.serve(message, to_client) {
            Work::Answering(answering)
            | Work::Opening(answering)
            | Work::Listening(_, answering) => answering,
            work => return without_answer(work).await,
        };
        let over = client
            .session()
            .map(|session| session.session_end().clone());
        let unanswered = || match over {
            // It was not withdrawn by its client: the session has ended meanwhile.
            Some(over) if over.is_cancelled() => answer::no_session(request.as_ref()),
            _ => answer::accepted(),
        };
        let (Some((session, receiver)), Some(request)) = (session.zip(receiver), &request) else {
            return as_json(answering, unanswered).await;
        };
        let stream = |receiver, answering| {
            self.stream_of_request(session, request.detached(), receiver, answering)
        };
        stream::respond(receiver, answering, |_| StatusCode::OK, unanswered, stream).await
    }

    /// The session that the headers name, if they name one and it may matter.
    async fn named_session(
        &self,
        caller: &Caller,
        view: &View,
        headers: &HeaderMap,
        unframed: &Unframed,
    ) -> Option<Result<Arc<LegacySession>, NoSession>> {
        let needs_none =
            |message: &Message| stateless::is_stateless(message) || stateless::is_opening(message);
        let id = headers.get(SESSION)?;
        if unframed.only().is_some_and(needs_none) {
            return None;
        }
        Some(self.session_of(caller, view, id).await)
    }

    /// Finds the session and the revision. A request that opens a session needs neither.
    #[expect(clippy::result_large_err, reason = "the error is the answer")]
    fn client_of(
        &self,
        session: Option<Result<Arc<LegacySession>, NoSession>>,
        caller: Caller,
        view: View,
        head: &Parts,
        first: Option<&Message>,
    ) -> Result<ServedClient, Response> {
        let headers = &head.headers;
        match session.filter(|_| !first.is_some_and(stateless::is_opening)) {
            Some(Ok(session)) => {
                check_revision(headers, first)?;
                let client = ServedClient::of_session(self, session, caller);
                return Ok(client.with_headers(headers));
            }
            Some(Err(NoSession::Unknown)) => {
                return Err(answer::no_session(first.and_then(id_of)));
            }
            Some(Err(NoSession::Busy)) => return Err(answer::busy()),
            None => (),
        }
        let revision = revision_of(headers, first)?;
        let connection = client_connection::of(head);
        let client = ServedClient::without_session(self, caller, view, revision, connection);
        Ok(client.with_headers(headers))
    }
}

/// The answer as the whole response, with the id of the session if it opens one.
async fn as_json(answering: Answering, unanswered: impl FnOnce() -> Response) -> Response {
    let Some(answer) = answering.await else {
        return unanswered();
    };
    let opened = answer.opened.clone();
    let mut response = answer::answered(StatusCode::OK, answer);
    if let Some(session) = opened {
        let id = HeaderValue::from_str(&session.id).expect("an id of ours is a header value");
        response.headers_mut().insert(SESSION, id);
    }
    response
}

/// What is left of a message that nothing has to be waited for but its being passed on.
async fn without_answer(work: Work) -> Response {
    match work {
        Work::Refused(frame) => return answer::json(StatusCode::OK, frame),
        Work::Noting(noting) => noting.await,
        Work::Opening(_) | Work::Answering(_) | Work::Listening(..) | Work::Done => (),
    }
    answer::accepted()
}

async fn batch(client: &ServedClient, messages: Vec<Result<Message, FrameError>>) -> Response {
    if let Some(error) = client.no_batches() {
        return answer::rpc_error(StatusCode::BAD_REQUEST, None, &error);
    }
    // All at once.
    let turns = Semaphore::new(messages.len());
    let answers = client.batch(messages, &turns).await;
    answers.map_or_else(answer::accepted, |answers| {
        answer::json(StatusCode::OK, answers)
    })
}

// What the headers of a legacy client say.

/// The revision that a client without a session names.
#[expect(clippy::result_large_err, reason = "the error is the answer")]
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
#[expect(clippy::result_large_err, reason = "the error is the answer")]
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
    let error = RpcError::refused_request(
        format_args!("MCP-Protocol-Version {named:?} is not a revision of MCP"),
        &format!("send one of {}", known.join(", ")),
    );
    answer::rpc_error(StatusCode::BAD_REQUEST, first.and_then(id_of), &error)
}
