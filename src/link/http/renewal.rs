//! Opening a session, and opening it again when the server has forgotten it: once, for all who find out.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue};
use tokio::sync::watch;

use super::{HttpSession, HttpShared, pull::Pull, session::Renewal};
use crate::{
    link::{
        Incoming, LinkError, News,
        remote::{HttpRefusal, Posted, SESSION_ID},
    },
    text::Quoted,
    wire::{Id, Outcome, Raw, method, notification_frame},
};

/// How long opening a session again may take.
const RENEWAL: Duration = Duration::from_secs(30);

impl HttpShared {
    /// Opens the first session. The request is remembered, to open further ones.
    pub(super) async fn open(self: &Arc<Self>, id: Id, frame: Bytes) -> Result<Outcome, LinkError> {
        *self.renewals.opening.lock() = Some((id.clone(), frame.clone()));
        let opening = self.send_opening(&id, frame).await?;
        let session_id = opening.session_id.clone();
        let outcome = opening.answer(self).await?;
        if let Outcome::Result(result) = &outcome {
            let session = HttpSession::after(&self.session(), session_id, result);
            self.session.store(Arc::new(session));
        }
        Ok(outcome)
    }

    /// Posts `initialize`, which bears neither session nor revision.
    async fn send_opening(
        self: &Arc<Self>,
        id: &Id,
        frame: Bytes,
    ) -> Result<SessionOpening, LinkError> {
        let none = Arc::new(HttpSession::default());
        let posted = self
            .server
            .post(&none, &frame.into(), &HeaderMap::new())
            .await?;
        let session_id = match &posted {
            Posted::Accepted(response) => response.headers().get(SESSION_ID).cloned(),
            Posted::Refused(refusal) => {
                // Set once; a later session's refusal does not matter.
                let _ = self.renewals.refused.set(refusal.status());
                None
            }
        };
        let pull = Pull::of(self, id, none, posted)?;
        Ok(SessionOpening { pull, session_id })
    }

    /// The HTTP status with which the server refused the first `initialize`, if it did.
    pub(super) fn refused_with(&self) -> Option<u16> {
        self.renewals.refused.get().copied()
    }

    /// Opens the session again after the one of this number was lost. The work goes on when a caller leaves.
    pub(super) async fn renew(self: &Arc<Self>, lost: u64) -> Result<(), LinkError> {
        let Some(mut outcome) = self.renewal_of(lost) else {
            return Ok(());
        };
        match outcome.wait_for(Option::is_some).await.as_deref() {
            Ok(Some(end)) => end.clone(),
            _ => Err(LinkError::NotDelivered("the link is closed".to_owned())),
        }
    }

    /// The renewal of a session, begun if nobody has yet; `None` if it is done.
    fn renewal_of(
        self: &Arc<Self>,
        lost: u64,
    ) -> Option<watch::Receiver<Option<Result<(), LinkError>>>> {
        let mut newest = self.renewals.newest.lock();
        if self.session().number != lost {
            return None;
        }
        if let Some(renewal) = newest.as_ref().filter(|renewal| renewal.lost == lost) {
            return Some(renewal.outcome.clone());
        }
        let (done, outcome) = watch::channel(None);
        let shared = self.clone();
        self.tasks.spawn(async move {
            let (end, news) = shared.renew_now().await;
            done.send_replace(Some(end));
            shared.in_flight.news().send(news).await;
        });
        *newest = Some(Renewal {
            lost,
            outcome: outcome.clone(),
        });
        Some(outcome)
    }

    async fn renew_now(self: &Arc<Self>) -> (Result<(), LinkError>, News) {
        let why = match tokio::time::timeout(RENEWAL, self.reopen()).await {
            Ok(Ok(result)) => {
                tracing::debug!("the session had expired and was opened again");
                return (Ok(()), News::Renewed(result));
            }
            Ok(Err(error)) => error,
            Err(_) => LinkError::NotDelivered("no answer within 30 s".to_owned()),
        };
        tracing::debug!(%why, "the session had expired and could not be opened again");
        let lost = why.session_lost();
        let news = News::Closed(lost.to_string());
        (Err(lost), news)
    }

    async fn reopen(self: &Arc<Self>) -> Result<Raw, LinkError> {
        let opening = self.renewals.opening.lock().clone();
        let Some((id, frame)) = opening else {
            return Err(LinkError::Broken("it was never opened".to_owned()));
        };
        let opening = self.send_opening(&id, frame).await?;
        let session_id = opening.session_id.clone();
        let result = match opening.answer(self).await? {
            Outcome::Result(result) => result,
            Outcome::Error(error) => {
                let message = error.get("message").and_then(|message| message.string());
                let why = message.as_deref().unwrap_or(error.as_str());
                let why = Quoted::of(why.as_bytes(), &self.server.client.secrets());
                return Err(LinkError::NoNewSession(why));
            }
        };
        let session = HttpSession::renewed(&self.session(), session_id, &result);
        self.tell(&session, notification_frame(method::INITIALIZED, None))
            .await?;
        // Only now, with its handshake done, it is one for others to use.
        self.session.store(Arc::new(session));
        self.listen().await;
        Ok(result)
    }
}

/// A session that is being opened.
pub(super) struct SessionOpening {
    pull: Pull,
    session_id: Option<HeaderValue>,
}

impl SessionOpening {
    async fn answer(mut self, shared: &HttpShared) -> Result<Outcome, LinkError> {
        loop {
            match self.pull.next().await? {
                Incoming::Answer(outcome) => return Ok(outcome),
                Incoming::Notice(notice) => {
                    shared.in_flight.news().post(News::Notification(notice));
                }
                Incoming::Question(question) => {
                    shared.in_flight.news().post(News::Question(question));
                }
            }
        }
    }
}

/// Whether a refusal says that the server does not know the session: 404, in older servers 400 with a word about it.
pub(super) fn session_unknown(refusal: &HttpRefusal, session: &HttpSession) -> bool {
    session.has_id() && refusal.means_no_session()
}
