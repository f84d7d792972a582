//! What a link stands on: the server, the session, and the tasks that run beside the calls.

use std::sync::Arc;

use arc_swap::ArcSwap;
use tokio::task::AbortHandle;

use super::{
    server::Server,
    session::{HttpSession, Renewals},
};
use crate::{
    link::{in_flight::RequestsInFlight, tasks::LinkTasks},
    runtime::sync::Guarded,
};

pub(super) struct HttpShared {
    pub(super) server: Server,
    pub(super) session: ArcSwap<HttpSession>,
    pub(super) renewals: Renewals,
    pub(super) in_flight: RequestsInFlight,
    /// The task that reads the stream of notifications.
    pub(super) listener: Guarded<Option<AbortHandle>>,
    pub(super) tasks: LinkTasks,
}

impl HttpShared {
    pub(super) fn new(server: Server, in_flight: RequestsInFlight, tasks: LinkTasks) -> Self {
        Self {
            server,
            session: ArcSwap::default(),
            renewals: Renewals::default(),
            in_flight,
            listener: Guarded::default(),
            tasks,
        }
    }

    pub(super) fn session(&self) -> Arc<HttpSession> {
        self.session.load_full()
    }
}
