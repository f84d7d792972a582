//! The handle of the catalog: reads what its task publishes, and sends it what changes.

use std::{collections::BTreeMap, sync::Arc};

use arc_swap::ArcSwap;
use tokio::sync::{Notify, SetOnce, broadcast, mpsc, oneshot};

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

/// The habits of servers, each with the fingerprint of the configuration under which they were found out.
pub(super) type KnownHabits = BTreeMap<ServerName, (String, ServerHabits)>;

/// Reads and feeds the catalog. Cheap to clone.
#[derive(Clone)]
pub struct Catalog {
    pub(super) state: Arc<CatalogState>,
    pub(super) commands: mpsc::Sender<CatalogCommand>,
}

/// What the handles, the task and the indexer share.
pub(super) struct CatalogState {
    /// Only the task stores snapshots.
    pub(super) published: ArcSwap<Snapshot>,
    /// Notifies the indexer of each published snapshot.
    pub(super) news: Notify,
    /// Only the indexer stores searchers.
    pub(super) searcher: ArcSwap<Searcher>,
    /// Set when somebody is going to search.
    pub(super) is_index_wanted: SetOnce<()>,
    /// Set when a snapshot is indexed, or could not be.
    pub(super) is_indexed: SetOnce<()>,
    /// Set when the last known lists are read.
    pub(super) is_read: SetOnce<()>,
    pub(super) differences: broadcast::Sender<Difference>,
    pub(super) own_differences: broadcast::Sender<OwnDifference>,
    pub(super) habits: Guarded<KnownHabits>,
    pub(super) saver: Saver,
    pub(super) own: OwnListings,
}

/// Sent when lists are published: where the ledger changed, a receiver of its outcome on disk.
pub(super) type Published = Option<oneshot::Receiver<Result>>;

/// A command to the task.
pub(super) enum CatalogCommand {
    Put {
        server: Arc<ServerCatalog>,
        done: oneshot::Sender<Published>,
    },
    /// Tells what is held of lists that only some clients see.
    Judge {
        server: Arc<ServerCatalog>,
        done: oneshot::Sender<Arc<Pins>>,
    },
    Keep {
        servers: Vec<(ServerName, PinPolicy)>,
    },
    Approve {
        request: ApprovalRequest,
        done: oneshot::Sender<Result<ApprovalStep>>,
    },
    Withdraw {
        withdrawal: ApprovalWithdrawal,
        done: oneshot::Sender<Result<ApprovalStep>>,
    },
    Forget {
        server: ServerName,
    },
}

/// The failure of a decision that comes too late.
pub(super) fn ending() -> Failure {
    let error = "the daemon is shutting down";
    Failure::new(ErrorCode::ShuttingDown, error, "Start it again.")
}

impl Catalog {
    /// Returns when the last known lists are read.
    pub async fn read_first(&self) {
        self.state.is_read.wait().await;
    }

    /// Starts the index, which then follows the snapshots: somebody is going to search.
    pub fn index_soon(&self) {
        // It is set once.
        let _ = self.state.is_index_wanted.set(());
    }

    /// Starts the index, and returns when it covers a snapshot, or could not be made.
    pub async fn index_first(&self) {
        self.index_soon();
        self.state.is_indexed.wait().await;
    }

