//! What becomes of a client's messages, whatever transport they came by: opening, requests, batches, withdrawals, and answers to
//! questions. The transports only frame and unframe. Knows no streams, no bodies and no status codes.

mod subscribing;

use std::{future::ready, sync::Arc};

use bytes::Bytes;
use futures_util::future::{Abortable, BoxFuture};
use http::HeaderMap;
use tokio::sync::Semaphore;

use self::subscribing::is_subscription;
use super::{
    Inbound,
    answering::{Answer, Answering},
    bounds,
    session::{Agreed, LegacySession, SessionKind},
    stateless,
};
use crate::{
    access::Caller,
    call_context::{CallContext, ClientIdentity, ClientSender, OwnConnection},
    router::View,
    telemetry::log_context::LoggedWork,
    wire::{
        self, FrameError, Id, Message, Notification, Outcome, Raw, Request, RequestMeta,
        RequestTrace, Response, Revision, RpcError, error_frame, method, parse_client,
    },
};

/// Limit: the largest message of a client. Files come as base64 in the arguments of a call.
pub(super) const MAX_MESSAGE: usize = 32 << 20;

/// One client, as far as its messages are concerned. Cheap to clone.
#[derive(Clone)]
pub(super) struct ServedClient {
    inbound: Inbound,
    caller: Caller,
    view: View,
    session: Option<Arc<LegacySession>>,
    /// What is spoken where there is no session.
    revision: Revision,
    /// The connection that is this client's alone, where there is no session.
    connection: Option<OwnConnection>,
    /// The trace that headers name.
    trace: Option<RequestTrace>,
}

/// What a client sent at once.
pub(super) enum Unframed {
    /// A message.
    One(Message),
    /// Several, each of which fails on its own.
    Batch(Vec<Result<Message, FrameError>>),
}

/// What a message leaves to be done.
pub(super) enum Work {
    /// It is refused already: this is the answer.
    Refused(Bytes),
    /// It opens a session.
    Opening(Answering),
    /// It is answered in time.
    Answering(Answering),
    /// The same for the subscription request of this id, which is answered when the subscription ends.
    Listening(Id, Answering),
    /// It is passed on and not answered.
    Noting(BoxFuture<'static, ()>),
    /// Nothing.
    Done,
}

impl Unframed {
    /// Reads a line or a body.
    pub(super) fn read(text: &Bytes) -> Result<Self, FrameError> {
        let (mut messages, is_batch) = parse_client(text)?;
        match messages.pop() {
            Some(message) if !is_batch => message.map(Self::One),
            last => {
                messages.extend(last);
                Ok(Self::Batch(messages))
            }
        }
    }

    /// The first message, if it is one.
    pub(super) fn first(&self) -> Option<&Message> {
        match self {
            Self::One(message) => Some(message),
            Self::Batch(messages) => messages.first()?.as_ref().ok(),
        }
    }

    /// The message that comes alone, in a batch or not.
    pub(super) fn only(&self) -> Option<&Message> {
        match self {
            Self::Batch(messages) if messages.len() != 1 => None,
            _ => self.first(),
        }
    }
}

impl ServedClient {
    /// The client of a session, who asks now as `caller`: its roles may have changed.
    pub(super) fn of_session(
        inbound: &Inbound,
        session: Arc<LegacySession>,
        caller: Caller,
    ) -> Self {
        Self {
            inbound: inbound.clone(),
            caller,
            view: session.view.clone(),
            revision: Revision::ASSUMED,
            connection: None,
            session: Some(session),
            trace: None,
        }
    }

    /// A client that has none, for one request.
    pub(super) fn without_session(
        inbound: &Inbound,
        caller: Caller,
        view: View,
        revision: Revision,
        connection: Option<OwnConnection>,
    ) -> Self {
        Self {
            inbound: inbound.clone(),
            caller,
            view,
            session: None,
            revision,
            connection,
            trace: None,
        }
    }

