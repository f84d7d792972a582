//! The upstreams as other rooms look them up: shared ones by name, and instances by the client that uses them. The supervisor publishes
//! the directory, and starts an instance on request that is not in it.

use std::{collections::HashMap, sync::Arc};

use arc_swap::ArcSwap;
use tokio::sync::{SetOnce, mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::order::{Entering, NotEntered, Order};
use crate::{
    access::InstanceUser,
    failure::{ErrorCode, Failure, Result},
    link::ClientKey,
    runtime::quick_map::QuickMap,
    text::ServerName,
    upstream::{InstanceScope, LogSubscriptions, State, Upstream},
};

/// Limit: requests to the supervisor that wait in its queue. It answers each at once.
const ORDERS: usize = 256;

/// The upstreams. Cheap to clone.
#[derive(Clone)]
pub struct Upstreams {
    published: Arc<ArcSwap<Directory>>,
    orders: mpsc::Sender<Order>,
    log_subscriptions: LogSubscriptions,
    have_begun: Arc<SetOnce<()>>,
}

/// The published table.
#[derive(Default)]
pub(in crate::upstream) struct Directory {
    pub(in crate::upstream) servers: QuickMap<ServerName, Upstream>,
    pub(in crate::upstream) instances: QuickMap<ServerName, PublishedInstances>,
}

/// The instances of one server.
#[derive(Default)]
pub(in crate::upstream) struct PublishedInstances {
    pub(in crate::upstream) all: Vec<Upstream>,
    pub(in crate::upstream) by_user: HashMap<InstanceUser, Upstream>,
    /// The instance of all clients that cannot answer questions.
    pub(in crate::upstream) unable: Option<Upstream>,
    /// The instance of all clients that shake hands, where the server needs no handshake.
    pub(in crate::upstream) legacy: Option<Upstream>,
}

impl Default for Upstreams {
    /// An empty directory without a supervisor.
    fn default() -> Self {
        let (none, _) = Self::new(LogSubscriptions::default());
        none.begin();
        none
    }
}

impl Upstreams {
    pub(in crate::upstream) fn new(
        log_subscriptions: LogSubscriptions,
    ) -> (Self, mpsc::Receiver<Order>) {
        let (orders, inbox) = mpsc::channel(ORDERS);
        let upstreams = Self {
            published: Arc::default(),
            orders,
            log_subscriptions,
            have_begun: Arc::default(),
        };
        (upstreams, inbox)
    }

    /// All servers that the settings want are published from now on.
    pub(in crate::upstream) fn begin(&self) {
        // Called once.
        let _ = self.have_begun.set(());
    }

    /// Whether the last known lists are read, and all that the settings want are there.
    pub fn have_begun(&self) -> bool {
        self.have_begun.initialized()
    }

    /// Waits until [`Self::have_begun`].
    pub async fn begun(&self) {
        self.have_begun.wait().await;
    }

    pub(in crate::upstream) fn publish(&self, directory: Directory) {
        self.published.store(Arc::new(directory));
    }

    /// The upstream that something was admitted to. It runs, unless the settings changed this moment.
    pub fn named(&self, server: &ServerName) -> Result<Upstream> {
        self.get(server.as_str()).ok_or_else(|| {
            let error = format!("the server {server:?} is not running");
            Failure::not_run(ErrorCode::ServerUnavailable, error, "Try again.").of_server(server)
        })
    }

    /// A running upstream. Servers that are disabled, or may not be contacted, do not run.
    pub fn get(&self, name: &str) -> Option<Upstream> {
        self.published.load().servers.get(name).cloned()
    }

    /// The log levels that clients want.
    pub fn log_subscriptions(&self) -> &LogSubscriptions {
        &self.log_subscriptions
    }

    /// All upstreams that run, without instances.
    pub fn all(&self) -> Vec<Upstream> {
        self.published.load().servers.values().cloned().collect()
    }

    /// The instances of a server that do not sleep.
    pub fn instances(&self, name: &str) -> Vec<Upstream> {
        let published = self.published.load();
        let all = published
            .instances
            .get(name)
            .map(|instances| &instances.all);
        let awake = |upstream: &&Upstream| upstream.status().state != State::Asleep;
        all.into_iter().flatten().filter(awake).cloned().collect()
    }

    /// The instance that this client's requests to a server go to, if it has one.
    pub fn of_user(&self, server: &ServerName, user: &InstanceUser) -> Option<Upstream> {
        let published = self.published.load();
        let instances = published.instances.get(server)?;
        instances.by_user.get(user).cloned()
    }

    /// An instance that another connection of this client's caller has to itself.
    pub fn of_kin(&self, server: &ServerName, client: &ClientKey) -> Option<Upstream> {
        let published = self.published.load();
        let mut by_user = published.instances.get(server)?.by_user.iter();
        by_user.find_map(|(user, upstream)| user.client.is_kin_of(client).then(|| upstream.clone()))
    }

    /// Every instance that requests of this client go to.
    pub fn all_of_user(&self, user: &InstanceUser) -> Vec<Upstream> {
        let published = self.published.load();
        let instances = published.instances.values();
        instances
            .filter_map(|instances| instances.by_user.get(user).cloned())
            .collect()
    }

    /// Has the client's requests to a server go to the instance of this scope, which sleeps until the first of them. It is stopped
    /// when the last of its clients has `ended`. Waits for room as long as a call may be silent.
    pub async fn enter(
        &self,
        base: &Upstream,
        user: Option<InstanceUser>,
        ended: Option<CancellationToken>,
        scope: InstanceScope,
    ) -> Result<Upstream> {
        let (entered, answer) = oneshot::channel();
        let order = Order::Enter(Box::new(Entering {
            server: base.name().clone(),
            user,
            ended,
            scope,
            entered,
        }));
        // The supervisor is gone only while shutting down.
        let _ = self.orders.send(order).await;
        let (patience, _) = base.limits();
        let answer = match tokio::time::timeout(patience, answer).await {
            Ok(answer) => answer.unwrap_or(Err(NotEntered::Gone)),
            Err(_) => Err(NotEntered::Full),
        };
        answer.map_err(|why| why.failure(base.name()))
    }

    /// The instance that clients share which cannot answer what this server asks, if it has been needed before.
    pub fn of_unable(&self, server: &ServerName) -> Option<Upstream> {
        let published = self.published.load();
        published.instances.get(server)?.unable.clone()
    }

    /// The same; it is added if there is none.
    pub async fn for_unable(&self, base: &Upstream) -> Result<Upstream> {
        match self.of_unable(base.name()) {
            Some(upstream) => Ok(upstream),
            None => self.enter(base, None, None, InstanceScope::Unable).await,
        }
    }

    /// The instance for all clients that shake hands with a server that needs no handshake; it is added if there is none.
    pub async fn for_legacy(&self, base: &Upstream) -> Result<Upstream> {
        let known = {
            let published = self.published.load();
            let of_server = published.instances.get(base.name());
            of_server.and_then(|of_server| of_server.legacy.clone())
        };
        match known {
            Some(upstream) => Ok(upstream),
            None => self.enter(base, None, None, InstanceScope::Legacy).await,
        }
    }

    /// The client's roots have changed: it has to enter its workspaces anew.
    pub async fn moved(&self, client: ClientKey) {
        let (done, moved) = oneshot::channel();
        // The supervisor is gone only while shutting down.
        if self.orders.send(Order::Move(client, done)).await.is_ok() {
            let _ = moved.await;
        }
    }
}
