//! The published state of the catalog: what every server lists, and the tables that lead from offered names to servers.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use super::{OfferedTemplate, Owner, Prompt, ServerCatalog, Tool, offered_uris::OfferedUris};
use crate::{
    text::ServerName,
    trust::approvals::{Hold, Lock, Pins, ThingKind},
};

/// The generation of the first snapshot that only some clients see. Those for everybody stay below.
pub(super) const FIRST_OWN: u64 = 1 << 63;

/// What is known at one moment. Immutable; readers keep it as long as they need it.
#[derive(Debug, Default)]
pub struct Snapshot {
    /// Counts the snapshots of one daemon.
    pub generation: u64,
    /// The servers whose lists are known.
    pub servers: BTreeMap<ServerName, Arc<ServerCatalog>>,
    /// What is held, for each server whose lists were compared with what was approved.
    pub pins: BTreeMap<ServerName, Arc<Pins>>,
    /// The lock file that says what is accepted, where one does.
    pub lock: Option<Arc<Lock>>,
    tools: HashMap<Box<str>, (ServerName, usize)>,
    prompts: HashMap<Box<str>, (ServerName, usize)>,
    uris: OfferedUris,
}

impl Snapshot {
    /// A snapshot in which nothing is held.
    pub fn new(generation: u64, servers: BTreeMap<ServerName, Arc<ServerCatalog>>) -> Self {
        Self::judged(generation, servers, BTreeMap::new(), None)
    }

    /// Builds the tables. Of two servers with the same offered name or URI the first by name has it, so the result never depends on which
    /// one answered first. A held URI gives way to one in use.
    pub fn judged(
        generation: u64,
        servers: BTreeMap<ServerName, Arc<ServerCatalog>>,
        pins: BTreeMap<ServerName, Arc<Pins>>,
        lock: Option<Arc<Lock>>,
    ) -> Self {
        let mut made = Self {
            generation,
            pins,
            lock,
            ..Self::default()
        };
        for (name, server) in &servers {
            for (i, tool) in server.tools.iter().enumerate() {
                made.tools
                    .entry(tool.offered.clone())
                    .or_insert_with(|| (name.clone(), i));
            }
            for (i, prompt) in server.prompts.iter().enumerate() {
                made.prompts
                    .entry(prompt.offered.clone())
                    .or_insert_with(|| (name.clone(), i));
            }
        }
        let hides = |server: &ServerName, kind, own: &str| made.hides(server.as_str(), kind, own);
        made.uris = OfferedUris::new(&servers, hides);
        made.servers = servers;
        made
    }

    /// The same with these lists in place of those that everybody sees.
    pub(super) fn with_listings<'a>(
        &self,
        generation: u64,
        own: impl Iterator<Item = (&'a Arc<ServerCatalog>, &'a Arc<Pins>)>,
    ) -> Self {
        let (mut servers, mut pins) = (self.servers.clone(), self.pins.clone());
        for (listed, held) in own {
            servers.insert(listed.server.clone(), listed.clone());
            pins.insert(listed.server.clone(), held.clone());
        }
        Self::judged(generation, servers, pins, self.lock.clone())
    }

    /// Whether only some clients see it.
    pub fn is_own(&self) -> bool {
        self.generation >= FIRST_OWN
    }

    /// Whether a lock file says what is accepted.
    pub fn is_locked(&self) -> bool {
        self.lock.is_some()
    }

    /// Why something of a server is held; `None` if it is not.
    pub fn hold(&self, server: &str, kind: ThingKind, name: &str) -> Option<&Hold> {
        self.pins.get(server)?.hold(kind, name)
    }

    /// Whether nobody may use a thing or read its texts: it is held, or its server is not trusted.
    pub fn hides(&self, server: &str, kind: ThingKind, name: &str) -> bool {
        let pins = self.pins.get(server);
        pins.is_some_and(|pins| pins.is_untrusted || pins.hold(kind, name).is_some())
    }

    /// A tool by the name under which it is offered.
    pub fn offered_tool(&self, offered: &str) -> Option<(&ServerName, &Tool)> {
        let (server, i) = self.tools.get(offered)?;
        Some((server, self.servers.get(server)?.tools.get(*i)?))
    }

    /// A prompt by the name under which it is offered.
    pub fn offered_prompt(&self, offered: &str) -> Option<(&ServerName, &Prompt)> {
        let (server, i) = self.prompts.get(offered)?;
        Some((server, self.servers.get(server)?.prompts.get(*i)?))
    }

    /// The owner of an offered URI.
    pub fn offered_resource(&self, uri: &str) -> Option<&Owner> {
        self.uris.resource(uri)
    }

    /// The URI under which a server's resource is offered: its own, unless another server has the same.
    pub fn offered_uri<'a>(&self, server: &ServerName, uri: &'a str) -> Cow<'a, str> {
        self.uris.offered_uri(server, uri)
    }

    /// Whether any URI or template of a server is offered in another form.
    pub fn renames(&self, server: &str) -> bool {
        self.uris.renames(server)
    }

    /// The offered form of a server's URI or template, or of a URI that fits its template; `None` if that is its own.
    pub fn other_offered(&self, server: &str, own: &str) -> Option<String> {
        self.uris.other_offered(server, own)
    }

    /// The offered form of a server's template.
    pub fn offered_template<'a>(&self, server: &ServerName, template: &'a str) -> Cow<'a, str> {
        self.uris.offered_template(server.as_str(), template)
    }

    /// Every offered template.
    pub fn offered_templates(&self) -> impl Iterator<Item = OfferedTemplate<'_>> {
        self.uris.offered_templates(&self.servers)
    }

    /// A server's tool by the server's own name for it.
    pub fn tool(&self, server: &str, tool: &str) -> Option<&Tool> {
        self.servers.get(server)?.tool(tool)
    }

    /// How many tools are known.
    pub fn tool_count(&self) -> usize {
        self.servers.values().map(|server| server.tools.len()).sum()
    }

    /// Every offered tool name.
    pub fn offered_tool_names(&self) -> impl Iterator<Item = &str> {
        self.tools.keys().map(AsRef::as_ref)
    }

    /// Every offered prompt name.
    pub fn offered_prompt_names(&self) -> impl Iterator<Item = &str> {
        self.prompts.keys().map(AsRef::as_ref)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        catalog::Listing,
        wire::{Raw, Revision},
    };

    fn server(name: &str, tools: &[&str]) -> (ServerName, Arc<ServerCatalog>) {
        let name = ServerName::parse(name).expect("a name");
        let define = |v| Raw::author(&serde_json::json!({"name": v, "inputSchema": {}}));
        let listing = Listing {
            initialize: Raw::empty_object(),
            revision: Revision::NEWEST_LEGACY,
            tools: tools.iter().map(define).collect(),
            prompts: vec![],
            resources: vec![],
            templates: vec![],
        };
        let known = ServerCatalog::ingest(&name, "e", listing);
        (name, Arc::new(known))
    }

    #[test]
    fn offered_names_lead_back() {
        let snapshot = Snapshot::new(1, [server("a", &["x", "y.z"]), server("b", &["x"])].into());
        assert_eq!(snapshot.tool_count(), 3);
        for name in snapshot.offered_tool_names() {
            let (server, tool) = snapshot.offered_tool(name).expect("offered");
            assert_eq!(crate::text::names::offered(server, &tool.name), name);
        }
        assert!(snapshot.offered_tool("a__z").is_none());
    }
}
