//! What falls due: listing again, signs of life, and sleep.

use std::time::{Duration, Instant};

use super::{Worker, schedule::Due};
use crate::upstream::{
    connect::life_signs::{self, PingHabit, SignOfLife},
    state::StateEvent,
};

/// How long a server may take to give a sign of life: twice the pause between two requests, within these bounds.
const SHORTEST_PING: Duration = Duration::from_secs(2);
const LONGEST_PING: Duration = Duration::from_secs(15);

impl Worker {
    /// What the server is doing. Over HTTP a question that waits keeps nothing else from it.
    fn work(&self) -> ServerWork {
        let usage = &self.shared.usage;
        let asks = usage.has_held() || !self.life.answering.is_empty();
        if asks && !self.is_remote() {
            ServerWork::Asks
        } else if usage.in_flight() > 0 {
            let silence = self.current_entry().call_tool_timeout;
            ServerWork::Calls { silence }
        } else {
            ServerWork::None
        }
    }

    fn look_for_life(&mut self, now: Instant) {
        let (work, interval) = (self.work(), self.cadence().ping);
        let Some(connected) = &mut self.life.open else {
            return;
        };
        let open = &connected.open;
        let was_heard = open.link.news().was_heard();
        if self.life.pinging.is_some() || !connected.liveness.must_ask(now, was_heard, work) {
            return;
        }
        let deadline = (interval * 2).clamp(SHORTEST_PING, LONGEST_PING);
        let (known, habit) = (&open.listing, self.life.ping_habit);
        let (initialize, revision) = (&known.initialize, known.revision);
        let asking = life_signs::ask(&open.link, initialize, revision, habit, deadline);
        self.life.pinging = Some(asking);
    }

    pub(super) async fn pinged(&mut self, sign: SignOfLife) {
        let work = self.work();
        match &sign {
            SignOfLife::Pong => self.life.ping_habit = PingHabit::Answers,
            SignOfLife::List if self.life.ping_habit != PingHabit::Ignores => {
                tracing::debug!(server = %self.entry.name, "the server does not support ping; mcpproxy requests its lists instead");
                self.life.ping_habit = PingHabit::Ignores;
            }
            _ => (),
        }
        let Some(connected) = &mut self.life.open else {
            return;
        };
        let was_heard = connected.open.link.news().was_heard();
        let answered = connected
            .liveness
            .answered(Instant::now(), sign, was_heard, work);
        if let Some(reason) = answered {
            self.lost(reason).await;
        }
    }

    /// The connection ended while the server was pinged for the first time: it may be one that ends at what it does not know.
    pub(super) fn blame_ping(&mut self) {
        let life = &mut self.life;
        if life.pinging.is_some() && life.ping_habit == PingHabit::Unknown {
            life.ping_habit = PingHabit::Ignores;
        }
    }

    pub(super) async fn tick(&mut self) {
        let now = Instant::now();
        if self.life.paused_until.is_some_and(|until| until <= now) {
            self.life.paused_until = None;
            self.event(StateEvent::PauseOver).await;
        }
        let cadence = self.cadence();
        while let Some(connected) = &mut self.life.open {
            match connected.schedule.take(now, cadence) {
                Some(Due::Relist) => {
                    tracing::debug!(server = %self.entry.name, "Tool discovery triggered by notification");
                    self.start_relisting();
                }
                Some(Due::Poll) => {
                    tracing::debug!(server = %self.entry.name, "server listed again on schedule");
                    self.start_relisting();
                }
                Some(Due::Ping) => self.look_for_life(now),
                Some(Due::IdleCheck) => self.check_idle(now).await,
                None => return,
            }
        }
    }

    async fn check_idle(&mut self, now: Instant) {
        let Some(connected) = &self.life.open else {
            return;
        };
        let usage = &self.shared.usage;
        if self.stays()
            || self.is_listened_to()
            || !self.life.answering.is_empty()
            || !(self.is_for_its_lists_only()
                || usage.is_idle(&self.policy(), connected.since, now))
        {
            return;
        }
        if self.shared.take_from_calls() {
            self.event(StateEvent::Unused).await;
        }
    }
}

// Whether a connected server still lives: when to request a sign of life, and what follows where none comes. Pure: the worker requests
// it, and the time is an argument.

/// What is known of a connection's life.
#[derive(Debug)]
pub(super) struct Liveness {
    /// When the last message came, as of the last look.
    heard: Instant,
    /// A call found the connection dead: earlier messages prove nothing.
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
    /// That of a connection made now.
    pub(super) fn new(now: Instant) -> Self {
        Self {
            heard: now,
            is_suspected: false,
        }
    }

    /// It may be dead.
    pub(super) fn suspect(&mut self) {
        self.is_suspected = true;
    }

    /// Whether to request one: only where no message came since the last look.
    pub(super) fn must_ask(&mut self, now: Instant, was_heard: bool, work: ServerWork) -> bool {
        if was_heard {
            self.heard = now;
        }
        if std::mem::take(&mut self.is_suspected) {
            return true;
        }
        !was_heard && work != ServerWork::Asks
    }

    /// Takes the sign of life. `was_heard` is whether any message came meanwhile. Gives the reason if the connection is dead.
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
