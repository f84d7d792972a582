//! Whether the collector takes what it is sent, reported once and not for every batch.

use std::time::{Duration, Instant};

use crate::runtime::sync::Guarded;

/// How often it is logged that spans cannot be exported, however often that changes.
const AGAIN: Duration = Duration::from_mins(1);

#[derive(Debug, Default)]
pub(super) struct Health(Guarded<State>);

#[derive(Debug, Default)]
struct State {
    is_reported: bool,
    reported_at: Option<Instant>,
}

impl Health {
    /// Something was not taken. The reason holds nothing of the address.
    pub(super) fn failed(&self, why: &str) {
        if self.0.lock().begins(Instant::now()) {
            tracing::warn!(
                why,
                "spans cannot be exported; those of calls are lost until they can"
            );
        }
    }

    /// Something was taken.
    pub(super) fn worked(&self) {
        if self.0.lock().ends() {
            tracing::info!("spans are exported again");
        }
    }
}

impl State {
    fn begins(&mut self, now: Instant) -> bool {
        let is_soon = self.reported_at.is_some_and(|at| now - at < AGAIN);
        if self.is_reported || is_soon {
            return false;
        }
        self.is_reported = true;
        self.reported_at = Some(now);
        true
    }

    fn ends(&mut self) -> bool {
        std::mem::take(&mut self.is_reported)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_said_once_and_so_is_its_end() {
        let (mut state, now) = (State::default(), Instant::now());
        assert!(!state.ends());
        assert!(state.begins(now));
        assert!(!state.begins(now + 2 * AGAIN), "it goes on");
        assert!(state.ends());
        assert!(!state.ends());
    }

    #[test]
    fn what_comes_and_goes_is_said_once_a_minute() {
        let (mut state, now) = (State::default(), Instant::now());
        assert!(state.begins(now) && state.ends());
        assert!(!state.begins(now + AGAIN / 2) && !state.ends());
        assert!(state.begins(now + AGAIN) && state.ends());
    }
}
