//! What falls due: listing again, signs of life, and sleep.

use std::time::{Duration, Instant};

use futures_util::future::FutureExt;
use tokio::sync::oneshot;

use super::{Worker, schedule::Due, state::StateEvent};
use crate::{
    link::Link,
    upstream::connect::lists::{self, ReadLists},
    wire::{Raw, Revision},
};

/// How long a server may take to answer a ping.
const PING: Duration = Duration::from_secs(15);

impl Worker {
    pub(super) async fn relisted(&mut self, result: Result<ReadLists, String>) {
        let server = self.entry.name.clone();
        let Some(connected) = &mut self.life.open else {
            return;
        };
        connected.schedule.listing_ended(Instant::now());
        let waiting = std::mem::take(&mut connected.listing_for);
        let live = connected.live.clone();
        let lists = match result {
            Ok(lists) => lists,
            Err(reason) => {
                tracing::warn!(%server, %reason, "the server could not be listed again; the last known lists stay");
                return;
            }
        };
        let listing = self.completed(lists, Some(&live.catalog.load_full()));
        if let Some(catalog) = self.take_in(listing).await {
            live.catalog.store(catalog);
        }
        for listed in waiting {
            // A caller that left needs no answer.
            let _ = listed.send(());
        }
    }

    /// Lists at once, for a call that found the lists out of date.
    pub(super) fn list_for(&mut self, incarnation: u64, done: oneshot::Sender<()>) {
        let open = self.life.open.as_mut();
        if let Some(connected) = open.filter(|c| c.live.incarnation == incarnation) {
            connected.due_for.push(done);
            connected.schedule.list_now(Instant::now());
        }
    }

    pub(super) async fn pinged(&mut self, result: Result<(), String>) {
        if let Err(reason) = result {
            self.lost(reason).await;
        }
    }

    pub(super) async fn tick(&mut self) {
        let now = Instant::now();
        if self.life.paused_until.is_some_and(|until| until <= now) {
            self.life.paused_until = None;
            self.event(StateEvent::PauseOver).await;
        }
        let cadence = self.cadence();
        while let Some(connected) = &mut self.life.open {
            match connected.schedule.take(now, cadence) {
                Some(Due::Relist) => {
                    tracing::debug!(server = %self.entry.name, "Tool discovery triggered by notification");
                    self.start_relisting();
                }
                Some(Due::Poll) => {
                    tracing::debug!(server = %self.entry.name, "the server is listed again, as it is time");
                    self.start_relisting();
                }
                Some(Due::Ping) => self.start_ping(),
                Some(Due::IdleCheck) => self.check_idle(now).await,
                None => return,
            }
        }
    }

    fn start_relisting(&mut self) {
        let Some(connected) = &mut self.life.open else {
            return;
        };
        connected.listing_for.append(&mut connected.due_for);
        let known = &connected.open.listing;
        let (link, initialize, revision) = (
            connected.open.link.clone(),
            known.initialize.clone(),
            known.revision,
        );
        self.life.relisting = Some(relist(link, initialize, revision).boxed());
    }

    fn start_ping(&mut self) {
        if let Some(connected) = &self.life.open
            && self.life.pinging.is_none()
        {
            self.life.pinging = Some(connected.open.control.ping(PING).boxed());
        }
    }

    async fn check_idle(&mut self, now: Instant) {
        let Some(connected) = &self.life.open else {
            return;
        };
        let usage = &self.shared.usage;
        if self.stays()
            || self.is_listened_to()
            || !self.life.answering.is_empty()
            || !(self.is_for_its_lists_only()
                || usage.is_idle(&self.policy(), connected.since, now))
        {
            return;
        }
        // From here on calls wait for the worker. A call that took the connection before this line has been counted before that.
        self.shared.live.store(None);
        if usage.in_flight() > 0 {
            self.shared.live.store(Some(connected.live.clone()));
            return;
        }
        self.event(StateEvent::Unused).await;
    }
}

async fn relist(link: Link, initialize: Raw, revision: Revision) -> Result<ReadLists, String> {
    let reading = Box::pin(lists::read(&link, initialize, revision));
    reading.await.map_err(|error| error.to_string())
}
