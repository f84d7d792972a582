//! How much one upstream is used, and when it has been idle long enough to be put to sleep.

use std::{
    collections::VecDeque,
    sync::atomic::{AtomicUsize, Ordering, fence},
    time::{Duration, Instant},
};

use crate::{config::IdleTimeout, sync::Guarded};

/// More calls an hour than this make a server hot.
const HOT: usize = 20;
/// Fewer calls an hour than this make it cold.
const WARM: usize = 5;
/// The window in which calls are counted.
const WINDOW: Duration = Duration::from_hours(1);

/// Calls of one upstream. Outlives its connections, so that the adaptive idle time does not start over.
#[derive(Default)]
pub(in crate::upstream) struct Usage {
    in_flight: AtomicUsize,
    calls: Guarded<Calls>,
}

#[derive(Default)]
struct Calls {
    total: u64,
    /// The last calls, as many as are needed to tell hot from warm.
    recent: VecDeque<Instant>,
    last_end: Option<Instant>,
}

impl Usage {
    /// Counts a call that begins. A caller that counts before it looks for a connection either finds none that is being put to sleep,
    /// or is included in [`Usage::in_flight`].
    pub(in crate::upstream) fn begin(&self, now: Instant) {
        self.in_flight.fetch_add(1, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        let mut calls = self.calls.lock();
        calls.total += 1;
        if calls.recent.len() > HOT {
            calls.recent.pop_front();
        }
        calls.recent.push_back(now);
    }

    /// Notes its end.
    pub(in crate::upstream) fn end(&self, now: Instant) {
        self.calls.lock().last_end = Some(now);
        self.in_flight.fetch_sub(1, Ordering::SeqCst);
    }

    /// How many calls are in flight.
    pub(in crate::upstream) fn in_flight(&self) -> usize {
        fence(Ordering::SeqCst);
        self.in_flight.load(Ordering::SeqCst)
    }

    /// Whether a connection that is ready since `ready_since` has been idle long enough at `now`.
    pub(in crate::upstream) fn is_idle(
        &self,
        policy: &IdleTimeout,
        ready_since: Instant,
        now: Instant,
    ) -> bool {
        if self.in_flight() > 0 {
            return false;
        }
        let calls = self.calls.lock();
        let last_hour = calls
            .recent
            .iter()
            .filter(|at| now.duration_since(**at) < WINDOW)
            .count();
        let since = calls
            .last_end
            .map_or(ready_since, |end| end.max(ready_since));
        timeout(policy, last_hour, calls.total)
            .is_some_and(|timeout| now.duration_since(since) >= timeout)
    }
}

/// The idle time for so many calls in the last hour and in all; `None` is for ever.
fn timeout(policy: &IdleTimeout, last_hour: usize, total: u64) -> Option<Duration> {
    let minutes = |n: u64| Duration::from_secs(60 * n);
    match policy {
        IdleTimeout::Never => None,
        IdleTimeout::After(time) => Some(*time),
        IdleTimeout::Adaptive { min, .. } if total < 2 => Some(*min),
        IdleTimeout::Adaptive { min, max } => {
            let time = match last_hour {
                n if n > HOT => minutes(5),
                n if n >= WARM => minutes(3),
                _ => minutes(1),
            };
            Some(time.clamp(*min, (*max).max(*min)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADAPTIVE: IdleTimeout = IdleTimeout::Adaptive {
        min: Duration::from_mins(1),
        max: Duration::from_mins(5),
    };

    #[test]
    fn the_busier_the_longer() {
        let check = |last_hour, total, secs| {
            assert_eq!(
                timeout(&ADAPTIVE, last_hour, total),
                Some(Duration::from_secs(secs))
            );
        };
        check(0, 0, 60);
        check(1, 1, 60);
        check(4, 9, 60);
        check(5, 9, 180);
        check(20, 50, 180);
        check(21, 50, 300);
        assert_eq!(timeout(&IdleTimeout::Never, 0, 0), None);
        let fixed = IdleTimeout::After(Duration::from_secs(7));
        assert_eq!(timeout(&fixed, 100, 100), Some(Duration::from_secs(7)));
    }

    #[test]
    fn a_call_in_flight_keeps_awake() {
        let (usage, start) = (Usage::default(), Instant::now());
        let later = start + Duration::from_mins(10);
        usage.begin(start);
        assert!(!usage.is_idle(&ADAPTIVE, start, later));
        usage.end(later);
        assert!(!usage.is_idle(&ADAPTIVE, start, later + Duration::from_secs(59)));
        assert!(usage.is_idle(&ADAPTIVE, start, later + Duration::from_mins(1)));
    }
}
