//! How much one upstream is used, and when it has been idle long enough to be put to sleep.

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering, fence},
    },
    time::{Duration, Instant},
};

use crate::{config::IdleTimeout, runtime::sync::Guarded};

/// More calls an hour than this make a server hot.
const HOT: usize = 20;

/// Fewer calls an hour than this make it cold.
const WARM: usize = 5;

/// The window in which calls are counted.
const WINDOW: Duration = Duration::from_hours(1);

/// So many of the last calls are remembered: enough to tell a hot server.
const REMEMBERED: usize = HOT + 1;

/// The calls of one upstream. Outlives its connections.
#[derive(Default)]
pub(super) struct Usage {
    in_flight: AtomicUsize,
    /// Calls in flight that wait for their client, not for the server.
    held: AtomicUsize,
    last_end: Guarded<Option<Instant>>,
    history: Arc<CallHistory>,
}

impl Usage {
    /// The usage of an upstream whose server has this history.
    pub(super) fn after(history: Arc<CallHistory>) -> Self {
        Self {
            history,
            ..Self::default()
        }
    }

    /// Counts a call that begins. A caller that counts before it looks for a connection either finds none that is being put to sleep,
    /// or is included in [`Usage::in_flight`].
    pub(super) fn begin(&self, now: Instant) {
        self.in_flight.fetch_add(1, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        self.history.note(now);
    }

    /// Notes the end of a call.
    pub(super) fn end(&self, now: Instant) {
        *self.last_end.lock() = Some(now);
        self.in_flight.fetch_sub(1, Ordering::SeqCst);
    }

    /// How many calls are in flight.
    pub(super) fn in_flight(&self) -> usize {
        fence(Ordering::SeqCst);
        self.in_flight.load(Ordering::SeqCst)
    }

    /// A call begins to wait for its client.
    pub(super) fn hold(&self) {
        self.held.fetch_add(1, Ordering::Relaxed);
    }

    /// It waits for the server again, or is over.
    pub(super) fn resume(&self) {
        self.held.fetch_sub(1, Ordering::Relaxed);
    }

    /// Whether the server may be waiting for an answer of a client.
    pub(super) fn has_held(&self) -> bool {
        self.held.load(Ordering::Relaxed) > 0
    }

    /// Whether a connection that is ready since `ready_since` has been idle long enough at `now`.
    pub(super) fn is_idle(&self, policy: &IdleTimeout, ready_since: Instant, now: Instant) -> bool {
        if self.in_flight() > 0 {
            return false;
        }
        let unused = self.unused_for(ready_since, now);
        timeout(policy, self.history.frequency(now)).is_some_and(|timeout| unused >= timeout)
    }

    /// How long nobody has called over a connection that is ready since `ready_since`, where no call is in flight.
    pub(super) fn unused_for(&self, ready_since: Instant, now: Instant) -> Duration {
        let last_end = *self.last_end.lock();
        let since = last_end.map_or(ready_since, |end| end.max(ready_since));
        now.saturating_duration_since(since)
    }
}

/// How long a server that is called this often may be unused; `None` is for ever.
fn timeout(policy: &IdleTimeout, called: Frequency) -> Option<Duration> {
    let minutes = |n: u64| Duration::from_secs(60 * n);
    match policy {
        IdleTimeout::Never => None,
        IdleTimeout::After(time) => Some(*time),
        IdleTimeout::Adaptive { min, .. } if called.total < 2 => Some(*min),
        IdleTimeout::Adaptive { min, max } => {
            let time = match called.last_hour {
                n if n > HOT => minutes(5),
                n if n >= WARM => minutes(3),
                _ => minutes(1),
            };
            Some(time.clamp(*min, (*max).max(*min)))
        }
    }
}

/// The calls of one server, over all its connections and workers.
#[derive(Debug, Default)]
pub(super) struct CallHistory(Guarded<Calls>);

#[derive(Debug, Default)]
struct Calls {
    total: u64,
    /// When the last [`REMEMBERED`] of them began, oldest first.
    recent: VecDeque<Instant>,
}

/// How often a server is called.
#[derive(Clone, Copy)]
struct Frequency {
    /// Calls in the last hour, [`REMEMBERED`] at most.
    last_hour: usize,
    /// Calls in all.
    total: u64,
}

impl CallHistory {
    /// Counts a call.
    fn note(&self, now: Instant) {
        let mut calls = self.0.lock();
        calls.total = calls.total.saturating_add(1);
        if calls.recent.len() >= REMEMBERED {
            calls.recent.pop_front();
        }
        calls.recent.push_back(now);
    }

