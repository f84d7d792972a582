//! Subscribes to the changes at a stateless server: one `subscriptions/listen` at a time, opened again when it ends (revision 2026-07-28,
//! patterns, "Subscriptions"). Its notifications go into the queue of the link, for the worker.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use futures_util::FutureExt;
use serde_json::json;
use tokio::sync::{mpsc, oneshot};
use tokio_util::task::AbortOnDropHandle;

use super::{
    lists::has_list,
    own_requests::{self, ServerError},
};
use crate::{
    config::duration,
    link::{Exchange, Incoming, Link, LinkError, News},
    runtime::waits::or_never,
    text::{Secrets, ServerName},
    upstream::calls::topic::NewsTopic,
    wire::{Edit, Notification, Outcome, Raw, Revision, RpcError, meta, method, splice},
};

/// How long a server may take to acknowledge a subscription.
const ACKNOWLEDGED_WITHIN: Duration = Duration::from_secs(10);

/// How long to wait for a subscription to changes before a server is listed without one.
const BEGUN_WITHIN: Duration = Duration::from_secs(1);

/// How long to wait before a subscription that ended is made again; doubles while that comes to nothing.
const RETRY: Duration = Duration::from_secs(1);

/// The longest of these waits.
const MAX_RETRY: Duration = Duration::from_mins(1);

/// A subscription that lasted this long has proved itself. Much that stands between us and a server cuts what is silent for half a
/// minute: waiting for longer than it lasted, we would miss more than we hear.
const PROVED: Duration = Duration::from_secs(10);

/// The member of a filter for resources.
const RESOURCES: &str = "resourceSubscriptions";

/// The member of a filter for tasks (tasks extension, "Task Status Notifications").
const TASKS: &str = "taskIds";

/// Requests that wait while one is carried out. The worker sends one at a time.
const REQUESTS: usize = 16;

/// The handle to the subscription. Dropping it ends the subscription.
pub(in crate::upstream) struct ChangeSubscription {
    requests: mpsc::Sender<ListenRequest>,
    /// Resolves when the first attempt to subscribe has ended.
    begun: Option<oneshot::Receiver<()>>,
    _task: AbortOnDropHandle<()>,
}

/// The topics to subscribe to besides lists, and who gets those that the server agrees to.
struct ListenRequest {
    topics: BTreeSet<NewsTopic>,
    done: oneshot::Sender<Result<BTreeSet<NewsTopic>, ListenError>>,
}

/// Why a server does not announce changes.
#[derive(Debug, Clone, thiserror::Error)]
pub(in crate::upstream) enum ListenError {
    /// It does not know the request.
    #[error("the server does not support subscriptions")]
    Unknown,
    /// It answered with an error.
    #[error("the server refused the subscription: {0}")]
    Refused(ServerError),
    /// It has ended the subscription before it was one.
    #[error("the server ended the subscription before it acknowledged it")]
    Ended,
    /// No acknowledgement came.
    #[error("the server did not acknowledge the subscription in time")]
    Silent,
    /// The connection failed.
    #[error("{0}")]
    Link(LinkError),
}

impl ChangeSubscription {
    /// Subscribes to changes of the lists that this description declares.
    pub(in crate::upstream) fn start(
        server: &ServerName,
        link: Link,
        revision: Revision,
        description: &Raw,
    ) -> Self {
        let (requests, inbox) = mpsc::channel(REQUESTS);
        let (first, begun) = oneshot::channel();
        let listener = Listener {
            server: server.clone(),
            failures: 0,
            link,
            revision,
            lists: list_filters(description),
            topics: BTreeSet::new(),
            inbox,
            first: Some(first),
        };
        Self {
            requests,
            begun: Some(begun),
            _task: AbortOnDropHandle::new(tokio::spawn(listener.run())),
        }
    }

    /// Waits until the server announces changes, or is known not to: whatever is listed from then on is whole. A server that takes
    /// too long is not waited for; what may have been missed by then comes as [`News::Missed`].
    pub(in crate::upstream) async fn begun(&mut self) {
        if let Some(begun) = self.begun.take() {
            // However it went.
            let _ = tokio::time::timeout(BEGUN_WITHIN, begun).await;
        }
    }

