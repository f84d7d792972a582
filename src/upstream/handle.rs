//! What the rest of the house holds of one upstream: its status, and the way to send it a request.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use arc_swap::{ArcSwap, ArcSwapOption};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot, watch};

use super::{
    active_call::{ActiveCall, AskedOnStream, Counted, overdue},
    client_streams::ClientStreams,
    connect::ConnectError,
    state::State,
    subscriptions::{NotSubscribed, Subscription, Subscriptions, Tell},
    tenant::Tenant,
    usage::Usage,
};
use crate::{
    call_context::ClientSender,
    catalog::ServerCatalog,
    config::{SessionScope, Settings},
    error_code::{ErrorCode, Failure},
    gate::{Admitted, AdmittedMessage},
    link::{Behalf, Link, LinkError},
    names::ServerName,
    process::StderrLog,
    wire::{
        RequestNumbers, Thing,
        bridge::{self, Sender},
    },
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
    pub(super) subscriptions: Subscriptions,
    pub(super) stderr: StderrLog,
    pub(super) client_streams: ClientStreams,
    pub(super) numbers: RequestNumbers,
    /// Who shares a connection to this server.
    pub(super) scope: SessionScope,
    /// For whom this instance runs; absent in the one that everybody can use, and that says what the server offers.
    pub(super) tenant: Option<Tenant>,
    /// The way from an instance to that one.
    pub(super) base: Option<mpsc::Sender<Command>>,
}

/// What the worker is asked.
pub(super) enum Command {
    /// Connect if need be; the answer comes when it is connected or the attempt failed.
    Wake(oneshot::Sender<Result<Arc<Live>, ConnectError>>),
    /// Connect anew, even if it is connected.
    Restart(oneshot::Sender<Result<Arc<Live>, ConnectError>>),
    /// Calls found this connection dead.
    Suspect(u64),
    /// A call found the lists of this connection out of date; the answer comes when they have been read again.
    Relist(u64, oneshot::Sender<()>),
    /// An instance of the server lists something else than what is known.
    Refresh,
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
    /// Whether an attempt has come to an end, well or not.
    pub settled: bool,
    /// Why the last attempt failed or the last connection ended; cleared by the next one that is ready.
    pub last_error: Option<ConnectError>,
}

/// The places for requests, where the settings bound them. Made anew when the bound changes; requests in flight keep theirs.
#[derive(Default)]
pub(super) struct Slots(ArcSwapOption<(usize, Arc<Semaphore>)>);

impl Slots {
    fn bounded_by(&self, bound: Option<usize>) -> Option<Arc<Semaphore>> {
        let bound = bound?;
        if let Some(slots) = &*self.0.load()
            && slots.0 == bound
        {
            return Some(slots.1.clone());
        }
        let made = Arc::new((bound, Arc::new(Semaphore::new(bound))));
        // Whoever else makes them now makes the same: the first counts.
        let before = self.0.rcu(|current| match current {
            Some(slots) if slots.0 == bound => Some(slots.clone()),
            _ => Some(made.clone()),
        });
        Some(match before {
            Some(slots) if slots.0 == bound => slots.1.clone(),
            _ => made.1.clone(),
        })
    }
}

/// A request to be sent.
pub struct Outgoing<'a> {
    /// Its number, from [`Upstream::next_number`]; see [`crate::wire::Id::ours`]. Also the progress token, where the params have one.
    pub number: u64,
    /// What is sent, but for what differs between the eras.
    pub message: &'a AdmittedMessage<'a>,
    /// What the client is.
    pub sender: Sender<'a>,
    /// On whose behalf.
    pub behalf: Behalf,
    /// The way back to the client.
    pub stream: &'a ClientSender,
}

impl Upstream {
    /// The server's name.
    pub fn name(&self) -> &ServerName {
        &self.0.name
    }

    /// A number for the next request.
    pub fn next_number(&self) -> u64 {
        self.0.numbers.take()
    }

