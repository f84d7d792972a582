//! How often one server is called, which decides how long it stays without calls. Outlives connections and workers. Pure: time is an
//! argument.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use crate::runtime::sync::Guarded;

/// The window in which calls are counted.
const WINDOW: Duration = Duration::from_hours(1);

/// Calls of which the moment is remembered. Busier servers are all alike.
pub(super) const REMEMBERED: usize = 21;

/// The calls of one server, over all its connections.
#[derive(Debug, Default)]
pub(in crate::upstream) struct CallHistory(Guarded<Calls>);

#[derive(Debug, Default)]
struct Calls {
    total: u64,
    /// When the last of them began, oldest first.
    recent: VecDeque<Instant>,
}

/// How often a server is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::upstream) struct Frequency {
    /// Calls in the last hour; of more than [`REMEMBERED`] only so many.
    pub(in crate::upstream) last_hour: usize,
    /// Calls in all.
    pub(in crate::upstream) total: u64,
}

impl CallHistory {
    /// Counts a call.
    pub(in crate::upstream) fn note(&self, now: Instant) {
        let mut calls = self.0.lock();
        calls.total = calls.total.saturating_add(1);
        if calls.recent.len() >= REMEMBERED {
            calls.recent.pop_front();
        }
        calls.recent.push_back(now);
    }

    /// How often it was called, as seen at `now`.
    pub(in crate::upstream) fn frequency(&self, now: Instant) -> Frequency {
        let calls = self.0.lock();
        let recent = calls.recent.iter();
        let last_hour = recent
            .filter(|at| now.saturating_duration_since(**at) < WINDOW)
            .count();
        Frequency {
            last_hour,
            total: calls.total,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn minutes(n: u64) -> Duration {
        Duration::from_secs(60 * n)
    }

    #[test]
    fn calls_count_for_an_hour() {
        let (history, start) = (CallHistory::default(), Instant::now());
        for n in 0..30 {
            history.note(start + minutes(n));
        }
        let last_hour = |after| history.frequency(start + minutes(after)).last_hour;
        assert_eq!(last_hour(30), REMEMBERED, "so many are told apart");
        assert_eq!(last_hour(84), 5);
        assert_eq!(last_hour(89), 0);
        assert_eq!(history.frequency(start + minutes(89)).total, 30);
    }
}
