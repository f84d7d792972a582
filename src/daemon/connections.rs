//! Bounds the number of open client connections, so that file descriptors are left for servers and files. At the bound a new connection
//! takes the place of the one that has been idle longest; if all have calls, the one that has been busy longest is closed after its
//! answer. One address of another machine may have half of all connections, and within its half the same rules hold.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicU8, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use http::Method;
use tokio_util::sync::CancellationToken;

use crate::{
    access::Peer,
    call_context::OwnConnection,
    runtime::{quick_map::QuickMap, sync::Guarded},
};

/// A quarter of all file descriptors is kept free for servers, logs, the local socket and our own files, and not fewer than this.
const RESERVED: usize = 64;

/// Limit: connections, however many descriptors there are, because each takes some memory.
const MOST: usize = 8_192;

/// One address of another machine may have one in so many of all connections. A proxy in front of us is one address.
const SHARE: usize = 2;

/// The fewest connections, however few descriptors there are.
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
    open: QuickMap<u64, Arc<Activity>>,
    /// How many there are of each address of another machine.
    remote: HashMap<IpAddr, usize>,
}

/// What a connection is doing.
struct Activity {
    /// The address of its client, if that is another machine.
    remote: Option<IpAddr>,
    state: AtomicU8,
    /// When the state changed last, in milliseconds.
    since: AtomicU64,
    /// How often the state has changed.
    turns: AtomicU64,
    over: CancellationToken,
    /// Cancelled when the connection is to be closed after the answer under way, and when it is closed.
    last_answer: CancellationToken,
}

impl Activity {
    /// Closes the connection at once.
    fn cut_off(&self) {
        self.over.cancel();
        self.last_answer.cancel();
    }
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

/// The pauses of a connection between its requests.
pub(super) struct RequestPauses(Arc<Activity>);

impl RequestPauses {
    /// The number of the present pause; none during a request.
    pub(super) fn current(&self) -> Option<u64> {
        let is_idle = self.0.state.load(Ordering::Relaxed) == IDLE;
        is_idle.then(|| self.0.turns.load(Ordering::Relaxed))
    }
}

/// A connection while it has a request.
pub(super) struct Busy {
    of: ClientConnections,
    activity: Arc<Activity>,
}

impl ClientConnections {
    /// At most `limit` of them are open at a time.
    pub(super) fn of(limit: usize) -> Self {
        Self::numbered(limit, Arc::default())
    }

    /// A second set, without a limit. No connection in it has the number of one in this set.
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

    /// Adds a new connection, which is closed after its answer once `closing` is cancelled. `None` if there is no room and no other can be
    /// closed for it; then a busy one is closed after its answer, so that there is room soon.
    pub(super) fn enter(
        &self,
        peer: Peer,
        closing: &CancellationToken,
    ) -> Option<ClientConnection> {
        let remote = remote_address(peer);
        let activity = Arc::new(Activity {
            remote,
            state: AtomicU8::new(IDLE),
            since: AtomicU64::new(self.now()),
            turns: AtomicU64::default(),
            over: CancellationToken::new(),
            last_answer: closing.child_token(),
        });
        let mut table = self.0.table.lock();
        let has_share = remote.is_none_or(|remote| table.count_of(remote) < self.0.limit / SHARE);
        if !has_share && !table.give_way(|activity| activity.remote == remote) {
            table.make_room_soon(|activity| activity.remote == remote);
            return None;
        }
        if table.open.len() >= self.0.limit && !table.give_way(|_| true) {
            table.make_room_soon(|_| true);
            return None;
        }
        let number = self.0.last.fetch_add(1, Ordering::Relaxed) + 1;
        table.insert(number, activity.clone());
        drop(table);
        Some(ClientConnection {
            of: self.clone(),
            number,
            activity,
        })
    }

    /// The limit follows from the number of file descriptors that can be open at a time.
    pub(super) fn within(descriptors: usize) -> Self {
        let reserved = RESERVED.max(descriptors / 4);
        let limit = descriptors.saturating_sub(reserved);
        Self::of(limit.clamp(FEWEST, MOST))
    }

