//! Whose a question or a log line is that names no request. No legacy revision puts the cause on the wire, and a server may ask and
//! log after it has answered; so it is given to the only client that can be meant, and to nobody if there may be another.

use std::{
    collections::VecDeque,
    sync::Arc,
    time::{Duration, Instant},
};

/// How long after its end a call of another client still makes doubtful whose something is.
pub(super) const DOUBT: Duration = Duration::from_mins(1);

/// Limit: withdrawn calls that are remembered one by one. Older ones count as answered.
const WITHDRAWN: usize = 256;

/// On whose behalf a call runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Behalf {
    /// That of a client's session.
    Session(Arc<str>),
    /// That of nobody who could be told from others: such a call is a caller of its own.
    Itself,
}

impl Behalf {
    /// Whether it is known to be the same client.
    pub(super) fn is_certainly(&self, other: &Self) -> bool {
        matches!(self, Self::Session(_)) && self == other
    }
}

/// Why something was given to nobody.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unattributed {
    /// Nobody waits for anything.
    #[error("no call is in flight")]
    NoCall,
    /// Calls of several clients are in flight.
    #[error("several clients have calls in flight, and it does not say whom it concerns")]
    Several,
    /// A call of another client was withdrawn, and may go on upstream.
    #[error("it may belong to another client's call that was withdrawn")]
    MaybeWithdrawn,
    /// A call of another client was answered.
    #[error("it may belong to another client's call that was answered within the last minute")]
    MaybeAnswered,
    /// The call that it belongs to reads too slowly.
    #[error("too many questions wait for an answer")]
    TooMany,
}

/// The calls that have ended on one connection, as far as they make anything doubtful.
#[derive(Debug, Default)]
pub(super) struct EndedCalls {
    /// Whose call was answered last, and when.
    latest: Option<(Behalf, Instant)>,
    /// When a call of anybody else was answered last.
    before: Option<Instant>,
    /// Calls that were withdrawn, and when, the oldest first.
    withdrawn: VecDeque<Withdrawn>,
}

#[derive(Debug)]
struct Withdrawn {
    number: u64,
    behalf: Behalf,
    at: Instant,
}

impl EndedCalls {
    /// A call was answered.
    pub(super) fn answered(&mut self, behalf: Behalf, now: Instant) {
        if let Some((latest, at)) = &mut self.latest
            && latest.is_certainly(&behalf)
        {
            *at = now;
            return;
        }
        // Nobody was answered later than the one who was until now the latest.
        if let Some((_, at)) = self.latest.replace((behalf, now)) {
            self.before = Some(at);
        }
    }

    /// A call was withdrawn before it was answered.
    pub(super) fn withdrawn(&mut self, number: u64, behalf: Behalf, now: Instant) {
        let past = |withdrawn: &Withdrawn| now.duration_since(withdrawn.at) >= DOUBT;
        while self.withdrawn.front().is_some_and(past) {
            self.withdrawn.pop_front();
        }
        if self.withdrawn.len() >= WITHDRAWN
            && let Some(oldest) = self.withdrawn.pop_front()
        {
            self.answered(oldest.behalf, now);
        }
        let at = now;
        self.withdrawn.push_back(Withdrawn { number, behalf, at });
    }

    /// A call that was withdrawn has been answered after all: nothing more comes of it.
    pub(super) fn forget_withdrawn(&mut self, number: u64) {
        self.withdrawn
            .retain(|withdrawn| withdrawn.number != number);
    }

    /// Why something that comes now may be about a call of another than this client.
    fn doubt(&self, behalf: &Behalf, now: Instant) -> Option<Unattributed> {
        let is_recent = |at: Instant| now.duration_since(at) < DOUBT;
        let mut withdrawn = self.withdrawn.iter();
        if withdrawn.any(|w| is_recent(w.at) && !behalf.is_certainly(&w.behalf)) {
            return Some(Unattributed::MaybeWithdrawn);
        }
        let answered = match &self.latest {
            Some((latest, _)) if behalf.is_certainly(latest) => self.before,
            Some((_, at)) => Some(*at),
            None => None,
        };
        answered
            .is_some_and(is_recent)
            .then_some(Unattributed::MaybeAnswered)
    }

