//! A worker as the supervisor holds it.

use std::sync::{Arc, atomic::AtomicBool};

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::{
    config::ServerEntry,
    upstream::calls::{followed::Kinship, handle::Upstream},
};

/// A worker that runs.
pub(super) struct RunningWorker {
    pub(super) upstream: Upstream,
    /// What its client's caller follows is subscribed to there, too.
    pub(super) _joined: Option<Kinship>,
    pub(super) entry: Arc<ServerEntry>,
    pub(super) stop: CancellationToken,
    /// Set where the server was taken out of the configuration: its log goes when it has ended.
    pub(super) forgotten: Arc<AtomicBool>,
    pub(super) task: JoinHandle<()>,
}
