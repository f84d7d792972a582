//! How often one server is called, which decides how long it stays without calls. Outlives connections and workers, and through the
//! data folder the daemon. Pure: the time is an argument.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};

use crate::runtime::sync::Guarded;

/// The window in which calls are counted.
const WINDOW: Duration = Duration::from_hours(1);

/// Limit: calls of which the moment is remembered. Busier servers are all alike.
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

/// The same as it is written to disk: moments in seconds since 1970.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::upstream) struct RecordedCalls {
    total: u64,
    recent: Vec<u64>,
}

impl RecordedCalls {
    /// Calls in all.
    pub(in crate::upstream) fn total(&self) -> u64 {
        self.total
    }
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

    /// What is written of it when the clock on the wall shows `wall`.
    pub(in crate::upstream) fn recorded(&self, now: Instant, wall: u64) -> RecordedCalls {
        let calls = self.0.lock();
        let ages = calls.recent.iter();
        let ages = ages.map(|at| now.saturating_duration_since(*at));
        RecordedCalls {
            total: calls.total,
            recent: ages
                .filter(|age| *age < WINDOW)
                .map(|age| wall.saturating_sub(age.as_secs()))
                .collect(),
        }
    }

    /// What was written, read when the clock on the wall shows `wall`. A moment in the future says that the clock was set back, and
    /// counts for nothing.
    pub(in crate::upstream) fn restored(recorded: &RecordedCalls, now: Instant, wall: u64) -> Self {
        let mut ages: Vec<u64> = recorded
            .recent
            .iter()
            .filter_map(|at| wall.checked_sub(*at))
            .collect();
        ages.retain(|age| *age < WINDOW.as_secs());
        ages.sort_unstable();
        ages.truncate(REMEMBERED);
        let ages = ages.into_iter().rev();
        let recent = ages.filter_map(|age| now.checked_sub(Duration::from_secs(age)));
        Self(Guarded::new(Calls {
            total: recorded.total,
            recent: recent.collect(),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WALL: u64 = 1_800_000_000;

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

    #[test]
    fn what_was_written_counts_on_by_the_clock_on_the_wall() {
        let (before, start) = (CallHistory::default(), Instant::now());
        for n in 0..6 {
            before.note(start + minutes(n * 10));
        }
        let recorded = before.recorded(start + minutes(50), WALL);
        let text = serde_json::to_string(&recorded).expect("JSON");
        let recorded: RecordedCalls = serde_json::from_str(&text).expect("the same");
        // The daemon was down for half an hour, and its clock begins anew.
        let again = start + minutes(10_000);
        let after = CallHistory::restored(&recorded, again, WALL + 30 * 60);
        let expected = Frequency {
            last_hour: 3,
            total: 6,
        };
        assert_eq!(after.frequency(again), expected);
        assert_eq!(after.frequency(again + minutes(10)).last_hour, 2);
        after.note(again + minutes(10));
        assert_eq!(after.frequency(again + minutes(10)).last_hour, 3);
    }

    #[test]
    fn what_cannot_be_is_left_out() {
        let recorded = RecordedCalls {
            total: u64::MAX,
            recent: (0..1_000).map(|n| WALL + 500 - n).collect(),
        };
        let now = Instant::now();
        let history = CallHistory::restored(&recorded, now, WALL);
        history.note(now);
        let frequency = history.frequency(now);
        assert_eq!(frequency.last_hour, REMEMBERED);
        assert_eq!(frequency.total, u64::MAX);
        let past = CallHistory::restored(&recorded, now, WALL - 1_000);
        assert_eq!(past.frequency(now).last_hour, 0, "all of it is to come");
    }
}
