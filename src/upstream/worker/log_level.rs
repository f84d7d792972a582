//! Sets the log level of a legacy server. To a modern one each request says it.

use futures_util::future::FutureExt;

use super::{Worker, subscriptions::answered};
use crate::wire::{Raw, method};

impl Worker {
    /// Tells the server if it does not know yet. What it was told cannot be taken back, so when nobody wants anything in particular
    /// any more it goes on as it was told last.
    pub(super) fn sync_log_level(&mut self) {
        if self.is_held() {
            return;
        }
        let life = &mut self.life;
        let Some(connected) = life.open.as_ref().filter(|_| life.levelling.is_none()) else {
            return;
        };
        let catalog = connected.live.catalog.load();
        let hears = catalog.listing.revision.has_set_level() && catalog.has_capability("logging");
        let wanted = self.context.log_subscriptions.least(&self.entry.name);
        let Some(level) = wanted.filter(|level| hears && life.level_told != Some(*level)) else {
            return;
        };
        life.level_told = Some(level);
        let (link, server) = (connected.open.link.clone(), self.entry.name.clone());
        let telling = async move {
            let params = Raw::author(&serde_json::json!({ "level": level.as_str() }));
            if let Err(error) = answered(&link, method::SET_LEVEL, &params).await {
                tracing::debug!(%server, ?error, "the server could not be told which log lines are wanted");
            }
        };
        life.levelling = Some(telling.boxed());
    }
}
