//! The connections of clients: so many and no more, so that file descriptors are left for servers and files. When there are too many
//! the one that was idle longest gives way to a new one; where all have calls, the one that is busy longest ends with its answer.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU8, AtomicU64, Ordering},
    },
    time::Instant,
};

use http::Method;
use tokio_util::sync::CancellationToken;

use crate::{call_context::ConnectionId, sync::Guarded};

/// Limit: file descriptors that are left for servers, logs, the local socket and what we open ourselves; a quarter of them all, and
/// not fewer than this.
const RESERVED: usize = 64;

/// Limit: connections, however many descriptors there are. Each takes some memory.
const MOST: usize = 8_192;

/// Limit: connections, however few.
const FEWEST: usize = 16;

/// The connections that are open. Cheap to clone.
#[derive(Clone)]
pub(super) struct ClientConnections(Arc<Parts>);

struct Parts {
    limit: usize,
    /// The number of the connection that was opened last, here or where the numbers are shared.
    last: Arc<AtomicU64>,
    /// Moments are counted from here, in milliseconds.
    began: Instant,
    table: Guarded<Table>,
}

#[derive(Default)]
struct Table {
    open: HashMap<u64, Arc<Activity>>,
}

/// What a connection is at.
struct Activity {
    state: AtomicU8,
    /// Since when.
    since: AtomicU64,
    over: CancellationToken,
    /// Cancelled when its client is to be asked to come again after the answer under way.
    last_answer: CancellationToken,
}

/// No request.
const IDLE: u8 = 0;
/// A stream on which a client listens. It can open another.
const LISTENING: u8 = 1;
/// Any other request: it is never cut off for another client.
const ANSWERING: u8 = 2;

/// A connection while it is open.
pub(super) struct ClientConnection {
    of: ClientConnections,
    number: u64,
    activity: Arc<Activity>,
}

/// A connection while it has a request.
pub(super) struct Busy {
    of: ClientConnections,
    activity: Arc<Activity>,
}

impl ClientConnections {
    /// Of which so many may be open at a time.
    pub(super) fn of(limit: usize) -> Self {
        Self::numbered(limit, Arc::default())
    }

    /// Others, as many as there may be. None of them has the number of one of these.
    pub(super) fn others(&self) -> Self {
        Self::numbered(usize::MAX, self.0.last.clone())
    }

    fn numbered(limit: usize, last: Arc<AtomicU64>) -> Self {
        Self(Arc::new(Parts {
            limit,
            last,
            began: Instant::now(),
            table: Guarded::default(),
        }))
    }

    /// Enters a new connection. `None` where there is no room, and none that can give way; then one that is busy ends with its answer,
    /// so that there is room soon.
    pub(super) fn enter(&self) -> Option<ClientConnection> {
        let activity = Arc::new(Activity {
            state: AtomicU8::new(IDLE),
            since: AtomicU64::new(self.now()),
            over: CancellationToken::new(),
            last_answer: CancellationToken::new(),
        });
        let mut table = self.0.table.lock();
        if table.open.len() >= self.0.limit && !give_way(&mut table) {
            make_room_soon(&table);
            return None;
        }
        let number = self.0.last.fetch_add(1, Ordering::Relaxed) + 1;
        table.open.insert(number, activity.clone());
        drop(table);
        Some(ClientConnection {
            of: self.clone(),
            number,
            activity,
        })
    }

    /// As many as there may be where so many file descriptors can be open at a time.
    pub(super) fn within(descriptors: usize) -> Self {
        let reserved = RESERVED.max(descriptors / 4);
        let limit = descriptors.saturating_sub(reserved);
        Self::of(limit.clamp(FEWEST, MOST))
    }

    /// Closes the connection that was idle longest, if one is.
    pub(super) fn make_room(&self) {
        give_way(&mut self.0.table.lock());
    }

