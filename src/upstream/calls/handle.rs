//! The handle to one upstream: what its calls and its worker share, and the requests to the worker.

use std::{
    sync::{Arc, OnceLock, atomic::AtomicBool},
    time::{Duration, Instant},
};

use arc_swap::{ArcSwap, ArcSwapOption};
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

use super::{
    LogSubscriptions, Status, client_streams::ClientStreams, followed::Followed,
    request_slots::RequestSlots, subscriptions::Subscriptions, unread::UnreadChange,
};
use crate::{
    authorization::{LoginError, LoginStatus, LoginTrouble, ServerLogin},
    catalog::ServerCatalog,
    config::{ServerEntry, SessionScope, Settings},
    failure::{ErrorCode, Failure, Result},
    gate::Gate,
    link::{Authorization, Link},
    process::StderrLog,
    telemetry::log_throttle::LogThrottle,
    text::{Secrets, ServerName},
    upstream::{
        ClientReach, ConnectError, InstanceScope, habits::Habits, usage::Usage, wanted::Identity,
    },
    wire::{LogLevel, RequestNumbers, bridge::Sender},
};

/// Limit: requests to a worker that wait in its queue. It takes them as fast as they come.
pub(in crate::upstream) const COMMANDS: usize = 1024;

/// One upstream. Cheap to clone.
#[derive(Clone)]
pub struct Upstream(pub(in crate::upstream) Arc<UpstreamShared>);

/// What the calls of one upstream and its worker share.
pub(in crate::upstream) struct UpstreamShared {
    pub(in crate::upstream) name: ServerName,
    /// The identity of the entry that it runs by.
    pub(in crate::upstream) made_for: Identity,
    pub(in crate::upstream) settings: watch::Receiver<Arc<Settings>>,
    /// Checks a call once more right before it is sent.
    pub(in crate::upstream) gate: Gate,
    pub(in crate::upstream) commands: mpsc::Sender<Command>,
    pub(in crate::upstream) status: watch::Sender<Status>,
    pub(in crate::upstream) live: ArcSwapOption<Live>,
    pub(in crate::upstream) usage: Usage,
    pub(in crate::upstream) slots: Arc<RequestSlots>,
    pub(in crate::upstream) subscriptions: Subscriptions,
    /// The topics that callers without a session follow, over all their connections to this server.
    pub(in crate::upstream) followed: Followed,
    pub(in crate::upstream) stderr: StderrLog,
    pub(in crate::upstream) client_streams: ClientStreams,
    pub(in crate::upstream) numbers: RequestNumbers,
    /// The login of a remote server, which all its connections share.
    pub(in crate::upstream) login: Option<Arc<ServerLogin>>,
    /// Which clients share a connection to this server, as its entry says.
    pub(in crate::upstream) scope: SessionScope,
    /// What the server was seen to do, over any connection.
    pub(in crate::upstream) habits: Arc<Habits>,
    /// Bounds the log lines about refused questions of the server.
    pub(in crate::upstream) refusals: LogThrottle,
    /// The log levels that clients want.
    pub(in crate::upstream) log_subscriptions: LogSubscriptions,
    /// Whether this instance is opened with a handshake, though the server needs none.
    pub(in crate::upstream) shakes_hands: bool,
    /// For whom this instance runs; absent in the upstream that everybody can use, whose lists are those of the server.
    pub(in crate::upstream) instance_scope: Option<InstanceScope>,
    /// The worker of that upstream, for an instance.
    pub(in crate::upstream) base: Option<mpsc::Sender<Command>>,
    /// Whether its connection was ended to be opened again, and no other is open yet.
    pub(in crate::upstream) is_restarting: AtomicBool,
    /// Cancelled when this upstream is to stop: its entry was changed or removed, its clients are gone, or the daemon ends.
    pub(in crate::upstream) stop: CancellationToken,
}

/// Gets the connection, or the reason why there is none.
pub(in crate::upstream) type ConnectionWaiter = oneshot::Sender<Result<Arc<Live>, ConnectError>>;

