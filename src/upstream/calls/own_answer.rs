//! An answer of mcpproxy to a question of the server, while it is sent. It is sent to its end also when the wait for that is given up.

use futures_util::{FutureExt, future::BoxFuture};

use crate::{
    link::{Link, LinkError},
    wire::{Id, Outcome},
};

/// The answer on its way, if there is one: at most one, because a server that takes its time to accept it is not read from meanwhile.
#[derive(Default)]
pub(in crate::upstream) struct OwnAnswer(Option<BoxFuture<'static, Result<(), LinkError>>>);

impl OwnAnswer {
    /// The answer to this question. It is sent with [`Self::sent`].
    pub(super) fn to(link: Link, question: Id, outcome: Outcome) -> Self {
        Self(Some(
            async move { link.answer(&question, &outcome).await }.boxed(),
        ))
    }

    /// Waits until the server has taken it. Cancel-safe: what was begun goes on with the next wait.
    pub(super) async fn sent(&mut self) -> Result<(), LinkError> {
        let Some(sending) = &mut self.0 else {
            return Ok(());
        };
        let sent = sending.await;
        self.0 = None;
        sent
    }

    /// Has the rest sent in the background, because nobody waits any more.
    pub(super) fn send_soon(&mut self, link: &Link) {
        if let Some(sending) = self.0.take() {
            link.finish_soon(sending);
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn a_wait_that_is_given_up_loses_nothing() {
        let (taken, accepted) = oneshot::channel();
        let sending = async move { accepted.await.map_err(|_| LinkError::NotHttp) };
        let mut answer = OwnAnswer(Some(sending.boxed()));
        assert!(answer.sent().now_or_never().is_none(), "not taken yet");
        taken.send(()).expect("it still waits to be taken");
        answer.sent().await.expect("sent");
        answer.sent().await.expect("nothing is left");
    }
}