    /// The newest call of the only client that can be meant.
    pub(super) fn attribute<'a>(
        &self,
        calls: impl Iterator<Item = (u64, &'a Behalf)>,
        now: Instant,
    ) -> Result<u64, Unattributed> {
        let mut newest: Option<(u64, &Behalf)> = None;
        for (number, behalf) in calls {
            newest = match newest {
                Some((_, other)) if !behalf.is_certainly(other) => {
                    return Err(Unattributed::Several);
                }
                Some((newer, _)) if newer > number => newest,
                _ => Some((number, behalf)),
            };
        }
        let (number, behalf) = newest.ok_or(Unattributed::NoCall)?;
        match self.doubt(behalf, now) {
            Some(why) => Err(why),
            None => Ok(number),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(name: &str) -> Behalf {
        Behalf::Session(name.into())
    }

    #[test]
    fn something_belongs_to_the_only_client() {
        let check = |behalves: &[Behalf], expected: Result<u64, Unattributed>| {
            let ended = EndedCalls::default();
            let given = ended.attribute((0..).zip(behalves), Instant::now());
            assert_eq!(given, expected, "{behalves:?}");
            // In whatever order the table has them.
            let numbered: Vec<_> = (0..).zip(behalves).collect();
            let given = ended.attribute(numbered.into_iter().rev(), Instant::now());
            assert_eq!(given, expected, "{behalves:?}");
        };
        check(&[], Err(Unattributed::NoCall));
        check(&[session("a")], Ok(0));
        check(&[session("a"), session("a")], Ok(1));
        check(&[session("a"), session("b")], Err(Unattributed::Several));
        check(&[Behalf::Itself], Ok(0));
        check(
            &[Behalf::Itself, Behalf::Itself],
            Err(Unattributed::Several),
        );
        check(&[session("a"), Behalf::Itself], Err(Unattributed::Several));
        check(&[Behalf::Itself, session("a")], Err(Unattributed::Several));
    }

    /// Whose something is while this client alone has a call in flight.
    fn alone(ended: &EndedCalls, behalf: &Behalf, now: Instant) -> Result<(), Unattributed> {
        let calls = [(1000, behalf)].into_iter();
        ended.attribute(calls, now).map(|_| ())
    }

    #[test]
    fn an_answered_call_of_another_client_makes_doubtful_for_a_minute() {
        let (mut ended, start) = (EndedCalls::default(), Instant::now());
        let (a, b) = (session("a"), session("b"));
        ended.answered(a.clone(), start);
        assert_eq!(alone(&ended, &a, start), Ok(()), "its own");
        assert_eq!(alone(&ended, &b, start), Err(Unattributed::MaybeAnswered));
        assert_eq!(
            alone(&ended, &Behalf::Itself, start),
            Err(Unattributed::MaybeAnswered)
        );
        assert_eq!(alone(&ended, &b, start + DOUBT), Ok(()));
        let later = start + DOUBT / 2;
        ended.answered(b.clone(), later);
        assert_eq!(alone(&ended, &b, later), Err(Unattributed::MaybeAnswered));
        ended.answered(b.clone(), start + DOUBT);
        assert_eq!(alone(&ended, &b, start + DOUBT), Ok(()), "only its own");
        let a_then = alone(&ended, &a, later + DOUBT);
        assert_eq!(a_then, Err(Unattributed::MaybeAnswered), "it was renewed");
    }

    #[test]
    fn calls_of_nobody_in_particular_are_strangers_to_each_other() {
        let (mut ended, now) = (EndedCalls::default(), Instant::now());
        ended.answered(Behalf::Itself, now);
        let one_more = alone(&ended, &Behalf::Itself, now);
        assert_eq!(one_more, Err(Unattributed::MaybeAnswered));
    }

    #[test]
    fn a_withdrawn_call_makes_doubtful_until_it_is_answered() {
        let (mut ended, now) = (EndedCalls::default(), Instant::now());
        let (a, b) = (session("a"), session("b"));
        ended.withdrawn(1, a.clone(), now);
        ended.withdrawn(2, a.clone(), now);
        assert_eq!(alone(&ended, &a, now), Ok(()), "its own");
        assert_eq!(alone(&ended, &b, now), Err(Unattributed::MaybeWithdrawn));
        assert_eq!(alone(&ended, &b, now + DOUBT), Ok(()));
        ended.forget_withdrawn(1);
        assert_eq!(alone(&ended, &b, now), Err(Unattributed::MaybeWithdrawn));
        ended.forget_withdrawn(2);
        assert_eq!(alone(&ended, &b, now), Ok(()));
    }

    #[test]
    fn what_is_remembered_is_bounded_and_nothing_is_forgotten_too_soon() {
        let (mut ended, now) = (EndedCalls::default(), Instant::now());
        ended.withdrawn(0, session("a"), now);
        for number in 1..=WITHDRAWN as u64 {
            ended.withdrawn(number, session("b"), now);
        }
        assert_eq!(ended.withdrawn.len(), WITHDRAWN);
        let b = alone(&ended, &session("b"), now);
        assert_eq!(b, Err(Unattributed::MaybeAnswered));
    }
}
