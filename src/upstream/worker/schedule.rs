//! When something falls due for a connected server. Pure: the worker owns the clock and does what is due.

use std::{
    hash::{BuildHasher, RandomState},
    time::{Duration, Instant},
};

/// How long to wait after a `list_changed` notification, so that several in a row become one listing.
const COALESCE: Duration = Duration::from_millis(250);

/// The longest pause between listings of a server that says all the time that its lists changed.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// The longest pause after a listing that took next to no time: what is announced then is known within a second, however often.
const CHEAP_PAUSE: Duration = Duration::from_millis(700);

/// The pause grows up to so many times what a listing takes, so that listings take a twentieth of the time.
const COST_FACTOR: u32 = 20;

/// The longest pause before a listing that a call waits for. Up to this it is as long as the last listing took, so that such listings
/// take at most half of the time.
const LONGEST_REST: Duration = Duration::from_secs(5);

/// A change that is announced this soon after a listing counts as a follow-up, and many of them in a row make the pause grow. Never less
/// than four times the pause.
const FOLLOW_UP: Duration = Duration::from_secs(2);

/// So many follow-ups in a row do not make the pause longer: people and programs change several things in a row.
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
    /// List again, because the server announced a change.
    Relist,
    /// List again, because it is time.
    Poll,
    /// Look whether it lives.
    Ping,
    /// Look whether it is idle.
    IdleCheck,
}

/// Why a listing is requested, the least urgent first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Urgency {
    /// The server announced that its lists changed.
    Announced,
    /// A call waits until that has been read.
    Called,
    /// Whatever is known may be wrong.
    AtOnce,
}

/// When things were done last, and what is requested.
#[derive(Debug)]
pub(super) struct Schedule {
    relist_at: Option<Instant>,
    urgency: Urgency,
    /// From the end of a listing to the next one that the server asks for.
    pause: Duration,
    /// How many changes in a row were announced soon after the listing before them.
    follow_ups: u32,
    /// When a listing on request ended last.
    relisted: Option<Instant>,
    /// When the listing began that runs. What is requested meanwhile waits for its end.
    began: Option<Instant>,
    /// How long the last one took.
    cost: Duration,
    /// The oldest announcement since the last listing began.
    announced: Option<Instant>,
    /// The oldest announcement before the listing that runs.
    being_read: Option<Instant>,
    /// The same two moments, of announcements that came over this connection alone.
    announced_here: Option<Instant>,
    being_read_here: Option<Instant>,
    /// When the newest listing that has ended began.
    read: Instant,
    listed: Instant,
    pinged: Instant,
    checked: Instant,
}

impl Schedule {
    /// The schedule of a connection made now.
    pub(super) fn new(now: Instant) -> Self {
        Self {
            relist_at: None,
            urgency: Urgency::Announced,
            pause: COALESCE,
            follow_ups: 0,
            relisted: None,
            began: None,
            cost: Duration::ZERO,
            announced: None,
            being_read: None,
            announced_here: None,
            being_read_here: None,
            read: now,
            listed: now,
            pinged: now,
            checked: now,
        }
    }

    /// The server announced over this connection that a list changed. Gives whether no listing was requested yet.
    pub(super) fn list_soon(&mut self, now: Instant) -> bool {
        self.announced_here.get_or_insert(now);
        self.announced.get_or_insert(now);
        if self.relist_at.is_some() {
            return false;
        }
        let window = FOLLOW_UP.max(self.pause * 4);
        let follows = self.began.is_some() || self.relisted.is_some_and(|at| now < at + window);
        self.follow_ups = if follows {
            self.follow_ups.saturating_add(1)
        } else {
            0
        };
        self.pause = if self.follow_ups > FREE_FOLLOW_UPS {
            self.longest_pause().min(self.pause * 2)
        } else {
            COALESCE
        };
        let soonest = self.relisted.map(|at| at + self.pause);
        self.relist_at = Some((now + COALESCE).max(soonest.unwrap_or(now)));
        true
    }

