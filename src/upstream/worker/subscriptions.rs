//! Sends the server the subscriptions to resources and tasks, on each new connection and whenever they change.

use std::{collections::BTreeSet, time::Duration};

use futures_util::future::FutureExt;

use super::Worker;
use crate::{
    failure::{ErrorCode, Failure},
    link::Link,
    upstream::{
        calls::{
            subscriptions::{NotSubscribed, SubscriptionAnswer, SubscriptionRequest},
            topic::NewsTopic,
        },
        connect::{listening::ListenError, own_requests},
    },
    wire::{Outcome, Raw, RpcError, method},
};

/// How long a server may take to answer a request for a subscription.
const ANSWER: Duration = Duration::from_secs(30);

/// Limit: requests for subscriptions that are in flight at once.
const AT_ONCE: usize = 16;

/// What the server answered, by topic.
pub(super) type SubscriptionAnswers = Vec<(NewsTopic, SubscriptionAnswer)>;

impl Worker {
    /// Whether a client has a subscription, so that the server must be connected.
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
            // One request at a time: what is wanted meanwhile goes with the next.
            if self.life.telling.is_empty()
                && let Some(topics) = subscriptions.ask_for_changed()
            {
                let agreeing = listening.listen(topics.clone());
                let telling = agreeing.map(move |agreed| answers_to(&topics, &agreed));
                self.life.telling.push(telling.boxed());
            }
            return;
        }
        while self.life.telling.len() < AT_ONCE
            && let Some(request) = subscriptions.next_request()
        {
            let link = connected.open.link.clone();
            let telling = async move { vec![ask(&link, request).await] };
            self.life.telling.push(telling.boxed());
        }
    }

    pub(super) fn subscriptions_answered(&mut self, answers: SubscriptionAnswers) {
        let refused = answers.iter().find(|(_, answer)| {
            matches!(
                answer,
                SubscriptionAnswer::Refused(_) | SubscriptionAnswer::NotAsked(_)
            )
        });
        if let Some((topic, answer)) = refused {
            let server = &self.entry.name;
            tracing::debug!(%server, ?topic, ?answer, "the server refused a subscription");
        }
        self.shared.subscriptions.settle(answers);
        self.sync_subscriptions();
    }

    /// The server knows of no subscription any more: its connection is gone, or its session was renewed.
    pub(super) fn forget_subscriptions(&mut self) {
        self.life.telling.clear();
        self.shared.subscriptions.reset();
    }
}

async fn ask(link: &Link, request: SubscriptionRequest) -> (NewsTopic, SubscriptionAnswer) {
    let (name, topic, done) = match request {
        SubscriptionRequest::Subscribe(topic) => (
            method::RESOURCES_SUBSCRIBE,
            topic,
            SubscriptionAnswer::Agreed,
        ),
        SubscriptionRequest::Unsubscribe(topic) => (
            method::RESOURCES_UNSUBSCRIBE,
            topic,
            SubscriptionAnswer::Ended,
        ),
    };
    let uri = match &topic {
        NewsTopic::Resource(uri) => uri,
        // A server with a handshake speaks of its tasks by itself.
        NewsTopic::Task(_) => {
            let refused = SubscriptionAnswer::Refused(not_offered(&topic));
            return (topic, refused);
        }
    };
    let params = Raw::author(&serde_json::json!({ "uri": uri }));
    match (answered(link, name, &params).await, done) {
        (Err(why), SubscriptionAnswer::Agreed) => (topic, SubscriptionAnswer::Refused(why)),
        (_, done) => (topic, done),
    }
}

/// The answer for each of these topics, which were all in one request.
fn answers_to(
    topics: &BTreeSet<NewsTopic>,
    agreed: &Result<BTreeSet<NewsTopic>, ListenError>,
) -> SubscriptionAnswers {
    let answer = |topic: &NewsTopic| match agreed {
        Ok(agreed) if agreed.contains(topic) => SubscriptionAnswer::Agreed,
        Ok(_) | Err(ListenError::Unknown) => SubscriptionAnswer::Refused(not_offered(topic)),
        Err(error) => {
            SubscriptionAnswer::NotAsked(failed(ErrorCode::BadUpstreamAnswer, &error.outside()))
        }
    };
    let answers = topics.iter().map(|topic| (topic.clone(), answer(topic)));
    answers.collect()
}

fn not_offered(topic: &NewsTopic) -> NotSubscribed {
    let (code, error, hint) = match topic {
        NewsTopic::Resource(uri) => (
            ErrorCode::UnknownResource,
            format!("the server does not report updates of {uri:?}"),
            "Read the resource when its contents are needed.",
        ),
        NewsTopic::Task(id) => (
            ErrorCode::InvalidArguments,
            format!("the server does not report the state of the task {id:?}"),
            "Ask for its state with tasks/get.",
        ),
    };
    NotSubscribed::Failed(Failure::new(code, error, hint))
}

/// Sends a request of our own; only whether it succeeds is of interest.
pub(super) async fn answered(link: &Link, method: &str, params: &Raw) -> Result<(), NotSubscribed> {
    match tokio::time::timeout(ANSWER, own_requests::ask(link, method, params)).await {
        Ok(Ok(Outcome::Result(_))) => Ok(()),
        Ok(Ok(Outcome::Error(error))) if RpcError::is_readable(&error) => {
            Err(NotSubscribed::Refused(error.detached()))
        }
        Ok(Ok(Outcome::Error(_))) => Err(failed(
            ErrorCode::BadUpstreamAnswer,
            "the server's error is unreadable",
        )),
        Ok(Err(error)) => Err(failed(ErrorCode::BadUpstreamAnswer, &error.outside())),
        Err(_) => {
            let why = format!("no answer within {} s", ANSWER.as_secs());
            Err(failed(ErrorCode::TimedOut, &why))
        }
    }
}

fn failed(code: ErrorCode, why: &str) -> NotSubscribed {
    let error = format!("the subscription failed: {why}");
    NotSubscribed::Failed(Failure::new(code, error, "Try again later."))
}
