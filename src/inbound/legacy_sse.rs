//! HTTP+SSE of revision 2024-11-05: a stream that names the address to POST to and then carries everything for the client. A POST is
//! answered at once; what follows from it comes on the stream. The session ends with the stream.

mod address;

use std::sync::Arc;

use axum::{extract::Request as HttpRequest, response::Response};
use bytes::Bytes;
use http::{StatusCode, Uri};

use self::address::{SESSION_ID, endpoint, session_id};
pub(super) use self::address::{is_meant, wants_stream};
use super::{
    AddressKind, Inbound, answer, body, bounds,
    dispatch::{ServedClient, Unframed, Work},
    session::{LegacySession, SessionKind},
    stream,
};
use crate::{
    access::Caller,
    router::View,
    wire::{FrameError, Message, Request, RpcError, error_frame},
};

/// Limit: messages of one client that are being worked on. Further requests are refused, so that a client which never waits for
/// answers costs no more than this.
const MAX_IN_FLIGHT: usize = 256;

impl Inbound {
    /// Opens a session and its stream, which begins with the address to POST to.
    pub(super) fn converse(
        &self,
        caller: Caller,
        view: View,
        transport: AddressKind,
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
            let message = "Session not found. Open a new stream with GET; its first event names the address for messages.";
            let error = RpcError::new(RpcError::SESSION, message);
            return answer::rpc_error(StatusCode::NOT_FOUND, None, &error);
        };
        let client = ServedClient::of_session(self, session.clone(), caller.clone());
        let client = client.with_headers(&head.headers);
        match self.read(&body, (caller, &view), || session.shown_client()) {
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
                    to_client.send(answer.frame.joined());
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
            of.session_end().run_until_cancelled(work).await;
            if of.session_end().is_cancelled() {
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
    let text = format!("{MAX_IN_FLIGHT} requests of this session are already running");
    let error = bounds::overloaded(text, "Wait for an answer before you send more.");
    error_frame(Some(&request.id), &error.to_raw())
}
