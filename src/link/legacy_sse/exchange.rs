//! One forwarded request: the stream of what comes back for it, and its withdrawal when the caller leaves before the answer.

use std::{sync::Arc, time::Duration};

use tokio_util::sync::{CancellationToken, DropGuard};

use super::shared::LegacySseShared;
use crate::{
    link::{LinkError, in_flight::Purpose, slot::Slot},
    telemetry::log_context::LoggedWork,
    wire::{Id, Raw, request_frame},
};

/// A withdrawal waits so long for its request to arrive first. Not longer, because some servers take a request only when it is done.
const HEAD_START: Duration = Duration::from_secs(1);

/// How long a caller waits for the server to take the request. Later the request may still be answered, but it is too late to send it
/// again elsewhere; longer than a connection may take.
const TAKING: Duration = Duration::from_secs(15);

/// The stream of one request. Dropping it before the answer cancels the request upstream.
pub struct LegacySseExchange {
    shared: Arc<LegacySseShared>,
    number: u64,
    slot: Arc<Slot>,
    /// The server does not hear of a withdrawal.
    quiet: bool,
    /// Cancelled when the request has been posted.
    delivered: CancellationToken,
    /// Ends the posting when the request is over.
    _settled: DropGuard,
}

impl LegacySseExchange {
    pub(super) async fn begin(
        shared: &Arc<LegacySseShared>,
        number: u64,
        method: &str,
        params: Option<&Raw>,
        purpose: Purpose,
    ) -> Result<Self, LinkError> {
        let slot = shared.in_flight.insert(number, purpose)?;
        let (delivered, settled) = (CancellationToken::new(), CancellationToken::new());
        let exchange = Self {
            shared: shared.clone(),
            number,
            slot,
            quiet: false,
            delivered: delivered.clone(),
            _settled: settled.clone().drop_guard(),
        };
        let frame = request_frame(&Id::ours(number), method, params).joined();
        let posting = shared
            .clone()
            .post_request(number, frame, delivered, settled);
        shared.tasks.spawn(posting.logged_here());
        tokio::select! {
            biased;
            () = exchange.slot.stirred() => (),
            () = exchange.delivered.cancelled() => (),
            () = tokio::time::sleep(TAKING) => (),
        }
        match exchange.slot.failure() {
            None => Ok(exchange),
            Some(error) => Err(error),
        }
    }

    /// See [`crate::link::Exchange::leave_quietly`].
    pub(in crate::link) fn leave_quietly(&mut self) {
        self.quiet = true;
    }

    pub(in crate::link) fn slot(&self) -> &Slot {
        &self.slot
    }
}

impl Drop for LegacySseExchange {
    fn drop(&mut self) {
        // A request that was answered, or has failed, is not in the table any more.
        if !self.shared.in_flight.leave(self.number, &self.slot) || self.quiet {
            return;
        }
        let (shared, number) = (self.shared.clone(), self.number);
        let delivered = self.delivered.clone();
        let withdrawal = async move {
            let _ = tokio::time::timeout(HEAD_START, delivered.cancelled()).await;
            shared.withdraw(number).await;
        };
        self.shared.tasks.spawn(withdrawal.logged_here());
    }
}