    /// The same for requests that came with these headers: they may say which trace a request is part of, where it does not itself.
    #[must_use]
    pub(super) fn with_headers(self, headers: &HeaderMap) -> Self {
        let trace = self.inbound.0.calls.trace_in(headers);
        Self { trace, ..self }
    }

    /// Its session.
    pub(super) fn session(&self) -> Option<&Arc<LegacySession>> {
        self.session.as_ref()
    }

    /// Takes a message. `to_client` carries what comes before the answer. From this call on, not only from the first poll of the answer,
    /// a request can be withdrawn by its id.
    pub(super) fn serve(&self, message: Message, to_client: ClientSender) -> Work {
        match message {
            Message::Request(request) => self.request(request, to_client),
            Message::Notification(notification) => self.notification(notification),
            Message::Response(response) => {
                self.answered(response);
                Work::Done
            }
        }
    }

    fn request(&self, request: Request, to_client: ClientSender) -> Work {
        let params = request.params.as_ref();
        // Some clients write `null` for none.
        if params.is_some_and(|params| !params.is_object() && !params.is_null()) {
            let error = RpcError::invalid_params(
                "nothing ran: \"params\" is not an object; correct that and send it again",
            );
            return Work::refused(Some(&request.id), &error);
        }
        match self.session.as_deref() {
            // Before `initialize` the question what we are is one of a modern client.
            Some(session)
                if session.kind == SessionKind::Pipe
                    && (wire::is_modern(params)
                        || (!session.is_open() && method::is_modern(&request.method))) =>
            {
                return self.request_on_pipe(request, to_client);
            }
            Some(session)
                if session.kind == SessionKind::Conversation && wire::is_modern(params) =>
            {
                let why = "HTTP+SSE does not support revisions without a handshake";
                return Work::refused(Some(&request.id), &RpcError::invalid_request(why));
            }
            _ => (),
        }
        if &*request.method == method::INITIALIZE {
            return Work::Opening(self.open(request));
        }
        let context = self.session_context(&request.method, to_client);
        Work::Answering(self.answering(context, request))
    }

    /// The context of a request that says nothing of its sender.
    pub(super) fn session_context(&self, method: &str, to_client: ClientSender) -> CallContext {
        let mut context = self.context(method, to_client);
        match &self.session {
            Some(session) => {
                let (agreed, log_level) = session.agreed_and_log_level();
                context.caller = session.seated(&self.caller);
                context.revision = agreed.revision;
                context.client = agreed.client;
                context.log_level = log_level;
                context.questions = Some(session.client.questions().clone());
                context.session = Some(session.client.clone());
            }
            None => context.revision = self.revision,
        }
        context
    }

    fn request_on_pipe(&self, request: Request, to_client: ClientSender) -> Work {
        match RequestMeta::read(request.params.as_ref()) {
            Err(error) => Work::refused(Some(&request.id), &error),
            Ok(meta) if &*request.method == method::LISTEN => {
                let id = request.id.detached();
                Work::Listening(id, self.stateless(&meta, request, to_client))
            }
            Ok(meta) => Work::Answering(self.stateless(&meta, request, to_client)),
        }
    }

    /// Answers a request that says this of its sender.
    pub(super) fn stateless(
        &self,
        meta: &RequestMeta,
        request: Request,
        to_client: ClientSender,
    ) -> Answering {
        let mut context = self.context(&request.method, to_client);
        context.revision = meta.revision;
        context.client = Arc::new(ClientIdentity::new(&meta.client, &meta.capabilities));
        context.log_level = meta.log_level;
        // The connection stands for a session where the client has one to itself.
        context.session = self.session.as_ref().map(|session| session.client.clone());
        self.answering(context.at_client(), request)
    }

    fn context(&self, method: &str, to_client: ClientSender) -> CallContext {
        let (calls, caller) = (&self.inbound.0.calls, self.caller.clone());
        let mut context = CallContext::alone(calls, caller, method);
        context.endpoint = Some(self.view.entrance());
        context.to_client = to_client;
        context.connection.clone_from(&self.connection);
        context
    }

