//! The notices of a session besides answers: its subscriptions and its log level, and what of them is kept on disk.

use super::LegacySession;
use crate::{
    inbound::{
        bounds::cost_of_subscription, kept_session::KeptSession,
        subscriptions::SessionSubscriptions,
    },
    router::{LogSubscription, Subscription},
    sessions::sealing::Agreement,
};

impl LegacySession {
    /// Whether the client may subscribe to this resource.
    pub(in crate::inbound) fn has_room_for_subscription(&self, uri: &str) -> bool {
        self.state.lock().subscriptions.has_room_for(uri)
    }

    /// Keeps a subscription for as long as the session lasts; whether there is room for it.
    pub(in crate::inbound) fn keep_subscription(
        &self,
        uri: &str,
        subscription: Subscription,
    ) -> bool {
        let mut state = self.state.lock();
        let is_new = !state.subscriptions.has(uri);
        if is_new && !state.memory.try_grow(cost_of_subscription(uri)) {
            drop(state);
            drop(subscription);
            return false;
        }
        drop(state);
        let ended = self.unless_over(subscription, |subscriptions, subscription| {
            subscriptions.add(uri, subscription)
        });
        drop(ended);
        true
    }

    /// Keeps the log level for as long as the session lasts.
    pub(in crate::inbound) fn keep_log_subscription(&self, subscription: LogSubscription) {
        let ended = self.unless_over(subscription, SessionSubscriptions::set_log);
        drop(ended);
    }

    /// Notes a subscription that the session had when it was continued, and that is to be resumed; whether there is room for it.
    pub(in crate::inbound) fn expect_subscription(&self, uri: &str) -> bool {
        let mut state = self.state.lock();
        let is_new = state.subscriptions.has_room_for(uri) && !state.subscriptions.has(uri);
        let has_room = is_new && state.memory.try_grow(cost_of_subscription(uri));
        if has_room {
            state.subscriptions.expect(uri);
        }
        has_room
    }

    /// Keeps a subscription that was expected, if it still is.
    pub(in crate::inbound) fn fill_subscription(&self, uri: &str, subscription: Subscription) {
        let unwanted = self.unless_over(subscription, |subscriptions, subscription| {
            subscriptions.fill(uri, subscription)
        });
        drop(unwanted);
    }

    /// What is to be kept of it on disk.
    pub(in crate::inbound) fn kept(&self) -> KeptSession {
        let state = self.state.lock();
        let agreed = state.agreed.as_ref();
        let capabilities = agreed.map(|agreed| &agreed.client.capabilities);
        KeptSession {
            log_level: state.subscriptions.log_level(),
            subscriptions: state.subscriptions.uris(),
            capabilities: capabilities
                .filter(|raw| Agreement::is_too_long(raw))
                .cloned(),
        }
    }

    /// Ends a subscription.
    pub(in crate::inbound) fn unsubscribe(&self, uri: &str) {
        let mut state = self.state.lock();
        let was_there = state.subscriptions.has(uri);
        let ended = state.subscriptions.remove(uri);
        if was_there {
            let left = state
                .memory
                .bytes()
                .saturating_sub(cost_of_subscription(uri));
            state.memory.shrink_to(left);
        }
        drop(state);
        drop(ended);
    }

    /// Keeps something, unless the session has ended. Gives back what is to be dropped without the lock.
    fn unless_over<T>(
        &self,
        kept: T,
        keep: impl FnOnce(&mut SessionSubscriptions, T) -> Option<T>,
    ) -> Option<T> {
        let mut state = self.state.lock();
        if self.over.is_cancelled() {
            return Some(kept);
        }
        keep(&mut state.subscriptions, kept)
    }
}
