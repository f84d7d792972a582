//! Sends what was admitted to one upstream: requests, notifications and subscriptions.

use std::{
    pin::pin,
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::sync::oneshot;

use super::{
    ActiveCall, LogSubscription, LogTerm, NotSubscribed, Notifier, Subscription, Upstream,
    call_clock::CallClock,
    call_guards::{InFlightGuard, QuestionStream},
    handle::{Command, Live},
    own_answer::OwnAnswer,
    request_slots::{NoSlot, RequestSlot},
    topic::NewsTopic,
};
use crate::{
    access::ClientSeat,
    activity::{CallCourse, CallStage},
    call_context::ClientSender,
    config::SessionScope,
    failure::{ErrorCode, Failure, Result},
    gate::{Admitted, AdmittedMessage},
    link::{ClientKey, Entered, LinkError, Maker},
    text::ServerName,
    trust::approvals::ThingKind,
    upstream::ClientReach,
    wire::{
        LogLevel, RpcError,
        bridge::{self, Sender},
        header_params, method,
    },
};

/// How long a call waits for its server to take the log level that the call wants.
const LEVEL_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a list waits for what its server announced to be read. Later it is told as another change.
const ANNOUNCED: Duration = Duration::from_secs(1);

/// How long a subscription waits for the other connections of its caller at most: a server that has agreed on one does on all.
const OTHERS: Duration = Duration::from_secs(2);

/// A request to be sent.
pub struct Outgoing<'a> {
    /// Its number, from [`Upstream::next_number`]; see [`crate::wire::Id::ours`]. Also the progress token, where the params have one.
    pub number: u64,
    /// What is sent, but for what differs between the eras.
    pub message: &'a AdmittedMessage<'a>,
    /// What the client is.
    pub sender: Sender<'a>,
    /// The client that it is sent for.
    pub client: ClientKey,
    /// Makes the way to that client outside of its calls, if there is one.
    pub reach: &'a (dyn Fn() -> Option<ClientReach> + Sync),
    /// The client named the log lines that it wants.
    pub wants_lines: bool,
    /// The way back to the client.
    pub stream: &'a ClientSender,
    /// When it is given up, however much progress it reports; but not before the server had the time for one answer.
    pub deadline: Instant,
    /// Hears when it is sent.
    pub course: &'a CallCourse,
}

/// Why a request was not sent, or is known not to have been processed.
pub enum NotSent {
    /// From now on its client has another connection.
    Elsewhere,
    /// The server was stopped or replaced meanwhile.
    Stopped(Failure),
    /// The request itself is wrong.
    Wrong(RpcError),
    /// It failed.
    Failed(Failure),
}

