//! The oldest announced list change that has not been read. The worker writes it, and each call reads it, which costs one atomic load while
//! there is none.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

/// A change that was announced this long ago is read before a call is sent. Calls are checked against a changed definition within a second
/// of its notification, so this is less by what a listing may take.
const OVERDUE: Duration = Duration::from_millis(750);

/// The oldest announcement that no listing covers which has ended.
pub(in crate::upstream) struct UnreadChange {
    origin: Instant,
    /// Microseconds from the origin, plus one; 0 while there is none.
    since: AtomicU64,
}

impl UnreadChange {
    /// None yet, on a connection made now.
    pub(in crate::upstream) fn new(now: Instant) -> Self {
        Self {
            origin: now,
            since: AtomicU64::new(0),
        }
    }

    /// Notes what is unread now.
    pub(in crate::upstream) fn note(&self, since: Option<Instant>) {
        let since = since.map_or(0, |since| {
            let passed = since.saturating_duration_since(self.origin).as_micros();
            u64::try_from(passed).unwrap_or(u64::MAX).saturating_add(1)
        });
        self.since.store(since, Ordering::Relaxed);
    }

    /// Whether anything was announced that has not been read.
    pub(in crate::upstream) fn is_any(&self) -> bool {
        self.since.load(Ordering::Relaxed) != 0
    }

    /// Whether a call has to wait until the lists have been read.
    pub(in crate::upstream) fn is_overdue(&self) -> bool {
        let since = self.since.load(Ordering::Relaxed);
        since != 0 && self.is_overdue_at(since, Instant::now())
    }

    fn is_overdue_at(&self, since: u64, now: Instant) -> bool {
        let passed = now.saturating_duration_since(self.origin);
        passed >= Duration::from_micros(since - 1) + OVERDUE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_announced_a_moment_ago_holds_nobody_up() {
        let start = Instant::now();
        let unread = UnreadChange::new(start);
        assert!(!unread.is_overdue());
        let said = start + Duration::from_secs(5);
        unread.note(Some(said));
        let since = unread.since.load(Ordering::Relaxed);
        assert!(!unread.is_overdue_at(since, said));
        assert!(!unread.is_overdue_at(since, said + OVERDUE / 2));
        assert!(unread.is_overdue_at(since, said + OVERDUE));
        unread.note(None);
        assert!(!unread.is_overdue());
        // Said at the very beginning it counts as well.
        unread.note(Some(start));
        assert_ne!(unread.since.load(Ordering::Relaxed), 0);
    }
}
