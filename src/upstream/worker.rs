//! One task a server. It owns the process and the connection, decides with [`State`] when to make and when to end them, and hands
//! what it listed to the catalog. Calls do not pass through it: they take the published connection.

use std::{
    hash::{BuildHasher, RandomState},
    sync::Arc,
    time::{Duration, Instant},
};

use arc_swap::ArcSwap;
use futures_util::future::{BoxFuture, FutureExt};
use tokio::sync::{Notify, Semaphore, mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::{
    connect::{self, ConnectError, Ground, LISTING, Open},
    handle::{Command, Live, Shared, Status},
    link::{Link, News},
    lists::{self, ListError},
    process::Grace,
    state::{Action, Event, HEALTHY_AFTER, Health, State, Wish},
};
use crate::{
    catalog::{Catalog, Listing},
    config::{IdleTimeout, ServerEntry, Settings, Start, Transport},
    wire::{Notification, Outcome, Raw, Request, RpcError, method},
};

/// Rapid `list_changed` notifications become one listing.
const COALESCE: Duration = Duration::from_millis(250);

/// How long a server may take to answer a ping.
const PING: Duration = Duration::from_secs(15);

/// What all workers share.
pub(super) struct Common {
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
    pub(super) common: Arc<Common>,
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
        let known = self
            .common
            .catalog
            .glance()
            .servers
            .contains_key(&self.entry.name);
        let stays = !self.entry.quarantined
            && (self.entry.start == Start::Eager || (self.is_remote() && self.never_idle()));
        if stays || !known {
            Wish::Stay
        } else {
            Wish::OnDemand
        }
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

    fn start_attempt(&mut self) {
        self.life.paused_until = None;
        let (entry, shared, common) =
            (self.entry.clone(), self.shared.clone(), self.common.clone());
        let urgent = self.life.urgent.clone();
        let known = common.catalog.glance().servers.contains_key(&entry.name);
        let deadline = if known {
            entry.init_timeout
        } else {
            entry.first_init_timeout
        };
        let settings = self.settings();
        if !self.life.waiters.is_empty() {
            urgent.notify_one();
        }
        let attempt = async move {
            let _turn = tokio::select! {
                turn = common.discovery.clone().acquire_owned(), if !known => turn.ok(),
                () = urgent.notified() => None,
                () = std::future::ready(()), if known => None,
            };
            connect::connect(&entry, &settings, &common.ground, &shared.stderr, deadline).await
        };
        self.life.attempt = Some(attempt.boxed());
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

    async fn attempted(&mut self, result: Result<Open, ConnectError>) {
        self.life.urgent = Arc::default();
        let outcome = match result {
            Ok(open) => self.opened(open).await,
            Err(error) => Err(error),
        };
        match outcome {
            Ok(live) => {
                self.shared
                    .status
                    .send_modify(|status| status.last_error = None);
                self.event(Event::Opened).await;
                for waiter in self.life.waiters.drain(..) {
                    // A caller that left needs no answer.
                    let _ = waiter.send(Ok(live.clone()));
                }
                // A quarantined server is connected for its lists only.
                if self.entry.quarantined {
                    self.event(Event::Unused).await;
                }
            }
            Err(error) => {
                tracing::warn!(server = %self.entry.name, reason = %error.reason, "server is not available");
                self.shared
                    .status
                    .send_modify(|status| status.last_error = Some(error.clone()));
                let wish = self.wish();
                self.event(Event::NotOpened(wish)).await;
                for waiter in self.life.waiters.drain(..) {
                    let _ = waiter.send(Err(error.clone()));
                }
            }
        }
    }

    /// Takes the connection in: its lists go to the catalog, then calls may use it.
    async fn opened(&mut self, open: Open) -> Result<Arc<Live>, ConnectError> {
        let listing = open.listing.clone();
        let put = self
            .common
            .catalog
            .put(&self.entry.name, &self.entry.fingerprint, listing)
            .await;
        let Some(catalog) = put else {
            return Err(ConnectError {
                reason: "the daemon is shutting down".to_owned(),
                outside: "the daemon is shutting down".to_owned(),
                next_step: "start it again".to_owned(),
            });
        };
        self.life.incarnation += 1;
        let live = Arc::new(Live {
            incarnation: self.life.incarnation,
            link: open.link.clone(),
            catalog: ArcSwap::new(catalog.clone()),
        });
        if catalog.has_capability("tools.listChanged") {
            tracing::debug!(server = %self.entry.name, "Server supports tool change notifications - registered handler");
        }
        tracing::info!(server = %self.entry.name, tools = catalog.tools.len(), "server is ready");
        let now = Instant::now();
        let settings = self.settings();
        self.life.next_check = now + settings.idle_check_interval;
        self.life.next_ping = now + settings.health_check_interval;
        // Servers that say when their tools change need no poll.
        self.life.next_poll = settings
            .tool_discovery_interval
            .filter(|_| !catalog.has_capability("tools.listChanged"))
            .map(|i| now + i);
        self.life.open = Some(Connected {
            open,
            live: live.clone(),
            since: now,
        });
        if !self.entry.quarantined {
            self.shared.live.store(Some(live.clone()));
        }
        Ok(live)
    }

    /// Lets the connection go: no new calls, goodbye, and the whole process group ends.
    async fn disconnect(&mut self) {
        self.shared.live.store(None);
        (self.life.relisting, self.life.relist_at, self.life.pinging) = (None, None, None);
        let Some(connected) = self.life.open.take() else {
            return;
        };
        let Open {
            link,
            control,
            news,
            process,
            tasks,
            listing: _,
        } = connected.open;
        let goodbye = async {
            control.close().await;
            drop((link, news));
            if let Some(process) = process {
                process.stop(Grace::default()).await;
            }
        };
        tokio::select! {
            () = goodbye => (),
            // Dropping the process kills its group at once.
            () = self.common.hurry.cancelled() => (),
        }
        drop(tasks);
    }

    async fn lost(&mut self, reason: String) {
        let Some(connected) = &self.life.open else {
            return;
        };
        let health = if connected.since.elapsed() >= HEALTHY_AFTER {
            Health::Proved
        } else {
            Health::Brief
        };
        tracing::warn!(server = %self.entry.name, %reason, "connection to server lost");
        let next_step = match self.entry.transport {
            Transport::Stdio(_) => format!(
                "`mcpproxy upstream logs {}` shows what it wrote",
                self.entry.name
            ),
            Transport::Remote(_) => "the next call connects again".to_owned(),
        };
        let error = ConnectError {
            reason: reason.clone(),
            outside: reason,
            next_step,
        };
        self.shared
            .status
            .send_modify(|status| status.last_error = Some(error));
        self.disconnect().await;
        let wish = self.wish();
        self.event(Event::Lost(wish, health)).await;
    }

    async fn news(&mut self, news: Option<News>) {
        match news {
            None => self.lost("the connection ended".to_owned()).await,
            Some(News::Closed(reason)) => self.lost(reason).await,
            Some(News::Notification(notice)) => self.notification(&notice),
            Some(News::Question(question)) => self.question(&question).await,
            Some(News::Renewed(initialize)) => {
                tracing::info!(server = %self.entry.name, "the server's session had expired and was renewed");
                if let Some(connected) = &mut self.life.open {
                    connected.open.listing.initialize = initialize.detached();
                }
                self.life.relist_at = Some(Instant::now());
            }
        }
    }

    fn notification(&mut self, notice: &Notification) {
        let server = &self.entry.name;
        match &*notice.method {
            method::TOOLS_CHANGED | method::PROMPTS_CHANGED | method::RESOURCES_CHANGED => {
                let promised = self
                    .life
                    .open
                    .as_ref()
                    .is_some_and(|c| c.live.catalog.load().has_capability("tools.listChanged"));
                if &*notice.method == method::TOOLS_CHANGED {
                    tracing::info!(%server, "Received tools/list_changed notification from upstream server");
                    if !promised {
                        tracing::warn!(
                            %server,
                            "Received tools notification from server that did not advertise listChanged capability"
                        );
                    }
                }
                self.life.relist_at.get_or_insert(Instant::now() + COALESCE);
            }
            method::LOG_MESSAGE => {
                let text = notice
                    .params
                    .as_ref()
                    .and_then(|p| p.get("data"))
                    .map(|data| data.as_str().to_owned());
                tracing::debug!(%server, data = text.as_deref().unwrap_or_default(), "log line of the server");
            }
            other => {
                tracing::debug!(%server, method = other, "a notification of the server belongs to no call");
            }
        }
    }

    /// Questions that belong to no caller: life signs and roots are answered by us, the rest is refused with its reason.
    async fn question(&mut self, question: &Request) {
        let outcome = match &*question.method {
            method::PING => Outcome::Result(Raw::empty_object()),
            method::ROOTS_LIST if !self.entry.roots.is_empty() => Outcome::Result(self.roots()),
            other => {
                tracing::debug!(server = %self.entry.name, method = other, "a question of the server was refused");
                Outcome::Error(RpcError::method_not_found(other).to_raw())
            }
        };
        if let Some(connected) = &self.life.open
            && let Err(error) = connected.open.link.answer(&question.id, &outcome).await
        {
            tracing::debug!(server = %self.entry.name, %error, "a question of the server could not be answered");
        }
    }

    fn roots(&self) -> Raw {
        let roots: Vec<_> = self
            .entry
            .roots
            .iter()
            .map(|root| match &root.name {
                Some(name) => serde_json::json!({ "uri": root.uri, "name": name }),
                None => serde_json::json!({ "uri": root.uri }),
            })
            .collect();
        Raw::author(&serde_json::json!({ "roots": roots }))
    }

    async fn relisted(&mut self, result: Result<Listing, String>) {
        let server = self.entry.name.clone();
        let listing = match result {
            Ok(listing) => listing,
            Err(reason) => {
                tracing::warn!(%server, %reason, "the server could not be listed again; the last known lists stay");
                return;
            }
        };
        let put = self
            .common
            .catalog
            .put(&server, &self.entry.fingerprint, listing)
            .await;
        if let (Some(catalog), Some(connected)) = (put, &self.life.open) {
            connected.live.catalog.store(catalog);
        }
    }

    async fn pinged(&mut self, result: Result<(), String>) {
        if let Err(reason) = result {
            self.lost(reason).await;
        }
    }

    async fn tick(&mut self) {
        let now = Instant::now();
        let due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        if due(self.life.paused_until) {
            self.life.paused_until = None;
            self.event(Event::PauseOver).await;
        }
        let settings = self.settings();
        if due(self.life.next_poll) {
            self.life.next_poll = settings
                .tool_discovery_interval
                .map(|interval| now + interval);
            self.life.relist_at.get_or_insert(now);
        }
        // One listing at a time; a wish that comes meanwhile waits for its end.
        if due(self.life.relist_at) && self.life.relisting.is_none() {
            self.life.relist_at = None;
            self.start_relisting();
        }
        if self.life.open.is_some() && self.life.next_ping <= now {
            self.life.next_ping = now + settings.health_check_interval;
            self.start_ping();
        }
        if self.life.next_check <= now {
            self.life.next_check = now + settings.idle_check_interval;
            self.check_idle(now).await;
        }
    }

    fn start_relisting(&mut self) {
        let Some(connected) = &self.life.open else {
            return;
        };
        tracing::debug!(server = %self.entry.name, "Tool discovery triggered by notification");
        let known = &connected.open.listing;
        let (link, initialize, revision) = (
            connected.open.link.clone(),
            known.initialize.clone(),
            known.revision,
        );
        self.life.relisting = Some(relist(link, initialize, revision).boxed());
    }

    /// Only remote servers are pinged: a child's death is seen, a dead socket is not.
    fn start_ping(&mut self) {
        if let Some(connected) = self
            .life
            .open
            .as_ref()
            .filter(|_| self.is_remote() && self.life.pinging.is_none())
        {
            self.life.pinging = Some(connected.open.control.ping(PING).boxed());
        }
    }

    async fn check_idle(&mut self, now: Instant) {
        let Some(connected) = &self.life.open else {
            return;
        };
        let eager = self.entry.start == Start::Eager;
        if !eager
            && self
                .shared
                .usage
                .is_idle(&self.policy(), connected.since, now)
        {
            self.event(Event::Unused).await;
        }
    }
}

async fn relist(
    link: Link,
    initialize: Raw,
    revision: crate::wire::Revision,
) -> Result<Listing, String> {
    match tokio::time::timeout(LISTING, Box::pin(lists::read(&link, initialize, revision))).await {
        Ok(listing) => listing.map_err(|error: ListError| error.to_string()),
        Err(_) => Err(format!("no end within {} s", LISTING.as_secs())),
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