/// A request to the worker.
pub(in crate::upstream) enum Command {
    /// Connect if need be; the answer comes when it is connected or the attempt failed.
    Wake(ConnectionWaiter),
    /// Connect anew, even if it is connected.
    Restart(ConnectionWaiter),
    /// Calls found this connection dead.
    Suspect(u64),
    /// A call found the lists of this connection out of date. Answers when they have been read again.
    Relist(u64, oneshot::Sender<()>),
    /// Answers when the lists of this connection are read, if a change of them was announced that long ago.
    ReadChanges(u64, oneshot::Sender<()>),
    /// Connect if need be, and read the lists: an instance lists something else than what is known, or somebody wants them soon.
    Refresh,
    /// Have the catalog keep what was found out about the server, for later starts.
    NoteHabits,
    /// A call over this connection wants more log lines than the server's level lets through. Answers when the level is set.
    SetLevel(u64, oneshot::Sender<()>),
}

/// A connection that is ready for calls.
pub(in crate::upstream) struct Live {
    pub(in crate::upstream) incarnation: u64,
    pub(in crate::upstream) link: Link,
    /// The first client that called over this connection, if it can be reached outside of its calls.
    pub(in crate::upstream) owner: OnceLock<ClientReach>,
    pub(in crate::upstream) catalog: ArcSwap<ServerCatalog>,
    /// The log level that was set at the server, if any.
    pub(in crate::upstream) log_level: ArcSwapOption<LogLevel>,
    /// The announced list changes that are not read yet.
    pub(in crate::upstream) unread: UnreadChange,
}

impl Live {
    /// The log level that this client wants, where the server's lets fewer lines through and can be set.
    pub(super) fn lacks_log_level(&self, sender: &Sender<'_>) -> Option<LogLevel> {
        let level = sender.log_level?;
        let current = self.log_level.load();
        let has_it = current.as_ref().is_some_and(|current| **current <= level);
        (!has_it && self.catalog.load().takes_log_level()).then_some(level)
    }
}

impl Upstream {
    /// The server's name.
    pub fn name(&self) -> &ServerName {
        &self.0.name
    }

    /// Whether it runs by this entry. One that does not is about to be replaced.
    pub fn runs_by(&self, entry: &ServerEntry) -> bool {
        self.0.made_for == Identity::of(entry)
    }

    /// A number for the next request.
    pub fn next_number(&self) -> u64 {
        self.0.numbers.take()
    }

    /// Whether it was stopped: another upstream may run in its place.
    pub fn is_stopped(&self) -> bool {
        self.0.stop.is_cancelled()
    }

    /// Its status now.
    pub fn status(&self) -> Status {
        self.0.status.borrow().clone()
    }

    /// Returns when the first attempt has come to an end.
    pub async fn settled(&self) {
        let mut status = self.0.status.subscribe();
        // The sender lives as long as we do.
        let _ = status.wait_for(|status| status.settled).await;
    }

    /// How many calls are in flight.
    pub fn in_flight(&self) -> usize {
        self.0.usage.in_flight()
    }

    /// Its latest log lines.
    pub fn stderr(&self) -> &StderrLog {
        &self.0.stderr
    }

    /// Connects it if it sleeps, so that its lists are known.
    pub async fn wake(&self) -> Result {
        self.live().await.map(drop)
    }

    /// The failure of requests to it, if its last attempt to connect failed.
    pub fn absence(&self) -> Option<Failure> {
        let status = self.status();
        let error = status.last_error.as_ref();
        error
            .filter(|_| status.is_failing())
            .map(|error| self.unavailable(error))
    }

    /// Has it connected and its lists read, without waiting for that.
    pub fn connect_soon(&self) {
        // If its queue is full, it is about to be connected.
        let _ = self.0.commands.try_send(Command::Refresh);
    }

    /// Connects it anew and lists it.
    pub async fn restart(&self) -> Result {
        self.request_connection(Command::Restart).await.map(drop)
    }

    /// The connection in use; connects if there is none.
    pub(super) async fn live(&self) -> Result<Arc<Live>> {
        match self.0.live.load_full() {
            Some(live) => Ok(live),
            // Boxed, because it is seldom.
            None => Box::pin(self.connected()).await,
        }
    }

    /// The connection that the worker has, or makes.
    pub(super) async fn connected(&self) -> Result<Arc<Live>> {
        self.request_connection(Command::Wake).await
    }

