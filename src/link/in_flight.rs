//! Requests that wait for their answers on a connection that all share: callers insert, the one reader removes.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::Notify;

use super::{Incoming, LinkError};
use crate::wire::{Notification, Outcome};

/// Limit: messages that one request may have waiting for its caller. A caller that reads slower loses notices, never the answer,
/// and never slows the reader down for others.
const WAITING: usize = 8192;

/// Limit: their bytes. One alone may be larger.
const WAITING_BYTES: usize = 16 << 20;

/// The table of one link.
#[derive(Default)]
pub(super) struct InFlight(Mutex<Table>);

#[derive(Default)]
struct Table {
    slots: HashMap<u64, Arc<Slot>>,
    /// Set once, when the link is over: nothing is inserted any more.
    over: Option<LinkError>,
}

impl InFlight {
    /// A place for a request that is about to be sent. Fails when the link is over.
    pub(super) fn insert(&self, number: u64) -> Result<Arc<Slot>, LinkError> {
        self.put(number, Slot::default())
    }

    /// A place for a request that stays open for what the server has to tell: it is no call.
    pub(super) fn insert_listening(&self, number: u64) -> Result<Arc<Slot>, LinkError> {
        let slot = Slot {
            listening: true,
            ..Slot::default()
        };
        self.put(number, slot)
    }

    fn put(&self, number: u64, slot: Slot) -> Result<Arc<Slot>, LinkError> {
        let mut table = lock(&self.0);
        if let Some(reason) = &table.over {
            return Err(LinkError::NotDelivered(reason.to_string()));
        }
        let slot = Arc::new(slot);
        table.slots.insert(number, slot.clone());
        Ok(slot)
    }

    /// Forgets a request; whether it was there.
    pub(super) fn remove(&self, number: u64) -> bool {
        lock(&self.0).slots.remove(&number).is_some()
    }

    /// Hands a request its answer, or the reason why there is none.
    pub(super) fn finish(&self, number: u64, end: Result<Outcome, LinkError>) {
        let slot = lock(&self.0).slots.remove(&number);
        if let Some(slot) = slot {
            slot.push(end.map(Incoming::Answer));
        }
    }

    /// Hands a notice to a request; gives it back if there is no such request.
    pub(super) fn notice(&self, number: u64, notice: Notification) -> Result<(), Notification> {
        let slot = lock(&self.0).slots.get(&number).cloned();
        match slot {
            Some(slot) => {
                slot.push(Ok(Incoming::Notice(notice)));
                Ok(())
            }
            None => Err(notice),
        }
    }

    /// Whether this is the number of a request that listens.
    pub(super) fn is_listening(&self, number: u64) -> bool {
        let table = lock(&self.0);
        table.slots.get(&number).is_some_and(|slot| slot.listening)
    }

    /// The only call in flight, if there is exactly one.
    pub(super) fn only(&self) -> Option<u64> {
        let table = lock(&self.0);
        let mut calls = table.slots.iter().filter(|(_, slot)| !slot.listening);
        let (only, more) = (calls.next(), calls.next());
        only.filter(|_| more.is_none()).map(|(number, _)| *number)
    }

    /// Whether nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        lock(&self.0).slots.is_empty()
    }

    /// Fails everything in flight and refuses what comes later.
    pub(super) fn close(&self, reason: &str) {
        let slots = {
            let mut table = lock(&self.0);
            table
                .over
                .get_or_insert_with(|| LinkError::Lost(reason.to_owned()));
            std::mem::take(&mut table.slots)
        };
        for slot in slots.into_values() {
            slot.push(Err(LinkError::Lost(reason.to_owned())));
        }
    }
}

/// What has arrived for one request and was not read yet.
#[derive(Default)]
pub(super) struct Slot {
    arrived: Mutex<Arrived>,
    news: Notify,
    listening: bool,
}

#[derive(Default)]
struct Arrived {
    messages: VecDeque<Result<Incoming, LinkError>>,
    /// What the notices among them hold.
    bytes: usize,
}

impl Slot {
    fn push(&self, message: Result<Incoming, LinkError>) {
        let size = size_of_notice(&message);
        let mut arrived = lock(&self.arrived);
        let full = arrived.messages.len() >= WAITING
            || (arrived.bytes > 0 && arrived.bytes + size > WAITING_BYTES);
        if full && matches!(message, Ok(Incoming::Notice(_))) {
            tracing::debug!("a notice was dropped: its caller reads too slowly");
            return;
        }
        arrived.bytes += size;
        arrived.messages.push_back(message);
        drop(arrived);
        self.news.notify_one();
    }

    /// Returns when something has arrived.
    pub(super) async fn stirred(&self) {
        while lock(&self.arrived).messages.is_empty() {
            self.news.notified().await;
        }
    }

    /// The failure that has arrived before anything else, if one has.
    pub(super) fn failure(&self) -> Option<LinkError> {
        let mut arrived = lock(&self.arrived);
        match arrived.messages.pop_front()? {
            Err(error) => Some(error),
            message => {
                arrived.messages.push_front(message);
                None
            }
        }
    }

    fn take(&self) -> Option<Result<Incoming, LinkError>> {
        let mut arrived = lock(&self.arrived);
        let message = arrived.messages.pop_front()?;
        arrived.bytes -= size_of_notice(&message);
        Some(message)
    }

    /// The next message. Safe to drop while it waits.
    pub(super) async fn next(&self) -> Result<Incoming, LinkError> {
        loop {
            match self.take() {
                Some(message) => return message,
                None => self.news.notified().await,
            }
        }
    }
}

fn size_of_notice(message: &Result<Incoming, LinkError>) -> usize {
    match message {
        Ok(Incoming::Notice(notice)) => {
            notice.method.len() + notice.params.as_ref().map_or(0, |p| p.as_bytes().len())
        }
        _ => 0,
    }
}

/// The data is whole between statements, so a panic elsewhere does not spoil it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
