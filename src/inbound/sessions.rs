//! The sessions of one daemon: opened by its faces, found by id, notified of changes, and forgotten when their clients are silent.

use std::{
    cmp::Reverse,
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::sync::OnceCell;

use super::{
    presence::Presence,
    session::{Agreed, LegacySession, SessionIdentity, SessionKind, SessionOrigin},
};
use crate::{
    access::Caller,
    call_context::{Binding, OpenSession},
    router::{Announcement, View},
    runtime::{memory_budget::MemoryBudget, quick_map::QuickMap, sync::Guarded},
    sessions::{
        sealing::{Agreement, Bound, SessionIds},
        session_records::{LIFETIME, RecordedSession, SessionDigest, SessionRecords, now},
    },
    wire::{Raw, method, notification_frame},
};

/// Limit: sessions held at a time. The one that was silent longest makes room.
const MAX_SESSIONS: usize = 10_000;

/// A session without a sign of its client for this long is forgotten. Should the client come back, what its id says is agreed on again.
const SILENCE: Duration = Duration::from_hours(24);

/// Seconds by which the clocks of daemons that share a key may differ.
const SKEW: u32 = 10 * 60;

/// The notifications of changes of lists: of tools, of prompts, of resources.
pub(super) const LIST_CHANGES: [&str; 3] = [
    method::TOOLS_CHANGED,
    method::PROMPTS_CHANGED,
    method::RESOURCES_CHANGED,
];

type ById = QuickMap<Arc<str>, Arc<LegacySession>>;

/// Sessions that are being continued, by id.
type Restorations = HashMap<Arc<str>, Arc<OnceCell<Restored>>>;

type Restored = Result<Arc<LegacySession>, NoSession>;

/// Why there is no session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoSession {
    /// It has ended, is another's, or was never there.
    Unknown,
    /// There is no room for it now.
    Busy,
}

/// The contents of a valid id that has not expired.
pub(super) struct Claimed {
    pub(super) agreement: Agreement,
    pub(super) record: RecordedSession,
}

/// The sessions of one daemon. Cheap to clone.
#[derive(Clone)]
pub struct Sessions(Arc<Table>);

struct Table {
    by_id: Guarded<ById>,
    /// Opened from one request for each id at a time.
    restorations: Guarded<Restorations>,
    ids: SessionIds,
    records: SessionRecords,
    presence: Presence,
    memory: MemoryBudget,
}

/// Ends a session when it is dropped.
pub(super) struct SessionOwner {
    sessions: Sessions,
    pub(super) session: Arc<LegacySession>,
}

impl Drop for SessionOwner {
    fn drop(&mut self) {
        self.sessions.close(&self.session);
    }
}

impl Sessions {
    /// No session yet. Ids are sealed with this key, and these records say which can be continued. What clients make them hold counts in
    /// this budget.
    pub fn new(ids: SessionIds, records: SessionRecords, memory: MemoryBudget) -> Self {
        Self(Arc::new(Table {
            by_id: Guarded::default(),
            restorations: Guarded::default(),
            ids,
            records,
            presence: Presence::default(),
            memory,
        }))
    }

    /// Opens a session of Streamable HTTP in which this was agreed; `None` if there is no room for it.
    pub(super) fn open(
        &self,
        caller: Caller,
        view: View,
        agreed: Agreed,
    ) -> Option<Arc<LegacySession>> {
        let identity = self.identity(&caller, &view, &agreed);
        self.admit(identity, caller, view, agreed)
    }

    /// Continues one under the id that its client knows; `None` if there is no room for it.
    pub(super) fn continue_session(
        &self,
        id: &str,
        caller: &Caller,
        view: &View,
        agreed: Agreed,
        claimed: &Claimed,
    ) -> Option<Arc<LegacySession>> {
        let is_ours = claimed.agreement.origin == self.0.records.origin();
        let identity = SessionIdentity {
            id: id.into(),
            origin: SessionOrigin::Continued,
            binding: Some(self.binding(claimed.record, is_ours)),
        };
        self.admit(identity, caller.clone(), view.clone(), agreed)
    }

    fn admit(
        &self,
        identity: SessionIdentity,
        caller: Caller,
        view: View,
        agreed: Agreed,
    ) -> Option<Arc<LegacySession>> {
        let present = self.0.presence.enter();
        let kind = SessionKind::Streamable;
        let session = LegacySession::new(identity, kind, caller, view, &self.0.memory, present);
        session.agree(agreed).then(|| self.insert(session))
    }

