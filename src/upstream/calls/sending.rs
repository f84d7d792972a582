//! Sends admitted requests and notifications to one upstream.

use std::{
    pin::pin,
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    ActiveCall, LogSubscription, LogTerm, NotSent, Upstream,
    call_clock::CallClock,
    handle::{Command, InFlightGuard, Live},
    own_answer::OwnAnswer,
    request_slots::{NoSlot, RequestSlot},
};
use crate::{
    activity::{CallCourse, CallStage},
    call_context::ClientSender,
    failure::{ErrorCode, Failure, NextStep, Result},
    gate::AdmittedMessage,
    link::{ClientKey, Entered, Exchange, LinkError, Maker},
    upstream::ClientReach,
    wire::{
        LogLevel, Revision,
        bridge::{self, Sender},
        method,
    },
};

/// How long a call waits for its server to take the log level that the call wants.
const LEVEL_TIMEOUT: Duration = Duration::from_secs(5);

/// A request to be sent.
pub struct Outgoing<'a> {
    /// Its number, from [`Upstream::next_number`]; see [`crate::wire::Id::ours`]. Also the progress token, where the params have one.
    pub number: u64,
    /// The admitted message. Its params are written anew for a server of the other era.
    pub message: &'a AdmittedMessage<'a>,
    /// What the client can answer and wants, and the revision that it speaks.
    pub sender: Sender<'a>,
    /// The client for which it is sent.
    pub client: ClientKey,
    /// Makes the way to that client outside of its calls, if there is one.
    pub reach: &'a (dyn Fn() -> Option<ClientReach> + Sync),
    /// Whether the client has named a level of log lines that it wants.
    pub wants_lines: bool,
    /// The way back to the client.
    pub stream: &'a ClientSender,
    /// When it is given up, whatever progress it reports; but not before the server had the time for one answer.
    pub deadline: Instant,
    /// Records when it is sent.
    pub course: &'a CallCourse,
}

impl Upstream {
    /// Sends a request. An upstream that sleeps is woken first.
    ///
    /// A request that certainly was not processed is sent once more, over a new connection if need be.
    pub async fn call(&self, outgoing: &Outgoing<'_>) -> Result<ActiveCall, NotSent> {
        self.check_recipient(outgoing.message.admitted())?;
        let in_flight = InFlightGuard::begin(self.clone());
        let stream = self.asks_its_client().then(|| {
            let streams = &self.0.client_streams;
            streams.list(outgoing.number, outgoing.stream)
        });
        let mut attempt = Attempt::begin(self, outgoing).await?;
        let mut maker = Maker::Client;
        loop {
            let log = attempt.ready().await?;
            match attempt.send(maker).await? {
                Ok((exchange, revision)) => {
                    return Ok(ActiveCall {
                        exchange,
                        revision,
                        link: attempt.live.link.clone(),
                        open: Vec::new(),
                        own_answer: OwnAnswer::default(),
                        is_answered: false,
                        in_flight,
                        _stream: stream,
                        _log: log,
                        clock: attempt.clock,
                        slot: attempt.slot,
                    });
                }
                Err(error) if maker == Maker::Client => {
                    Box::pin(attempt.recover(&error)).await?;
                    maker = Maker::ClientAgain;
                }
                Err(error) => return Err(self.failure(&error).into()),
            }
        }
    }

    /// Notes that the call's client uses this connection. False where a client would lose log lines by that: the server is divided then.
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

    /// Sends a notification to a server that is connected. For others there is nothing to notify.
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
        let command = |done| Command::SetLevel(live.incarnation, done);
        // A call whose server does not answer this is sent all the same.
        self.wait_for_worker(command, LEVEL_TIMEOUT).await;
        subscription
    }

    /// Waits for one of the slots that the settings allow. That is part of the call's time.
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
        let (others, hint, step) = match why {
            NoSlot::Full => (
                "too many wait",
                "Try again later, with fewer calls at once.",
                "try again later, with fewer calls at once",
            ),
            NoSlot::Late => (
                "none ended in time",
                "Try again later; the user can raise max_concurrent_requests.",
                "try again later, or raise `max_concurrent_requests`",
            ),
        };
        let error = format!(
            "the server {name:?} is busy: {bound} of {bound} requests run (max_concurrent_requests), and {others}"
        );
        let step = NextStep::act(step);
        Err(Failure::for_agents(ErrorCode::Overloaded, error, hint, step).of_server(name))
    }
}

/// A request until it is sent: the connection that it goes to, and what is left of its time. Waits that only few calls need are boxed, so
/// that the future of every call stays small.
struct Attempt<'a, 'b> {
    upstream: &'a Upstream,
    outgoing: &'a Outgoing<'b>,
    /// How long the server may be silent.
    timeout: Duration,
    live: Arc<Live>,
    clock: CallClock,
    slot: Option<RequestSlot>,
}

