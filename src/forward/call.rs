//! One forwarded request from its first step to its answer, carried on by the task that waits for it: events go through
//! [`CallState`], and its decisions are carried out here.

use std::{
    pin::Pin,
    time::{Duration, Instant},
};

use futures_util::{
    future::{AbortHandle, Abortable, BoxFuture, FutureExt, abortable},
    stream::{FuturesUnordered, StreamExt},
};
use tokio::time::Sleep;

use super::{
    Forwarder, instances,
    label::{self, is_wanted},
    parked::{self, CollectedQuestion, ParkedCall, RetryKey, SentCall},
    progress::ProgressTokens,
    questions,
    request::{EndpointKind, ForwardRequest, RequestError, RoundReplies},
    state::{CallAction, CallEvent, CallState, RoundQuestions},
};
use crate::{
    activity::CallStage,
    call_context::CallContext,
    failure::{ErrorCode, Failure, MAY_HAVE_RUN, Result},
    gate::Admitted,
    link::Incoming,
    telemetry::spans::CallTrace,
    text::names::ServerName,
    upstream::{NotSent, Outgoing},
    wire::{
        Id, Notification, Outcome, Raw, Request, RpcError, bridge,
        input_required::{self, InputRequest, MAX_REQUESTS},
        method,
    },
};

/// Servers often ask several things at once: so long further questions are waited for before a result asks them together.
const GATHERING: Duration = Duration::from_millis(30);

/// A request of a client that is being forwarded, and what that takes.
#[derive(Clone, Copy)]
pub(super) struct Forwarding<'a> {
    pub(super) forwarder: &'a Forwarder,
    pub(super) context: &'a CallContext,
    pub(super) admitted: &'a Admitted,
    pub(super) request: ForwardRequest<'a>,
}

/// A call in progress.
pub(super) struct ForwardedCall<'a> {
    of: Forwarding<'a>,
    sent: SentCall,
    wait: ClientWait<'a>,
    /// What the next result asks.
    collected: Vec<CollectedQuestion>,
}

/// What a call waits for beside its server.
enum ClientWait<'a> {
    Nothing,
    /// Answers to questions on the stream of the client's request.
    Replies(AskedQuestions<'a>),
    /// Further questions.
    Gathering(Pin<Box<Sleep>>),
    /// The answers to all that a result asks.
    Round(BoxFuture<'a, Result<RoundReplies>>),
}

/// Questions that the client has on the stream of its request.
#[derive(Default)]
struct AskedQuestions<'a> {
    replies: FuturesUnordered<Abortable<BoxFuture<'a, (Id, Outcome)>>>,
    /// By the server's ids.
    open: Vec<(Id, AbortHandle)>,
}

