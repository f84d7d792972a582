//! Sessions of legacy clients on Streamable HTTP: what was agreed in `initialize`, the requests that run, and the stream on which
//! the client hears of changes.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use tokio_util::sync::CancellationToken;

use crate::{
    call_context::{Inlet, Outlet},
    catalog::Difference,
    router::View,
    wire::{Id, Revision, method, notification_frame},
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
    by_id: Mutex<HashMap<Box<str>, Arc<Session>>>,
    streams: AtomicUsize,
}

/// One client's session.
pub(super) struct Session {
    pub(super) id: Box<str>,
    /// The endpoint that it was opened on, and belongs to.
    pub(super) view: View,
    /// What the client speaks.
    pub(super) revision: Revision,
    running: Mutex<HashMap<Id, CancellationToken>>,
    listener: Mutex<Listener>,
    last_seen: Mutex<Instant>,
}

/// The stream that the client has open, if any.
#[derive(Default)]
struct Listener {
    outlet: Outlet,
    /// Ends the stream that is open.
    replaced: CancellationToken,
}

impl Sessions {
    /// Opens a session.
    pub(super) fn open(&self, view: View, revision: Revision) -> Arc<Session> {
        let session = Arc::new(Session {
            id: uuid::Uuid::new_v4().to_string().into(),
            view,
            revision,
            running: Mutex::default(),
            listener: Mutex::default(),
            last_seen: Mutex::new(Instant::now()),
        });
        let mut table = lock(&self.0.by_id);
        if table.len() >= MAX_SESSIONS {
            make_room(&mut table);
        }
        table.insert(session.id.clone(), session.clone());
        session
    }

    /// The session of this id on this endpoint.
    pub(super) fn find(&self, id: &str, view: &View) -> Option<Arc<Session>> {
        let session = lock(&self.0.by_id)
            .get(id)
            .filter(|session| session.view == *view)
            .cloned()?;
        *lock(&session.last_seen) = Instant::now();
        Some(session)
    }

    /// Ends a session: its requests are withdrawn and its stream ends.
    pub(super) fn close(&self, session: &Session) {
        lock(&self.0.by_id).remove(&session.id);
        session.end();
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        lock(&self.0.by_id).len()
    }

    /// Tells every listening client which of its lists changed.
    pub(super) fn announce(&self, difference: Difference, lists_tools: impl Fn(&View) -> bool) {
        let frames = [
            (difference.tools, method::TOOLS_CHANGED),
            (difference.prompts, method::PROMPTS_CHANGED),
            (difference.resources, method::RESOURCES_CHANGED),
        ]
        .map(|(changed, name)| (changed, name, notification_frame(name, None)));
        for session in lock(&self.0.by_id).values() {
            let outlet = lock(&session.listener).outlet.clone();
            for (changed, name, frame) in &frames {
                if *changed && (*name != method::TOOLS_CHANGED || lists_tools(&session.view)) {
                    outlet.send(frame.clone());
                }
            }
        }
    }

    /// Forgets what was silent too long. Streams that are open are a sign of life.
    pub fn forget_silent(&self) {
        let now = Instant::now();
        let silent = |session: &Session| {
            !session.is_listening() && now.duration_since(*lock(&session.last_seen)) > SILENCE
        };
        lock(&self.0.by_id).retain(|_, session| !silent(session));
    }

    /// How many streams are open.
    pub fn streams(&self) -> usize {
        self.0.streams.load(Ordering::Relaxed)
    }
}

fn make_room(table: &mut HashMap<Box<str>, Arc<Session>>) {
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
    /// Notes a request that begins, so that the client can withdraw it by its id.
    pub(super) fn begin(self: &Arc<Self>, id: &Id) -> Running {
        let token = CancellationToken::new();
        lock(&self.running).insert(id.clone(), token.clone());
        Running {
            session: self.clone(),
            id: id.clone(),
            token,
        }
    }

    /// The client withdraws a request.
    pub(super) fn cancel(&self, id: &Id) {
        if let Some(token) = lock(&self.running).get(id) {
            token.cancel();
        }
    }

    /// Opens the client's stream in place of one that may be open.
    pub(super) fn listen(&self, sessions: &Sessions) -> Listening {
        let (outlet, inlet) = Outlet::new();
        let replaced = CancellationToken::new();
        let old = std::mem::replace(
            &mut *lock(&self.listener),
            Listener {
                outlet,
                replaced: replaced.clone(),
            },
        );
        old.replaced.cancel();
        sessions.0.streams.fetch_add(1, Ordering::Relaxed);
        Listening {
            inlet,
            replaced,
            sessions: sessions.clone(),
        }
    }

    fn is_listening(&self) -> bool {
        let listener = lock(&self.listener);
        listener.outlet.is_heard()
    }

    fn end(&self) {
        for token in lock(&self.running).values() {
            token.cancel();
        }
        lock(&self.listener).replaced.cancel();
    }
}

/// A request of a session while it runs.
pub(super) struct Running {
    session: Arc<Session>,
    id: Id,
    token: CancellationToken,
}

impl Running {
    /// Waits for the client to withdraw the request.
    pub(super) async fn withdrawn(&self) {
        self.token.cancelled().await;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        lock(&self.session.running).remove(&self.id);
    }
}

/// A client's open stream.
pub(super) struct Listening {
    pub(super) inlet: Inlet,
    /// The session ended, or the client opened another stream.
    pub(super) replaced: CancellationToken,
    sessions: Sessions,
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.sessions.0.streams.fetch_sub(1, Ordering::Relaxed);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
