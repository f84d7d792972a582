//! What a server was seen to do, as all connections to it know it: whether it asks its clients, and in which eras it is opened.

use std::{
    sync::atomic::{AtomicBool, AtomicU8, Ordering},
    time::Instant,
};

use tokio::sync::watch;

use crate::catalog::ServerHabits;

/// Shared by the connection that everybody lists from and all others.
#[derive(Debug, Default)]
pub(in crate::upstream) struct Habits {
    asks: AtomicBool,
    /// One of the constants below.
    eras: AtomicU8,
    /// The connection that everybody lists from has no handshake, and a stream for each request.
    is_stateless: AtomicBool,
    /// When it last announced, on one of its connections, that lists changed which had.
    list_changes: watch::Sender<Option<Instant>>,
}

const UNTRIED: u8 = 0;
const ONE: u8 = 1;
const BOTH: u8 = 2;

impl Habits {
    pub(in crate::upstream) fn new(known: ServerHabits, is_stateless: bool) -> Self {
        let habits = Self {
            asks: AtomicBool::new(known.asks),
            is_stateless: AtomicBool::new(is_stateless),
            ..Self::default()
        };
        habits.note_eras(known.has_both_eras);
        habits
    }

    /// All that is kept of it.
    pub(in crate::upstream) fn known(&self) -> ServerHabits {
        ServerHabits {
            asks: self.asks(),
            has_both_eras: self.has_both_eras(),
        }
    }

    pub(in crate::upstream) fn asks(&self) -> bool {
        self.asks.load(Ordering::Relaxed)
    }

    /// Lists of one connection have changed, as the server announced there at this moment.
    pub(in crate::upstream) fn note_list_change(&self, announced: Instant) {
        self.list_changes.send_replace(Some(announced));
    }

    pub(in crate::upstream) fn list_changes(&self) -> watch::Receiver<Option<Instant>> {
        self.list_changes.subscribe()
    }

    /// It asks; whether that is new.
    pub(in crate::upstream) fn note_asks(&self) -> bool {
        !self.asks.swap(true, Ordering::Relaxed)
    }

    /// Whether it gives clients that shake hands a session of their era, though it needs no handshake; `None` before that was tried.
    pub(in crate::upstream) fn has_both_eras(&self) -> Option<bool> {
        match self.eras.load(Ordering::Relaxed) {
            BOTH => Some(true),
            ONE => Some(false),
            _ => None,
        }
    }

    pub(in crate::upstream) fn note_eras(&self, has_both: Option<bool>) {
        let eras = match has_both {
            None => UNTRIED,
            Some(false) => ONE,
            Some(true) => BOTH,
        };
        self.eras.store(eras, Ordering::Relaxed);
    }

    /// Whether whatever it asks or logs comes with a request, so that nobody needs a connection of their own for that. On a pipe log lines
    /// do not say which request they are of.
    pub(in crate::upstream) fn is_stateless(&self) -> bool {
        self.is_stateless.load(Ordering::Relaxed)
    }

    pub(in crate::upstream) fn note_stateless(&self, is_stateless: bool) {
        self.is_stateless.store(is_stateless, Ordering::Relaxed);
    }
}
