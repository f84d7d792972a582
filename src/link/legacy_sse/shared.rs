//! What the reader and the callers of a link stand on: the server and its addresses, the requests in flight, and the end.

use std::{
    pin::Pin,
    sync::{Arc, OnceLock},
};

use arc_swap::ArcSwap;
use bytes::Bytes;
use http::Uri;
use tokio::{
    runtime::Handle,
    sync::{Semaphore, mpsc},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::link::{
    GOODBYE, LinkError, NewsSender, WITHDRAWALS, in_flight::RequestsInFlight, remote::HttpClient,
};

pub(super) struct LegacySseShared {
    pub(super) client: HttpClient,
    /// Where the stream comes from.
    pub(super) uri: Uri,
    /// Where messages are posted.
    pub(super) address: ArcSwap<Uri>,
    pub(super) in_flight: RequestsInFlight,
    /// Messages that came in the response to a POST, on their way to the reader, which sorts them.
    pub(super) answered: mpsc::Sender<Bytes>,
    pub(super) news: NewsSender,
    pub(super) withdrawals: Semaphore,
    closed: CancellationToken,
    /// Why it is over; set once.
    reason: OnceLock<String>,
    tasks: TaskTracker,
}

impl LegacySseShared {
    pub(super) fn new(
        client: HttpClient,
        uri: Uri,
        address: Uri,
        answered: mpsc::Sender<Bytes>,
        news: NewsSender,
        in_flight: RequestsInFlight,
    ) -> Self {
        Self {
            client,
            uri,
            address: ArcSwap::from_pointee(address),
            in_flight,
            answered,
            news,
            withdrawals: Semaphore::new(WITHDRAWALS),
            closed: CancellationToken::new(),
            reason: OnceLock::new(),
            tasks: TaskTracker::new(),
        }
    }

    /// Ends the link: everything in flight fails, and nothing more is sent. The first reason counts.
    pub(super) fn end(&self, reason: &str) {
        let reason = self.reason.get_or_init(|| reason.to_owned());
        self.in_flight.close(reason);
        self.closed.cancel();
    }

    /// Waits for the end.
    pub(super) async fn ended(&self) {
        self.closed.cancelled().await;
    }

    /// Why it is over.
    pub(super) fn reason(&self) -> String {
        self.reason.get().cloned().unwrap_or_default()
    }

    /// Runs a task beside the reader until it ends or the link is over.
    pub(super) fn spawn(self: &Arc<Self>, task: impl Future<Output = ()> + Send + 'static) {
        // Without a runtime, as when a program ends, there is nothing left to do.
        let Ok(runtime) = Handle::try_current() else {
            return;
        };
        let closed = self.closed.clone();
        // Boxed, because what waits for it would otherwise hold it twice.
        let task = Box::pin(task);
        let task = async move {
            closed.run_until_cancelled_owned(task).await;
        };
        self.tasks.spawn_on(task, &runtime);
    }

    /// Waits until no such task runs. They end at their next step, and none of them takes long ones.
    pub(super) async fn idle(&self) {
        self.tasks.close();
        let _ = tokio::time::timeout(GOODBYE, self.tasks.wait()).await;
    }

    /// Does something that must not outlive the link.
    pub(super) async fn unless_closed<T>(
        &self,
        work: Pin<&mut impl Future<Output = Result<T, LinkError>>>,
    ) -> Result<T, LinkError> {
        if self.closed.is_cancelled() {
            return Err(LinkError::NotDelivered(self.reason()));
        }
        let done = self.closed.run_until_cancelled(work).await;
        done.unwrap_or_else(|| Err(LinkError::Lost(self.reason())))
    }
}
