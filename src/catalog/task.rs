//! The catalog's one writer, and the handle for everybody else.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use arc_swap::ArcSwap;
use tokio::sync::{Notify, broadcast, mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::{
    Listing, Searcher, ServerCatalog, Snapshot, asking, indexer::Indexer, last_known, saver::Saver,
};
use crate::{names::ServerName, sync::Guarded, wire::Raw};

/// Limit: lists that wait to be taken in. Workers wait when it is full.
const CAPACITY: usize = 64;

/// Limit: unread differences of a slow listener. It then learns that it missed some and treats all lists as changed.
const DIFFERENCES: usize = 64;

/// Limit: left out definitions of one listing that are logged one by one.
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

    fn between(old: Option<&ServerCatalog>, new: Option<&ServerCatalog>) -> Self {
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

enum Command {
    Put {
        server: Arc<ServerCatalog>,
        done: oneshot::Sender<()>,
    },
    Keep {
        servers: Vec<ServerName>,
    },
}

impl Catalog {
    /// A catalog that begins with the last known lists of `servers` (name and fingerprint of the configuration).
    pub fn new(data_dir: PathBuf, servers: &[(ServerName, String)]) -> (Self, CatalogTask) {
        let known = servers.iter().filter_map(|(server, entry)| {
            let listing = last_known::load(&data_dir, server, entry)?;
            Some((
                server.clone(),
                Arc::new(ServerCatalog::ingest(server, entry, listing)),
            ))
        });
        let published = Arc::new(ArcSwap::from_pointee(Snapshot::new(0, known.collect())));
        let asking = servers
            .iter()
            .filter(|(server, entry)| asking::load(&data_dir, server, entry))
            .cloned();
        let asking = Guarded::new(asking.collect());
        let saver = Saver::new(data_dir);
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
        };
        (
            catalog,
            CatalogTask {
                indexer: Indexer {
                    snapshots: published.clone(),
                    searcher,
                    news: news.clone(),
                },
                published,
                news,
                inbox,
                differences,
                saver,
            },
        )
    }

    /// What is known now.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.published.load_full()
    }

    /// What is known now, without a reference count: for short use on the hot path.
    pub fn glance(&self) -> arc_swap::Guard<Arc<Snapshot>> {
        self.published.load()
    }

    /// The searcher. It is updated in the background and may be behind; [`Searcher::snapshot`] says which snapshot it covers.
    pub fn searcher(&self) -> Arc<Searcher> {
        self.searcher.load_full()
    }

    /// Replaces a server's last known lists; returns when the new ones are published. `None` while shutting down.
    pub async fn put(
        &self,
        server: &ServerName,
        entry: &str,
        listing: Listing,
    ) -> Option<Arc<ServerCatalog>> {
        let server = Self::read(server, entry, listing).await?;
        let (done, published) = oneshot::channel();
        let command = Command::Put {
            server: server.clone(),
            done,
        };
        self.commands.send(command).await.ok()?;
        published.await.ok().map(|()| server)
    }

    /// Reads the lists of one connection without publishing them as those of the server. `None` while shutting down.
    pub async fn read(
        server: &ServerName,
        entry: &str,
        listing: Listing,
    ) -> Option<Arc<ServerCatalog>> {
        // Long lists take time, which must not delay other tasks.
        let (server, entry) = (server.clone(), entry.to_owned());
        let reading = move || Arc::new(ServerCatalog::ingest(&server, &entry, listing));
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

    /// Forgets every server but these.
    pub async fn keep(&self, servers: Vec<ServerName>) {
        self.asking.lock().retain(|name, _| servers.contains(name));
        // The task is gone only while shutting down.
        let _ = self.commands.send(Command::Keep { servers }).await;
    }

    /// Receives every change from now on.
    pub fn differences(&self) -> broadcast::Receiver<Difference> {
        self.differences.subscribe()
    }
}

/// The one writer.
pub struct CatalogTask {
    published: Arc<ArcSwap<Snapshot>>,
    indexer: Indexer,
    /// Wakes the indexer.
    news: Arc<Notify>,
    inbox: mpsc::Receiver<Command>,
    differences: broadcast::Sender<Difference>,
    saver: Saver,
}

impl CatalogTask {
    /// Runs until shutdown, indexer and saver beside it.
    pub async fn run(self, shutdown: CancellationToken) {
        let indexer = self.indexer.clone().run(shutdown.clone());
        let saver = self.saver.clone().run(shutdown.clone());
        tokio::join!(self.follow_commands(shutdown), indexer, saver);
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
                Some(Command::Keep { servers }) => self.keep(servers),
            }
        }
    }

    fn put(&self, new: Arc<ServerCatalog>, done: oneshot::Sender<()>) {
        let (old, server) = (self.published.load_full(), &new.server);
        for problem in new.problems.iter().take(SHOWN_PROBLEMS) {
            tracing::warn!(%server, problem = %problem.0, "a definition was left out");
        }
        if let Some(more @ 1..) = new.problems.len().checked_sub(SHOWN_PROBLEMS) {
            tracing::warn!(%server, more, "further definitions were left out");
        }
        let before = old.servers.get(server).map(AsRef::as_ref);
        let difference = Difference::between(before, Some(&new));
        let changed = changed_tools(before, &new);
        let tools = new.tools.len();
        // Of the first lists of a connection its worker tells, and of what is indexed the index.
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
        if news {
            let mut servers = old.servers.clone();
            servers.insert(server.clone(), new.clone());
            self.publish(old.generation + 1, servers);
        }
        // The worker may have been replaced meanwhile; then nobody waits.
        let _ = done.send(());
        self.announce(difference);
        if news {
            self.saver.save(new);
        }
    }

    fn keep(&self, names: Vec<ServerName>) {
        let old = self.published.load_full();
        let (kept, gone): (Vec<_>, Vec<_>) = old
            .servers
            .iter()
            .map(|(n, s)| (n.clone(), s.clone()))
            .partition(|(name, _)| names.contains(name));
        let difference = gone.iter().fold(Difference::default(), |sum, (_, server)| {
            let one = Difference::between(Some(server), None);
            Difference {
                tools: sum.tools || one.tools,
                prompts: sum.prompts || one.prompts,
                resources: sum.resources || one.resources,
            }
        });
        if !gone.is_empty() {
            self.publish(old.generation + 1, kept.into_iter().collect());
        }
        self.saver.keep(names);
        self.announce(difference);
    }

    fn publish(&self, generation: u64, servers: BTreeMap<ServerName, Arc<ServerCatalog>>) {
        self.published
            .store(Arc::new(Snapshot::new(generation, servers)));
        self.news.notify_one();
    }

    fn announce(&self, difference: Difference) {
        if !difference.is_empty() {
            // There may be no listener.
            let _ = self.differences.send(difference);
        }
    }
}

/// How many tools are new or have another fingerprint.
fn changed_tools(before: Option<&ServerCatalog>, after: &ServerCatalog) -> usize {
    let same = |name: &str, fingerprint| {
        before
            .and_then(|b| b.tool(name))
            .is_some_and(|tool| tool.fingerprint == fingerprint)
    };
    after
        .tools
        .iter()
        .filter(|tool| !same(&tool.name, tool.fingerprint))
        .count()
}