impl Forwarding<'_> {
    /// Sends the request, for the first time or with the answers of a round.
    pub(super) async fn send(
        self,
        token: Option<Raw>,
        state: CallState,
        replies: &RoundReplies,
    ) -> Result<SentCall, RequestError> {
        let (context, admitted, request) = (self.context, self.admitted, self.request);
        context.course.enter(CallStage::Waiting);
        let (upstreams, endpoint) = (&self.forwarder.upstreams, request.endpoint);
        let upstream = instances::choose(upstreams, context, admitted.server(), endpoint).await?;
        let number = upstream.next_number();
        let progress = ProgressTokens::new(number, token);
        let trace = context.trace.as_deref();
        let traced = trace.map(CallTrace::edits).unwrap_or_default();
        let message = request.message(admitted, (progress.edit(), traced), replies)?;
        if let Some(trace) = trace {
            trace.note_sent();
        }
        let outgoing = Outgoing {
            number,
            message: &message,
            sender: context.sender(),
            client: context.client_key(),
            reach: &|| instances::reach(context, upstream.name(), endpoint),
            wants_lines: context.log_level.is_some(),
            stream: &context.to_client,
            deadline: context.deadline,
            course: &context.course,
        };
        match upstream.call(&outgoing).await {
            Ok(active) => Ok(SentCall {
                active,
                progress,
                state,
            }),
            Err(NotSent::Elsewhere) => Box::pin(self.send(progress.client, state, replies)).await,
            Err(NotSent::Stopped(failure)) => {
                let next = instances::choose(upstreams, context, admitted.server(), endpoint);
                match Box::pin(next).await {
                    Ok(next) if !next.is_stopped() => {
                        Box::pin(self.send(progress.client, state, replies)).await
                    }
                    Ok(_) | Err(_) => Err(failure.into()),
                }
            }
            Err(NotSent::Wrong(error)) => Err(error.into()),
            Err(NotSent::Failed(failure)) => Err(failure.into()),
        }
    }

    /// Goes on with a parked call: its server gets the answers that the request brings.
    pub(super) async fn resume(
        self,
        ParkedCall { call, questions }: ParkedCall,
        token: Option<Raw>,
    ) -> Result<Outcome, RequestError> {
        let mut call = Box::new(ForwardedCall::new(self, call));
        call.sent.progress.client = token;
        call.sent.active.unpark();
        let params = self.request.params;
        let responses = params.and_then(|params| params.get(input_required::RESPONSES));
        for question in questions {
            match question.request.answer_in(responses.as_ref()) {
                Some(outcome) => call.sent.active.answer(&question.id, &outcome).await?,
                None => call.collected.push(question),
            }
        }
        let missing = call.collected.len();
        let action = call.sent.state.on(CallEvent::Resumed { missing });
        call.run(action).await
    }

    pub(super) fn retry_key(&self) -> Result<RetryKey, RpcError> {
        Ok(RetryKey {
            caller: self.admitted.caller().clone(),
            server: self.admitted.server().clone(),
            endpoint: self.context.endpoint.clone(),
            method: self.admitted.method().into(),
            params: self.request.fingerprint(self.admitted)?,
        })
    }
}

impl<'a> ForwardedCall<'a> {
    /// A request that was sent.
    pub(super) fn new(of: Forwarding<'a>, sent: SentCall) -> Self {
        Self {
            of,
            sent,
            wait: ClientWait::Nothing,
            collected: Vec::new(),
        }
    }

    /// Carries the call to its end, or to where its client has to call again. Boxed, because it is large and would be moved some times.
    pub(super) async fn run(
        mut self: Box<Self>,
        first: CallAction,
    ) -> Result<Outcome, RequestError> {
        let mut action = first;
        loop {
            // Few calls come to most of these: what has to be waited for there is no part of every call's future.
            match action {
                CallAction::Wait => (),
                CallAction::Relay(notice) => self.relay(&notice),
                CallAction::Ask(question) => self.ask(question),
                CallAction::Collect(question) => self.collect(&question),
                CallAction::AskRound(round) => self.ask_round(round),
                CallAction::Refuse(question, why) => {
                    Box::pin(self.refuse(&question.id, &question.method, &why)).await?;
                }
                CallAction::RefuseMissing => Box::pin(self.refuse_missing()).await?,
                CallAction::Reply(id, outcome) => {
                    Box::pin(self.sent.active.answer(&id, &outcome)).await?;
                }
                CallAction::SendAgain(replies) => {
                    *self = Box::pin((*self).send_again(replies)).await?;
                }
                CallAction::Park => return (*self).park(),
                CallAction::Finish(outcome) => return self.finish(outcome),
                CallAction::Fail(why) => {
                    return Err(questions::over_limit(self.of.admitted, &why).into());
                }
            }
            let course = &self.of.context.course;
            if self.sent.state.holds_clock() {
                self.sent.active.hold();
                course.enter(CallStage::AtClient);
            } else {
                self.sent.active.resume();
                course.enter(CallStage::AtServer);
            }
            let event = self.next().await?;
            action = self.sent.state.on(event);
        }
    }

