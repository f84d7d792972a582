//! The connection that a request came over: it identifies clients that have no session.

use tokio_util::sync::CancellationToken;

/// A connection over which one client alone speaks. Cheap to clone.
#[derive(Debug, Clone)]
pub struct OwnConnection {
    number: u64,
    closed: CancellationToken,
}

impl OwnConnection {
    /// The connection of this number, which no other of the process has.
    pub fn new(number: u64, closed: CancellationToken) -> Self {
        Self { number, closed }
    }

    /// Its number.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Cancelled when it is over.
    pub fn closed(&self) -> &CancellationToken {
        &self.closed
    }
}
