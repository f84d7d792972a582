//! What other rooms hold of one upstream: its name and status, the live connection, and the way to its worker.

use std::{
    sync::{Arc, OnceLock, atomic::AtomicBool},
    time::{Duration, Instant},
};

use arc_swap::{ArcSwap, ArcSwapOption};
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

use super::{
    LogSubscriptions, client_streams::ClientStreams, followed::Followed,
    request_slots::RequestSlots, subscriptions::Subscriptions, unread::UnreadChange,
};
use crate::{
    authorization::{LoginStatus, LoginTrouble, ServerLogin},
    catalog::ServerCatalog,
    config::{ProtocolEra, RemoteKind, ServerEntry, SessionScope, Settings, Transport, duration},
    failure::{ErrorCode, Failure, Result},
    gate::Gate,
    link::{Authorization, Link},
    process::StderrLog,
    telemetry::log_throttle::LogThrottle,
    text::{Secrets, ServerName},
    upstream::{
        ClientReach, ConnectError, InstanceScope, State, habits::Habits, state::GIVE_UP_AFTER,
        usage::Usage, wanted::Identity,
    },
    wire::{LogLevel, RequestNumbers, bridge::Sender},
};

/// Limit: requests to a worker that wait. It answers them as fast as it connects.
pub(in crate::upstream) const COMMANDS: usize = 1024;

/// One upstream. Cheap to clone.
#[derive(Clone)]
pub struct Upstream(pub(in crate::upstream) Arc<UpstreamShared>);

pub(in crate::upstream) struct UpstreamShared {
    pub(in crate::upstream) name: ServerName,
    /// The entry that it runs by.
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
    /// What clients follow over whatever connection they have to this server.
    pub(in crate::upstream) followed: Followed,
    pub(in crate::upstream) stderr: StderrLog,
    pub(in crate::upstream) client_streams: ClientStreams,
    pub(in crate::upstream) numbers: RequestNumbers,
    /// The login of a remote server, which all its connections share.
    pub(in crate::upstream) login: Option<Arc<ServerLogin>>,
    /// Who shares a connection to this server.
    pub(in crate::upstream) scope: SessionScope,
    /// What the server was seen to do, on whatever connection.
    pub(in crate::upstream) habits: Arc<Habits>,
    /// Questions of the server that were refused.
    pub(in crate::upstream) refusals: LogThrottle,
    /// What clients want to hear of its log.
    pub(in crate::upstream) log_subscriptions: LogSubscriptions,
    /// Whether this instance is opened with a handshake, though the server needs none.
    pub(in crate::upstream) shakes_hands: bool,
    /// For whom this instance runs; absent in the one that everybody can use, and that says what the server offers.
    pub(in crate::upstream) instance_scope: Option<InstanceScope>,
    /// The way from an instance to that one.
    pub(in crate::upstream) base: Option<mpsc::Sender<Command>>,
    /// Whether its connection was ended to be opened again, and no other is open yet.
    pub(in crate::upstream) is_restarting: AtomicBool,
    /// Cancelled when the server is not wanted any more as it is: its entry changed or went, or the daemon ends.
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
    /// A call found the lists of this connection out of date; the answer comes when they have been read again.
    Relist(u64, oneshot::Sender<()>),
    /// Answers when the lists of this connection are read, if a change of them was announced that long ago.
    ReadChanges(u64, oneshot::Sender<()>),
    /// An instance of the server lists something else than what is known.
    Refresh,
    /// Something was found out about the server that later starts should know.
    NoteHabits,
    /// A call over this connection wants more log lines than the server's level lets through; answers when the level is set.
    SetLevel(u64, oneshot::Sender<()>),
}

/// A connection that is ready for calls.
pub(in crate::upstream) struct Live {
    pub(in crate::upstream) incarnation: u64,
    pub(in crate::upstream) link: Link,
    /// The way to the client that was the first to call here, if there is one outside of its calls.
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

/// Who shares a connection to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharing {
    /// All clients.
    All,
    /// Those that cannot answer what it asks and want no log lines; each of the others has its own.
    Unable,
    /// Nobody.
    Nobody,
    /// Clients with the same roots.
    Workspace,
}

