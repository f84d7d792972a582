//! The places for requests at a server whose entry bounds them (`max_concurrent_requests`), and the queue before them. Clients take
//! turns, so that one with a thousand requests does not keep the others from theirs. Knows nothing of servers.

use std::{
    collections::VecDeque,
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::sync::oneshot;

use crate::{link::ClientKey, runtime::sync::Guarded};

/// Limit: requests that wait for a place. When there are so many, one more is refused; if its client has fewer waiting than
/// another, the latest of that client gives way to it.
pub(super) const WAITING: usize = 1024;

/// How long the place of a request that was given up stays taken: its server may not have heard of that yet, or not heed it.
const GIVEN_UP: Duration = Duration::from_secs(1);

/// The places at one connection.
#[derive(Default)]
pub(in crate::upstream) struct RequestSlots(Guarded<Queue>);

#[derive(Default)]
struct Queue {
    /// How many there are, as the last who asked knew it.
    bound: usize,
    taken: usize,
    waiting: TurnLines<ClientKey, Waiting>,
}

type Waiting = oneshot::Sender<Result<RequestSlot, Displaced>>;

/// A request of another client took its place in the queue.
struct Displaced;

/// The right to have a request in flight. Given on when it is dropped, or [`GIVEN_UP`] later where its server still works on the request.
pub(in crate::upstream) struct RequestSlot {
    of: Option<Arc<RequestSlots>>,
    is_server_busy: bool,
}

/// Why there is no place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoSlot {
    /// Too many wait already.
    Full,
    /// None was free in time.
    Late,
}

impl RequestSlots {
    /// Waits for its turn, until `latest` at most. Cancel-safe: who leaves has no turn.
    pub(super) async fn take(
        self: &Arc<Self>,
        bound: usize,
        client: &ClientKey,
        latest: Instant,
    ) -> Result<RequestSlot, NoSlot> {
        let turn = match self.enter(bound, client) {
            Entered::Placed(place) => return Ok(place),
            Entered::Waits(turn) => turn,
            Entered::Full => return Err(NoSlot::Full),
        };
        let latest = tokio::time::Instant::from_std(latest);
        match tokio::time::timeout_at(latest, turn).await {
            // A turn counts before the time does where both come at once.
            Ok(Ok(Ok(place))) if tokio::time::Instant::now() < latest => Ok(place),
            // The queue keeps those who wait for as long as it is there, and they hold it.
            Ok(Ok(Err(Displaced)) | Err(_)) => Err(NoSlot::Full),
            Ok(Ok(Ok(_))) | Err(_) => Err(NoSlot::Late),
        }
    }

    fn enter(self: &Arc<Self>, bound: usize, client: &ClientKey) -> Entered {
        let mut queue = self.0.lock();
        queue.bound = bound;
        // A higher bound may have come meanwhile.
        while queue.taken < queue.bound
            && let Some(next) = queue.waiting.pop()
        {
            queue.taken += 1;
            if let Err(Ok(mut unused)) = next.send(Ok(self.slot())) {
                // Whoever waited has left. Dropping the place as it is would ask for the lock.
                unused.of = None;
                queue.taken -= 1;
            }
        }
        if queue.taken < bound {
            queue.taken += 1;
            return Entered::Placed(self.slot());
        }
        if queue.waiting.len() >= WAITING {
            queue.waiting.retain(|waiting| !waiting.is_closed());
        }
        if queue.waiting.len() >= WAITING {
            match queue.waiting.displace_for(client) {
                // One that left needs no answer.
                Some(displaced) => drop(displaced.send(Err(Displaced))),
                None => return Entered::Full,
            }
        }
        let (waiting, turn) = oneshot::channel();
        queue.waiting.push(client.clone(), waiting);
        Entered::Waits(turn)
    }

    fn slot(self: &Arc<Self>) -> RequestSlot {
        RequestSlot {
            of: Some(self.clone()),
            is_server_busy: false,
        }
    }

    /// Gives a place to whoever has the next turn.
    fn pass_on(self: Arc<Self>) {
        let mut place = self.slot();
        loop {
            let Some(next) = self.0.lock().next() else {
                place.of = None;
                return;
            };
            match next.send(Ok(place)) {
                Ok(()) | Err(Err(Displaced)) => return,
                // It has left.
                Err(Ok(back)) => place = back,
            }
        }
    }
}

enum Entered {
    Placed(RequestSlot),
    Waits(oneshot::Receiver<Result<RequestSlot, Displaced>>),
    Full,
}

impl Queue {
    /// Who gets a place that has become free. If nobody does, it counts as free from here on.
    fn next(&mut self) -> Option<Waiting> {
        let is_one_too_many = self.taken > self.bound;
        let next = if is_one_too_many {
            None
        } else {
            self.waiting.pop()
        };
        if next.is_none() {
            self.taken -= 1;
        }
        next
    }
}

