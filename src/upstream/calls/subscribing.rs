//! Subscribes to news of what was admitted to one upstream.

use std::time::Duration;

use super::{
    NotSubscribed, Notifier, Subscription, Upstream, checks::misdirected, handle::InFlightGuard,
    topic::NewsTopic,
};
use crate::{access::ClientSeat, config::SessionScope, failure::Failure, gate::Admitted};

/// How long a subscription waits for the other connections of its caller at most: a server that has agreed on one does on all.
const OTHERS: Duration = Duration::from_secs(2);

impl Upstream {
    /// Calls `tell` with all news of the admitted resource or task until the subscription is dropped. An upstream that sleeps is woken,
    /// and sleeps no more.
    pub async fn subscribe(
        &self,
        admitted: &Admitted,
        tell: Notifier,
    ) -> Result<Subscription, NotSubscribed> {
        self.check_recipient(admitted)
            .map_err(NotSubscribed::Failed)?;
        let Some(topic) = NewsTopic::of(admitted.target().thing()) else {
            return Err(NotSubscribed::Failed(misdirected(self.name())));
        };
        // Until it is in the table it has to be counted elsewhere.
        let _in_flight = InFlightGuard::begin(self.clone());
        let (timeout, _) = self.limits();
        let of_us = |failure: Failure| NotSubscribed::Failed(failure.of_server(self.name()));
        let live = self.live().await.map_err(NotSubscribed::Failed)?;
        if live.unread.is_overdue() {
            self.changes_read(live.incarnation, timeout).await;
        }
        self.check_still_admitted(admitted, &live)
            .map_err(NotSubscribed::Failed)?;
        let subscriptions = &self.0.subscriptions;
        let subscription = subscriptions.add(topic.clone(), tell.clone());
        let mut subscription = subscription.map_err(of_us)?;
        // The connection may have been lost before it was in the table.
        self.live().await.map_err(NotSubscribed::Failed)?;
        let settled = subscription.settled(timeout).await;
        let seat = admitted.caller().seat();
        let has_own = |seat: &ClientSeat| seat.needs_own() || self.0.scope == SessionScope::Client;
        if let Some(seat) = seat.filter(|seat| has_own(seat)) {
            let followed = &self.0.followed;
            let following = followed.follow(&seat.client, &topic, tell, subscriptions, OTHERS);
            if let Some((kinship, is_agreed)) = following.await
                && (is_agreed || settled.is_ok())
            {
                subscription.along = Some(Box::new(kinship));
                return Ok(subscription);
            }
        }
        match settled {
            Ok(()) => Ok(subscription),
            Err(NotSubscribed::Failed(failure)) => Err(of_us(failure)),
            Err(refused) => Err(refused),
        }
    }
}
