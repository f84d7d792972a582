//! How long requests wait after a start of the daemon, which reads the last known lists and connects to servers while it answers.

use std::time::Duration;

use tokio::{sync::broadcast::error::RecvError, time::timeout};

use super::{Router, View};
use crate::{access::Caller, upstream::Upstream, wire::method};

/// How long a list waits for the first discovery where nothing is known.
const FIRST_DISCOVERY: Duration = Duration::from_secs(5);

/// How long the opening of a connection, which repeats the instructions of servers, and the status, which counts tools, wait for the last
/// known lists: a few thousand tools are read by then. What comes later is missing there.
const MOMENT: Duration = Duration::from_millis(250);

/// Limit: how long all other requests wait for the last known lists. A name that nobody knows is refused then.
const LONGEST: Duration = Duration::from_mins(1);

impl Router {
    /// Waits until every server is listed or failed, at most [`FIRST_DISCOVERY`]; once something is known, only as long as more comes.
    pub(super) async fn wait_for_first_discovery(&self, caller: &Caller) {
        let mut differences = self.0.catalog.differences();
        let mut upstreams = self.0.upstreams.all();
        // A quarantined server is listed for inspection only.
        upstreams.retain(|upstream| self.0.gate.offers(caller, upstream.name().as_str()));
        let settled = futures_util::future::join_all(upstreams.iter().map(Upstream::settled));
        let quiet = async {
            let mut pause = FIRST_DISCOVERY;
            // A lagging receiver has had a change all the same.
            while !matches!(
                timeout(pause, differences.recv()).await,
                Err(_) | Ok(Err(RecvError::Closed))
            ) {
                pause = FIRST_DISCOVERY / 10;
            }
        };
        let enough = async {
            tokio::select! {
                _ = settled => (),
                () = quiet => (),
            }
        };
        if timeout(FIRST_DISCOVERY, enough).await.is_err() {
            tracing::debug!("a list was asked for while the first discovery is still running");
        }
    }

    /// Whether the last known lists are read and the servers are there.
    pub fn has_begun(&self) -> bool {
        self.0.upstreams.have_begun()
    }

    /// Waits until [`Router::has_begun`], at most a minute.
    pub async fn begun(&self) {
        self.begun_within(LONGEST).await;
    }

    /// Waits until [`Router::has_begun`], at most a moment.
    pub async fn begun_soon(&self) {
        self.begun_within(MOMENT).await;
    }

    /// Waits until [`Router::has_begun`], as long as a request of this method on this endpoint may wait.
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
            tracing::debug!("a request continues before the last known lists are read");
        }
    }
}
