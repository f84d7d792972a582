//! When something falls due for a connected server. Pure: the worker owns the clock and does what is due.

use std::time::{Duration, Instant};

/// Rapid `list_changed` notifications become one listing.
const COALESCE: Duration = Duration::from_millis(250);

/// How often things are done. Made anew from the settings each time, so that an edit counts at once.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cadence {
    /// Looking whether it is idle.
    pub(super) idle_check: Duration,
    /// Asking for a sign of life, where that is done.
    pub(super) ping: Option<Duration>,
    /// Listing a server whether or not it says when its lists change.
    pub(super) poll: Option<Duration>,
}

/// What is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Due {
    /// List again, because the server said so.
    Relist,
    /// List again, because it is time.
    Poll,
    /// Ask for a sign of life.
    Ping,
    /// Look whether it is idle.
    IdleCheck,
}

/// When things were done last, and what is requested.
#[derive(Debug)]
pub(super) struct Schedule {
    relist_at: Option<Instant>,
    /// A listing is running. What is requested meanwhile waits for its end.
    listing: bool,
    listed: Instant,
    pinged: Instant,
    checked: Instant,
}

impl Schedule {
    /// That of a connection made now.
    pub(super) fn new(now: Instant) -> Self {
        Self {
            relist_at: None,
            listing: false,
            listed: now,
            pinged: now,
            checked: now,
        }
    }

    /// The server says that a list changed. Whether it is the first to say so since the last listing began.
    pub(super) fn list_soon(&mut self, now: Instant) -> bool {
        let first = self.relist_at.is_none();
        self.relist_at.get_or_insert(now + COALESCE);
        first
    }

    /// Everything the server said before may be wrong.
    pub(super) fn list_now(&mut self, now: Instant) {
        self.relist_at = Some(now);
    }

    /// The server may be gone: ask at once.
    pub(super) fn ping_now(&mut self, now: Instant, cadence: Cadence) {
        if let Some(interval) = cadence.ping {
            self.pinged = now.checked_sub(interval).unwrap_or(now);
        }
    }

    /// The listing that ran has ended.
    pub(super) fn listing_ended(&mut self, now: Instant) {
        self.listing = false;
        self.listed = now;
    }

    /// The next moment at which something is due.
    pub(super) fn next(&self, cadence: Cadence) -> Instant {
        let listing = [
            self.relist_at,
            cadence.poll.map(|every| self.listed + every),
        ];
        let listing = listing.into_iter().flatten().min();
        [
            listing.filter(|_| !self.listing),
            cadence.ping.map(|every| self.pinged + every),
        ]
        .into_iter()
        .flatten()
        .fold(self.checked + cadence.idle_check, Instant::min)
    }

    /// What is due now, one thing at a time; it counts as begun.
    pub(super) fn take(&mut self, now: Instant, cadence: Cadence) -> Option<Due> {
        if !self.listing && self.relist_at.is_some_and(|at| at <= now) {
            (self.relist_at, self.listing) = (None, true);
            return Some(Due::Relist);
        }
        if !self.listing && cadence.poll.is_some_and(|every| self.listed + every <= now) {
            self.listing = true;
            return Some(Due::Poll);
        }
        if cadence.ping.is_some_and(|every| self.pinged + every <= now) {
            self.pinged = now;
            return Some(Due::Ping);
        }
        if self.checked + cadence.idle_check <= now {
            self.checked = now;
            return Some(Due::IdleCheck);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CADENCE: Cadence = Cadence {
        idle_check: Duration::from_secs(30),
        ping: Some(Duration::from_secs(20)),
        poll: Some(Duration::from_mins(5)),
    };

    #[test]
    fn everything_comes_in_its_time() {
        let start = Instant::now();
        let mut schedule = Schedule::new(start);
        let mut seen = Vec::new();
        for _ in 0..6 {
            let at = schedule.next(CADENCE);
            let due = schedule.take(at, CADENCE).expect("it is due then");
            seen.push((due, at.duration_since(start).as_secs()));
        }
        let expected = [
            (Due::Ping, 20),
            (Due::IdleCheck, 30),
            (Due::Ping, 40),
            (Due::Ping, 60),
            (Due::IdleCheck, 60),
            (Due::Ping, 80),
        ];
        assert_eq!(seen, expected);
        assert_eq!(schedule.take(start, CADENCE), None);
    }

    #[test]
    fn a_storm_of_changes_is_one_listing_and_one_more_after_it() {
        let start = Instant::now();
        let mut schedule = Schedule::new(start);
        assert!(schedule.list_soon(start));
        assert!(!schedule.list_soon(start + COALESCE / 2));
        assert_eq!(schedule.next(CADENCE), start + COALESCE);
        assert_eq!(schedule.take(start + COALESCE, CADENCE), Some(Due::Relist));
        let while_listing = start + COALESCE * 2;
        assert!(schedule.list_soon(while_listing));
        // Nothing is due before the listing has ended, however long that takes: who waits must not wake in vain.
        let later = while_listing + COALESCE;
        assert_eq!(schedule.take(later, CADENCE), None);
        assert!(schedule.next(CADENCE) > later);
        schedule.listing_ended(later);
        assert_eq!(schedule.take(later, CADENCE), Some(Due::Relist));
    }

    #[test]
    fn an_edit_of_the_settings_counts_at_once() {
        let start = Instant::now();
        let mut schedule = Schedule::new(start);
        let quick = Cadence {
            idle_check: Duration::from_secs(1),
            ping: None,
            poll: None,
        };
        assert_eq!(schedule.next(quick), start + Duration::from_secs(1));
        schedule.ping_now(start, CADENCE);
        assert_eq!(schedule.take(start, CADENCE), Some(Due::Ping));
    }
}
