//! The lists of a connected server: reads them again when that is due, and takes them in. What could not be read stays as it was known.

use std::{sync::Arc, time::Instant};

use futures_util::future::{FutureExt, TryFutureExt};
use tokio::sync::oneshot;

use super::Worker;
use crate::{
    catalog::{Listing, OwnListing, ServerCatalog},
    config::SessionScope,
    text::count,
    upstream::{
        calls::handle::Command,
        connect::lists::{self, ReadLists},
        instance_scope::InstanceScope,
    },
};

impl Worker {
    /// Lists soon, for a call that waits until what the server announced has been read.
    pub(super) fn read_changes_for(&mut self, incarnation: u64, done: oneshot::Sender<()>) {
        if let Some(connected) = self.life.connected(incarnation) {
            // It may have been read while the command was under way; then nobody waits.
            if connected.schedule.unread().is_none() {
                return;
            }
            // Calls that left, while the listing is put off, are forgotten.
            connected.due_for.retain(|waiting| !waiting.is_closed());
            if connected.schedule.list_for_call(Instant::now()) {
                connected.listing_for.push(done);
            } else {
                connected.due_for.push(done);
            }
        }
    }

    /// Lists at once, for a call that found the lists out of date.
    pub(super) fn list_for(&mut self, incarnation: u64, done: oneshot::Sender<()>) {
        if let Some(connected) = self.life.connected(incarnation) {
            connected.due_for.push(done);
            connected.schedule.list_now(Instant::now());
        }
    }

    /// Begins to read the lists again, for all calls that wait for that.
    pub(super) fn start_relisting(&mut self) {
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
        let server = self.entry.name.clone();
        self.life.relisting_in = link.session_number();
        let reading =
            async move { Box::pin(lists::read(&link, &server, initialize, revision)).await };
        let reading = reading.map_err(|error| error.to_string());
        self.life.relisting = Some(reading.boxed());
    }

    /// Takes the result of a listing in, and lets the calls go on that waited for it.
    pub(super) async fn take_lists(&mut self, result: Result<ReadLists, String>) {
        let server = self.entry.name.clone();
        let Some(connected) = &mut self.life.open else {
            return;
        };
        let waiting = std::mem::take(&mut connected.listing_for);
        let announced = connected.schedule.being_read_here();
        let live = connected.live.clone();
        match result {
            Ok(lists) => {
                let known = live.catalog.load_full();
                let listing = self.keep_known_lists(lists, Some(&known));
                if let Some(catalog) = self.take_in(listing).await {
                    if let Some(announced) = announced.filter(|_| known.listing != catalog.listing)
                    {
                        self.shared.habits.note_list_change(announced);
                    }
                    live.catalog.store(catalog);
                }
            }
            Err(reason) => {
                tracing::warn!(%server, %reason, "server not listed again; last lists stay");
            }
        }
        live.link.lists_read_in(self.life.relisting_in);
        if let Some(connected) = &mut self.life.open {
            connected.schedule.listing_ended(Instant::now());
            connected.note_unread();
        }
        for listed in waiting {
            // A caller that left needs no answer.
            let _ = listed.send(());
        }
    }

    /// Lists have changed as another connection shows them. One program serves all connections over HTTP, and may announce what changed to
    /// one of them only. What is found here is no news for the others: a server that lists something else each time is not read for ever.
    pub(super) fn lists_changed_elsewhere(&mut self) {
        let announced = *self.list_changes.borrow_and_update();
        if self.is_remote()
            && let (Some(announced), Some(connected)) = (announced, &mut self.life.open)
            && connected
                .schedule
                .list_as_elsewhere(announced, Instant::now())
        {
            connected.note_unread();
        }
    }

    /// The listing, with the known list where one could not be read. Notes the error for the operator.
    pub(super) fn keep_known_lists(
        &self,
        lists: ReadLists,
        known: Option<&ServerCatalog>,
    ) -> Listing {
        let known = known.map(|known| &known.listing);
        let (listing, failed) = lists.or_known(known, |error| error.step(&self.entry));
        let secrets = self.shared.secrets_of(&self.entry);
        let failed = failed.map(|error| error.without(&secrets));
        self.set_status(|status| {
            // Logged once, not at each listing.
            if let Some(error) = failed.as_ref().filter(|_| failed != status.last_error) {
                tracing::warn!(server = %self.entry.name, reason = %error.reason, "lists of the server could not be read");
            }
            status.last_error = failed;
        });
        listing
    }

    /// The catalog that calls over this connection are checked against. The server's own goes to the catalog; an instance keeps its own,
    /// and has the server listed again where that differs. `None` while shutting down.
    pub(super) async fn take_in(&mut self, listing: Listing) -> Option<Arc<ServerCatalog>> {
        let (name, entry) = (&self.entry.name, &self.entry.fingerprint);
        let Some(base) = &self.shared.base else {
            return self.context.catalog.put(name, entry, listing).await;
        };
        let known = self.context.catalog.glance().servers.get(name).cloned();
        let catalog = &self.context.catalog;
        let same = known.clone().filter(|known| known.listing == listing);
        let own = match same {
            Some(known) => known,
            None => catalog.read(name, entry, listing).await?,
        };
        // Also where it is what everybody sees: that may change before this does.
        let judged = catalog.judge_own(own.clone()).await?;
        self.show_own(Some(judged));
        // A server that asks may offer less to a client that cannot answer.
        let is_known = known.is_some_and(|known| match self.shared.scope {
            SessionScope::Auto => known.has_all_tools_of(&own),
            _ => known.has_tools_of(&own),
        });
        if !is_known {
            // If its queue is full, the next listing repeats this.
            let _ = base.try_send(Command::Refresh);
        }
        Some(own)
    }

    /// Shows the clients of this instance its own lists; `None` shows them those of the shared connection.
    pub(super) fn show_own(&self, listing: Option<OwnListing>) {
        let scope = self.shared.instance_scope.as_ref();
        if let Some(key) = scope.and_then(InstanceScope::own_key) {
            let catalog = &self.context.catalog;
            catalog.set_own(&self.entry.name, &key, listing);
        }
    }
}

/// How many tools a server lists, and which of them it did not list before, as far as that is known.
pub(super) fn listed_in_words(now: &ServerCatalog, before: Option<&ServerCatalog>) -> String {
    /// Tools that are named.
    const NAMED: usize = 3;
    let tools = count(now.tools.len(), "tool");
    let Some(before) = before else {
        return tools;
    };
    let is_new = |name: &&str| before.tool(name).is_none();
    let new: Vec<&str> = now
        .tools
        .iter()
        .map(|tool| &*tool.name)
        .filter(is_new)
        .collect();
    match new.len() {
        0 => tools,
        n if n <= NAMED => format!("{tools}, {n} new: {}", new.join(", ")),
        n => format!("{tools}, {n} new"),
    }
}
