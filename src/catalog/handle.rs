//! The catalog as everybody but its task has it: reads what is published, and sends the task what is to be taken in.

use std::{collections::BTreeMap, sync::Arc};

use arc_swap::ArcSwap;
use tokio::sync::{SetOnce, broadcast, mpsc, oneshot};

use super::{
    ApprovalRequest, ApprovalWithdrawal, Difference, Listing, OwnDifference, OwnKey, OwnListing,
    Searcher, SeenSnapshot, ServerCatalog, ServerHabits, Snapshot, own_listings::OwnListings,
    pinning, saver::Saver,
};
use crate::{
    access::Caller,
    failure::{ErrorCode, Failure, Result},
    runtime::sync::Guarded,
    text::ServerName,
    trust::approvals::{ApprovalStep, PinPolicy, Pins},
};

/// What was found out about servers, each with the fingerprint of its configuration.
pub(super) type KnownHabits = Arc<Guarded<BTreeMap<ServerName, (String, ServerHabits)>>>;

/// Reads and feeds the catalog. Cheap to clone.
#[derive(Clone)]
pub struct Catalog {
    pub(super) published: Arc<ArcSwap<Snapshot>>,
    pub(super) searcher: Arc<ArcSwap<Searcher>>,
    pub(super) is_index_wanted: Arc<SetOnce<()>>,
    pub(super) is_indexed: Arc<SetOnce<()>>,
    pub(super) commands: mpsc::Sender<CatalogCommand>,
    pub(super) differences: broadcast::Sender<Difference>,
    pub(super) own_differences: broadcast::Sender<OwnDifference>,
    pub(super) habits: KnownHabits,
    pub(super) saver: Saver,
    pub(super) own: OwnListings,
    pub(super) is_read: Arc<SetOnce<()>>,
}

/// The lists are published; where the ledger changed, a receiver of the outcome on disk.
pub(super) type Published = Option<oneshot::Receiver<Result>>;

/// What a decision changed of the ledger, and a receiver of the outcome on disk.
pub(super) type Decided = Result<(ApprovalStep, oneshot::Receiver<Result>)>;

/// What the task is to do.
pub(super) enum CatalogCommand {
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
        done: oneshot::Sender<Decided>,
    },
    Withdraw {
        withdrawal: ApprovalWithdrawal,
        done: oneshot::Sender<Decided>,
    },
    Forget {
        server: ServerName,
    },
}

impl Catalog {
    /// Returns when the last known lists are read.
    pub async fn read_first(&self) {
        self.is_read.wait().await;
    }

    /// Has what is known indexed from now on: somebody is going to search.
    pub fn index_soon(&self) {
        // It is set once.
        let _ = self.is_index_wanted.set(());
    }

    /// The same; returns when that has been done once, or cannot be.
    pub async fn index_first(&self) {
        self.index_soon();
        self.is_indexed.wait().await;
    }

