//! What a server was seen to do over any of its connections: whether it asks its clients, and in which eras it can be opened.

use std::time::Instant;

use tokio::sync::watch;

use crate::{catalog::ServerHabits, runtime::sync::Guarded};

/// The habits of one server. Shared by all connections to it.
#[derive(Debug, Default)]
pub(super) struct Habits {
    seen: Guarded<Seen>,
    /// When the server last announced, over one of its connections, a change of lists that had really changed.
    list_changes: watch::Sender<Option<Instant>>,
}

#[derive(Debug, Default)]
struct Seen {
    known: ServerHabits,
    /// Whether the shared connection has no handshake, and a stream for each request.
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

    /// The habits that the catalog keeps.
    pub(super) fn known(&self) -> ServerHabits {
        self.seen.lock().known
    }

    pub(super) fn asks(&self) -> bool {
        self.known().asks
    }

    /// The server has asked. Gives whether that is new.
    pub(super) fn note_asks(&self) -> bool {
        !std::mem::replace(&mut self.seen.lock().known.asks, true)
    }

    /// Whether the server opens sessions for clients that shake hands, though it needs no handshake; `None` before that was tried.
    pub(super) fn has_both_eras(&self) -> Option<bool> {
        self.known().has_both_eras
    }

    pub(super) fn note_eras(&self, has_both: Option<bool>) {
        self.seen.lock().known.has_both_eras = has_both;
    }

    /// Whether all that the server asks or logs comes with a request, so that no client needs a connection of its own for that. Over a pipe
    /// log lines do not say which request they belong to.
    pub(super) fn is_stateless(&self) -> bool {
        self.seen.lock().is_stateless
    }

    pub(super) fn note_stateless(&self, is_stateless: bool) {
        self.seen.lock().is_stateless = is_stateless;
    }

    /// Lists have changed, as the server announced over one connection at this moment.
    pub(super) fn note_list_change(&self, announced: Instant) {
        self.list_changes.send_replace(Some(announced));
    }

    pub(super) fn list_changes(&self) -> watch::Receiver<Option<Instant>> {
        self.list_changes.subscribe()
    }
}
