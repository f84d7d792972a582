//! The connection that a request came over: it identifies clients that have no session.

use std::sync::{Arc, OnceLock};

use tokio_util::sync::CancellationToken;

use super::NamedResources;

/// A connection over which one client alone speaks. Cheap to clone.
#[derive(Debug, Clone)]
pub struct OwnConnection {
    number: u64,
    closed: CancellationToken,
    /// For the caller who was the first to come over it.
    named: Arc<OnceLock<(Arc<str>, NamedResources)>>,
}

impl OwnConnection {
    /// The connection of this number, which no other of the process has.
    pub fn new(number: u64, closed: CancellationToken) -> Self {
        Self {
            number,
            closed,
            named: Arc::default(),
        }
    }

    /// Its number.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Cancelled when it is over.
    pub fn closed(&self) -> &CancellationToken {
        &self.closed
    }

    /// What servers named to the client of this caller, if it was the first to come over the connection.
    pub fn named_resources(&self, subject: &Arc<str>) -> Option<&NamedResources> {
        let first = || (subject.clone(), NamedResources::default());
        let (owner, named) = self.named.get_or_init(first);
        (owner == subject).then_some(named)
    }
}
