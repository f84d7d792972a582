//! Has the lists of an upstream's connection read again, and waits for that.

use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

use super::{
    Upstream,
    handle::{Command, Live},
};
use crate::link::LinkError;

/// How long a list waits for what its server announced to be read. Later it is told as another change.
const ANNOUNCED: Duration = Duration::from_secs(1);

impl Upstream {
    /// Waits, for a moment, until what the server has announced is read: who has heard of it wants no list from before it.
    pub async fn read_announced(&self) {
        if let Some(live) = self.0.live.load_full() {
            self.changes_read(live.incarnation, ANNOUNCED).await;
        }
    }

    /// Has what a server announced on a connection read, and waits for that.
    pub(super) async fn changes_read(&self, incarnation: u64, timeout: Duration) {
        let (done, listed) = oneshot::channel();
        let command = Command::ReadChanges(incarnation, done);
        self.wait_for_worker(command, listed, timeout).await;
    }

    /// Has the lists of a server read again, whose answer shows that its definitions may have changed.
    pub(super) async fn list_again(&self, live: &Live, error: &LinkError, timeout: Duration) {
        tracing::debug!(server = %self.name(), %error, "the server is listed again: its definitions may have changed");
        let (done, listed) = oneshot::channel();
        let command = Command::Relist(live.incarnation, done);
        self.wait_for_worker(command, listed, timeout).await;
    }

    /// Gives the worker a command, and waits until it is done, but not longer than this: even without an answer what is known then
    /// counts.
    pub(super) async fn wait_for_worker(
        &self,
        command: Command,
        done: oneshot::Receiver<()>,
        timeout: Duration,
    ) {
        wait_for(&self.0.commands, command, done, timeout).await;
    }
}

/// The time is that of all of it: the queue may be full.
async fn wait_for(
    commands: &mpsc::Sender<Command>,
    command: Command,
    done: oneshot::Receiver<()>,
    timeout: Duration,
) {
    let doing = async {
        if commands.send(command).await.is_ok() {
            let _ = done.await;
        }
    };
    let _ = tokio::time::timeout(timeout, doing).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_worker_that_takes_nothing_costs_the_time_for_its_answer() {
        let (commands, _inbox) = mpsc::channel(1);
        assert!(commands.try_send(Command::Refresh).is_ok());
        let (done, listed) = oneshot::channel();
        let command = Command::ReadChanges(1, done);
        let waiting = wait_for(&commands, command, listed, Duration::from_millis(10));
        let waited = tokio::time::timeout(Duration::from_secs(10), waiting).await;
        assert!(waited.is_ok());
    }
}
