//! The worker: one task for each server. It owns the process and the connection, decides with [`State`] when to make and when to end them,
//! and hands the lists that it reads to the catalog. Calls do not pass through it: they take the published connection.

mod attempt;
mod disconnect;
mod failure_record;
mod listing;
mod liveness;
mod log_level;
mod login;
mod news;
mod schedule;
mod server_facts;
mod subscriptions;
mod turns;
mod upkeep;

use std::{
    collections::VecDeque,
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use futures_util::{
    future::BoxFuture,
    stream::{FuturesUnordered, StreamExt},
};
use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

pub(in crate::upstream) use self::turns::Turns;
use self::{
    liveness::Liveness,
    schedule::{Cadence, Schedule, jittered},
    subscriptions::SubscriptionAnswers,
};
use crate::{
    activity::ServerStep,
    authorization::LoginStatus,
    catalog::Catalog,
    config::{ServerEntry, Settings, duration},
    link::{NEWS_CAPACITY, News},
    runtime::waits::or_never,
    upstream::{
        ConnectContext, ConnectError, LogSubscriptions, State,
        calls::{
            followed::AllSubscriptions,
            handle::{Command, ConnectionWaiter, Live, UpstreamShared},
        },
        connect::{
            Open,
            life_signs::{PingHabit, SignOfLife},
            lists::ReadLists,
        },
        state::{Action, Need, StateEvent},
    },
    wire::LogLevel,
};

/// What all workers of one daemon share.
pub(in crate::upstream) struct WorkerContext {
    pub(in crate::upstream) connect: ConnectContext,
    pub(in crate::upstream) catalog: Catalog,
    /// Turns of servers that are started for the first time.
    pub(in crate::upstream) turns: Turns,
    pub(in crate::upstream) subscriptions: AllSubscriptions,
    pub(in crate::upstream) log_subscriptions: LogSubscriptions,
    /// Cancelled by a second signal: children are killed without further waiting.
    pub(in crate::upstream) hurry: CancellationToken,
}

/// The worker of one server, or of an instance of it.
pub(in crate::upstream) struct Worker {
    /// The entry that it was made for. What may change without a new connection is read from the settings.
    entry: Arc<ServerEntry>,
    settings: watch::Receiver<Arc<Settings>>,
    shared: Arc<UpstreamShared>,
    context: Arc<WorkerContext>,
    level_changes: watch::Receiver<()>,
    /// Changed lists that other connections to the server found.
    list_changes: watch::Receiver<Option<Instant>>,
    /// Changes of the login of a remote server.
    login_changes: Option<watch::Receiver<LoginStatus>>,
    inbox: mpsc::Receiver<Command>,
    life: Life,
}

/// What changes as the worker lives.
#[derive(Default)]
struct Life {
    state: State,
    open: Option<Connected>,
    attempt: Option<BoxFuture<'static, Result<Open, ConnectError>>>,
    waiters: Vec<ConnectionWaiter>,
    /// Notified when a call waits for the attempt, which then starts without waiting for its turn.
    urgent: Arc<Notify>,
    /// The listing that runs.
    relisting: Option<BoxFuture<'static, Result<ReadLists, String>>>,
    /// The session of the connection when that listing began.
    relisting_in: u64,
    pinging: Option<BoxFuture<'static, SignOfLife>>,
    /// How the server takes pings, as far as it was seen.
    ping_habit: PingHabit,
    /// Answers to the server's questions that are being made or sent.
    answering: FuturesUnordered<BoxFuture<'static, ()>>,
    /// Subscription requests that the server has not answered yet.
    telling: FuturesUnordered<BoxFuture<'static, SubscriptionAnswers>>,
    /// The request that sets the server's log level.
    levelling: Option<BoxFuture<'static, ()>>,
    /// The log level that the server was sent last.
    level_set: Option<LogLevel>,
    /// Calls that wait until their level is set.
    level_waiters: Vec<oneshot::Sender<()>>,
    paused_until: Option<Instant>,
    /// When the last attempt began; taken out when its end is recorded.
    attempt_began: Option<Instant>,
    /// The position of the server's log then.
    log_began: u64,
    /// An operator restarted it: what is remembered of it is not used.
    in_doubt: bool,
    /// The last attempt began although a login was needed.
    had_no_login: bool,
    incarnation: u64,
}

impl Life {
    /// The connection of this incarnation, if it is the one in use.
    fn connected(&mut self, incarnation: u64) -> Option<&mut Connected> {
        let open = self.open.as_mut();
        open.filter(|connected| connected.live.incarnation == incarnation)
    }
}

/// The connection in use.
struct Connected {
    open: Open,
    /// News that came while the server was being listed.
    early: VecDeque<News>,
    live: Arc<Live>,
    since: Instant,
    liveness: Liveness,
    schedule: Schedule,
    /// Calls that wait for the next listing.
    due_for: Vec<oneshot::Sender<()>>,
    /// Those that wait for the one that runs.
    listing_for: Vec<oneshot::Sender<()>>,
}

/// What woke the worker.
enum Step {
    Stop,
    Command(Option<Command>),
    Attempt(Box<Result<Open, ConnectError>>),
    News(Option<News>),
    Relisted(Result<ReadLists, String>),
    Pinged(SignOfLife),
    Answered,
    SubscriptionsChanged,
    LogLevelSubscribed,
    ListsChanged,
    SubscriptionsAnswered(SubscriptionAnswers),
    SettingsChanged,
    LoginChanged,
    Tick,
}

impl Connected {
    fn new(open: Open, early: VecDeque<News>, live: Arc<Live>) -> Self {
        let now = Instant::now();
        Self {
            open,
            early,
            live,
            since: now,
            liveness: Liveness::new(now),
            schedule: Schedule::new(now),
            due_for: Vec::new(),
            listing_for: Vec::new(),
        }
    }

    /// Calls see what the server has announced that has not been read.
    fn note_unread(&self) {
        self.live.unread.note(self.schedule.unread());
    }

    /// The lists may be wrong: they are read at once, and calls wait for that.
    fn list_now(&mut self) {
        self.schedule.list_now(Instant::now());
        self.note_unread();
    }
}

impl Worker {
    pub(in crate::upstream) fn new(
        entry: Arc<ServerEntry>,
        shared: Arc<UpstreamShared>,
        context: Arc<WorkerContext>,
        inbox: mpsc::Receiver<Command>,
    ) -> Self {
        Self {
            entry,
            settings: shared.settings.clone(),
            level_changes: context.log_subscriptions.changes(),
            list_changes: shared.habits.list_changes(),
            login_changes: shared.login.as_ref().map(|login| login.status()),
            shared,
            context,
            inbox,
            life: Life::default(),
        }
    }

    /// Runs until it is stopped, then lets the connection go and returns when nothing of it is left.
    pub(in crate::upstream) async fn run(mut self) {
        if self.need() == Need::Permanent {
            self.apply(StateEvent::Wanted).await;
        }
        self.set_status(|status| status.begun = true);
        loop {
            match self.next_step().await {
                Step::Stop | Step::Command(None) => break,
                Step::Command(Some(command)) => self.carry_out(command).await,
                Step::Attempt(result) => self.finish_attempt(*result).await,
                Step::News(news) => self.take_news(news).await,
                Step::Relisted(result) => self.take_lists(result).await,
                Step::Pinged(sign) => self.take_sign_of_life(sign).await,
                Step::SubscriptionsChanged => self.sync_subscriptions(),
                Step::SubscriptionsAnswered(answers) => self.subscriptions_answered(answers),
                Step::LogLevelSubscribed => self.sync_log_level(),
                // The next wait is computed again.
                Step::Answered | Step::SettingsChanged => (),
                Step::ListsChanged => self.lists_changed_elsewhere(),
                Step::LoginChanged => self.login_changed().await,
                Step::Tick => self.tick().await,
            }
        }
        self.life.attempt = None;
        self.life.waiters.clear();
        self.record_unrecorded();
        self.disconnect().await;
        self.show_own(None);
    }

    /// Every branch may be dropped: what is under way stands in `life`. Fair, so that a server which floods us with news does not
    /// keep its own listing, or its end, from happening.
    async fn next_step(&mut self) -> Step {
        let wake_at = self.wake_at();
        let login_change = self.login_changes.as_mut().map(watch::Receiver::changed);
        let life = &mut self.life;
        tokio::select! {
            () = self.shared.stop.cancelled() => Step::Stop,
            command = self.inbox.recv() => Step::Command(command),
            result = maybe(&mut life.attempt) => Step::Attempt(Box::new(result)),
            news = next_news(&mut life.open) => Step::News(news),
            result = maybe(&mut life.relisting) => Step::Relisted(result),
            sign = maybe(&mut life.pinging) => Step::Pinged(sign),
            Some(()) = life.answering.next() => Step::Answered,
            () = self.shared.subscriptions.changed() => Step::SubscriptionsChanged,
            Some(answer) = life.telling.next() => Step::SubscriptionsAnswered(answer),
            Ok(()) = self.level_changes.changed() => Step::LogLevelSubscribed,
            Ok(()) = self.list_changes.changed() => Step::ListsChanged,
            () = maybe(&mut life.levelling) => Step::LogLevelSubscribed,
            Ok(()) = self.settings.changed() => Step::SettingsChanged,
            Ok(()) = or_never(login_change) => Step::LoginChanged,
            () = tokio::time::sleep_until(wake_at.into()) => Step::Tick,
        }
    }

    /// The next moment at which something is due.
    fn wake_at(&self) -> Instant {
        let (life, cadence) = (&self.life, self.cadence());
        let open = life.open.as_ref();
        let due = open.map(|connected| connected.schedule.next(cadence));
        let due = life.paused_until.into_iter().chain(due).min();
        // With nothing due, any long time will do.
        due.unwrap_or_else(|| Instant::now() + Duration::from_hours(1))
    }

    fn cadence(&self) -> Cadence {
        let settings = self.shared.settings.borrow();
        Cadence {
            idle_check: settings.idle_check_interval,
            ping: settings.health_check_interval,
            // Also of servers that announce changes: some never do.
            poll: settings.tool_discovery_interval,
        }
    }

    /// How long nobody has called it, in words; nothing right after its lists were read.
    fn unused_for(&self) -> Option<String> {
        let connected = self.life.open.as_ref()?;
        let unused = self
            .shared
            .usage
            .unused_for(connected.since, Instant::now());
        let seconds = Duration::from_secs(unused.as_secs());
        (!seconds.is_zero()).then(|| format!("no call for {}", duration::show(seconds)))
    }

    /// Applies an event to the state, publishes that, and does what follows from it.
    async fn apply(&mut self, event: StateEvent) {
        let (state, action) = self.life.state.on(event);
        self.life.state = state;
        let settled = !matches!(state, State::Asleep | State::Connecting { .. });
        // One that waits for approval is not contacted again by itself, also where it waits for a login.
        if let Action::Pause(pause) = action
            && !self.is_held()
        {
            self.life.paused_until = Some(Instant::now() + jittered(pause));
        }
        let next_attempt = self.life.paused_until;
        self.set_status(|status| {
            status.state = state;
            status.settled |= settled;
            status.next_attempt = next_attempt.filter(|_| matches!(state, State::Waiting { .. }));
        });
        match action {
            Action::Connect => self.start_attempt(),
            Action::Disconnect => {
                let server = &self.entry.name;
                if self.is_held() {
                    tracing::info!(%server, "server stopped after listing");
                } else {
                    tracing::info!(%server, "server asleep");
                }
                let step = ServerStep {
                    detail: self.unused_for(),
                    ..ServerStep::default()
                };
                self.record("asleep", step);
                self.disconnect().await;
            }
            // The tick sees to it.
            Action::Pause(_) | Action::Nothing => (),
        }
    }

    async fn carry_out(&mut self, command: Command) {
        match command {
            Command::Wake(waiter) => match &self.life.open {
                // The caller is gone if this fails.
                Some(connected) => drop(waiter.send(Ok(connected.live.clone()))),
                None => self.wake(waiter).await,
            },
            Command::Restart(waiter) => {
                // An attempt that hangs is given up; those who wait for it wait for the new one.
                self.life.attempt = None;
                self.shared.is_restarting.store(true, Ordering::Relaxed);
                self.disconnect().await;
                self.life.in_doubt = true;
                self.life.ping_habit = PingHabit::Unknown;
                self.add_waiter(waiter);
                self.apply(StateEvent::Restarted).await;
            }
            Command::Suspect(incarnation) => self.suspect(incarnation).await,
            Command::Relist(incarnation, done) => self.list_for(incarnation, done),
            Command::ReadChanges(incarnation, done) => {
                // What a client was told may wait behind this.
                for _ in 0..NEWS_CAPACITY {
                    match news_at_hand(&mut self.life.open) {
                        Some(news) => self.take_news(Some(news)).await,
                        None => break,
                    }
                }
                self.read_changes_for(incarnation, done);
            }
            Command::Refresh => match &mut self.life.open {
                Some(connected) => connected.list_now(),
                None => self.apply(StateEvent::Wanted).await,
            },
            Command::SetLevel(incarnation, done) => self.set_level_for(incarnation, done),
            Command::NoteHabits => self.note_habits(),
        }
    }

    /// Has the catalog keep what was found out about the server.
    fn note_habits(&self) {
        let (name, entry) = (&self.entry.name, &self.entry.fingerprint);
        let habits = self.shared.habits.known();
        self.context.catalog.note_habits(name, entry, habits);
    }

    /// A request could not be delivered over this connection. Over a pipe that is the end of the connection. A remote server has one for
    /// each request, and a refused one means nothing for the others: it is requested to give a sign of life.
    async fn suspect(&mut self, incarnation: u64) {
        let (remote, cadence) = (self.is_remote(), self.cadence());
        let Some(connected) = self.life.connected(incarnation) else {
            return;
        };
        if remote {
            connected.liveness.suspect();
            connected.schedule.ping_now(Instant::now(), cadence);
        } else {
            let exit = match &connected.open.process {
                Some(process) => process.just_exited().await,
                None => None,
            };
            let undelivered = || "a request could not be delivered".to_owned();
            let reason = exit.map_or_else(undelivered, |exit| exit.to_string());
            self.lose_connection(reason).await;
        }
    }

    async fn wake(&mut self, waiter: ConnectionWaiter) {
        if matches!(self.life.state, State::Authenticating { .. }) {
            // No attempt works before a person has logged in. The caller may be gone.
            let _ = waiter.send(Err(self.wants_login()));
            return;
        }
        self.add_waiter(waiter);
        self.apply(StateEvent::Wanted).await;
    }

    /// Somebody waits for the attempt that runs, or is about to.
    fn add_waiter(&mut self, waiter: ConnectionWaiter) {
        // Callers that left, while an attempt takes its time, are forgotten.
        self.life.waiters.retain(|waiter| !waiter.is_closed());
        self.life.waiters.push(waiter);
        self.life.urgent.notify_one();
    }

    /// Gives the outcome of an attempt to all who wait for it.
    fn answer_waiters(&mut self, outcome: &Result<Arc<Live>, ConnectError>) {
        for waiter in self.life.waiters.drain(..) {
            // A caller that left needs no answer.
            let _ = waiter.send(outcome.clone());
        }
    }
}

/// The value of the future, which is then taken out; for ever pending if there is none.
async fn maybe<T>(future: &mut Option<BoxFuture<'static, T>>) -> T {
    match future {
        Some(running) => {
            let value = running.await;
            *future = None;
            value
        }
        None => std::future::pending().await,
    }
}

/// The next news that has come already.
fn news_at_hand(open: &mut Option<Connected>) -> Option<News> {
    let connected = open.as_mut()?;
    let early = connected.early.pop_front();
    early.or_else(|| connected.open.news.try_recv().ok())
}

async fn next_news(open: &mut Option<Connected>) -> Option<News> {
    match open {
        Some(connected) => {
            if let Some(news) = connected.early.pop_front() {
                return Some(news);
            }
            connected.open.news.recv().await
        }
        None => std::future::pending().await,
    }
}