    /// Subscribes to exactly these topics, instead of those before. Ends the old subscription only when the server has
    /// acknowledged the new one. Gives the topics that the server agreed to.
    pub(in crate::upstream) fn listen(
        &self,
        topics: BTreeSet<NewsTopic>,
    ) -> impl Future<Output = Result<BTreeSet<NewsTopic>, ListenError>> + Send + use<> {
        let requests = self.requests.clone();
        async move {
            let over = || ListenError::Link(LinkError::Lost("the link was closed".to_owned()));
            let (done, answered) = oneshot::channel();
            let request = ListenRequest { topics, done };
            requests.send(request).await.map_err(|_| over())?;
            answered.await.unwrap_or_else(|_| Err(over()))
        }
    }
}

/// The task that keeps the subscription.
struct Listener {
    server: ServerName,
    /// How often in a row the server itself was the reason that there is no subscription.
    failures: u32,
    link: Link,
    revision: Revision,
    /// The members of a filter for the lists that the server has.
    lists: Vec<&'static str>,
    topics: BTreeSet<NewsTopic>,
    inbox: mpsc::Receiver<ListenRequest>,
    /// Notifies the one who waits for the first attempt.
    first: Option<oneshot::Sender<()>>,
}

/// A subscription that the server has acknowledged.
struct Subscription {
    exchange: Exchange,
    /// The topics that the server agreed to.
    accepted: BTreeSet<NewsTopic>,
    since: Instant,
}

/// What woke the listener.
enum Step {
    Request(Option<ListenRequest>),
    Message(Result<Incoming, LinkError>),
    Retry,
}

impl Listener {
    async fn run(mut self) {
        let mut subscription = None;
        let (mut retry, mut pause) = (Some(Instant::now()), RETRY);
        // Whether lists were read while there was no subscription, so that changes may have been missed.
        let mut missing = false;
        loop {
            match self.next_step(&mut subscription, retry).await {
                Step::Request(None) => return,
                Step::Request(Some(request)) => {
                    self.topics = request.topics;
                    let result = self.renew(&mut subscription).await;
                    missing |= !self.has_begun();
                    if result.is_ok() {
                        retry = None;
                        self.catch_up(&mut missing);
                    }
                    // Nobody may wait for it any more.
                    let _ = request.done.send(result);
                }
                Step::Message(Ok(Incoming::Notice(notice))) if !is_end(&notice) => {
                    self.hand_on(notice);
                }
                Step::Message(Ok(Incoming::Question(_))) => (),
                Step::Message(end) => {
                    let lasted = subscription.take().map(|ended| ended.since.elapsed());
                    if lasted.is_some_and(|lasted| lasted >= PROVED) {
                        pause = RETRY;
                    }
                    tracing::debug!(server = %self.server, ?end, "the server ended the subscription");
                    (retry, missing) = (Some(Instant::now() + pause), true);
                    pause = (pause * 2).min(MAX_RETRY);
                }
                Step::Retry => {
                    retry = None;
                    let result = self.renew(&mut subscription).await;
                    missing |= !self.has_begun() || result.is_err();
                    match result {
                        Ok(_) => self.catch_up(&mut missing),
                        Err(error) => {
                            let goes_on = !error.is_final();
                            self.report(&error, goes_on.then_some(pause));
                            if goes_on {
                                retry = Some(Instant::now() + pause);
                                pause = (pause * 2).min(MAX_RETRY);
                            }
                        }
                    }
                }
            }
        }
    }

    /// Logs why no notifications arrive, with a warning at the first fault of the server.
    fn report(&mut self, error: &ListenError, retry_in: Option<Duration>) {
        let is_fault = !matches!(error, ListenError::Unknown | ListenError::Link(_));
        self.failures += u32::from(is_fault);
        let (server, attempt) = (&self.server, self.failures);
        let (reason, retry_in) = (error.to_string(), retry_in.map(duration::show));
        if is_fault && attempt == 1 {
            tracing::warn!(%server, reason, attempt, retry_in, "server sends no change notifications");
        } else {
            tracing::debug!(%server, reason, attempt, retry_in, "server sends no change notifications");
        }
    }

