//! The row of a server that was taken out of the configuration.

use super::{server_state::ServerState, servers::ServerRow};

impl ServerRow {
    /// What it was, and nothing of what would become of it: nothing of it runs, and nobody tries it again.
    pub(super) fn removed(self) -> Self {
        Self {
            state: ServerState::Disconnected,
            instances: None,
            detail: None,
            last_output: None,
            shown_state: ServerState::Disconnected.as_str().to_owned(),
            last_error: self.reason,
            reason: None,
            next_attempt_in_seconds: None,
            next_step: None,
            step: None,
            ..self
        }
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
}
