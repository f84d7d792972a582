//! What falls due: listing again, signs of life, and sleep.

use std::time::{Duration, Instant};

use futures_util::future::FutureExt;

use super::Worker;
use crate::{
    catalog::Listing,
    config::Start,
    upstream::{
        connect::LISTING,
        link::Link,
        lists::{self, ListError},
        state::Event,
    },
    wire::{Raw, Revision},
};

/// How long a server may take to answer a ping.
const PING: Duration = Duration::from_secs(15);

impl Worker {
    pub(super) async fn relisted(&mut self, result: Result<Listing, String>) {
        let server = self.entry.name.clone();
        let listing = match result {
            Ok(listing) => listing,
            Err(reason) => {
                tracing::warn!(%server, %reason, "the server could not be listed again; the last known lists stay");
                return;
            }
        };
        let put = self
            .house
            .catalog
            .put(&server, &self.entry.fingerprint, listing)
            .await;
        if let (Some(catalog), Some(connected)) = (put, &self.life.open) {
            connected.live.catalog.store(catalog);
        }
    }

    pub(super) async fn pinged(&mut self, result: Result<(), String>) {
        if let Err(reason) = result {
            self.lost(reason).await;
        }
    }

    pub(super) async fn tick(&mut self) {
        let now = Instant::now();
        let due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        if due(self.life.paused_until) {
            self.life.paused_until = None;
            self.event(Event::PauseOver).await;
        }
        let settings = self.settings();
        if due(self.life.next_poll) {
            self.life.next_poll = settings
                .tool_discovery_interval
                .map(|interval| now + interval);
            self.life.relist_at.get_or_insert(now);
        }
        // One listing at a time; a wish that comes meanwhile waits for its end.
        if due(self.life.relist_at) && self.life.relisting.is_none() {
            self.life.relist_at = None;
            self.start_relisting();
        }
        if self.life.open.is_some() && self.life.next_ping <= now {
            self.life.next_ping = now + settings.health_check_interval;
            self.start_ping();
        }
        if self.life.next_check <= now {
            self.life.next_check = now + settings.idle_check_interval;
            self.check_idle(now).await;
        }
    }

    pub(super) fn start_relisting(&mut self) {
        let Some(connected) = &self.life.open else {
            return;
        };
        tracing::debug!(server = %self.entry.name, "Tool discovery triggered by notification");
        let known = &connected.open.listing;
        let (link, initialize, revision) = (
            connected.open.link.clone(),
            known.initialize.clone(),
            known.revision,
        );
        self.life.relisting = Some(relist(link, initialize, revision).boxed());
    }

    /// Only remote servers are pinged: a child's death is seen, a dead socket is not.
    pub(super) fn start_ping(&mut self) {
        if let Some(connected) = self
            .life
            .open
            .as_ref()
            .filter(|_| self.is_remote() && self.life.pinging.is_none())
        {
            self.life.pinging = Some(connected.open.control.ping(PING).boxed());
        }
    }

    pub(super) async fn check_idle(&mut self, now: Instant) {
        let Some(connected) = &self.life.open else {
            return;
        };
        let eager = self.entry.start == Start::Eager;
        if !eager
            && self
                .shared
                .usage
                .is_idle(&self.policy(), connected.since, now)
        {
            self.event(Event::Unused).await;
        }
    }
}

async fn relist(link: Link, initialize: Raw, revision: Revision) -> Result<Listing, String> {
    match tokio::time::timeout(LISTING, Box::pin(lists::read(&link, initialize, revision))).await {
        Ok(listing) => listing.map_err(|error: ListError| error.to_string()),
        Err(_) => Err(format!("no end within {} s", LISTING.as_secs())),
    }
}
