//! The catalog's one writer, and the handle for everybody else.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::Arc,
};

use arc_swap::ArcSwap;
use tokio::sync::{Notify, broadcast, mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::{
    ApprovalRequest, Listing, OwnKey, Searcher, ServerCatalog, Snapshot, asking_servers,
    indexer::Indexer,
    own_listings::{OwnListing, OwnListings, Seen},
    pinning::{self, Pinning},
    saved_listings,
    saver::Saver,
};
use crate::{
    access::Caller,
    activity::Activity,
    failure::error_code::{ErrorCode, Failure},
    runtime::sync::Guarded,
    text::names::ServerName,
    trust::approvals::{self, Lock, PinPolicy, Pins},
    wire::Raw,
};

/// Limit: lists that wait to be taken in. Workers wait when it is full.
const CAPACITY: usize = 64;

/// Limit: unread differences of a slow listener. It then learns that it missed some and treats all lists as changed.
const DIFFERENCES: usize = 64;

/// Left out definitions of one listing that are logged one by one.
const SHOWN_PROBLEMS: usize = 10;

/// Reads and feeds the catalog. Cheap to clone.
#[derive(Clone)]
pub struct Catalog {
    published: Arc<ArcSwap<Snapshot>>,
    searcher: Arc<ArcSwap<Searcher>>,
    commands: mpsc::Sender<Command>,
    differences: broadcast::Sender<Difference>,
    /// The servers that ask clients, each with the fingerprint of its configuration.
    asking: Arc<Guarded<BTreeMap<ServerName, String>>>,
    saver: Saver,
    own: OwnListings,
}

/// What a new snapshot changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Difference {
    /// The tools are others.
    pub tools: bool,
    /// The prompts are others.
    pub prompts: bool,
    /// Resources or templates are others.
    pub resources: bool,
}

impl Difference {
    /// Nothing changed.
    pub fn is_empty(self) -> bool {
        self == Self::default()
    }

    /// What is held is another: any list may show something else.
    pub(super) const WHATEVER: Self = Self {
        tools: true,
        prompts: true,
        resources: true,
    };

    pub(super) fn between(old: Option<&ServerCatalog>, new: Option<&ServerCatalog>) -> Self {
        let differ = |list: fn(&Listing) -> &[Raw]| {
            let [old, new] = [old, new].map(|s| s.map_or(&[][..], |s| list(&s.listing)));
            old != new
        };
        Self {
            tools: differ(|l| &l.tools),
            prompts: differ(|l| &l.prompts),
            resources: differ(|l| &l.resources) || differ(|l| &l.templates),
        }
    }
}

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

/// The lists are published; where the ledger changed, a receiver of the outcome on disk.
pub(super) type Published = Option<oneshot::Receiver<Result<(), Failure>>>;

