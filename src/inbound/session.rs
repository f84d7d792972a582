//! Sessions of legacy clients: what was agreed in `initialize`, the requests that run, and the stream on which the client hears of
//! changes. A session of Streamable HTTP outlives its stream; one that has a single stream for everything ends with it.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use tokio_util::{sync::CancellationToken, task::TaskTracker};

pub(super) use super::agreed::Agreed;
use super::{
    presence::{Presence, Present},
    resumable::Resumable,
    resumption::{Resumables, relay},
    wishes::Wishes,
};
use crate::{
    access::Caller,
    call_context::{ClientReceiver, ClientSender, ClientSession},
    router::{Announcement, Known, Router, View},
    wire::{Id, method, notification_frame},
};

/// Limit: sessions held at a time. The one that was silent longest makes room.
const MAX_SESSIONS: usize = 10_000;

/// A session without a sign of its client for this long is forgotten; the client is then told so and begins anew.
const SILENCE: Duration = Duration::from_hours(24);

/// The sessions of one daemon. Cheap to clone.
#[derive(Clone, Default)]
pub struct Sessions(Arc<Table>);

#[derive(Default)]
struct Table {
    by_id: Mutex<HashMap<Arc<str>, Arc<Session>>>,
    streams: AtomicUsize,
    presence: Presence,
}

/// One client's session.
pub(super) struct Session {
    pub(super) id: Arc<str>,
    /// Who opened it. Nobody else may use it: an id proves nothing.
    pub(super) caller: Caller,
    /// The endpoint that it was opened on, and belongs to.
    pub(super) view: View,
    kind: Kind,
    agreed: Mutex<Agreed>,
    /// What is known of it to those who act on its behalf.
    pub(super) known: ClientSession,
    /// What the client wants to hear of.
    pub(super) wishes: Wishes,
    running: Mutex<HashMap<Id, Vec<CancellationToken>>>,
    listener: Mutex<Listener>,
    /// Those of its requests that the client can take up again.
    pub(super) streams: Resumables,
    last_seen: Mutex<Instant>,
    /// What runs beside the stream of a conversation.
    tasks: TaskTracker,
    /// Ends whatever stream there is, one that a request opens at the same moment too.
    over: CancellationToken,
    _present: Present,
}

/// How a session's client is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Each request on the response to its POST.
    Streamable,
    /// Everything on one stream, with which the session ends.
    Conversation,
}

/// The stream that the client has open, if any.
#[derive(Default)]
struct Listener {
    /// Ends the stream that is open.
    over: CancellationToken,
    /// The lists as the client knows them since it listens.
    known: Option<Known>,
    /// The same stream, where the client can take it up again.
    resumable: Option<Arc<Resumable>>,
}

impl Sessions {
    /// Opens a session of Streamable HTTP.
    pub(super) fn open(&self, caller: Caller, view: View, agreed: Agreed) -> Arc<Session> {
        self.insert(Kind::Streamable, caller, view, agreed)
    }

    /// Opens a session that ends with its stream. What is spoken in it has yet to be agreed.
    pub(super) fn converse(
        &self,
        router: &Router,
        caller: Caller,
        view: View,
    ) -> (Arc<Session>, Listening) {
        let session = self.insert(Kind::Conversation, caller, view, Agreed::default());
        let over = session.over.child_token();
        let (to_client, receiver) = ClientSender::with_answers(over.clone());
        session.listen_on(router, to_client, &over, None);
        let listening = self.listening(receiver, over, Some(session.clone()));
        (session, listening)
    }

    fn insert(&self, kind: Kind, caller: Caller, view: View, agreed: Agreed) -> Arc<Session> {
        let id: Arc<str> = uuid::Uuid::new_v4().to_string().into();
        let session = Arc::new(Session {
            known: ClientSession::new(id.clone()),
            id,
            caller,
            view,
            kind,
            agreed: Mutex::new(agreed),
            wishes: Wishes::default(),
            running: Mutex::default(),
            listener: Mutex::default(),
            streams: Resumables::default(),
            last_seen: Mutex::new(Instant::now()),
            tasks: TaskTracker::new(),
            over: CancellationToken::new(),
            _present: self.0.presence.enter(),
        });
        let mut table = lock(&self.0.by_id);
        if table.len() >= MAX_SESSIONS {
            make_room(&mut table);
        }
        table.insert(session.id.clone(), session.clone());
        session
    }