    async fn request_connection(
        &self,
        request: impl FnOnce(ConnectionWaiter) -> Command,
    ) -> Result<Arc<Live>> {
        let (waiter, answered) = oneshot::channel();
        let gone = || {
            let error = format!("{} {}", self.name(), self.why_stopped());
            let failure = Failure::not_run(ErrorCode::ServerUnavailable, error, "Try again.");
            failure.of_server(self.name())
        };
        let sent = self.0.commands.send(request(waiter)).await;
        sent.map_err(|_| gone())?;
        match answered.await {
            Ok(Ok(live)) => Ok(live),
            Ok(Err(error)) => Err(self.unavailable(&error)),
            Err(_) => Err(gone()),
        }
    }

    /// Whether the server takes no request before a person has logged in.
    pub fn is_login_needed(&self) -> bool {
        self.0.is_login_needed()
    }

    /// Why no login can work as things are, where one has failed and one is needed.
    pub fn login_obstacle(&self) -> Option<LoginError> {
        let login = self.0.login.as_ref().filter(|_| self.is_login_needed());
        login?.obstacle()
    }

    /// Whether somebody has logged in to the server.
    pub fn is_logged_in(&self) -> bool {
        let login = self.0.login.as_ref();
        login.is_some_and(|login| login.is_logged_in())
    }

    /// The scopes that calls were refused for want of.
    pub fn missing_scopes(&self) -> Vec<String> {
        match self.0.login_status() {
            LoginStatus::MoreScopes(scopes) => scopes,
            _ => Vec::new(),
        }
    }

    /// Why the server takes no request although nobody has ended its login, if it is so.
    pub fn login_trouble(&self) -> Option<LoginTrouble> {
        self.0.login_trouble()
    }

    /// How long a server may be silent during a call, and how many calls may be in flight.
    pub(in crate::upstream) fn limits(&self) -> (Duration, Option<usize>) {
        let settings = self.0.settings.borrow();
        match settings.servers.get(self.name()) {
            Some(entry) => (entry.call_tool_timeout, entry.max_concurrent_requests),
            None => (Duration::from_mins(2), None),
        }
    }
}

impl UpstreamShared {
    /// Takes the connection away from new calls, which wait for the worker then. Changes nothing, and gives false, while a call is in
    /// flight.
    pub(in crate::upstream) fn take_from_calls(&self) -> bool {
        // A call that took the connection before this line has been counted before that.
        let live = self.live.swap(None);
        let is_unused = self.usage.in_flight() == 0;
        if !is_unused {
            self.live.compare_and_swap(&None::<Arc<Live>>, live);
        }
        is_unused
    }

    /// Whether a person has to log in to the server; fine where it has no login.
    pub(in crate::upstream) fn login_status(&self) -> LoginStatus {
        let login = self.login.as_ref();
        login.map_or(LoginStatus::Fine, |login| login.status().borrow().clone())
    }

    /// Whether the server takes no request before a person has logged in.
    pub(in crate::upstream) fn is_login_needed(&self) -> bool {
        matches!(self.login_status(), LoginStatus::Needed(_))
    }

    /// Why the server takes no request although nobody has ended its login, if it is so.
    pub(in crate::upstream) fn login_trouble(&self) -> Option<LoginTrouble> {
        match self.login_status() {
            LoginStatus::Stuck(trouble) => Some(trouble),
            _ => None,
        }
    }

    /// What must not show when the server repeats it: the secrets of its entry, and of its login.
    pub(in crate::upstream) fn secrets_of(&self, entry: &ServerEntry) -> Secrets {
        let of_login = self.login.as_ref().map(|login| login.secrets());
        Secrets::all([&entry.secrets, &of_login.unwrap_or_default()])
    }
}

/// Counts a call from its first step to its last, so that a server is not put to sleep under it.
pub(in crate::upstream) struct InFlightGuard(Upstream);

impl InFlightGuard {
    pub(in crate::upstream) fn begin(upstream: Upstream) -> Self {
        upstream.0.usage.begin(Instant::now());
        Self(upstream)
    }

    pub(super) fn upstream(&self) -> &Upstream {
        &self.0
    }
}

impl Drop for InFlightGuard {
    fn drop(&mut self) {
        self.0.0.usage.end(Instant::now());
    }
}
