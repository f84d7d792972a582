//! The id of a call, by which log lines and records name it.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use http::HeaderMap;

use crate::{
    telemetry::spans::Spans,
    wire::{RequestTrace, meta},
};

/// The id of a call, unique in this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(u64);

impl CallId {
    /// Its number.
    pub fn number(self) -> u64 {
        self.0
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "c{}", self.0)
    }
}

/// Gives out ids, and knows where the spans of the calls go. Cheap to clone; clones share one counter.
#[derive(Debug, Clone, Default)]
pub struct CallIds {
    last: Arc<AtomicU64>,
    spans: Spans,
}

impl CallIds {
    /// Ids for calls whose spans go there.
    pub fn traced_by(spans: &Spans) -> Self {
        Self {
            last: Arc::default(),
            spans: spans.clone(),
        }
    }

    /// The next one.
    pub(super) fn next(&self) -> CallId {
        CallId(self.last.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// Where the spans of these calls go.
    pub(super) fn spans(&self) -> &Spans {
        &self.spans
    }

    /// The client's trace, from the headers of its request. `None` if spans are off.
    pub fn trace_in(&self, headers: &HeaderMap) -> Option<RequestTrace> {
        if !self.spans.is_on() {
            return None;
        }
        let mut parents = headers.get_all(meta::TRACEPARENT).iter();
        let parent = parents.next().filter(|_| parents.next().is_none())?;
        let state = headers.get(meta::TRACESTATE);
        let state = state.and_then(|state| state.to_str().ok());
        RequestTrace::of(parent.to_str().ok()?, state)
    }
}