    /// What is known now.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.state.published.load_full()
    }

    /// The same without a reference count: for short use on the hot path.
    pub fn glance(&self) -> arc_swap::Guard<Arc<Snapshot>> {
        self.state.published.load()
    }

    /// The searcher: of nothing before [`Catalog::index_first`]. It is updated in the background and may be behind;
    /// [`Searcher::snapshot`] says which snapshot it covers.
    pub fn searcher(&self) -> Arc<Searcher> {
        self.state.searcher.load_full()
    }

    /// Replaces a server's last known lists. Returns when the new ones are published and the ledger is on disk: a daemon that is killed after
    /// the first call must not trust a changed definition as the first one. `None` while shutting down.
    pub async fn put(
        &self,
        server: &ServerName,
        entry: &str,
        listing: Listing,
    ) -> Option<Arc<ServerCatalog>> {
        let server = self.read(server, entry, listing).await?;
        let new = server.clone();
        let put = self.outcome(|done| CatalogCommand::Put { server: new, done });
        if let Some(saved) = put.await? {
            // A ledger that could not be saved is logged, and in force until the daemon ends: a full disk stops no calls.
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

    /// Notes the habits of a server under this configuration, for later starts too.
    pub fn note_habits(&self, server: &ServerName, entry: &str, habits: ServerHabits) {
        let known = (entry.to_owned(), habits);
        self.state.habits.lock().insert(server.clone(), known);
        let saver = &self.state.saver;
        saver.save_habits(server.clone(), entry.to_owned(), habits);
    }

    /// The noted habits of a server under this configuration.
    pub fn habits(&self, server: &ServerName, entry: &str) -> ServerHabits {
        let habits = self.state.habits.lock();
        let known = habits.get(server).filter(|(of, _)| of == entry);
        known.map(|(_, habits)| *habits).unwrap_or_default()
    }

    /// Forgets every server but these, which have these policies from now on.
    pub async fn keep(&self, servers: Vec<(ServerName, PinPolicy)>) {
        let is_kept = |name: &ServerName| servers.iter().any(|(kept, _)| kept == name);
        self.state.habits.lock().retain(|name, _| is_kept(name));
        // The task is gone only while shutting down.
        let _ = self.commands.send(CatalogCommand::Keep { servers }).await;
    }

    /// Approves what a person saw, if the server still lists it. Returns when that is published and on disk.
    pub async fn approve(&self, request: ApprovalRequest) -> Result<ApprovalStep> {
        let approved = self.outcome(|done| CatalogCommand::Approve { request, done });
        approved.await.ok_or_else(ending)?
    }

    /// Takes approvals back, if the same definitions were not decided about since. Returns when that is published and on disk.
    pub async fn withdraw(&self, withdrawal: ApprovalWithdrawal) -> Result<ApprovalStep> {
        let withdrawn = self.outcome(|done| CatalogCommand::Withdraw { withdrawal, done });
        withdrawn.await.ok_or_else(ending)?
    }

    /// What a command comes to; `None` while shutting down.
    async fn outcome<T>(
        &self,
        command: impl FnOnce(oneshot::Sender<T>) -> CatalogCommand,
    ) -> Option<T> {
        let (done, outcome) = oneshot::channel();
        self.commands.send(command(done)).await.ok()?;
        outcome.await.ok()
    }

    /// Forgets what was approved of a server that a person removed.
    pub async fn forget_approvals(&self, server: ServerName) {
        // The task is gone only while shutting down.
        let _ = self.commands.send(CatalogCommand::Forget { server }).await;
    }

    /// Receives every change from now on.
    pub fn differences(&self) -> broadcast::Receiver<Difference> {
        self.state.differences.subscribe()
    }

    /// Receives every change of what servers list to one client alone.
    pub fn own_differences(&self) -> broadcast::Receiver<OwnDifference> {
        self.state.own_differences.subscribe()
    }

    /// The snapshot that this caller sees, with what servers list on connections of its client's own.
    pub fn seen_by(&self, caller: &Caller) -> SeenSnapshot {
        let shared = self.glance();
        match self.state.own.seen_by(caller, &shared) {
            Some(own) => SeenSnapshot::Own(own),
            None => SeenSnapshot::Shared(shared),
        }
    }

    /// The searcher of the snapshot that this caller sees. Blocks where that has tools that not everybody sees and is not indexed yet.
    pub fn searcher_for(&self, caller: &Caller) -> Arc<Searcher> {
        let own = match self.seen_by(caller) {
            SeenSnapshot::Own(own) => own.searcher(),
            SeenSnapshot::Shared(_) => None,
        };
        own.unwrap_or_else(|| self.searcher())
    }

    /// Whether [`Catalog::searcher_for`] would not block.
    pub fn is_indexed_for(&self, caller: &Caller) -> bool {
        match self.seen_by(caller) {
            SeenSnapshot::Own(own) => own.is_indexed(),
            SeenSnapshot::Shared(_) => true,
        }
    }

    /// Compares lists that only some clients see with what was approved of the server; new definitions are learnt as in other lists. `None`
    /// while shutting down.
    pub async fn judge_own(&self, catalog: Arc<ServerCatalog>) -> Option<OwnListing> {
        let server = catalog.clone();
        let judged = self.outcome(|done| CatalogCommand::Judge { server, done });
        let pins = judged.await?;
        Some(OwnListing { catalog, pins })
    }

    /// Gives these clients a listing of a server of their own; without one, they see what everybody sees.
    pub fn set_own(&self, server: &ServerName, key: &OwnKey, listing: Option<OwnListing>) {
        let (before, now) = (self.state.own.get(server, key), listing.map(Arc::new));
        if !self.state.own.set(server, key, now.as_ref()) {
            return;
        }
        // There may be no listener.
        let _ = self.state.differences.send(Difference::WHATEVER);
        if let (OwnKey::User(user), Some(before), Some(now)) = (key, before, now) {
            let _ = self.state.own_differences.send(OwnDifference {
                server: server.clone(),
                client: user.client.clone(),
                difference: Difference::between(Some(&before.catalog), Some(&now.catalog)),
            });
        }
    }
}
