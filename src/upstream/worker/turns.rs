//! Turns in which servers are started whose lists are not known yet, so that the first start of a daemon does not launch all programs at
//! once.

use std::{pin::pin, sync::Arc, time::Duration};

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

/// How many programs start together.
const BEGINNING: usize = 4;

/// After this time a program that has not connected lets the next one start.
const BEGINS: Duration = Duration::from_secs(3);

/// So many programs may be connecting for each core, and for one core more. With more of them each is slow because of the others.
const CONNECTING: usize = 2;

/// How long a program counts as connecting. One that hangs is not waited for any longer.
const CONNECTS: Duration = Duration::from_mins(1);

/// The free turns.
pub(in crate::upstream) struct Turns {
    beginning: Arc<Semaphore>,
    connecting: Arc<Semaphore>,
}

/// A turn that is taken.
pub(super) struct Turn {
    beginning: OwnedSemaphorePermit,
    connecting: OwnedSemaphorePermit,
}

impl Turns {
    pub(in crate::upstream) fn new() -> Self {
        Self::on(std::thread::available_parallelism().map_or(1, usize::from))
    }

    fn on(cores: usize) -> Self {
        Self {
            beginning: Arc::new(Semaphore::new(BEGINNING)),
            connecting: Arc::new(Semaphore::new(CONNECTING * (cores + 1))),
        }
    }

    /// Waits for a turn. A server that a call waits for goes ahead without one.
    pub(super) async fn take(&self, urgent: &Notify) -> Option<Turn> {
        let turn = async {
            Some(Turn {
                connecting: self.connecting.clone().acquire_owned().await.ok()?,
                beginning: self.beginning.clone().acquire_owned().await.ok()?,
            })
        };
        tokio::select! {
            turn = turn => turn,
            () = urgent.notified() => None,
        }
    }
}

impl Turn {
    /// Does the work of this turn. The next program may start when it is done, or takes long.
    pub(super) async fn spend<T>(self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        for (permit, time) in [
            (self.beginning, BEGINS),
            (self.connecting, CONNECTS.saturating_sub(BEGINS)),
        ] {
            tokio::select! {
                result = &mut work => return result,
                () = tokio::time::sleep(time) => drop(permit),
            }
        }
        work.await
    }
}

#[cfg(test)]
mod tests {
    use std::{
        future::pending,
        sync::atomic::{AtomicUsize, Ordering},
    };

    use super::*;

    /// Many servers begin, and none of them ever connects. Returns the number of those that have begun.
    fn begin_many(turns: &Arc<Turns>) -> Arc<AtomicUsize> {
        let begun = Arc::new(AtomicUsize::new(0));
        for _ in 0..60 {
            let (turns, begun) = (turns.clone(), begun.clone());
            tokio::spawn(async move {
                let turn = turns.take(&Notify::new()).await.expect("a turn");
                begun.fetch_add(1, Ordering::Relaxed);
                turn.spend(pending::<()>()).await;
            });
        }
        begun
    }

    #[tokio::test(start_paused = true)]
    async fn many_that_hang_are_started_a_few_at_a_time() {
        let turns = Arc::new(Turns::on(2));
        let begun = begin_many(&turns);
        let mut counts = Vec::new();
        for seconds in [1, 3, 3, 50, 4] {
            tokio::time::sleep(Duration::from_secs(seconds)).await;
            counts.push(begun.load(Ordering::Relaxed));
        }
        // After 1, 4, 7, 57 and 61 seconds.
        assert_eq!(counts, [4, 6, 6, 6, 10]);
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_a_call_waits_for_needs_no_turn() {
        let turns = Arc::new(Turns::new());
        let begun = begin_many(&turns);
        tokio::time::sleep(Duration::from_secs(1)).await;
        let urgent = Notify::new();
        urgent.notify_one();
        assert!(turns.take(&urgent).await.is_none());
        assert_eq!(begun.load(Ordering::Relaxed), BEGINNING);
    }
}
