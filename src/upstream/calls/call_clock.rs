//! The clock of a call: how long the server may be silent, which progress begins anew, and how long the call may take in all. The wait for
//! a free slot counts, the wait for the client's answers does not. Pure: the time is an argument.

use std::time::{Duration, Instant};

use crate::{
    config::duration,
    failure::{ErrorCode, Failure, NextStep},
    text::names::ServerName,
};

/// How much of its time a call must have left when it is sent, or a tenth of all of it where that is less.
const LEAST: Duration = Duration::from_secs(1);

/// The clock of one call.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallClock {
    /// How long the server may send neither progress nor the answer.
    silence: Duration,
    /// When that time is over.
    due: Instant,
    /// When the call is over, whatever progress it reports.
    end: Instant,
    /// Since when the clock stands still.
    held: Option<Instant>,
}

impl CallClock {
    /// The clock of a call that begins `now` and ends at `end`, but not before its server had the time for one answer.
    pub(super) fn new(now: Instant, silence: Duration, end: Instant) -> Self {
        let due = now + silence;
        Self {
            silence,
            due,
            end: end.max(due),
            held: None,
        }
    }

    /// When the call is over as things stand, unless the clock stands still.
    pub(super) fn deadline(&self) -> Instant {
        self.due.min(self.end)
    }

    /// Until when it makes sense to send the call: a later one would be cancelled before its server can have answered.
    pub(super) fn latest_start(&self) -> Instant {
        let deadline = self.deadline();
        deadline
            .checked_sub(LEAST.min(self.silence / 10))
            .unwrap_or(deadline)
    }

    /// The server reports progress.
    pub(super) fn progress(&mut self, now: Instant) {
        self.due = now + self.silence;
    }

    /// Stops the clock. Gives whether it ran.
    pub(super) fn hold(&mut self, now: Instant) -> bool {
        let ran = self.held.is_none();
        self.held.get_or_insert(now);
        ran
    }

    /// Lets the clock go on. Gives whether it stood.
    pub(super) fn resume(&mut self, now: Instant) -> bool {
        let Some(since) = self.held.take() else {
            return false;
        };
        let pause = now.saturating_duration_since(since);
        self.due += pause;
        self.end += pause;
        true
    }

    /// Whether it stands still.
    pub(super) fn is_held(&self) -> bool {
        self.held.is_some()
    }

    /// The failure of a call that is over.
    pub(super) fn overdue(&self, server: &ServerName) -> Failure {
        let code = ErrorCode::TimedOut;
        if self.end < self.due {
            let error =
                format!("the server {server:?} reported progress but did not finish in time");
            let hint = "It may have run in part; mcpproxy cancelled it at the time limit. Check before you repeat it; split it into smaller calls.";
            return Failure::new(code, error, hint).of_server(server);
        }
        let time = duration::in_words(self.silence);
        let error = format!("the server {server:?} did not answer within {time}");
        let hint = "It may have run. Check before you repeat it; the user can raise its call_tool_timeout.";
        let limit = duration::show(self.silence.saturating_mul(2)).into();
        let step = NextStep::AllowLongerCalls { limit };
        Failure::for_agents(code, error, hint, step).of_server(server)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn minutes(n: u64) -> Duration {
        Duration::from_secs(60 * n)
    }

    fn overdue(clock: &CallClock) -> Failure {
        clock.overdue(&ServerName::parse("slow").expect("a name"))
    }

    #[test]
    fn silence_ends_a_call_and_progress_begins_it_anew() {
        let start = Instant::now();
        let mut clock = CallClock::new(start, minutes(2), start + minutes(30));
        assert_eq!(clock.deadline(), start + minutes(2));
        clock.progress(start + minutes(1));
        assert_eq!(clock.deadline(), start + minutes(3));
        let failure = overdue(&clock);
        assert_eq!(
            failure.error,
            r#"the server "slow" did not answer within 2 min"#
        );
        let (typed, sent) = (failure.terminal_step(), failure.over_rest().hint);
        assert!(typed.contains("upstream patch slow call_tool_timeout=4m`"));
        assert!(
            sent.for_people()
                .ends_with(r#"with {"call_tool_timeout": "4m"}."#)
        );
    }

    #[test]
    fn no_progress_carries_a_call_beyond_its_end() {
        let start = Instant::now();
        let mut clock = CallClock::new(start, minutes(2), start + minutes(30));
        for minute in 0..30 {
            clock.progress(start + minutes(minute));
        }
        assert_eq!(clock.deadline(), start + minutes(30));
        let said = overdue(&clock).error;
        assert!(said.contains("did not finish"), "{said}");
    }

    #[test]
    fn a_long_silence_that_was_allowed_is_not_cut_short() {
        let start = Instant::now();
        let clock = CallClock::new(start, minutes(60), start + minutes(30));
        assert_eq!(clock.deadline(), start + minutes(60));
    }

    #[test]
    fn the_clock_stands_while_the_client_is_asked() {
        let start = Instant::now();
        let mut clock = CallClock::new(start, minutes(2), start + minutes(30));
        assert!(clock.hold(start + minutes(1)));
        assert!(!clock.hold(start + minutes(5)), "it stands already");
        assert!(clock.is_held());
        assert!(clock.resume(start + minutes(11)));
        assert!(!clock.resume(start + minutes(12)));
        assert_eq!(clock.deadline(), start + minutes(12));
        for minute in 11..60 {
            clock.progress(start + minutes(minute));
        }
        assert_eq!(clock.deadline(), start + minutes(40));
    }
}