    fn now(&self) -> u64 {
        u64::try_from(self.0.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

/// Ends the connection that has had no request for longest, or else the stream that is open longest.
fn give_way(table: &mut Table) -> bool {
    let idlest = table
        .open
        .iter()
        .map(|(number, activity)| {
            let state = activity.state.load(Ordering::Relaxed);
            (state, activity.since.load(Ordering::Relaxed), *number)
        })
        .min();
    let Some((IDLE | LISTENING, _, number)) = idlest else {
        return false;
    };
    if let Some(activity) = table.open.remove(&number) {
        activity.over.cancel();
    }
    true
}

/// Lets the connection that has had its request for longest end with the answer, unless it is about to.
fn make_room_soon(table: &Table) {
    let staying = table
        .open
        .values()
        .filter(|activity| !activity.last_answer.is_cancelled());
    if let Some(busiest) = staying.min_by_key(|activity| activity.since.load(Ordering::Relaxed)) {
        busiest.last_answer.cancel();
    }
}

impl ClientConnection {
    /// By what it is told from every other.
    pub(super) fn id(&self) -> ConnectionId {
        ConnectionId::new(self.number)
    }

    /// Cancelled when it is to end with the answer under way.
    pub(super) fn last_answer(&self) -> &CancellationToken {
        &self.activity.last_answer
    }

    /// Cancelled when it has to give way.
    pub(super) fn over(&self) -> &CancellationToken {
        &self.activity.over
    }

    /// Notes a request that begins.
    pub(super) fn begin(&self, method: &Method) -> Busy {
        let state = if *method == Method::GET {
            LISTENING
        } else {
            ANSWERING
        };
        let busy = Busy {
            of: self.of.clone(),
            activity: self.activity.clone(),
        };
        busy.note(state);
        busy
    }
}

impl Drop for ClientConnection {
    fn drop(&mut self) {
        self.of.0.table.lock().open.remove(&self.number);
    }
}

impl Busy {
    fn note(&self, state: u8) {
        self.activity.since.store(self.of.now(), Ordering::Relaxed);
        self.activity.state.store(state, Ordering::Relaxed);
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.note(IDLE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_descriptors_are_left_for_everything_else() {
        let check = |descriptors, limit| {
            assert_eq!(ClientConnections::within(descriptors).0.limit, limit);
        };
        check(256, 192);
        check(1024, 768);
        check(65_536, MOST);
        check(32, FEWEST);
        check(usize::MAX, MOST);
    }

    #[test]
    fn no_two_connections_have_the_same_number() {
        let connections = ClientConnections::of(3);
        let others = connections.others();
        let enter = |connections: &ClientConnections| connections.enter().expect("there is room");
        let all = [&connections, &others, &connections, &others].map(enter);
        let numbers: std::collections::HashSet<_> = all.iter().map(ClientConnection::id).collect();
        assert_eq!(numbers.len(), all.len());
    }

    #[test]
    fn the_idlest_gives_way_and_calls_never_do() {
        let connections = ClientConnections::of(3);
        let enter = || connections.enter();
        let [first, second, third] = [(); 3].map(|()| enter().expect("there is room"));
        let idle_since = |connection: &ClientConnection, since: u64| {
            connection.activity.since.store(since, Ordering::Relaxed);
        };
        idle_since(&first, 2);
        idle_since(&second, 1);
        let call = third.begin(&Method::POST);
        idle_since(&third, 0);
        let fourth = enter().expect("the second gives way");
        assert!(second.over().is_cancelled() && !first.over().is_cancelled());
        let (_stream, _call) = (first.begin(&Method::GET), fourth.begin(&Method::POST));
        let fifth = enter().expect("a stream gives way");
        assert!(first.over().is_cancelled());
        let last = fifth.begin(&Method::POST);
        idle_since(&fourth, 3);
        idle_since(&fifth, 3);
        assert!(enter().is_none(), "everybody calls");
        assert!(third.last_answer().is_cancelled(), "it is busy longest");
        assert!(!fourth.last_answer().is_cancelled());
        drop(call);
        assert!(enter().is_some() && third.over().is_cancelled());
        assert!(!fourth.over().is_cancelled() && !fifth.over().is_cancelled());
        drop((last, second));
        connections.make_room();
        assert!(fifth.over().is_cancelled(), "it was idle");
    }
}
