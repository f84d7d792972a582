//! What a legacy client and we agreed on.

use std::sync::Arc;

use crate::{call_context::ClientIdentity, wire::Revision};

/// What client and we agreed in `initialize`.
#[derive(Clone)]
pub(super) struct Agreed {
    pub(super) revision: Revision,
    pub(super) client: Arc<ClientIdentity>,
}

impl Default for Agreed {
    /// Before `initialize`.
    fn default() -> Self {
        Self {
            revision: Revision::UNSAID,
            client: Arc::default(),
        }
    }
}
