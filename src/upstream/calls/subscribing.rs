//! Subscribes to the updates of an admitted resource or task at one upstream.

use std::time::Duration;

use super::{
    NotSubscribed, Notifier, Subscription, Upstream, checks::misdirected, followed::Kinship,
    handle::InFlightGuard, topic::NewsTopic,
};
use crate::{access::ClientSeat, config::SessionScope, failure::Failure, gate::Admitted};

/// How long a subscription waits at most for the other connections of its caller: a server that has agreed over one agrees over all.
const OTHERS_PATIENCE: Duration = Duration::from_secs(2);

impl Upstream {
    /// Calls `tell` with all news of the admitted resource or task until the subscription is dropped. An upstream that sleeps is woken,
    /// and sleeps no more.
    pub async fn subscribe(
        &self,
        admitted: &Admitted,
        tell: Notifier,
    ) -> Result<Subscription, NotSubscribed> {
        self.check_recipient(admitted)?;
        let Some(topic) = NewsTopic::of(admitted.target().thing()) else {
            return Err(misdirected(self.name()).into());
        };
        // Keeps the server awake until the subscription is in the table, which does so from then on.
        let _in_flight = InFlightGuard::begin(self.clone());
        let (timeout, _) = self.limits();
        let of_us = |failure: Failure| NotSubscribed::Failed(failure.of_server(self.name()));
        let live = self.live().await?;
        if live.unread.is_overdue() {
            self.changes_read(live.incarnation, timeout).await;
        }
        self.check_still_admitted(admitted, &live)?;
        let subscription = self.0.subscriptions.add(topic.clone(), tell.clone());
        let mut subscription = subscription.map_err(of_us)?;
        // The connection may have been lost before it was in the table.
        self.live().await?;
        let settled = subscription.settled(timeout).await;
        if let Some((kinship, is_agreed)) = self.follow_elsewhere(admitted, &topic, tell).await
            && (is_agreed || settled.is_ok())
        {
            subscription.along = Some(Box::new(kinship));
            return Ok(subscription);
        }
        match settled {
            Ok(()) => Ok(subscription),
            Err(NotSubscribed::Failed(failure)) => Err(of_us(failure)),
            Err(refused) => Err(refused),
        }
    }

    /// Subscribes over the other connections that the caller has to this server. Gives whether one of them agreed; nothing where a caller
    /// gets all its news over one connection.
    async fn follow_elsewhere(
        &self,
        admitted: &Admitted,
        topic: &NewsTopic,
        tell: Notifier,
    ) -> Option<(Kinship, bool)> {
        let has_own = |seat: &ClientSeat| seat.needs_own() || self.0.scope == SessionScope::Client;
        let seat = admitted.caller().seat().filter(|seat| has_own(seat))?;
        let (followed, first) = (&self.0.followed, &self.0.subscriptions);
        followed
            .follow(&seat.client, topic, tell, first, OTHERS_PATIENCE)
            .await
    }
}