impl<'a, 'b> Attempt<'a, 'b> {
    /// Waits for the connection, and for a slot if the settings bound the requests in flight.
    async fn begin(upstream: &'a Upstream, outgoing: &'a Outgoing<'b>) -> Result<Self, NotSent> {
        let (timeout, bound) = upstream.limits();
        let live = upstream.live().await;
        let live = live.map_err(|failure| upstream.stopped(failure))?;
        let mut attempt = Self {
            upstream,
            outgoing,
            timeout,
            live,
            // Connecting has a deadline of its own; the call's time begins here.
            clock: CallClock::new(Instant::now(), timeout, outgoing.deadline),
            slot: None,
        };
        if let Some(bound) = bound {
            let slot = Box::pin(upstream.slot(bound, &outgoing.client, &attempt.clock)).await?;
            attempt.slot = Some(slot);
            Box::pin(attempt.connect_again(upstream.live())).await?;
        }
        Ok(attempt)
    }

    /// Waits until the request may be sent, and then checks once more that it is admitted.
    async fn ready(&mut self) -> Result<Option<LogSubscription>, NotSent> {
        let (upstream, outgoing) = (self.upstream, self.outgoing);
        let admitted = outgoing.message.admitted();
        // The client may have called by a definition that this connection is about to read.
        let is_ahead =
            self.live.unread.is_any() && upstream.check_definition(admitted, &self.live).is_err();
        if self.live.unread.is_overdue() || is_ahead {
            self.clock.hold(Instant::now());
            Box::pin(upstream.changes_read(self.live.incarnation, self.timeout)).await;
            self.clock.resume(Instant::now());
        }
        if !upstream.enter(&self.live, outgoing) {
            return Err(NotSent::Elsewhere);
        }
        let log = match self.live.lacks_log_level(&outgoing.sender) {
            Some(level) => Box::pin(upstream.log_from(level, &outgoing.sender, &self.live)).await,
            None => None,
        };
        // Invariant: nothing is waited for between these checks and the sending.
        upstream.check_still_admitted(admitted, &self.live)?;
        upstream.check_params(outgoing.message, &outgoing.sender, &self.live)?;
        Ok(log)
    }

    /// Sends the request, and gives the revision in which it was written.
    async fn send(&mut self, maker: Maker) -> Result<Result<(Exchange, Revision), LinkError>> {
        let outgoing = self.outgoing;
        let message = outgoing.message;
        let catalog = self.live.catalog.load_full();
        let revision = catalog.listing.revision;
        let tool = message.admitted().tool();
        let tool = tool.and_then(|tool| catalog.tool(tool));
        let mirrored = tool.map(|tool| &*tool.header_params).unwrap_or_default();
        let params = bridge::params_for(revision, &outgoing.sender, message.params());
        outgoing.course.enter(CallStage::AtServer);
        self.set_server_busy(true);
        let sent = {
            let (number, method) = (outgoing.number, message.method());
            let (link, params) = (&self.live.link, params.as_ref());
            // Pinned where it begins: whatever takes it by value would keep it once more.
            let sending = pin!(link.call(number, method, params, mirrored, maker));
            // Over HTTP even the head of the response may never come.
            tokio::time::timeout_at(self.clock.deadline().into(), sending).await
        };
        let Ok(sent) = sent else {
            return Err(self.clock.overdue(self.upstream.name()));
        };
        self.set_server_busy(sent.is_ok());
        Ok(sent.map(|exchange| (exchange, revision)))
    }

    fn set_server_busy(&mut self, is_busy: bool) {
        if let Some(slot) = &mut self.slot {
            slot.set_server_busy(is_busy);
        }
    }

    /// Prepares to send the request once more, if this error shows that it was not processed; fails with the error otherwise.
    async fn recover(&mut self, error: &LinkError) -> Result<(), NotSent> {
        let upstream = self.upstream;
        if error.is_undelivered() {
            // The worker is gone only while shutting down; then connecting fails with that.
            let suspect = Command::Suspect(self.live.incarnation);
            let _ = upstream.0.commands.send(suspect).await;
            self.outgoing.course.enter(CallStage::Waiting);
            // From the worker: the published connection may still be the one that has just failed.
            return self.connect_again(upstream.connected()).await;
        }
        // Definitions say which headers a server wants, and a server that has forgotten its session may run another version.
        if matches!(
            error,
            LinkError::HeaderMismatch(_) | LinkError::SessionRenewed
        ) {
            self.clock.hold(Instant::now());
            self.outgoing.course.enter(CallStage::Waiting);
            upstream.list_again(&self.live, error, self.timeout).await;
            self.clock.resume(Instant::now());
            return Ok(());
        }
        Err(upstream.failure(error).into())
    }

    /// Takes the connection that there is after a wait, in which the former one may have been lost. Connecting does not count as the call's
    /// time.
    async fn connect_again(
        &mut self,
        connecting: impl Future<Output = Result<Arc<Live>>>,
    ) -> Result<(), NotSent> {
        self.clock.hold(Instant::now());
        let live = connecting.await;
        self.live = live.map_err(|failure| self.upstream.stopped(failure))?;
        self.clock.resume(Instant::now());
        Ok(())
    }
}
