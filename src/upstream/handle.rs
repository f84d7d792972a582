//! What the rest of the house holds of one upstream: its status, and the way to send it a request.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use arc_swap::{ArcSwap, ArcSwapOption};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot, watch};

use super::{
    connect::ConnectError,
    link::{Exchange, Inbound, Link, LinkError},
    process::StderrLog,
    questions::own_answer,
    state::State,
    usage::Usage,
};
use crate::{
    catalog::ServerCatalog,
    config::{Root, ServerEntry, Settings, duration},
    error_code::{ErrorCode, Failure},
    gate::Admitted,
    names::ServerName,
    wire::{Id, Outcome, Raw, method},
};

/// Limit: how long one call may take in all, however much progress it reports.
const TOTAL: Duration = Duration::from_mins(30);

/// Limit: requests to a worker that wait. It answers them as fast as it connects.
pub(super) const COMMANDS: usize = 1024;

/// One upstream. Cheap to clone.
#[derive(Clone)]
pub struct Upstream(pub(super) Arc<Shared>);

pub(super) struct Shared {
    pub(super) name: ServerName,
    pub(super) settings: watch::Receiver<Arc<Settings>>,
    pub(super) commands: mpsc::Sender<Command>,
    pub(super) status: watch::Sender<Status>,
    pub(super) live: ArcSwapOption<Live>,
    pub(super) usage: Usage,
    pub(super) slots: Slots,
    pub(super) stderr: StderrLog,
}

/// What the worker is asked.
pub(super) enum Command {
    /// Connect if need be; the answer comes when it is connected or the attempt failed.
    Wake(oneshot::Sender<Result<Arc<Live>, ConnectError>>),
    /// Connect anew, even if it is connected.
    Restart(oneshot::Sender<Result<Arc<Live>, ConnectError>>),
    /// Calls found this connection dead.
    Suspect(u64),
}

/// A connection that is ready for calls.
pub(super) struct Live {
    pub(super) incarnation: u64,
    pub(super) link: Link,
    pub(super) catalog: ArcSwap<ServerCatalog>,
}

/// Where an upstream stands.
#[derive(Debug, Clone)]
pub struct Status {
    /// Its state.
    pub state: State,
    /// Why the last attempt failed or the last connection ended; cleared by the next one that is ready.
    pub last_error: Option<ConnectError>,
}

/// `max_concurrent_requests`, if the entry has it.
pub(super) struct Slots(Option<Arc<Semaphore>>);

impl Slots {
    pub(super) fn new(entry: &ServerEntry) -> Self {
        Self(
            entry
                .max_concurrent_requests
                .map(|n| Arc::new(Semaphore::new(n))),
        )
    }
}

/// A request to be sent: its params are already the upstream's.
pub struct Outgoing<'a> {
    /// Its number; see [`Id::ours`]. Also the progress token, where the params have one.
    pub number: u64,
    /// The method.
    pub method: &'a str,
    /// The params.
    pub params: Option<Raw>,
}

impl Upstream {
    /// The server's name.
    pub fn name(&self) -> &ServerName {
        &self.0.name
    }

    /// Where it stands.
    pub fn status(&self) -> Status {
        self.0.status.borrow().clone()
    }

    /// Returns when it is neither asleep nor connecting: when the first attempt has come to an end.
    pub async fn settled(&self) {
        let mut status = self.0.status.subscribe();
        let settled =
            |status: &Status| !matches!(status.state, State::Asleep | State::Connecting { .. });
        // The sender lives as long as we do.
        let _ = status.wait_for(settled).await;
    }

    /// Its latest log lines.
    pub fn stderr(&self) -> &StderrLog {
        &self.0.stderr
    }

    /// Connects it if it sleeps, so that its lists are known.
    pub async fn wake(&self) -> Result<(), Failure> {
        self.live(Command::Wake).await.map(drop)
    }

    /// Connects it anew and lists it.
    pub async fn restart(&self) -> Result<(), Failure> {
        let (answer, answered) = oneshot::channel();
        self.ask(Command::Restart(answer), answered).await.map(drop)
    }

