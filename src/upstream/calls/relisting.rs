//! Has the lists of an upstream's connection read again, and waits for that.

use std::time::Duration;

use tokio::sync::oneshot;

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
        self.listed(command, listed, timeout).await;
    }

    /// Has the lists of a server read again, whose answer shows that its definitions may have changed.
    pub(super) async fn list_again(&self, live: &Live, error: &LinkError, timeout: Duration) {
        tracing::debug!(server = %self.name(), %error, "the server is listed again: its definitions may have changed");
        let (done, listed) = oneshot::channel();
        let command = Command::Relist(live.incarnation, done);
        self.listed(command, listed, timeout).await;
    }

    /// Has the lists of a connection read, and waits for that.
    async fn listed(&self, command: Command, listed: oneshot::Receiver<()>, timeout: Duration) {
        if self.0.commands.send(command).await.is_ok() {
            // Even without an answer what is known now counts.
            let _ = tokio::time::timeout(timeout, listed).await;
        }
    }
}
