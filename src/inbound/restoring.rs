//! Sessions that this daemon does not hold and can continue: another one opened them with the same key, or this one before it was started
//! anew, or it has forgotten them because they were silent. What their ids say is agreed on again; the rest comes from the data folder.

use std::{sync::Arc, time::Duration};

use futures_util::stream::{self, StreamExt};
use http::HeaderValue;

use super::{
    Inbound,
    dispatch::ServedClient,
    kept_session::KeptSession,
    session::{Agreed, LegacySession, SessionKind},
    sessions::{Claimed, LIST_CHANGES, NoSession},
};
use crate::{
    access::Caller,
    call_context::{ClientIdentity, ClientSender},
    router::View,
    wire::{method, notification_frame},
};

/// Limit: resources that one session is subscribed to again at a time.
const AT_ONCE: usize = 8;

/// How long it takes until a subscription that failed is tried again; each time it is twice as long.
const PAUSE: Duration = Duration::from_secs(1);

/// How often that is done. The server was away for two minutes then.
const ATTEMPTS: u32 = 7;

impl Inbound {
    /// The session of this caller on this endpoint that has this id. One that is not here is continued if that can be done.
    pub(super) async fn session_of(
        &self,
        caller: &Caller,
        view: &View,
        id: &HeaderValue,
    ) -> Result<Arc<LegacySession>, NoSession> {
        let id = id.to_str().map_err(|_| NoSession::Unknown)?;
        let sessions = &self.0.sessions;
        if let Some(session) = sessions.find(id, SessionKind::Streamable, caller, view) {
            return Ok(session);
        }
        let claimed = sessions.open_id(id, caller, view);
        let claimed = claimed.ok_or(NoSession::Unknown)?;
        // Once: of many requests that name it the first continues it, and the others wait for that.
        let restoring = sessions.restoring(id);
        let restored = restoring.once(|| Box::pin(self.restore(id, caller, view, claimed)));
        restored.await
    }

    async fn restore(
        &self,
        id: &str,
        caller: &Caller,
        view: &View,
        claimed: Claimed,
    ) -> Result<Arc<LegacySession>, NoSession> {
        let sessions = &self.0.sessions;
        if let Some(session) = sessions.find(id, SessionKind::Streamable, caller, view) {
            return Ok(session);
        }
        // Its log level and its subscriptions are for servers, whose lists have to be known.
        self.0
            .router
            .begun_for(view, method::RESOURCES_SUBSCRIBE)
            .await;
        let kept = self.kept(&claimed).await.ok_or(NoSession::Unknown)?;
        let given = &claimed.agreement;
        let capabilities = given.capabilities.as_ref().or(kept.capabilities.as_ref());
        let capabilities = capabilities.ok_or(NoSession::Unknown)?;
        let agreed = Agreed {
            revision: given.revision,
            client: Arc::new(ClientIdentity::new(&given.info, capabilities)),
        };
        let (shown, revision) = (agreed.client.shown(), agreed.revision);
        let session = sessions.continue_session(id, caller, view, agreed, &claimed);
        let session = session.ok_or(NoSession::Busy)?;
        tracing::info!(client = shown, %revision, endpoint = %view, "session continued");
        self.resume_notices(&session, kept);
        Ok(session)
    }

    /// What the data folder has of a session, which may be nothing; `None` if the session must not be continued.
    async fn kept(&self, claimed: &Claimed) -> Option<KeptSession> {
        let records = self.0.sessions.records();
        if records.has_ended(claimed.record) {
            return None;
        }
        let kept = match records.kept(claimed.record).await {
            Ok(None) => Some(KeptSession::default()),
            Ok(Some(content)) => KeptSession::read(&content),
            Err(error) => {
                tracing::warn!(%error, "stored session cannot be read");
                None
            }
        };
        if kept.is_none() {
            records.set_aside(claimed.record).await;
            records.end(claimed.record).await;
        }
        kept
    }

    /// Sets the log level again, and sees to the subscriptions.
    fn resume_notices(&self, session: &Arc<LegacySession>, kept: KeptSession) {
        let router = &self.0.router;
        if let Some(level) = kept.log_level
            && let Some(log) = router.subscribe_to_log(&session.view, Some(&session.client), level)
        {
            session.keep_log_subscription(log);
        }
        let mut uris = kept.subscriptions;
        uris.retain(|uri| session.expect_subscription(uri));
        if uris.is_empty() {
            return;
        }
        let (client, session) = (
            ServedClient::of_session(self, session.clone(), session.caller.clone()),
            session.clone(),
        );
        let closing = self.0.closing.clone();
        self.0.tasks.spawn(async move {
            let subscribing = stream::iter(uris).for_each_concurrent(AT_ONCE, |uri| {
                let (client, session) = (&client, &session);
                async move { subscribe_again(client, session, &uri).await }
            });
            tokio::select! {
                () = subscribing => (),
                () = session.session_end().cancelled() => (),
                () = closing.cancelled() => (),
            }
        });
    }

    /// Keeps on disk what a session has to remember, if it can be continued.
    pub(super) async fn keep(&self, session: &Arc<LegacySession>) {
        if let Some(record) = session.client.record() {
            let of = session.clone();
            let content = Box::new(move || of.kept().write());
            self.0.sessions.records().keep(record, content).await;
        }
    }

    /// Announces changes that a client may have missed, when it opens its stream in a session that was continued. Nobody knows what it
    /// saw last, so it gets one announcement.
    pub(super) fn announce_missed(&self, session: &LegacySession) {
        if !session.take_missed() {
            return;
        }
        let announced = self.0.router.announces(&session.view);
        let announced = LIST_CHANGES.into_iter().zip(announced);
        for (name, _) in announced.filter(|(_, is)| *is) {
            session.to_client().send(notification_frame(name, None));
        }
    }
}

/// Subscribes to a resource as the client did, unless it has changed its mind. Its server may take a while to be back.
async fn subscribe_again(client: &ServedClient, session: &Arc<LegacySession>, uri: &str) {
    let mut pause = PAUSE;
    for _ in 0..ATTEMPTS {
        let context = client.session_context(method::RESOURCES_SUBSCRIBE, ClientSender::nowhere());
        match client.subscribe_to(&context, session, uri).await {
            Ok(subscription) => return session.fill_subscription(uri, subscription),
            Err(error) => {
                let error = error.as_str();
                tracing::debug!(error, "a subscription could not be resumed yet");
            }
        }
        tokio::time::sleep(pause).await;
        pause *= 2;
    }
    tracing::info!("subscription of a client not resumed");
}