/// What is known of connections to a server in the other era than that of the one that all share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OtherEra {
    /// There are none: all clients are served over the shared one.
    None,
    /// Nobody has tried.
    Untried,
    /// The server gives them sessions.
    Open,
}

/// Where an upstream stands.
#[derive(Debug, Clone, Default)]
pub struct Status {
    /// Its state.
    pub state: State,
    /// Whether its worker runs, and has begun to connect it if that is to be.
    pub(in crate::upstream) begun: bool,
    /// Whether an attempt has come to an end, well or not.
    pub settled: bool,
    /// Why the last attempt failed or the last connection ended; cleared by the next one that is ready.
    pub last_error: Option<ConnectError>,
    /// When it is tried again by itself.
    pub(in crate::upstream) next_attempt: Option<Instant>,
    /// Failed attempts since the last record of one.
    pub unrecorded_failures: u32,
    /// How long it has at most, where it is being started for the first time and may have to download what it runs.
    pub first_start: Option<Duration>,
}

impl Status {
    /// Whether it is not connected because that came to nothing; also while it is tried again.
    pub fn is_failing(&self) -> bool {
        matches!(
            self.state,
            State::Waiting { .. }
                | State::Failed { .. }
                | State::Authenticating { .. }
                | State::Connecting { failures: 1.. }
        )
    }

    /// Whether its first attempt is under way, or is not begun yet where there is one to come.
    pub fn is_beginning(&self) -> bool {
        let is_connecting = matches!(self.state, State::Connecting { .. });
        !self.begun || (is_connecting && !self.settled)
    }

    /// Whether the last attempt came to nothing and none is under way or to come by itself.
    pub fn has_failed(&self) -> bool {
        matches!(self.state, State::Failed { .. })
    }

    /// In how many whole seconds it is tried again by itself; nothing if it is not.
    pub fn next_attempt_in(&self) -> Option<Duration> {
        let wait = self.next_attempt?.saturating_duration_since(Instant::now());
        let begun = u64::from(wait.subsec_nanos() > 0);
        Some(Duration::from_secs(wait.as_secs() + begun))
    }

    /// Why it is not available, in the words of [`ConnectError::whole`] or [`ConnectError::outside`], and when it is tried again.
    pub fn explained(&self, why: &str) -> String {
        self.explained_with(why, |wait| format!("again in {}", duration::in_words(wait)))
    }

    /// The same without a time that passes: it stays as it is until something happens.
    pub fn explained_whenever(&self, why: &str, transport: &Transport) -> String {
        self.explained_with(why, |_| match transport {
            Transport::Stdio(_) => format!("mcpproxy tries up to {GIVE_UP_AFTER} times"),
            Transport::Remote(_) => "mcpproxy tries again".to_owned(),
        })
    }

    fn explained_with(&self, why: &str, waiting: impl FnOnce(Duration) -> String) -> String {
        let next = match (self.next_attempt_in(), self.state) {
            (Some(wait), _) => waiting(wait),
            (None, State::Failed { .. }) => "the next call tries again".to_owned(),
            (None, State::Connecting { failures: 1.. }) => "trying again".to_owned(),
            (None, _) => return why.to_owned(),
        };
        match self.state.failures() {
            // A connection that had proved healthy was lost: no attempt has failed yet.
            0 => format!("{why}; {next}"),
            1 => format!("{why}; tried once; {next}"),
            GIVE_UP_AFTER if self.has_failed() => {
                format!("{why}; gave up after {GIVE_UP_AFTER} tries; {next}")
            }
            failures => format!("{why}; tried {failures} times; {next}"),
        }
    }
}

impl Upstream {
    /// The server's name.
    pub fn name(&self) -> &ServerName {
        &self.0.name
    }

    /// Whether it runs by this entry: one that was changed otherwise is only about to be replaced.
    pub fn runs_by(&self, entry: &ServerEntry) -> bool {
        self.0.made_for == Identity::of(entry)
    }

    /// A number for the next request.
    pub fn next_number(&self) -> u64 {
        self.0.numbers.take()
    }

