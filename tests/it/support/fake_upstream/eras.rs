//! What only upstreams of a revision without a handshake do, and being of one or the other.

use super::{Face, FakeUpstream, How, Received, Upstream};
use crate::support::{
    modern::{Ending, Word},
    script::Command,
};

impl FakeUpstream {
    /// Speaks the revision without a handshake as well.
    pub fn speaking_both(mut self) -> Self {
        self.script.speaks_both = true;
        self
    }

    /// Knows exactly these revisions where requests speak for themselves, and says so.
    pub fn supporting(mut self, revisions: &[&str]) -> Self {
        let revisions = revisions.iter().map(ToString::to_string).collect();
        self.script.supported = Some(revisions);
        self
    }

    pub fn is_over_pipes(&self) -> bool {
        self.transport == "stdio"
    }
}

impl Upstream {
    /// Waits until clients have left so many requests before their answers.
    pub async fn wait_for_abandoned(&self, count: usize) {
        let left = |entry: &Received| entry.how == How::Abandoned;
        self.record
            .wait_for("a request that was left", count, left)
            .await;
    }

    /// Says a notification on every subscription that wants it.
    pub async fn tell(&self, frame: &str) {
        match &self.face {
            Face::Http(server) => server.tell(Word::Notice(frame.to_owned())),
            Face::Stdio { control, .. } => control.command(&Command::Tell(frame.to_owned())).await,
        }
    }

    /// Ends every subscription.
    pub async fn end_subscriptions(&self, ending: Ending) {
        match &self.face {
            Face::Http(server) => server.tell(Word::End(ending)),
            Face::Stdio { control, .. } => {
                control.command(&Command::EndSubscriptions(ending)).await;
            }
        }
    }

    /// Becomes a server of another revision; a child does so when it is started again.
    pub async fn speak(&self, revision: &str) {
        self.change(|script| revision.clone_into(&mut script.revision))
            .await;
    }

    pub(super) fn speaks_modern_only(&self) -> bool {
        self.script
            .lock()
            .expect("no panic under lock")
            .is_modern_only()
    }
}
