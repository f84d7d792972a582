//! Waits until the worker has read the lists of an upstream's connection again.

use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

use super::{
    Upstream,
    handle::{Command, Live},
};
use crate::link::LinkError;

/// How long a list request waits until announced changes are read. What is read later is announced to the client as another change.
const ANNOUNCED: Duration = Duration::from_secs(1);

impl Upstream {
    /// Waits, for a moment, until the changes that the server has announced are read: a client that has heard of them wants no older list.
    pub async fn read_announced(&self) {
        if let Some(live) = self.0.live.load_full() {
            self.changes_read(live.incarnation, ANNOUNCED).await;
        }
    }

    /// Waits until the changes that a server announced on this connection are read.
    pub(super) async fn changes_read(&self, incarnation: u64, timeout: Duration) {
        let command = |done| Command::ReadChanges(incarnation, done);
        self.wait_for_worker(command, timeout).await;
    }

    /// Has the lists read again, because this error shows that the server's definitions may have changed.
    pub(super) async fn list_again(&self, live: &Live, error: &LinkError, timeout: Duration) {
        tracing::debug!(server = %self.name(), %error, "the server is listed again: its definitions may have changed");
        let command = |done| Command::Relist(live.incarnation, done);
        self.wait_for_worker(command, timeout).await;
    }

    /// Gives the worker a command, and waits until it is done, or the time is over: the caller goes on with what is known then.
    pub(super) async fn wait_for_worker(
        &self,
        command: impl FnOnce(oneshot::Sender<()>) -> Command,
        timeout: Duration,
    ) {
        wait_for(&self.0.commands, command, timeout).await;
    }
}

/// The time is that of all of it: the queue may be full.
async fn wait_for(
    commands: &mpsc::Sender<Command>,
    command: impl FnOnce(oneshot::Sender<()>) -> Command,
    timeout: Duration,
) {
    let (done, finished) = oneshot::channel();
    let doing = async {
        if commands.send(command(done)).await.is_ok() {
            let _ = finished.await;
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
        let command = |done| Command::ReadChanges(1, done);
        let waiting = wait_for(&commands, command, Duration::from_millis(10));
        let waited = tokio::time::timeout(Duration::from_secs(10), waiting).await;
        assert!(waited.is_ok());
    }
}