    /// What a new session is known by. Without random bytes for a seal, an id that nobody can continue.
    fn identity(&self, caller: &Caller, view: &View, agreed: &Agreed) -> SessionIdentity {
        let capabilities = &agreed.client.capabilities;
        let agreement = Agreement {
            revision: agreed.revision,
            info: agreed.client.info.clone(),
            capabilities: (!Agreement::is_too_long(capabilities)).then(|| capabilities.clone()),
            origin: self.0.records.origin(),
            expires: now().saturating_add(LIFETIME),
        };
        let endpoint = view.identity();
        let bound = Bound {
            endpoint: &endpoint,
            subject: caller.subject(),
        };
        let Some(id) = self.0.ids.seal(&agreement, bound) else {
            return SessionIdentity::passing();
        };
        let record = RecordedSession {
            digest: SessionDigest::of(&id),
            expires: agreement.expires,
        };
        SessionIdentity {
            id: id.into(),
            origin: SessionOrigin::Opened,
            binding: Some(self.binding(record, true)),
        }
    }

    /// A session with something of its own here is not continued elsewhere or later. One that another daemon opened may have left such
    /// a thing there, so it ends instead.
    fn binding(&self, record: RecordedSession, is_ours: bool) -> Binding {
        Binding {
            records: self.0.records.clone(),
            record,
            is_ours,
        }
    }

    /// The contents of an id, if it is valid, of this caller and endpoint, and has not expired.
    pub(super) fn open_id(&self, id: &str, caller: &Caller, view: &View) -> Option<Claimed> {
        let endpoint = view.identity();
        let bound = Bound {
            endpoint: &endpoint,
            subject: caller.subject(),
        };
        let agreement = self.0.ids.open(id, bound)?;
        let (expires, now) = (agreement.expires, now());
        let is_timely = expires > now && expires <= now.saturating_add(LIFETIME + SKEW);
        let record = RecordedSession {
            digest: SessionDigest::of(id),
            expires,
        };
        is_timely.then_some(Claimed { agreement, record })
    }

    /// Has a session continued once, however many requests name it.
    pub(super) fn restoring(&self, id: &str) -> Restoration {
        let id: Arc<str> = id.into();
        let mut restorations = self.0.restorations.lock();
        let cell = restorations.entry(id.clone()).or_default().clone();
        drop(restorations);
        Restoration {
            sessions: self.clone(),
            id,
            cell,
        }
    }

    /// How many are being continued.
    #[cfg(test)]
    pub(super) fn restorations(&self) -> usize {
        self.0.restorations.lock().len()
    }

    /// As if every one of them had been silent too long.
    #[cfg(test)]
    pub(super) fn forget_all(&self) {
        let forgotten = std::mem::take(&mut *self.0.by_id.lock());
        for session in forgotten.values() {
            session.end();
        }
    }

    /// What is kept of sessions on disk.
    pub(super) fn records(&self) -> &SessionRecords {
        &self.0.records
    }

    fn insert(&self, session: LegacySession) -> Arc<LegacySession> {
        let session = Arc::new(session);
        let mut table = self.0.by_id.lock();
        let displaced = (table.len() >= MAX_SESSIONS).then(|| make_room(&mut table));
        table.insert(session.id.clone(), session.clone());
        drop(table);
        if let Some(displaced) = displaced.flatten() {
            displaced.end();
        }
        session
    }

    /// Opens a session that ends with its owner. What is spoken in it has yet to be agreed.
    pub(super) fn open_owned(&self, kind: SessionKind, caller: Caller, view: View) -> SessionOwner {
        let (identity, memory) = (SessionIdentity::passing(), &self.0.memory);
        let present = self.0.presence.enter();
        let session = LegacySession::new(identity, kind, caller, view, memory, present);
        SessionOwner {
            session: self.insert(session),
            sessions: self.clone(),
        }
    }

    /// The session of this id and kind on this endpoint. That of another caller is as good as none.
    pub(super) fn find(
        &self,
        id: &str,
        kind: SessionKind,
        caller: &Caller,
        view: &View,
    ) -> Option<Arc<LegacySession>> {
        let session = self.0.by_id.lock().get(id).cloned()?;
        let is_theirs = session.kind == kind
            && session.view == *view
            && session.caller.is_same_subject(caller)
            && !session.is_over();
        if !is_theirs {
            return None;
        }
        session.touch();
        Some(session)
    }

