//! What both lanes of a link stand on: the server, the session, and the tasks that run beside the calls.

use std::{pin::Pin, sync::Arc};

use arc_swap::ArcSwap;
use bytes::Bytes;
use tokio::{
    runtime::Handle,
    sync::{Semaphore, mpsc},
    task::AbortHandle,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    server::Server,
    session::{HttpSession, Renewals},
};
use crate::{
    link::{GOODBYE, LinkError, NewsSender, WITHDRAWALS, in_flight::RequestsInFlight},
    runtime::sync::Guarded,
    wire::{Id, RequestNumbers},
};

pub(super) struct HttpShared {
    pub(super) server: Server,
    pub(super) session: ArcSwap<HttpSession>,
    pub(super) renewals: Renewals,
    pub(super) in_flight: RequestsInFlight,
    /// The task that reads the stream of notifications.
    pub(super) listener: Guarded<Option<AbortHandle>>,
    /// Requests of the control lane that wait for their answers, and how to stop that.
    pub(super) controls: Guarded<Vec<(Id, CancellationToken)>>,
    /// To the rmcp client.
    pub(super) control: mpsc::Sender<Bytes>,
    /// To the worker.
    pub(super) news: NewsSender,
    pub(super) withdrawals: Semaphore,
    closed: CancellationToken,
    tasks: TaskTracker,
}

impl HttpShared {
    pub(super) fn new(
        server: Server,
        control: mpsc::Sender<Bytes>,
        news: NewsSender,
        numbers: RequestNumbers,
        closed: CancellationToken,
    ) -> Self {
        Self {
            server,
            session: ArcSwap::default(),
            renewals: Renewals::default(),
            in_flight: RequestsInFlight::new(numbers),
            listener: Guarded::default(),
            controls: Guarded::default(),
            control,
            news,
            withdrawals: Semaphore::new(WITHDRAWALS),
            closed,
            tasks: TaskTracker::new(),
        }
    }

    pub(super) fn session(&self) -> Arc<HttpSession> {
        self.session.load_full()
    }

    /// Runs a task beside the calls until it ends or the link is closed.
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
        Some(self.tasks.spawn_on(task, &runtime).abort_handle())
    }

    /// Does something that must not outlive the link. Pinned where it begins: taken by value it would be kept twice.
    pub(super) async fn unless_closed<T>(
        &self,
        work: Pin<&mut impl Future<Output = Result<T, LinkError>>>,
    ) -> Result<T, LinkError> {
        if self.closed.is_cancelled() {
            return Err(LinkError::NotDelivered("the link is closed".to_owned()));
        }
        let done = self.closed.run_until_cancelled(work).await;
        done.unwrap_or_else(|| Err(closed_meanwhile()))
    }

    /// The same for what follows a request that was sent: whether it was processed is not known.
    pub(super) async fn until_closed<T>(
        &self,
        work: Pin<&mut impl Future<Output = Result<T, LinkError>>>,
    ) -> Result<T, LinkError> {
        let done = self.closed.run_until_cancelled(work).await;
        done.unwrap_or_else(|| Err(closed_meanwhile()))
    }

    /// Ends every task and waits for them. Whether this was the first time.
    pub(super) async fn end(&self) -> bool {
        let first = !self.closed.is_cancelled();
        self.closed.cancel();
        self.tasks.close();
        // They end at their next step, and none of them takes long ones.
        let _ = tokio::time::timeout(GOODBYE, self.tasks.wait()).await;
        first
    }

    /// Whether no task runs.
    #[cfg(test)]
    pub(super) fn is_idle(&self) -> bool {
        self.tasks.is_empty()
    }

    /// Waits until no task runs. No more can be begun.
    #[cfg(test)]
    pub(super) async fn idle(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }
}

fn closed_meanwhile() -> LinkError {
    LinkError::Lost("the link was closed".to_owned())
}
