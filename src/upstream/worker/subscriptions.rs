//! Tells the server which resources are subscribed to, on each new connection and whenever that changes.

use std::{collections::BTreeSet, time::Duration};

use futures_util::future::FutureExt;

use super::Worker;
use crate::{
    failure::error_code::{ErrorCode, Failure},
    link::Link,
    upstream::{
        calls::subscriptions::{NotSubscribed, SubscriptionRequest},
        connect::{listening::ListenError, own_requests},
    },
    wire::{Outcome, Raw, method},
};

/// How long a server may take to answer one of these.
const ANSWER: Duration = Duration::from_secs(30);

/// Limit: of these requests in flight at once.
const AT_ONCE: usize = 16;

/// What the server answered.
pub(super) enum SubscriptionAnswer {
    /// The outcome of one request, to a server with a handshake.
    One(SubscriptionRequest, Result<(), NotSubscribed>),
    /// The outcome of one request for all: the server agreed to so much.
    All {
        uris: BTreeSet<String>,
        agreed: Result<BTreeSet<String>, ListenError>,
    },
}

impl Worker {
    /// Whether a resource is subscribed to, so that the server must be connected.
    pub(super) fn is_listened_to(&self) -> bool {
        !self.is_held() && !self.shared.subscriptions.is_empty()
    }

    /// Sends the requests that make the server's subscriptions those that are wanted.
    pub(super) fn sync_subscriptions(&mut self) {
        let Some(connected) = &self.life.open else {
            return;
        };
        if self.is_held() {
            return;
        }
        let subscriptions = &self.shared.subscriptions;
        if let Some(listening) = &connected.open.listening {
            // What is wanted meanwhile waits until this is done.
            if let Some(uris) = subscriptions
                .unheard()
                .filter(|_| self.life.telling.is_empty())
            {
                let agreed = listening.listen(uris.clone());
                let telling = agreed.map(|agreed| SubscriptionAnswer::All { uris, agreed });
                self.life.telling.push(telling.boxed());
            }
            return;
        }
        while self.life.telling.len() < AT_ONCE
            && let Some(request) = subscriptions.next_request()
        {
            let link = connected.open.link.clone();
            let telling = async move {
                let outcome = ask(&link, &request).await;
                SubscriptionAnswer::One(request, outcome)
            };
            self.life.telling.push(telling.boxed());
        }
    }

    pub(super) fn subscription_answered(&mut self, answer: SubscriptionAnswer) {
        let (server, subscriptions) = (&self.entry.name, &self.shared.subscriptions);
        match answer {
            SubscriptionAnswer::One(request, outcome) => {
                if let Err(error) = &outcome {
                    tracing::debug!(%server, ?request, ?error, "the server refused a subscription, or its end");
                }
                subscriptions.done(&request, outcome);
            }
            SubscriptionAnswer::All {
                uris,
                agreed: Ok(agreed),
            } => subscriptions.agreed(&uris, &agreed),
            SubscriptionAnswer::All {
                uris,
                agreed: Err(error),
            } => {
                tracing::debug!(%server, %error, "the server did not agree to tell of resources");
                let why = failed(ErrorCode::BadUpstreamAnswer, &error.outside());
                subscriptions.not_agreed(&uris, &why);
            }
        }
        self.sync_subscriptions();
    }

    /// The connection that knew of them is gone, or has forgotten them.
    pub(super) fn forget_subscriptions(&mut self) {
        self.life.telling.clear();
        self.shared.subscriptions.forgotten();
    }
}

async fn ask(link: &Link, request: &SubscriptionRequest) -> Result<(), NotSubscribed> {
    let (name, uri) = match request {
        SubscriptionRequest::Subscribe(uri) => (method::RESOURCES_SUBSCRIBE, uri),
        SubscriptionRequest::Unsubscribe(uri) => (method::RESOURCES_UNSUBSCRIBE, uri),
    };
    let params = Raw::author(&serde_json::json!({ "uri": uri }));
    answered(link, name, &params).await
}

/// Sends a request of our own; only whether it succeeds is of interest.
pub(super) async fn answered(link: &Link, method: &str, params: &Raw) -> Result<(), NotSubscribed> {
    match tokio::time::timeout(ANSWER, own_requests::ask(link, method, params)).await {
        Ok(Ok(Outcome::Result(_))) => Ok(()),
        Ok(Ok(Outcome::Error(error))) => Err(NotSubscribed::Refused(error.detached())),
        Ok(Err(error)) => Err(failed(ErrorCode::BadUpstreamAnswer, &error.outside())),
        Err(_) => Err(failed(ErrorCode::TimedOut, "it did not answer in time")),
    }
}

fn failed(code: ErrorCode, why: &str) -> NotSubscribed {
    let error = format!("the server could not be subscribed to: {why}");
    NotSubscribed::Failed(Failure::new(code, error, "Try again later."))
}
