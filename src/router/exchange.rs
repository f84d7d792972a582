//! One forwarded request while it runs: notices go to the client in order, questions to whoever can answer them, and the answer comes
//! back shaped for the client's revision.
//!
//! What an upstream asks reaches a legacy client as a request on the stream of its own request, and a modern client as a result that
//! asks; a modern upstream's result that asks becomes requests for a legacy client. What nobody can answer is refused with its reason.

use std::{pin::pin, time::Duration};

use bytes::Bytes;
use futures_util::{
    future::{BoxFuture, FutureExt},
    stream::{FuturesUnordered, StreamExt},
};

use super::{
    Refused, Reply, Router,
    forward::{Progress, Shown},
    input_required::{self, Asked},
    log_lines::is_wanted,
    parked,
};
use crate::{
    call_context::{CallContext, Unasked},
    error_code::{ErrorCode, Failure},
    gate::Admitted,
    link::Incoming,
    names::ServerName,
    upstream::ActiveCall,
    wire::{Id, Notification, Outcome, Raw, Request, Revision, RpcError, bridge},
};

/// How long a user may take to answer.
pub(super) const PATIENCE: Duration = Duration::from_mins(10);

/// Servers often ask several things at once: so long the bridge waits for further questions before it hands them on.
const GATHERING: Duration = Duration::from_millis(30);

/// A request in flight, and what its client has to do with it.
pub(super) struct Running {
    pub(super) call: ActiveCall,
    pub(super) progress: Progress,
    pub(super) method: Box<str>,
    /// The params as the upstream got them, without what belongs to a connection or a retry.
    pub(super) params: Option<Raw>,
    pub(super) shown: Shown,
    /// How often its client was asked.
    pub(super) rounds: usize,
    /// How long it has waited for its client.
    pub(super) waited: Duration,
}

/// What a client is asked.
enum Way {
    /// On the stream of its request.
    Live,
    /// By a result.
    Result,
}

impl Router {
    /// Carries a request to its end, over as many rounds of questions as it takes.
    pub(super) async fn run(
        &self,
        context: &CallContext,
        admitted: &Admitted,
        mut running: Running,
    ) -> Result<Reply, Refused> {
        loop {
            match running.call.next().await? {
                Incoming::Notice(notice) => running.notice(context, &notice),
                Incoming::Question(question) => match way(context, &running, &question) {
                    Err(refusal) => running.refuse(&question, refusal).await?,
                    Ok(Way::Live) => {
                        if let Some(outcome) = running.ask(context, question).await? {
                            return running.finish(context, outcome).map(Reply::Passed);
                        }
                    }
                    Ok(Way::Result) => {
                        return match running.gather(context, question).await? {
                            Gathered::Answer(outcome) => {
                                running.finish(context, outcome).map(Reply::Passed)
                            }
                            Gathered::Questions(questions) => {
                                self.park(context, running, questions)
                            }
                        };
                    }
                },
                Incoming::Answer(Outcome::Result(result))
                    if running.asks_legacy(context, &result) =>
                {
                    running = self.next_round(context, admitted, running, &result).await?;
                }
                Incoming::Answer(outcome) => {
                    if let Outcome::Result(result) = &outcome
                        && running.shown == Shown::Offered
                        && !context.revision.has_handshake()
                    {
                        self.note_task(context, admitted.server(), result);
                    }
                    return running.finish(context, outcome).map(Reply::Passed);
                }
            }
        }
    }
}

/// What came after the first question.
enum Gathered {
    Questions(Vec<(Id, Asked)>),
    /// The server did not wait.
    Answer(Outcome),
}

/// What came of asking and listening.
enum Event {
    Arrived(Incoming),
    Answered(Id, Outcome),
}

impl Running {
    fn notice(&self, context: &CallContext, notice: &Notification) {
        if let Some(frame) = self.bring_back(context, notice) {
            context.to_client.send(frame);
        }
    }

    fn bring_back(&self, context: &CallContext, notice: &Notification) -> Option<Bytes> {
        if !is_wanted(context, notice) {
            return None;
        }
        self.progress.bring_back(notice)
    }

