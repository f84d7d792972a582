//! The connection over which a request came. It identifies a client that has no session.

use tokio_util::sync::CancellationToken;

/// A connection that one client does not share with others. Cheap to clone.
#[derive(Debug, Clone)]
pub struct OwnConnection {
    number: u64,
    closed: CancellationToken,
}

impl OwnConnection {
    /// The connection with this number, which must be unique in the process.
    pub fn new(number: u64, closed: CancellationToken) -> Self {
        Self { number, closed }
    }

    /// Its number.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Cancelled when it is closed.
    pub fn closed(&self) -> &CancellationToken {
        &self.closed
    }
}