impl RequestSlot {
    /// Says whether the server has the request and has not answered it.
    pub(super) fn set_server_busy(&mut self, is_busy: bool) {
        self.is_server_busy = is_busy;
    }
}

impl Drop for RequestSlot {
    fn drop(&mut self) {
        let Some(places) = self.of.take() else {
            return;
        };
        match tokio::runtime::Handle::try_current() {
            // As many wait like this as there are places.
            Ok(runtime) if self.is_server_busy => drop(runtime.spawn(async move {
                tokio::time::sleep(GIVEN_UP).await;
                places.pass_on();
            })),
            _ => places.pass_on(),
        }
    }
}

/// What waits, a line for each owner. The lines take turns, and each is in the order in which its things came.
struct TurnLines<K, T> {
    lines: VecDeque<(K, VecDeque<T>)>,
    len: usize,
}

impl<K, T> Default for TurnLines<K, T> {
    fn default() -> Self {
        Self {
            lines: VecDeque::new(),
            len: 0,
        }
    }
}

impl<K: PartialEq, T> TurnLines<K, T> {
    fn len(&self) -> usize {
        self.len
    }

    fn push(&mut self, owner: K, thing: T) {
        self.len += 1;
        match self.lines.iter_mut().find(|(of, _)| *of == owner) {
            Some((_, line)) => line.push_back(thing),
            None => self.lines.push_back((owner, VecDeque::from([thing]))),
        }
    }

    /// The next one; the next after that is another owner's, if one waits.
    fn pop(&mut self) -> Option<T> {
        let (owner, mut line) = self.lines.pop_front()?;
        let next = line.pop_front();
        if !line.is_empty() {
            self.lines.push_back((owner, line));
        }
        self.len -= usize::from(next.is_some());
        next
    }

    /// Takes out the latest of the longest line, unless that of the owner would then be as long.
    fn displace_for(&mut self, owner: &K) -> Option<T> {
        let own = self.lines.iter().find(|(of, _)| of == owner);
        let own = own.map_or(0, |(_, line)| line.len());
        let longest = self.lines.iter_mut().max_by_key(|(_, line)| line.len());
        let (_, longest) = longest.filter(|(_, line)| line.len() > own + 1)?;
        let displaced = longest.pop_back();
        self.len -= usize::from(displaced.is_some());
        displaced
    }

    fn retain(&mut self, keep: impl Fn(&T) -> bool) {
        for (_, line) in &mut self.lines {
            line.retain(&keep);
        }
        self.lines.retain(|(_, line)| !line.is_empty());
        self.len = self.lines.iter().map(|(_, line)| line.len()).sum();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures_util::future::{BoxFuture, FutureExt};

    use super::*;

    fn client(name: &str) -> ClientKey {
        ClientKey::Session(name.into())
    }

    /// Far away.
    fn late() -> Instant {
        Instant::now() + Duration::from_hours(1)
    }

    fn waits(
        places: &Arc<RequestSlots>,
        bound: usize,
        name: &'static str,
    ) -> BoxFuture<'static, Result<RequestSlot, NoSlot>> {
        let places = places.clone();
        async move { places.take(bound, &client(name), late()).await }.boxed()
    }

    fn now_or_never(places: &Arc<RequestSlots>, bound: usize, name: &str) -> Option<RequestSlot> {
        let taken = places.take(bound, &client(name), late()).now_or_never();
        taken.and_then(Result::ok)
    }

    #[test]
    fn owners_take_turns() {
        let mut lines = TurnLines::default();
        for (owner, thing) in [("a", 1), ("a", 2), ("a", 3), ("b", 4), ("c", 5), ("b", 6)] {
            lines.push(owner, thing);
        }
        let order: Vec<_> = std::iter::from_fn(|| lines.pop()).collect();
        assert_eq!(order, [1, 4, 5, 2, 6, 3]);
        assert_eq!(lines.len(), 0);
    }

    #[test]
    fn the_latest_of_the_longest_line_gives_way() {
        let mut lines = TurnLines::default();
        for thing in 0..4 {
            lines.push("a", thing);
        }
        lines.push("b", 10);
        assert_eq!(
            lines.displace_for(&"a"),
            None,
            "who has the most waits for none"
        );
        assert_eq!(lines.displace_for(&"b"), Some(3));
        assert_eq!(lines.displace_for(&"b"), Some(2));
        assert_eq!(lines.displace_for(&"b"), None, "they would be alike");
        assert_eq!(lines.displace_for(&"c"), Some(1));
        lines.retain(|thing| *thing > 0);
        assert_eq!((lines.len(), lines.pop(), lines.pop()), (1, Some(10), None));
    }