    async fn refuse(&mut self, question: &Request, refusal: RpcError) -> Result<(), Failure> {
        tracing::info!(server = %self.call.server(), method = &*question.method, why = refusal.message, "a question of the server was refused");
        let refusal = Outcome::Error(refusal.to_raw());
        self.call.answer(&question.id, &refusal).await
    }

    /// Asks the client, further questions at the same time, until all are answered. The clock of the call stands still.
    async fn ask(
        &mut self,
        context: &CallContext,
        first: Request,
    ) -> Result<Option<Outcome>, Failure> {
        let mut asking: FuturesUnordered<BoxFuture<'_, (Id, Outcome)>> = FuturesUnordered::new();
        asking.push(asked_live(context, self.call.server().clone(), self.shown, first).boxed());
        self.call.hold();
        while !asking.is_empty() {
            let event = tokio::select! {
                biased;
                Some((id, outcome)) = asking.next() => Event::Answered(id, outcome),
                arrived = self.call.next() => Event::Arrived(arrived?),
            };
            match event {
                Event::Answered(id, outcome) => self.call.answer(&id, &outcome).await?,
                Event::Arrived(Incoming::Notice(notice)) => self.notice(context, &notice),
                Event::Arrived(Incoming::Question(question)) => {
                    match way(context, self, &question) {
                        Ok(_) => {
                            let server = self.call.server().clone();
                            asking.push(asked_live(context, server, self.shown, question).boxed());
                        }
                        Err(refusal) => self.refuse(&question, refusal).await?,
                    }
                }
                // The server did not wait; what is still asked is withdrawn.
                Event::Arrived(Incoming::Answer(outcome)) => return Ok(Some(outcome)),
            }
        }
        self.call.resume();
        Ok(None)
    }

    /// Collects what the server asks in one go.
    async fn gather(&mut self, context: &CallContext, first: Request) -> Result<Gathered, Failure> {
        let mut questions: Vec<(Id, Asked)> = Vec::new();
        self.take_in(&first, &mut questions);
        let mut enough = pin!(tokio::time::sleep(GATHERING));
        loop {
            let arrived = tokio::select! {
                () = &mut enough => return Ok(Gathered::Questions(questions)),
                arrived = self.call.next() => arrived?,
            };
            match arrived {
                Incoming::Notice(notice) => self.notice(context, &notice),
                Incoming::Question(question) => match way(context, self, &question) {
                    Ok(_) if questions.len() < input_required::QUESTIONS => {
                        self.take_in(&question, &mut questions);
                    }
                    Ok(_) => self.refuse(&question, too_many(&question.method)).await?,
                    Err(refusal) => self.refuse(&question, refusal).await?,
                },
                Incoming::Answer(outcome) => return Ok(Gathered::Answer(outcome)),
            }
        }
    }

    fn take_in(&self, question: &Request, questions: &mut Vec<(Id, Asked)>) {
        let taken: Vec<Asked> = questions.iter().map(|(_, asked)| asked.clone()).collect();
        let mut asked = input_required::keyed(question, &taken);
        if self.shown == Shown::Offered {
            let params = asked.params.as_ref();
            asked.params = input_required::signed(self.call.server(), &asked.method, params);
        }
        questions.push((question.id.detached(), asked));
    }

    /// Whether this is a modern upstream's result that asks a legacy client.
    fn asks_legacy(&self, context: &CallContext, result: &Raw) -> bool {
        context.revision.has_handshake()
            && !self.call.revision().has_handshake()
            && bridge::result_type(result).as_deref() == Some(input_required::RESULT_TYPE)
    }

    /// An upstream's answer as this client must get it.
    fn finish(&self, context: &CallContext, outcome: Outcome) -> Result<Outcome, Refused> {
        let (client, upstream) = (context.revision, self.call.revision());
        match outcome {
            Outcome::Result(result) => self.result(client, upstream, result).map(Outcome::Result),
            Outcome::Error(error) => {
                let asks = !client.has_handshake() && upstream.has_handshake();
                if asks && let Some(result) = input_required::pages_to_open(&error) {
                    return Ok(Outcome::Result(result));
                }
                let error = bridge::error_for(client, upstream, &self.method, error);
                Ok(Outcome::Error(error))
            }
        }
    }

