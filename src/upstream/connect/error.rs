//! Why a server is not connected.

use std::time::Duration;

use crate::secret::Secrets;

/// Why there is no connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectError {
    /// The whole reason, for the operator: may name paths of this machine.
    pub reason: String,
    /// What a client may read.
    pub outside: String,
    /// What the operator can do.
    pub next_step: String,
    /// How long the server asks to wait before the next attempt.
    pub retry_after: Option<Duration>,
}

impl ConnectError {
    /// The same without what must not show: a server may repeat in its refusal what it was sent.
    pub(in crate::upstream) fn without(self, secrets: &Secrets) -> Self {
        let masked = |text: &str| secrets.masked(text).into_owned();
        Self {
            reason: masked(&self.reason),
            outside: masked(&self.outside),
            next_step: masked(&self.next_step),
            retry_after: self.retry_after,
        }
    }

    /// The configuration says that the server has no handshake, and the server says something else.
    pub(in crate::upstream) fn wants_handshake() -> Self {
        Self::plain(
            "it did not describe itself as a server without a handshake does, and its `protocol_era` is \"modern\"",
            "set \"protocol_era\" of its entry to \"auto\"",
        )
    }

    /// The same for a program that wrote this to its standard output, where only messages of the protocol may stand.
    pub(in crate::upstream) fn after_writing(self, line: &str) -> Self {
        Self {
            reason: format!(
                "{}; it wrote to its standard output what is no message of the protocol: {line}",
                self.reason
            ),
            next_step: format!(
                "{}; whatever is no message a server has to write to standard error",
                self.next_step
            ),
            ..self
        }
    }

    pub(in crate::upstream) fn plain(reason: &str, next_step: &str) -> Self {
        Self {
            reason: reason.to_owned(),
            outside: reason.to_owned(),
            next_step: next_step.to_owned(),
            retry_after: None,
        }
    }
}
