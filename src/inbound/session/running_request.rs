//! The requests of a session that run: begins them, withdraws them, and waits for their end.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

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

    /// Notes a request that begins, so that the client can withdraw it by its id.
    pub(in crate::inbound) fn begin(self: &Arc<Self>, id: &Id) -> RunningRequest {
        let token = CancellationToken::new();
        let id = id.detached();
        // Some clients use an id again while its request still runs.
        let mut state = self.state.lock();
        let tokens = state.running.entry(id.clone()).or_default();
        tokens.push(token.clone());
        drop(state);
        RunningRequest {
            session: self.clone(),
            id,
            token,
        }
    }

    /// The client withdraws a request.
    pub(in crate::inbound) fn cancel(&self, id: &Id) {
        for token in self.state.lock().running.get(id).into_iter().flatten() {
            token.cancel();
        }
    }
}

/// A request of a session while it runs.
pub(in crate::inbound) struct RunningRequest {
    session: Arc<LegacySession>,
    id: Id,
    token: CancellationToken,
}

impl RunningRequest {
    /// What comes of the work on the request; `None` when the client withdrew it first.
    pub(in crate::inbound) async fn unless_withdrawn<T>(
        &self,
        work: impl Future<Output = T>,
    ) -> Option<T> {
        self.token.run_until_cancelled(work).await
    }
}

impl Drop for RunningRequest {
    fn drop(&mut self) {
        let mut state = self.session.state.lock();
        let Some(tokens) = state.running.get_mut(&self.id) else {
            return;
        };
        // Those that were withdrawn are of no use either.
        self.token.cancel();
        tokens.retain(|token| !token.is_cancelled());
        if tokens.is_empty() {
            state.running.remove(&self.id);
        }
    }
}
