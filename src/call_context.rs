//! One request in flight: on whose behalf it runs, which revision its answer must speak, and the way back for what comes before
//! the answer.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use bytes::Bytes;
use tokio::sync::Notify;

use crate::{caller::Caller, wire::Revision};

/// Travels with a request from the face that took it to the link that carries it.
#[derive(Clone)]
pub struct CallContext {
    /// Who asks.
    pub caller: Caller,
    /// What the client speaks.
    pub revision: Revision,
    /// Where notifications about this request go.
    pub outlet: Outlet,
}

/// Limit: notifications that wait for a client which reads slowly. Later ones are dropped; the answer never is.
const WAITING: usize = 8192;

/// The sending end of a request's way back. Cheap to clone.
#[derive(Clone, Default)]
pub struct Outlet(Option<Arc<Way>>);

/// The receiving end: what the face writes to its client before the answer.
pub struct Inlet(Arc<Way>);

#[derive(Default)]
struct Way {
    waiting: Mutex<VecDeque<Bytes>>,
    news: Notify,
    abandoned: AtomicBool,
}

impl Drop for Inlet {
    fn drop(&mut self) {
        self.0.abandoned.store(true, Ordering::Relaxed);
        self.0.lock().clear();
    }
}

impl Outlet {
    /// Both ends.
    pub fn new() -> (Self, Inlet) {
        let way = Arc::new(Way::default());
        (Self(Some(way.clone())), Inlet(way))
    }

    /// An end that leads nowhere, for callers that can be told nothing before the answer.
    pub fn nowhere() -> Self {
        Self(None)
    }

    /// Whether it leads anywhere.
    pub fn is_open(&self) -> bool {
        self.0.is_some()
    }

    /// Whether the receiving end is still there.
    pub fn is_heard(&self) -> bool {
        self.0
            .as_ref()
            .is_some_and(|way| !way.abandoned.load(Ordering::Relaxed))
    }

    /// Sends one frame.
    pub fn send(&self, frame: Bytes) {
        let Some(way) = self
            .0
            .as_ref()
            .filter(|way| !way.abandoned.load(Ordering::Relaxed))
        else {
            return;
        };
        let mut waiting = way.lock();
        if waiting.len() >= WAITING {
            tracing::debug!("a notification was dropped: the client reads too slowly");
            return;
        }
        waiting.push_back(frame);
        drop(waiting);
        way.news.notify_one();
    }
}

impl Inlet {
    /// The next frame; waits for ever if none comes. Safe to drop while it waits.
    pub async fn next(&self) -> Bytes {
        loop {
            if let Some(frame) = self.take() {
                return frame;
            }
            self.0.news.notified().await;
        }
    }

    /// Puts a frame back that was taken too early.
    pub fn put_back(&self, frame: Bytes) {
        self.0.lock().push_front(frame);
        self.0.news.notify_one();
    }

    /// A frame that waits already.
    pub fn take(&self) -> Option<Bytes> {
        self.0.lock().pop_front()
    }
}

impl Way {
    fn lock(&self) -> MutexGuard<'_, VecDeque<Bytes>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
