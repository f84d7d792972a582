//! A server that was taken out of the configuration, as listings showed it before. Pure.

use super::{server_state::ServerState, servers::ServerRow};

impl ServerRow {
    /// What it was, and nothing of what would become of it: nothing of it runs, and nobody tries it again.
    pub(super) fn removed(self) -> Self {
        let last_error = self.reason_alone().map(str::to_owned);
        Self {
            state: ServerState::Disconnected,
            instances: None,
            detail: None,
            last_output: None,
            last_error,
            next_attempt_in_seconds: None,
            next_step: None,
            ..self
        }
    }

    /// Its last error without how often it was tried and when it will be.
    pub fn reason_alone(&self) -> Option<&str> {
        let reason = self.last_error.as_deref()?;
        let alone = reason.rsplit_once(" (failure ");
        Some(alone.map_or(reason, |(reason, _)| reason))
    }
}
