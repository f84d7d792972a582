//! One session of a legacy client: what was agreed in `initialize`, the requests that run, and the stream that announces changes. A
//! session of Streamable HTTP outlives its stream; the others end with theirs.

mod interests;

use std::{sync::Arc, time::Instant};

use tokio_util::{sync::CancellationToken, task::TaskTracker};

use self::interests::Interests;
use super::{
    agreed::Agreed, event_id::StreamOf, presence::Present, resumable::Resumable,
    resumable_streams::ResumableStreams,
};
use crate::{
    access::Caller,
    call_context::{Binding, ClientReceiver, ClientSender, ClientSession},
    router::{Announcement, Known, LogSubscription, Router, View},
    runtime::{
        memory_budget::{MemoryBudget, MemoryShare},
        quick_map::QuickMap,
        sync::Guarded,
    },
    wire::{Id, LogLevel, Revision},
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
    /// What its streams count in.
    memory: MemoryBudget,
    /// The requests of a conversation.
    tasks: TaskTracker,
    /// Cancelled when the session ends; ends whatever stream there is, one that a request opens at the same moment too.
    over: CancellationToken,
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

struct SessionState {
    /// Absent before `initialize`.
    agreed: Option<Agreed>,
    /// What it holds for its client's declarations and subscriptions.
    memory: MemoryShare,
    interests: Interests,
    /// Requests that the client can withdraw.
    running: QuickMap<Id, Vec<CancellationToken>>,
    listener: Listener,
    /// Those of its requests that the client can take up again.
    streams: ResumableStreams,
    last_seen: Instant,
    /// The client may have missed changes of the lists, and has had no announcement of them yet.
    missed: bool,
}

/// The stream that the client has open, if any.
#[derive(Default)]
struct Listener {
    /// Ends the stream that is open.
    over: CancellationToken,
    /// The lists as the client has seen them since it listens.
    seen: Option<Known>,
    /// The same stream, where the client can take it up again.
    resumable: Option<Arc<Resumable>>,
}

/// A client's own stream while it is open.
pub(super) struct OwnStream {
    pub(super) receiver: ClientReceiver,
    /// The session ended, or the client opened another stream.
    pub(super) over: CancellationToken,
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
                memory: memory.share(),
                interests: Interests::default(),
                running: QuickMap::default(),
                listener: Listener::default(),
                streams: ResumableStreams::default(),
                last_seen: Instant::now(),
                missed: origin == SessionOrigin::Continued,
            }),
            memory: memory.clone(),
            tasks: TaskTracker::new(),
            over: CancellationToken::new(),
            _present: present,
        }
    }

    /// Whether `initialize` was answered.
    pub(super) fn is_open(&self) -> bool {
        self.state.lock().agreed.is_some()
    }

    /// What was agreed, and the log lines that the client wants to see.
    pub(super) fn spoken(&self) -> (Agreed, Option<LogLevel>) {
        let state = self.state.lock();
        let agreed = state.agreed.clone().unwrap_or_default();
        let level = state.interests.log.as_ref().map(LogSubscription::level);
        (agreed, level)
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
        }
        has_room
    }

    /// Notes a sign of its client.
    pub(super) fn touch(&self) {
        self.state.lock().last_seen = Instant::now();
    }

    /// When there was a sign of its client; `None` while it listens, which is one.
    pub(super) fn silent_since(&self) -> Option<Instant> {
        let state = self.state.lock();
        let is_listening = match &state.listener.resumable {
            Some(stream) => stream.is_read(),
            None => self.to_client().is_heard(),
        };
        (!is_listening).then_some(state.last_seen)
    }

    /// The last sign of its client other than that it listens.
    pub(super) fn last_seen(&self) -> Instant {
        self.state.lock().last_seen
    }

    /// The way to the client outside of any request: for a conversation, that of everything.
    pub(super) fn to_client(&self) -> ClientSender {
        self.client.stream()
    }

    /// Cancelled when the session is over.
    pub(super) fn over(&self) -> &CancellationToken {
        &self.over
    }

    /// Whether it has ended, or is about to be forgotten.
    pub(super) fn is_over(&self) -> bool {
        self.over.is_cancelled() || self.client.ended().is_cancelled()
    }

    /// Runs a request of a conversation.
    pub(super) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn(work);
    }

    /// How many of them run.
    pub(super) fn in_flight(&self) -> usize {
        self.tasks.len()
    }

    /// Waits until none does.
    pub(super) async fn idle(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }

    /// Notes a request that begins, so that the client can withdraw it by its id.
    pub(super) fn begin(self: &Arc<Self>, id: &Id) -> RunningRequest {
        let token = CancellationToken::new();
        let id = id.detached();
        // Some clients use an id again while its request still runs.
        let mut state = self.state.lock();
        let tokens = state.running.entry(id.clone()).or_default();
        tokens.push(token.clone());
        drop(state);
        RunningRequest {
            session: self.clone(),
            id,
            token,
        }
    }

    /// The client withdraws a request.
    pub(super) fn cancel(&self, id: &Id) {
        for token in self.state.lock().running.get(id).into_iter().flatten() {
            token.cancel();
        }
    }

    /// Opens the client's stream in place of one that may be open.
    pub(super) fn listen(&self, router: &Router) -> OwnStream {
        let (to_client, receiver) = ClientSender::new(&self.memory);
        let over = self.over.child_token();
        self.listen_on(router, to_client, &over, None);
        OwnStream { receiver, over }
    }

    /// Opens the stream of a conversation, on which it is answered too. The session is over when its client does not read it.
    pub(super) fn converse(&self, router: &Router) -> OwnStream {
        let over = self.over.clone();
        let (to_client, receiver) = ClientSender::with_answers(&self.memory, over.clone());
        self.listen_on(router, to_client, &over, None);
        OwnStream { receiver, over }
    }

    /// Opens the client's stream where it can take it up again. What comes while it is away is kept, as far as there is room.
    pub(super) fn listen_resumably(&self, router: &Router) -> (Arc<Resumable>, OwnStream) {
        let (to_client, receiver) = ClientSender::new(&self.memory);
        let (over, stream) = (
            self.over.child_token(),
            Arc::new(Resumable::new(&self.memory, &StreamOf::Session)),
        );
        self.listen_on(router, to_client, &over, Some(stream.clone()));
        (stream, OwnStream { receiver, over })
    }

    fn listen_on(
        &self,
        router: &Router,
        to_client: ClientSender,
        over: &CancellationToken,
        resumable: Option<Arc<Resumable>>,
    ) {
        let mut state = self.state.lock();
        self.client.listens_on(to_client);
        let new = Listener {
            over: over.clone(),
            // Taken under the lock: a change after this finds us here.
            seen: Some(router.known_now(&self.caller)),
            resumable,
        };
        let old = std::mem::replace(&mut state.listener, new);
        drop(state);
        old.over.cancel();
    }

    /// Which lists changed since the client saw them; none while it does not listen.
    pub(super) fn news(&self, announcement: &mut Announcement<'_>) -> [bool; 3] {
        let mut state = self.state.lock();
        let Some(seen) = &mut state.listener.seen else {
            return [false; 3];
        };
        let news = announcement.news(seen, &self.caller, &self.view);
        [news.tools, news.prompts, news.resources]
    }

    /// The client's own stream, if this is an event of it, and the event's number.
    pub(super) fn own_stream_of(&self, event_id: &str) -> Option<(Arc<Resumable>, u64)> {
        let stream = self.state.lock().listener.resumable.clone()?;
        let number = stream.number(event_id)?;
        Some((stream, number))
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
        self.over.cancel();
        self.client.end();
        let mut state = self.state.lock();
        for token in state.running.values().flatten() {
            token.cancel();
        }
        let interests = std::mem::take(&mut state.interests);
        drop(state);
        drop(interests);
    }
}

/// A request of a session while it runs.
pub(super) struct RunningRequest {
    session: Arc<LegacySession>,
    id: Id,
    token: CancellationToken,
}

impl RunningRequest {
    /// What comes of the work on the request; `None` when the client withdrew it first.
    pub(super) async fn unless_withdrawn<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        self.token.run_until_cancelled(work).await
    }
}

impl Drop for RunningRequest {
    fn drop(&mut self) {
        let mut state = self.session.state.lock();
        let Some(tokens) = state.running.get_mut(&self.id) else {
            return;
        };
        // Those that were withdrawn are of no use either.
        self.token.cancel();
        tokens.retain(|token| !token.is_cancelled());
        if tokens.is_empty() {
            state.running.remove(&self.id);
        }
    }
}
