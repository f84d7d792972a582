//! Publishes the server's status, and writes its changes to the log and to the activity log: of many failed attempts in a row only some.

use super::Worker;
use crate::{
    activity::ServerStep,
    config::duration,
    text::Quoted,
    upstream::{
        Status,
        connect_error::{ConnectError, Written},
    },
};

impl Worker {
    pub(super) fn set_status(&self, set: impl FnOnce(&mut Status)) {
        self.shared.status.send_modify(set);
    }

    /// Writes a change of the server's status to the activity log.
    pub(super) fn record(&self, action: &'static str, step: ServerStep) {
        let activity = &self.context.connect.activity;
        activity.note_server(action, self.entry.name.as_str(), step);
    }

    /// The same for a change that this error made.
    pub(super) fn record_error(&self, action: &'static str, error: &str) {
        let step = ServerStep {
            error: Some(error.to_owned()),
            ..ServerStep::default()
        };
        self.record(action, step);
    }

    /// The record of an attempt that has just ended, with how long it took.
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

    /// Records the failed attempts that are only counted so far. Called before something else is recorded.
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

    /// Logs and records a failed attempt: each of the first in a row, then about one an hour. The record says how many it stands for.
    pub(super) fn log_failure(&mut self, error: &ConnectError) {
        /// Failures in a row that are logged each.
        const EACH: u32 = 6;
        /// Of the later ones one in so many is logged. They are about a minute apart.
        const ONE_OF: u32 = 60;

        let (server, reason) = (self.entry.name.clone(), &error.reason);
        let Written { stderr, stdout } = &*error.wrote;
        let [stderr, stdout] = [stderr, stdout].map(|line| line.as_ref().map(Quoted::as_str));
        let status = self.shared.status.borrow().clone();
        let attempt = status.state.failures();
        let retry_in = status.next_attempt_in();
        let asked = if self.is_held() {
            "when you review it"
        } else {
            "on the next call"
        };
        let retry_in = retry_in.map_or_else(|| asked.to_owned(), duration::show);
        if attempt <= EACH || attempt.is_multiple_of(ONE_OF) {
            tracing::warn!(%server, %reason, stderr, stdout, attempt, retry_in, "server failed to start");
            let mut step = self.attempt_ended(Some(error.whole()), None);
            let times = status.unrecorded_failures + 1;
            step.times = (times > 1).then_some(times.into());
            self.record("failed", step);
            self.set_status(|status| status.unrecorded_failures = 0);
        } else {
            self.set_status(|status| status.unrecorded_failures += 1);
            tracing::debug!(%server, %reason, stderr, attempt, retry_in, "server failed to start");
        }
    }
}
