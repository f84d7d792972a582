//! Decides which client gets a question or a log line that names no request. Legacy revisions do not send the cause, and a server may
//! ask and log after it has answered. So it goes to a client only if no other client can be meant.

use std::{
    collections::VecDeque,
    sync::Arc,
    time::{Duration, Instant},
};

/// How long after its end a call of another client still makes doubtful whose something is.
pub const DOUBT: Duration = Duration::from_mins(1);

/// Limit: withdrawn calls that are remembered one by one. Older ones count as answered.
const WITHDRAWN: usize = 256;

/// The client that a call runs for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Requestor {
    /// The client of this session.
    Session(Arc<str>),
    /// One without a session, at the other end of this connection.
    Connection {
        /// No other connection has it.
        number: u64,
        /// Whose requests they are.
        subject: Arc<str>,
    },
    /// A client without a session that nothing tells from others. Two such calls count as those of two clients.
    Unidentified,
}

impl Requestor {
    /// Whether it is known to be the same client.
    pub(super) fn is_certainly(&self, other: &Self) -> bool {
        !matches!(self, Self::Unidentified) && self == other
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
    /// It is about a task, whose owner may have made it long ago.
    #[error("it belongs to a task, and no request for that task is in flight")]
    OfTask,
    /// The call that it belongs to reads too slowly.
    #[error("too many questions wait for an answer")]
    TooMany,
}

/// The calls that have ended on one connection, as far as they make anything doubtful.
#[derive(Debug, Default)]
pub(super) struct EndedCalls {
    /// Whose call was answered last, and when.
    latest: Option<(Requestor, Instant)>,
    /// When a call of anybody else was answered last.
    before: Option<Instant>,
    /// Calls that were withdrawn, and when, the oldest first.
    withdrawn: VecDeque<Withdrawn>,
}

#[derive(Debug)]
struct Withdrawn {
    number: u64,
    requestor: Requestor,
    at: Instant,
}

impl EndedCalls {
    /// A call was answered.
    pub(super) fn answered(&mut self, requestor: Requestor, now: Instant) {
        if let Some((latest, at)) = &mut self.latest
            && latest.is_certainly(&requestor)
        {
            *at = now;
            return;
        }
        // Nobody was answered later than the one who was until now the latest.
        if let Some((_, at)) = self.latest.replace((requestor, now)) {
            self.before = Some(at);
        }
    }

    /// A call was withdrawn before it was answered.
    pub(super) fn withdrawn(&mut self, number: u64, requestor: Requestor, now: Instant) {
        let past = |withdrawn: &Withdrawn| now.duration_since(withdrawn.at) >= DOUBT;
        while self.withdrawn.front().is_some_and(past) {
            self.withdrawn.pop_front();
        }
        if self.withdrawn.len() >= WITHDRAWN
            && let Some(oldest) = self.withdrawn.pop_front()
        {
            self.answered(oldest.requestor, now);
        }
        let at = now;
        self.withdrawn.push_back(Withdrawn {
            number,
            requestor,
            at,
        });
    }

    /// A call that was withdrawn has been answered after all: nothing more comes of it.
    pub(super) fn forget_withdrawn(&mut self, number: u64) {
        self.withdrawn
            .retain(|withdrawn| withdrawn.number != number);
    }

    /// Why something that comes now may be about a call of another than this client.
    fn doubt(&self, requestor: &Requestor, now: Instant) -> Option<Unattributed> {
        let is_recent = |at: Instant| now.duration_since(at) < DOUBT;
        let mut withdrawn = self.withdrawn.iter();
        if withdrawn.any(|w| is_recent(w.at) && !requestor.is_certainly(&w.requestor)) {
            return Some(Unattributed::MaybeWithdrawn);
        }
        let answered = match &self.latest {
            Some((latest, _)) if requestor.is_certainly(latest) => self.before,
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
        calls: impl Iterator<Item = (u64, &'a Requestor)>,
        now: Instant,
    ) -> Result<u64, Unattributed> {
        let mut newest: Option<(u64, &Requestor)> = None;
        for (number, requestor) in calls {
            newest = match newest {
                Some((_, other)) if !requestor.is_certainly(other) => {
                    return Err(Unattributed::Several);
                }
                Some((newer, _)) if newer > number => newest,
                _ => Some((number, requestor)),
            };
        }
        let (number, requestor) = newest.ok_or(Unattributed::NoCall)?;
        match self.doubt(requestor, now) {
            Some(why) => Err(why),
            None => Ok(number),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(name: &str) -> Requestor {
        Requestor::Session(name.into())
    }

    fn connection(number: u64, subject: &str) -> Requestor {
        let subject = subject.into();
        Requestor::Connection { number, subject }
    }

    #[test]
    fn something_belongs_to_the_only_client() {
        let check = |requestors: &[Requestor], expected: Result<u64, Unattributed>| {
            let ended = EndedCalls::default();
            let given = ended.attribute((0..).zip(requestors), Instant::now());
            assert_eq!(given, expected, "{requestors:?}");
            // In whatever order the table has them.
            let numbered: Vec<_> = (0..).zip(requestors).collect();
            let given = ended.attribute(numbered.into_iter().rev(), Instant::now());
            assert_eq!(given, expected, "{requestors:?}");
        };
        check(&[], Err(Unattributed::NoCall));
        check(&[session("a")], Ok(0));
        check(&[session("a"), session("a")], Ok(1));
        check(&[session("a"), session("b")], Err(Unattributed::Several));
        check(&[Requestor::Unidentified], Ok(0));
        check(
            &[Requestor::Unidentified, Requestor::Unidentified],
            Err(Unattributed::Several),
        );
        check(&[connection(1, "s"), connection(1, "s")], Ok(1));
        for other in [connection(2, "s"), connection(1, "t"), session("s")] {
            let both = [connection(1, "s"), other];
            check(&both, Err(Unattributed::Several));
        }
        check(
            &[session("a"), Requestor::Unidentified],
            Err(Unattributed::Several),
        );
        check(
            &[Requestor::Unidentified, session("a")],
            Err(Unattributed::Several),
        );
    }

    /// Whose something is while this client alone has a call in flight.
    fn alone(ended: &EndedCalls, requestor: &Requestor, now: Instant) -> Result<(), Unattributed> {
        let calls = [(1000, requestor)].into_iter();
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
            alone(&ended, &Requestor::Unidentified, start),
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
        ended.answered(Requestor::Unidentified, now);
        let one_more = alone(&ended, &Requestor::Unidentified, now);
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
