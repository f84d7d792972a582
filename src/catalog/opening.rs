//! Opens the catalog as the last run left it: reads the lists and ledgers, and makes the handle and the task over them.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::Arc,
};

use arc_swap::ArcSwap;
use tokio::sync::{broadcast, mpsc};

use super::{
    Catalog, CatalogTask, ServerCatalog, ServerHabits, Snapshot,
    indexer::Indexer,
    own_listings::OwnListings,
    pinning::{self, Beside, Pinning},
    saved_listings,
    saver::Saver,
    server_habits,
};
use crate::{
    activity::Activity,
    runtime::sync::Guarded,
    text::names::ServerName,
    trust::approvals::{self, Lock, PinPolicy, Pins},
};

/// Lists that wait to be taken in. Workers wait when it is full.
const CAPACITY: usize = 64;

/// Limit: unread differences of a slow listener. It then learns that it missed some and treats all lists as changed.
const DIFFERENCES: usize = 64;

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

impl Catalog {
    /// A catalog that begins with the last known lists of `servers` (name and fingerprint of the configuration), all of them trusted.
    pub fn new(
        data_dir: impl AsRef<Path>,
        servers: &[(ServerName, String)],
    ) -> (Self, CatalogTask) {
        let servers = servers.iter().map(|(name, entry)| KnownServer {
            name: name.clone(),
            entry: entry.clone(),
            policy: PinPolicy::Hold,
        });
        Self::open(data_dir.as_ref(), servers.collect(), None)
    }

    /// A catalog that begins with the last known lists of `servers`, compared with what was approved of them, or with the lock file.
    /// Blocks.
    pub fn open(
        data_dir: &Path,
        servers: Vec<KnownServer>,
        lock: Option<Lock>,
    ) -> (Self, CatalogTask) {
        let saver = Saver::new(data_dir.to_owned());
        let known = load_lists(data_dir, &servers);
        let mut pinning = load_ledgers(data_dir, &servers, lock);
        let pins = judge_all(&known, &mut pinning, &saver);
        let habits = Guarded::new(load_habits(data_dir, servers));
        let first = Snapshot::judged(0, known, pins, pinning.lock.clone());
        let published = Arc::new(ArcSwap::from_pointee(first));
        let indexer = Indexer {
            snapshots: published.clone(),
            searcher: Arc::default(),
            news: Arc::default(),
        };
        let (commands, inbox) = mpsc::channel(CAPACITY);
        let (differences, _) = broadcast::channel(DIFFERENCES);
        let catalog = Self {
            published: published.clone(),
            searcher: indexer.searcher.clone(),
            commands,
            differences: differences.clone(),
            own_differences: broadcast::channel(DIFFERENCES).0,
            habits: Arc::new(habits),
            saver: saver.clone(),
            own: OwnListings::default(),
        };
        let own = catalog.own.clone();
        let task = CatalogTask {
            published,
            indexer,
            inbox,
            differences,
            saver,
            own,
            pinning,
            activity: Activity::none(),
        };
        (catalog, task)
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

/// What was approved of these servers. Of all others that is deleted.
fn load_ledgers(data_dir: &Path, servers: &[KnownServer], lock: Option<Lock>) -> Pinning {
    approvals::prune(data_dir, |name| {
        servers.iter().any(|server| server.name.as_str() == name)
    });
    let ledger = |server: &KnownServer| {
        let ledger = approvals::load(data_dir, &server.name);
        (server.name.clone(), Arc::new(ledger))
    };
    Pinning {
        ledgers: servers.iter().map(ledger).collect(),
        policies: servers.iter().map(|s| (s.name.clone(), s.policy)).collect(),
        data_dir: data_dir.to_owned(),
        lock: lock.map(Arc::new),
        forgotten: BTreeSet::new(),
    }
}

/// What is held of the known lists. Ledgers that this changes are saved.
fn judge_all(
    known: &BTreeMap<ServerName, Arc<ServerCatalog>>,
    pinning: &mut Pinning,
    saver: &Saver,
) -> BTreeMap<ServerName, Arc<Pins>> {
    let beside = Beside::new(known);
    let judged = known.iter().map(|(name, server)| {
        let before = pinning.ledger(name);
        let judged = pinning.judge(server, &beside);
        if before != judged.ledger {
            saver.save_ledger(name.clone(), judged.ledger.clone(), None);
        }
        // Of what was held in an earlier run there is a record.
        pinning::note_held(name, None, &judged, &Activity::none());
        (name.clone(), judged)
    });
    judged.collect()
}

/// What was found out about these servers, of those whose configuration is still the same.
fn load_habits(
    data_dir: &Path,
    servers: Vec<KnownServer>,
) -> BTreeMap<ServerName, (String, ServerHabits)> {
    let known = servers.into_iter().map(|KnownServer { name, entry, .. }| {
        let habits = server_habits::load(data_dir, &name, &entry);
        (name, (entry, habits))
    });
    known.collect()
}
