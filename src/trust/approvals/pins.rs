//! What is held of one server now, as decisions read it: a table for each kind of thing.

use std::{collections::HashMap, sync::Arc};

use super::{Hold, Ledger, ThingKind};

/// What is held of one server, and the ledger that says so. Immutable.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Pins {
    pub(super) held: [HashMap<Box<str>, Hold>; ThingKind::ALL.len()],
    /// What was approved, and since when what is held.
    pub ledger: Arc<Ledger>,
    /// Whether nothing of the server is executed now, so that none of its texts is searched.
    pub is_untrusted: bool,
}

impl Pins {
    /// Why something is held; `None` if it is not.
    pub fn hold(&self, kind: ThingKind, name: &str) -> Option<&Hold> {
        self.held.get(kind as usize)?.get(name)
    }

    /// The names of what is held of a kind.
    pub fn names(&self, kind: ThingKind) -> impl Iterator<Item = (&str, &Hold)> {
        let held = self.held.get(kind as usize);
        held.into_iter()
            .flatten()
            .map(|(name, hold)| (&**name, hold))
    }

    /// How many tools are held.
    pub fn held_tools(&self) -> usize {
        self.held.first().map_or(0, HashMap::len)
    }

    /// How many things are held, tools among them.
    pub fn held_things(&self) -> usize {
        self.held.iter().map(HashMap::len).sum()
    }

    pub(super) fn add(&mut self, kind: ThingKind, name: &str, hold: Hold) {
        if let Some(held) = self.held.get_mut(kind as usize) {
            held.insert(name.into(), hold);
        }
    }
}