    /// Sends a request. An upstream that sleeps is woken first; the wait is part of the call.
    ///
    /// A request that certainly was not delivered is sent once more over a new connection.
    pub async fn call(
        &self,
        admitted: &Admitted,
        outgoing: Outgoing<'_>,
    ) -> Result<ActiveCall, Failure> {
        let counted = Counted::begin(self.clone());
        let timeout = self.timeout();
        let permit = self.slot(timeout).await?;
        let mut live = self.live(Command::Wake).await?;
        for first in [true, false] {
            self.check(admitted, &live)?;
            match live
                .link
                .call(outgoing.number, outgoing.method, outgoing.params.as_ref())
                .await
            {
                Ok(exchange) => {
                    let now = Instant::now();
                    return Ok(ActiveCall {
                        exchange,
                        link: live.link.clone(),
                        counted,
                        _permit: permit,
                        timeout,
                        deadline: now + timeout,
                        end: now + TOTAL.max(timeout),
                    });
                }
                Err(LinkError::NotDelivered(_)) if first => {
                    // The worker is gone only while shutting down; then the next line says so.
                    let _ = self
                        .0
                        .commands
                        .send(Command::Suspect(live.incarnation))
                        .await;
                    live = self.live(Command::Wake).await?;
                }
                Err(error) => return Err(self.failure(&error)),
            }
        }
        Err(self.failure(&LinkError::NotDelivered("it was refused twice".to_owned())))
    }

    /// Sends a notification to a server that is awake; a sleeping one has nothing to be notified of.
    pub async fn notify(&self, method: &str, params: Option<&Raw>) -> Result<(), Failure> {
        let live = self.0.live.load_full();
        match live {
            Some(live) => live
                .link
                .notify(method, params)
                .await
                .map_err(|error| self.failure(&error)),
            None => Ok(()),
        }
    }

    /// The definition that was admitted must be the one that the connected server lists: a server that was asleep may have woken
    /// with another.
    fn check(&self, admitted: &Admitted, live: &Live) -> Result<(), Failure> {
        let (Some(tool), Some(fingerprint)) = (admitted.tool(), admitted.fingerprint()) else {
            return Ok(());
        };
        let catalog = live.catalog.load();
        if catalog
            .tool(tool)
            .is_some_and(|listed| listed.fingerprint == fingerprint)
        {
            return Ok(());
        }
        let error = format!(
            "the tool {tool:?} of server {:?} is not the one that was asked for: its definition changed",
            self.name()
        );
        let hint = "Look the tool up again and call it with its new definition.";
        Err(Failure::new(ErrorCode::ToolChanged, error, hint)
            .of_server(self.name())
            .of_tool(tool))
    }

    async fn live(
        &self,
        command: impl FnOnce(oneshot::Sender<Result<Arc<Live>, ConnectError>>) -> Command,
    ) -> Result<Arc<Live>, Failure> {
        if let Some(live) = self.0.live.load_full() {
            return Ok(live);
        }
        let (answer, answered) = oneshot::channel();
        self.ask(command(answer), answered).await
    }

    async fn ask(
        &self,
        command: Command,
        answered: oneshot::Receiver<Result<Arc<Live>, ConnectError>>,
    ) -> Result<Arc<Live>, Failure> {
        let gone = || {
            let error = format!("the server {:?} was stopped or replaced", self.name());
            Failure::new(ErrorCode::ServerUnavailable, error, "Try again.").of_server(self.name())
        };
        self.0.commands.send(command).await.map_err(|_| gone())?;
        match answered.await {
            Ok(Ok(live)) => Ok(live),
            Ok(Err(error)) => {
                let text = format!(
                    "the server {:?} is not available: {}",
                    self.name(),
                    error.outside
                );
                let hint = format!(
                    "Use something else or try again later; the user can see the cause with `mcpproxy upstream list` and \
                     `mcpproxy upstream logs {}`.",
                    self.name()
                );
                Err(Failure::new(ErrorCode::ServerUnavailable, text, hint).of_server(self.name()))
            }
            Err(_) => Err(gone()),
        }
    }

    /// Waits for a free place where the settings bound them.
    async fn slot(&self, patience: Duration) -> Result<Option<OwnedSemaphorePermit>, Failure> {
        let Some(semaphore) = &self.0.slots.0 else {
            return Ok(None);
        };
        if let Ok(permit) = tokio::time::timeout(patience, semaphore.clone().acquire_owned()).await
        {
            return Ok(permit.ok());
        }
        let error = format!(
            "the server {:?} is busy with as many requests as it may have",
            self.name()
        );
        Err(Failure::new(ErrorCode::Overloaded, error, "Try again later.").of_server(self.name()))
    }

