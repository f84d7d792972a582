//! The ids of ended sessions, which must not be continued. Expired ids need no entry. When there are too many, those that expire first are
//! replaced by a floor: no id that expires by that moment is continued.

use std::collections::HashMap;

use super::{RecordedSession, SessionDigest};

/// Limit: ids with an entry of their own. They take 2.4 MB on disk.
pub(super) const MAX_IDS: usize = 100_000;

/// The ids that have ended.
#[derive(Default, Clone)]
pub(super) struct EndedIds {
    by_digest: HashMap<SessionDigest, u32>,
    /// No id that expires by then is continued. In seconds since 1970.
    floor: u32,
}

impl EndedIds {
    /// No ids, and this floor.
    pub(super) fn above(floor: u32) -> Self {
        Self {
            by_digest: HashMap::new(),
            floor,
        }
    }

    pub(super) fn floor(&self) -> u32 {
        self.floor
    }

    pub(super) fn all(&self) -> impl ExactSizeIterator<Item = RecordedSession> {
        let all = self.by_digest.iter();
        all.map(|(&digest, &expires)| RecordedSession { digest, expires })
    }

    /// Whether an id has ended, or may have.
    pub(super) fn contains(&self, session: RecordedSession) -> bool {
        session.expires <= self.floor || self.by_digest.contains_key(&session.digest)
    }

    /// Adds an id. False if it had ended before. If there are too many, the quarter that expires first is replaced by the floor.
    pub(super) fn insert(&mut self, session: RecordedSession) -> bool {
        if self.contains(session) {
            return false;
        }
        self.by_digest.insert(session.digest, session.expires);
        if self.by_digest.len() > MAX_IDS {
            let mut expiries: Vec<u32> = self.by_digest.values().copied().collect();
            let (_, quarter, _) = expiries.select_nth_unstable(MAX_IDS / 4);
            self.raise(*quarter);
        }
        true
    }

    /// Forgets the ids that have expired.
    pub(super) fn prune(&mut self, now: u32) {
        self.by_digest.retain(|_, expires| *expires > now);
    }

    /// Raises the floor to this moment, in seconds since 1970.
    pub(super) fn raise(&mut self, floor: u32) {
        self.floor = self.floor.max(floor);
        let floor = self.floor;
        self.by_digest.retain(|_, expires| *expires > floor);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(name: &str, expires: u32) -> RecordedSession {
        RecordedSession {
            digest: SessionDigest::of(name),
            expires,
        }
    }

    #[test]
    fn an_id_that_ended_is_known_until_it_expires() {
        let mut ended = EndedIds::default();
        let (a, b) = (session("a", 10), session("b", 10));
        assert!(ended.insert(a) && !ended.insert(a));
        assert!(ended.contains(a) && !ended.contains(b));
        ended.prune(9);
        assert!(ended.contains(a));
        ended.prune(10);
        assert_eq!(ended.all().len(), 0);
        ended.raise(10);
        assert!(ended.contains(a) && ended.contains(b));
        assert!(!ended.contains(session("b", 11)));
    }

    #[test]
    fn too_many_raise_the_floor_and_none_comes_back() {
        let mut ended = EndedIds::default();
        let count = u32::try_from(MAX_IDS).expect("a small number") + 1;
        let all = |n: u32| session(&n.to_string(), 1_000 + n);
        for n in 0..count {
            ended.insert(all(n));
        }
        assert!(ended.all().len() <= MAX_IDS);
        assert!((0..count).all(|n| ended.contains(all(n))));
        assert!(!ended.contains(session("new", 1_000 + count)));
    }
}
