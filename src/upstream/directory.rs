//! The upstreams as the rest of the house finds them: by name, and the instances that are not everybody's by who uses them. Published
//! by the supervisor, which is asked for what is not there yet.

use std::{collections::HashMap, sync::Arc};

use arc_swap::ArcSwap;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::{
    handle::Upstream,
    log_subscriptions::LogSubscriptions,
    state::State,
    tenant::{Member, Tenant},
};
use crate::{
    error_code::{ErrorCode, Failure},
    gate::Admitted,
    names::ServerName,
};

/// Limit: requests to the supervisor that wait. It answers them at once.
const ORDERS: usize = 256;

/// The upstreams. Cheap to clone.
#[derive(Clone)]
pub struct Upstreams {
    published: Arc<ArcSwap<Directory>>,
    orders: mpsc::Sender<Order>,
    log_subscriptions: LogSubscriptions,
}

/// What is published.
#[derive(Default)]
pub(super) struct Directory {
    pub(super) servers: HashMap<ServerName, Upstream>,
    pub(super) instances: HashMap<ServerName, Instances>,
}

/// The instances of one server.
#[derive(Default)]
pub(super) struct Instances {
    pub(super) all: Vec<Upstream>,
    pub(super) by_member: HashMap<Member, Upstream>,
}

/// What the supervisor is asked.
pub(super) enum Order {
    /// Requests of this member go to the instance of this tenant from now on.
    Enter {
        server: ServerName,
        member: Member,
        /// The member's end.
        ended: Option<CancellationToken>,
        tenant: Tenant,
        entered: oneshot::Sender<Result<Upstream, NotEntered>>,
    },
    /// The member's roots are others now: its next requests will name the workspace that they go to.
    Move(Member, oneshot::Sender<()>),
}

/// Why there is no instance.
pub(super) enum NotEntered {
    /// The server does not run any more, or the member is gone.
    Gone,
    /// Too many run already.
    Full,
}

impl Default for Upstreams {
    /// None, for ever.
    fn default() -> Self {
        Self::new(LogSubscriptions::default()).0
    }
}

impl Upstreams {
    pub(super) fn new(log_subscriptions: LogSubscriptions) -> (Self, mpsc::Receiver<Order>) {
        let (orders, inbox) = mpsc::channel(ORDERS);
        let upstreams = Self {
            published: Arc::default(),
            orders,
            log_subscriptions,
        };
        (upstreams, inbox)
    }

    pub(super) fn publish(&self, directory: Directory) {
        self.published.store(Arc::new(directory));
    }

    /// The upstream that something was admitted to. It runs, unless the settings changed this moment.
    pub fn of(&self, admitted: &Admitted) -> Result<Upstream, Failure> {
        let server = admitted.server();
        self.get(server.as_str()).ok_or_else(|| {
            let error = format!("the server {server:?} is not running");
            Failure::new(ErrorCode::ServerUnavailable, error, "Try again.").of_server(server)
        })
    }

    /// A running upstream. Servers that are disabled, or may not be contacted, do not run.
    pub fn get(&self, name: &str) -> Option<Upstream> {
        self.published.load().servers.get(name).cloned()
    }

    /// What clients want to hear of their logs.
    pub fn log_subscriptions(&self) -> &LogSubscriptions {
        &self.log_subscriptions
    }

    /// All that run, instances left out.
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

    /// The instance that this member's requests to a server go to, if it has one.
    pub fn of_member(&self, server: &ServerName, member: &Member) -> Option<Upstream> {
        let published = self.published.load();
        let instances = published.instances.get(server)?;
        instances.by_member.get(member).cloned()
    }

    /// Every instance that requests of this member go to.
    pub fn all_of_member(&self, member: &Member) -> Vec<Upstream> {
        let published = self.published.load();
        let instances = published.instances.values();
        instances
            .filter_map(|instances| instances.by_member.get(member).cloned())
            .collect()
    }

    /// Has the member's requests to a server go to the instance of this tenant, which sleeps until the first of them. It is stopped
    /// when its last member has ended.
    pub async fn enter(
        &self,
        server: &ServerName,
        member: Member,
        ended: Option<CancellationToken>,
        tenant: Tenant,
    ) -> Result<Upstream, Failure> {
        let (entered, answer) = oneshot::channel();
        let order = Order::Enter {
            server: server.clone(),
            member,
            ended,
            tenant,
            entered,
        };
        // The supervisor is gone only while shutting down.
        let sent = self.orders.send(order).await.is_ok();
        let answer = if sent { answer.await.ok() } else { None };
        answer.unwrap_or(Err(NotEntered::Gone)).map_err(|why| {
            let (code, error, hint) = match why {
                NotEntered::Gone => (
                    ErrorCode::ServerUnavailable,
                    format!("the server {server:?} was stopped or replaced"),
                    "Try again.",
                ),
                NotEntered::Full => (
                    ErrorCode::Overloaded,
                    format!("too many instances of the server {server:?} run already"),
                    "End sessions that are not needed, or share the server.",
                ),
            };
            Failure::new(code, error, hint).of_server(server)
        })
    }

    /// The member's roots are others now: from here on it enters the workspaces that it uses anew.
    pub async fn moved(&self, member: Member) {
        let (done, moved) = oneshot::channel();
        // The supervisor is gone only while shutting down.
        if self.orders.send(Order::Move(member, done)).await.is_ok() {
            let _ = moved.await;
        }
    }
}