    fn server(&self) -> &'a ServerName {
        self.of.admitted.server()
    }

    /// What happens next. Cancel-safe.
    async fn next(&mut self) -> Result<CallEvent> {
        let has_server = self.sent.state.has_server();
        let arrived = loop {
            let arrived = tokio::select! {
                biased;
                event = self.wait.next() => return event,
                arrived = self.sent.active.next(), if has_server => arrived?,
            };
            let Some(question) = withdrawn_in(&arrived) else {
                break arrived;
            };
            if self.withdraw(&question) {
                return Ok(CallEvent::Withdrawn);
            }
        };
        let (context, method) = (self.of.context, self.of.admitted.method());
        Ok(match arrived {
            Incoming::Notice(notice) => CallEvent::Notice(notice),
            Incoming::Question(question) => {
                let route = questions::route(context, method, &question);
                CallEvent::Question(question, route)
            }
            Incoming::Answer(Outcome::Result(result))
                if bridge::asks_by_requests(
                    context.revision,
                    self.sent.active.revision(),
                    &result,
                ) =>
            {
                CallEvent::InputRequired(RoundQuestions {
                    requests: input_required::requests(&result),
                    state: result.get(input_required::STATE),
                })
            }
            Incoming::Answer(outcome) => CallEvent::Answer(outcome),
        })
    }

    fn relay(&self, notice: &Notification) {
        let to_client = &self.of.context.to_client;
        if to_client.is_open()
            && is_wanted(self.of.context, notice)
            && let Some(frame) = self.sent.progress.frame_for_client(notice)
        {
            to_client.send(frame);
        }
    }

    fn ask(&mut self, question: Request) {
        let (context, endpoint) = (self.of.context, self.of.request.endpoint);
        let id = question.id.detached();
        let asking = questions::ask(context, endpoint, self.server().clone(), question);
        self.wait.for_reply(id, asking.boxed());
    }

    /// Forgets a question that waits for a result that asks; whether there was one. One that the client has is withdrawn there, which comes
    /// as an event of its own.
    fn withdraw(&mut self, question: &Id) -> bool {
        if let ClientWait::Replies(questions) = &self.wait {
            questions.withdraw(question);
        }
        self.sent.active.forget(question);
        let before = self.collected.len();
        self.collected.retain(|collected| collected.id != *question);
        self.collected.len() < before
    }

    fn collect(&mut self, question: &Request) {
        let others = self.collected.iter().map(|other| &other.request);
        let mut request = InputRequest::of_legacy(question, others);
        let (endpoint, params) = (self.of.request.endpoint, request.params.as_ref());
        request.params = label::question(endpoint, self.server(), &request.method, params);
        self.collected.push(CollectedQuestion {
            id: question.id.detached(),
            request,
        });
        self.wait.for_more();
    }

    fn ask_round(&mut self, round: RoundQuestions) {
        let (context, endpoint) = (self.of.context, self.of.request.endpoint);
        let asking = questions::ask_round(context, endpoint, self.of.admitted, round);
        self.wait = ClientWait::Round(asking.boxed());
    }

    async fn refuse(&mut self, id: &Id, method: &str, why: &RpcError) -> Result {
        self.sent.active.log_refusal(method, &why.message);
        let refusal = Outcome::Error(why.to_raw());
        self.sent.active.answer(id, &refusal).await
    }

    async fn refuse_missing(&mut self) -> Result {
        for CollectedQuestion { id, request } in std::mem::take(&mut self.collected) {
            let why = "the client did not answer it";
            let why = bridge::refused_question(&request.method, why);
            self.refuse(&id, &request.method, &why).await?;
        }
        Ok(())
    }

    async fn send_again(self, replies: RoundReplies) -> Result<Self, RequestError> {
        let SentCall {
            active,
            progress,
            state,
        } = self.sent;
        // It has its answer; the place that it holds at a server which has few may be the one that the next needs.
        drop(active);
        let sent = self.of.send(progress.client, state, &replies);
        Ok(Self::new(self.of, sent.await?))
    }

    /// Keeps the call, and hands what was collected to its client.
    fn park(mut self) -> Result<Outcome, RequestError> {
        self.sent.active.park();
        let handle = parked::new_handle();
        let requests = self.collected.iter().map(|question| &question.request);
        let result = input_required::result(requests, Some(&handle));
        let call = ParkedCall {
            call: self.sent,
            questions: self.collected,
        };
        let key = self.of.retry_key()?;
        let parked = &self.of.forwarder.parked;
        match parked.park(&handle, call, key, Instant::now()) {
            Ok(()) => Ok(Outcome::Result(result)),
            Err(full) => {
                let hint = "It may have run in part. Answer the open questions, then check before you repeat it.";
                Err(Failure::new(ErrorCode::Overloaded, full.to_string(), hint).into())
            }
        }
    }

    /// Asks the client to open pages, and to make the request again then.
    fn ask_to_open(&self, mut pages: Vec<InputRequest>) -> Result<Outcome, RequestError> {
        let (client, endpoint) = (&self.of.context.client, self.of.request.endpoint);
        for page in &mut pages {
            if !client.can_answer(&page.method, page.params.as_ref()) {
                return Err(questions::cannot_open_pages().into());
            }
            let params = page.params.as_ref();
            page.params = label::question(endpoint, self.server(), &page.method, params);
        }
        let retries = &self.of.forwarder.pages;
        let handle = retries.expect(self.of.retry_key()?, Instant::now());
        let result = input_required::result(&pages, Some(&handle));
        Ok(Outcome::Result(result))
    }

    /// The upstream's answer as this client must get it.
    fn finish(&self, outcome: Outcome) -> Result<Outcome, RequestError> {
        let (client, upstream) = (self.of.context.revision, self.sent.active.revision());
        if let Some(pages) = bridge::pages_to_open(client, upstream, &outcome) {
            return self.ask_to_open(pages);
        }
        let server = self.of.admitted.server();
        let outcome = match outcome {
            Outcome::Result(result)
                if self.of.request.endpoint == EndpointKind::ManyServers
                    && client.has_result_types()
                    && upstream.has_result_types()
                    && input_required::is_input_required(&result) =>
            {
                let labelled = label::result(server, &result);
                Outcome::Result(labelled.ok_or_else(|| asks_too_much(server))?)
            }
            outcome => outcome,
        };
        bridge::answer_for(client, upstream, self.of.admitted.method(), outcome)
            .map_err(|result| unfit(server, &result).into())
    }
}