    fn result(&self, client: Revision, upstream: Revision, result: Raw) -> Result<Raw, Refused> {
        match (client.has_handshake(), upstream.has_handshake()) {
            (true, false) => match bridge::result_type(&result).as_deref() {
                None | Some("complete") => {
                    Ok(bridge::result_for(client, upstream, &self.method, result))
                }
                Some(other) => Err(beyond(self.call.server(), other).into()),
            },
            (false, false)
                if self.shown == Shown::Offered
                    && bridge::result_type(&result).as_deref()
                        == Some(input_required::RESULT_TYPE) =>
            {
                let server = self.call.server();
                input_required::all_signed(server, &result).ok_or_else(|| greedy(server).into())
            }
            _ => Ok(bridge::result_for(client, upstream, &self.method, result)),
        }
    }
}

/// How this client can be asked, or the error that the upstream gets instead of an answer.
fn way(context: &CallContext, running: &Running, question: &Request) -> Result<Way, RpcError> {
    let (method, params) = (&*question.method, question.params.as_ref());
    if !context.client.can_answer(method, params) {
        return Err(incapable(context.revision, method));
    }
    let refused = |why: &str| bridge::refused_question(method, why);
    if context.revision.has_handshake() {
        return match &context.questions {
            Some(_) if context.to_client.is_heard() => Ok(Way::Live),
            _ => Err(refused(&Unasked::NoWay.to_string())),
        };
    }
    if !bridge::may_ask(&running.method) {
        return Err(refused("nobody can be asked during such a request"));
    }
    if running.rounds >= parked::ROUNDS {
        return Err(refused("the client was asked too often"));
    }
    Ok(Way::Result)
}

fn too_many(method: &str) -> RpcError {
    bridge::refused_question(method, &Unasked::TooMany.to_string())
}

/// The client did not say that it can answer such a thing. A modern client whose call fails of it must be told what it takes, and
/// the server often passes our words on.
fn incapable(client: Revision, method: &str) -> RpcError {
    match crate::call_context::capability_for(method) {
        Some(capability) if !client.has_handshake() => {
            let data = serde_json::json!({ "requiredCapabilities": { capability: {} } });
            let text = format!("the client did not declare the capability {capability:?}");
            RpcError::new(RpcError::MISSING_CAPABILITY, text).with_data(Raw::author(&data))
        }
        _ => RpcError {
            code: RpcError::METHOD_NOT_FOUND,
            ..bridge::refused_question(method, &Unasked::Unable.to_string())
        },
    }
}

/// One question of a legacy upstream to a legacy client.
async fn asked_live(
    context: &CallContext,
    server: ServerName,
    shown: Shown,
    question: Request,
) -> (Id, Outcome) {
    let method = &*question.method;
    let params = match shown {
        Shown::Own => question.params.clone(),
        Shown::Offered => input_required::signed(&server, method, question.params.as_ref()),
    };
    let asking = context.ask(method, params.as_ref());
    let outcome = answered(&server, method, asking).await;
    (question.id, outcome)
}

/// What comes of asking a legacy client, or the error that the server gets instead.
pub(super) async fn answered(
    server: &ServerName,
    method: &str,
    asking: impl Future<Output = Result<Outcome, Unasked>>,
) -> Outcome {
    let why = match tokio::time::timeout(PATIENCE, asking).await {
        Ok(Ok(outcome)) => return outcome,
        Ok(Err(why)) => why.to_string(),
        Err(_) => "the client did not answer in time".to_owned(),
    };
    tracing::info!(%server, method, why, "a question of the server was not answered");
    Outcome::Error(bridge::refused_question(method, &why).to_raw())
}

/// A result that asks more than anybody can answer.
fn greedy(server: &ServerName) -> Failure {
    let error = format!("the server {server:?} asks too much at once");
    let hint = "The server is at fault; tell its authors.";
    Failure::new(ErrorCode::BadUpstreamAnswer, error, hint).of_server(server)
}

/// A result of a kind that the client was not promised to know.
fn beyond(server: &ServerName, kind: &str) -> Failure {
    let error = format!(
        "the server {server:?} answered with a result of the kind {kind:?}, which nobody asked for"
    );
    Failure::new(
        ErrorCode::BadUpstreamAnswer,
        error,
        "The server breaks the protocol; tell its authors.",
    )
    .of_server(server)
}
