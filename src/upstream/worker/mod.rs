//! One task a server. It owns the process and the connection, decides with [`State`] when to make and when to end them, and hands
//! what it listed to the catalog. Calls do not pass through it: they take the published connection.

mod attempt;
mod news;
mod upkeep;

use std::{
    hash::{BuildHasher, RandomState},
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::future::BoxFuture;
use tokio::sync::{Notify, Semaphore, mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::{
    connect::{ConnectError, Ground, Open},
    handle::{Command, Live, Shared, Status},
    link::News,
    state::{Action, Event, State, Wish},
};
use crate::{
    catalog::{Catalog, Listing},
    config::{IdleTimeout, ServerEntry, Settings, Start, Transport},
};

/// What all workers of one daemon share.
pub(super) struct House {
    pub(super) ground: Ground,
    pub(super) catalog: Catalog,
    /// Servers that are discovered at the same time, so that a start does not launch everything at once.
    pub(super) discovery: Arc<Semaphore>,
    /// No more grace: a second signal came.
    pub(super) hurry: CancellationToken,
}

pub(super) struct Worker {
    pub(super) entry: Arc<ServerEntry>,
    pub(super) shared: Arc<Shared>,
    pub(super) house: Arc<House>,
    pub(super) inbox: mpsc::Receiver<Command>,
    pub(super) stop: CancellationToken,
    pub(super) life: Life,
}

/// What changes as the worker lives.
pub(super) struct Life {
    state: State,
    open: Option<Connected>,
    attempt: Option<BoxFuture<'static, Result<Open, ConnectError>>>,
    waiters: Vec<oneshot::Sender<Result<Arc<Live>, ConnectError>>>,
    /// Somebody waits for the attempt, so it does not wait for its turn.
    urgent: Arc<Notify>,
    relisting: Option<BoxFuture<'static, Result<Listing, String>>>,
    relist_at: Option<Instant>,
    pinging: Option<BoxFuture<'static, Result<(), String>>>,
    paused_until: Option<Instant>,
    next_check: Instant,
    next_poll: Option<Instant>,
    next_ping: Instant,
    incarnation: u64,
}

/// The connection in use.
struct Connected {
    open: Open,
    live: Arc<Live>,
    since: Instant,
}

/// What woke the worker.
enum Step {
    Stop,
    Command(Option<Command>),
    Attempt(Box<Result<Open, ConnectError>>),
    News(Option<News>),
    Relisted(Result<Listing, String>),
    Pinged(Result<(), String>),
    Tick,
}

impl Life {
    pub(super) fn new() -> Self {
        let now = Instant::now();
        Self {
            state: State::Asleep,
            open: None,
            attempt: None,
            waiters: Vec::new(),
            urgent: Arc::default(),
            relisting: None,
            relist_at: None,
            pinging: None,
            paused_until: None,
            next_check: now,
            next_poll: None,
            next_ping: now,
            incarnation: 0,
        }
    }
}

impl Worker {
    /// Runs until it is stopped, then lets the connection go and returns when nothing of it is left.
    pub(super) async fn run(mut self) {
        if self.wish() == Wish::Stay {
            self.event(Event::Wanted).await;
        }
        loop {
            match self.next_step().await {
                Step::Stop | Step::Command(None) => break,
                Step::Command(Some(command)) => self.command(command).await,
                Step::Attempt(result) => self.attempted(*result).await,
                Step::News(news) => self.news(news).await,
                Step::Relisted(result) => self.relisted(result).await,
                Step::Pinged(result) => self.pinged(result).await,
                Step::Tick => self.tick().await,
            }
        }
        self.life.attempt = None;
        self.life.waiters.clear();
        self.disconnect().await;
    }

    async fn next_step(&mut self) -> Step {
        let wake_at = self.wake_at();
        let life = &mut self.life;
        tokio::select! {
            biased;
            () = self.stop.cancelled() => Step::Stop,
            command = self.inbox.recv() => Step::Command(command),
            result = maybe(&mut life.attempt) => Step::Attempt(Box::new(result)),
            news = next_news(&mut life.open) => Step::News(news),
            result = maybe(&mut life.relisting) => Step::Relisted(result),
            result = maybe(&mut life.pinging) => Step::Pinged(result),
            () = tokio::time::sleep_until(wake_at.into()) => Step::Tick,
        }
    }

    /// The next moment at which something is due.
    fn wake_at(&self) -> Instant {
        let life = &self.life;
        let mut due = vec![life.paused_until];
        if life.open.is_some() {
            due.extend([life.relist_at, life.next_poll, Some(life.next_check)]);
            due.push(self.is_remote().then_some(life.next_ping));
        }
        // With nothing due, an hour is as good as never.
        due.into_iter()
            .flatten()
            .min()
            .unwrap_or_else(|| Instant::now() + Duration::from_hours(1))
    }

    /// Whether the server should be connected even if nobody calls.
    fn wish(&self) -> Wish {
        let stays = !self.entry.quarantined
            && (self.entry.start == Start::Eager || (self.is_remote() && self.never_idle()));
        if stays || !self.is_known() {
            Wish::Stay
        } else {
            Wish::OnDemand
        }
    }

    /// Whether its lists are known, from this configuration of it.
    fn is_known(&self) -> bool {
        let snapshot = self.house.catalog.glance();
        snapshot
            .servers
            .get(&self.entry.name)
            .is_some_and(|known| *known.entry == *self.entry.fingerprint)
    }

    fn is_remote(&self) -> bool {
        matches!(self.entry.transport, Transport::Remote(_))
    }

    fn never_idle(&self) -> bool {
        matches!(self.policy(), IdleTimeout::Never)
    }

    /// Read where it is used: the settings may change while we are connected.
    fn policy(&self) -> IdleTimeout {
        let settings = self.shared.settings.borrow();
        settings
            .servers
            .get(&self.entry.name)
            .map_or(self.entry.idle_timeout, |e| e.idle_timeout)
    }

    fn settings(&self) -> Arc<Settings> {
        self.shared.settings.borrow().clone()
    }

    async fn event(&mut self, event: Event) {
        let (state, action) = self.life.state.on(event);
        self.life.state = state;
        self.shared
            .status
            .send_modify(|status| status.state = state);
        match action {
            Action::Connect => self.start_attempt(),
            Action::Pause(pause) => self.life.paused_until = Some(Instant::now() + jittered(pause)),
            Action::Disconnect => {
                tracing::info!(server = %self.entry.name, "server is idle and put to sleep");
                self.disconnect().await;
            }
            Action::Nothing => (),
        }
    }

    async fn command(&mut self, command: Command) {
        match command {
            Command::Wake(answer) => match &self.life.open {
                // The caller is gone if this fails.
                Some(connected) => drop(answer.send(Ok(connected.live.clone()))),
                None => self.wake(answer).await,
            },
            Command::Restart(answer) => {
                if self.life.open.is_some() {
                    self.disconnect().await;
                    self.life.state = State::Asleep;
                }
                self.wake(answer).await;
            }
            Command::Suspect(incarnation) => {
                if self
                    .life
                    .open
                    .as_ref()
                    .is_some_and(|c| c.live.incarnation == incarnation)
                {
                    self.lost("a request could not be delivered".to_owned())
                        .await;
                }
            }
        }
    }

    async fn wake(&mut self, answer: oneshot::Sender<Result<Arc<Live>, ConnectError>>) {
        self.life.waiters.push(answer);
        self.life.urgent.notify_one();
        self.event(Event::Wanted).await;
    }
}

/// The future's value, and then it is gone; for ever pending if there is none.
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

async fn next_news(open: &mut Option<Connected>) -> Option<News> {
    match open {
        Some(connected) => connected.open.news.recv().await,
        None => std::future::pending().await,
    }
}

/// Up to a quarter more, so that servers which failed together do not come back together.
fn jittered(pause: Duration) -> Duration {
    let percent = RandomState::new().hash_one(0_u8) % 26;
    pause + pause * u32::try_from(percent).unwrap_or(0) / 100
}

impl Status {
    pub(super) fn new() -> Self {
        Self {
            state: State::Asleep,
            last_error: None,
        }
    }
}
