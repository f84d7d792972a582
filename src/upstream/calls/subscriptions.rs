//! The table of subscriptions to resources and tasks of one upstream: who subscribes, and what the server knows of that. The worker sends
//! the requests that this table gives it. Outlives connections and workers.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use tokio::sync::{Notify, watch};

use super::topic::NewsTopic;
use crate::{
    failure::{ErrorCode, Failure, Result},
    runtime::sync::Guarded,
    wire::{Notification, Raw},
};

/// Limit: resources and tasks of one upstream that are subscribed to at a time.
const MAX_TOPICS: usize = 10_000;

/// Takes the news of a resource or a task. Called by the worker: must not wait.
pub type Notifier = Arc<dyn Fn(&Notification) + Send + Sync>;

/// Why a subscription did not come about.
#[derive(Debug, Clone)]
pub enum NotSubscribed {
    /// The server's own error object.
    Refused(Raw),
    /// We could not ask it.
    Failed(Failure),
}

impl From<Failure> for NotSubscribed {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

/// The subscriptions of one upstream. Cheap to clone.
#[derive(Clone, Default)]
pub(in crate::upstream) struct Subscriptions(Arc<SharedSubscriptions>);

#[derive(Default)]
struct SharedSubscriptions {
    table: Guarded<Table>,
    /// Notified when the topics with subscribers may have changed. For the worker.
    wanted: Notify,
    /// Changed when the server may have answered. For subscribers that wait.
    answered: watch::Sender<()>,
}

#[derive(Default)]
struct Table {
    by_topic: BTreeMap<NewsTopic, Followers>,
    last: u64,
}

#[derive(Default)]
struct Followers {
    subscribers: BTreeMap<u64, Notifier>,
    state: SubscriptionState,
}

/// What the server knows of one topic, on the current connection.
#[derive(Default)]
enum SubscriptionState {
    #[default]
    Nothing,
    Asking,
    Subscribed,
    Withdrawing,
    Refused(NotSubscribed),
}

/// A request to a server that takes one subscription at a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::upstream) enum SubscriptionRequest {
    Subscribe(NewsTopic),
    Unsubscribe(NewsTopic),
}

/// What came of a request for one topic.
#[derive(Debug)]
pub(in crate::upstream) enum SubscriptionAnswer {
    /// The server sends updates from now on.
    Agreed,
    /// The server sends updates no more.
    Ended,
    /// The server refused.
    Refused(NotSubscribed),
    /// The request failed. An earlier subscription stays.
    NotAsked(NotSubscribed),
}

/// Keeps a subscription alive; the last one of a topic ends it at the server.
pub struct Subscription {
    of: Subscriptions,
    topic: NewsTopic,
    number: u64,
    /// What ends with it: the subscriptions over other connections of its caller.
    pub(in crate::upstream) along: Option<Box<dyn Send + Sync>>,
}

impl Followers {
    /// Whether the topic has no subscriber, and the server knows nothing of it.
    fn is_unused(&self) -> bool {
        self.subscribers.is_empty()
            && matches!(
                self.state,
                SubscriptionState::Nothing | SubscriptionState::Refused(_)
            )
    }
}

impl Table {
    fn tidy(&mut self) {
        self.by_topic.retain(|_, topic| !topic.is_unused());
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let mut table = self.of.0.table.lock();
        if let Some(followers) = table.by_topic.get_mut(&self.topic) {
            followers.subscribers.remove(&self.number);
            if followers.is_unused() {
                table.by_topic.remove(&self.topic);
            }
        }
        drop(table);
        self.of.0.wanted.notify_one();
    }
}

impl Subscriptions {
    /// Adds a subscriber, and notifies the worker.
    pub(in crate::upstream) fn add(
        &self,
        topic: NewsTopic,
        tell: Notifier,
    ) -> Result<Subscription> {
        let mut table = self.0.table.lock();
        if table.by_topic.len() >= MAX_TOPICS && !table.by_topic.contains_key(&topic) {
            let error =
                format!("the server already has {MAX_TOPICS} subscriptions to resources and tasks");
            let hint = "End other subscriptions first.";
            return Err(Failure::new(ErrorCode::Overloaded, error, hint));
        }
        table.last += 1;
        let number = table.last;
        let followers = table.by_topic.entry(topic.clone()).or_default();
        followers.subscribers.insert(number, tell);
        // A refused subscription is tried again: the resource may exist by now.
        if matches!(followers.state, SubscriptionState::Refused(_)) {
            followers.state = SubscriptionState::Nothing;
        }
        drop(table);
        self.0.wanted.notify_one();
        Ok(Subscription {
            of: self.clone(),
            topic,
            number,
            along: None,
        })
    }

