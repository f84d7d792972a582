//! What the client of a session wants to hear of besides answers: updates of resources, and log lines from a level on. What of it is
//! kept on disk.

use std::collections::HashMap;

use super::LegacySession;
use crate::{
    inbound::{
        bounds::{MAX_SUBSCRIPTIONS, cost_of_subscription},
        kept_session::KeptSession,
    },
    router::{LogSubscription, Subscription},
    sessions::sealing::Agreement,
};

/// Each ends where it is dropped, which must not be under the lock of the session.
#[derive(Default)]
pub(super) struct Interests {
    /// Those without a subscription were there before the session was continued, and are yet to be resumed.
    by_uri: HashMap<Box<str>, Option<Subscription>>,
    pub(super) log: Option<LogSubscription>,
}

impl Interests {
    /// Whether one more is allowed. A client that subscribes twice is subscribed once.
    fn has_room_for(&self, uri: &str) -> bool {
        self.by_uri.len() < MAX_SUBSCRIPTIONS || self.by_uri.contains_key(uri)
    }
}

impl LegacySession {
    /// Whether the client may subscribe to this resource.
    pub(in crate::inbound) fn has_room_for_subscription(&self, uri: &str) -> bool {
        self.state.lock().interests.has_room_for(uri)
    }

    /// Keeps a subscription for as long as the session lasts; whether there is room for it.
    pub(in crate::inbound) fn keep_subscription(
        &self,
        uri: &str,
        subscription: Subscription,
    ) -> bool {
        let mut state = self.state.lock();
        let is_known = state.interests.by_uri.contains_key(uri);
        let has_room = is_known || state.memory.try_grow(cost_of_subscription(uri));
        let unwanted = if has_room && !self.session_end.is_cancelled() {
            let by_uri = &mut state.interests.by_uri;
            by_uri.insert(uri.into(), Some(subscription)).flatten()
        } else {
            Some(subscription)
        };
        drop(state);
        drop(unwanted);
        has_room
    }

    /// Keeps the log level for as long as the session lasts.
    pub(in crate::inbound) fn keep_log_subscription(&self, subscription: LogSubscription) {
        let mut state = self.state.lock();
        let unwanted = if self.session_end.is_cancelled() {
            Some(subscription)
        } else {
            state.interests.log.replace(subscription)
        };
        drop(state);
        drop(unwanted);
    }

    /// Notes a subscription that the session had when it was continued, and that is to be resumed; whether there is room for it.
    pub(in crate::inbound) fn expect_subscription(&self, uri: &str) -> bool {
        let mut state = self.state.lock();
        let is_new = !state.interests.by_uri.contains_key(uri);
        let has_room = is_new
            && state.interests.has_room_for(uri)
            && state.memory.try_grow(cost_of_subscription(uri));
        if has_room {
            state.interests.by_uri.insert(uri.into(), None);
        }
        has_room
    }

    /// Keeps a subscription that was expected, if it still is.
    pub(in crate::inbound) fn fill_subscription(&self, uri: &str, subscription: Subscription) {
        let mut state = self.state.lock();
        let is_over = self.session_end.is_cancelled();
        let unwanted = match state.interests.by_uri.get_mut(uri) {
            Some(expected @ None) if !is_over => expected.replace(subscription),
            _ => Some(subscription),
        };
        drop(state);
        drop(unwanted);
    }

    /// Ends a subscription.
    pub(in crate::inbound) fn unsubscribe(&self, uri: &str) {
        let mut state = self.state.lock();
        let ended = state.interests.by_uri.remove(uri);
        if ended.is_some() {
            let left = state.memory.bytes();
            let left = left.saturating_sub(cost_of_subscription(uri));
            state.memory.shrink_to(left);
        }
        drop(state);
        drop(ended);
    }

    /// What is to be kept of it on disk.
    pub(in crate::inbound) fn kept(&self) -> KeptSession {
        let state = self.state.lock();
        let agreed = state.agreed.as_ref();
        let capabilities = agreed.map(|agreed| &agreed.client.capabilities);
        let subscriptions = state.interests.by_uri.keys();
        KeptSession {
            log_level: state.interests.log.as_ref().map(LogSubscription::level),
            subscriptions: subscriptions.map(ToString::to_string).collect(),
            capabilities: capabilities
                .filter(|raw| Agreement::is_too_long(raw))
                .cloned(),
            ..KeptSession::default()
        }
    }
}