    /// The server announced over another connection that a list changed. Gives whether the lists were read here before that.
    pub(super) fn list_as_elsewhere(&mut self, announced: Instant, now: Instant) -> bool {
        let is_older = self.began.unwrap_or(self.read) < announced;
        if is_older {
            // The other connection has already waited for the pause.
            self.announced.get_or_insert(now);
            let at = now + COALESCE;
            self.relist_at = Some(self.relist_at.map_or(at, |known| known.min(at)));
        }
        is_older
    }

    /// The oldest announcement over this connection that the listing which runs will have read.
    pub(super) fn being_read_here(&self) -> Option<Instant> {
        self.being_read_here
    }

    /// The lists may be wrong, and somebody waits for them.
    pub(super) fn list_now(&mut self, now: Instant) {
        self.announced.get_or_insert(now);
        self.relist_at = Some(now);
        self.urgency = Urgency::AtOnce;
    }

    /// A call waits until all announced changes have been read. Gives whether the listing that runs reads them; else the next one is
    /// brought forward.
    pub(super) fn list_for_call(&mut self, now: Instant) -> bool {
        if self.began.is_some() && self.announced.is_none() {
            return true;
        }
        let soonest = self.relisted.map_or(now, |at| at + self.rest());
        let at = self
            .relist_at
            .map_or(now.max(soonest), |at| at.min(now.max(soonest)));
        self.relist_at = Some(at);
        self.urgency = self.urgency.max(Urgency::Called);
        false
    }

    /// The oldest announcement of a change that has not been read yet.
    pub(super) fn unread(&self) -> Option<Instant> {
        self.being_read.or(self.announced)
    }

    fn longest_pause(&self) -> Duration {
        (self.cost * COST_FACTOR).clamp(CHEAP_PAUSE, LONGEST_PAUSE)
    }

    /// From the end of a listing to the next one that a call waits for: as long as the listing took.
    fn rest(&self) -> Duration {
        self.cost.min(LONGEST_REST)
    }

    /// The server may be gone: a sign of life is due at once.
    pub(super) fn ping_now(&mut self, now: Instant, cadence: Cadence) {
        self.pinged = now.checked_sub(cadence.ping).unwrap_or(now);
    }

