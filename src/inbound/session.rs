//! One session of a legacy client: what was agreed in `initialize`, the requests that run, and the stream that announces changes. A
//! session of Streamable HTTP outlives its stream; the others end with theirs.

mod interests;
mod listening;

use std::{
    sync::Arc,
    time::{Instant, SystemTime},
};

use futures_util::future::{AbortHandle, AbortRegistration};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

pub(super) use self::listening::OwnStream;
use self::{interests::Interests, listening::Listener};
use super::{
    Present, event_id::StreamOf, resumable::Resumable, resumable_streams::ResumableStreams,
};
use crate::{
    access::{Caller, ClientSeat},
    call_context::{Binding, ClientIdentity, ClientSender, ClientSession, OpenSession},
    link::ClientKey,
    router::{LogSubscription, View},
    runtime::{
        memory_budget::{MemoryBudget, MemoryShare},
        quick_map::QuickMap,
        sync::Guarded,
    },
    wire::{Id, LogLevel, Raw, Revision},
};

/// One client's session.
pub(super) struct LegacySession {
    pub(super) id: Arc<str>,
    /// Where it began.
    pub(super) origin: SessionOrigin,
    /// Who opened it. Nobody else may use it: an id proves nothing.
    pub(super) caller: Caller,
    /// The endpoint that it was opened on, and belongs to.
    pub(super) view: View,
    pub(super) kind: SessionKind,
    /// The session as its requests carry it with them.
    pub(super) client: ClientSession,
    state: Guarded<SessionState>,
    opened: SystemTime,
    /// What its streams count in.
    memory: MemoryBudget,
    /// The requests of a conversation.
    tasks: TaskTracker,
    /// Cancelled when the session ends; ends whatever stream there is, one that a request opens at the same moment too.
    session_end: CancellationToken,
    _present: Present,
}

/// What identifies a session.
pub(super) struct SessionIdentity {
    pub(super) id: Arc<str>,
    pub(super) origin: SessionOrigin,
    pub(super) binding: Option<Binding>,
}

impl SessionIdentity {
    /// Of a session that nobody can continue.
    pub(super) fn passing() -> Self {
        Self {
            id: uuid::Uuid::new_v4().to_string().into(),
            origin: SessionOrigin::Opened,
            binding: None,
        }
    }
}

/// Where a session began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SessionOrigin {
    /// Here.
    Opened,
    /// In another daemon, or here before it was forgotten.
    Continued,
}

/// How a session's client is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SessionKind {
    /// Each request on the response to its POST.
    Streamable,
    /// Everything on one event stream, with which the session ends.
    Conversation,
    /// Everything on a pair of streams, with which the session ends.
    Pipe,
}

impl SessionKind {
    /// What clients call the way that their messages take.
    fn transport(self) -> &'static str {
        match self {
            Self::Streamable => "http",
            Self::Conversation => "sse",
            Self::Pipe => "stdio",
        }
    }
}

struct SessionState {
    /// Absent before `initialize`.
    agreed: Option<Agreed>,
    /// What its lists depend on, as it was last needed.
    seat: Option<Arc<ClientSeat>>,
    /// What it holds for its client's declarations and subscriptions.
    memory: MemoryShare,
    interests: Interests,
    /// How many requests began that the client can withdraw, and those that run, by their number among them.
    begun: u64,
    running: QuickMap<u64, (Id, AbortHandle)>,
    listener: Listener,
    /// Those of its requests that the client can take up again.
    streams: ResumableStreams,
    last_seen: Instant,
    /// The client may have missed changes of the lists, and has had no announcement of them yet.
    missed: bool,
}

