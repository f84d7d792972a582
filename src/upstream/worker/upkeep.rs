//! Does what falls due for a connected server: reads its lists again, requests signs of life, and puts it to sleep.

use std::time::{Duration, Instant};

use super::{Worker, liveness::ServerWork, schedule::Due};
use crate::upstream::{
    connect::life_signs::{self, PingHabit, SignOfLife},
    state::StateEvent,
};

/// How long a server may take to give a sign of life is twice the pause between two requests, at least so long.
const SHORTEST_PING: Duration = Duration::from_secs(2);

/// At most so long.
const LONGEST_PING: Duration = Duration::from_secs(15);

impl Worker {
    /// What the server is doing. Over HTTP a question that waits for its answer does not keep the server from other work.
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

    /// Requests a sign of life, unless one is not needed or is under way.
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

    /// Takes the outcome of a request for a sign of life.
    pub(super) async fn take_sign_of_life(&mut self, sign: SignOfLife) {
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
            self.lose_connection(reason).await;
        }
    }

    /// The connection ended during the first ping: the server may be one that exits on requests that it does not know.
    pub(super) fn blame_ping(&mut self) {
        let life = &mut self.life;
        if life.pinging.is_some() && life.ping_habit == PingHabit::Unknown {
            life.ping_habit = PingHabit::Ignores;
        }
    }

    /// Does whatever is due.
    pub(super) async fn tick(&mut self) {
        let now = Instant::now();
        if self.life.paused_until.is_some_and(|until| until <= now) {
            self.life.paused_until = None;
            self.apply(StateEvent::PauseOver).await;
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

    /// Puts the server to sleep if it has not been used for its idle time.
    async fn check_idle(&mut self, now: Instant) {
        let Some(connected) = &self.life.open else {
            return;
        };
        let usage = &self.shared.usage;
        if self.stays()
            || self.is_listened_to()
            || !self.life.answering.is_empty()
            || !(self.is_for_its_lists_only()
                || usage.is_idle(&self.idle_timeout(), connected.since, now))
        {
            return;
        }
        if self.shared.take_from_calls() {
            self.apply(StateEvent::Unused).await;
        }
    }
}
