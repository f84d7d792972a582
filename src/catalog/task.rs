//! The catalog's task, its only writer: publishes what workers list and what is held of it, and has both saved and indexed. Its decisions about
//! trust are in [`super::trust_changes`].

use std::{collections::BTreeMap, sync::Arc};

use tokio::{
    sync::{mpsc, oneshot},
    task::JoinError,
};
use tokio_util::sync::CancellationToken;

use super::{
    Difference, ServerCatalog, Snapshot, Tool,
    handle::{CatalogCommand, CatalogState, Published},
    indexer,
    pinning::{AllLists, Pinning},
};
use crate::{
    activity::Activity,
    text::names::ServerName,
    trust::approvals::{PinPolicy, Pins},
};

/// How many definitions of one listing that were left out are logged one by one.
const SHOWN_PROBLEMS: usize = 10;

/// A configured server, as the catalog has to know it.
#[derive(Debug, Clone)]
pub struct KnownServer {
    /// Its name.
    pub name: ServerName,
    /// The fingerprint of its configuration.
    pub entry: String,
    /// How its definitions are treated.
    pub policy: PinPolicy,
}

/// The catalog's task.
pub struct CatalogTask {
    pub(super) state: Arc<CatalogState>,
    pub(super) inbox: mpsc::Receiver<CatalogCommand>,
    pub(super) pinning: Pinning,
    pub(super) activity: Activity,
    /// The servers whose last known lists are not read yet.
    pub(super) unread: Vec<KnownServer>,
}

impl CatalogTask {
    /// The same task, which records in this log what is held from now on.
    #[must_use]
    pub fn recording(self, activity: Activity) -> Self {
        Self { activity, ..self }
    }

    /// Reads what the last run knew, then runs until shutdown, indexer and saver beside it.
    pub async fn run(self, shutdown: CancellationToken) {
        match shutdown.run_until_cancelled(self.after_reading()).await {
            Some(Ok(task)) => task.run_on(shutdown).await,
            Some(Err(error)) => {
                // Without the ledgers no list may be published: a changed definition would count as new.
                tracing::error!(%error, "reading the last known lists failed; no server can be used");
            }
            None => (),
        }
    }

    /// The same task, once the last known lists are published. Thousands of tools take a second, which must not delay other tasks.
    async fn after_reading(mut self) -> Result<Self, JoinError> {
        if self.state.is_read.initialized() {
            return Ok(self);
        }
        let reading = move || {
            self.read_last_known();
            self
        };
        tokio::task::spawn_blocking(reading).await
    }

    async fn run_on(self, shutdown: CancellationToken) {
        let state = self.state.clone();
        let indexing = indexer::run(&state, shutdown.clone());
        // Cancelled when no more commands are followed: the saver's last turn answers all that wait for the disk.
        let ending = CancellationToken::new();
        let saving = state.saver.run(ending.clone());
        let following = async {
            self.follow_commands(shutdown).await;
            ending.cancel();
        };
        tokio::join!(following, indexing, saving);
    }

    async fn follow_commands(mut self, shutdown: CancellationToken) {
        while let Some(Some(command)) = shutdown.run_until_cancelled(self.inbox.recv()).await {
            match command {
                CatalogCommand::Put { server, done } => self.put(server, done),
                CatalogCommand::Judge { server, done } => {
                    // The worker may have been stopped meanwhile.
                    let _ = done.send(self.judge_own(&server));
                }
                CatalogCommand::Keep { servers } => self.keep(servers).await,
                CatalogCommand::Approve { request, done } => {
                    // Who sent it may be gone; so below.
                    let _ = done.send(self.approve(&request).await);
                }
                CatalogCommand::Withdraw { withdrawal, done } => {
                    let _ = done.send(self.withdraw(&withdrawal).await);
                }
                CatalogCommand::Forget { server } => {
                    self.pinning.forget(&server);
                    self.state.saver.forget_ledger(server);
                }
            }
        }
    }

    fn put(&mut self, new: Arc<ServerCatalog>, done: oneshot::Sender<Published>) {
        let (old, server) = (self.state.published.load_full(), &new.server);
        if !self.pinning.policies.contains_key(server) {
            // Its entry was removed while its worker listed it.
            tracing::debug!(%server, "the lists of a removed server were dropped");
            let _ = done.send(None);
            return;
        }
        let before = old.servers.get(server).map(AsRef::as_ref);
        log_listed(&new, before);
        let mut difference = Difference::between(before, Some(&new));
        // The first lists of an empty server are no difference, but they must be published and saved.
        let must_save = !difference.is_empty()
            || before.is_none_or(|b| {
                b.entry != new.entry || b.listing.initialize != new.listing.initialize
            });
        let mut servers = old.servers.clone();
        servers.insert(server.clone(), new.clone());
        let all_lists = AllLists::new(&servers);
        let (pins, saved) = self.judged(&new, &all_lists, &old);
        let mut changed = Vec::from_iter(pins.map(|pins| (server.clone(), pins)));
        if before.is_none_or(|before| !new.relations().is_known_by_the_same(before.relations())) {
            changed.extend(self.judged_again(&new, &all_lists, &old));
        }
        if must_save || !changed.is_empty() {
            if !changed.is_empty() {
                difference = Difference::WHATEVER;
            }
            let mut all = old.pins.clone();
            all.extend(changed);
            self.publish(old.generation + 1, servers, all);
        }
        // The worker may have been replaced meanwhile; then nobody waits.
        let _ = done.send(saved);
        self.announce(difference);
        if must_save {
            self.state.saver.save(new);
        }
    }

    pub(super) fn publish(
        &self,
        generation: u64,
        servers: BTreeMap<ServerName, Arc<ServerCatalog>>,
        pins: BTreeMap<ServerName, Arc<Pins>>,
    ) {
        let lock = self.pinning.lock.clone();
        let snapshot = Snapshot::judged(generation, servers, pins, lock);
        self.state.published.store(Arc::new(snapshot));
        self.state.news.notify_one();
    }

    pub(super) fn announce(&self, difference: Difference) {
        if !difference.is_empty() {
            // There may be no listener.
            let _ = self.state.differences.send(difference);
        }
    }
}

/// Tells operators what a server lists, and which definitions were left out.
fn log_listed(new: &ServerCatalog, before: Option<&ServerCatalog>) {
    let server = &new.server;
    for problem in new.problems.iter().take(SHOWN_PROBLEMS) {
        tracing::warn!(%server, %problem, "definition left out");
    }
    if let Some(more @ 1..) = new.problems.len().checked_sub(SHOWN_PROBLEMS) {
        tracing::warn!(%server, more, "further definitions left out");
    }
    let is_new = |tool: &&Tool| before.is_none_or(|before| !before.lists(tool));
    let (tools, changed) = (new.tools.len(), new.tools.iter().filter(is_new).count());
    // The worker logs the first lists of a connection, and the indexer what it indexes.
    if before.is_some() && changed > 0 {
        tracing::info!(%server, tools, changed, "tools listed");
    } else {
        tracing::debug!(%server, tools, changed, "tools listed");
    }
}

#[cfg(test)]
mod tests;
