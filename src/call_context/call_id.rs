//! What tells one call from every other of this process, in log lines and records.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
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

/// Gives out ids. Cheap to clone; clones give out the same ids, each of them once.
#[derive(Debug, Clone, Default)]
pub struct CallIds(Arc<AtomicU64>);

impl CallIds {
    /// The next one.
    pub(super) fn next(&self) -> CallId {
        CallId(self.0.fetch_add(1, Ordering::Relaxed) + 1)
    }
}