    /// The listing that ran has ended, and what it brought is taken in.
    pub(super) fn listing_ended(&mut self, now: Instant) {
        if let Some(began) = self.began.take() {
            self.cost = now.saturating_duration_since(began);
            self.read = began;
        }
        self.being_read = None;
        self.being_read_here = None;
        self.listed = now;
        self.relisted = Some(now);
        self.pause = self.pause.min(self.longest_pause());
        let rest = match self.urgency {
            Urgency::Announced => self.pause,
            Urgency::Called => self.rest(),
            Urgency::AtOnce => return,
        };
        if let Some(at) = &mut self.relist_at {
            *at = (now + rest).max(*at);
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
        let listing = listing.filter(|_| self.began.is_none());
        listing.map_or(upkeep, |listing| listing.min(upkeep))
    }

    /// What is due now, one thing at a time; it counts as begun.
    pub(super) fn take(&mut self, now: Instant, cadence: Cadence) -> Option<Due> {
        if self.began.is_none() && self.relist_at.is_some_and(|at| at <= now) {
            (self.relist_at, self.urgency) = (None, Urgency::Announced);
            self.begin_listing(now);
            return Some(Due::Relist);
        }
        if self.began.is_none() && cadence.poll.is_some_and(|every| self.listed + every <= now) {
            self.begin_listing(now);
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

    fn begin_listing(&mut self, now: Instant) {
        self.began = Some(now);
        self.being_read = self.announced.take();
        self.being_read_here = self.announced_here.take();
    }
}

/// The pause and up to a quarter more at random, so that servers which failed together are not tried again at the same moment.
pub(super) fn jittered(pause: Duration) -> Duration {
    let percent = RandomState::new().hash_one(0_u8) % 26;
    pause + pause * u32::try_from(percent).unwrap_or(0) / 100
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

    /// How long after the start listings begin, of a server that announces a change at each of these moments, and of which a listing takes
    /// this long. All in milliseconds.
    fn begun(cost: u64, announced: impl Iterator<Item = u64>) -> Vec<u64> {
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
                ends = Some(ms + cost);
            }
        }
        begun
    }

    fn storm() -> impl Iterator<Item = u64> {
        (0..120_000).step_by(50)
    }

    #[test]
    fn long_listings_that_follow_at_once_are_put_further_and_further_apart() {
        let expected = [
            250, 2_500, 4_750, 7_000, 9_250, 11_750, 14_750, 18_750, 24_750, 34_750, 52_750,
            84_750, 116_750, 148_750,
        ];
        assert_eq!(begun(2_000, storm()), expected);
        // Who changes now and then is listed at once each time, and so is the second of two changes.
        let seldom = begun(100, [1_000, 6_000, 6_200, 10_000].into_iter());
        assert_eq!(seldom, [1_250, 6_250, 10_250]);
        let twice = begun(100, [1_000, 1_500].into_iter());
        assert_eq!(twice, [1_250, 1_750]);
        // After a storm, too, when it was quiet for a while.
        let again = begun(2_000, storm().chain([400_000]));
        assert_eq!(again.last(), Some(&400_250));
    }

    #[test]
    fn what_is_announced_is_known_within_a_second_where_listings_are_short() {
        for step in [50, 300, 500, 2_000] {
            let listings = begun(10, (0..120_000).step_by(step));
            for said in (0..120_000).step_by(step) {
                let read = listings.iter().find(|began| **began >= said);
                let read = read.expect("it is read");
                assert!(read + 10 - said < 1_000, "said at {said}, read at {read}");
            }
        }
    }

    #[test]
    fn a_call_waits_for_one_listing_and_listings_take_half_of_the_time() {
        let (start, cost) = (Instant::now(), Duration::from_secs(2));
        let mut schedule = Schedule::new(start);
        let mut now = start;
        for _ in 0..10 {
            // Said while it is listed, so that the next one is put off.
            schedule.list_soon(now);
            now = schedule.next(CADENCE).max(now);
            while schedule.take(now, CADENCE) != Some(Due::Relist) {
                now = schedule.next(CADENCE).max(now);
            }
            schedule.list_soon(now + COALESCE);
            now += cost;
            schedule.listing_ended(now);
        }
        let said = schedule.unread().expect("something is unread");
        assert!(schedule.relist_at.is_some_and(|at| at > now + cost * 4));
        assert!(!schedule.list_for_call(now), "no listing runs");
        assert_eq!(schedule.relist_at, Some(now + cost));
        assert_eq!(schedule.take(now + cost, CADENCE), Some(Due::Relist));
        assert_eq!(schedule.unread(), Some(said), "until it has ended");
        assert!(schedule.list_for_call(now + cost), "the one that runs");
        schedule.list_soon(now + cost);
        assert!(
            !schedule.list_for_call(now + cost),
            "it may have begun before"
        );
        now += cost * 2;
        schedule.listing_ended(now);
        assert_eq!(
            schedule.unread(),
            Some(now.checked_sub(cost).expect("the clock began long ago"))
        );
        assert_eq!(schedule.relist_at, Some(now + cost));
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

    #[test]
    fn pauses_are_longer_at_random_but_not_by_much() {
        let pause = Duration::from_secs(8);
        let drawn: std::collections::BTreeSet<_> = (0..1_000).map(|_| jittered(pause)).collect();
        assert!(drawn.len() > 10, "{drawn:?}");
        assert!(
            drawn
                .iter()
                .all(|drawn| (pause..=pause * 5 / 4).contains(drawn))
        );
    }
}
