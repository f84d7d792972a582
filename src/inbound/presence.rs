//! Whether anybody uses the daemon, so that one which was started for its clients can end after the last of them.

use std::time::Duration;

use tokio::{sync::watch, time::sleep};

/// Counts who is there: sessions, clients on a pipe, calls in flight. Cheap to clone.
#[derive(Clone, Default)]
pub struct Presence(watch::Sender<usize>);

/// Somebody who is there until this is dropped.
pub struct Present(Presence);

impl Presence {
    /// Somebody comes.
    #[must_use]
    pub fn enter(&self) -> Present {
        // Whoever waits hears of the first, and of the last who leaves, only: each call comes and goes.
        self.0.send_if_modified(|present| {
            *present += 1;
            *present == 1
        });
        Present(self.clone())
    }

    /// Returns when nobody has been there for so long.
    pub async fn empty_for(&self, time: Duration) {
        let mut presence = self.0.subscribe();
        loop {
            let empty = *presence.borrow_and_update() == 0;
            tokio::select! {
                // Cannot fail: `self` is a sender.
                _ = presence.changed() => (),
                () = sleep(time), if empty => return,
            }
        }
    }
}

impl Drop for Present {
    fn drop(&mut self) {
        self.0.0.send_if_modified(|present| {
            *present -= 1;
            *present == 0
        });
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures_util::FutureExt;

    use super::Presence;

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
        let long = presence.empty_for(Duration::from_hours(1));
        assert!(long.now_or_never().is_none());
    }
}
