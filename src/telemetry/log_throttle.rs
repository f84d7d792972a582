//! Bounds how often one thing is logged that somebody else can cause as often as they like: the first time is a line, and after that
//! one line a minute at most, which says how often it was.

use std::time::{Duration, Instant};

use crate::runtime::sync::Guarded;

/// The shortest time between two lines about the same thing.
const BETWEEN: Duration = Duration::from_mins(1);

/// Counts one kind of thing.
#[derive(Debug, Default)]
pub struct LogThrottle(Guarded<Counted>);

#[derive(Debug, Default)]
struct Counted {
    logged: Option<Instant>,
    /// How often since then.
    since: u64,
}

impl LogThrottle {
    /// It happened. Gives how often it did since the last line, this time included, if it is time for another line.
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
}