    /// Who shares a connection to the server.
    pub fn scope(&self) -> SessionScope {
        self.0.scope
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

    /// Its latest log lines.
    pub fn stderr(&self) -> &StderrLog {
        &self.0.stderr
    }

    /// Connects it if it sleeps, so that its lists are known.
    pub async fn wake(&self) -> Result<(), Failure> {
        self.live().await.map(drop)
    }

    /// Connects it anew and lists it.
    pub async fn restart(&self) -> Result<(), Failure> {
        let (answer, answered) = oneshot::channel();
        self.ask(Command::Restart(answer), answered).await.map(drop)
    }

    /// Sends a request. An upstream that sleeps is woken first; the wait is part of the call.
    ///
    /// A request that certainly was not delivered is sent once more over a new connection.
    pub async fn call(&self, outgoing: Outgoing<'_>) -> Result<ActiveCall, Failure> {
        let message = outgoing.message;
        let admitted = message.admitted();
        self.check_recipient(admitted)?;
        let counted = Counted::begin(self.clone());
        let (timeout, bound) = self.limits();
        let permit = self.slot(bound, timeout).await?;
        let asks = self.0.asks_its_client();
        let asked = asks.then(|| AskedOnStream::begin(self, outgoing.number, outgoing.stream));
        let mut live = self.live().await?;
        for first in [true, false] {
            self.check(admitted, &live)?;
            let now = Instant::now();
            let catalog = live.catalog.load_full();
            let revision = catalog.listing.revision;
            let tool = admitted.tool().and_then(|tool| catalog.tool(tool));
            let mirrored = tool.map(|tool| &*tool.header_params).unwrap_or_default();
            let params = bridge::params_for(revision, &outgoing.sender, message.params());
            let behalf = Some(outgoing.behalf.clone());
            let (number, method) = (outgoing.number, message.method());
            let sent = live
                .link
                .call(number, method, params.as_ref(), mirrored, behalf);
            // Over HTTP nothing may come back before the answer, and that may never come.
            let Ok(sent) = tokio::time::timeout(timeout, sent).await else {
                return Err(overdue(self.name(), timeout));
            };
            match sent {
                Ok(exchange) => {
                    return Ok(ActiveCall {
                        exchange,
                        revision,
                        link: live.link.clone(),
                        counted,
                        _asked: asked,
                        held: None,
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
                    // Asked of the worker, not looked up: what is published may still be what has just failed.
                    live = self.connected().await?;
                }
                // Nothing was processed; what the server wants in headers stands in its definitions.
                Err(LinkError::HeaderMismatch(why)) if first => {
                    tracing::debug!(server = %self.name(), why, "the server is listed again: its definitions may have changed");
                    self.relisted(live.incarnation, timeout).await;
                }
                Err(error) => return Err(self.failure(&error)),
            }
        }
        Err(self.failure(&LinkError::NotDelivered("it was refused twice".to_owned())))
    }

    /// Sends a notification to a server that is awake; a sleeping one has nothing to be notified of.
    pub async fn notify(&self, message: &AdmittedMessage<'_>) -> Result<(), Failure> {
        self.check_recipient(message.admitted())?;
        match self.0.live.load_full() {
            Some(live) => {
                let sent = live.link.notify(message.method(), message.params()).await;
                sent.map_err(|error| self.failure(&error))
            }
            None => Ok(()),
        }
    }

    /// Has `tell` called at each update of the admitted resource until the subscription is dropped. An upstream that sleeps is woken,
    /// and sleeps no more.
    pub async fn subscribe(
        &self,
        admitted: &Admitted,
        tell: Tell,
    ) -> Result<Subscription, NotSubscribed> {
        self.check_recipient(admitted)
            .map_err(NotSubscribed::Failed)?;
        let Thing::Resource(uri) = admitted.target().thing() else {
            return Err(NotSubscribed::Failed(misdirected(self.name())));
        };
        // Until it is in the table it has to be counted elsewhere.
        let _counted = Counted::begin(self.clone());
        let (patience, _) = self.limits();
        let of_us = |failure: Failure| NotSubscribed::Failed(failure.of_server(self.name()));
        let subscription = self.0.subscriptions.add(uri, tell).map_err(of_us)?;
        self.live().await.map_err(NotSubscribed::Failed)?;
        match subscription.settled(patience).await {
            Ok(()) => Ok(subscription),
            Err(NotSubscribed::Failed(failure)) => Err(of_us(failure)),
            Err(refused) => Err(refused),
        }
    }

    /// What was admitted to one server reaches no other.
    fn check_recipient(&self, admitted: &Admitted) -> Result<(), Failure> {
        if admitted.server() == self.name() {
            Ok(())
        } else {
            Err(misdirected(self.name()))
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

    async fn live(&self) -> Result<Arc<Live>, Failure> {
        match self.0.live.load_full() {
            Some(live) => Ok(live),
            None => self.connected().await,
        }
    }

    async fn connected(&self) -> Result<Arc<Live>, Failure> {
        let (answer, answered) = oneshot::channel();
        self.ask(Command::Wake(answer), answered).await
    }

    /// Has the lists of a connection read again, and waits for that.
    async fn relisted(&self, incarnation: u64, patience: Duration) {
        let (done, listed) = oneshot::channel();
        let command = Command::Relist(incarnation, done);
        if self.0.commands.send(command).await.is_ok() {
            // Whatever comes of it, what is known now counts.
            let _ = tokio::time::timeout(patience, listed).await;
        }
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
    async fn slot(
        &self,
        bound: Option<usize>,
        patience: Duration,
    ) -> Result<Option<OwnedSemaphorePermit>, Failure> {
        let Some(semaphore) = self.0.slots.bounded_by(bound) else {
            return Ok(None);
        };
        if let Ok(permit) = tokio::time::timeout(patience, semaphore.acquire_owned()).await {
            return Ok(permit.ok());
        }
        let error = format!(
            "the server {:?} is busy with as many requests as it may have",
            self.name()
        );
        Err(Failure::new(ErrorCode::Overloaded, error, "Try again later.").of_server(self.name()))
    }

    /// How long a call may go without a sign, and how many may be in flight.
    fn limits(&self) -> (Duration, Option<usize>) {
        let settings = self.0.settings.borrow();
        match settings.servers.get(self.name()) {
            Some(entry) => (entry.call_tool_timeout, entry.max_concurrent_requests),
            None => (Duration::from_mins(2), None),
        }
    }

    pub(super) fn failure(&self, error: &LinkError) -> Failure {
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
            LinkError::HeaderMismatch(_) => (
                ErrorCode::BadUpstreamAnswer,
                format!(
                    "the server {name:?} finds that headers and body of the request do not match"
                ),
                "Look the tool up again; its definition may have changed.".to_owned(),
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

/// A fault of ours: a message for something else than what was admitted.
fn misdirected(server: &ServerName) -> Failure {
    let error = format!("the server {server:?} was to be sent what was not admitted to it");
    let hint = "This is a mistake in mcpproxy; report it.";
    Failure::new(ErrorCode::Internal, error, hint).of_server(server)
}
