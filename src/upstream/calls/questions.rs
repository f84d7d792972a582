//! Questions that an upstream asks outside of calls: mcpproxy answers some itself, and the others go to the client if only one uses the
//! connection. This also holds while a server is listed: some want the roots before they list anything.

use std::{collections::VecDeque, convert::Infallible};

use futures_util::{
    future::{BoxFuture, FutureExt},
    stream::{FuturesUnordered, StreamExt},
};
use tokio::sync::mpsc;

use super::{handle::UpstreamShared, known_answer::known_answer};
use crate::{
    config::Root,
    link::{Link, NEWS_CAPACITY, News},
    upstream::instance_scope::InstanceScope,
    wire::{Id, Outcome, Request, Revision, RpcError, bridge, capabilities, method},
};

/// Limit: answers to a server's questions that are on their way at once. Further questions are ignored; while the server is listed they
/// wait.
pub(in crate::upstream) const ANSWERS: usize = 64;

impl UpstreamShared {
    /// The roots that we give the server.
    pub(in crate::upstream) fn roots(&self) -> Vec<Root> {
        if let Some(roots) = self.instance_scope.as_ref().and_then(InstanceScope::roots) {
            return roots;
        }
        let settings = self.settings.borrow();
        let entry = settings.servers.get(&self.name);
        entry.map(|entry| entry.roots.clone()).unwrap_or_default()
    }

    /// Answers pings, and requests for roots unless a client with roots has the connection to itself. Nothing for other questions: they are
    /// for a client, and the server is divided among its clients from then on.
    pub(in crate::upstream) fn answer_ourselves(&self, question: &Request) -> Option<Outcome> {
        if let Some(answer) = known_answer(question, &self.roots()) {
            return Some(answer);
        }
        let method = &*question.method;
        if capabilities::capability_for(method).is_some() {
            self.divide(method);
        }
        let scope = self.instance_scope.as_ref();
        if method != method::ROOTS_LIST || scope.is_some_and(InstanceScope::has_own_roots) {
            return None;
        }
        let why = match scope {
            Some(InstanceScope::Client(_)) => "the client declared no roots",
            _ => "several clients share this connection, so no client's roots are given",
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
            tracing::info!(server = %self.name, method, why, times, "question of the server refused");
        }
    }
}

/// Sends an answer to the server, once there is one.
pub(in crate::upstream) async fn deliver(
    link: Link,
    id: Id,
    outcome: impl Future<Output = Outcome>,
) {
    if let Err(error) = link.answer(&id, &outcome.await).await {
        tracing::debug!(%error, "a question of the server could not be answered");
    }
}

/// News that come while a server is being listed. Questions that can be answered are; the rest waits for the worker.
#[derive(Default)]
pub(in crate::upstream) struct EarlyNews {
    pub(in crate::upstream) news: VecDeque<News>,
    pub(in crate::upstream) answering: FuturesUnordered<BoxFuture<'static, ()>>,
}

impl EarlyNews {
    /// Takes the news and answers questions. Never returns; cancel-safe.
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
                    self.answer_question(shared, link, question);
                }
                Some(other) => self.news.push_back(other),
                // The listing takes note of it itself.
                None => std::future::pending::<()>().await,
            }
        }
    }

    fn answer_question(&mut self, shared: &UpstreamShared, link: &Link, question: Request) {
        let outcome = match shared.answer_ourselves(&question) {
            Some(outcome) => std::future::ready(outcome).boxed(),
            None => match shared.own_client() {
                Some(client) => client.ask(question.clone(), shared.client_streams.newest()),
                None => return self.news.push_back(News::Question(question)),
            },
        };
        let answering = deliver(link.clone(), question.id, outcome);
        self.answering.push(answering.boxed());
    }
}
