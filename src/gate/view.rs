//! Who sees the same: the key under which lists are made once for many callers.

use super::{Gate, Moment, Rules};
use crate::access::Caller;

/// What of the servers a caller sees. Two callers with equal keys get the same answer to every question that lists and searches ask
/// of the gate, as long as settings and catalog stay the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ViewKey {
    /// No rule tells callers apart.
    Everyone,
}

impl Rules<'_> {
    /// The key of what this caller sees.
    pub fn view(self, _caller: &Caller) -> ViewKey {
        ViewKey::Everyone
    }
}

impl Gate {
    /// The key of what this caller sees now.
    pub fn view(&self, caller: &Caller) -> ViewKey {
        self.with_rules(|rules| rules.view(caller))
    }

    /// Whether a moment is that of now.
    pub fn is_now(&self, moment: &Moment) -> bool {
        std::sync::Arc::ptr_eq(&self.settings.borrow(), &moment.settings)
            && std::sync::Arc::ptr_eq(&self.catalog.glance(), &moment.snapshot)
    }
}
