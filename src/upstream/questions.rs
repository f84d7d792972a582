//! Questions of an upstream that come with no call: life signs and roots are ours to answer; what else a connection asks that is one
//! client's alone, that client is asked. While a server is listed, too: some want the roots before they list anything.

use std::{collections::VecDeque, convert::Infallible};

use futures_util::{
    future::{BoxFuture, FutureExt},
    stream::{FuturesUnordered, StreamExt},
};
use tokio::sync::mpsc;

use super::{handle::Shared, tenant::Tenant};
use crate::{
    config::Root,
    link::{Link, NEWS_CAPACITY, News},
    wire::{Id, Outcome, Raw, Request, Revision, method},
};

/// Limit: answers to a server's questions that are on their way at once. Further questions are passed over.
pub(super) const ANSWERS: usize = 64;

/// The answer, if the question is ours to answer.
pub(super) fn own_answer(question: &Request, roots: &[Root]) -> Option<Outcome> {
    match &*question.method {
        method::PING => Some(Outcome::Result(Raw::empty_object())),
        method::ROOTS_LIST if !roots.is_empty() => Some(Outcome::Result(listed(roots))),
        _ => None,
    }
}

fn listed(roots: &[Root]) -> Raw {
    let roots: Vec<_> = roots
        .iter()
        .map(|root| match &root.name {
            Some(name) => serde_json::json!({ "uri": root.uri, "name": name }),
            None => serde_json::json!({ "uri": root.uri }),
        })
        .collect();
    Raw::author(&serde_json::json!({ "roots": roots }))
}

impl Shared {
    /// The roots that we name to the server.
    pub(super) fn roots(&self) -> Vec<Root> {
        if let Some(roots) = self.tenant.as_ref().and_then(Tenant::roots) {
            return roots;
        }
        let settings = self.settings.borrow();
        let entry = settings.servers.get(&self.name);
        entry.map(|entry| entry.roots.clone()).unwrap_or_default()
    }

    /// Whether one client alone has this connection, and can be asked at any time.
    pub(super) fn asks_its_client(&self) -> bool {
        self.tenant.as_ref().is_some_and(|t| t.ask().is_some())
    }

    /// Asks the client whose connection this is: on the stream of a call, if one runs.
    pub(super) fn ask_client(&self, question: &Request) -> Option<BoxFuture<'static, Outcome>> {
        let ask = self.tenant.as_ref()?.ask()?;
        Some(ask(question.clone(), self.client_streams.newest()))
    }
}

/// Brings an answer to the server, whenever it comes.
pub(super) async fn deliver(link: Link, id: Id, outcome: impl Future<Output = Outcome>) {
    if let Err(error) = link.answer(&id, &outcome.await).await {
        tracing::debug!(%error, "a question of the server could not be answered");
    }
}

/// What comes while a server is being listed: questions that can be answered then are; the rest waits for the worker.
#[derive(Default)]
pub(super) struct Meanwhile {
    pub(super) news: VecDeque<News>,
    pub(super) answering: FuturesUnordered<BoxFuture<'static, ()>>,
}

impl Meanwhile {
    /// Attends to it. Never returns; safe to drop.
    pub(super) async fn attend(
        &mut self,
        shared: &Shared,
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

    fn question(&mut self, shared: &Shared, link: &Link, question: Request) {
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
