//! One forwarded request: the stream of what comes back for it, and its withdrawal when the caller leaves before the answer.

use std::{pin::pin, sync::Arc};

use bytes::Bytes;

use super::{HttpLink, HttpSession, pull::Pull};
use crate::{
    link::{
        Incoming, LinkError, News, Slot, remote::WITHDRAWAL, sorter::subscription_of,
        withdrawal_frame,
    },
    telemetry::log_context::LoggedWork,
    wire::method,
};

/// The stream of one request. Dropping it before the answer cancels the request upstream.
pub struct HttpExchange {
    pull: Pull,
    withdrawal: Withdrawal,
}

impl HttpExchange {
    pub(super) fn new(pull: Pull, withdrawal: Withdrawal) -> Self {
        Self { pull, withdrawal }
    }

    pub(in crate::link) fn slot(&self) -> Option<&Slot> {
        self.withdrawal.slot.as_deref()
    }

    /// The next message; see [`crate::link::Exchange::next`].
    pub async fn next(&mut self) -> Result<Incoming, LinkError> {
        let shared = &self.withdrawal.link.shared;
        let message = loop {
            let slot = self.withdrawal.slot.as_deref();
            // Pinned where it begins: by a name it would be kept once more.
            let arrived = shared
                .tasks
                .until_closed(pin!(async {
                    let Some(slot) = slot else {
                        return self.pull.next().await;
                    };
                    tokio::select! {
                        biased;
                        question = slot.next() => question,
                        message = self.pull.next() => message,
                    }
                }))
                .await;
            match arrived {
                // Some servers say on the stream of a call what concerns everybody. What came of a subscription names it.
                Ok(Incoming::Notice(notice))
                    if concerns_all(&notice.method) && subscription_of(&notice).is_none() =>
                {
                    shared.in_flight.news().post(News::Notification(notice));
                }
                // Such a server has nobody to ask, and there is no way to answer it.
                Ok(Incoming::Question(_)) if self.pull.is_stateless() => {
                    tracing::debug!(
                        "a question of the server was ignored: its revision has no such questions"
                    );
                }
                message => break message,
            }
        };
        if message.is_ok() {
            self.withdrawal.link.shared.in_flight.news().note_heard();
        }
        match &message {
            Ok(Incoming::Answer(_)) => self.withdrawal.settle(),
            Ok(_) => (),
            Err(error) => self.withdrawal.failed(error),
        }
        message
    }
}

/// Whether a notification is about the server, whatever stream it comes on.
pub(super) fn concerns_all(name: &str) -> bool {
    matches!(
        name,
        method::TOOLS_CHANGED
            | method::PROMPTS_CHANGED
            | method::RESOURCES_CHANGED
            | method::RESOURCE_UPDATED
    )
}

/// Stands for a request that the server may be working on. It is made before the request is sent, because a caller may leave while
/// the head of the response is awaited.
pub(super) struct Withdrawal {
    link: HttpLink,
    number: u64,
    /// Its place among the requests in flight, where questions arrive that came on another stream. None where there are no questions.
    slot: Option<Arc<Slot>>,
    /// The session in which the server knows the request; none if there is nothing to withdraw.
    pub(super) sent_in: Option<Arc<HttpSession>>,
}

impl Withdrawal {
    pub(super) fn new(link: HttpLink, number: u64, slot: Option<Arc<Slot>>) -> Self {
        Self {
            link,
            number,
            slot,
            sent_in: None,
        }
    }

    /// The request is over: there is nothing to withdraw any more.
    fn settle(&mut self) {
        self.sent_in = None;
        if self.slot.is_some() {
            self.link.shared.in_flight.forget(self.number);
        }
    }

    /// The request has failed. When it is not known to be over, the server should stop working on it.
    pub(super) fn failed(&mut self, error: &LinkError) {
        let is_in_doubt = matches!(
            error,
            LinkError::Lost(_)
                | LinkError::NotHttp
                | LinkError::Broken(_)
                | LinkError::OddEndpoint(_)
                | LinkError::Endless(_)
        );
        if !is_in_doubt {
            self.settle();
        }
    }
}

impl Drop for Withdrawal {
    fn drop(&mut self) {
        if let Some(slot) = &self.slot {
            self.link.shared.in_flight.leave(self.number, slot);
        }
        // A stateless request is withdrawn by closing its stream, and dropping it does so.
        let Some(session) = self
            .sent_in
            .take()
            .filter(|session| !session.is_stateless())
        else {
            return;
        };
        let frame = withdrawal_frame(self.number);
        let withdrawal = withdraw(self.link.clone(), session, frame);
        self.link.shared.tasks.spawn(withdrawal.logged_here());
    }
}

/// Takes the whole link, which must not end before this is done.
async fn withdraw(link: HttpLink, session: Arc<HttpSession>, frame: Bytes) {
    let shared = &link.shared;
    let sent = async {
        let _turn = shared.tasks.withdrawals.acquire().await;
        // A session that was lost has taken its requests with it.
        if shared.session().number != session.number {
            return Ok(());
        }
        shared.tell(&session, frame).await
    };
    if let Ok(Err(error)) = tokio::time::timeout(WITHDRAWAL, sent).await {
        tracing::debug!(%error, "a withdrawn request could not be cancelled");
    }
}