    /// Whether both are handles to the same table.
    pub(in crate::upstream) fn is_same_as(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Whether there is no subscriber.
    pub(in crate::upstream) fn is_empty(&self) -> bool {
        let table = self.0.table.lock();
        table.by_topic.values().all(|f| f.subscribers.is_empty())
    }

    /// Returns when what is wanted may have changed. For the worker alone; cancel-safe.
    pub(in crate::upstream) async fn changed(&self) {
        self.0.wanted.notified().await;
    }

    /// Takes the next request to a server that takes one subscription at a time; it counts as sent.
    pub(in crate::upstream) fn next_request(&self) -> Option<SubscriptionRequest> {
        self.0
            .table
            .lock()
            .by_topic
            .iter_mut()
            .find_map(|(topic, followers)| {
                match (&followers.state, followers.subscribers.is_empty()) {
                    (SubscriptionState::Nothing, false) => {
                        followers.state = SubscriptionState::Asking;
                        Some(SubscriptionRequest::Subscribe(topic.clone()))
                    }
                    (SubscriptionState::Subscribed, true) => {
                        followers.state = SubscriptionState::Withdrawing;
                        Some(SubscriptionRequest::Unsubscribe(topic.clone()))
                    }
                    _ => None,
                }
            })
    }

    /// Notes what the server answered of some topics.
    pub(in crate::upstream) fn settle(&self, answers: Vec<(NewsTopic, SubscriptionAnswer)>) {
        let mut table = self.0.table.lock();
        for (topic, answer) in answers {
            let Some(followers) = table.by_topic.get_mut(&topic) else {
                continue;
            };
            followers.state = match (answer, &followers.state) {
                (SubscriptionAnswer::Agreed, _) => SubscriptionState::Subscribed,
                (SubscriptionAnswer::Ended, _) => SubscriptionState::Nothing,
                (SubscriptionAnswer::NotAsked(_), SubscriptionState::Subscribed) => continue,
                (SubscriptionAnswer::Refused(why) | SubscriptionAnswer::NotAsked(why), _) => {
                    SubscriptionState::Refused(why)
                }
            };
        }
        table.tidy();
        drop(table);
        self.0.answered.send_replace(());
    }

    /// Takes all topics with subscribers, for a server that takes them in one request; that counts as sent.
    fn ask_for_all(&self) -> BTreeSet<NewsTopic> {
        let mut table = self.0.table.lock();
        table.by_topic.retain(|_, f| !f.subscribers.is_empty());
        for followers in table.by_topic.values_mut() {
            if matches!(followers.state, SubscriptionState::Nothing) {
                followers.state = SubscriptionState::Asking;
            }
        }
        table.by_topic.keys().cloned().collect()
    }

    /// The same, if the server does not know all of them, or knows more. Otherwise nothing is to be sent.
    pub(in crate::upstream) fn ask_for_changed(&self) -> Option<BTreeSet<NewsTopic>> {
        let has_changed = {
            let table = self.0.table.lock();
            table
                .by_topic
                .values()
                .any(|followers| match followers.state {
                    SubscriptionState::Nothing => !followers.subscribers.is_empty(),
                    SubscriptionState::Subscribed => followers.subscribers.is_empty(),
                    _ => false,
                })
        };
        has_changed.then(|| self.ask_for_all())
    }

    /// There is a new connection, or will be, on which the server knows of no subscription.
    pub(in crate::upstream) fn reset(&self) {
        let mut table = self.0.table.lock();
        for followers in table.by_topic.values_mut() {
            followers.state = SubscriptionState::Nothing;
        }
        table.tidy();
    }

    /// Passes a notification to the subscribers that it concerns. Gives how many these are.
    pub(in crate::upstream) fn notify(&self, notice: &Notification) -> usize {
        let Some(news) = NewsTopic::of_notice(notice) else {
            return 0;
        };
        let tells: Vec<Notifier> = {
            let table = self.0.table.lock();
            let all = table.by_topic.iter();
            let concerned = all.filter(|(topic, _)| topic.covers(&news));
            concerned
                .flat_map(|(_, followers)| followers.subscribers.values().cloned())
                .collect()
        };
        for tell in &tells {
            tell(notice);
        }
        tells.len()
    }

    /// Waits until the server has agreed, and says why if it does not.
    pub(in crate::upstream) async fn settled(
        &self,
        topic: &NewsTopic,
        timeout: Duration,
    ) -> Result<(), NotSubscribed> {
        let mut answered = self.0.answered.subscribe();
        let settled = async {
            loop {
                match self.0.table.lock().by_topic.get(topic).map(|f| &f.state) {
                    Some(SubscriptionState::Subscribed) => return Ok(()),
                    Some(SubscriptionState::Refused(error)) => return Err(error.clone()),
                    _ => (),
                }
                // The sender lives as long as we do.
                let _ = answered.changed().await;
            }
        };
        let settled = tokio::time::timeout(timeout, settled).await;
        settled.unwrap_or_else(|_| {
            let error = "the server did not answer the subscription in time";
            let failure = Failure::new(ErrorCode::TimedOut, error, "Try again later.");
            Err(NotSubscribed::Failed(failure))
        })
    }
}

impl Subscription {
    /// Waits until the server has agreed, and says why if it does not.
    pub(in crate::upstream) async fn settled(
        &self,
        timeout: Duration,
    ) -> Result<(), NotSubscribed> {
        self.of.settled(&self.topic, timeout).await
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures_util::FutureExt;

    use super::*;

    fn silent() -> Notifier {
        Arc::new(|_| ())
    }

    fn resource(uri: &str) -> NewsTopic {
        NewsTopic::Resource(uri.into())
    }

    fn add(table: &Subscriptions, uri: &str) -> Subscription {
        table.add(resource(uri), silent()).expect("room")
    }

    fn done(table: &Subscriptions, request: SubscriptionRequest) {
        table.settle(vec![match request {
            SubscriptionRequest::Subscribe(topic) => (topic, SubscriptionAnswer::Agreed),
            SubscriptionRequest::Unsubscribe(topic) => (topic, SubscriptionAnswer::Ended),
        }]);
    }

    fn agreed(table: &Subscriptions, topics: &BTreeSet<NewsTopic>, accepted: &[&str]) {
        let why = || NotSubscribed::Refused(Raw::empty_object());
        let answer = |topic: &NewsTopic| {
            let answer = if accepted.iter().any(|uri| *topic == resource(uri)) {
                SubscriptionAnswer::Agreed
            } else {
                SubscriptionAnswer::Refused(why())
            };
            (topic.clone(), answer)
        };
        table.settle(topics.iter().map(answer).collect());
    }

    fn settled(subscription: &Subscription) -> Option<Result<(), NotSubscribed>> {
        let settled = subscription.settled(Duration::from_mins(1));
        settled.now_or_never()
    }

    #[tokio::test]
    async fn the_first_subscribes_and_the_last_ends_it() {
        let table = Subscriptions::default();
        let first = add(&table, "a://1");
        let request = table.next_request().expect("a request");
        assert_eq!(request, SubscriptionRequest::Subscribe(resource("a://1")));
        assert_eq!(table.next_request(), None, "it is being asked already");
        assert!(settled(&first).is_none());
        let second = add(&table, "a://1");
        done(&table, request);
        assert!(matches!(settled(&first), Some(Ok(()))));
        assert!(matches!(settled(&second), Some(Ok(()))));
        drop(first);
        assert_eq!(table.next_request(), None);
        drop(second);
        assert!(table.is_empty());
        let request = table.next_request().expect("a request");
        assert_eq!(request, SubscriptionRequest::Unsubscribe(resource("a://1")));
        let again = add(&table, "a://1");
        assert_eq!(table.next_request(), None, "one thing at a time");
        done(&table, request);
        assert_eq!(
            table.next_request(),
            Some(SubscriptionRequest::Subscribe(resource("a://1")))
        );
        drop(again);
    }

    #[tokio::test]
    async fn a_new_connection_is_told_everything_again() {
        let table = Subscriptions::default();
        let (a, _b) = (add(&table, "a://1"), add(&table, "b://1"));
        while let Some(request) = table.next_request() {
            done(&table, request);
        }
        table.reset();
        drop(a);
        assert_eq!(
            table.next_request(),
            Some(SubscriptionRequest::Subscribe(resource("b://1")))
        );
        assert_eq!(table.next_request(), None);
    }

    #[tokio::test]
    async fn a_refusal_holds_for_those_who_asked() {
        let table = Subscriptions::default();
        let first = add(&table, "a://1");
        assert!(table.next_request().is_some());
        agreed(&table, &BTreeSet::from([resource("a://1")]), &[]);
        assert!(matches!(
            settled(&first),
            Some(Err(NotSubscribed::Refused(_)))
        ));
        drop(first);
        assert_eq!(table.next_request(), None);
        let _second = add(&table, "a://1");
        assert!(table.next_request().is_some(), "asked anew");
    }

    #[tokio::test]
    async fn everything_may_be_told_at_once() {
        let table = Subscriptions::default();
        let (a, b) = (add(&table, "a://1"), add(&table, "b://1"));
        let uris = table.ask_for_all();
        let late = add(&table, "c://1");
        agreed(&table, &uris, &["a://1"]);
        assert!(matches!(settled(&a), Some(Ok(()))));
        assert!(matches!(settled(&b), Some(Err(NotSubscribed::Refused(_)))));
        assert!(settled(&late).is_none());
    }

    #[test]
    fn who_leaves_before_the_server_was_told_leaves_nothing() {
        let table = Subscriptions::default();
        let known = || table.0.table.lock().by_topic.len();
        drop(add(&table, "a://1"));
        assert_eq!(known(), 0, "never told");
        let left = add(&table, "a://1");
        let uris = table.ask_for_all();
        drop(left);
        assert_eq!(known(), 1, "the server is hearing of it");
        assert_eq!(table.ask_for_changed(), None, "one thing at a time");
        agreed(&table, &uris, &["a://1"]);
        assert_eq!(
            table.ask_for_changed(),
            Some(BTreeSet::new()),
            "it is told at once"
        );
        assert_eq!(known(), 0);
        let (left, uris) = (add(&table, "a://1"), table.ask_for_all());
        drop(left);
        agreed(&table, &uris, &[]);
        assert_eq!(known(), 0, "it did not agree");
    }

    #[test]
    fn what_is_said_of_a_task_is_for_who_follows_that_task() {
        let table = Subscriptions::default();
        let task = |id: &str| NewsTopic::Task(id.into());
        let _kept = table.add(task("1"), silent()).expect("room");
        let _other = table.add(task("1/2"), silent()).expect("room");
        let _resource = add(&table, "1");
        let news = |id: &str| Notification {
            method: "notifications/tasks".into(),
            params: Some(Raw::author(&serde_json::json!({ "taskId": id }))),
        };
        for (id, heard) in [("1", 1), ("1/2", 1), ("1/3", 0)] {
            assert_eq!(table.notify(&news(id)), heard, "{id}");
        }
    }

    #[test]
    fn an_update_finds_whom_it_concerns() {
        let check = |subscribed: &str, updated: &str, expected: usize| {
            let (table, heard) = (Subscriptions::default(), Arc::new(AtomicUsize::new(0)));
            let count = heard.clone();
            let tell: Notifier = Arc::new(move |_| {
                count.fetch_add(1, Ordering::Relaxed);
            });
            let _kept = table.add(resource(subscribed), tell).expect("room");
            let _other = add(&table, "zz://other");
            let notice = Notification {
                method: "notifications/resources/updated".into(),
                params: Some(Raw::author(&serde_json::json!({ "uri": updated }))),
            };
            assert_eq!(table.notify(&notice), expected, "{subscribed} {updated}");
            assert_eq!(heard.load(Ordering::Relaxed), expected);
        };
        check("a://x", "a://x", 1);
        check("a://x", "a://x/part", 1);
        check("a://x", "a://x#part", 1);
        check("a://x", "a://xy", 0);
        check("a://x/", "a://x/y", 1);
        check("a://x/y", "a://x", 0);
        check("b://x", "a://x", 0);
    }
}
