//! Questions of an upstream that come outside of calls. We answer pings and requests for roots; anything else goes to the client, if
//! only one client uses the connection. This also holds while a server is listed: some want the roots before they list anything.

use std::{collections::VecDeque, convert::Infallible};

use futures_util::{
    future::{BoxFuture, FutureExt},
    stream::{FuturesUnordered, StreamExt},
};
use tokio::sync::mpsc;

use super::handle::UpstreamShared;
use crate::{
    config::Root,
    link::{Link, NEWS_CAPACITY, News},
    upstream::{connect::own_answers::own_answer, fleet::instance_scope::InstanceScope},
    wire::{Id, Outcome, Request, Revision},
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

    /// Whether one client alone has this connection, and can be asked at any time.
    pub(in crate::upstream) fn asks_its_client(&self) -> bool {
        self.instance_scope
            .as_ref()
            .is_some_and(|t| t.ask().is_some())
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
        let outcome = match own_answer(&question, &shared.roots()) {
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
