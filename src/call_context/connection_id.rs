//! The connection that a request came over: by it clients are told apart that have no session.

/// Names a connection of a client that nobody else speaks over. No other of the process has the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ConnectionId(u64);

impl ConnectionId {
    /// The connection of this number, which no other has.
    pub fn new(number: u64) -> Self {
        Self(number)
    }

    /// Its number.
    pub fn number(self) -> u64 {
        self.0
    }
}