    #[tokio::test]
    async fn a_place_goes_to_the_next_client_in_turn() {
        let places = Arc::new(RequestSlots::default());
        let first = places.take(1, &client("a"), late()).await.expect("free");
        let waits = |name| waits(&places, 1, name);
        let (mut a1, mut a2, mut b) = (waits("a"), waits("a"), waits("b"));
        for waiting in [&mut a1, &mut a2, &mut b] {
            assert!(waiting.now_or_never().is_none());
        }
        drop(first);
        let a1 = a1.now_or_never().expect("it came first").expect("a place");
        assert!((&mut a2).now_or_never().is_none());
        drop(a1);
        let b = b.now_or_never();
        let b = b
            .expect("another client, so before the second")
            .expect("a place");
        drop(b);
        drop(a2.now_or_never().expect("the last"));
        assert!(
            now_or_never(&places, 1, "a").is_some(),
            "all are free again"
        );
    }

    #[tokio::test]
    async fn who_leaves_has_no_turn_and_takes_none_along() {
        let places = Arc::new(RequestSlots::default());
        let first = places.take(1, &client("a"), late()).await.expect("free");
        let mut gone = waits(&places, 1, "b");
        let mut next = waits(&places, 1, "c");
        let mut told = waits(&places, 1, "d");
        for waiting in [&mut gone, &mut next, &mut told] {
            assert!(waiting.now_or_never().is_none());
        }
        drop(gone);
        drop(first);
        // It has its place, and leaves without having looked.
        drop(next);
        let told = told.now_or_never().expect("its turn").expect("a place");
        drop(told);
        assert!(now_or_never(&places, 1, "e").is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn waiting_ends_in_time_and_the_queue_is_bounded() {
        let places = Arc::new(RequestSlots::default());
        let _first = places.take(1, &client("a"), late()).await.expect("free");
        let soon = tokio::time::Instant::now() + Duration::from_mins(2);
        let late_one = places.take(1, &client("a"), soon.into_std()).await;
        assert_eq!(late_one.err(), Some(NoSlot::Late));
        assert_eq!(tokio::time::Instant::now(), soon);

        let mut waiting: Vec<_> = (0..WAITING).map(|_| waits(&places, 1, "a")).collect();
        for one in &mut waiting {
            assert!(one.now_or_never().is_none());
        }
        let one_more = places.take(1, &client("a"), late()).await;
        assert_eq!(one_more.err(), Some(NoSlot::Full));
        // Another client is let in, and the latest of the first pays for it.
        assert!(now_or_never(&places, 1, "b").is_none());
        let latest = waiting.pop().and_then(FutureExt::now_or_never);
        assert_eq!(latest.and_then(Result::err), Some(NoSlot::Full));
        // Those that left make room.
        waiting.truncate(10);
        let mut again = waits(&places, 1, "a");
        assert!(
            (&mut again).now_or_never().is_none(),
            "it waits, and is not refused"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_turn_that_comes_too_late_is_none_and_goes_on_to_the_next() {
        let places = Arc::new(RequestSlots::default());
        let start = tokio::time::Instant::now();
        let mut first = places.take(1, &client("a"), late()).await.expect("free");
        first.set_server_busy(true);
        let soon = (start + Duration::from_secs(5)).into_std();
        let taking: Vec<_> = (0..200)
            .map(|_| {
                let places = places.clone();
                tokio::spawn(async move { places.take(1, &client("a"), soon).await.err() })
            })
            .collect();
        let mut last = waits(&places, 1, "b");
        assert!((&mut last).now_or_never().is_none());
        tokio::task::yield_now().await;
        // The place is free at the very moment when their time is over.
        tokio::time::sleep_until(start + Duration::from_secs(4)).await;
        drop(first);
        let last = last.await.expect("it had time");
        assert_eq!(
            start.elapsed(),
            Duration::from_secs(5),
            "the place was kept for a while"
        );
        for taking in taking {
            assert_eq!(taking.await.expect("it ends"), Some(NoSlot::Late));
        }
        drop(last);
        assert!(now_or_never(&places, 1, "c").is_some(), "no place was lost");
    }

    #[tokio::test]
    async fn an_edited_bound_counts_for_the_next() {
        let places = Arc::new(RequestSlots::default());
        let first = now_or_never(&places, 1, "a").expect("free");
        let mut waiting = waits(&places, 1, "a");
        assert!((&mut waiting).now_or_never().is_none());
        let third = now_or_never(&places, 3, "b").expect("the bound is higher now");
        let second = waiting.now_or_never().expect("its turn").expect("a place");
        assert!(now_or_never(&places, 1, "b").is_none());
        // All but one have to go before the next is let in.
        let mut next = waits(&places, 1, "c");
        for over in [first, second] {
            assert!((&mut next).now_or_never().is_none());
            drop(over);
        }
        assert!((&mut next).now_or_never().is_none());
        drop(third);
        assert!(next.now_or_never().expect("its turn").is_ok());
    }
}