    /// Closes the connection that was idle longest, if one is.
    pub(super) fn make_room(&self) {
        self.0.table.lock().give_way(|_| true);
    }

    /// Closes the connections that have had no request for this long. A part of a head is no request yet.
    pub(super) fn end_silent(&self, deadline: Duration) {
        let deadline = u64::try_from(deadline.as_millis()).unwrap_or(u64::MAX);
        let Some(latest) = self.now().checked_sub(deadline) else {
            return;
        };
        let mut table = self.0.table.lock();
        let is_silent = |activity: &Activity| {
            activity.state.load(Ordering::Relaxed) == IDLE
                && activity.since.load(Ordering::Relaxed) <= latest
        };
        let silent = table
            .open
            .iter()
            .filter(|(_, activity)| is_silent(activity));
        let silent: Vec<u64> = silent.map(|(number, _)| *number).collect();
        for activity in silent.into_iter().filter_map(|number| table.remove(number)) {
            activity.cut_off();
        }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.0.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

/// The address of a client on another machine. One customer gets a whole IPv6 network, so its addresses count as one.
fn remote_address(peer: Peer) -> Option<IpAddr> {
    /// The bits of the network in an IPv6 address.
    const NETWORK: u128 = !0 << 64;
    let Peer::Network(address) = peer else {
        return None;
    };
    let address = match address.ip().to_canonical() {
        IpAddr::V6(address) if !address.is_loopback() => {
            IpAddr::V6((address.to_bits() & NETWORK).into())
        }
        address => address,
    };
    (!address.is_loopback()).then_some(address)
}

impl Table {
    fn count_of(&self, remote: IpAddr) -> usize {
        self.remote.get(&remote).copied().unwrap_or(0)
    }

    fn insert(&mut self, number: u64, activity: Arc<Activity>) {
        if let Some(remote) = activity.remote {
            *self.remote.entry(remote).or_default() += 1;
        }
        self.open.insert(number, activity);
    }

    fn remove(&mut self, number: u64) -> Option<Arc<Activity>> {
        let activity = self.open.remove(&number)?;
        if let Some(remote) = activity.remote
            && let Some(count) = self.remote.get_mut(&remote)
        {
            *count -= 1;
            if *count == 0 {
                self.remote.remove(&remote);
            }
        }
        Some(activity)
    }

    /// Closes the connection that has been idle longest, or else the stream that has been open longest, of those for which `is_one` holds.
    /// Whether there was one.
    fn give_way(&mut self, is_one: impl Fn(&Activity) -> bool) -> bool {
        let some = self.open.iter().filter(|(_, activity)| is_one(activity));
        let idlest = some
            .map(|(number, activity)| {
                let state = activity.state.load(Ordering::Relaxed);
                (state, activity.since.load(Ordering::Relaxed), *number)
            })
            .min();
        let Some((IDLE | LISTENING, _, number)) = idlest else {
            return false;
        };
        if let Some(activity) = self.remove(number) {
            activity.cut_off();
        }
        true
    }

    /// Has the connection that has been busy longest closed after its answer, of those for which `is_one` holds and that stay otherwise.
    fn make_room_soon(&self, is_one: impl Fn(&Activity) -> bool) {
        let staying = self
            .open
            .values()
            .filter(|activity| is_one(activity) && !activity.last_answer.is_cancelled());
        if let Some(busiest) = staying.min_by_key(|activity| activity.since.load(Ordering::Relaxed))
        {
            busiest.last_answer.cancel();
        }
    }
}

impl ClientConnection {
    /// What its requests know of it.
    pub(super) fn of_client(&self) -> OwnConnection {
        OwnConnection::new(self.number, self.activity.over.clone())
    }

    /// Cancelled when it is to be closed after the answer under way, and when it is closed.
    pub(super) fn last_answer(&self) -> &CancellationToken {
        &self.activity.last_answer
    }

    /// Cancelled when it has to give way, or has ended.
    pub(super) fn over(&self) -> &CancellationToken {
        &self.activity.over
    }

    /// The pauses between its requests, for the reader of its bytes.
    pub(super) fn pauses(&self) -> RequestPauses {
        RequestPauses(self.activity.clone())
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
        self.activity.over.cancel();
        self.of.0.table.lock().remove(self.number);
    }
}

impl Busy {
    fn note(&self, state: u8) {
        self.activity.since.store(self.of.now(), Ordering::Relaxed);
        self.activity.state.store(state, Ordering::Relaxed);
        self.activity.turns.fetch_add(1, Ordering::Relaxed);
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

    fn from(address: &str) -> Peer {
        let address = format!("{address}:1").parse();
        Peer::Network(address.expect("an address"))
    }

    const LOCAL: &str = "127.0.0.1";

    #[test]
    fn no_other_machine_takes_all_connections() {
        let connections = ClientConnections::of(8);
        let closing = CancellationToken::new();
        let enter = |address: &str| connections.enter(from(address), &closing);
        let busy = |connection: Option<ClientConnection>| {
            let connection = connection.expect("there is room");
            let call = connection.begin(&Method::POST);
            (connection, call)
        };
        // All of a network of IPv6 are one, and so are both ways to write an address of IPv4.
        for mine in [
            ["192.0.2.1", "192.0.2.1", "[::ffff:192.0.2.1]"],
            ["[2001:db8::1]", "[2001:db8::2]", "[2001:db8::ffff:1]"],
        ] {
            let mut calls: Vec<_> = mine.map(|address| busy(enter(address))).into();
            let idle = enter(mine[0]).expect("half of all");
            let next = enter(mine[0]).expect("its own idle one gives way");
            assert!(idle.over().is_cancelled());
            calls.push(busy(Some(next)));
            assert!(enter(mine[1]).is_none(), "all of its own have calls");
            let is_ending =
                |(connection, _): &(ClientConnection, _)| connection.last_answer().is_cancelled();
            assert_eq!(calls.iter().filter(|one| is_ending(one)).count(), 1);
            let others = ["192.0.2.7", "[2001:db8:0:1::1]", LOCAL, "[::1]"].map(enter);
            assert!(others.iter().all(Option::is_some), "others have the rest");
            drop((calls, others));
            assert!(connections.0.table.lock().remote.is_empty());
        }
        let ours: Vec<_> = (0..8).map(|_| enter(LOCAL)).collect();
        assert!(ours.iter().flatten().all(|one| !one.over().is_cancelled()));
    }

    #[test]
    fn those_without_a_request_for_too_long_are_closed() {
        let connections = ClientConnections::of(4);
        let closing = CancellationToken::new();
        let all = [(); 4].map(|()| {
            let entered = connections.enter(from(LOCAL), &closing);
            entered.expect("there is room")
        });
        let [_silent, calling, listening, late] = &all;
        let _busy = (calling.begin(&Method::POST), listening.begin(&Method::GET));
        late.activity.since.store(u64::MAX, Ordering::Relaxed);
        connections.end_silent(Duration::from_mins(10));
        assert!(
            all.iter().all(|one| !one.over().is_cancelled()),
            "all are new"
        );
        connections.end_silent(Duration::ZERO);
        let over = all.each_ref().map(|one| one.over().is_cancelled());
        assert_eq!(over, [true, false, false, false]);
        assert!(all[0].last_answer().is_cancelled());
    }

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
        let enter = |connections: &ClientConnections| {
            let entered = connections.enter(from(LOCAL), &CancellationToken::new());
            entered.expect("there is room")
        };
        let all = [&connections, &others, &connections, &others].map(enter);
        let numbers: std::collections::HashSet<_> = all.iter().map(|one| one.number).collect();
        assert_eq!(numbers.len(), all.len());
    }

    #[test]
    fn the_idlest_gives_way_and_calls_never_do() {
        let connections = ClientConnections::of(3);
        let closing = CancellationToken::new();
        let enter = || connections.enter(from(LOCAL), &closing);
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
