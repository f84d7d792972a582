//! Bounds log lines that clients or servers can cause as often as they like: the first event is logged, and then at most one line a minute,
//! with the number of events since the line before.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use crate::runtime::sync::Guarded;

/// The shortest time between two lines about the same thing.
const BETWEEN: Duration = Duration::from_mins(1);

/// Counts events of one kind.
#[derive(Debug, Default)]
pub struct LogThrottle(Guarded<Counted>);

#[derive(Debug, Default)]
struct Counted {
    logged: Option<Instant>,
    /// The number of events since then.
    since: u64,
}

impl LogThrottle {
    /// Counts an event. If a line is due: the number of events since the last line, with this one.
    pub fn due(&self) -> Option<u64> {
        self.due_at(Instant::now())
    }

    fn due_at(&self, now: Instant) -> Option<u64> {
        let mut counted = self.0.lock();
        counted.since += 1;
        if counted
            .logged
            .is_some_and(|logged| now.saturating_duration_since(logged) < BETWEEN)
        {
            return None;
        }
        counted.logged = Some(now);
        Some(std::mem::take(&mut counted.since))
    }
}

/// Limit: causes that are counted apart, so that clients cannot fill the memory with names. The others are counted together.
pub const COUNTED_APART: usize = 256;

/// Counts events of one kind apart for each cause, such as each caller.
#[derive(Debug, Default)]
pub struct LogThrottles {
    apart: Guarded<HashMap<Box<str>, LogThrottle>>,
    together: LogThrottle,
}

impl LogThrottles {
    /// Counts an event with this cause. If a line is due: the cause, or `None` for those that are counted together, and the number of events.
    pub fn due<'c>(&self, cause: &'c str) -> Option<(Option<&'c str>, u64)> {
        let mut apart = self.apart.lock();
        let (whose, limit) = if apart.contains_key(cause) || apart.len() < COUNTED_APART {
            (Some(cause), &*apart.entry(cause.into()).or_default())
        } else {
            (None, &self.together)
        };
        Some((whose, limit.due()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_a_line_a_minute_and_none_is_left_out_of_the_count() {
        let (limit, start) = (LogThrottle::default(), Instant::now());
        let lines: Vec<_> = (0..150)
            .filter_map(|second| limit.due_at(start + Duration::from_secs(second)))
            .collect();
        assert_eq!(lines, [1, 60, 60]);
        assert_eq!(limit.due_at(start + Duration::from_hours(9)), Some(30));
    }

    #[test]
    fn a_flood_is_a_line_for_each_cause_and_one_for_all_beyond_the_limit() {
        let throttles = LogThrottles::default();
        let mut due = Vec::new();
        let callers: Vec<String> = (0..COUNTED_APART + 10).map(|n| n.to_string()).collect();
        for caller in &callers {
            due.extend((0..3).filter_map(|_| throttles.due(caller)));
        }
        assert_eq!(due.len(), COUNTED_APART + 1);
        assert_eq!(due[0], (Some("0"), 1));
        assert_eq!(due[COUNTED_APART], (None, 1));
    }
}
