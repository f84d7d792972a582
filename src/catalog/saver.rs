//! Writes the last known lists, habits and ledgers of servers to disk in the background: a slow disk delays neither calls nor the lists of
//! other servers.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use tokio::sync::{Notify, oneshot};
use tokio_util::sync::CancellationToken;

use super::{ServerCatalog, ServerHabits, approval, saved_listings, server_habits};
use crate::{
    failure::Result,
    runtime::sync::Guarded,
    text::names::ServerName,
    trust::approvals::{self, Ledger},
};

/// Tells who waits for a ledger whether it is on disk.
type Saved = oneshot::Sender<Result>;

/// What is to be written. Bounded by the number of servers: only the newest state of a server is kept.
#[derive(Default)]
struct Waiting {
    /// The servers whose files are kept; the files of all others are deleted before lists are written.
    kept: Option<Vec<ServerName>>,
    lists: BTreeMap<ServerName, Arc<ServerCatalog>>,
    /// Each with the fingerprint of the configuration under which it was found out.
    habits: BTreeMap<ServerName, (String, ServerHabits)>,
    ledgers: BTreeMap<ServerName, WaitingLedger>,
}

#[derive(Default)]
struct WaitingLedger {
    /// The newest one; `None` if the file is to be deleted.
    ledger: Option<Arc<Ledger>>,
    done: Vec<Saved>,
}

/// Takes what is to be written.
pub(super) struct Saver {
    data_dir: PathBuf,
    waiting: Guarded<Waiting>,
    news: Notify,
}

impl Saver {
    pub(super) fn new(data_dir: PathBuf) -> Self {
        Self {
            data_dir,
            waiting: Guarded::default(),
            news: Notify::new(),
        }
    }

    /// Saves a server's lists, soon.
    pub(super) fn save(&self, server: Arc<ServerCatalog>) {
        let name = server.server.clone();
        self.enqueue(|waiting| drop(waiting.lists.insert(name, server)));
    }

    /// Saves what was found out about a server, soon.
    pub(super) fn save_habits(&self, server: ServerName, entry: String, habits: ServerHabits) {
        self.enqueue(|waiting| drop(waiting.habits.insert(server, (entry, habits))));
    }

    /// Saves what was approved of a server, soon; `done` gets the outcome.
    pub(super) fn save_ledger(&self, server: ServerName, ledger: Arc<Ledger>, done: Option<Saved>) {
        self.enqueue(|waiting| {
            let newest = waiting.ledgers.entry(server).or_default();
            newest.ledger = Some(ledger);
            newest.done.extend(done);
        });
    }

    /// Removes what was approved of a server, soon.
    pub(super) fn forget_ledger(&self, server: ServerName) {
        self.enqueue(|waiting| waiting.ledgers.entry(server).or_default().ledger = None);
    }

    /// Removes the files of every server but these, soon.
    pub(super) fn keep(&self, servers: Vec<ServerName>) {
        self.enqueue(|waiting| {
            waiting.lists.retain(|name, _| servers.contains(name));
            waiting.habits.retain(|name, _| servers.contains(name));
            waiting.kept = Some(servers);
        });
    }

    fn enqueue(&self, add: impl FnOnce(&mut Waiting)) {
        add(&mut self.waiting.lock());
        self.news.notify_one();
    }

    /// Runs until `ending`, then writes what is left.
    pub(super) async fn run(&self, ending: CancellationToken) {
        loop {
            let ends = tokio::select! {
                () = self.news.notified() => false,
                () = ending.cancelled() => true,
            };
            let data_dir = self.data_dir.clone();
            let waiting = std::mem::take(&mut *self.waiting.lock());
            // Only the lists in memory are used; if the disk fails, the next start discovers the servers again.
            if let Err(error) = tokio::task::spawn_blocking(move || waiting.write(&data_dir)).await
            {
                tracing::warn!(%error, "saving the last known lists was interrupted");
            }
            if ends {
                return;
            }
        }
    }
}

impl Waiting {
    fn write(self, data_dir: &Path) {
        // Before the lists: what was listed first must not be taken for new at the next start.
        for (name, WaitingLedger { ledger, done }) in self.ledgers {
            let saved = match &ledger {
                Some(ledger) => approvals::save(data_dir, &name, ledger),
                None => approvals::forget(data_dir, &name),
            };
            if let Err(error) = &saved {
                let next = approval::saving_step(&name, error);
                let effect = "those saved last count after a restart";
                tracing::warn!(server = %name, %error, effect, %next, "approvals not saved");
            }
            let failure = saved.err().map(|error| approval::not_saved(&name, &error));
            for done in done {
                let saved = failure.clone().map_or(Ok(()), Err);
                // A caller that left needs no answer.
                let _ = done.send(saved);
            }
        }
        if let Some(kept) = &self.kept {
            saved_listings::prune(data_dir, |name| {
                kept.iter().any(|kept| kept.as_str() == name)
            });
        }
        for (name, known) in &self.lists {
            let saved = saved_listings::save(data_dir, name, &known.entry, &known.listing);
            if let Err(error) = saved {
                let effect = "read again after a restart";
                tracing::warn!(server = %name, %error, effect, "last known lists not saved");
            }
        }
        for (name, (entry, habits)) in &self.habits {
            if let Err(error) = server_habits::save(data_dir, name, entry, *habits) {
                let effect = "found out again after a restart";
                tracing::warn!(server = %name, %error, effect, "habits of the server not saved");
            }
        }
    }
}