impl SessionState {
    /// What tells the client from others, and what it can do.
    fn seat(&mut self, client: &ClientSession) -> Arc<ClientSeat> {
        let wants_lines = self.interests.log.is_some();
        let known = self.seat.as_ref();
        if let Some(seat) = known.filter(|seat| seat.wants_lines == wants_lines) {
            return seat.clone();
        }
        let agreed = self.agreed.clone().unwrap_or_default();
        let key = ClientKey::Session(client.key().clone());
        let capabilities = agreed.client.capabilities.clone();
        let seat = ClientSeat::new(key, capabilities, agreed.revision).in_session(true);
        let seat = Arc::new(seat.with_lines(wants_lines));
        self.seat = Some(seat.clone());
        seat
    }
}

impl LegacySession {
    pub(super) fn new(
        identity: SessionIdentity,
        kind: SessionKind,
        caller: Caller,
        view: View,
        memory: &MemoryBudget,
        present: Present,
    ) -> Self {
        let SessionIdentity {
            id,
            origin,
            binding,
        } = identity;
        // Ids of Streamable HTTP are long, and are nobody else's business.
        let key = match binding {
            Some(_) => uuid::Uuid::new_v4().to_string().into(),
            None => id.clone(),
        };
        Self {
            client: ClientSession::new(key, binding),
            id,
            origin,
            caller,
            view,
            kind,
            state: Guarded::new(SessionState {
                agreed: None,
                seat: None,
                memory: memory.share(),
                interests: Interests::default(),
                begun: 0,
                running: QuickMap::default(),
                listener: Listener::default(),
                streams: ResumableStreams::default(),
                last_seen: Instant::now(),
                missed: origin == SessionOrigin::Continued,
            }),
            opened: SystemTime::now(),
            memory: memory.clone(),
            tasks: TaskTracker::new(),
            session_end: CancellationToken::new(),
            _present: present,
        }
    }

    /// Whether `initialize` was answered.
    pub(super) fn is_open(&self) -> bool {
        self.state.lock().agreed.is_some()
    }

    /// The client for log lines.
    pub(super) fn shown_client(&self) -> String {
        self.agreed_and_log_level().0.client.shown()
    }

    /// What was agreed, and the log lines that the client wants to see.
    pub(super) fn agreed_and_log_level(&self) -> (Agreed, Option<LogLevel>) {
        let state = self.state.lock();
        let agreed = state.agreed.clone().unwrap_or_default();
        let level = state.interests.log.as_ref().map(LogSubscription::level);
        (agreed, level)
    }

    /// The caller of its requests.
    pub(super) fn seated(&self, caller: &Caller) -> Caller {
        caller.clone().at(self.state.lock().seat(&self.client))
    }

    /// The revision that was agreed.
    pub(super) fn revision(&self) -> Revision {
        let state = self.state.lock();
        let agreed = state.agreed.as_ref();
        agreed.map_or(Revision::ASSUMED, |agreed| agreed.revision)
    }

    /// Notes what was agreed; whether there is room for it.
    pub(super) fn agree(&self, agreed: Agreed) -> bool {
        let mut state = self.state.lock();
        let before = state.agreed.take().map_or(0, |agreed| agreed.cost());
        let others = state.memory.bytes() - before;
        state.memory.shrink_to(others);
        let has_room = state.memory.try_grow(agreed.cost());
        if has_room {
            state.agreed = Some(agreed);
            state.seat = None;
        }
        has_room
    }

    /// Notes a sign of its client.
    pub(super) fn touch(&self) {
        self.state.lock().last_seen = Instant::now();
    }

    /// The last sign of its client other than that it listens.
    pub(super) fn last_seen(&self) -> Instant {
        self.state.lock().last_seen
    }

    /// As operators see it, with the name that its client has for itself.
    pub(super) fn shown(&self, name: impl Fn(&Raw) -> Option<String>) -> OpenSession {
        let (agreed, _) = self.agreed_and_log_level();
        OpenSession {
            client: name(&agreed.client.info),
            revision: agreed.revision,
            transport: self.kind.transport(),
            endpoint: self.view.identity().into_owned(),
            caller: self.caller.subject().to_owned(),
            opened: self.opened,
            last_seen: SystemTime::now() - self.last_seen().elapsed(),
            is_attended: self.silent_since().is_none(),
        }
    }

