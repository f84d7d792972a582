//! The instances of servers that not all clients share: which client uses which instance, which instances have no user any more, and
//! who waits for one. The supervisor owns this table and starts and stops the workers accordingly.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::{Arc, atomic::AtomicBool},
    time::{Duration, Instant},
};

use futures_util::{
    future::{BoxFuture, FutureExt},
    stream::{FuturesUnordered, StreamExt},
};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::{
    directory::PublishedInstances,
    order::{Entering, NotEntered},
};
use crate::{
    access::InstanceUser,
    catalog::OwnKey,
    config::ServerEntry,
    link::ClientKey,
    runtime::quick_map::QuickMap,
    text::ServerName,
    upstream::{
        InstanceScope, State, Upstream, calls::followed::Kinship, instance_scope::InstanceKey,
    },
};

/// Limit: instances of one server. Each may be a process, and so many leave no machine any memory.
const MAX_INSTANCES: usize = 256;

/// Limit: instances of one server that run for sole clients of one subject. Each may be a process.
const MAX_OF_SUBJECT: usize = 8;

/// An instance that was entered or called this recently gives no room: its client is about to call.
const ABOUT_TO_CALL: Duration = Duration::from_secs(5);

/// Limit: calls that wait for an instance of one server.
const MAX_WAITING: usize = 256;

/// A worker that runs, as the supervisor holds it.
pub(super) struct RunningWorker {
    pub(super) upstream: Upstream,
    /// Held so that what the caller of its sole client follows stays subscribed to here, too.
    pub(super) _joined: Option<Kinship>,
    pub(super) entry: Arc<ServerEntry>,
    /// Set when the server was taken out of the configuration: its log is removed once the worker has ended.
    pub(super) forgotten: Arc<AtomicBool>,
    pub(super) task: JoinHandle<()>,
}

#[derive(Default)]
pub(in crate::upstream) struct Instances {
    by_server: HashMap<ServerName, OfServer>,
    /// Clients whose end is waited for.
    watched: HashSet<ClientKey>,
    ends: FuturesUnordered<BoxFuture<'static, ClientKey>>,
    /// Who waits for room, in the order in which they came.
    waiting: VecDeque<Entering>,
}

#[derive(Default)]
struct OfServer {
    running: HashMap<InstanceKey, Instance>,
    /// Where the next request of a client goes.
    assignments: HashMap<InstanceUser, InstanceKey>,
}

impl OfServer {
    fn into_workers(self) -> impl Iterator<Item = RunningWorker> {
        self.running.into_values().map(|instance| instance.running)
    }
}

struct Instance {
    running: RunningWorker,
    /// The clients that have used it and have not ended. A session that moved on stays one: its calls here may still run.
    clients: HashSet<ClientKey>,
    /// When a client was last assigned to it.
    entered: Instant,
}

impl Instance {
    fn upstream(&self) -> &Upstream {
        &self.running.upstream
    }

    /// Whether it is to be stopped: all its clients have ended, and so have their calls.
    fn is_over(&self, key: &InstanceKey) -> bool {
        !key.is_for_many() && self.clients.is_empty() && self.upstream().in_flight() == 0
    }

    /// How long it has been unused, if another instance may take its place: it sleeps, or its client may be gone, and no call is in flight.
    fn gives_way(&self, now: Instant) -> Option<Duration> {
        let upstream = self.upstream();
        let is_asleep = || upstream.status().state == State::Asleep;
        let scope = upstream.0.instance_scope.as_ref();
        let may_be_gone = || scope.is_some_and(InstanceScope::may_be_gone);
        let is_useless = upstream.in_flight() == 0 && (is_asleep() || may_be_gone());
        let unused = upstream.0.usage.unused_for(self.entered, now);
        (is_useless && unused >= ABOUT_TO_CALL).then_some(unused)
    }

    fn is_of(&self, subject: &str) -> bool {
        let scope = self.upstream().0.instance_scope.as_ref();
        let sole = scope.and_then(InstanceScope::sole_client);
        sole.is_some_and(|sole| *sole.subject == *subject)
    }
}

impl Instances {
    /// The next client that has ended; waits for ever if none does. Cancel-safe.
    pub(in crate::upstream) async fn next_end(&mut self) -> ClientKey {
        match self.ends.next().await {
            Some(client) => {
                self.watched.remove(&client);
                client
            }
            None => std::future::pending().await,
        }
    }

    /// Makes room for the instance of this scope. Gives the instance that has to be stopped for that, if any.
    pub(in crate::upstream) fn make_room(
        &mut self,
        server: &ServerName,
        scope: &InstanceScope,
    ) -> Result<Option<RunningWorker>, NotEntered> {
        let Some(of_server) = self.by_server.get_mut(server) else {
            return Ok(None);
        };
        let sole = scope.sole_client();
        let of_subject =
            |instance: &Instance| sole.is_some_and(|sole| instance.is_of(&sole.subject));
        let running = &of_server.running;
        let own = running
            .values()
            .filter(|instance| of_subject(instance))
            .count();
        let is_full_for_subject = own >= MAX_OF_SUBJECT;
        if !is_full_for_subject && running.len() < MAX_INSTANCES {
            return Ok(None);
        }
        let now = Instant::now();
        let giving_way = running
            .iter()
            .filter(|(_, instance)| !is_full_for_subject || of_subject(instance))
            .filter_map(|(key, instance)| Some((key, instance.gives_way(now)?)))
            .max_by_key(|(_, unused)| *unused);
        let key = giving_way.map(|(key, _)| key.clone());
        let key = key.ok_or(NotEntered::Full)?;
        // Its client may be calling this moment.
        let is_left = |instance: &Instance| instance.upstream().0.take_from_calls();
        if !running.get(&key).is_some_and(is_left) {
            return Err(NotEntered::Full);
        }
        of_server
            .assignments
            .retain(|_, assignment| *assignment != key);
        Ok(of_server.running.remove(&key).map(|i| i.running))
    }