    /// Who shares a connection to the server, as things stand.
    pub fn sharing(&self) -> Sharing {
        match self.0.scope {
            // Over HTTP without a handshake all that a server asks and logs comes with a request.
            SessionScope::Auto if self.0.is_divided() && !self.0.habits.is_stateless() => {
                Sharing::Unable
            }
            SessionScope::Auto | SessionScope::Shared => Sharing::All,
            SessionScope::Client => Sharing::Nobody,
            SessionScope::Workspace => Sharing::Workspace,
        }
    }

    /// The same for clients that shake hands, where these have connections of their era, by [`Upstream::other_era`].
    pub fn legacy_sharing(&self) -> Sharing {
        match self.0.scope {
            SessionScope::Auto if self.0.is_divided() => Sharing::Unable,
            _ => self.sharing(),
        }
    }

    /// What is known of connections for clients that shake hands, where everybody else's has no handshake.
    pub fn other_era(&self) -> OtherEra {
        let settings = self.0.settings.borrow();
        let entry = settings.servers.get(self.name());
        let may_have = entry.is_some_and(|entry| {
            entry.protocol_era == ProtocolEra::Auto
                && entry.session_scope != SessionScope::Workspace
                && matches!(&entry.transport, Transport::Remote(remote) if remote.kind != RemoteKind::Sse)
        });
        match self.0.habits.has_both_eras() {
            _ if !may_have || !self.0.habits.is_stateless() => OtherEra::None,
            None => OtherEra::Untried,
            Some(false) => OtherEra::None,
            Some(true) => OtherEra::Open,
        }
    }

    /// Whether one client has it to itself, so that questions can go to it at any time.
    pub fn asks_its_client(&self) -> bool {
        self.0.own_client().is_some()
    }

    /// Whether it does not run any more, by this entry or for this client: another may stand in its place.
    pub fn is_stopped(&self) -> bool {
        self.0.stop.is_cancelled()
    }

    /// Where it stands.
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

    /// Why nothing is known of it, if its last attempt to connect failed.
    pub fn absence(&self) -> Option<Failure> {
        let status = self.status();
        let error = status.last_error.as_ref();
        error
            .filter(|_| status.is_failing())
            .map(|error| self.unavailable(error))
    }

    /// Has it connected and listed, without waiting for that.
    pub fn connect_soon(&self) {
        // If its queue is full, it is about to be connected.
        let _ = self.0.commands.try_send(Command::Refresh);
    }

    /// Connects it anew and lists it.
    pub async fn restart(&self) -> Result {
        let (answer, answered) = oneshot::channel();
        self.ask(Command::Restart(answer), answered).await.map(drop)
    }

    pub(super) async fn live(&self) -> Result<Arc<Live>> {
        match self.0.live.load_full() {
            Some(live) => Ok(live),
            // Boxed, because it is seldom.
            None => Box::pin(self.connected()).await,
        }
    }

    pub(super) async fn connected(&self) -> Result<Arc<Live>> {
        let (answer, answered) = oneshot::channel();
        self.ask(Command::Wake(answer), answered).await
    }

    async fn ask(
        &self,
        command: Command,
        answered: oneshot::Receiver<Result<Arc<Live>, ConnectError>>,
    ) -> Result<Arc<Live>> {
        let gone = || {
            let error = format!("{} {}", self.name(), self.why_stopped());
            let hint = "Nothing ran. Try again.";
            Failure::new(ErrorCode::ServerUnavailable, error, hint).of_server(self.name())
        };
        self.0.commands.send(command).await.map_err(|_| gone())?;
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

    /// Whether somebody has logged in to the server.
    pub fn is_logged_in(&self) -> bool {
        self.0
            .login
            .as_ref()
            .is_some_and(|login| login.is_logged_in())
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

    /// How long a call may go without a sign, and how many may be in flight.
    pub(in crate::upstream) fn limits(&self) -> (Duration, Option<usize>) {
        let settings = self.0.settings.borrow();
        match settings.servers.get(self.name()) {
            Some(entry) => (entry.call_tool_timeout, entry.max_concurrent_requests),
            None => (Duration::from_mins(2), None),
        }
    }
}

impl UpstreamShared {
    /// Has calls that come from now on wait for the worker; not while one is in flight.
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