    /// The answer to a request of a client that asks too often.
    fn too_often(&self, request: &Request) -> Option<Answering> {
        if &*request.method == method::PING {
            return None;
        }
        let session = self.session.as_ref().map(|session| session.client.key());
        let access = &self.inbound.0.access;
        let wait = access.count_request(&self.caller, session).err()?;
        let caller = self.caller.subject();
        tracing::debug!(caller, "request refused: rate limit exceeded");
        let router = &self.inbound.0.router;
        router.note_too_often(&self.caller, &request.method);
        let answer = Answer::one_too_many(&request.id, &request.method, wait);
        Some(Box::pin(ready(Some(answer))))
    }

    fn answering(&self, mut context: CallContext, request: Request) -> Answering {
        if let Some(refusal) = self.too_often(&request) {
            return refusal;
        }
        let (id, params) = (Some(&request.id), request.params.as_ref());
        context.begin_trace(id, params, self.trace.as_ref());
        let client = self.clone();
        let session = self.session.as_ref();
        let (running, withdrawn) = session.map(|session| session.begin(&request.id)).unzip();
        let present = match self.session {
            // A session is there as long as it lasts.
            Some(_) => None,
            None => Some(self.inbound.presence().enter()),
        };
        Box::pin(async move {
            let _here = (present, running);
            let view = &client.view;
            client.begun_for(&request.method).await;
            // Boxed, because what waits for it would be large otherwise.
            let outcome: BoxFuture<'_, Outcome> = match &*request.method {
                method if !context.revision.may_have_method(method) => {
                    let error = RpcError::method_not_found(method);
                    Box::pin(ready(Outcome::Error(error.to_raw())))
                }
                method::LISTEN => Box::pin(client.inbound.listen(&context, view, &request)),
                method if is_subscription(method) => Box::pin(client.subscribe(&context, &request)),
                _ => {
                    let router = &client.inbound.0.router;
                    Box::pin(router.request(&context, view, &request))
                }
            };
            let outcome = outcome.logged_in(context.logged_as.clone());
            let outcome = match withdrawn {
                None => outcome.await,
                Some(withdrawn) => Abortable::new(outcome, withdrawn).await.ok()?,
            };
            let answer = Answer::of(&request.id, &outcome);
            let log = || tracing::debug!(error = answer.error, "request answered");
            context.logged_as.log(log);
            Some(answer)
        })
    }

    /// Waits for what the daemon reads at its start, as far as such a request needs that.
    async fn begun_for(&self, method: &str) {
        let router = &self.inbound.0.router;
        if !router.has_begun() {
            // Boxed, because it is seldom.
            Box::pin(router.begun_for(&self.view, method)).await;
        }
    }

    /// Answers `initialize`, in the session that is there or in a new one.
    fn open(&self, request: Request) -> Answering {
        if let Some(refusal) = self.too_often(&request) {
            return refusal;
        }
        let client = self.clone();
        Box::pin(async move {
            let parts = &client.inbound.0;
            let context = client.context(&request.method, ClientSender::nowhere());
            let (caller, view) = (&client.caller, &client.view);
            client.begun_for(&request.method).await;
            let logged_as = &context.logged_as.clone();
            let opening = parts.router.open(context, view, request.params.as_ref());
            let opening = match opening.logged_in(logged_as.clone()).await {
                Ok(opening) => opening,
                Err(error) => return Some(Answer::refusal(&request.id, &error)),
            };
            let (revision, identity) = (opening.revision, opening.client);
            let shown = identity.shown();
            let agreed = Agreed {
                revision,
                client: identity,
            };
            let session = match client.session.clone() {
                Some(session) => session.agree(agreed).then_some(session),
                None => parts.sessions.open(caller.clone(), view.clone(), agreed),
            };
            let Some(session) = session else {
                return Some(Answer::refusal(&request.id, &bounds::no_memory()));
            };
            if session.kept().capabilities.is_some() {
                client.inbound.keep(&session).await;
            }
            let log =
                || tracing::info!(client = shown, %revision, endpoint = %view, "session opened");
            logged_as.log(log);
            Some(Answer::opening(&request.id, opening.result, session))
        })
    }

