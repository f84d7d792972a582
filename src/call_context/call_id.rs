//! The identity of a call in this process, in log lines and records.

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

/// Names one call. No other call of the process has the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(u64);

impl CallId {
    /// The number in it.
    pub fn number(self) -> u64 {
        self.0
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "c{}", self.0)
    }
}

/// Gives out ids, and places in traces where anybody gets spans. Cheap to clone; clones give out the same ids, each of them once.
#[derive(Debug, Clone, Default)]
pub struct CallIds {
    last: Arc<AtomicU64>,
    spans: Spans,
}

impl CallIds {
    /// For calls whose spans go there.
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

    /// The sender's trace as the headers name it, where anybody gets spans.
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