impl From<Failure> for NotSent {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl Upstream {
    /// Sends a request. An upstream that sleeps is woken first; the wait is part of the call.
    ///
    /// A request that certainly was not delivered is sent once more over a new connection.
    pub async fn call(&self, outgoing: &Outgoing<'_>) -> Result<ActiveCall, NotSent> {
        let message = outgoing.message;
        let admitted = message.admitted();
        self.check_recipient(admitted)?;
        let in_flight = InFlightGuard::begin(self.clone());
        let (timeout, bound) = self.limits();
        let question_stream = self
            .asks_its_client()
            .then(|| QuestionStream::begin(self, outgoing.number, outgoing.stream));
        let stopped = |failure| self.stopped(failure);
        let mut live = self.live().await.map_err(stopped)?;
        // Waking has a time of its own; from here on the call's runs.
        let mut clock = CallClock::new(Instant::now(), timeout, outgoing.deadline);
        let mut slot = match bound {
            Some(bound) => {
                // Boxed, like all that few calls wait for: each call would be as large.
                let slot = Box::pin(self.slot(bound, &outgoing.client, &clock)).await?;
                let again = Box::pin(self.live_again(&mut clock));
                live = again.await.map_err(stopped)?;
                Some(slot)
            }
            None => None,
        };
        for maker in [Maker::Client, Maker::ClientAgain] {
            let is_first = maker == Maker::Client;
            // Its client may know already what this connection is about to take in.
            let is_ahead = live.unread.is_any() && self.check_definition(admitted, &live).is_err();
            if live.unread.is_overdue() || is_ahead {
                clock.hold(Instant::now());
                Box::pin(self.changes_read(live.incarnation, timeout)).await;
                clock.resume(Instant::now());
            }
            if !self.enter(&live, outgoing) {
                return Err(NotSent::Elsewhere);
            }
            let log = match live.lacks_log_level(&outgoing.sender) {
                Some(level) => Box::pin(self.log_from(level, &outgoing.sender, &live)).await,
                None => None,
            };
            // Whatever has to be waited for stands before this.
            self.check(admitted, &live)?;
            self.check_params(message, &outgoing.sender, &live)?;
            let catalog = live.catalog.load_full();
            let revision = catalog.listing.revision;
            let tool = admitted.tool().and_then(|tool| catalog.tool(tool));
            let mirrored = tool.map(|tool| &*tool.header_params).unwrap_or_default();
            let params = bridge::params_for(revision, &outgoing.sender, message.params());
            outgoing.course.enter(CallStage::AtServer);
            let (number, method) = (outgoing.number, message.method());
            if let Some(slot) = &mut slot {
                slot.set_server_busy(true);
            }
            let sent = {
                let (link, params) = (&live.link, params.as_ref());
                // Pinned where it begins: whatever takes it by value would keep it once more.
                let sending = pin!(link.call(number, method, params, mirrored, maker));
                // Over HTTP nothing may come back before the answer, and that may never come.
                tokio::time::timeout_at(clock.deadline().into(), sending).await
            };
            let Ok(sent) = sent else {
                return Err(clock.overdue(self.name()).into());
            };
            if let Some(slot) = &mut slot {
                slot.set_server_busy(sent.is_ok());
            }
            match sent {
                Ok(exchange) => {
                    return Ok(ActiveCall {
                        exchange,
                        revision,
                        link: live.link.clone(),
                        open: Vec::new(),
                        own_answer: OwnAnswer::default(),
                        is_answered: false,
                        in_flight,
                        _questions: question_stream,
                        _log: log,
                        clock,
                        slot,
                    });
                }
                Err(error) if is_first && error.is_undelivered() => {
                    // The worker is gone only while shutting down; then the next line says so.
                    let suspect = Command::Suspect(live.incarnation);
                    let _ = Box::pin(self.0.commands.send(suspect)).await;
                    // The worker knows; what is published may still be what has just failed.
                    clock.hold(Instant::now());
                    outgoing.course.enter(CallStage::Waiting);
                    live = Box::pin(self.connected()).await.map_err(stopped)?;
                    clock.resume(Instant::now());
                }
                // Nothing was processed. What the server wants in headers stands in its definitions, and who has forgotten a session may
                // be another version.
                Err(error @ (LinkError::HeaderMismatch(_) | LinkError::SessionRenewed))
                    if is_first =>
                {
                    clock.hold(Instant::now());
                    outgoing.course.enter(CallStage::Waiting);
                    Box::pin(self.list_again(&live, &error, timeout)).await;
                    clock.resume(Instant::now());
                }
                Err(error) => return Err(self.failure(&error).into()),
            }
        }
        let twice = LinkError::NotDelivered("it was refused twice".to_owned());
        Err(self.failure(&twice).into())
    }

    /// A request that was not sent, for this reason.
    fn stopped(&self, why: Failure) -> NotSent {
        if self.is_stopped() {
            NotSent::Stopped(why)
        } else {
            NotSent::Failed(why)
        }
    }

    /// Has a call's client use this connection. False where a client would lose log lines by that: the server is divided then.
    fn enter(&self, live: &Live, call: &Outgoing<'_>) -> bool {
        let divides = self.0.is_divisible();
        let wants_lines =
            divides && call.wants_lines && live.catalog.load().has_capability("logging");
        // Over HTTP most lines come on the streams of their calls.
        let keeps_lines = divides && !live.link.has_headers();
        match live
            .link
            .owner()
            .enter(&call.client, wants_lines, keeps_lines)
        {
            Entered::First => {
                if let Some(reach) = (call.reach)() {
                    let _ = live.owner.set(reach);
                }
            }
            Entered::Owner | Entered::Several => (),
            Entered::LosesLines => {
                self.0.divide(method::LOG_MESSAGE);
                return false;
            }
        }
        true
    }

    /// Waits, for a moment, until what the server has announced is read: who has heard of it wants no list from before it.
    pub async fn read_announced(&self) {
        if let Some(live) = self.0.live.load_full() {
            self.changes_read(live.incarnation, ANNOUNCED).await;
        }
    }

    /// Sends a notification to a server that is awake; a sleeping one has nothing to be notified of.
    pub async fn notify(&self, message: &AdmittedMessage<'_>) -> Result {
        self.check_recipient(message.admitted())?;
        match self.0.live.load_full() {
            Some(live) => {
                let sent = live.link.notify(message.method(), message.params()).await;
                sent.map_err(|error| self.failure(&error))
            }
            None => Ok(()),
        }
    }