enum Command {
    Put {
        server: Arc<ServerCatalog>,
        done: oneshot::Sender<Published>,
    },
    /// Lists of some clients only.
    Judge {
        server: Arc<ServerCatalog>,
        done: oneshot::Sender<Arc<Pins>>,
    },
    Keep {
        servers: Vec<(ServerName, PinPolicy)>,
    },
    Approve {
        request: ApprovalRequest,
        done: oneshot::Sender<Result<(), Failure>>,
    },
    Forget {
        server: ServerName,
    },
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
        let known = servers
            .iter()
            .filter_map(|KnownServer { name, entry, .. }| {
                let listing = saved_listings::load(data_dir, name, entry)?;
                let known = ServerCatalog::ingest(name, entry, listing);
                Some((name.clone(), Arc::new(known)))
            });
        let known: BTreeMap<_, _> = known.collect();
        let ledger = |server: &KnownServer| {
            let ledger = approvals::load(data_dir, &server.name);
            (server.name.clone(), Arc::new(ledger))
        };
        approvals::prune(data_dir, |name| {
            servers.iter().any(|server| server.name.as_str() == name)
        });
        let mut pinning = Pinning {
            ledgers: servers.iter().map(ledger).collect(),
            policies: servers.iter().map(|s| (s.name.clone(), s.policy)).collect(),
            data_dir: data_dir.to_owned(),
            lock: lock.map(Arc::new),
            forgotten: BTreeSet::new(),
        };
        let saver = Saver::new(data_dir.to_owned());
        let mut pins = BTreeMap::new();
        for server in known.values() {
            let before = pinning.ledger(&server.server);
            let judged = pinning.judge(server, &known);
            if before != judged.ledger {
                saver.save_ledger(server.server.clone(), judged.ledger.clone(), None);
            }
            // Of what was held in an earlier run there is a record.
            pinning::note_held(&server.server, None, &judged, &Activity::none());
            pins.insert(server.server.clone(), judged);
        }
        let first = Snapshot::judged(0, known, pins, pinning.lock.clone());
        let published = Arc::new(ArcSwap::from_pointee(first));
        let asking = servers
            .into_iter()
            .map(|server| (server.name, server.entry));
        let asking = asking.filter(|(server, entry)| asking_servers::load(data_dir, server, entry));
        let asking = Guarded::new(asking.collect());
        let searcher = Arc::new(ArcSwap::from_pointee(Searcher::default()));
        let news = Arc::new(Notify::new());
        let (commands, inbox) = mpsc::channel(CAPACITY);
        let (differences, _) = broadcast::channel(DIFFERENCES);
        let catalog = Self {
            published: published.clone(),
            searcher: searcher.clone(),
            commands,
            differences: differences.clone(),
            asking: Arc::new(asking),
            saver: saver.clone(),
            own: OwnListings::default(),
        };
        let indexer = Indexer {
            snapshots: published.clone(),
            searcher,
            news: news.clone(),
        };
        let task = CatalogTask {
            published,
            indexer,
            news,
            inbox,
            differences,
            saver,
            pinning,
            activity: Activity::none(),
        };
        (catalog, task)
    }

    /// What is known now.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.published.load_full()
    }

    /// What is known now, without a reference count: for short use on the hot path.
    pub fn glance(&self) -> arc_swap::Guard<Arc<Snapshot>> {
        self.published.load()
    }

    /// What this caller sees: where its client has connections of its own to servers, what they list there.
    pub fn seen_by(&self, caller: &Caller) -> Seen {
        let shared = self.published.load();
        match self.own.seen_by(caller, &shared) {
            Some(own) => Seen::Own(own),
            None => Seen::Shared(shared),
        }
    }

    /// The searcher. It is updated in the background and may be behind; [`Searcher::snapshot`] says which snapshot it covers.
    pub fn searcher(&self) -> Arc<Searcher> {
        self.searcher.load_full()
    }

    /// The same for what this caller sees. Blocks where its client sees tools that not everybody does, and nobody has searched them yet.
    pub fn searcher_for(&self, caller: &Caller) -> Arc<Searcher> {
        let own = match self.seen_by(caller) {
            Seen::Own(own) => own.searcher(),
            Seen::Shared(_) => None,
        };
        own.unwrap_or_else(|| self.searcher())
    }

    /// Whether that would not block.
    pub fn is_indexed_for(&self, caller: &Caller) -> bool {
        match self.seen_by(caller) {
            Seen::Own(own) => own.is_indexed(),
            Seen::Shared(_) => true,
        }
    }

    /// Replaces a server's last known lists; returns when the new ones are published, and what was learnt from them about trust is on disk:
    /// a daemon that is killed after the first call must not take another definition for the first. `None` while shutting down.
    pub async fn put(
        &self,
        server: &ServerName,
        entry: &str,
        listing: Listing,
    ) -> Option<Arc<ServerCatalog>> {
        let known = Some(self.snapshot());
        let server = Self::read_beside(server, entry, listing, known).await?;
        let (done, published) = oneshot::channel();
        let command = Command::Put {
            server: server.clone(),
            done,
        };
        self.commands.send(command).await.ok()?;
        if let Some(saved) = published.await.ok()? {
            // What could not be saved is logged, and counts as long as the daemon runs: a full disk stops nobody.
            let _ = saved.await;
        }
        Some(server)
    }

    /// Compares what a server lists over a connection of some clients with what was approved of it. What is new there is learnt as
    /// anywhere. `None` while shutting down.
    pub async fn judge_own(&self, catalog: Arc<ServerCatalog>) -> Option<OwnListing> {
        let (done, judged) = oneshot::channel();
        let server = catalog.clone();
        let command = Command::Judge { server, done };
        self.commands.send(command).await.ok()?;
        let pins = judged.await.ok()?;
        Some(OwnListing { catalog, pins })
    }

    /// From now on these clients see this listing of a server, or what everybody sees.
    pub fn set_own(&self, server: &ServerName, key: &OwnKey, listing: Option<OwnListing>) {
        if self.own.set(server, key, listing.map(Arc::new)) {
            // There may be no listener.
            let _ = self.differences.send(Difference::WHATEVER);
        }
    }

    /// Reads the lists of one connection without publishing them as those of the server. `None` while shutting down.
    pub async fn read(
        server: &ServerName,
        entry: &str,
        listing: Listing,
    ) -> Option<Arc<ServerCatalog>> {
        Self::read_beside(server, entry, listing, None).await
    }

    /// The same, and asks the scanner about what is new beside what is known.
    async fn read_beside(
        server: &ServerName,
        entry: &str,
        listing: Listing,
        known: Option<Arc<Snapshot>>,
    ) -> Option<Arc<ServerCatalog>> {
        // Long lists take time, which must not delay other tasks.
        let (server, entry) = (server.clone(), entry.to_owned());
        let reading = move || {
            let read = ServerCatalog::ingest(&server, &entry, listing);
            if let Some(known) = known {
                pinning::scan_what_is_new(&read, &known);
            }
            Arc::new(read)
        };
        tokio::task::spawn_blocking(reading).await.ok()
    }

    /// Notes, for later starts too, that a server under this configuration asks clients something.
    pub fn note_asking(&self, server: &ServerName, entry: &str) {
        let mut asking = self.asking.lock();
        asking.insert(server.clone(), entry.to_owned());
        drop(asking);
        self.saver.save_asking(server.clone(), entry.to_owned());
    }

    /// Whether that has been noted.
    pub fn is_asking(&self, server: &ServerName, entry: &str) -> bool {
        self.asking.lock().get(server).is_some_and(|of| of == entry)
    }

    /// Forgets every server but these, whose definitions are treated like this from now on.
    pub async fn keep(&self, servers: Vec<(ServerName, PinPolicy)>) {
        let is_kept = |name: &ServerName| servers.iter().any(|(kept, _)| kept == name);
        self.asking.lock().retain(|name, _| is_kept(name));
        // The task is gone only while shutting down.
        let _ = self.commands.send(Command::Keep { servers }).await;
    }

    /// Takes what a person saw for approved, if it still is what is listed. Returns when that is published and on disk.
    pub async fn approve(&self, request: ApprovalRequest) -> Result<(), Failure> {
        let ending = || {
            let error = "the daemon is shutting down";
            Failure::new(ErrorCode::ShuttingDown, error, "Start it again.")
        };
        let (done, approved) = oneshot::channel();
        let command = Command::Approve { request, done };
        self.commands.send(command).await.map_err(|_| ending())?;
        approved.await.map_err(|_| ending())?
    }

    /// Forgets what was approved of a server that a person took out.
    pub async fn forget_approvals(&self, server: ServerName) {
        // The task is gone only while shutting down.
        let _ = self.commands.send(Command::Forget { server }).await;
    }

    /// Receives every change from now on.
    pub fn differences(&self) -> broadcast::Receiver<Difference> {
        self.differences.subscribe()
    }
}

