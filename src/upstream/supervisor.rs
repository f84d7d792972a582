//! Keeps the set of workers as the settings want it: one pure comparison of wanted with running, whatever changed.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use arc_swap::{ArcSwap, ArcSwapOption};
use tokio::{
    sync::{Semaphore, mpsc, watch},
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

use super::{
    callers::Callers,
    connect::Ground,
    handle::{COMMANDS, Shared, Slots, Status, Upstream},
    log_wishes::LogWishes,
    process::StderrLog,
    subscriptions::AllSubscriptions,
    usage::Usage,
    worker::{House, Life, Worker},
};
use crate::{
    catalog::Catalog,
    config::{ServerEntry, Settings},
    names::ServerName,
};

/// How many servers without known lists are discovered at the same time.
const DISCOVERIES: usize = 4;

/// The upstreams by name. Cheap to clone.
#[derive(Clone, Default)]
pub struct Upstreams(Arc<ArcSwap<HashMap<ServerName, Upstream>>>, LogWishes);

impl Upstreams {
    /// A running upstream. Servers that are disabled, or may not be contacted, do not run.
    pub fn get(&self, name: &str) -> Option<Upstream> {
        self.0.load().get(name).cloned()
    }

    /// What clients want to hear of their logs.
    pub fn log_wishes(&self) -> &LogWishes {
        &self.1
    }

    /// All that run.
    pub fn all(&self) -> Vec<Upstream> {
        self.0.load().values().cloned().collect()
    }
}

/// The task that starts and stops workers.
pub struct Supervisor {
    settings: watch::Receiver<Arc<Settings>>,
    house: Arc<House>,
    published: Upstreams,
    running: BTreeMap<ServerName, Running>,
    /// Workers that were told to stop and are not done yet.
    ending: Vec<(ServerName, Ending)>,
}

/// A worker that was told to stop, and what outlives it.
struct Ending {
    stderr: StderrLog,
    task: JoinHandle<()>,
}

struct Running {
    upstream: Upstream,
    identity: String,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

/// What has to be done to one server.
#[derive(Debug, PartialEq, Eq)]
enum Change {
    Start(ServerName),
    Stop(ServerName),
    Replace(ServerName),
}

/// From what runs to what is wanted; names with their [`identity`].
fn plan(
    wanted: &BTreeMap<ServerName, String>,
    running: &BTreeMap<ServerName, String>,
) -> Vec<Change> {
    let gone = running
        .keys()
        .filter(|name| !wanted.contains_key(*name))
        .cloned()
        .map(Change::Stop);
    let rest = wanted
        .iter()
        .filter_map(|(name, fingerprint)| match running.get(name) {
            None => Some(Change::Start(name.clone())),
            Some(current) if current != fingerprint => Some(Change::Replace(name.clone())),
            Some(_) => None,
        });
    gone.chain(rest).collect()
}

impl Supervisor {
    /// `hurry` ends every grace of stopping children.
    pub fn new(
        settings: watch::Receiver<Arc<Settings>>,
        catalog: Catalog,
        ground: Ground,
        hurry: CancellationToken,
    ) -> (Upstreams, Self) {
        let published = Upstreams::default();
        let house = House {
            ground,
            catalog,
            discovery: Arc::new(Semaphore::new(DISCOVERIES)),
            subscriptions: AllSubscriptions::default(),
            log_wishes: published.1.clone(),
            hurry,
        };
        let supervisor = Self {
            settings,
            house: Arc::new(house),
            published: published.clone(),
            running: BTreeMap::new(),
            ending: Vec::new(),
        };
        (published, supervisor)
    }

    /// Starts the workers that the settings want now. Called once before requests are served, so that none of them finds an
    /// upstream missing.
    pub fn begin(&mut self) {
        let settings = self.settings.borrow_and_update().clone();
        for name in wanted(&settings).into_keys() {
            self.start(&settings, &name);
        }
        self.publish();
    }

    /// Follows the settings until shutdown, then stops every worker and returns when all are done.
    pub async fn run(mut self, shutdown: CancellationToken) {
        loop {
            tokio::select! {
                () = shutdown.cancelled() => break,
                changed = self.settings.changed() => if changed.is_err() { break },
            }
            self.reconcile().await;
        }
        for running in self.running.values() {
            running.stop.cancel();
        }
        for running in std::mem::take(&mut self.running).into_values() {
            // A worker that panicked has dropped its process, which killed it.
            let _ = running.task.await;
        }
        for (_, ending) in self.ending {
            let _ = ending.task.await;
        }
    }

    async fn reconcile(&mut self) {
        let settings = self.settings.borrow_and_update().clone();
        let wanted = wanted(&settings);
        let running = self
            .running
            .iter()
            .map(|(n, r)| (n.clone(), r.identity.clone()))
            .collect();
        let changes = plan(&wanted, &running);
        // A server that is replaced keeps its last known lists until it has said what it offers now.
        self.house.catalog.keep(known(&settings)).await;
        for change in changes {
            match change {
                Change::Start(name) => self.start(&settings, &name),
                Change::Stop(name) => {
                    tracing::info!(server = %name, "server is no longer wanted and stopped");
                    self.stop(name);
                }
                Change::Replace(name) => {
                    tracing::info!(server = %name, "the configuration of the server changed; it is connected anew");
                    self.stop(name.clone());
                    self.start(&settings, &name);
                }
            }
        }
        self.ending.retain(|(_, ending)| !ending.task.is_finished());
        self.publish();
    }

    fn stop(&mut self, name: ServerName) {
        if let Some(running) = self.running.remove(&name) {
            running.stop.cancel();
            let ending = Ending {
                stderr: running.upstream.stderr().clone(),
                task: running.task,
            };
            self.ending.push((name, ending));
        }
    }

    fn start(&mut self, settings: &Settings, name: &ServerName) {
        let Some(entry) = settings.servers.get(name) else {
            return;
        };
        let (commands, inbox) = mpsc::channel(COMMANDS);
        // At most one: whoever starts takes it out.
        let before = self.ending.iter().position(|(ended, _)| ended == name);
        let before = before.map(|at| self.ending.swap_remove(at).1);
        let stderr = match &before {
            Some(before) => before.stderr.clone(),
            None => StderrLog::new(&self.house.ground.data_dir, name),
        };
        let shared = Arc::new(Shared {
            callers: Callers::default(),
            name: name.clone(),
            settings: self.settings.clone(),
            commands,
            status: watch::Sender::new(Status::new()),
            live: ArcSwapOption::empty(),
            usage: Usage::default(),
            slots: Slots::default(),
            subscriptions: self.house.subscriptions.of(name),
            stderr,
        });
        let stop = CancellationToken::new();
        let worker = Worker {
            entry: entry.clone(),
            settings: self.settings.clone(),
            shared: shared.clone(),
            house: self.house.clone(),
            level_changes: self.house.log_wishes.changes(),
            inbox,
            stop: stop.clone(),
            life: Life::new(),
        };
        let task = tokio::spawn(async move {
            // Two instances of one server never run side by side.
            if let Some(before) = before {
                let _ = before.task.await;
            }
            worker.run().await;
        });
        let running = Running {
            upstream: Upstream(shared),
            identity: identity(entry),
            stop,
            task,
        };
        self.running.insert(name.clone(), running);
    }

    fn publish(&self) {
        let all = self
            .running
            .iter()
            .map(|(name, running)| (name.clone(), running.upstream.clone()))
            .collect();
        self.published.0.store(Arc::new(all));
    }
}

/// What a worker is made for: another one means another worker.
fn identity(entry: &ServerEntry) -> String {
    format!(
        "{} {:?} {}",
        entry.fingerprint, entry.start, entry.quarantined
    )
}

/// The servers whose last known lists are kept: all that stand in the file, usable or not. A mistake in an entry is soon corrected.
fn known(settings: &Settings) -> Vec<ServerName> {
    let broken = settings.broken.iter();
    let broken = broken.filter_map(|broken| ServerName::parse(&broken.name).ok());
    settings.servers.keys().cloned().chain(broken).collect()
}

fn wanted(settings: &Settings) -> BTreeMap<ServerName, String> {
    let runs = |entry: &&Arc<ServerEntry>| entry.may_be_contacted();
    settings
        .servers
        .values()
        .filter(runs)
        .map(|e| (e.name.clone(), identity(e)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_changed_is_touched() {
        let set = |pairs: &[(&str, &str)]| -> BTreeMap<ServerName, String> {
            pairs
                .iter()
                .map(|(name, print)| {
                    (
                        ServerName::parse(name).expect("a name"),
                        (*print).to_owned(),
                    )
                })
                .collect()
        };
        let name = |text| ServerName::parse(text).expect("a name");
        let running = set(&[("same", "1"), ("changed", "1"), ("gone", "1")]);
        let wanted = set(&[("same", "1"), ("changed", "2"), ("new", "1")]);
        assert_eq!(
            plan(&wanted, &running),
            [
                Change::Stop(name("gone")),
                Change::Replace(name("changed")),
                Change::Start(name("new"))
            ]
        );
        assert!(plan(&running, &running).is_empty());
    }
}