    /// Calls `tell` with all news of the admitted resource or task until the subscription is dropped. An upstream that sleeps is woken,
    /// and sleeps no more.
    pub async fn subscribe(
        &self,
        admitted: &Admitted,
        tell: Notifier,
    ) -> Result<Subscription, NotSubscribed> {
        self.check_recipient(admitted)
            .map_err(NotSubscribed::Failed)?;
        let Some(topic) = NewsTopic::of(admitted.target().thing()) else {
            return Err(NotSubscribed::Failed(misdirected(self.name())));
        };
        // Until it is in the table it has to be counted elsewhere.
        let _in_flight = InFlightGuard::begin(self.clone());
        let (timeout, _) = self.limits();
        let of_us = |failure: Failure| NotSubscribed::Failed(failure.of_server(self.name()));
        let live = self.live().await.map_err(NotSubscribed::Failed)?;
        if live.unread.is_overdue() {
            self.changes_read(live.incarnation, timeout).await;
        }
        self.check(admitted, &live).map_err(NotSubscribed::Failed)?;
        let subscriptions = &self.0.subscriptions;
        let subscription = subscriptions.add(topic.clone(), tell.clone());
        let mut subscription = subscription.map_err(of_us)?;
        // The connection may have been lost before it was in the table.
        self.live().await.map_err(NotSubscribed::Failed)?;
        let settled = subscription.settled(timeout).await;
        let seat = admitted.caller().seat();
        let has_own = |seat: &ClientSeat| seat.needs_own() || self.0.scope == SessionScope::Client;
        if let Some(seat) = seat.filter(|seat| has_own(seat)) {
            let followed = &self.0.followed;
            let following = followed.follow(&seat.client, &topic, tell, subscriptions, OTHERS);
            if let Some((kinship, is_agreed)) = following.await
                && (is_agreed || settled.is_ok())
            {
                subscription.along = Some(Box::new(kinship));
                return Ok(subscription);
            }
        }
        match settled {
            Ok(()) => Ok(subscription),
            Err(NotSubscribed::Failed(failure)) => Err(of_us(failure)),
            Err(refused) => Err(refused),
        }
    }

    /// What was admitted to one server reaches no other.
    fn check_recipient(&self, admitted: &Admitted) -> Result {
        if admitted.server() == self.name() {
            Ok(())
        } else {
            Err(misdirected(self.name()))
        }
    }

    /// What was admitted must be what the connected server lists, and the gate must let it through as things stand now: a server that was
    /// asleep may have woken with another definition, and rules may have changed while the request waited.
    fn check(&self, admitted: &Admitted, live: &Live) -> Result {
        self.check_definition(admitted, live)?;
        self.0.gate.renew(admitted)?;
        if self.0.instance_scope.is_some() {
            let listed = live.catalog.load();
            return self.0.gate.check_listed(admitted, &listed);
        }
        Ok(())
    }

    fn check_definition(&self, admitted: &Admitted, live: &Live) -> Result {
        let (Some(tool), Some(fingerprint)) = (admitted.tool(), admitted.fingerprint()) else {
            return Ok(());
        };
        let catalog = live.catalog.load();
        let listed = catalog.tool(tool);
        if listed.is_some_and(|listed| listed.fingerprint == fingerprint) {
            return Ok(());
        }
        if listed.is_none() && self.0.instance_scope.is_some() {
            let error = format!(
                "the server {:?} does not offer the tool {tool:?} to this client",
                self.name()
            );
            let hint = "Nothing ran. It needs a client with elicitation, sampling or roots; use another tool.";
            return Err(Failure::new(ErrorCode::UnknownTool, error, hint)
                .of_server(self.name())
                .of_tool(tool));
        }
        if listed.is_none() && !catalog.leaves_out(ThingKind::Tool, tool) {
            let error = format!("the server {:?} has no tool {tool:?} any more", self.name());
            let hint = "Nothing ran. Find another tool: search for it, or list the tools.";
            return Err(Failure::new(ErrorCode::UnknownTool, error, hint)
                .of_server(self.name())
                .of_tool(tool));
        }
        Err(admitted.refusal_of_another(fingerprint))
    }