impl<'a> ClientWait<'a> {
    /// Pending for ever where there is nothing to wait for. Cancel-safe.
    async fn next(&mut self) -> Result<CallEvent> {
        match self {
            Self::Nothing => std::future::pending().await,
            Self::Replies(questions) => match questions.replies.next().await {
                Some(Ok((id, outcome))) => {
                    questions.open.retain(|(open, _)| *open != id);
                    Ok(CallEvent::Reply(id, outcome))
                }
                Some(Err(_)) => Ok(CallEvent::Withdrawn),
                None => std::future::pending().await,
            },
            Self::Gathering(end) => {
                end.await;
                *self = Self::Nothing;
                Ok(CallEvent::Collected)
            }
            Self::Round(replies) => replies.await.map(CallEvent::RoundAnswered),
        }
    }

    fn for_reply(&mut self, id: Id, asking: BoxFuture<'a, (Id, Outcome)>) {
        if !matches!(self, Self::Replies(_)) {
            *self = Self::Replies(AskedQuestions::default());
        }
        if let Self::Replies(questions) = self {
            let (asking, handle) = abortable(asking);
            questions.replies.push(asking);
            questions.open.push((id, handle));
        }
    }

    fn for_more(&mut self) {
        if !matches!(self, Self::Gathering(_)) {
            *self = Self::Gathering(Box::pin(tokio::time::sleep(GATHERING)));
        }
    }
}

impl AskedQuestions<'_> {
    /// Dropping what waits for the answer withdraws the question at the client.
    fn withdraw(&self, question: &Id) {
        let open = self.open.iter().find(|(open, _)| open == question);
        if let Some((_, handle)) = open {
            handle.abort();
        }
    }
}

/// The question that the server withdraws, under its own id, which means nothing to the client.
fn withdrawn_in(arrived: &Incoming) -> Option<Id> {
    let Incoming::Notice(notice) = arrived else {
        return None;
    };
    let params = notice.params.as_ref();
    let id = params.filter(|_| &*notice.method == method::CANCELLED)?;
    Id::from_raw(&id.get("requestId")?)
}

/// A result that asks more than anybody can answer.
fn asks_too_much(server: &ServerName) -> Failure {
    let error = format!("the server {server:?} asks more than {MAX_REQUESTS} questions at once");
    Failure::new(ErrorCode::BadUpstreamAnswer, error, MAY_HAVE_RUN).of_server(server)
}

/// A result that no client can be given.
fn unfit(server: &ServerName, result: &bridge::UnfitResult) -> Failure {
    let error = format!("the server {server:?} answered with {result}");
    Failure::new(ErrorCode::BadUpstreamAnswer, error, MAY_HAVE_RUN).of_server(server)
}
