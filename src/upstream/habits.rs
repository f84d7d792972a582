//! What a server was seen to do, as all connections to it know it: whether it asks its clients, and in which eras it is opened.

use std::time::Instant;

use tokio::sync::watch;

use crate::{catalog::ServerHabits, runtime::sync::Guarded};

/// Shared by the connection that everybody lists from and all others.
#[derive(Debug, Default)]
pub(super) struct Habits {
    seen: Guarded<Seen>,
    /// When it last announced, on one of its connections, a change of lists that were then found to have changed.
    list_changes: watch::Sender<Option<Instant>>,
}

#[derive(Debug, Default)]
struct Seen {
    known: ServerHabits,
    /// The connection that everybody lists from has no handshake, and a stream for each request.
    is_stateless: bool,
}

impl Habits {
    pub(super) fn new(known: ServerHabits, is_stateless: bool) -> Self {
        Self {
            seen: Guarded::new(Seen {
                known,
                is_stateless,
            }),
            ..Self::default()
        }
    }

    /// All that is kept of it.
    pub(super) fn known(&self) -> ServerHabits {
        self.seen.lock().known
    }

    pub(super) fn asks(&self) -> bool {
        self.known().asks
    }

    /// It asks; whether that is new.
    pub(super) fn note_asks(&self) -> bool {
        !std::mem::replace(&mut self.seen.lock().known.asks, true)
    }

    /// Whether it gives clients that shake hands a session of their era, though it needs no handshake; `None` before that was tried.
    pub(super) fn has_both_eras(&self) -> Option<bool> {
        self.known().has_both_eras
    }

    pub(super) fn note_eras(&self, has_both: Option<bool>) {
        self.seen.lock().known.has_both_eras = has_both;
    }

    /// Whether whatever it asks or logs comes with a request, so that nobody needs a connection of their own for that. On a pipe log lines
    /// do not say which request they are of.
    pub(super) fn is_stateless(&self) -> bool {
        self.seen.lock().is_stateless
    }

    pub(super) fn note_stateless(&self, is_stateless: bool) {
        self.seen.lock().is_stateless = is_stateless;
    }

    /// Lists of one connection have changed, as the server announced there at this moment.
    pub(super) fn note_list_change(&self, announced: Instant) {
        self.list_changes.send_replace(Some(announced));
    }

    pub(super) fn list_changes(&self) -> watch::Receiver<Option<Instant>> {
        self.list_changes.subscribe()
    }
}
