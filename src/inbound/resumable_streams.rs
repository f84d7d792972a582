//! The streams of a session's requests that its client can take up again.

use std::{sync::Arc, time::Instant};

use super::{event_id::StreamOf, resumable::Resumable};
use crate::runtime::memory_budget::MemoryBudget;

/// Limit: streams of requests that one session has. With so many in use a further one cannot be taken up again.
const STREAMS: usize = 32;

/// Limit: bytes of those that are answered. The last alone may hold more.
const ANSWERED_BYTES: usize = 16 << 20;

/// The streams of a session's requests, oldest first.
#[derive(Default)]
pub(super) struct ResumableStreams(Vec<Arc<Resumable>>);

impl ResumableStreams {
    /// One more, if there is room.
    pub(super) fn open(&mut self, memory: &MemoryBudget, of: &StreamOf) -> Option<Arc<Resumable>> {
        self.tidy();
        if self.0.len() >= STREAMS {
            let answered = self.0.iter().position(|s| s.bytes_if_over().is_some());
            self.0.remove(answered?);
        }
        let stream = Arc::new(Resumable::new(memory, of));
        self.0.push(stream.clone());
        Some(stream)
    }

    /// The stream of this event, and the event's number there.
    pub(super) fn find(&self, event_id: &str) -> Option<(Arc<Resumable>, u64)> {
        let mut found = self.0.iter().filter_map(|stream| {
            let number = stream.number(event_id)?;
            Some((stream.clone(), number))
        });
        found.next()
    }

    /// Lets go of what no client will request any more, and of what is too much.
    pub(super) fn tidy(&mut self) {
        let now = Instant::now();
        self.0.retain(|stream| !stream.is_of_no_use(now));
        let mut kept = 0;
        let mut fits = |stream: &Arc<Resumable>| {
            let before = kept;
            kept += stream.bytes_if_over().unwrap_or(0);
            kept <= ANSWERED_BYTES || before == 0
        };
        let mut keep: Vec<bool> = self.0.iter().rev().map(&mut fits).collect();
        self.0.retain(|_| keep.pop().unwrap_or(true));
    }
}
