//! The one writer: updates the index to a snapshot, and reads only the texts of tools whose fingerprint changed.

use std::{
    collections::{
        HashMap,
        hash_map::{Entry, RandomState},
    },
    sync::Arc,
};

use super::{
    Searcher,
    postings::{Postings, ToolTerms},
    searcher::Indexed,
    texts::{self, Measures},
};
use crate::{
    catalog::{Snapshot, Tool},
    text::names::ServerName,
    trust::{approvals::ThingKind, fingerprint::Fingerprint},
};

/// Builds the index. Its methods compute for long; call them on a blocking thread.
#[derive(Default)]
pub struct Writer {
    /// Of the hashes of terms.
    keys: RandomState,
    known: HashMap<(ServerName, Box<str>), Known>,
}

/// An indexed tool.
struct Known {
    fingerprint: Fingerprint,
    /// Whether it is found by its name alone.
    is_hidden: bool,
    measures: Measures,
    terms: Arc<ToolTerms>,
}

/// What an update did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IndexChanges {
    /// Tools that were indexed, for the first time or anew.
    pub indexed: usize,
    /// Tools that were taken out.
    pub removed: usize,
}

impl Writer {
    /// Updates the index to the snapshot.
    pub fn update(&mut self, snapshot: Arc<Snapshot>) -> (Searcher, IndexChanges) {
        let n_known = self.known.len();
        self.known
            .retain(|(server, tool), _| snapshot.tool(server.as_str(), tool).is_some());
        let mut changes = IndexChanges {
            indexed: 0,
            removed: n_known - self.known.len(),
        };
        let mut tools = Vec::new();
        let mut postings = Postings::new(self.keys.clone());
        for (at, server) in snapshot.servers.values().enumerate() {
            for (place, tool) in server.tools.iter().enumerate() {
                let is_hidden = snapshot.hides(server.server.as_str(), ThingKind::Tool, &tool.name);
                let known = self.read(&server.server, tool, is_hidden, &mut changes);
                postings.add(u32::try_from(tools.len()).unwrap_or(u32::MAX), &known.terms);
                tools.push(Indexed {
                    server: server.clone(),
                    at,
                    place,
                    measures: known.measures,
                    terms: known.terms.clone(),
                    is_hidden,
                });
            }
        }
        (Searcher::new(snapshot, tools, postings), changes)
    }

    /// A tool as it is known, or else as it is read now.
    fn read(
        &mut self,
        server: &ServerName,
        tool: &Tool,
        is_hidden: bool,
        changes: &mut IndexChanges,
    ) -> &Known {
        let entry = self.known.entry((server.clone(), tool.name.clone()));
        let entry = match entry {
            Entry::Occupied(known)
                if known.get().fingerprint == tool.fingerprint
                    && known.get().is_hidden == is_hidden =>
            {
                return known.into_mut();
            }
            entry => entry,
        };
        changes.indexed += 1;
        let texts = if is_hidden {
            texts::name_alone(tool)
        } else {
            texts::texts_of(server, tool)
        };
        entry
            .insert_entry(Known {
                fingerprint: tool.fingerprint,
                is_hidden,
                measures: Measures {
                    lengths: texts::lengths(&texts),
                    is_deprecated: !is_hidden && texts::is_deprecated(tool),
                },
                terms: ToolTerms::of(&texts, &self.keys).into(),
            })
            .into_mut()
    }
}