    /// Refuses what a client takes for something else: a continuation of a question that this server never asked, or a header that
    /// differs from the arguments.
    fn check_params(
        &self,
        message: &AdmittedMessage<'_>,
        sender: &Sender<'_>,
        live: &Live,
    ) -> Result<(), NotSent> {
        let (catalog, params) = (live.catalog.load(), message.params());
        let upstream = catalog.listing.revision;
        if let Some(why) = bridge::foreign_round(sender.revision, upstream, params) {
            return Err(NotSent::Wrong(RpcError::invalid_params(why)));
        }
        let tool = message.admitted().tool();
        let Some(tool) = tool.and_then(|tool| catalog.tool(tool)) else {
            return Ok(());
        };
        if tool.header_params.is_empty() {
            return Ok(());
        }
        let arguments = params.and_then(|params| params.get("arguments"));
        match header_params::doubled(&tool.header_params, arguments.as_ref()) {
            None => Ok(()),
            Some(key) => {
                let error = format!("the argument {key:?} appears twice");
                let hint = "Nothing ran. Give it once.";
                let failure = Failure::new(ErrorCode::InvalidArguments, error, hint);
                Err(failure.of_server(self.name()).of_tool(&*tool.name).into())
            }
        }
    }

    /// Has what a server announced on a connection read, and waits for that.
    async fn changes_read(&self, incarnation: u64, timeout: Duration) {
        let (done, listed) = oneshot::channel();
        let command = Command::ReadChanges(incarnation, done);
        self.listed(command, listed, timeout).await;
    }

    /// Has the lists of a server read again, whose answer shows that its definitions may have changed.
    async fn list_again(&self, live: &Live, error: &LinkError, timeout: Duration) {
        tracing::debug!(server = %self.name(), %error, "the server is listed again: its definitions may have changed");
        let (done, listed) = oneshot::channel();
        let command = Command::Relist(live.incarnation, done);
        self.listed(command, listed, timeout).await;
    }

    /// Has the lists of a connection read, and waits for that.
    async fn listed(&self, command: Command, listed: oneshot::Receiver<()>, timeout: Duration) {
        if self.0.commands.send(command).await.is_ok() {
            // Even without an answer what is known now counts.
            let _ = tokio::time::timeout(timeout, listed).await;
        }
    }

    /// Subscribes a call to log lines from this level on, and waits until the server's level lets them through. Dropping the result
    /// ends it: only a session wants them for longer.
    async fn log_from(
        &self,
        level: LogLevel,
        sender: &Sender<'_>,
        live: &Live,
    ) -> Option<LogSubscription> {
        let is_for_this_call = !sender.revision.has_set_level();
        let subscription = is_for_this_call.then(|| {
            let server = Some(self.name().clone());
            let subscriptions = &self.0.log_subscriptions;
            subscriptions.subscribe(server, level, LogTerm::Request)
        });
        let (done, set) = oneshot::channel();
        let command = Command::SetLevel(live.incarnation, done);
        if self.0.commands.send(command).await.is_ok() {
            // A call whose server does not answer this is sent all the same.
            let _ = tokio::time::timeout(LEVEL_TIMEOUT, set).await;
        }
        subscription
    }

    /// The connection after a wait, in which it may have been lost. Connecting anew is no part of the call's time.
    async fn live_again(&self, clock: &mut CallClock) -> Result<Arc<Live>> {
        clock.hold(Instant::now());
        let live = self.live().await?;
        clock.resume(Instant::now());
        Ok(live)
    }

    /// Waits for a place among as many requests as the settings allow. That is part of the call's time.
    async fn slot(
        &self,
        bound: usize,
        client: &ClientKey,
        clock: &CallClock,
    ) -> Result<RequestSlot> {
        let taking = self.0.slots.take(bound, client, clock.latest_start());
        let why = match taking.await {
            Ok(slot) => return Ok(slot),
            Err(why) => why,
        };
        let name = self.name();
        let (error, hint) = match why {
            NoSlot::Full => (
                format!(
                    "the server {name:?} is busy: {bound} of {bound} requests run (max_concurrent_requests), and too many wait"
                ),
                "Nothing ran. Try again later, with fewer calls at once.",
            ),
            NoSlot::Late => (
                format!(
                    "the server {name:?} is busy: {bound} of {bound} requests run (max_concurrent_requests), and none ended in time"
                ),
                "Nothing ran. Try again later; the user can raise max_concurrent_requests.",
            ),
        };
        Err(Failure::new(ErrorCode::Overloaded, error, hint).of_server(name))
    }
}

/// A fault of mcpproxy: a message for something else than what was admitted.
fn misdirected(server: &ServerName) -> Failure {
    let error = format!("mcpproxy mixed up a request to {server:?}");
    let hint = "This is a mistake in mcpproxy; report it.";
    Failure::new(ErrorCode::Internal, error, hint).of_server(server)
}