    fn notification(&self, notification: Notification) -> Work {
        if self.withdraws(&notification) {
            return Work::Done;
        }
        let client = self.clone();
        Work::Noting(Box::pin(async move {
            let session = client.session.as_ref().map(|session| &session.client);
            let router = &client.inbound.0.router;
            let passed = router.notification(&client.caller, session, &client.view, &notification);
            passed.await;
        }))
    }

    /// Whether a notification withdraws a request; if so, that is done.
    fn withdraws(&self, notification: &Notification) -> bool {
        if &*notification.method != method::CANCELLED {
            return false;
        }
        let params = notification.params.as_ref();
        let id = params.and_then(|params| params.get("requestId"));
        if let (Some(session), Some(id)) = (&self.session, id.as_ref().and_then(Id::from_raw)) {
            session.cancel(&id);
        }
        true
    }

    /// Takes the answer to a question. One that nobody waits for is passed over.
    fn answered(&self, response: Response) {
        let is_waited_for = match (&self.session, response.id) {
            (Some(session), Some(id)) => session.client.questions().answer(&id, response.outcome),
            _ => false,
        };
        if !is_waited_for {
            tracing::debug!("a client answered an unknown request");
        }
    }

    /// Why this client may send no batches, if it may not.
    pub(super) fn no_batches(&self) -> Option<RpcError> {
        let session = self.session.as_ref();
        let revision = session.map_or(self.revision, |session| session.revision());
        (!revision.has_batches()).then(|| no_batches_in(revision))
    }

    /// Takes one member of a batch.
    pub(super) fn member(
        &self,
        message: Result<Message, FrameError>,
        to_client: ClientSender,
    ) -> Work {
        match message {
            Err(error) => Work::refused(error.id(), &error.to_rpc_error()),
            Ok(Message::Request(request)) if &*request.method == method::INITIALIZE => {
                let error = RpcError::invalid_request("initialize must not be part of a batch");
                Work::refused(Some(&request.id), &error)
            }
            Ok(message) if stateless::is_stateless(&message) => {
                Work::refused(id_of(&message), &no_batches_in(Revision::NEWEST))
            }
            Ok(message) => self.serve(message, to_client),
        }
    }

    /// Every member on its own, each request in its turn; one array with the answers, if anything wants one.
    pub(super) async fn batch(
        &self,
        messages: Vec<Result<Message, FrameError>>,
        turns: &Semaphore,
    ) -> Option<Bytes> {
        let members = messages.into_iter().map(async |message| {
            match self.member(message, ClientSender::nowhere()) {
                Work::Refused(frame) => Some(frame),
                Work::Opening(answering)
                | Work::Answering(answering)
                | Work::Listening(_, answering) => {
                    // Fails only if closed, which these never are.
                    let _turn = turns.acquire().await;
                    answering.await.map(|answer| answer.frame.joined())
                }
                Work::Noting(noting) => {
                    noting.await;
                    None
                }
                Work::Done => None,
            }
        });
        let answers = futures_util::future::join_all(members).await;
        let frames = answers.into_iter().flatten();
        let answers: Vec<Raw> = frames.filter_map(|frame| Raw::parse(&frame).ok()).collect();
        (!answers.is_empty()).then(|| Raw::array(&answers).bytes().clone())
    }
}

impl Work {
    fn refused(id: Option<&Id>, error: &RpcError) -> Self {
        Self::Refused(error_frame(id, &error.to_raw()))
    }
}

/// The error for a batch in a revision that has none.
pub(super) fn no_batches_in(revision: Revision) -> RpcError {
    RpcError::refused_request(
        format_args!("revision {revision} has no batches"),
        "send each message in its own request",
    )
}

/// The id of a request.
pub(super) fn id_of(message: &Message) -> Option<&Id> {
    match message {
        Message::Request(request) => Some(&request.id),
        Message::Notification(_) | Message::Response(_) => None,
    }
}
