//! The status of an upstream as other rooms see it: its state, why it is not connected, and when it is tried again.

use std::time::{Duration, Instant};

use crate::{
    config::{Transport, duration},
    upstream::{ConnectError, State, state::GIVE_UP_AFTER},
};

/// The status of an upstream.
#[derive(Debug, Clone, Default)]
pub struct Status {
    /// Its state.
    pub state: State,
    /// Whether its worker runs, and has begun to connect if it has to.
    pub(in crate::upstream) begun: bool,
    /// Whether an attempt to connect has ended, with or without success.
    pub settled: bool,
    /// Why the last attempt failed or the last connection ended; cleared by the next one that is ready.
    pub last_error: Option<ConnectError>,
    /// When it is tried again by itself.
    pub(in crate::upstream) next_attempt: Option<Instant>,
    /// Failed attempts since the last one that was recorded.
    pub unrecorded_failures: u32,
    /// The deadline of the attempt, if the server is being started for the first time and may have to download its program.
    pub first_start: Option<Duration>,
    /// How long the last successful start took.
    pub last_start: Option<Duration>,
}

impl Status {
    /// Whether it is not connected because an attempt failed; also while it is tried again.
    pub fn is_failing(&self) -> bool {
        matches!(
            self.state,
            State::Waiting { .. }
                | State::Failed { .. }
                | State::Authenticating { .. }
                | State::Connecting { failures: 1.. }
        )
    }

    /// Whether its first attempt is under way or about to begin.
    pub fn is_beginning(&self) -> bool {
        let is_connecting = matches!(self.state, State::Connecting { .. });
        !self.begun || (is_connecting && !self.settled)
    }

    /// Whether the last attempt failed, and no other is under way or planned.
    fn has_failed(&self) -> bool {
        matches!(self.state, State::Failed { .. })
    }

    /// The time until it is tried again by itself, in whole seconds; nothing if it is not.
    pub fn next_attempt_in(&self) -> Option<Duration> {
        let wait = self.next_attempt?.saturating_duration_since(Instant::now());
        let begun = u64::from(wait.subsec_nanos() > 0);
        Some(Duration::from_secs(wait.as_secs() + begun))
    }

    /// Why it is not available, in the words of [`ConnectError::whole`] or [`ConnectError::outside`], and when it is tried again.
    pub fn explained(&self, why: &str) -> String {
        self.explained_with(why, |wait| format!("again in {}", duration::in_words(wait)))
    }

    /// The same without a time: a text that stays right until something happens.
    pub fn explained_whenever(&self, why: &str, transport: &Transport) -> String {
        self.explained_with(why, |_| match transport {
            Transport::Stdio(_) => format!("mcpproxy tries up to {GIVE_UP_AFTER} times"),
            Transport::Remote(_) => "mcpproxy tries again".to_owned(),
        })
    }

    fn explained_with(&self, why: &str, waiting: impl FnOnce(Duration) -> String) -> String {
        let next = match (self.next_attempt_in(), self.state) {
            (Some(wait), _) => waiting(wait),
            (None, State::Failed { .. }) => "the next call tries again".to_owned(),
            (None, State::Connecting { failures: 1.. }) => "trying again".to_owned(),
            (None, _) => return why.to_owned(),
        };
        match self.state.failures() {
            // A connection that had proved healthy was lost: no attempt has failed yet.
            0 => format!("{why}; {next}"),
            1 => format!("{why}; tried once; {next}"),
            GIVE_UP_AFTER if self.has_failed() => {
                format!("{why}; gave up after {GIVE_UP_AFTER} tries; {next}")
            }
            failures => format!("{why}; tried {failures} times; {next}"),
        }
    }
}
