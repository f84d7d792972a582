//! The slots for requests in flight at a server whose entry bounds them (`max_concurrent_requests`), and the queue for them. Clients take
//! turns, so that one with a thousand requests does not keep the others from theirs. Knows nothing of servers.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::{
    sync::{Mutex, OwnedSemaphorePermit, Semaphore},
    time::timeout_at,
};

use crate::{link::ClientKey, runtime::sync::Guarded};

/// Limit: requests of all clients that wait for a slot. One more is refused.
const WAITING: usize = 4_096;

/// Limit: requests of one client that wait for a slot.
const WAITING_OF_ONE: usize = 512;

/// How long the slot of a cancelled request stays taken: its server may not have read the cancellation yet, or may ignore it.
const GIVEN_UP: Duration = Duration::from_secs(1);

/// The slots of one upstream.
pub(in crate::upstream) struct RequestSlots {
    /// The free slots, and the common queue for them. It has at most one request of each client at a time, so that clients take turns.
    free: Arc<Semaphore>,
    queue: Guarded<Queue>,
}

/// How many slots there are, and the requests that wait for one.
#[derive(Default)]
struct Queue {
    /// How many slots there should be, as the latest request found in the settings.
    bound: usize,
    /// How many slots there are: more than the bound, where an edit has lowered it, until requests end.
    permits: usize,
    waiting: usize,
    /// The waiting requests of each client, in the order in which they came.
    lines: HashMap<ClientKey, Line>,
}

/// The waiting requests of one client.
#[derive(Default)]
struct Line {
    /// Held by the one of them that waits in the common queue.
    first: Arc<Mutex<()>>,
    waiting: usize,
}

/// The right to have a request in flight. Free again when this is dropped, or [`GIVEN_UP`] later if the server still works on the request.
pub(in crate::upstream) struct RequestSlot {
    permit: Option<SlotPermit>,
    is_server_busy: bool,
}

/// Why a request gets no slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoSlot {
    /// Too many wait already.
    Full,
    /// No slot was free in time.
    Late,
}

impl Default for RequestSlots {
    fn default() -> Self {
        Self {
            free: Arc::new(Semaphore::new(0)),
            queue: Guarded::default(),
        }
    }
}

impl RequestSlots {
    /// Waits for a slot, until `latest` at most. Cancel-safe: a request that leaves loses its place in the queue, and takes no slot.
    pub(super) async fn take(
        self: &Arc<Self>,
        bound: usize,
        client: &ClientKey,
        latest: Instant,
    ) -> Result<RequestSlot, NoSlot> {
        let waiting = self.enter(bound, client)?;
        let turn = async {
            let _first = waiting.line.lock().await;
            self.free.clone().acquire_owned().await
        };
        let latest = tokio::time::Instant::from_std(latest);
        // The semaphore is never closed.
        let Ok(Ok(permit)) = timeout_at(latest, turn).await else {
            return Err(NoSlot::Late);
        };
        let slot = RequestSlot {
            permit: Some(SlotPermit {
                permit: Some(permit),
                slots: self.clone(),
            }),
            is_server_busy: false,
        };
        if tokio::time::Instant::now() < latest {
            Ok(slot)
        } else {
            Err(NoSlot::Late)
        }
    }

    fn enter<'a>(&'a self, bound: usize, client: &'a ClientKey) -> Result<Waiting<'a>, NoSlot> {
        let mut queue = self.queue.lock();
        queue.bound = bound;
        if bound > queue.permits {
            self.free.add_permits(bound - queue.permits);
            queue.permits = bound;
        } else {
            queue.permits -= self.free.forget_permits(queue.permits - bound);
        }
        let own = queue.lines.get(client).map_or(0, |line| line.waiting);
        if queue.waiting >= WAITING || own >= WAITING_OF_ONE {
            return Err(NoSlot::Full);
        }
        queue.waiting += 1;
        let line = queue.lines.entry(client.clone()).or_default();
        line.waiting += 1;
        Ok(Waiting {
            line: line.first.clone(),
            slots: self,
            client,
        })
    }
}

/// A request in the queue.
struct Waiting<'a> {
    line: Arc<Mutex<()>>,
    slots: &'a RequestSlots,
    client: &'a ClientKey,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut queue = self.slots.queue.lock();
        queue.waiting -= 1;
        if let Some(line) = queue.lines.get_mut(self.client) {
            line.waiting -= 1;
            if line.waiting == 0 {
                queue.lines.remove(self.client);
            }
        }
    }
}

/// The permit of a slot. Taken out for good where there are more than the bound.
struct SlotPermit {
    permit: Option<OwnedSemaphorePermit>,
    slots: Arc<RequestSlots>,
}

impl Drop for SlotPermit {
    fn drop(&mut self) {
        let mut queue = self.slots.queue.lock();
        if queue.permits > queue.bound
            && let Some(permit) = self.permit.take()
        {
            permit.forget();
            queue.permits -= 1;
        }
    }
}

impl RequestSlot {
    /// Notes whether the server has the request and has not answered it.
    pub(super) fn set_server_busy(&mut self, is_busy: bool) {
        self.is_server_busy = is_busy;
    }
}

impl Drop for RequestSlot {
    fn drop(&mut self) {
        let permit = self.permit.take();
        // At most as many wait like this as there are slots.
        if self.is_server_busy
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            runtime.spawn(async move {
                tokio::time::sleep(GIVEN_UP).await;
                drop(permit);
            });
        }
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

        let fill = |name| -> Vec<_> {
            let mut waiting: Vec<_> = (0..WAITING_OF_ONE)
                .map(|_| waits(&places, 1, name))
                .collect();
            for one in &mut waiting {
                assert!(one.now_or_never().is_none());
            }
            waiting
        };
        let is_full = async |name| {
            let one_more = places.take(1, &client(name), late()).await;
            one_more.err() == Some(NoSlot::Full)
        };
        let mut of_a = fill("a");
        assert!(is_full("a").await);
        // Other clients are let in, until all together are too many.
        let others = ["b", "c", "d", "e", "f", "g", "h"].map(fill);
        assert!(is_full("i").await);
        drop(others);
        // Those that left make room.
        of_a.truncate(10);
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
