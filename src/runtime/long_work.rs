//! Computations that would keep a worker of the runtime from everything else: they run on threads of their own, few at once. The
//! others wait their turn, and a computation that nobody waits for any more has to stop.

use std::{num::NonZero, sync::Arc, thread, time::Duration};

use tokio::{sync::Semaphore, task::spawn_blocking, time::timeout};
use tokio_util::sync::CancellationToken;

use crate::failure::{ErrorCode, Failure};

/// How long a computation waits for its turn. Each takes well under a second.
const TURN_TIMEOUT: Duration = Duration::from_secs(10);

/// Runs them. Clones share the turns.
#[derive(Clone)]
pub struct LongWork {
    turns: Arc<Semaphore>,
}

/// Tells a computation that its outcome is not wanted any more.
#[derive(Clone, Default)]
pub struct Stop(CancellationToken);

/// The computation had no turn in time, or the daemon is ending.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("too much work of this kind is waiting")]
pub struct NoTurn;

impl From<NoTurn> for Failure {
    fn from(none: NoTurn) -> Self {
        Self::new(
            ErrorCode::Overloaded,
            none.to_string(),
            "Try again in a moment.",
        )
    }
}

impl Default for LongWork {
    /// Half of the processors are left to everything else.
    fn default() -> Self {
        let processors = thread::available_parallelism().map_or(1, NonZero::get);
        Self::at_once((processors / 2).max(1))
    }
}

impl LongWork {
    fn at_once(n: usize) -> Self {
        Self {
            turns: Arc::new(Semaphore::new(n)),
        }
    }

    /// Does `work` when it has its turn. Dropping the future requests its stop; the turn ends when it really has.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Stop) -> T + Send + 'static,
    ) -> Result<T, NoTurn> {
        let stop = Stop::default();
        let _left = stop.0.clone().drop_guard();
        let turn = timeout(TURN_TIMEOUT, self.turns.clone().acquire_owned());
        let turn = turn.await.map_err(|_| NoTurn)?.map_err(|_| NoTurn)?;
        let working = spawn_blocking(move || {
            let done = work(&stop);
            drop(turn);
            done
        });
        working.await.map_err(|_| NoTurn)
    }
}

impl Stop {
    /// Whether to stop: nobody looks at the result.
    pub fn is_requested(&self) -> bool {
        self.0.is_cancelled()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn a_computation_is_stopped_when_nobody_waits_and_the_next_has_its_turn() {
        let lane = LongWork::at_once(1);
        let (began, has_begun) = mpsc::channel();
        let endless = lane.run(move |stop| {
            began.send(()).expect("somebody listens");
            while !stop.is_requested() {
                thread::yield_now();
            }
        });
        let mut endless = Box::pin(endless);
        while has_begun.try_recv().is_err() {
            let _ = timeout(Duration::from_millis(1), &mut endless).await;
        }
        let mut next = Box::pin(lane.run(Stop::is_requested));
        let early = timeout(Duration::from_millis(1), &mut next).await;
        assert!(early.is_err(), "only one has its turn");
        drop(endless);
        assert_eq!(next.await, Ok(false));
    }

    #[tokio::test(start_paused = true)]
    async fn who_waits_too_long_is_told_so() {
        let lane = LongWork::at_once(1);
        let _turn = lane.turns.acquire().await.expect("it is free");
        assert_eq!(lane.run(|_| ()).await, Err(NoTurn));
    }
}
