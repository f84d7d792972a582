//! The instances of servers that not all clients share: which session uses which instance, and which instances have no user any more.
//! The supervisor owns this table and starts and stops the workers accordingly.

use std::collections::{HashMap, HashSet};

use futures_util::{
    future::{BoxFuture, FutureExt},
    stream::{FuturesUnordered, StreamExt},
};
use tokio_util::sync::CancellationToken;

use super::{
    directory::PublishedInstances,
    instance_scope::{InstanceKey, SessionKey},
    order::{NotEntered, StartedInstance},
    running::RunningWorker,
};
use crate::{
    names::ServerName,
    quick_map::QuickMap,
    upstream::{calls::handle::Upstream, worker::state::State},
};

/// Limit: instances of one server. One that sleeps makes room; with as many awake nobody's machine has memory left.
const MAX_INSTANCES: usize = 256;

#[derive(Default)]
pub(in crate::upstream) struct Instances {
    by_server: HashMap<ServerName, OfServer>,
    /// Sessions whose end is waited for.
    watched: HashSet<SessionKey>,
    ends: FuturesUnordered<BoxFuture<'static, SessionKey>>,
}

#[derive(Default)]
struct OfServer {
    running: HashMap<InstanceKey, Instance>,
    /// Where the next request of a session goes.
    assignments: HashMap<SessionKey, InstanceKey>,
}

struct Instance {
    running: RunningWorker,
    /// Whoever has used it and has not ended. A session that moved on stays one: its calls here may still run.
    sessions: HashSet<SessionKey>,
}

impl Instances {
    /// The next session that has ended; waits for ever if none does. Cancel-safe.
    pub(in crate::upstream) async fn next_end(&mut self) -> SessionKey {
        match self.ends.next().await {
            Some(session_key) => {
                self.watched.remove(&session_key);
                session_key
            }
            None => std::future::pending().await,
        }
    }

    /// Sees to room for one more instance. What has to be stopped for that, if anything.
    pub(in crate::upstream) fn make_room(
        &mut self,
        server: &ServerName,
    ) -> Result<Option<RunningWorker>, NotEntered> {
        let Some(of_server) = self.by_server.get_mut(server) else {
            return Ok(None);
        };
        if of_server.running.len() < MAX_INSTANCES {
            return Ok(None);
        }
        let sleeps = |upstream: &Upstream| upstream.status().state == State::Asleep;
        let mut all = of_server.running.iter();
        // Those that are leased are few, and have a bound of their own.
        let sleeping = all.find(|(key, instance)| {
            !matches!(key, InstanceKey::Leased(_)) && sleeps(&instance.running.upstream)
        });
        let key = sleeping.map(|(key, _)| key.clone());
        let key = key.ok_or(NotEntered::Full)?;
        of_server
            .assignments
            .retain(|_, assignment| *assignment != key);
        Ok(of_server.running.remove(&key).map(|i| i.running))
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
            sessions: HashSet::new(),
        };
        let of_server = self.by_server.entry(server.clone()).or_default();
        of_server.running.insert(key, instance);
    }

    /// From now on the session's requests go to the instance of this key, until `ended`.
    pub(in crate::upstream) fn assign(
        &mut self,
        server: &ServerName,
        key: InstanceKey,
        session_key: &SessionKey,
        ended: Option<CancellationToken>,
    ) -> Option<Upstream> {
        let of_server = self.by_server.get_mut(server)?;
        let instance = of_server.running.get_mut(&key)?;
        instance.sessions.insert(session_key.clone());
        let upstream = instance.running.upstream.clone();
        of_server.assignments.insert(session_key.clone(), key);
        if let Some(ended) = ended
            && self.watched.insert(session_key.clone())
        {
            let session_key = session_key.clone();
            let end = async move {
                ended.cancelled_owned().await;
                session_key
            };
            self.ends.push(end.boxed());
        }
        Some(upstream)
    }

    /// The instance of this key, which is no session's.
    pub(in crate::upstream) fn started(
        &self,
        server: &ServerName,
        key: &InstanceKey,
    ) -> Option<StartedInstance> {
        let instance = self.by_server.get(server)?.running.get(key)?;
        let is_leased = matches!(key, InstanceKey::Leased(_));
        Some(StartedInstance {
            upstream: instance.running.upstream.clone(),
            _stop: is_leased.then(|| instance.running.stop.clone().drop_guard()),
        })
    }

    /// Takes an instance out, and those of its server that were stopped already.
    pub(in crate::upstream) fn give_back(
        &mut self,
        server: &ServerName,
        key: Option<&InstanceKey>,
    ) -> Vec<RunningWorker> {
        let Some(of_server) = self.by_server.get_mut(server) else {
            return Vec::new();
        };
        let is_over = |of: &InstanceKey, instance: &mut Instance| {
            Some(of) == key || instance.running.stop.is_cancelled()
        };
        let over = of_server.running.extract_if(is_over);
        over.map(|(_, instance)| instance.running).collect()
    }

    /// The session has to say anew which workspace it is in.
    pub(in crate::upstream) fn moved(&mut self, session_key: &SessionKey) {
        for of_server in self.by_server.values_mut() {
            if matches!(
                of_server.assignments.get(session_key),
                Some(InstanceKey::At(_))
            ) {
                of_server.assignments.remove(session_key);
            }
        }
    }

    /// The session is gone; so are the instances that it was the last to use, which are to be stopped.
    pub(in crate::upstream) fn left(&mut self, session_key: &SessionKey) -> Vec<RunningWorker> {
        let mut unused = Vec::new();
        for of_server in self.by_server.values_mut() {
            of_server.assignments.remove(session_key);
            let without_sessions = of_server.running.extract_if(|_, instance| {
                instance.sessions.remove(session_key) && instance.sessions.is_empty()
            });
            unused.extend(without_sessions.map(|(_, instance)| instance.running));
        }
        self.by_server
            .retain(|_, of_server| !of_server.running.is_empty());
        unused
    }

    /// The server is no longer what it was; its instances are to be stopped.
    pub(in crate::upstream) fn end_all_of(&mut self, server: &ServerName) -> Vec<RunningWorker> {
        let ended = self.by_server.remove(server);
        let instances = ended.into_iter().flat_map(|of| of.running.into_values());
        instances.map(|instance| instance.running).collect()
    }

    /// So are those of every server.
    pub(in crate::upstream) fn end_all(&mut self) -> Vec<RunningWorker> {
        let servers: Vec<ServerName> = self.by_server.keys().cloned().collect();
        servers
            .iter()
            .flat_map(|server| self.end_all_of(server))
            .collect()
    }

    /// As other rooms see them.
    pub(in crate::upstream) fn published(&self) -> QuickMap<ServerName, PublishedInstances> {
        let shown = |of_server: &OfServer| {
            let upstream =
                |key: &InstanceKey| Some(of_server.running.get(key)?.running.upstream.clone());
            let assignments = of_server.assignments.iter();
            PublishedInstances {
                all: of_server.running.keys().filter_map(upstream).collect(),
                unable: upstream(&InstanceKey::Unable),
                by_session: assignments
                    .filter_map(|(session_key, key)| Some((session_key.clone(), upstream(key)?)))
                    .collect(),
            }
        };
        let all = self.by_server.iter();
        all.map(|(server, of_server)| (server.clone(), shown(of_server)))
            .collect()
    }
}
