//! Clients with one stream for everything: their requests run at once, and what they are told, answers and notices alike, goes onto
//! that stream in order. Knows neither how messages come nor how the stream is written.

use std::sync::Arc;

use bytes::Bytes;

use super::{
    Inbound,
    dispatch::{Envelope, took, withdraws},
    session::{Agreed, Session},
};
use crate::{
    error_code::{ErrorCode, Failure},
    wire::{
        self, Message, Notification, Raw, Request, RpcError, error_frame, method, result_frame,
    },
};

/// Limit: messages of one client that are being worked on. Further requests are refused, so that a client which never waits for
/// answers costs no more than this.
const MAX_IN_FLIGHT: usize = 256;

impl Inbound {
    /// Takes a message. Never waits: the answer goes onto the client's stream, and the work ends with the session.
    pub(super) fn take(&self, session: &Arc<Session>, message: Message) {
        match message {
            Message::Request(request) if wire::is_modern(request.params.as_ref()) => {
                let why = "revisions without handshake are not spoken over HTTP+SSE";
                let error = RpcError::invalid_request(why).to_raw();
                session
                    .to_client()
                    .send(error_frame(Some(&request.id), &error));
            }
            Message::Request(request) => self.take_request(session, request),
            Message::Notification(notification) => self.take_notification(session, notification),
            Message::Response(response) => took(Some(session), response),
        }
    }

    fn take_request(&self, session: &Arc<Session>, request: Request) {
        let to_client = session.to_client();
        if session.in_flight() >= MAX_IN_FLIGHT {
            to_client.send(too_many(&request));
            return;
        }
        if &*request.method == method::INITIALIZE {
            let (inbound, opened) = (self.clone(), session.clone());
            self.run(session, async move {
                to_client.send(inbound.open(&opened, &request).await);
            });
            return;
        }
        // Boxed: the task around it would otherwise hold its room several times.
        let answering = Box::pin(self.answer(envelope(session), request, to_client.clone()));
        self.run(session, async move {
            if let Some(frame) = answering.await {
                to_client.send(frame);
            }
        });
    }

    fn take_notification(&self, session: &Arc<Session>, notification: Notification) {
        // A withdrawal must find room above all when there is none.
        if withdraws(Some(session), &notification) || session.in_flight() >= MAX_IN_FLIGHT {
            return;
        }
        let (inbound, envelope) = (self.clone(), envelope(session));
        self.run(session, async move {
            inbound.notification(&envelope, &notification).await;
        });
    }

    /// Answers `initialize`. The session was there before; now it is known what is spoken in it.
    async fn open(&self, session: &Session, request: &Request) -> Bytes {
        let params = request.params.as_ref();
        match self
            .0
            .router
            .open(&session.caller, &session.view, params)
            .await
        {
            Ok(opening) => {
                session.agree(Agreed {
                    revision: opening.revision,
                    client: opening.client.clone(),
                });
                tracing::debug!(client = opening.client.info.as_str(), revision = %opening.revision, "session opened");
                result_frame(&request.id, &opening.result)
            }
            Err(error) => error_frame(Some(&request.id), &error.to_raw()),
        }
    }

    /// Works until done or until the session ends. A client that was given up, because it does not read, is forgotten here.
    fn run(&self, session: &Arc<Session>, work: impl Future<Output = ()> + Send + 'static) {
        let (sessions, of) = (self.0.sessions.clone(), session.clone());
        session.spawn(async move {
            of.ended().run_until_cancelled(work).await;
            if of.ended().is_cancelled() {
                sessions.close(&of);
            }
        });
    }
}

fn envelope(session: &Arc<Session>) -> Envelope {
    let Agreed { revision, client } = session.agreed();
    Envelope {
        view: session.view.clone(),
        caller: session.caller.clone(),
        session: Some(session.clone()),
        connection: None,
        revision,
        client,
        log_level: session.wishes.log_level(),
    }
}

fn too_many(request: &Request) -> Bytes {
    let text = format!("{MAX_IN_FLIGHT} requests of this session are in flight already");
    let hint = "Wait for an answer before sending more.";
    let failure = Failure::new(ErrorCode::Overloaded, text.as_str(), hint);
    let error = RpcError::new(RpcError::INTERNAL, text.as_str()).with_data(Raw::author(&failure));
    error_frame(Some(&request.id), &error.to_raw())
}
