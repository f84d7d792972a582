//! What becomes of one message of a client, whatever it came by: the middle that the faces share. Knows no streams, no bodies and
//! no status codes.

use std::sync::Arc;

use bytes::Bytes;

use super::{
    Inbound,
    session::{Running, Session},
    stateless, wishes,
};
use crate::{
    access::Caller,
    call_context::{CallContext, Client, ClientSender, ClientSession},
    router::View,
    wire::{
        FrameError, Id, LogLevel, Message, Notification, Outcome, Raw, Request, Response, Revision,
        RpcError, error_frame, method, result_frame,
    },
};

/// Limit: the largest message of a client. Files come as base64 in the arguments of a call.
pub(super) const MAX_MESSAGE: usize = 32 << 20;

/// What is known about a message besides itself.
#[derive(Clone)]
pub(super) struct Envelope {
    pub(super) view: View,
    pub(super) caller: Caller,
    /// The legacy session.
    pub(super) session: Option<Arc<Session>>,
    /// What stands for the session of a client that has none but a connection of its own.
    pub(super) connection: Option<ClientSession>,
    pub(super) revision: Revision,
    pub(super) client: Arc<Client>,
    /// The log lines that a modern request asks for; a session's level is the session's.
    pub(super) log_level: Option<LogLevel>,
}

impl Inbound {
    /// The frame that answers a request of a session, or of none; `None` when the client withdrew it. From this call on, not only
    /// from the first poll, the request can be withdrawn by its id.
    pub(super) fn answer(
        &self,
        envelope: Envelope,
        request: Request,
        to_client: ClientSender,
    ) -> impl Future<Output = Option<Bytes>> + Send + use<> {
        let session = envelope.session.as_ref();
        let running = session.map(|session| session.begin(&request.id));
        self.answer_while(running, envelope, request, to_client)
    }

    /// The frame that answers a request, as long as nobody withdraws it.
    pub(super) fn answer_while(
        &self,
        running: Option<Running>,
        envelope: Envelope,
        request: Request,
        to_client: ClientSender,
    ) -> impl Future<Output = Option<Bytes>> + Send + use<> {
        let inbound = self.clone();
        async move {
            let answering = inbound.outcome(envelope, &request, to_client);
            let outcome = match &running {
                None => answering.await,
                Some(running) => running.unless_withdrawn(answering).await?,
            };
            Some(framed(&request.id, &outcome))
        }
    }

    /// What becomes of a request.
    pub(super) async fn outcome(
        &self,
        envelope: Envelope,
        request: &Request,
        to_client: ClientSender,
    ) -> Outcome {
        if !envelope.revision.may_have_method(&request.method) {
            return Outcome::Error(RpcError::method_not_found(&request.method).to_raw());
        }
        let session = envelope.session.as_ref();
        let context = CallContext {
            caller: envelope.caller,
            revision: envelope.revision,
            client: envelope.client,
            log_level: envelope.log_level,
            to_client,
            questions: session.map(|session| session.known.questions().clone()),
            session: session
                .map(|session| session.known.clone())
                .or(envelope.connection),
        };
        if &*request.method == method::LISTEN {
            return Box::pin(self.listen(&context, &envelope.view, request)).await;
        }
        if wishes::is_wish(&request.method) {
            return self.wish(&context, &envelope.view, session, request).await;
        }
        let router = &self.0.router;
        // What waits for it would be large otherwise.
        Box::pin(router.request(&context, &envelope.view, request)).await
    }

    /// Takes note of a notification.
    pub(super) async fn notification(&self, envelope: &Envelope, notification: &Notification) {
        if !withdraws(envelope.session.as_deref(), notification) {
            let router = &self.0.router;
            let (caller, view) = (&envelope.caller, &envelope.view);
            let session = envelope.session.as_ref().map(|session| &session.known);
            // Boxed, because it is large and seldom.
            Box::pin(router.notification(caller, session, view, notification)).await;
        }
    }

    /// Every member on its own, all at once; one array with the answers, if anything wants one.
    pub(super) async fn batch(
        &self,
        envelope: &Envelope,
        messages: Vec<Result<Message, FrameError>>,
    ) -> Option<Bytes> {
        let members = messages.into_iter().map(|m| self.member(envelope, m));
        let answers = futures_util::future::join_all(members).await;
        let answers: Vec<Raw> = answers
            .into_iter()
            .flatten()
            .filter_map(|frame| Raw::parse(&frame).ok())
            .collect();
        (!answers.is_empty()).then(|| Raw::array(&answers).bytes().clone())
    }

    async fn member(
        &self,
        envelope: &Envelope,
        message: Result<Message, FrameError>,
    ) -> Option<Bytes> {
        match message {
            Err(error) => Some(error_frame(None, &error.to_rpc_error().to_raw())),
            Ok(Message::Request(request)) if &*request.method == method::INITIALIZE => {
                let error = RpcError::invalid_request("initialize must not be part of a batch");
                Some(error_frame(Some(&request.id), &error.to_raw()))
            }
            Ok(message) if stateless::speaks_for_itself(&message) => {
                let error = RpcError::invalid_request(format!(
                    "revision {} has no batches",
                    Revision::NEWEST
                ));
                Some(error_frame(id_of(&message), &error.to_raw()))
            }
            Ok(Message::Request(request)) => {
                self.answer(envelope.clone(), request, ClientSender::nowhere())
                    .await
            }
            Ok(Message::Notification(notification)) => {
                self.notification(envelope, &notification).await;
                None
            }
            Ok(Message::Response(response)) => {
                took(envelope.session.as_deref(), response);
                None
            }
        }
    }
}

/// The frame that answers a request.
pub(super) fn framed(id: &Id, outcome: &Outcome) -> Bytes {
    match outcome {
        Outcome::Result(result) => result_frame(id, result),
        Outcome::Error(error) => error_frame(Some(id), error),
    }
}

/// The id of a request.
pub(super) fn id_of(message: &Message) -> Option<&Id> {
    match message {
        Message::Request(request) => Some(&request.id),
        Message::Notification(_) | Message::Response(_) => None,
    }
}

/// The answer to a message above [`MAX_MESSAGE`].
pub(super) fn too_large() -> RpcError {
    RpcError::invalid_request("the request is larger than 32 MiB")
}

/// Takes a client's answer to a question. One that nobody waits for is passed over.
pub(super) fn took(session: Option<&Session>, response: Response) {
    let answered = match (session, response.id) {
        (Some(session), Some(id)) => session.known.questions().answer(&id, response.outcome),
        _ => false,
    };
    if !answered {
        tracing::debug!("a client answered what nobody asked, or what nobody waits for any more");
    }
}

/// Whether a notification withdraws a request; if so, that is done.
pub(super) fn withdraws(session: Option<&Session>, notification: &Notification) -> bool {
    if &*notification.method != method::CANCELLED {
        return false;
    }
    let params = notification.params.as_ref();
    let id = params.and_then(|params| params.get("requestId"));
    if let (Some(session), Some(id)) = (session, id.as_ref().and_then(Id::from_raw)) {
        session.cancel(&id);
    }
    true
}