    /// Ends a session: its requests are withdrawn and its stream ends.
    pub(super) fn close(&self, session: &LegacySession) {
        self.0.by_id.lock().remove(&session.id);
        session.end();
    }

    /// Ends a session for good: its id is not continued either, and from the return on not after a restart.
    pub(super) async fn delete(&self, session: &LegacySession) {
        // Before it is gone here, so that no request finds it neither here nor ended.
        let record = session.client.record();
        let ended = record.map(|record| self.0.records.end(record));
        self.close(session);
        if let Some(ended) = ended {
            ended.await;
        }
    }

    /// What clients may make us hold.
    pub(super) fn memory(&self) -> &MemoryBudget {
        &self.0.memory
    }

    /// Who is there. Every session counts until it has ended.
    pub fn presence(&self) -> &Presence {
        &self.0.presence
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.by_id.lock().len()
    }

    /// The open ones, at most so many of those that were heard of last, with the names that their clients have for themselves.
    pub fn list(&self, most: usize, name: impl Fn(&Raw) -> Option<String>) -> Vec<OpenSession> {
        let sessions: Vec<_> = self.0.by_id.lock().values().cloned().collect();
        let open = sessions.into_iter().filter(|session| session.is_open());
        let mut open: Vec<_> = open.map(|session| (session.last_seen(), session)).collect();
        open.sort_by_key(|(seen, _)| Reverse(*seen));
        let last = open.iter().take(most);
        last.map(|(_, session)| session.shown(&name)).collect()
    }

    /// Tells every listening client which of its lists changed.
    pub(super) fn announce(&self, announcement: &mut Announcement<'_>) {
        let frames = LIST_CHANGES.map(|name| notification_frame(name, None));
        for session in self.0.by_id.lock().values() {
            let lists = session.list_changes(announcement);
            let changed = [lists.tools, lists.prompts, lists.resources];
            for (frame, _) in frames.iter().zip(changed).filter(|(_, changed)| *changed) {
                session.to_client().send(frame.clone());
            }
        }
    }

    /// Forgets what was silent too long. Streams that are open are a sign of life.
    pub fn forget_silent(&self) {
        let now = Instant::now();
        let is_silent = |session: &LegacySession| {
            let since = session.silent_since();
            session.is_over() || since.is_some_and(|since| now.duration_since(since) > SILENCE)
        };
        let mut sessions = self.0.by_id.lock();
        let forgotten: Vec<_> = sessions
            .extract_if(|_, session| is_silent(session))
            .collect();
        for session in sessions.values() {
            session.tidy();
        }
        drop(sessions);
        for (_, session) in forgotten {
            session.end();
        }
    }
}

/// A session that is being continued. When nobody waits for it any more, it is forgotten that it was.
pub(super) struct Restoration {
    sessions: Sessions,
    id: Arc<str>,
    cell: Arc<OnceCell<Restored>>,
}

impl Restoration {
    /// What came of it. Cancel-safe: another one goes on where this one is dropped.
    pub(super) async fn once<F: Future<Output = Restored>>(
        self,
        restore: impl FnOnce() -> F,
    ) -> Restored {
        self.cell.get_or_init(restore).await.clone()
    }
}

impl Drop for Restoration {
    fn drop(&mut self) {
        let mut restorations = self.sessions.0.restorations.lock();
        // The table has one, and we have one.
        if Arc::strong_count(&self.cell) <= 2 || self.cell.initialized() {
            let is_this = |cell: &mut Arc<OnceCell<Restored>>| Arc::ptr_eq(cell, &self.cell);
            if restorations.get_mut(&self.id).is_some_and(is_this) {
                restorations.remove(&self.id);
            }
        }
    }
}

/// Takes out the session that was silent longest.
fn make_room(table: &mut ById) -> Option<Arc<LegacySession>> {
    let silent = table.values().filter_map(|session| {
        let since = session.silent_since()?;
        Some((since, session))
    });
    let oldest = silent.min_by_key(|(since, _)| *since);
    let oldest = match oldest {
        Some((_, session)) => session,
        None => table.values().min_by_key(|session| session.last_seen())?,
    };
    let id = oldest.id.clone();
    table.remove(&id)
}