    /// What is known now.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.published.load_full()
    }

    /// What is known now, without a reference count: for short use on the hot path.
    pub fn glance(&self) -> arc_swap::Guard<Arc<Snapshot>> {
        self.published.load()
    }

    /// The searcher: of nothing before [`Catalog::index_first`]. It is updated in the background and may be behind;
    /// [`Searcher::snapshot`] says which snapshot it covers.
    pub fn searcher(&self) -> Arc<Searcher> {
        self.searcher.load_full()
    }

    /// Replaces a server's last known lists; returns when the new ones are published, and what was learnt from them about trust is on disk:
    /// a daemon that is killed after the first call must not take another definition for the first. `None` while shutting down.
    pub async fn put(
        &self,
        server: &ServerName,
        entry: &str,
        listing: Listing,
    ) -> Option<Arc<ServerCatalog>> {
        let server = self.read(server, entry, listing).await?;
        let (done, published) = oneshot::channel();
        let command = CatalogCommand::Put {
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

    /// Reads lists without publishing them, and asks the scanner about what is new in them. `None` while shutting down.
    pub async fn read(
        &self,
        server: &ServerName,
        entry: &str,
        listing: Listing,
    ) -> Option<Arc<ServerCatalog>> {
        // Long lists take time, which must not delay other tasks.
        let (server, entry, known) = (server.clone(), entry.to_owned(), self.snapshot());
        let reading = move || {
            let read = ServerCatalog::ingest(&server, &entry, listing);
            pinning::scan_what_is_new(&read, &known);
            Arc::new(read)
        };
        tokio::task::spawn_blocking(reading).await.ok()
    }

    /// Notes, for later starts too, what was found out about a server under this configuration.
    pub fn note_habits(&self, server: &ServerName, entry: &str, habits: ServerHabits) {
        let known = (entry.to_owned(), habits);
        self.habits.lock().insert(server.clone(), known);
        self.saver
            .save_habits(server.clone(), entry.to_owned(), habits);
    }

    /// What has been noted.
    pub fn habits(&self, server: &ServerName, entry: &str) -> ServerHabits {
        let habits = self.habits.lock();
        let known = habits.get(server).filter(|(of, _)| of == entry);
        known.map(|(_, habits)| *habits).unwrap_or_default()
    }

    /// Forgets every server but these, whose definitions are treated like this from now on.
    pub async fn keep(&self, servers: Vec<(ServerName, PinPolicy)>) {
        let is_kept = |name: &ServerName| servers.iter().any(|(kept, _)| kept == name);
        self.habits.lock().retain(|name, _| is_kept(name));
        // The task is gone only while shutting down.
        let _ = self.commands.send(CatalogCommand::Keep { servers }).await;
    }

    /// Takes what a person saw for approved, if it still is what is listed. Returns when that is published and on disk.
    pub async fn approve(&self, request: ApprovalRequest) -> Result<ApprovalStep> {
        self.decide(|done| CatalogCommand::Approve { request, done })
            .await
    }

    /// Takes approvals back, if nothing later was decided about the same. Returns when that is published and on disk.
    pub async fn withdraw(&self, withdrawal: ApprovalWithdrawal) -> Result<ApprovalStep> {
        self.decide(|done| CatalogCommand::Withdraw { withdrawal, done })
            .await
    }

    async fn decide(
        &self,
        command: impl FnOnce(oneshot::Sender<Decided>) -> CatalogCommand,
    ) -> Result<ApprovalStep> {
        let ending = || {
            let error = "the daemon is shutting down";
            Failure::new(ErrorCode::ShuttingDown, error, "Start it again.")
        };
        let (done, decided) = oneshot::channel();
        let sent = self.commands.send(command(done)).await;
        sent.map_err(|_| ending())?;
        let (step, saved) = decided.await.map_err(|_| ending())??;
        saved.await.map_err(|_| ending())??;
        Ok(step)
    }

    /// Forgets what was approved of a server that a person took out.
    pub async fn forget_approvals(&self, server: ServerName) {
        // The task is gone only while shutting down.
        let _ = self.commands.send(CatalogCommand::Forget { server }).await;
    }

    /// Receives every change from now on.
    pub fn differences(&self) -> broadcast::Receiver<Difference> {
        self.differences.subscribe()
    }

    /// Receives every change of what servers list to one client alone.
    pub fn own_differences(&self) -> broadcast::Receiver<OwnDifference> {
        self.own_differences.subscribe()
    }

    /// What this caller sees: where its client has connections of its own to servers, what they list there.
    pub fn seen_by(&self, caller: &Caller) -> SeenSnapshot {
        let shared = self.glance();
        match self.own.seen_by(caller, &shared) {
            Some(own) => SeenSnapshot::Own(own),
            None => SeenSnapshot::Shared(shared),
        }
    }

    /// The searcher of what this caller sees. Blocks where its client sees tools that not everybody does, and nobody has searched them
    /// yet.
    pub fn searcher_for(&self, caller: &Caller) -> Arc<Searcher> {
        let own = match self.seen_by(caller) {
            SeenSnapshot::Own(own) => own.searcher(),
            SeenSnapshot::Shared(_) => None,
        };
        own.unwrap_or_else(|| self.searcher())
    }

    /// Whether that would not block.
    pub fn is_indexed_for(&self, caller: &Caller) -> bool {
        match self.seen_by(caller) {
            SeenSnapshot::Own(own) => own.is_indexed(),
            SeenSnapshot::Shared(_) => true,
        }
    }

    /// Compares what a server lists over a connection of some clients with what was approved of the server. What is new there is learnt as
    /// anywhere. `None` while shutting down.
    pub async fn judge_own(&self, catalog: Arc<ServerCatalog>) -> Option<OwnListing> {
        let (done, judged) = oneshot::channel();
        let command = CatalogCommand::Judge {
            server: catalog.clone(),
            done,
        };
        self.commands.send(command).await.ok()?;
        let pins = judged.await.ok()?;
        Some(OwnListing { catalog, pins })
    }

    /// From now on these clients see this listing of a server; without one, what everybody sees.
    pub fn set_own(&self, server: &ServerName, key: &OwnKey, listing: Option<OwnListing>) {
        let (before, now) = (self.own.get(server, key), listing.map(Arc::new));
        if !self.own.set(server, key, now.as_ref()) {
            return;
        }
        // There may be no listener.
        let _ = self.differences.send(Difference::WHATEVER);
        if let (OwnKey::User(user), Some(before), Some(now)) = (key, before, now) {
            let _ = self.own_differences.send(OwnDifference {
                server: server.clone(),
                client: user.client.clone(),
                difference: Difference::between(Some(&before.catalog), Some(&now.catalog)),
            });
        }
    }
}