    /// Counts a stream on which a client only listens.
    pub(super) fn open_stream(&self) -> OpenStream {
        self.0.streams.fetch_add(1, Ordering::Relaxed);
        OpenStream(self.clone())
    }

    fn listening(
        &self,
        receiver: ClientReceiver,
        over: CancellationToken,
        ends: Option<Arc<Session>>,
    ) -> Listening {
        Listening {
            receiver,
            over,
            _open: self.open_stream(),
            sessions: self.clone(),
            ends,
        }
    }

    /// The session of this id and kind on this endpoint. That of another caller is as good as none.
    pub(super) fn find(
        &self,
        id: &str,
        kind: Kind,
        caller: &Caller,
        view: &View,
    ) -> Option<Arc<Session>> {
        let session = lock(&self.0.by_id)
            .get(id)
            .filter(|session| session.kind == kind && session.view == *view)
            .filter(|session| session.caller.is_same_subject(caller))
            .filter(|session| !session.has_ended())
            .cloned()?;
        *lock(&session.last_seen) = Instant::now();
        Some(session)
    }

    /// Ends a session: its requests are withdrawn and its stream ends.
    pub(super) fn close(&self, session: &Session) {
        lock(&self.0.by_id).remove(&session.id);
        session.end();
    }

    /// Who is there. Every session counts until it has ended.
    pub fn presence(&self) -> &Presence {
        &self.0.presence
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        lock(&self.0.by_id).len()
    }

    /// Tells every listening client which of its lists changed.
    pub(super) fn announce(&self, announcement: &mut Announcement<'_>) {
        let frame = |name| notification_frame(name, None);
        let frames = [
            frame(method::TOOLS_CHANGED),
            frame(method::PROMPTS_CHANGED),
            frame(method::RESOURCES_CHANGED),
        ];
        for session in lock(&self.0.by_id).values() {
            let mut listener = lock(&session.listener);
            let Some(known) = &mut listener.known else {
                continue;
            };
            let seen = announcement.news(known, &session.view);
            drop(listener);
            let to_client = session.to_client();
            let changed = [seen.tools, seen.prompts, seen.resources];
            for (frame, _) in frames.iter().zip(changed).filter(|(_, changed)| *changed) {
                to_client.send(frame.clone());
            }
        }
    }

    /// Forgets what was silent too long. Streams that are open are a sign of life.
    pub fn forget_silent(&self) {
        let now = Instant::now();
        let silent = |session: &Session| {
            let unheard = now.duration_since(*lock(&session.last_seen));
            session.has_ended() || (!session.is_listening() && unheard > SILENCE)
        };
        let mut sessions = lock(&self.0.by_id);
        let forgotten: Vec<_> = sessions.extract_if(|_, session| silent(session)).collect();
        for session in sessions.values() {
            session.streams.tidy();
        }
        drop(sessions);
        for (_, session) in forgotten {
            session.end();
        }
    }
}

fn make_room(table: &mut HashMap<Arc<str>, Arc<Session>>) {
    let oldest = table
        .values()
        .filter(|session| !session.is_listening())
        .min_by_key(|session| *lock(&session.last_seen))
        .or_else(|| {
            table
                .values()
                .min_by_key(|session| *lock(&session.last_seen))
        })
        .cloned();
    if let Some(session) = oldest {
        table.remove(&session.id);
        session.end();
    }
}

impl Session {
    /// What was agreed.
    pub(super) fn agreed(&self) -> Agreed {
        lock(&self.agreed).clone()
    }

    /// Notes what was agreed.
    pub(super) fn agree(&self, agreed: Agreed) {
        *lock(&self.agreed) = agreed;
    }

    /// The way to the client outside of any request: for a conversation, that of everything.
    pub(super) fn to_client(&self) -> ClientSender {
        self.known.stream()
    }

    /// Cancelled when a conversation is over.
    pub(super) fn ended(&self) -> CancellationToken {
        lock(&self.listener).over.clone()
    }

    fn has_ended(&self) -> bool {
        self.kind == Kind::Conversation && self.ended().is_cancelled()
    }