/// The one writer.
pub struct CatalogTask {
    pub(super) published: Arc<ArcSwap<Snapshot>>,
    indexer: Indexer,
    /// Wakes the indexer.
    news: Arc<Notify>,
    inbox: mpsc::Receiver<Command>,
    differences: broadcast::Sender<Difference>,
    pub(super) saver: Saver,
    pub(super) pinning: Pinning,
    pub(super) activity: Activity,
}

impl CatalogTask {
    /// The same, which notes here what is held from now on.
    #[must_use]
    pub fn recording(self, activity: Activity) -> Self {
        Self { activity, ..self }
    }

    /// Runs until shutdown, indexer and saver beside it.
    pub async fn run(self, shutdown: CancellationToken) {
        let indexer = self.indexer.clone().run(shutdown.clone());
        // Only when nothing more is taken in: the saver's last turn answers all that wait for the disk.
        let ending = CancellationToken::new();
        let saver = self.saver.clone().run(ending.clone());
        let following = async {
            self.follow_commands(shutdown).await;
            ending.cancel();
        };
        tokio::join!(following, indexer, saver);
    }

    async fn follow_commands(mut self, shutdown: CancellationToken) {
        loop {
            let command = tokio::select! {
                () = shutdown.cancelled() => return,
                command = self.inbox.recv() => command,
            };
            match command {
                None => return,
                Some(Command::Put { server, done }) => self.put(server, done),
                Some(Command::Judge { server, done }) => {
                    // The worker may have been stopped meanwhile.
                    let _ = done.send(self.judge_own(&server));
                }
                Some(Command::Keep { servers }) => self.keep(servers).await,
                Some(Command::Approve { request, done }) => self.approve(&request, done),
                Some(Command::Forget { server }) => {
                    self.pinning.forget(&server);
                    self.saver.forget_ledger(server);
                }
            }
        }
    }