    /// Every branch may be dropped.
    async fn next_step(
        &mut self,
        subscription: &mut Option<Subscription>,
        retry: Option<Instant>,
    ) -> Step {
        let message = subscription.as_mut().map(|known| known.exchange.next());
        let due = retry.map(|at| tokio::time::sleep_until(at.into()));
        tokio::select! {
            request = self.inbox.recv() => Step::Request(request),
            message = or_never(message) => Step::Message(message),
            () = or_never(due) => Step::Retry,
        }
    }

    /// Makes a subscription as it is wanted now, takes it in the place of the old one, and gives the topics in it. A filter is never
    /// changed, so the old one goes when the new one stands.
    async fn renew(
        &mut self,
        current: &mut Option<Subscription>,
    ) -> Result<BTreeSet<NewsTopic>, ListenError> {
        let new = loop {
            let Some(filter) = self.filter() else {
                *current = None;
                return Ok(BTreeSet::new());
            };
            let asking = self.subscribe(&filter);
            match tokio::time::timeout(ACKNOWLEDGED_WITHIN, asking).await {
                Err(_) => return Err(ListenError::Silent),
                Ok(Err(ListenError::Refused(_))) if self.leave_tasks_out(current.as_ref()) => (),
                Ok(subscribed) => break subscribed?,
            }
        };
        self.failures = 0;
        let accepted = new.accepted.clone();
        if let Some(mut old) = current.replace(new) {
            // Updates that came on the old one do not come again on the new one.
            while let Some(Ok(Incoming::Notice(notice))) = old.exchange.next().now_or_never() {
                self.hand_on(notice);
            }
        }
        Ok(accepted)
    }

    /// Tasks end, and a server may refuse a whole subscription for one that it knows no more. Leaves out the tasks that the current
    /// subscription does not have, and the next time all. Gives whether there were any.
    fn leave_tasks_out(&mut self, current: Option<&Subscription>) -> bool {
        let before = self.topics.len();
        let is_task = |topic: &NewsTopic| matches!(topic, NewsTopic::Task(_));
        let stands = |topic: &NewsTopic| current.is_some_and(|old| old.accepted.contains(topic));
        self.topics.retain(|topic| !is_task(topic) || stands(topic));
        if self.topics.len() == before {
            self.topics.retain(|topic| !is_task(topic));
        }
        self.topics.len() < before
    }

    /// The filter of the subscription; `None` if nothing is to be subscribed to.
    fn filter(&self) -> Option<Raw> {
        let mut filter = serde_json::Map::new();
        for key in &self.lists {
            filter.insert((*key).to_owned(), json!(true));
        }
        for topic in &self.topics {
            let (key, name) = match topic {
                NewsTopic::Resource(uri) => (RESOURCES, uri),
                NewsTopic::Task(id) => (TASKS, id),
            };
            let named = filter.entry(key).or_insert_with(|| json!([]));
            if let Some(named) = named.as_array_mut() {
                named.push(json!(name));
            }
        }
        (!filter.is_empty()).then(|| Raw::author(&filter))
    }

    async fn subscribe(&mut self, filter: &Raw) -> Result<Subscription, ListenError> {
        let members = [("notifications", filter.clone())];
        let params = match filter.get(TASKS) {
            Some(_) => own_requests::params_about_tasks(self.revision, &members),
            None => own_requests::params(self.revision, &members),
        };
        let exchange = self.link.listen(self.link.next_number(), &params).await;
        let mut exchange = exchange.map_err(ListenError::Link)?;
        loop {
            match exchange.next().await.map_err(ListenError::Link)? {
                Incoming::Notice(notice) if &*notice.method == method::LISTEN_ACKNOWLEDGED => {
                    let accepted = notice.params.and_then(|params| params.get("notifications"));
                    return Ok(Subscription {
                        exchange,
                        accepted: accepted
                            .map(|filter| topics_in(&filter))
                            .unwrap_or_default(),
                        since: Instant::now(),
                    });
                }
                Incoming::Notice(notice) if is_end(&notice) => return Err(ListenError::Ended),
                // Too early, but no less true.
                Incoming::Notice(notice) => self.hand_on(notice),
                Incoming::Question(_) => (),
                Incoming::Answer(Outcome::Result(_)) => return Err(ListenError::Ended),
                Incoming::Answer(Outcome::Error(error)) => {
                    return Err(ListenError::of(&error, &self.link.secrets()));
                }
            }
        }
    }

