//! Lists that only some clients see, because a server gave them on a connection that not all clients share, and the snapshots of single
//! clients, in which these lists replace those that everybody sees.

use std::{
    collections::{BTreeMap, HashMap},
    ops::Deref,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
};

use arc_swap::ArcSwap;

use super::{Searcher, ServerCatalog, Snapshot, Writer, snapshot::FIRST_OWN};
use crate::{
    access::{Caller, ClientSeat, InstanceUser},
    runtime::sync::Guarded,
    text::names::ServerName,
    trust::approvals::Pins,
};

/// Limit: snapshots of single clients that are kept. Older ones are made again when they are needed.
const KEPT: usize = 64;

/// The clients that see a list of their own.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum OwnKey {
    /// The client of a connection of its own.
    User(InstanceUser),
    /// All clients that cannot answer the server's questions.
    Unable,
    /// All clients with a handshake, where the others share a connection that was opened without one.
    Legacy,
}

/// What a server lists over a connection that not all clients share.
#[derive(Debug)]
pub struct OwnListing {
    /// The lists.
    pub catalog: Arc<ServerCatalog>,
    /// What of them is held.
    pub pins: Arc<Pins>,
}

type Table = BTreeMap<ServerName, HashMap<OwnKey, Arc<OwnListing>>>;

/// All lists that only some clients see.
#[derive(Default)]
pub(super) struct OwnListings {
    table: ArcSwap<Table>,
    kept: Guarded<Vec<Arc<OwnSnapshot>>>,
    made: AtomicU64,
}

/// A snapshot as some clients see it, and what it was made of.
pub struct OwnSnapshot {
    base: Arc<Snapshot>,
    own: Vec<Arc<OwnListing>>,
    made: Arc<Snapshot>,
    /// Made on first use; `None` if it has no tools that not everybody sees.
    searcher: Option<OnceLock<Arc<Searcher>>>,
}

impl OwnSnapshot {
    fn new(base: &Arc<Snapshot>, own: Vec<Arc<OwnListing>>, number: u64) -> Self {
        let is_unknown = |catalog: &ServerCatalog| {
            let known = base.servers.get(&catalog.server);
            let mut tools = catalog.tools.iter();
            tools.any(|tool| known.is_none_or(|known| known.tool(&tool.name).is_none()))
        };
        let adds_tools = own.iter().any(|listing| is_unknown(&listing.catalog));
        Self {
            made: Arc::new(
                base.with_listings(number, own.iter().map(|one| (&one.catalog, &one.pins))),
            ),
            searcher: adds_tools.then(OnceLock::new),
            base: base.clone(),
            own,
        }
    }

    /// Whether [`OwnSnapshot::searcher`] does not block.
    pub(super) fn is_indexed(&self) -> bool {
        let of_its_own = self.searcher.as_ref();
        of_its_own.is_none_or(|searcher| searcher.get().is_some())
    }

    /// The searcher of its tools; `None` if everybody's finds them. Blocks on first use.
    pub(super) fn searcher(&self) -> Option<Arc<Searcher>> {
        let of_its_own = self.searcher.as_ref()?;
        if let Some(searcher) = of_its_own.get() {
            return Some(searcher.clone());
        }
        let indexed = Writer::new().and_then(|mut writer| writer.update(self.made.clone()));
        match indexed {
            Ok((searcher, _)) => Some(of_its_own.get_or_init(|| Arc::new(searcher)).clone()),
            Err(error) => {
                tracing::error!(%error, "the tools of one client could not be indexed");
                None
            }
        }
    }
}

/// What a caller sees, for short use on the hot path.
pub enum SeenSnapshot {
    /// What everybody sees; without a reference count.
    Shared(arc_swap::Guard<Arc<Snapshot>>),
    /// What its client alone sees.
    Own(Arc<OwnSnapshot>),
}

impl Deref for SeenSnapshot {
    type Target = Arc<Snapshot>;

    fn deref(&self) -> &Self::Target {
        match self {
            Self::Shared(snapshot) => snapshot,
            Self::Own(own) => &own.made,
        }
    }
}

impl OwnListings {
    /// Replaces the list of these clients, or removes it. Gives whether anything changed.
    pub(super) fn set(
        &self,
        server: &ServerName,
        key: &OwnKey,
        listing: Option<&Arc<OwnListing>>,
    ) -> bool {
        if listing.is_none() && self.get(server, key).is_none() {
            return false;
        }
        self.table.rcu(|table| {
            let mut table = Table::clone(table);
            let of_server = table.entry(server.clone()).or_default();
            match listing {
                Some(listing) => of_server.insert(key.clone(), listing.clone()),
                None => of_server.remove(key),
            };
            table.retain(|_, of_server| !of_server.is_empty());
            table
        });
        // Snapshots of earlier lists must not stay in memory.
        self.kept.lock().clear();
        true
    }

    pub(super) fn get(&self, server: &ServerName, key: &OwnKey) -> Option<Arc<OwnListing>> {
        self.table.load().get(server)?.get(key).cloned()
    }

    /// All of one server.
    pub(super) fn of(&self, server: &ServerName) -> Vec<(OwnKey, Arc<OwnListing>)> {
        let table = self.table.load();
        let own = table.get(server).into_iter().flatten();
        own.map(|(key, listing)| (key.clone(), listing.clone()))
            .collect()
    }

    /// The caller's own form of this snapshot; `None` if it sees what everybody sees.
    pub(super) fn seen_by(
        &self,
        caller: &Caller,
        base: &Arc<Snapshot>,
    ) -> Option<Arc<OwnSnapshot>> {
        let seat = caller.seat()?;
        let table = self.table.load();
        if table.is_empty() {
            return None;
        }
        let own = table.iter().filter_map(|(server, listings)| {
            listing_for(seat, base.servers.get(server)?, listings)
        });
        let own: Vec<_> = own.cloned().collect();
        if own.is_empty() {
            return None;
        }
        let is_same = |kept: &&Arc<OwnSnapshot>| {
            let mut pairs = kept.own.iter().zip(&own);
            Arc::ptr_eq(&kept.base, base)
                && kept.own.len() == own.len()
                && pairs.all(|(kept, now)| Arc::ptr_eq(kept, now))
        };
        if let Some(kept) = self.kept.lock().iter().find(is_same) {
            return Some(kept.clone());
        }
        let number = FIRST_OWN | self.made.fetch_add(1, Ordering::Relaxed);
        let made = Arc::new(OwnSnapshot::new(base, own, number));
        let mut kept = self.kept.lock();
        kept.truncate(KEPT - 1);
        kept.insert(0, made.clone());
        Some(made)
    }
}

/// The list of a server that this client sees in place of the shared one.
fn listing_for<'a>(
    seat: &ClientSeat,
    shared: &ServerCatalog,
    listings: &'a HashMap<OwnKey, Arc<OwnListing>>,
) -> Option<&'a Arc<OwnListing>> {
    if let Some(own) = listings.get(&OwnKey::User(seat.user().clone())) {
        return Some(own);
    }
    let is_legacy = seat.revision.has_server_requests();
    // Of a server that is opened both ways, clients without a handshake have the connection that everybody lists from.
    let concerns = |listing: &&Arc<OwnListing>| {
        is_legacy || shared.listing.revision.has_server_requests() || {
            !listing.catalog.listing.revision.has_server_requests()
        }
    };
    let unable = || listings.get(&OwnKey::Unable).filter(|_| !seat.needs_own());
    let legacy = || listings.get(&OwnKey::Legacy);
    unable().or_else(legacy).filter(concerns)
}