    /// The way to the client outside of any request: for a conversation, that of everything.
    pub(super) fn to_client(&self) -> ClientSender {
        self.client.stream()
    }

    /// Cancelled when the session is over.
    pub(super) fn session_end(&self) -> &CancellationToken {
        &self.session_end
    }

    /// Whether it has ended, or is about to be forgotten.
    pub(super) fn is_over(&self) -> bool {
        self.session_end.is_cancelled() || self.client.ended().is_cancelled()
    }

    /// The stream of a request, if this is an event of it, and the event's number.
    pub(super) fn stream_of(&self, event_id: &str) -> Option<(Arc<Resumable>, u64)> {
        self.state.lock().streams.find(event_id)
    }

    /// A stream for this request that the client can take up again, if there is room for one.
    pub(super) fn open_stream(&self, request: Id) -> Option<Arc<Resumable>> {
        let of = StreamOf::Request(request);
        self.state.lock().streams.open(&self.memory, &of)
    }

    /// Lets go of streams that no client will request any more.
    pub(super) fn tidy(&self) {
        self.state.lock().streams.tidy();
    }

    /// Whether to announce that the client may have missed changes of the lists. Once.
    pub(super) fn take_missed(&self) -> bool {
        std::mem::take(&mut self.state.lock().missed)
    }

    /// Ends it: its requests are withdrawn, its streams and subscriptions end.
    pub(super) fn end(&self) {
        self.session_end.cancel();
        self.client.end();
        let mut state = self.state.lock();
        for (_, handle) in state.running.values() {
            handle.abort();
        }
        let interests = std::mem::take(&mut state.interests);
        drop(state);
        drop(interests);
    }
}

// What a legacy client and the daemon agreed on.

/// The outcome of `initialize`.
#[derive(Clone)]
pub(super) struct Agreed {
    pub(super) revision: Revision,
    pub(super) client: Arc<ClientIdentity>,
}

/// Bytes of a client's declarations that need no place in the budget. Hardly any client has more.
const UNCOUNTED: usize = 2 << 10;

impl Agreed {
    /// What of it needs a place in the budget.
    pub(super) fn cost(&self) -> usize {
        self.client.size().saturating_sub(UNCOUNTED)
    }
}

impl Default for Agreed {
    /// Before `initialize`.
    fn default() -> Self {
        Self {
            revision: Revision::ASSUMED,
            client: Arc::default(),
        }
    }
}

// The requests of a session that run: begins them, withdraws them, and waits for their end.

impl LegacySession {
    /// Runs a request of a conversation.
    pub(in crate::inbound) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn(work);
    }

    /// How many of them run.
    pub(in crate::inbound) fn in_flight(&self) -> usize {
        self.tasks.len()
    }

    /// Waits until none does.
    pub(in crate::inbound) async fn wait_until_idle(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }

    /// Notes a request that begins, so that the client can withdraw it by its id: then work that is bound to what is registered ends.
    pub(in crate::inbound) fn begin(
        self: &Arc<Self>,
        id: &Id,
    ) -> (RunningRequest, AbortRegistration) {
        let (handle, registration) = AbortHandle::new_pair();
        let mut state = self.state.lock();
        state.begun += 1;
        let number = state.begun;
        // Some clients use an id again while its request still runs.
        state.running.insert(number, (id.detached(), handle));
        drop(state);
        let session = self.clone();
        (RunningRequest { session, number }, registration)
    }

    /// The client withdraws a request.
    pub(in crate::inbound) fn cancel(&self, id: &Id) {
        for (running, handle) in self.state.lock().running.values() {
            if running == id {
                handle.abort();
            }
        }
    }
}

/// A request of a session while it runs.
pub(in crate::inbound) struct RunningRequest {
    session: Arc<LegacySession>,
    number: u64,
}

impl Drop for RunningRequest {
    fn drop(&mut self) {
        self.session.state.lock().running.remove(&self.number);
    }
}
