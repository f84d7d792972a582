//! Sets the log level of a legacy server. To a modern one each request says it.

use std::sync::Arc;

use futures_util::future::FutureExt;
use tokio::sync::oneshot;

use super::{Worker, subscriptions::answered};
use crate::{
    upstream::fleet::instance_scope::{InstanceScope, SessionKey},
    wire::{Raw, method},
};

impl Worker {
    /// Tells the server if it does not know yet, one level after the other. Those who wait for that go on when there is nothing left
    /// to tell.
    pub(super) fn sync_log_level(&mut self) {
        if self.is_held() || self.life.levelling.is_some() {
            return;
        }
        let wanted = {
            let scope = self.shared.instance_scope.as_ref();
            let uses = |key: &str| is_used_by(scope, key);
            let subscriptions = &self.context.log_subscriptions;
            subscriptions.wanted(&self.entry.name, uses)
        };
        let life = &mut self.life;
        let Some(connected) = life.open.as_ref() else {
            return;
        };
        let catalog = connected.live.catalog.load();
        let hears = catalog.is_told_log_level();
        let Some(level) = wanted.to_tell(life.level_told).filter(|_| hears) else {
            for waiter in life.level_waiters.drain(..) {
                // One that left needs no answer.
                let _ = waiter.send(());
            }
            return;
        };
        life.level_told = Some(level);
        let (told, link) = (connected.live.clone(), connected.open.link.clone());
        let server = self.entry.name.clone();
        let telling = async move {
            let params = Raw::author(&serde_json::json!({ "level": level.as_str() }));
            if let Err(error) = answered(&link, method::SET_LEVEL, &params).await {
                tracing::debug!(%server, ?error, "the server could not be told which log lines are wanted");
            }
            // Calls wait for it once, whatever came of it.
            told.log_level.store(Some(Arc::new(level)));
        };
        life.levelling = Some(telling.boxed());
    }

    /// A call over this connection waits until the server has been told which log lines are wanted.
    pub(super) fn set_level_for(&mut self, incarnation: u64, done: oneshot::Sender<()>) {
        let open = self.life.open.as_ref();
        if open.is_some_and(|connected| connected.live.incarnation == incarnation) {
            self.life.level_waiters.push(done);
            self.sync_log_level();
        }
    }
}

/// Whether requests of this session go to an instance of this scope, or may.
fn is_used_by(scope: Option<&InstanceScope>, key: &str) -> bool {
    match scope {
        Some(InstanceScope::Client { session_key, .. } | InstanceScope::Apart(session_key)) => {
            matches!(session_key, SessionKey::Session(own) if **own == *key)
        }
        Some(InstanceScope::Leased { .. }) => false,
        Some(InstanceScope::Workspace(_) | InstanceScope::Unable) | None => true,
    }
}
