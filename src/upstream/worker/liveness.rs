//! Whether a connected server still lives: decides when a sign of life is requested, and when a server that gives none counts as dead.
//! Pure: the worker sends the requests, and the time is an argument.

use std::time::{Duration, Instant};

use crate::upstream::connect::life_signs::SignOfLife;

/// The signs of life of one connection.
#[derive(Debug)]
pub(super) struct Liveness {
    /// When the last sign of life came, as of the last look.
    heard: Instant,
    /// Whether a call could not be delivered: earlier messages prove nothing then.
    is_suspected: bool,
}

/// What the server is doing, as far as we know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ServerWork {
    /// Nothing.
    None,
    /// Calls. Many servers do one thing at a time, and hear nothing meanwhile; the calls have a clock of their own.
    Calls {
        /// How long such a call may be silent.
        silence: Duration,
    },
    /// It waits for the answer to a question, and may take nothing else on its input.
    Asks,
}

impl Liveness {
    /// The signs of a connection made now.
    pub(super) fn new(now: Instant) -> Self {
        Self {
            heard: now,
            is_suspected: false,
        }
    }

    /// A call could not be delivered: the server may be dead.
    pub(super) fn suspect(&mut self) {
        self.is_suspected = true;
    }

    /// Whether to request a sign of life. `was_heard` is whether any message came since the last look.
    pub(super) fn must_ask(&mut self, now: Instant, was_heard: bool, work: ServerWork) -> bool {
        if was_heard {
            self.heard = now;
        }
        if std::mem::take(&mut self.is_suspected) {
            return true;
        }
        !was_heard && work != ServerWork::Asks
    }

    /// Takes the outcome of a request. `was_heard` is whether any message came meanwhile. Gives the reason if the connection is dead.
    pub(super) fn answered(
        &mut self,
        now: Instant,
        sign: SignOfLife,
        was_heard: bool,
        work: ServerWork,
    ) -> Option<String> {
        let reason = match sign {
            SignOfLife::Failed(reason) => return Some(reason),
            SignOfLife::Silent(reason) if !was_heard => reason,
            SignOfLife::Silent(_) | SignOfLife::Pong | SignOfLife::List => {
                self.heard = now;
                return None;
            }
        };
        let silent = now.saturating_duration_since(self.heard);
        match work {
            ServerWork::Asks => None,
            ServerWork::Calls { silence } if silent < silence => None,
            ServerWork::Calls { .. } | ServerWork::None => Some(reason),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);
    const BUSY: ServerWork = ServerWork::Calls {
        silence: Duration::from_mins(2),
    };

    fn silent() -> SignOfLife {
        SignOfLife::Silent("no answer to a ping".to_owned())
    }

    #[test]
    fn a_server_is_asked_only_where_nothing_else_was_heard() {
        let start = Instant::now();
        let mut liveness = Liveness::new(start);
        assert!(!liveness.must_ask(start, true, ServerWork::None));
        assert!(liveness.must_ask(start, false, ServerWork::None));
        assert!(liveness.must_ask(start, false, BUSY));
        assert!(!liveness.must_ask(start, false, ServerWork::Asks));
        liveness.suspect();
        assert!(
            liveness.must_ask(start, true, ServerWork::Asks),
            "a call has found it dead"
        );
        assert!(
            !liveness.must_ask(start, true, ServerWork::None),
            "that was once"
        );
    }

    #[test]
    fn what_answers_in_any_way_lives() {
        let start = Instant::now();
        let mut liveness = Liveness::new(start);
        for sign in [SignOfLife::Pong, SignOfLife::List] {
            assert_eq!(
                liveness.answered(start, sign, false, ServerWork::None),
                None
            );
        }
        assert_eq!(
            liveness.answered(start, silent(), true, ServerWork::None),
            None
        );
    }

    #[test]
    fn silence_is_the_end_unless_the_server_may_be_at_work() {
        let start = Instant::now();
        let mut liveness = Liveness::new(start);
        let dead = Some("no answer to a ping".to_owned());
        let later = start + 45 * SECOND;
        assert_eq!(
            liveness.answered(later, silent(), false, ServerWork::None),
            dead
        );
        assert_eq!(liveness.answered(later, silent(), false, BUSY), None);
        assert_eq!(
            liveness.answered(later, silent(), false, ServerWork::Asks),
            None
        );
        // Longer than any call may be silent, it is dead although calls go on coming.
        let much_later = start + 120 * SECOND;
        assert_eq!(liveness.answered(much_later, silent(), false, BUSY), dead);
        let failed = SignOfLife::Failed("connection refused".to_owned());
        let dead = Some("connection refused".to_owned());
        assert_eq!(liveness.answered(later, failed, true, BUSY), dead);
    }
}
