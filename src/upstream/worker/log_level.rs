//! Sets the log level of a legacy server with `logging/setLevel`. For a modern server each request carries the level.

use std::sync::Arc;

use futures_util::future::FutureExt;
use tokio::sync::oneshot;

use super::{Worker, subscriptions::answered};
use crate::{
    link::ClientKey,
    upstream::{calls::log_subscriptions::WantedLevels, instance_scope::InstanceScope},
    wire::{Raw, method},
};

impl Worker {
    /// Sets the server's level if another one is wanted, with one request at a time. Calls that wait go on when nothing is left to set.
    pub(super) fn sync_log_level(&mut self) {
        if self.is_held() || self.life.levelling.is_some() {
            return;
        }
        let scope = self.shared.instance_scope.as_ref();
        let wanted = self.wanted_levels(|key| is_used_by(scope, key));
        self.note_level_of_owner();
        let life = &mut self.life;
        let Some(connected) = life.open.as_ref() else {
            return;
        };
        let catalog = connected.live.catalog.load();
        let hears = catalog.takes_log_level();
        let Some(level) = wanted.to_set(life.level_set).filter(|_| hears) else {
            for waiter in life.level_waiters.drain(..) {
                // One that left needs no answer.
                let _ = waiter.send(());
            }
            return;
        };
        life.level_set = Some(level);
        let (connection, link) = (connected.live.clone(), connected.open.link.clone());
        let server = self.entry.name.clone();
        let telling = async move {
            let params = Raw::author(&serde_json::json!({ "level": level.as_str() }));
            if let Err(error) = answered(&link, method::SET_LEVEL, &params).await {
                tracing::debug!(%server, ?error, "the log level of the server could not be set");
            }
            // Calls wait for it once, whatever came of it.
            connection.log_level.store(Some(Arc::new(level)));
        };
        life.levelling = Some(telling.boxed());
    }

    /// The levels that these sessions want, and that requests want.
    pub(super) fn wanted_levels(&self, uses: impl Fn(&str) -> bool) -> WantedLevels {
        let subscriptions = &self.context.log_subscriptions;
        subscriptions.wanted(&self.entry.name, uses)
    }

    /// Notes whether the client whose connection this is wants log lines between its calls by now.
    fn note_level_of_owner(&self) {
        let Some(connected) = &self.life.open else {
            return;
        };
        let owner = connected.live.link.owner();
        if let Some(ClientKey::Session(of)) = owner.client()
            && self.wanted_levels(|key| *key == **of).sessions.is_some()
            && connected.live.catalog.load().takes_log_level()
        {
            owner.note_wants_lines();
        }
    }

    /// A call over this connection waits until the wanted level is set.
    pub(super) fn set_level_for(&mut self, incarnation: u64, done: oneshot::Sender<()>) {
        if self.life.connected(incarnation).is_some() {
            self.life.level_waiters.push(done);
            self.sync_log_level();
        }
    }
}

/// Whether requests of this session go to an instance of this scope, or may.
fn is_used_by(scope: Option<&InstanceScope>, key: &str) -> bool {
    scope
        .and_then(InstanceScope::sole_client)
        .is_none_or(|sole| matches!(&sole.user.client, ClientKey::Session(own) if **own == *key))
}
