//! Why a server is not connected.

/// Why there is no connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectError {
    /// The whole reason, for the operator: may name paths of this machine.
    pub reason: String,
    /// What a client may read.
    pub outside: String,
    /// What the operator can do.
    pub next_step: String,
}

impl ConnectError {
    pub(in crate::upstream) fn plain(reason: &str, next_step: &str) -> Self {
        Self {
            reason: reason.to_owned(),
            outside: reason.to_owned(),
            next_step: next_step.to_owned(),
        }
    }
}
