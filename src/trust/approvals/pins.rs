//! The held definitions of one server, as decisions about calls and lists read them: a table for each kind of thing.

use std::{collections::HashMap, sync::Arc};

use super::{Hold, Ledger, ThingKind};

/// The held definitions of one server, and its ledger. Immutable.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Pins {
    pub(super) held: [HashMap<Box<str>, Hold>; ThingKind::ALL.len()],
    /// The server's ledger.
    pub ledger: Arc<Ledger>,
    /// Whether the server is not trusted, so that its tools can be neither called nor found.
    pub is_untrusted: bool,
}

impl Pins {
    /// The hold of a thing, if it is held.
    pub fn hold(&self, kind: ThingKind, name: &str) -> Option<&Hold> {
        self.held.get(kind as usize)?.get(name)
    }

    /// The held things of a kind: their names and holds.
    pub fn names(&self, kind: ThingKind) -> impl Iterator<Item = (&str, &Hold)> {
        let held = self.held.get(kind as usize);
        held.into_iter()
            .flatten()
            .map(|(name, hold)| (&**name, hold))
    }

    /// The number of held tools.
    pub fn held_tools(&self) -> usize {
        self.held.first().map_or(0, HashMap::len)
    }

    /// The number of held things of all kinds.
    pub fn held_things(&self) -> usize {
        self.held.iter().map(HashMap::len).sum()
    }

    pub(super) fn add(&mut self, kind: ThingKind, name: &str, hold: Hold) {
        if let Some(held) = self.held.get_mut(kind as usize) {
            held.insert(name.into(), hold);
        }
    }
}
