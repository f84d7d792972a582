//! When something falls due for a connected server. Pure: the worker owns the clock and does what is due.

use std::time::{Duration, Instant};

/// Rapid `list_changed` notifications become one listing.
const COALESCE: Duration = Duration::from_millis(250);

/// Limit: the longest pause between listings of a server that says all the time that its lists changed.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// A change that is announced so soon after a listing follows it at once, and in the long run the pause grows; while it is longer, so is
/// this.
const AT_ONCE: Duration = Duration::from_secs(2);

/// So many listings may follow each other without a longer pause: people and programs change several things in a row.
const FREE_FOLLOW_UPS: u32 = 4;

/// How often things are done. Made anew from the settings each time, so that an edit counts at once.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cadence {
    /// Looking whether it is idle.
    pub(super) idle_check: Duration,
    /// Looking whether it lives.
    pub(super) ping: Duration,
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
    /// Look whether it lives.
    Ping,
    /// Look whether it is idle.
    IdleCheck,
}

/// When things were done last, and what is requested.
#[derive(Debug)]
pub(super) struct Schedule {
    relist_at: Option<Instant>,
    /// Somebody waits for it, so it is not put off.
    is_urgent: bool,
    /// From the end of a listing to the next one that the server asks for.
    pause: Duration,
    /// How many listings in a row followed the one before them at once.
    follow_ups: u32,
    /// When a listing that was asked for ended last.
    relisted: Option<Instant>,
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
            is_urgent: false,
            pause: COALESCE,
            follow_ups: 0,
            relisted: None,
            listing: false,
            listed: now,
            pinged: now,
            checked: now,
        }
    }

    /// The server says that a list changed. Whether it is the first to say so since the last listing began.
    pub(super) fn list_soon(&mut self, now: Instant) -> bool {
        if self.relist_at.is_some() {
            return false;
        }
        let close = AT_ONCE.max(self.pause * 4);
        let follows = self.listing || self.relisted.is_some_and(|at| now < at + close);
        self.follow_ups = if follows {
            self.follow_ups.saturating_add(1)
        } else {
            0
        };
        self.pause = if self.follow_ups > FREE_FOLLOW_UPS {
            LONGEST_PAUSE.min(self.pause * 2)
        } else {
            COALESCE
        };
        let soonest = self.relisted.map(|at| at + self.pause);
        self.relist_at = Some((now + COALESCE).max(soonest.unwrap_or(now)));
        true
    }

    /// Everything the server said before may be wrong, and somebody waits to know.
    pub(super) fn list_now(&mut self, now: Instant) {
        self.relist_at = Some(now);
        self.is_urgent = true;
    }

    /// The server may be gone: ask at once.
    pub(super) fn ping_now(&mut self, now: Instant, cadence: Cadence) {
        self.pinged = now.checked_sub(cadence.ping).unwrap_or(now);
    }

    /// The listing that ran has ended.
    pub(super) fn listing_ended(&mut self, now: Instant) {
        self.listing = false;
        self.listed = now;
        self.relisted = Some(now);
        if let Some(at) = &mut self.relist_at
            && !self.is_urgent
        {
            *at = (now + self.pause).max(*at);
        }
    }

    /// The next moment at which something is due.
    pub(super) fn next(&self, cadence: Cadence) -> Instant {
        let listing = [
            self.relist_at,
            cadence.poll.map(|every| self.listed + every),
        ];
        let listing = listing.into_iter().flatten().min();
        let upkeep = (self.checked + cadence.idle_check).min(self.pinged + cadence.ping);
        let listing = listing.filter(|_| !self.listing);
        listing.map_or(upkeep, |listing| listing.min(upkeep))
    }

    /// What is due now, one thing at a time; it counts as begun.
    pub(super) fn take(&mut self, now: Instant, cadence: Cadence) -> Option<Due> {
        if !self.listing && self.relist_at.is_some_and(|at| at <= now) {
            (self.relist_at, self.is_urgent, self.listing) = (None, false, true);
            return Some(Due::Relist);
        }
        if !self.listing && cadence.poll.is_some_and(|every| self.listed + every <= now) {
            self.listing = true;
            return Some(Due::Poll);
        }
        if self.pinged + cadence.ping <= now {
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
        ping: Duration::from_secs(20),
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
        assert_eq!(schedule.take(later, CADENCE), None);
        let paused = later + COALESCE;
        assert_eq!(schedule.next(CADENCE), paused);
        assert_eq!(schedule.take(paused, CADENCE), Some(Due::Relist));
    }

    /// How long after the start listings begin, of a server that announces a change at each of these moments; a listing takes 100 ms.
    /// All in milliseconds.
    fn begun(announced: impl Iterator<Item = u64>) -> Vec<u64> {
        let start = Instant::now();
        let none = Cadence {
            idle_check: Duration::from_hours(24),
            ping: Duration::from_hours(24),
            poll: None,
        };
        let mut schedule = Schedule::new(start);
        let (mut begun, mut ends) = (Vec::new(), None);
        let mut announced = announced.peekable();
        for ms in 0..600_000 {
            let now = start + Duration::from_millis(ms);
            if ends == Some(ms) {
                schedule.listing_ended(now);
                ends = None;
            }
            if announced.next_if_eq(&ms).is_some() {
                schedule.list_soon(now);
            }
            if schedule.take(now, none).is_some() {
                begun.push(ms);
                ends = Some(ms + 100);
            }
        }
        begun
    }

    #[test]
    fn listings_that_follow_at_once_are_put_further_and_further_apart() {
        let storm = begun((0..120_000).step_by(50));
        let expected = [
            250, 600, 950, 1_300, 1_650, 2_250, 3_350, 5_450, 9_550, 17_650, 33_750, 63_850,
            93_950, 124_050,
        ];
        assert_eq!(storm, expected);
        // Who changes now and then is listed at once each time, and so is the second of two changes.
        let seldom = begun([1_000, 6_000, 6_200, 10_000].into_iter());
        assert_eq!(seldom, [1_250, 6_250, 10_250]);
        let twice = begun([1_000, 1_500].into_iter());
        assert_eq!(twice, [1_250, 1_750]);
        // After a storm, too, when it was quiet for a while.
        let again = begun((0..120_000).step_by(50).chain([400_000]));
        assert_eq!(again.last(), Some(&400_250));
    }

    #[test]
    fn who_waits_for_a_listing_is_not_put_off() {
        let start = Instant::now();
        let mut schedule = Schedule::new(start);
        schedule.list_now(start);
        assert_eq!(schedule.take(start, CADENCE), Some(Due::Relist));
        schedule.list_soon(start);
        schedule.list_now(start);
        schedule.listing_ended(start);
        assert_eq!(schedule.take(start, CADENCE), Some(Due::Relist));
    }

    #[test]
    fn an_edit_of_the_settings_counts_at_once() {
        let start = Instant::now();
        let mut schedule = Schedule::new(start);
        let quick = Cadence {
            idle_check: Duration::from_secs(1),
            ping: Duration::from_hours(24),
            poll: None,
        };
        assert_eq!(schedule.next(quick), start + Duration::from_secs(1));
        schedule.ping_now(start, CADENCE);
        assert_eq!(schedule.take(start, CADENCE), Some(Due::Ping));
    }
}
