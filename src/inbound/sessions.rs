//! The sessions of one daemon: opened by its faces, found by id, told of changes, and forgotten when their clients are silent.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    presence::Presence,
    session::{LegacySession, SessionKind},
};
use crate::{
    access::Caller,
    memory_budget::MemoryBudget,
    router::{Announcement, View},
    sync::Guarded,
    wire::{method, notification_frame},
};

/// Limit: sessions held at a time. The one that was silent longest makes room.
const MAX_SESSIONS: usize = 10_000;

/// A session without a sign of its client for this long is forgotten; the client is then told so and begins anew.
const SILENCE: Duration = Duration::from_hours(24);

type ById = HashMap<Arc<str>, Arc<LegacySession>>;

/// The sessions of one daemon. Cheap to clone.
#[derive(Clone, Default)]
pub struct Sessions(Arc<Table>);

#[derive(Default)]
struct Table {
    by_id: Guarded<ById>,
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
    /// Opens a session. What is spoken in it has yet to be agreed.
    pub(super) fn open(&self, kind: SessionKind, caller: Caller, view: View) -> Arc<LegacySession> {
        let present = self.0.presence.enter();
        let session = LegacySession::new(kind, caller, view, &self.0.memory, present);
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

    /// Opens a session that ends with its owner.
    pub(super) fn open_owned(&self, kind: SessionKind, caller: Caller, view: View) -> SessionOwner {
        SessionOwner {
            session: self.open(kind, caller, view),
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
            && !session.over().is_cancelled();
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

    /// Tells every listening client which of its lists changed.
    pub(super) fn announce(&self, announcement: &mut Announcement<'_>) {
        let frame = |name| notification_frame(name, None);
        let frames = [
            frame(method::TOOLS_CHANGED),
            frame(method::PROMPTS_CHANGED),
            frame(method::RESOURCES_CHANGED),
        ];
        for session in self.0.by_id.lock().values() {
            let changed = session.news(announcement);
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
            session.over().is_cancelled()
                || since.is_some_and(|since| now.duration_since(since) > SILENCE)
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
