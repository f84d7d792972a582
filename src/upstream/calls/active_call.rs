//! A request in flight at an upstream: its messages in order, its deadlines, and its cancellation.

use std::{pin::pin, time::Instant};

use tokio_util::sync::CancellationToken;

use super::{
    call_clock::CallClock, client_streams::ListedStream, handle::InFlightGuard,
    log_subscriptions::LogSubscription, own_answer::OwnAnswer, request_slots::RequestSlot,
};
use crate::{
    failure::{ErrorCode, Failure, MAY_HAVE_RUN, Result},
    link::{Exchange, Incoming, Link, News},
    text::names::ServerName,
    wire::{Id, Outcome, Raw, Request, Revision, bridge, input_required, method, result_type},
};

/// A request in flight. Dropping it before the answer cancels it upstream.
pub struct ActiveCall {
    pub(in crate::upstream) exchange: Exchange,
    pub(in crate::upstream) revision: Revision,
    pub(in crate::upstream) link: Link,
    /// Questions of the server that the client has not answered.
    pub(in crate::upstream) open: Vec<Request>,
    pub(super) own_answer: OwnAnswer,
    /// The server has answered.
    pub(in crate::upstream) is_answered: bool,
    pub(in crate::upstream) in_flight: InFlightGuard,
    /// Lists the stream on which questions of the server can reach the client, if the server asks this client alone.
    pub(in crate::upstream) _stream: Option<ListedStream>,
    pub(in crate::upstream) _log: Option<LogSubscription>,
    pub(super) clock: CallClock,
    pub(super) slot: Option<RequestSlot>,
}

impl ActiveCall {
    /// What the upstream speaks.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// The next message; the answer is the last. The clock restarts at each progress notification. Answers questions itself that no
    /// client has to see. Cancel-safe.
    pub async fn next(&mut self) -> Result<Incoming> {
        loop {
            let sent = self.own_answer.sent().await;
            sent.map_err(|error| self.in_flight.upstream().failure(&error))?;
            let arrived = {
                // Pinned where it begins: whatever takes it by value would keep it once more.
                let arriving = pin!(self.exchange.next());
                if self.clock.is_held() {
                    Ok(arriving.await)
                } else {
                    tokio::time::timeout_at(self.clock.deadline().into(), arriving).await
                }
            };
            let Ok(arrived) = arrived else {
                let overdue = self.clock.overdue(self.server());
                return Err(match &self.exchange {
                    Exchange::Stdio(exchange) => overdue.with_aside(exchange.noise()),
                    _ => overdue,
                });
            };
            if let Some(slot) = &mut self.slot
                && matches!(arrived, Ok(Incoming::Answer(_)) | Err(_))
            {
                slot.set_server_busy(false);
            }
            let inbound = arrived.map_err(|error| self.in_flight.upstream().failure(&error))?;
            match &inbound {
                Incoming::Notice(notice) if &*notice.method == method::PROGRESS => {
                    self.clock.progress(Instant::now());
                }
                Incoming::Question(question) => {
                    if let Some(outcome) = self.in_flight.upstream().0.answer_ourselves(question) {
                        let link = self.link.clone();
                        self.own_answer = OwnAnswer::to(link, question.id.clone(), outcome);
                        continue;
                    }
                    self.open.push(question.clone());
                }
                Incoming::Answer(outcome) => {
                    self.is_answered = true;
                    if let Outcome::Result(result) = outcome {
                        self.check(result)?;
                    }
                }
                Incoming::Notice(_) => (),
            }
            return Ok(inbound);
        }
    }

    /// Logs that a question of the server was refused.
    pub fn log_refusal(&self, method: &str, why: &str) {
        self.in_flight.upstream().0.log_refusal(method, why);
    }

    /// Refuses a result of an unknown type (revision 2026-07-28, basic, "Results"), and one with a question that no client can answer.
    fn check(&self, result: &Raw) -> Result {
        if !self.revision.has_result_types() {
            return Ok(());
        }
        let what = if !result_type::is_known(result) {
            "a result of an unknown type"
        } else if input_required::asks_oddly(result) {
            "a question that no client can answer"
        } else {
            return Ok(());
        };
        let name = self.server();
        let error = format!("the server {name:?} sent {what}");
        Err(Failure::new(ErrorCode::BadUpstreamAnswer, error, MAY_HAVE_RUN).of_server(name))
    }

    /// Stops the clock: the call waits for its client, not for the server.
    pub fn hold(&mut self) {
        if self.clock.hold(Instant::now()) {
            self.in_flight.upstream().0.usage.hold();
        }
    }

    /// Stops the clock, and keeps few of the messages before the answer: nobody reads for a while.
    pub fn park(&mut self) {
        self.hold();
        self.exchange.set_parked(true);
    }

    /// Somebody reads again from now on.
    pub fn unpark(&mut self) {
        self.exchange.set_parked(false);
    }

    /// Lets the clock go on.
    pub fn resume(&mut self) {
        if self.clock.is_held() && self.clock.resume(Instant::now()) {
            self.in_flight.upstream().0.usage.resume();
        }
    }

    /// Cancelled when the server is not wanted any more as it is.
    pub fn stop(&self) -> CancellationToken {
        self.in_flight.upstream().0.stop.clone()
    }

    /// The server that it runs at.
    pub fn server(&self) -> &ServerName {
        self.in_flight.upstream().name()
    }

    /// The question was withdrawn or answered.
    pub fn forget(&mut self, question: &Id) {
        self.open.retain(|open| open.id != *question);
    }

    /// Answers a question that came as part of this call.
    pub async fn answer(&mut self, id: &Id, outcome: &Outcome) -> Result {
        self.forget(id);
        self.link
            .answer(id, outcome)
            .await
            .map_err(|error| self.in_flight.upstream().failure(&error))
    }
}

impl Drop for ActiveCall {
    /// Refuses the server's questions that wait within the call, so that it does not wait for answers. A question that names no call
    /// may belong to another call of the client, or to something that goes on after the answer.
    fn drop(&mut self) {
        self.resume();
        self.own_answer.send_soon(&self.link);
        for question in self.open.drain(..) {
            if self.is_answered {
                self.link.news().post(News::Question(question));
            } else {
                let why = "its call has ended";
                let why = bridge::refused_question(&question.method, why);
                self.link.refuse(question.id, &why);
            }
        }
    }
}
