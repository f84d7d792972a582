//! The topics that callers without a session follow. Over HTTP such a caller may have several connections of its own to a server, and its
//! stream of news belongs to none of them. So each topic is subscribed to over all of them, those included that are opened later.

use std::{collections::HashMap, sync::Arc, time::Duration};

use futures_util::future::join_all;

use super::{Notifier, Subscription, subscriptions::Subscriptions, topic::NewsTopic};
use crate::{link::ClientKey, runtime::sync::Guarded, text::ServerName};

/// The subscriptions and the followed topics of all upstreams, by name: an upstream whose entry is edited keeps them.
#[derive(Default)]
pub(in crate::upstream) struct AllSubscriptions(
    Guarded<HashMap<ServerName, (Subscriptions, Followed)>>,
);

impl AllSubscriptions {
    pub(in crate::upstream) fn of(&self, server: &ServerName) -> (Subscriptions, Followed) {
        let mut all = self.0.lock();
        all.entry(server.clone()).or_default().clone()
    }
}

/// The followed topics of one server. Cheap to clone.
#[derive(Clone, Default)]
pub(in crate::upstream) struct Followed(Arc<Guarded<Table>>);

#[derive(Default)]
struct Table {
    by_caller: HashMap<Arc<str>, Kin>,
    last: u64,
}

/// The own connections of one caller to the server, and the topics that it follows there.
#[derive(Default)]
struct Kin {
    connections: HashMap<u64, Subscriptions>,
    interests: HashMap<u64, Interest>,
}

struct Interest {
    topic: NewsTopic,
    tell: Notifier,
    /// The connection over which it was subscribed to first.
    first: Subscriptions,
    /// The subscriptions over the other connections, by the numbers of these.
    others: HashMap<u64, Subscription>,
}

impl Interest {
    fn subscribe(&mut self, number: u64, at: &Subscriptions) {
        if !at.is_same_as(&self.first)
            && let Ok(subscription) = at.add(self.topic.clone(), self.tell.clone())
        {
            self.others.insert(number, subscription);
        }
    }
}

/// An entry of the table: a connection of a caller, or a topic that it follows. Removed when this is dropped.
pub(in crate::upstream) struct Kinship {
    of: Followed,
    caller: Arc<str>,
    number: u64,
}

impl Drop for Kinship {
    fn drop(&mut self) {
        let mut table = self.of.0.lock();
        let Some(kin) = table.by_caller.get_mut(&self.caller) else {
            return;
        };
        kin.connections.remove(&self.number);
        let interest = kin.interests.remove(&self.number);
        let interests = kin.interests.values_mut();
        let others = interests.filter_map(|interest| interest.others.remove(&self.number));
        let others: Vec<Subscription> = others.collect();
        if kin.connections.is_empty() && kin.interests.is_empty() {
            table.by_caller.remove(&self.caller);
        }
        // Not under the lock: ending subscriptions locks their tables.
        drop(table);
        drop((interest, others));
    }
}

impl Followed {
    /// A client has a connection of its own from now on: the topics that its caller follows are subscribed to over it. `None` for clients
    /// with a session, whose news comes over their own connection.
    pub(in crate::upstream) fn join(
        &self,
        client: &ClientKey,
        connection: &Subscriptions,
    ) -> Option<Kinship> {
        self.enter(client, |kin, number| {
            for interest in kin.interests.values_mut() {
                interest.subscribe(number, connection);
            }
            kin.connections.insert(number, connection.clone());
        })
    }

    /// Follows a topic that was subscribed to over the connection `first`: subscribes to it over the caller's other connections. Returns
    /// when these have answered, or after this time, and gives whether one of them agreed.
    pub(in crate::upstream) async fn follow(
        &self,
        client: &ClientKey,
        topic: &NewsTopic,
        tell: Notifier,
        first: &Subscriptions,
        patience: Duration,
    ) -> Option<(Kinship, bool)> {
        let mut others = Vec::new();
        let place = self.enter(client, |kin, number| {
            let mut interest = Interest {
                topic: topic.clone(),
                tell,
                first: first.clone(),
                others: HashMap::new(),
            };
            for (connection, subscriptions) in &kin.connections {
                interest.subscribe(*connection, subscriptions);
            }
            others.extend(interest.others.keys().filter_map(|number| {
                let connection = kin.connections.get(number);
                connection.cloned()
            }));
            kin.interests.insert(number, interest);
        })?;
        let settled = join_all(others.iter().map(|other| other.settled(topic, patience))).await;
        Some((place, settled.iter().any(Result::is_ok)))
    }

    fn enter(&self, client: &ClientKey, does: impl FnOnce(&mut Kin, u64)) -> Option<Kinship> {
        let ClientKey::Connection { subject, .. } = client else {
            return None;
        };
        let mut table = self.0.lock();
        table.last += 1;
        let number = table.last;
        does(table.by_caller.entry(subject.clone()).or_default(), number);
        Some(Kinship {
            of: self.clone(),
            caller: subject.clone(),
            number,
        })
    }
}