    fn roots(&self) -> Vec<Root> {
        let settings = self.0.settings.borrow();
        settings
            .servers
            .get(self.name())
            .map(|entry| entry.roots.clone())
            .unwrap_or_default()
    }

    fn timeout(&self) -> Duration {
        let settings = self.0.settings.borrow();
        settings
            .servers
            .get(self.name())
            .map_or(Duration::from_mins(2), |entry| entry.call_tool_timeout)
    }

    fn failure(&self, error: &LinkError) -> Failure {
        let name = self.name();
        let (code, text, hint) = match error {
            LinkError::NotDelivered(_) => (
                ErrorCode::ServerUnavailable,
                format!("the request could not be delivered to server {name:?}"),
                "It was not processed; try again later.".to_owned(),
            ),
            LinkError::Lost(why) => (
                ErrorCode::ConnectionLost,
                format!("the connection to server {name:?} was lost during the call: {why}"),
                "Whether it was processed is unknown; the next call connects again.".to_owned(),
            ),
            LinkError::Broken(why) => (
                ErrorCode::BadUpstreamAnswer,
                format!("the answer of server {name:?} was unusable: {why}"),
                "The call may have been processed; try with a smaller request.".to_owned(),
            ),
            LinkError::Status {
                status: status @ (401 | 403),
                ..
            } => (
                ErrorCode::ServerUnavailable,
                format!(
                    "the server {name:?} refused with HTTP {status}: it wants other credentials"
                ),
                "Ask the user to check the server's headers in the configuration.".to_owned(),
            ),
            LinkError::Status { status, .. } => (
                ErrorCode::BadUpstreamAnswer,
                format!("the server {name:?} answered HTTP {status}"),
                "Try again later.".to_owned(),
            ),
        };
        Failure::new(code, text, hint).of_server(name)
    }
}

/// Counts a call from its first step to its last, so that a server is not put to sleep under it.
struct Counted(Upstream);

impl Counted {
    fn begin(upstream: Upstream) -> Self {
        upstream.0.usage.begin(Instant::now());
        Self(upstream)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.0.usage.end(Instant::now());
    }
}

/// A request in flight. Dropping it before the answer cancels it upstream.
pub struct ActiveCall {
    exchange: Exchange,
    link: Link,
    counted: Counted,
    _permit: Option<OwnedSemaphorePermit>,
    timeout: Duration,
    deadline: Instant,
    end: Instant,
}

impl ActiveCall {
    /// The next message; the answer is the last. The clock restarts at each progress notification. Questions that need no client
    /// are answered on the way.
    pub async fn next(&mut self) -> Result<Inbound, Failure> {
        loop {
            let inbound = self.next_of_all().await?;
            let Inbound::Question(question) = &inbound else {
                return Ok(inbound);
            };
            let Some(outcome) = own_answer(question, &self.counted.0.roots()) else {
                return Ok(inbound);
            };
            let id = question.id.clone();
            self.answer(&id, &outcome).await?;
        }
    }

    async fn next_of_all(&mut self) -> Result<Inbound, Failure> {
        let deadline = self.deadline.min(self.end).into();
        let upstream = &self.counted.0;
        match tokio::time::timeout_at(deadline, self.exchange.next()).await {
            Ok(Ok(inbound)) => {
                if matches!(&inbound, Inbound::Notice(notice) if &*notice.method == method::PROGRESS)
                {
                    self.deadline = Instant::now() + self.timeout;
                }
                Ok(inbound)
            }
            Ok(Err(error)) => Err(upstream.failure(&error)),
            Err(_) => {
                let (name, time) = (upstream.name(), duration::show(self.timeout));
                let error = format!("the server {name:?} did not answer within {time}");
                let hint = "It was cancelled. The user can raise call_tool_timeout of the server.";
                Err(Failure::new(ErrorCode::TimedOut, error, hint).of_server(name))
            }
        }
    }

    /// Answers a question that came as part of this call.
    pub async fn answer(&mut self, id: &Id, outcome: &Outcome) -> Result<(), Failure> {
        self.link
            .answer(id, outcome)
            .await
            .map_err(|error| self.counted.0.failure(&error))
    }
}
