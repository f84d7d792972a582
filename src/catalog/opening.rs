//! Opens the catalog: makes the handle and the task, which first reads the lists and ledgers that the last run saved.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::Arc,
};

use arc_swap::ArcSwap;
use tokio::sync::{Notify, SetOnce, broadcast, mpsc};

use super::{
    Catalog, CatalogTask, Difference, KnownServer, ServerCatalog, Snapshot,
    handle::{CatalogState, KnownHabits},
    own_listings::OwnListings,
    pinning::{self, AllLists, Pinning},
    saved_listings,
    saver::Saver,
    server_habits,
};
use crate::{
    activity::Activity,
    runtime::sync::Guarded,
    text::names::ServerName,
    trust::approvals::{self, Ledger, Lock, PinPolicy, Pins},
};

/// Commands that wait for the task. Workers wait when the queue is full.
const CAPACITY: usize = 64;

/// Limit: unread differences of a slow listener. It then learns that it missed some and treats all lists as changed.
const DIFFERENCES: usize = 64;

impl Catalog {
    /// A catalog that begins with the last known lists of `servers` (name and fingerprint of the configuration), all of them trusted.
    /// Blocks.
    pub fn new(
        data_dir: impl AsRef<Path>,
        servers: &[(ServerName, String)],
    ) -> (Self, CatalogTask) {
        let servers = servers.iter().map(|(name, entry)| KnownServer {
            name: name.clone(),
            entry: entry.clone(),
            policy: PinPolicy::Hold,
        });
        let (catalog, mut task) = Self::open(data_dir.as_ref(), servers.collect(), None);
        task.read_last_known();
        (catalog, task)
    }

    /// A catalog that knows nothing yet. Its task reads the last known lists of `servers` first, and compares them with what was approved of
    /// them, or with the lock file.
    pub fn open(
        data_dir: &Path,
        servers: Vec<KnownServer>,
        lock: Option<Lock>,
    ) -> (Self, CatalogTask) {
        let pinning = Pinning {
            ledgers: BTreeMap::new(),
            policies: servers.iter().map(|s| (s.name.clone(), s.policy)).collect(),
            data_dir: data_dir.to_owned(),
            lock: lock.map(Arc::new),
            forgotten: BTreeSet::new(),
        };
        let nothing = Snapshot::judged(0, BTreeMap::new(), BTreeMap::new(), pinning.lock.clone());
        let state = Arc::new(CatalogState {
            published: ArcSwap::from_pointee(nothing),
            news: Notify::new(),
            searcher: ArcSwap::default(),
            is_index_wanted: SetOnce::new(),
            is_indexed: SetOnce::new(),
            is_read: SetOnce::new(),
            differences: broadcast::channel(DIFFERENCES).0,
            own_differences: broadcast::channel(DIFFERENCES).0,
            habits: Guarded::default(),
            saver: Saver::new(data_dir.to_owned()),
            own: OwnListings::default(),
        });
        let (commands, inbox) = mpsc::channel(CAPACITY);
        let task = CatalogTask {
            state: state.clone(),
            inbox,
            pinning,
            activity: Activity::none(),
            unread: servers,
        };
        (Self { state, commands }, task)
    }
}

impl CatalogTask {
    /// Reads what the last run knew, and publishes it. Blocks.
    pub(super) fn read_last_known(&mut self) {
        let (servers, data_dir) = (std::mem::take(&mut self.unread), &self.pinning.data_dir);
        let known = load_lists(data_dir, &servers);
        self.pinning.ledgers = load_ledgers(data_dir, &servers);
        let pins = judge_all(&known, &mut self.pinning, &self.state.saver);
        *self.state.habits.lock() = load_habits(&self.pinning.data_dir, servers);
        let is_known = !known.is_empty();
        let first = Snapshot::judged(1, known, pins, self.pinning.lock.clone());
        self.state.published.store(Arc::new(first));
        // Set once: the lists are read once.
        let _ = self.state.is_read.set(());
        if is_known {
            self.announce(Difference::WHATEVER);
        }
    }
}

/// The last known lists, of those servers whose configuration is still the same.
fn load_lists(
    data_dir: &Path,
    servers: &[KnownServer],
) -> BTreeMap<ServerName, Arc<ServerCatalog>> {
    let known = servers.iter().filter_map(|server| {
        let KnownServer { name, entry, .. } = server;
        let listing = saved_listings::load(data_dir, name, entry)?;
        let known = ServerCatalog::ingest(name, entry, listing);
        Some((name.clone(), Arc::new(known)))
    });
    known.collect()
}

/// The ledgers of these servers. Deletes those of all others.
fn load_ledgers(data_dir: &Path, servers: &[KnownServer]) -> BTreeMap<ServerName, Arc<Ledger>> {
    approvals::prune(data_dir, |name| {
        servers.iter().any(|server| server.name.as_str() == name)
    });
    let ledger = |server: &KnownServer| {
        let ledger = approvals::load(data_dir, &server.name);
        (server.name.clone(), Arc::new(ledger))
    };
    servers.iter().map(ledger).collect()
}

/// What is held of the known lists. Saves the ledgers that this changes.
fn judge_all(
    known: &BTreeMap<ServerName, Arc<ServerCatalog>>,
    pinning: &mut Pinning,
    saver: &Saver,
) -> BTreeMap<ServerName, Arc<Pins>> {
    let all_lists = AllLists::new(known);
    let judged = known.iter().map(|(name, server)| {
        let before = pinning.ledger(name);
        let judged = pinning.judge(server, &all_lists);
        if before != judged.ledger {
            saver.save_ledger(name.clone(), judged.ledger.clone(), None);
        }
        // The earlier run recorded what it held.
        pinning::note_held(name, None, &judged, &Activity::none());
        (name.clone(), judged)
    });
    judged.collect()
}

/// The habits of these servers, of those whose configuration is still the same.
fn load_habits(data_dir: &Path, servers: Vec<KnownServer>) -> KnownHabits {
    let known = servers.into_iter().map(|KnownServer { name, entry, .. }| {
        let habits = server_habits::load(data_dir, &name, &entry);
        (name, (entry, habits))
    });
    known.collect()
}
