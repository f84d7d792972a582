//! What a legacy client and the daemon agreed on.

use std::sync::Arc;

use crate::{call_context::ClientIdentity, wire::Revision};

/// The outcome of `initialize`.
#[derive(Clone)]
pub(super) struct Agreed {
    pub(super) revision: Revision,
    pub(super) client: Arc<ClientIdentity>,
}

/// Bytes of a client's declarations that need no place in the budget. Hardly any client has more.
const UNCOUNTED: usize = 2 << 10;

impl Agreed {
    /// What of it needs a place in the budget.
    pub(super) fn cost(&self) -> usize {
        self.client.size().saturating_sub(UNCOUNTED)
    }
}

impl Default for Agreed {
    /// Before `initialize`.
    fn default() -> Self {
        Self {
            revision: Revision::ASSUMED,
            client: Arc::default(),
        }
    }
}