    /// Notes that an attempt has come to an end. False if that was the first, and the server was listed without it.
    fn has_begun(&mut self) -> bool {
        self.first.take().is_none_or(|first| first.send(()).is_ok())
    }

    /// Reports that changes may have been missed, if so.
    fn catch_up(&self, missing: &mut bool) {
        if std::mem::take(missing) {
            self.link.news().post(News::Missed);
        }
    }

    /// Hands a notification on as if it had come without a subscription.
    fn hand_on(&self, notice: Notification) {
        self.link.news().post(News::Notification(untagged(notice)));
    }
}

/// The resources and tasks of a filter.
fn topics_in(filter: &Raw) -> BTreeSet<NewsTopic> {
    let named = |key| {
        let named = filter
            .get(key)
            .and_then(|all| all.read::<Vec<Box<str>>>().ok());
        named.unwrap_or_default().into_iter()
    };
    let resources = named(RESOURCES).map(NewsTopic::Resource);
    resources.chain(named(TASKS).map(NewsTopic::Task)).collect()
}

/// The members of a filter for the lists that a server has.
fn list_filters(description: &Raw) -> Vec<&'static str> {
    let lists = [
        ("tools", "toolsListChanged"),
        ("prompts", "promptsListChanged"),
        ("resources", "resourcesListChanged"),
    ];
    let all = lists.into_iter();
    all.filter(|(list, _)| has_list(description, list))
        .map(|(_, key)| key)
        .collect()
}

/// A server need not end a subscription with an answer (patterns, "Cancellation").
fn is_end(notice: &Notification) -> bool {
    &*notice.method == method::CANCELLED
}

/// A notification without the id of its subscription.
pub(in crate::upstream) fn untagged(notice: Notification) -> Notification {
    let params = notice.params.as_ref().map(without_subscription);
    Notification { params, ..notice }
}

fn without_subscription(params: &Raw) -> Raw {
    let tagged = params.get(meta::META);
    let tagged = tagged.filter(|inner| inner.get(meta::SUBSCRIPTION_ID).is_some());
    let inner = [(meta::SUBSCRIPTION_ID, Edit::Remove)];
    let edit = match tagged.map(|inner| inner.members().count()) {
        None => return params.clone(),
        Some(1) => Edit::Remove,
        Some(_) => Edit::Within(&inner),
    };
    splice(params, &[(meta::META, edit)]).unwrap_or_else(|_| params.clone())
}

impl ListenError {
    fn of(error: &Raw, secrets: &Secrets) -> Self {
        let error = ServerError::read(error, secrets);
        match error.code {
            Some(RpcError::METHOD_NOT_FOUND) => Self::Unknown,
            _ => Self::Refused(error),
        }
    }

    /// What a client may read: nothing in the server's own words.
    pub(in crate::upstream) fn outside(&self) -> String {
        match self {
            Self::Refused(_) => "it refused the subscription".to_owned(),
            Self::Link(error) => error.outside(),
            Self::Unknown | Self::Ended | Self::Silent => self.to_string(),
        }
    }

    /// Whether asking again is of no use.
    fn is_final(&self) -> bool {
        match self {
            Self::Unknown | Self::Link(LinkError::Ourselves) => true,
            Self::Link(LinkError::Status { status, .. }) => {
                matches!(status, 400..=499 | 501) && !matches!(status, 408 | 429)
            }
            Self::Refused(_) | Self::Ended | Self::Silent | Self::Link(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_the_subscription_stays_here() {
        let check = |params: &str, expected: &str| {
            let params = Raw::parse_str(params).expect("JSON");
            assert_eq!(without_subscription(&params).as_str(), expected);
        };
        let id = r#""io.modelcontextprotocol/subscriptionId":"p7""#;
        check(
            &format!(r#"{{"uri":"a:1","_meta":{{{id}}}}}"#),
            r#"{"uri":"a:1"}"#,
        );
        check(
            &format!(r#"{{"_meta":{{{id},"x":1.10}},"uri":"a:1"}}"#),
            r#"{"_meta":{"x":1.10},"uri":"a:1"}"#,
        );
        check(r#"{"uri":"a:1"}"#, r#"{"uri":"a:1"}"#);
        let other = r#"{"_meta":{"x":1.10},"uri":"a:1"}"#;
        check(other, other);
    }
}
