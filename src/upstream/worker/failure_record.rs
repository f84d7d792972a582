//! Publishes how the server is, and writes it to the activity log: of many failed attempts in a row only some.

use super::Worker;
use crate::{
    activity::ServerStep,
    config::duration,
    upstream::{calls::handle::Status, connect_error::ConnectError},
};

impl Worker {
    pub(super) fn set_status(&self, set: impl FnOnce(&mut Status)) {
        self.shared.status.send_modify(set);
    }

    /// Records how the server is.
    pub(super) fn record(&self, action: &'static str, step: ServerStep) {
        let activity = &self.context.connect.activity;
        activity.note_server(action, self.entry.name.as_str(), step);
    }

    /// That an attempt came to an end, and when it began.
    pub(super) fn attempt_ended(
        &mut self,
        error: Option<String>,
        detail: Option<String>,
    ) -> ServerStep {
        let began = self.life.attempt_began.take();
        ServerStep {
            error,
            detail,
            took: began.map(|began| began.elapsed()),
            times: None,
        }
    }

    /// Records failed attempts that no record says yet, before something else is recorded.
    pub(super) fn record_unrecorded(&mut self) {
        let status = self.shared.status.borrow().clone();
        let times = status.unrecorded_failures;
        if times > 0 {
            let step = ServerStep {
                error: status.last_error.map(|error| error.whole()),
                times: Some(times.into()),
                ..ServerStep::default()
            };
            self.record("failed", step);
            self.set_status(|status| status.unrecorded_failures = 0);
        }
    }

    /// The first failures in a row are logged and recorded each, later ones about once an hour; the record says how many they are.
    pub(super) fn log_failure(&mut self, error: &ConnectError) {
        const EACH: u32 = 6;
        const ONE_OF: u32 = 60;

        let (server, reason) = (self.entry.name.clone(), &error.reason);
        let stderr = error.wrote.as_ref();
        let status = self.shared.status.borrow().clone();
        let attempt = status.state.failures();
        let retry_in = status.next_attempt_in();
        let retry_in = retry_in.map_or_else(|| "on the next call".to_owned(), duration::show);
        if attempt <= EACH || attempt.is_multiple_of(ONE_OF) {
            tracing::warn!(%server, %reason, stderr, attempt, retry_in, "server is not available");
            let mut step = self.attempt_ended(Some(error.whole()), None);
            let times = status.unrecorded_failures + 1;
            step.times = (times > 1).then_some(times.into());
            self.record("failed", step);
            self.set_status(|status| status.unrecorded_failures = 0);
        } else {
            self.set_status(|status| status.unrecorded_failures += 1);
            tracing::debug!(%server, %reason, stderr, attempt, retry_in, "server is not available");
        }
    }
}