    fn put(&mut self, new: Arc<ServerCatalog>, done: oneshot::Sender<Published>) {
        let (old, server) = (self.published.load_full(), &new.server);
        if !self.pinning.policies.contains_key(server) {
            // It was taken out while its worker still listed it.
            tracing::debug!(%server, "the lists of a server that is no longer wanted are dropped");
            let _ = done.send(None);
            return;
        }
        for problem in new.problems.iter().take(SHOWN_PROBLEMS) {
            tracing::warn!(%server, problem = problem.why, "a definition was left out");
        }
        if let Some(more @ 1..) = new.problems.len().checked_sub(SHOWN_PROBLEMS) {
            tracing::warn!(%server, more, "further definitions were left out");
        }
        let before = old.servers.get(server).map(AsRef::as_ref);
        let difference = Difference::between(before, Some(&new));
        let changed = new.changed_tools(before);
        let tools = new.tools.len();
        // The worker announces the first lists of a connection, and the index its own work.
        if before.is_some() && changed > 0 {
            tracing::info!(%server, tools, changed, "tools listed");
        } else {
            tracing::debug!(%server, tools, changed, "tools listed");
        }
        // The first lists of an empty server are no difference, but they must be published and saved.
        let news = !difference.is_empty()
            || before.is_none_or(|b| {
                b.entry != new.entry || b.listing.initialize != new.listing.initialize
            });
        let mut servers = old.servers.clone();
        servers.insert(server.clone(), new.clone());
        let (pins, saved) = self.judged_and_saved(&new, &servers, &old);
        let is_held_as_before = pins.is_none();
        if news || !is_held_as_before {
            let mut all = old.pins.clone();
            all.extend(pins.map(|pins| (server.clone(), pins)));
            self.publish(old.generation + 1, servers, all);
        }
        // The worker may have been replaced meanwhile; then nobody waits.
        let _ = done.send(saved);
        self.announce(if is_held_as_before {
            difference
        } else {
            Difference::WHATEVER
        });
        if news {
            self.saver.save(new);
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
        self.published.store(Arc::new(snapshot));
        self.news.notify_one();
    }

    pub(super) fn announce(&self, difference: Difference) {
        if !difference.is_empty() {
            // There may be no listener.
            let _ = self.differences.send(difference);
        }
    }
}

#[cfg(test)]
mod tests;
