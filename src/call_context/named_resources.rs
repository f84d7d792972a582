//! The resources that the results of servers named to one client, so that it can read a resource that no list has from the server that named it.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use crate::{
    runtime::{
        memory_budget::{MemoryBudget, MemoryShare},
        sync::Guarded,
    },
    text::names::ServerName,
};

/// Limit: URIs that are remembered for one client, and their bytes. Those that were named longest ago are forgotten.
const MAX_URIS: usize = 1_000;
const MAX_BYTES: usize = 512 << 10;

/// Bytes of memory for a URI beside its text, about.
const OVERHEAD: usize = 256;

/// A server, and its own URI for a resource.
pub type NamedBy = (ServerName, Arc<str>);

/// The resources that servers named to one client.
#[derive(Debug, Default)]
pub struct NamedResources(Guarded<Known>);

#[derive(Debug, Default)]
struct Known {
    by_uri: HashMap<Arc<str>, (u64, NamedBy)>,
    in_order: BTreeMap<u64, Arc<str>>,
    /// The number of the latest entry.
    last: u64,
    bytes: usize,
    memory: Option<MemoryShare>,
}

impl NamedResources {
    /// Notes that a server named a resource to the client under this URI; `own` is the server's own URI for it. The last server to name it
    /// counts. Nothing is noted if the budget has no memory left.
    pub fn note(&self, uri: &str, server: &ServerName, own: &str, budget: &MemoryBudget) {
        let mut known = self.0.lock();
        known.forget(uri);
        let cost = cost_of(uri, own);
        if cost > MAX_BYTES {
            return;
        }
        while known.by_uri.len() >= MAX_URIS || known.bytes + cost > MAX_BYTES {
            let Some((_, oldest)) = known.in_order.first_key_value() else {
                return;
            };
            let oldest = oldest.clone();
            known.forget(&oldest);
        }
        let memory = known.memory.get_or_insert_with(|| budget.share());
        if !memory.try_grow(cost) {
            return;
        }
        known.bytes += cost;
        known.last += 1;
        let (number, uri) = (known.last, Arc::<str>::from(uri));
        let own = if *uri == *own {
            uri.clone()
        } else {
            own.into()
        };
        known.in_order.insert(number, uri.clone());
        known.by_uri.insert(uri, (number, (server.clone(), own)));
    }

    /// The server that named this URI last.
    pub fn find(&self, uri: &str) -> Option<NamedBy> {
        let known = self.0.lock();
        known.by_uri.get(uri).map(|(_, named)| named.clone())
    }
}

impl Known {
    fn forget(&mut self, uri: &str) {
        if let Some((number, (_, own))) = self.by_uri.remove(uri) {
            self.in_order.remove(&number);
            self.bytes -= cost_of(uri, &own);
            let bytes = self.bytes;
            if let Some(memory) = &mut self.memory {
                memory.shrink_to(bytes);
            }
        }
    }
}

fn cost_of(uri: &str, own: &str) -> usize {
    uri.len() + own.len() + OVERHEAD
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(name: &str) -> ServerName {
        ServerName::parse(name).expect("a name")
    }

    fn is_known(named: &NamedResources, uri: &str) -> bool {
        named.find(uri).is_some()
    }

    #[test]
    fn the_last_that_named_a_uri_counts() {
        let (named, budget) = (NamedResources::default(), MemoryBudget::of(1 << 20));
        named.note("x://1", &server("a"), "x://1", &budget);
        named.note("x://1", &server("b"), "x://own", &budget);
        assert_eq!(named.find("x://1"), Some((server("b"), "x://own".into())));
        assert_eq!(named.find("x://own"), None);
    }

    #[test]
    fn those_named_longest_ago_are_forgotten() {
        let (named, budget) = (NamedResources::default(), MemoryBudget::of(1 << 20));
        let a = server("a");
        let note = |uri: &str| named.note(uri, &a, uri, &budget);
        for n in 0..MAX_URIS {
            note(&format!("x://{n}"));
        }
        note("x://0");
        note("x://new");
        assert!(is_known(&named, "x://0") && is_known(&named, "x://new"));
        assert!(!is_known(&named, "x://1") && is_known(&named, "x://2"));
        // As many as fit by their bytes.
        note(&"y".repeat(MAX_BYTES / 4));
        note(&"z".repeat(MAX_BYTES / 4 - OVERHEAD));
        assert!(!is_known(&named, "x://new"));
        // What is too long takes nobody's place.
        note(&"w".repeat(MAX_BYTES));
        assert!(is_known(&named, &"z".repeat(MAX_BYTES / 4 - OVERHEAD)));
    }

    #[test]
    fn what_is_remembered_holds_memory_until_it_is_forgotten() {
        let budget = MemoryBudget::of(2 * cost_of("x://1", "x://1"));
        let (one, other) = (NamedResources::default(), NamedResources::default());
        let a = server("a");
        for uri in ["x://1", "x://2", "x://3"] {
            one.note(uri, &a, uri, &budget);
        }
        assert!(is_known(&one, "x://2") && !is_known(&one, "x://3"));
        other.note("x://1", &a, "x://1", &budget);
        assert!(!is_known(&other, "x://1"));
        drop(one);
        other.note("x://1", &a, "x://1", &budget);
        assert!(is_known(&other, "x://1"));
    }
}
