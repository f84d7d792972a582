//! The requests of a session that run: begins them, withdraws them, and waits for their end.

use std::sync::Arc;

use futures_util::future::{AbortHandle, AbortRegistration};

use super::LegacySession;
use crate::wire::Id;

impl LegacySession {
    /// Runs a request of a conversation.
    pub(in crate::inbound) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn(work);
    }

    /// How many of them run.
    pub(in crate::inbound) fn in_flight(&self) -> usize {
        self.tasks.len()
    }

    /// Waits until none does.
    pub(in crate::inbound) async fn wait_until_idle(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }

    /// Notes a request that begins, so that the client can withdraw it by its id: then work that is bound to what is registered ends.
    pub(in crate::inbound) fn begin(
        self: &Arc<Self>,
        id: &Id,
    ) -> (RunningRequest, AbortRegistration) {
        let (handle, registration) = AbortHandle::new_pair();
        let mut state = self.state.lock();
        state.begun += 1;
        let number = state.begun;
        // Some clients use an id again while its request still runs.
        state.running.insert(number, (id.detached(), handle));
        drop(state);
        let session = self.clone();
        (RunningRequest { session, number }, registration)
    }

    /// The client withdraws a request.
    pub(in crate::inbound) fn cancel(&self, id: &Id) {
        for (running, handle) in self.state.lock().running.values() {
            if running == id {
                handle.abort();
            }
        }
    }
}

/// A request of a session while it runs.
pub(in crate::inbound) struct RunningRequest {
    session: Arc<LegacySession>,
    number: u64,
}

impl Drop for RunningRequest {
    fn drop(&mut self) {
        self.session.state.lock().running.remove(&self.number);
    }
}
