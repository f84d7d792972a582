//! Questions of an upstream: which of them we answer, and what follows from its asking at all. What comes outside of calls goes to the
//! client, if only one client uses the connection. This also holds while a server is listed: some want the roots before they list
//! anything.

use std::{collections::VecDeque, convert::Infallible, sync::atomic::Ordering};

use futures_util::{
    future::{BoxFuture, FutureExt},
    stream::{FuturesUnordered, StreamExt},
};
use tokio::sync::mpsc;

use super::handle::{Command, UpstreamShared};
use crate::{
    call_context::capability_for,
    config::{Root, SessionScope},
    link::{Link, NEWS_CAPACITY, News},
    upstream::{connect::own_answers::own_answer, fleet::instance_scope::InstanceScope},
    wire::{Id, Notification, Outcome, Request, Revision, RpcError, bridge, method},
};

/// Limit: answers to a server's questions that are on their way at once. Further questions are passed over.
pub(in crate::upstream) const ANSWERS: usize = 64;

impl UpstreamShared {
    /// The roots that we name to the server.
    pub(in crate::upstream) fn roots(&self) -> Vec<Root> {
        if let Some(roots) = self.instance_scope.as_ref().and_then(InstanceScope::roots) {
            return roots;
        }
        let settings = self.settings.borrow();
        let entry = settings.servers.get(&self.name);
        entry.map(|entry| entry.roots.clone()).unwrap_or_default()
    }

    /// The answer to what is ours to answer: pings, and requests for roots wherever no client has the connection to itself that has
    /// some. Anything else is for a client, and shows that this server asks.
    pub(in crate::upstream) fn own_answer(&self, question: &Request) -> Option<Outcome> {
        if let Some(answer) = own_answer(question, &self.roots()) {
            return Some(answer);
        }
        let method = &*question.method;
        self.note_question(method);
        let scope = self.instance_scope.as_ref();
        if method != method::ROOTS_LIST || scope.is_some_and(InstanceScope::has_own_roots) {
            return None;
        }
        let why = match scope {
            Some(InstanceScope::Client { .. } | InstanceScope::Leased { .. }) => {
                "the client did not declare that it has any"
            }
            _ => "clients share this connection, and it names the roots of none of them",
        };
        self.log_refusal(method, why);
        let refusal = RpcError {
            code: RpcError::METHOD_NOT_FOUND,
            ..bridge::refused_question(method, why)
        };
        Some(Outcome::Error(refusal.to_raw()))
    }

    /// Logs that a question was refused, within the bound that holds for everything that a server can cause.
    pub(in crate::upstream) fn log_refusal(&self, method: &str, why: &str) {
        if let Some(times) = self.refusals.due() {
            tracing::info!(server = %self.name, method, why, times, "a question of the server was refused");
        }
    }

    /// The server asks something that is a client's to answer.
    fn note_question(&self, method: &str) {
        let is_first = self.scope == SessionScope::Auto
            && self.instance_scope.is_none()
            && capability_for(method).is_some()
            && !self.asks.swap(true, Ordering::Relaxed);
        if is_first {
            tracing::info!(server = %self.name, method, "the server asks its clients: from now on each that can answer has a connection of its own");
            // If its queue is full, a later start finds it out anew.
            let _ = self.commands.try_send(Command::Asks);
        }
    }

    /// Whether the server is divided among its clients because it has asked one of them something.
    pub(in crate::upstream) fn has_asked(&self) -> bool {
        self.scope == SessionScope::Auto && self.asks.load(Ordering::Relaxed)
    }

    /// A question has come with no call that it could be of. An instance that is leased for calls is of no use any more when none is
    /// in flight: what it asks later may be about a call that is over.
    pub(in crate::upstream) fn note_question_outside(&self) {
        if self.usage.in_flight() == 0 {
            self.has_asked_outside.store(true, Ordering::Relaxed);
        }
    }

    /// Whether one client alone has this connection, and can be asked at any time.
    pub(in crate::upstream) fn asks_its_client(&self) -> bool {
        self.instance_scope
            .as_ref()
            .is_some_and(|t| t.ask().is_some())
    }

    /// Tells the client whose connection this is what came with no call of its own; whether there is one.
    pub(in crate::upstream) fn tell_client(&self, notice: &Notification) -> bool {
        let tell = self.instance_scope.as_ref().and_then(InstanceScope::tell);
        tell.inspect(|tell| tell(notice)).is_some()
    }

    /// Asks the client whose connection this is: on the stream of a call, if one runs.
    pub(in crate::upstream) fn ask_client(
        &self,
        question: &Request,
    ) -> Option<BoxFuture<'static, Outcome>> {
        let ask = self.instance_scope.as_ref()?.ask()?;
        Some(ask(question.clone(), self.client_streams.newest()))
    }
}

/// Brings an answer to the server, whenever it comes.
pub(in crate::upstream) async fn deliver(
    link: Link,
    id: Id,
    outcome: impl Future<Output = Outcome>,
) {
    if let Err(error) = link.answer(&id, &outcome.await).await {
        tracing::debug!(%error, "a question of the server could not be answered");
    }
}

/// What comes while a server is being listed: questions that can be answered then are; the rest waits for the worker.
#[derive(Default)]
pub(in crate::upstream) struct Meanwhile {
    pub(in crate::upstream) news: VecDeque<News>,
    pub(in crate::upstream) answering: FuturesUnordered<BoxFuture<'static, ()>>,
}

impl Meanwhile {
    /// Attends to it. Never returns; cancel-safe.
    pub(in crate::upstream) async fn attend(
        &mut self,
        shared: &UpstreamShared,
        link: &Link,
        revision: Revision,
        news: &mut mpsc::Receiver<News>,
    ) -> Infallible {
        loop {
            let arrived = tokio::select! {
                Some(()) = self.answering.next() => continue,
                arrived = news.recv(), if self.news.len() < NEWS_CAPACITY => arrived,
                else => std::future::pending().await,
            };
            match arrived {
                Some(News::Question(question))
                    if revision.has_server_requests() && self.answering.len() < ANSWERS =>
                {
                    self.question(shared, link, question);
                }
                Some(other) => self.news.push_back(other),
                // The listing hears of it itself.
                None => std::future::pending::<()>().await,
            }
        }
    }

    fn question(&mut self, shared: &UpstreamShared, link: &Link, question: Request) {
        let outcome = match shared.own_answer(&question) {
            Some(outcome) => std::future::ready(outcome).boxed(),
            None => match shared.ask_client(&question) {
                Some(asking) => asking,
                None => return self.news.push_back(News::Question(question)),
            },
        };
        let answering = deliver(link.clone(), question.id, outcome);
        self.answering.push(answering.boxed());
    }
}
