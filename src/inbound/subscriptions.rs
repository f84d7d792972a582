//! The notices of a legacy client besides answers: the resources that its session is subscribed to, and its log level.

use std::collections::HashMap;

use crate::{
    router::{LogSubscription, Subscription},
    wire::LogLevel,
};

/// Limit: resources that one session is subscribed to.
pub(super) const MAX_SUBSCRIPTIONS: usize = 1_000;

/// The subscriptions of one session. What is taken out of it ends where it is dropped, which must not be under a lock.
#[derive(Default)]
pub(super) struct SessionSubscriptions {
    /// Those without one were there before the session was continued, and are yet to be resumed.
    by_uri: HashMap<Box<str>, Option<Subscription>>,
    log: Option<LogSubscription>,
}

impl SessionSubscriptions {
    /// The least grave log lines that the client wants to see, if it named a level.
    pub(super) fn log_level(&self) -> Option<LogLevel> {
        self.log.as_ref().map(LogSubscription::level)
    }

    /// Sets the log level, and takes out what was there before.
    #[must_use]
    pub(super) fn set_log(&mut self, subscription: LogSubscription) -> Option<LogSubscription> {
        self.log.replace(subscription)
    }

    /// Whether there is one to this resource.
    pub(super) fn has(&self, uri: &str) -> bool {
        self.by_uri.contains_key(uri)
    }

    /// Whether one more is allowed. A client that subscribes twice is subscribed once.
    pub(super) fn has_room_for(&self, uri: &str) -> bool {
        self.by_uri.len() < MAX_SUBSCRIPTIONS || self.has(uri)
    }

    /// Adds one, and takes out that which was there before.
    #[must_use]
    pub(super) fn add(&mut self, uri: &str, subscription: Subscription) -> Option<Subscription> {
        self.by_uri.insert(uri.into(), Some(subscription)).flatten()
    }

    /// Notes one that is yet to be resumed.
    pub(super) fn expect(&mut self, uri: &str) {
        self.by_uri.insert(uri.into(), None);
    }

    /// Resumes one. Gives it back if it is not wanted any more, or is there already.
    #[must_use]
    pub(super) fn fill(&mut self, uri: &str, subscription: Subscription) -> Option<Subscription> {
        match self.by_uri.get_mut(uri) {
            Some(expected @ None) => {
                *expected = Some(subscription);
                None
            }
            _ => Some(subscription),
        }
    }

    /// The resources.
    pub(super) fn uris(&self) -> Vec<String> {
        self.by_uri.keys().map(ToString::to_string).collect()
    }

    /// Takes one out, which may be yet to be resumed.
    #[must_use]
    pub(super) fn remove(&mut self, uri: &str) -> Option<Subscription> {
        self.by_uri.remove(uri).flatten()
    }
}
