//! The task that owns all workers: it starts and stops them as the settings change, and runs instances for clients that do not share the
//! connection of all. What it runs is published in the directory.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use arc_swap::ArcSwapOption;
use tokio::{
    sync::{mpsc, watch},
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

use super::{
    Upstreams,
    directory::Directory,
    instances::{Instances, RunningWorker},
    order::{Entering, NotEntered, Order},
};
use crate::{
    catalog::Catalog,
    config::{ServerEntry, Settings, Transport},
    gate::{self, Gate},
    process::StderrLog,
    telemetry::log_throttle::LogThrottle,
    text::ServerName,
    upstream::{
        ConnectContext, InstanceScope, LogSubscriptions, Upstream,
        calls::{
            client_streams::ClientStreams,
            followed::{AllSubscriptions, Followed},
            handle::{COMMANDS, Command, UpstreamShared},
            subscriptions::Subscriptions,
        },
        habits::Habits,
        usage::{CallHistory, Usage},
        wanted::{Identity, WorkerChange, known, plan, wanted},
        worker::{Turns, Worker, WorkerContext},
    },
    wire::RequestNumbers,
};

/// How often it looks whether there is room for a waiting client, and whether the last calls of clients that are gone have ended.
const SETTLE_INTERVAL: Duration = Duration::from_secs(1);

/// The task that starts and stops workers.
pub struct Supervisor {
    settings: watch::Receiver<Arc<Settings>>,
    gate: Gate,
    context: Arc<WorkerContext>,
    published: Upstreams,
    orders: mpsc::Receiver<Order>,
    running: BTreeMap<ServerName, RunningWorker>,
    /// Workers that run beside these, each for some clients only.
    instances: Instances,
    /// Workers that are stopping, unless a new one has been started for their server: that one waits for them.
    ending: BTreeMap<ServerName, Ending>,
    /// Instances that are stopping. Only the shutdown waits for them.
    leaving: Vec<JoinHandle<()>>,
    /// Workers to stop as soon as the published directory no longer has them.
    stops: Vec<CancellationToken>,
    /// How often each server is called, over all its workers.
    histories: BTreeMap<ServerName, Arc<CallHistory>>,
}

/// A worker that is stopping, and what outlives it.
struct Ending {
    stderr: StderrLog,
    task: JoinHandle<()>,
}

/// What a worker is started with besides its entry.
struct WorkerParts {
    stderr: StderrLog,
    subscriptions: Subscriptions,
    followed: Followed,
    /// The former worker of this server. The new one begins when that has ended.
    before: Option<JoinHandle<()>>,
    scope: Option<InstanceScope>,
    base: Option<mpsc::Sender<Command>>,
    habits: Arc<Habits>,
    usage: Usage,
}

impl Supervisor {
    /// `hurry` ends every grace of stopping children.
    pub fn new(
        settings: watch::Receiver<Arc<Settings>>,
        catalog: Catalog,
        connect: ConnectContext,
        hurry: CancellationToken,
    ) -> (Upstreams, Self) {
        let log_subscriptions = LogSubscriptions::default();
        let (published, orders) = Upstreams::new(log_subscriptions.clone());
        let gate = Gate::new(settings.clone(), catalog.clone());
        let context = WorkerContext {
            connect,
            catalog,
            turns: Turns::new(),
            subscriptions: AllSubscriptions::default(),
            log_subscriptions,
            hurry,
        };
        let supervisor = Self {
            settings,
            gate,
            context: Arc::new(context),
            published: published.clone(),
            orders,
            running: BTreeMap::new(),
            instances: Instances::default(),
            ending: BTreeMap::new(),
            leaving: Vec::new(),
            stops: Vec::new(),
            histories: BTreeMap::new(),
        };
        (published, supervisor)
    }

    /// Starts the workers that the settings want now, once it is known which servers have to be discovered. Requests wait for that, so
    /// none of them finds an upstream missing.
    async fn begin(&mut self) {
        self.context.catalog.read_first().await;
        // Not marked as seen: the catalog has to learn, in `reconcile`, what changed since the daemon began.
        let settings = self.settings.borrow().clone();
        for name in wanted(&settings).into_keys() {
            self.start(&settings, &name);
        }
        self.publish();
        self.published.begin();
    }

    /// Starts the workers; follows the settings, and the sessions that have instances of their own, until shutdown; then stops every worker
    /// and returns when all are done.
    pub async fn run(mut self, shutdown: CancellationToken) {
        shutdown.run_until_cancelled(self.begin()).await;
        loop {
            tokio::select! {
                () = shutdown.cancelled() => break,
                changed = self.settings.changed() => match changed {
                    Ok(()) => self.reconcile().await,
                    Err(_) => break,
                },
                Some(order) = self.orders.recv() => self.carry_out(order),
                client = self.instances.next_end() => {
                    self.instances.left(&client);
                    self.settle();
                }
                () = tokio::time::sleep(SETTLE_INTERVAL), if self.instances.is_unsettled() => self.settle(),
            }
        }
        self.orders.close();
        let ended = self.instances.end_all();
        self.let_go(ended);
        self.publish();
        for running in self.running.values() {
            running.upstream.0.stop.cancel();
        }
        for running in std::mem::take(&mut self.running).into_values() {
            // A worker that panicked has dropped its process, which killed it.
            let _ = running.task.await;
        }
        for ending in self.ending.into_values() {
            let _ = ending.task.await;
        }
        for task in self.leaving {
            let _ = task.await;
        }
    }

    fn carry_out(&mut self, order: Order) {
        match order {
            Order::Enter(entering) => self.enter(*entering),
            Order::Move(client, done) => {
                self.instances.moved(&client);
                self.publish();
                let _ = done.send(());
            }
        }
    }

    /// Assigns a client to the instance of its scope, which is started if none runs. Where there is no room, the client waits.
    fn enter(&mut self, entering: Entering) {
        let started = self.ensure_instance(&entering);
        if started == Err(NotEntered::Full) {
            return self.instances.wait(entering);
        }
        let Entering {
            server,
            user,
            ended,
            scope,
            entered,
        } = entering;
        let instance = started.and_then(|()| {
            let assigned = self.instances.assign(&server, scope.key(), user, ended);
            assigned.ok_or(NotEntered::Gone)
        });
        self.publish();
        // A caller that left has its assignment until its client ends.
        let _ = entered.send(instance);
    }

    /// Starts the instance of the scope if none runs.
    fn ensure_instance(&mut self, entering: &Entering) -> Result<(), NotEntered> {
        let Entering {
            server,
            ended,
            scope,
            ..
        } = entering;
        if ended.as_ref().is_some_and(CancellationToken::is_cancelled) {
            return Err(NotEntered::Gone);
        }
        let base = self.running.get(server).ok_or(NotEntered::Gone)?;
        let key = scope.key();
        if !self.instances.has(server, &key) {
            let shared = &base.upstream.0;
            let parts = WorkerParts {
                stderr: shared.stderr.clone(),
                subscriptions: Subscriptions::default(),
                followed: shared.followed.clone(),
                before: None,
                base: Some(shared.commands.clone()),
                habits: shared.habits.clone(),
                scope: Some(scope.clone()),
                usage: Usage::default(),
            };
            let entry = base.entry.clone();
            let giving_way = self.instances.make_room(server, scope)?;
            self.let_go(giving_way);
            tracing::debug!(%server, ?key, "an instance of the server is added");
            let running = self.launch(&entry, parts);
            self.instances.add(server, key, running);
        }
        Ok(())
    }

    /// Stops the instances that have no client any more, and tries again for the clients that wait for room.
    fn settle(&mut self) {
        let unused = self.instances.take_unused();
        self.let_go(unused);
        for entering in self.instances.take_waiting() {
            self.enter(entering);
        }
        self.publish();
    }

    /// Has these instances stopped with the next publication.
    fn let_go(&mut self, instances: impl IntoIterator<Item = RunningWorker>) {
        self.leaving.retain(|task| !task.is_finished());
        for running in instances {
            tracing::debug!(server = %running.upstream.name(), "an instance of the server stopped");
            self.stops.push(running.upstream.0.stop.clone());
            self.leaving.push(running.task);
        }
    }

    /// Starts, stops and replaces workers so that those run which the settings want now.
    async fn reconcile(&mut self) {
        let settings = self.settings.borrow_and_update().clone();
        let wanted = wanted(&settings);
        let running = self
            .running
            .iter()
            .map(|(n, r)| (n.clone(), Identity::of(&r.entry)))
            .collect();
        let changes = plan(&wanted, &running);
        // A server that is replaced keeps its last known lists until it is listed.
        let known = known(&settings);
        self.context
            .catalog
            .keep(gate::policies(&settings, &known))
            .await;
        for change in changes {
            match change {
                WorkerChange::Start(name) => self.start(&settings, &name),
                WorkerChange::Stop(name) => {
                    tracing::info!(server = %name, "server stopped");
                    if let Some(running) =
                        self.running.get(&name).filter(|_| !known.contains(&name))
                    {
                        // Nobody can ask for its log any more.
                        running.forgotten.store(true, Ordering::Relaxed);
                    }
                    self.stop(name);
                }
                WorkerChange::Replace(name) => {
                    tracing::info!(server = %name, "the server's entry changed; it restarts");
                    self.stop(name.clone());
                    self.start(&settings, &name);
                }
            }
        }
        self.histories.retain(|name, _| known.contains(name));
        self.ending.retain(|_, ending| !ending.task.is_finished());
        self.publish();
    }

    /// Has the worker of a server, and its instances, stopped with the next publication.
    fn stop(&mut self, name: ServerName) {
        let instances = self.instances.end_all_of(&name);
        self.let_go(instances);
        if let Some(running) = self.running.remove(&name) {
            let shared = &running.upstream.0;
            self.stops.push(shared.stop.clone());
            let ending = Ending {
                stderr: shared.stderr.clone(),
                task: running.task,
            };
            self.ending.insert(name, ending);
        }
    }

    /// Starts the worker of a server. It takes over what outlives workers: the log, the subscriptions, and how often it was called.
    fn start(&mut self, settings: &Settings, name: &ServerName) {
        let Some(entry) = settings.servers.get(name) else {
            return;
        };
        let before = self.ending.remove(name);
        let (subscriptions, followed) = self.context.subscriptions.of(name);
        let parts = WorkerParts {
            stderr: match &before {
                Some(before) => before.stderr.clone(),
                None => StderrLog::new(&self.context.connect.data_dir, name),
            },
            subscriptions,
            followed,
            before: before.map(|before| before.task),
            scope: None,
            base: None,
            habits: Arc::new(self.habits_of(entry)),
            usage: Usage::after(self.histories.entry(name.clone()).or_default().clone()),
        };
        let running = self.launch(entry, parts);
        self.running.insert(name.clone(), running);
    }

    /// What is known of a server from former connections.
    fn habits_of(&self, entry: &ServerEntry) -> Habits {
        let catalog = &self.context.catalog;
        let known = catalog.glance().servers.get(&entry.name).cloned();
        let is_modern = known.is_some_and(|known| !known.listing.revision.has_server_requests());
        let is_stateless = is_modern && matches!(entry.transport, Transport::Remote(_));
        let habits = catalog.habits(&entry.name, &entry.fingerprint);
        Habits::new(habits, is_stateless)
    }

    fn launch(&self, entry: &Arc<ServerEntry>, parts: WorkerParts) -> RunningWorker {
        let (commands, inbox) = mpsc::channel(COMMANDS);
        let started_as = match &parts.scope {
            Some(scope) => scope.entry(entry),
            None => entry.clone(),
        };
        let shared = Arc::new(UpstreamShared {
            stop: CancellationToken::new(),
            client_streams: ClientStreams::default(),
            numbers: RequestNumbers::default(),
            login: self.context.connect.logins.of(entry),
            name: entry.name.clone(),
            made_for: Identity::of(entry),
            settings: self.settings.clone(),
            gate: self.gate.clone(),
            commands,
            status: watch::Sender::default(),
            live: ArcSwapOption::empty(),
            usage: parts.usage,
            slots: Arc::default(),
            subscriptions: parts.subscriptions,
            followed: parts.followed,
            stderr: parts.stderr,
            scope: entry.session_scope,
            shakes_hands: match &parts.scope {
                Some(InstanceScope::Client(sole)) => sole.shakes_hands,
                Some(InstanceScope::Legacy) => true,
                Some(InstanceScope::Unable) => parts.habits.has_both_eras() == Some(true),
                Some(InstanceScope::Workspace(_)) | None => false,
            },
            habits: parts.habits,
            refusals: LogThrottle::default(),
            log_subscriptions: self.context.log_subscriptions.clone(),
            instance_scope: parts.scope,
            base: parts.base,
            is_restarting: AtomicBool::new(false),
        });
        let worker = Worker::new(started_as, shared.clone(), self.context.clone(), inbox);
        let forgotten = Arc::new(AtomicBool::new(false));
        let (is_forgotten, log) = (forgotten.clone(), shared.stderr.clone());
        let task = tokio::spawn(async move {
            // Two connections that stand for one server never run side by side.
            if let Some(before) = parts.before {
                let _ = before.await;
            }
            worker.run().await;
            if is_forgotten.load(Ordering::Relaxed) {
                log.remove();
            }
        });
        let scope = shared.instance_scope.as_ref();
        let sole = scope.and_then(InstanceScope::sole_client);
        let joined = sole.and_then(|sole| {
            let client = &sole.user.client;
            shared.followed.join(client, &shared.subscriptions)
        });
        RunningWorker {
            upstream: Upstream(shared),
            _joined: joined,
            entry: entry.clone(),
            forgotten,
            task,
        }
    }

    /// Publishes what runs, and only then stops what was taken out: a call that finds its server stopped finds the replacement in the
    /// directory.
    fn publish(&mut self) {
        let servers = self.running.iter();
        let servers = servers.map(|(name, running)| (name.clone(), running.upstream.clone()));
        self.published.publish(Directory {
            servers: servers.collect(),
            instances: self.instances.published(),
        });
        for stop in self.stops.drain(..) {
            stop.cancel();
        }
    }
}
