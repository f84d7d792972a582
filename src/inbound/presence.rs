//! Whether anybody uses the daemon, so that one which was started for its clients can end after the last of them.

use std::time::Duration;

use tokio::{sync::watch, time::sleep};

/// Counts who is there. Cheap to clone.
#[derive(Clone, Default)]
pub struct Presence {
    /// Sessions, clients on a pipe, calls in flight.
    clients: watch::Sender<usize>,
    /// Requests of operators in flight.
    operators: watch::Sender<usize>,
}

/// Somebody who is there until this is dropped.
pub struct Present(watch::Sender<usize>);

impl Presence {
    /// A client comes.
    #[must_use]
    pub fn enter(&self) -> Present {
        Present::among(&self.clients)
    }

    /// An operator asks for something: that is answered to its end, and makes the daemon stay no longer than that.
    #[must_use]
    pub fn enter_operator(&self) -> Present {
        Present::among(&self.operators)
    }

    /// Returns when no client has been there for so long, and no operator is.
    pub async fn empty_for(&self, time: Duration) {
        let mut clients = self.clients.subscribe();
        loop {
            let empty = *clients.borrow_and_update() == 0;
            let is_over = async {
                sleep(time).await;
                let mut operators = self.operators.subscribe();
                // Cannot fail, like the other: `self` is a sender.
                let _ = operators.wait_for(|present| *present == 0).await;
            };
            tokio::select! {
                _ = clients.changed() => (),
                () = is_over, if empty => return,
            }
        }
    }
}

impl Present {
    fn among(others: &watch::Sender<usize>) -> Self {
        // Whoever waits hears of the first, and of the last who leaves, only: each call comes and goes.
        others.send_if_modified(|present| {
            *present += 1;
            *present == 1
        });
        Self(others.clone())
    }
}

impl Drop for Present {
    fn drop(&mut self) {
        self.0.send_if_modified(|present| {
            *present -= 1;
            *present == 0
        });
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures_util::FutureExt;

    use super::{Presence, sleep};

    #[tokio::test]
    async fn the_time_runs_while_nobody_is_there() {
        let presence = Presence::default();
        let (first, second) = (presence.enter(), presence.enter());
        let mut empty = Box::pin(presence.empty_for(Duration::ZERO));
        assert!((&mut empty).now_or_never().is_none());
        drop(first);
        assert!((&mut empty).now_or_never().is_none());
        drop(second);
        empty.await;
        let operator = presence.enter_operator();
        let mut empty = Box::pin(presence.empty_for(Duration::ZERO));
        assert!((&mut empty).now_or_never().is_none());
        drop(operator);
        empty.await;
        let long = presence.empty_for(Duration::from_hours(1));
        assert!(long.now_or_never().is_none());
    }
    #[tokio::test(start_paused = true)]
    async fn operators_do_not_put_the_end_off() {
        let presence = Presence::default();
        let start = tokio::time::Instant::now();
        let asking = async {
            loop {
                drop(presence.enter_operator());
                sleep(Duration::from_secs(1)).await;
            }
        };
        tokio::select! {
            () = presence.empty_for(Duration::from_mins(1)) => (),
            () = asking => (),
        }
        assert_eq!(start.elapsed().as_secs(), 60);
    }
}
