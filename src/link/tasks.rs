//! What runs beside the calls of a link over HTTP, and the end of all of it.

use std::{pin::Pin, sync::OnceLock};

use tokio::{runtime::Handle, sync::Semaphore, task::AbortHandle};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{LinkError, remote::GOODBYE};

/// Limit: withdrawals on their way at once. Further ones wait for their turn, or their deadline.
const WITHDRAWALS: usize = 16;

/// The tasks of one link.
pub(super) struct LinkTasks {
    /// Bounds the withdrawals that are being sent.
    pub(super) withdrawals: Semaphore,
    closed: CancellationToken,
    /// Why the link is over; set once.
    reason: OnceLock<String>,
    running: TaskTracker,
}

impl LinkTasks {
    /// They end with `closed`.
    pub(super) fn new(closed: CancellationToken) -> Self {
        Self {
            withdrawals: Semaphore::new(WITHDRAWALS),
            closed,
            reason: OnceLock::new(),
            running: TaskTracker::new(),
        }
    }

    /// Runs a task until it ends or the link is over.
    pub(super) fn spawn(
        &self,
        task: impl Future<Output = ()> + Send + 'static,
    ) -> Option<AbortHandle> {
        // Without a runtime, as when a program ends, there is nothing left to do.
        let runtime = Handle::try_current().ok()?;
        let closed = self.closed.clone();
        // Boxed, because what waits for it would otherwise hold it twice.
        let task = Box::pin(task);
        let task = async move {
            closed.run_until_cancelled_owned(task).await;
        };
        Some(self.running.spawn_on(task, &runtime).abort_handle())
    }

    /// Does something that must not outlive the link. Pinned where it begins: taken by value it would be kept twice.
    pub(super) async fn unless_closed<T>(
        &self,
        work: Pin<&mut impl Future<Output = Result<T, LinkError>>>,
    ) -> Result<T, LinkError> {
        if self.closed.is_cancelled() {
            return Err(LinkError::NotDelivered(self.reason()));
        }
        self.until_closed(work).await
    }

    /// The same for what follows a request that was sent: whether it was processed is not known.
    pub(super) async fn until_closed<T>(
        &self,
        work: Pin<&mut impl Future<Output = Result<T, LinkError>>>,
    ) -> Result<T, LinkError> {
        tokio::select! {
            biased;
            // Most of what follows a request is there at once, and waits for nothing.
            done = work => done,
            () = self.closed.cancelled() => Err(LinkError::Lost(self.reason())),
        }
    }

    /// Says that the link is over, and why: the first reason counts. Whether it was not over before.
    pub(super) fn end(&self, reason: &str) -> bool {
        self.reason.get_or_init(|| reason.to_owned());
        let is_first = !self.closed.is_cancelled();
        self.closed.cancel();
        is_first
    }

    /// Waits for the end.
    pub(super) async fn ended(&self) {
        self.closed.cancelled().await;
    }

    /// Why the link is over.
    pub(super) fn reason(&self) -> String {
        let reason = self.reason.get();
        reason.map_or_else(|| "the link was closed".to_owned(), Clone::clone)
    }

    /// Waits until no task runs. They end at their next step, and none of them takes long ones.
    pub(super) async fn idle(&self) {
        self.running.close();
        let _ = tokio::time::timeout(GOODBYE, self.running.wait()).await;
    }

    /// Whether no task runs.
    #[cfg(test)]
    pub(super) fn is_idle(&self) -> bool {
        self.running.is_empty()
    }
}
