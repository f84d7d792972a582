//! What requests wait for after a start: the last known lists of the servers are read beside the first connections.

use std::time::Duration;

use tokio::time::timeout;

use super::{FIRST_DISCOVERY, Router, View};
use crate::wire::method;

/// How long a client that opens a connection waits for what servers say in its instructions, and who asks for the status for its counts: a few
/// thousand tools are read by then. What comes later is missing there.
const MOMENT: Duration = Duration::from_millis(250);

/// Limit: how long everything but lists waits. A name that nobody knows is refused then.
const LONGEST: Duration = Duration::from_mins(1);

impl Router {
    /// Whether the last known lists are read and the servers are there: from then on nothing waits for that.
    pub fn has_begun(&self) -> bool {
        self.0.upstreams.have_begun()
    }

    /// Waits for that.
    pub async fn begun(&self) {
        self.begun_within(LONGEST).await;
    }

    /// The same for a moment only.
    pub async fn begun_soon(&self) {
        self.begun_within(MOMENT).await;
    }

    /// The same as long as a client's request may wait.
    pub async fn begun_for(&self, view: &View, method: &str) {
        match (view, method) {
            (_, method::PING) => (),
            (View::Server(_), _) => self.begun().await,
            (_, method::INITIALIZE | method::DISCOVER) => self.begun_soon().await,
            (_, method) if method::is_list(method) => self.begun_within(FIRST_DISCOVERY).await,
            _ => self.begun().await,
        }
    }

    async fn begun_within(&self, patience: Duration) {
        if timeout(patience, self.0.upstreams.begun()).await.is_err() {
            tracing::debug!("a request goes on before the last known lists are read");
        }
    }
}