    /// Has a client wait that found no room.
    pub(in crate::upstream) fn wait(&mut self, entering: Entering) {
        let same = |other: &&Entering| other.server == entering.server;
        if self.waiting.iter().filter(same).count() < MAX_WAITING {
            self.waiting.push_back(entering);
        } else {
            // A caller that left needs no answer.
            let _ = entering.entered.send(Err(NotEntered::Full));
        }
    }

    /// Takes out the clients that still wait; each is to be let in, or to wait again.
    pub(in crate::upstream) fn take_waiting(&mut self) -> VecDeque<Entering> {
        self.waiting
            .retain(|entering| !entering.entered.is_closed());
        std::mem::take(&mut self.waiting)
    }

    /// Whether the supervisor has to look again in a while: a client waits for room, or an instance for the end of its last calls.
    pub(in crate::upstream) fn is_unsettled(&self) -> bool {
        let mut all = self.by_server.values().flat_map(|of| &of.running);
        let is_left = |(key, instance): (&InstanceKey, &Instance)| {
            !key.is_for_many() && instance.clients.is_empty()
        };
        !self.waiting.is_empty() || all.any(is_left)
    }

    /// Whether an instance of this key runs.
    pub(in crate::upstream) fn has(&self, server: &ServerName, key: &InstanceKey) -> bool {
        let of_server = self.by_server.get(server);
        of_server.is_some_and(|of_server| of_server.running.contains_key(key))
    }

    pub(in crate::upstream) fn add(
        &mut self,
        server: &ServerName,
        key: InstanceKey,
        running: RunningWorker,
    ) {
        let instance = Instance {
            running,
            clients: HashSet::new(),
            entered: Instant::now(),
        };
        let of_server = self.by_server.entry(server.clone()).or_default();
        of_server.running.insert(key, instance);
    }

    /// From now on the client's requests go to the instance of this key, until it has `ended`.
    pub(in crate::upstream) fn assign(
        &mut self,
        server: &ServerName,
        key: InstanceKey,
        user: Option<InstanceUser>,
        ended: Option<CancellationToken>,
    ) -> Option<Upstream> {
        let of_server = self.by_server.get_mut(server)?;
        let instance = of_server.running.get_mut(&key)?;
        let upstream = instance.upstream().clone();
        let Some(user) = user else {
            return Some(upstream);
        };
        let client = user.client.clone();
        instance.clients.insert(client.clone());
        instance.entered = Instant::now();
        of_server.assignments.insert(user, key);
        if let Some(ended) = ended
            && self.watched.insert(client.clone())
        {
            let end = async move {
                ended.cancelled_owned().await;
                client
            };
            self.ends.push(end.boxed());
        }
        Some(upstream)
    }

    /// The client's roots have changed: it has to enter its workspaces anew.
    pub(in crate::upstream) fn moved(&mut self, client: &ClientKey) {
        for of_server in self.by_server.values_mut() {
            of_server.assignments.retain(|user, key| {
                user.client != *client || !matches!(key, InstanceKey::Workspace(_))
            });
        }
    }

    /// The client is gone.
    pub(in crate::upstream) fn left(&mut self, client: &ClientKey) {
        for of_server in self.by_server.values_mut() {
            let assignments = &mut of_server.assignments;
            assignments.retain(|user, _| user.client != *client);
            for instance in of_server.running.values_mut() {
                instance.clients.remove(client);
            }
        }
    }

    /// Takes out the instances that have no user any more, which are to be stopped.
    pub(in crate::upstream) fn take_unused(&mut self) -> Vec<RunningWorker> {
        let mut unused = Vec::new();
        for of_server in self.by_server.values_mut() {
            let over = of_server
                .running
                .extract_if(|key, instance| instance.is_over(key));
            unused.extend(over.map(|(_, instance)| instance.running));
        }
        self.by_server
            .retain(|_, of_server| !of_server.running.is_empty());
        unused
    }

    /// Takes out all instances of a server that was changed or removed; they are to be stopped.
    pub(in crate::upstream) fn end_all_of(&mut self, server: &ServerName) -> Vec<RunningWorker> {
        let ended = self.by_server.remove(server);
        ended.into_iter().flat_map(OfServer::into_workers).collect()
    }

    /// Takes out the instances of all servers; they are to be stopped.
    pub(in crate::upstream) fn end_all(&mut self) -> Vec<RunningWorker> {
        let ended = std::mem::take(&mut self.by_server);
        ended
            .into_values()
            .flat_map(OfServer::into_workers)
            .collect()
    }

    /// The instances as the directory publishes them.
    pub(in crate::upstream) fn published(&self) -> QuickMap<ServerName, PublishedInstances> {
        let shown = |of_server: &OfServer| {
            let upstream =
                |key: &InstanceKey| Some(of_server.running.get(key)?.running.upstream.clone());
            let assignments = of_server.assignments.iter();
            PublishedInstances {
                all: of_server.running.keys().filter_map(upstream).collect(),
                unable: upstream(&InstanceKey::Own(OwnKey::Unable)),
                legacy: upstream(&InstanceKey::Own(OwnKey::Legacy)),
                by_user: assignments
                    .filter_map(|(user, key)| Some((user.clone(), upstream(key)?)))
                    .collect(),
            }
        };
        let all = self.by_server.iter();
        all.map(|(server, of_server)| (server.clone(), shown(of_server)))
            .collect()
    }
}