    /// How often it was called, as seen at `now`.
    fn frequency(&self, now: Instant) -> Frequency {
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

    fn secs(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    fn adaptive(min: u64, max: u64) -> IdleTimeout {
        IdleTimeout::Adaptive {
            min: secs(min),
            max: secs(max),
        }
    }

    /// The seconds without a call after which a server is idle that had so many calls within the last hour, and so many before that.
    fn idle_after(policy: &IdleTimeout, last_hour: u64, before: u64) -> Option<u64> {
        let (usage, start) = (Usage::default(), Instant::now());
        let busy = start + secs(7200);
        let old = (0..before).map(|n| start + secs(n));
        let recent = (0..last_hour).map(|n| busy + secs(n));
        for at in old.chain(recent) {
            usage.begin(at);
            usage.end(at);
        }
        let since = busy + secs(last_hour.saturating_sub(1));
        let idle_at = |n: &u64| usage.is_idle(policy, busy, since + secs(*n));
        (0..=3600).find(idle_at)
    }

    /// Seed 004, "Adaptive timeout tiers" and "Configuring idle timeout".
    #[test]
    fn servers_are_idle_when_the_table_says() {
        let usual = adaptive(60, 300);
        let table = [
            // Hot: more than 20 calls an hour.
            (usual, 21, 0, Some(300)),
            (usual, 500, 0, Some(300)),
            // Warm: 5 to 20.
            (usual, 20, 0, Some(180)),
            (usual, 5, 0, Some(180)),
            (usual, 5, 400, Some(180)),
            // Cold: fewer than 5.
            (usual, 4, 0, Some(60)),
            (usual, 2, 0, Some(60)),
            (usual, 0, 400, Some(60)),
            // Fewer than 2 requests in all: the minimum.
            (usual, 0, 0, Some(60)),
            (usual, 1, 0, Some(60)),
            (adaptive(10, 300), 1, 0, Some(10)),
            (adaptive(90, 300), 1, 0, Some(90)),
            // From the second on the tier counts, within the bounds.
            (adaptive(10, 300), 2, 0, Some(60)),
            (adaptive(10, 300), 1, 1, Some(60)),
            (adaptive(90, 300), 2, 0, Some(90)),
            (adaptive(240, 300), 5, 0, Some(240)),
            (adaptive(10, 120), 5, 0, Some(120)),
            (adaptive(10, 120), 21, 0, Some(120)),
            (adaptive(10, 30), 4, 0, Some(30)),
            (adaptive(600, 900), 21, 0, Some(600)),
            // "never", and fixed times, whatever the use.
            (IdleTimeout::Never, 0, 0, None),
            (IdleTimeout::Never, 500, 0, None),
            (IdleTimeout::After(secs(120)), 0, 0, Some(120)),
            (IdleTimeout::After(secs(30)), 500, 0, Some(30)),
            (IdleTimeout::After(secs(3600)), 1, 0, Some(3600)),
        ];
        for (policy, last_hour, before, expected) in table {
            let found = idle_after(&policy, last_hour, before);
            assert_eq!(
                found, expected,
                "{policy:?}, {last_hour} and {before} calls"
            );
        }
    }

    #[test]
    fn a_server_cools_down_while_it_runs() {
        let (usage, start) = (Usage::default(), Instant::now());
        for n in 0..21 {
            usage.begin(start + secs(n * 60));
            usage.end(start + secs(n * 60));
        }
        let usual = adaptive(60, 300);
        // The first of them is more than an hour ago, so it is warm; then cold.
        let is_idle =
            |ready: u64, now: u64| usage.is_idle(&usual, start + secs(ready), start + secs(now));
        assert!(!is_idle(3_400, 3_590) && is_idle(3_420, 3_600));
        assert!(!is_idle(4_700, 4_750) && is_idle(4_700, 4_760));
    }

    #[test]
    fn a_call_in_flight_keeps_awake_however_long_it_takes() {
        let usual = adaptive(60, 300);
        let (usage, start) = (Usage::default(), Instant::now());
        let later = start + secs(24 * 3600);
        usage.begin(start);
        assert!(!usage.is_idle(&usual, start, later));
        usage.end(later);
        assert!(!usage.is_idle(&usual, start, later + secs(59)));
        assert!(usage.is_idle(&usual, start, later + secs(60)));
    }

    #[test]
    fn what_is_known_of_earlier_calls_counts() {
        let history = Arc::new(CallHistory::default());
        let start = Instant::now();
        for n in 0..30 {
            history.note(start + secs(n));
        }
        let usage = Usage::after(history);
        let usual = adaptive(60, 300);
        assert!(!usage.is_idle(&usual, start + secs(30), start + secs(329)));
        assert!(usage.is_idle(&usual, start + secs(30), start + secs(330)));
    }

    #[test]
    fn calls_count_for_an_hour() {
        let minutes = |n: u64| secs(60 * n);
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
