//! The row of a server that was taken out of the configuration.

use super::{server_state::ServerState, servers::ServerRow};

impl ServerRow {
    /// What it was, and nothing of what would become of it: nothing of it runs, and nobody tries it again.
    pub(super) fn removed(self) -> Self {
        let reason = self.reason_alone().map(str::to_owned);
        Self {
            state: ServerState::Disconnected,
            instances: None,
            detail: None,
            last_output: None,
            last_error: reason,
            reason: None,
            next_attempt_in_seconds: None,
            next_step: None,
            ..self
        }
    }

    /// Its last error without how often it was tried and when it will be.
    pub fn reason_alone(&self) -> Option<&str> {
        self.reason.as_deref().or(self.last_error.as_deref())
    }
}

#[cfg(test)]
mod tests {
    use super::{ServerRow, ServerState};

    #[test]
    fn a_removed_row_does_not_promise_another_attempt() {
        // A connection that had proved healthy was lost: no failure is counted, and only the retry is promised.
        let row: ServerRow = serde_json::from_value(serde_json::json!({
            "name": "lost",
            "state": "error",
            "last_error": "the connection was closed (it is tried again by itself)",
            "reason": "the connection was closed",
            "next_attempt_in_seconds": 2,
            "next_step": "look at its log",
        }))
        .expect("it is a row");
        let row = row.removed();
        assert_eq!(row.last_error.as_deref(), Some("the connection was closed"));
        assert_eq!(row.state, ServerState::Disconnected);
        assert_eq!((row.reason, row.next_step), (None, None));
        assert_eq!(row.next_attempt_in_seconds, None);
    }

    #[test]
    fn a_removed_row_keeps_a_reason_that_stands_alone() {
        let row: ServerRow = serde_json::from_value(serde_json::json!({
            "name": "broken",
            "state": "error",
            "last_error": "the entry has no command (failure of its author)",
        }))
        .expect("it is a row");
        let expected = "the entry has no command (failure of its author)";
        assert_eq!(row.removed().last_error.as_deref(), Some(expected));
    }
}