    /// Runs something beside the stream of a conversation.
    pub(super) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn(work);
    }

    /// How much runs beside the stream.
    pub(super) fn in_flight(&self) -> usize {
        self.tasks.len()
    }

    /// Waits until nothing does.
    pub(super) async fn idle(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }

    /// Notes a request that begins, so that the client can withdraw it by its id.
    pub(super) fn begin(self: &Arc<Self>, id: &Id) -> Running {
        let token = CancellationToken::new();
        let id = id.detached();
        // Some clients use an id again while its request still runs.
        let mut running = lock(&self.running);
        running.entry(id.clone()).or_default().push(token.clone());
        drop(running);
        Running {
            session: self.clone(),
            id,
            token,
        }
    }

    /// The client withdraws a request.
    pub(super) fn cancel(&self, id: &Id) {
        for token in lock(&self.running).get(id).into_iter().flatten() {
            token.cancel();
        }
    }

    /// Opens the client's stream in place of one that may be open.
    pub(super) fn listen(&self, router: &Router, sessions: &Sessions) -> Listening {
        let (to_client, receiver) = ClientSender::new();
        let over = self.over.child_token();
        self.listen_on(router, to_client, &over, None);
        sessions.listening(receiver, over, None)
    }

    /// The same for a stream that the client can take up again. What comes while it is away is kept, as far as there is room.
    pub(super) fn listen_resumably(
        &self,
        router: &Router,
        closing: &CancellationToken,
    ) -> Arc<Resumable> {
        let (to_client, receiver) = ClientSender::new();
        let (over, stream) = (self.over.child_token(), Arc::new(Resumable::new()));
        self.listen_on(router, to_client, &over, Some(stream.clone()));
        tokio::spawn(relay(stream.clone(), receiver, over, closing.clone()));
        stream
    }

    fn listen_on(
        &self,
        router: &Router,
        to_client: ClientSender,
        over: &CancellationToken,
        resumable: Option<Arc<Resumable>>,
    ) {
        let mut listener = lock(&self.listener);
        self.known.listens_on(to_client);
        let new = Listener {
            over: over.clone(),
            // Taken under the lock: a change after this finds us here.
            known: Some(router.known_now()),
            resumable,
        };
        let old = std::mem::replace(&mut *listener, new);
        drop(listener);
        old.over.cancel();
    }

    /// The client's own stream, if this is an event of it, and the event's number.
    pub(super) fn own_stream_of(&self, event_id: &str) -> Option<(Arc<Resumable>, u64)> {
        let stream = lock(&self.listener).resumable.clone()?;
        let number = stream.number(event_id)?;
        Some((stream, number))
    }

    fn is_listening(&self) -> bool {
        let listener = lock(&self.listener);
        match &listener.resumable {
            Some(stream) => stream.is_read(),
            None => self.to_client().is_heard(),
        }
    }

    fn end(&self) {
        for token in lock(&self.running).values().flatten() {
            token.cancel();
        }
        self.known.end();
        self.wishes.end();
        self.over.cancel();
    }
}

/// A request of a session while it runs.
pub(super) struct Running {
    session: Arc<Session>,
    id: Id,
    token: CancellationToken,
}

impl Running {
    /// What comes of the work on the request; `None` when the client withdrew it first.
    pub(super) async fn unless_withdrawn<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        self.token.run_until_cancelled(work).await
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let mut running = lock(&self.session.running);
        let Some(tokens) = running.get_mut(&self.id) else {
            return;
        };
        // Those that were withdrawn are of no use either.
        self.token.cancel();
        tokens.retain(|token| !token.is_cancelled());
        if tokens.is_empty() {
            running.remove(&self.id);
        }
    }
}

/// A client's open stream.
pub(super) struct Listening {
    pub(super) receiver: ClientReceiver,
    /// The session ended, or the client opened another stream.
    pub(super) over: CancellationToken,
    _open: OpenStream,
    sessions: Sessions,
    /// The session that ends with this stream.
    ends: Option<Arc<Session>>,
}

impl Listening {
    /// Returns when a client that listens needs the stream no more: at once, unless requests of a conversation are unanswered.
    pub(super) async fn answered(&self) {
        if let Some(session) = &self.ends {
            session.idle().await;
        }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        if let Some(session) = &self.ends {
            self.sessions.close(session);
        }
    }
}

/// Counts while the stream is open.
pub(super) struct OpenStream(Sessions);

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.0.0.streams.fetch_sub(1, Ordering::Relaxed);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
