//! The published state of the catalog: everything every server offers, and the tables that lead from offered names back.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use super::{Prompt, ServerCatalog, Tool, uri_templates::fits};
use crate::{
    approvals::{Hold, Lock, Pins, ThingKind},
    names::ServerName,
};

/// Everything that is known at one moment. Immutable; readers keep it as long as they need it.
#[derive(Debug, Default)]
pub struct Snapshot {
    /// Counts the snapshots of one daemon.
    pub generation: u64,
    /// The servers whose lists are known.
    pub servers: BTreeMap<ServerName, Arc<ServerCatalog>>,
    /// What of that is held, for each server whose lists were compared with what was approved.
    pub pins: BTreeMap<ServerName, Arc<Pins>>,
    /// The lock file that says what is accepted, where one does.
    pub lock: Option<Arc<Lock>>,
    tools: HashMap<Box<str>, (ServerName, usize)>,
    prompts: HashMap<Box<str>, (ServerName, usize)>,
    resources: HashMap<Box<str>, Owner>,
    /// URI templates, and which server is the first that has it.
    templates: HashMap<Box<str>, ServerName>,
    /// What is offered under another URI or template than its own, by server and own one.
    aliases: HashMap<(ServerName, Box<str>), Alias>,
}

/// Under what a URI or template is offered that is taken by an earlier server.
#[derive(Debug)]
struct Alias {
    offered: Box<str>,
    /// How often the server's name was put in: once, unless that was taken, too.
    times: usize,
}

/// A URI template as clients see it.
#[derive(Debug, Clone)]
pub struct OfferedTemplate<'a> {
    /// Whose it is.
    pub server: &'a ServerName,
    /// What it is offered as.
    pub offered: Cow<'a, str>,
    /// How often the server's name stands in that and not in its own.
    times: usize,
}

impl OfferedTemplate<'_> {
    /// The server's own URI for an expansion of what is offered, or for the template itself.
    pub fn own_uri(&self, uri: &str) -> Box<str> {
        let mut own: Box<str> = uri.into();
        for _ in 0..self.times {
            own = replaced_uri(self.server, &own).into();
        }
        own
    }
}

/// Whose resource an offered URI is, and the server's own URI for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// The server.
    pub server: ServerName,
    /// The server's own URI.
    pub uri: Box<str>,
}

impl Snapshot {
    /// Builds the tables. Among servers the order of names decides who comes first, so the outcome never depends on who answered
    /// first.
    pub fn new(generation: u64, servers: BTreeMap<ServerName, Arc<ServerCatalog>>) -> Self {
        let mut made = Self {
            generation,
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
            for resource in &server.resources {
                made.resources
                    .entry(resource.uri.clone())
                    .or_insert_with(|| Owner {
                        server: name.clone(),
                        uri: resource.uri.clone(),
                    });
            }
            for template in &server.templates {
                made.templates
                    .entry(template.uri_template.clone())
                    .or_insert_with(|| name.clone());
            }
        }
        // What a server calls its own stays its own: aliases take what is left.
        for (name, server) in &servers {
            for resource in &server.resources {
                made.displace_resource(name, &resource.uri);
            }
            for template in &server.templates {
                made.displace_template(name, &template.uri_template);
            }
        }
        made.servers = servers;
        made
    }

    fn displace_resource(&mut self, server: &ServerName, uri: &str) {
        let is_its_own = |owner: &Owner| owner.server == *server;
        if self.resources.get(uri).is_none_or(is_its_own) {
            return;
        }
        let alias = free_alias(server, uri, |offered| self.resources.contains_key(offered));
        let owner = Owner {
            server: server.clone(),
            uri: uri.into(),
        };
        self.resources.insert(alias.offered.clone(), owner);
        self.aliases.insert((server.clone(), uri.into()), alias);
    }

    fn displace_template(&mut self, server: &ServerName, template: &str) {
        if self
            .templates
            .get(template)
            .is_none_or(|owner| owner == server)
        {
            return;
        }
        let alias = free_alias(server, template, |offered| {
            self.templates.contains_key(offered)
        });
        self.templates.insert(alias.offered.clone(), server.clone());
        self.aliases
            .insert((server.clone(), template.into()), alias);
    }

    fn alias(&self, server: &ServerName, own: &str) -> Option<&Alias> {
        if self.aliases.is_empty() {
            return None;
        }
        self.aliases.get(&(server.clone(), own.into()))
    }

    /// The same with what is held of it.
    #[must_use]
    pub fn with_pins(self, pins: BTreeMap<ServerName, Arc<Pins>>, lock: Option<Arc<Lock>>) -> Self {
        Self { pins, lock, ..self }
    }

    /// Whether a lock file says what is accepted.
    pub fn is_locked(&self) -> bool {
        self.lock.is_some()
    }

    /// Why something of a server is held; `None` if it is not.
    pub fn hold(&self, server: &str, kind: ThingKind, name: &str) -> Option<&Hold> {
        self.pins.get(server)?.hold(kind, name)
    }

    /// Whether nobody may meet a thing by its texts: it is held, or its server may not be used.
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

    /// Whose resource an offered URI is.
    pub fn offered_resource(&self, uri: &str) -> Option<&Owner> {
        self.resources.get(uri)
    }

    /// The URI under which a server's resource is offered: its own, unless a server before it in the order of names has the same. Never one
    /// that is another server's.
    pub fn offered_uri(&self, server: &ServerName, uri: &str) -> String {
        if let Some(alias) = self.alias(server, uri) {
            return alias.offered.to_string();
        }
        let is_others = |uri: &str| {
            let owner = self.resources.get(uri);
            owner.is_some_and(|owner| owner.server != *server)
        };
        if !is_others(uri) {
            return uri.to_owned();
        }
        // It is in no list: a part of something, for example.
        let taken = |offered: &str| self.resources.contains_key(offered);
        free_alias(server, uri, taken).offered.into()
    }

    /// What a URI or template of a server is offered as, where that is not what the server calls it: one that it lists, or one that an
    /// offered template of its own describes.
    pub fn other_offered(&self, server: &str, own: &str) -> Option<String> {
        if self.aliases.is_empty() {
            return None;
        }
        let (server, known) = self.servers.get_key_value(server)?;
        if let Some(alias) = self.alias(server, own) {
            return Some(alias.offered.to_string());
        }
        let templates = known.templates.iter();
        let mut aliases = templates.filter(|template| fits(&template.uri_template, own));
        let alias = aliases.find_map(|template| self.alias(server, &template.uri_template))?;
        let mut offered = own.to_owned();
        for _ in 0..alias.times {
            offered = displaced_uri(server, &offered);
        }
        Some(offered)
    }

    /// The URI template under which a server's is offered, by the same rule.
    pub fn offered_template<'a>(&self, server: &ServerName, template: &'a str) -> Cow<'a, str> {
        match self.alias(server, template) {
            Some(alias) => alias.offered.to_string().into(),
            None => template.into(),
        }
    }

    /// Every template that is offered: whose it is, what it is offered as, and the server's own.
    pub fn offered_templates(&self) -> impl Iterator<Item = OfferedTemplate<'_>> {
        self.servers.iter().flat_map(move |(server, catalog)| {
            let templates = catalog.templates.iter();
            templates.map(move |template| {
                let alias = self.alias(server, &template.uri_template);
                OfferedTemplate {
                    server,
                    offered: self.offered_template(server, &template.uri_template),
                    times: alias.map_or(0, |alias| alias.times),
                }
            })
        })
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

/// Limit: how often a server's name is put into one URI. Whoever takes all of these is in nobody's way but its own.
const MOST_TIMES: usize = 64;

/// The first alias that nobody has.
fn free_alias(server: &ServerName, own: &str, is_taken: impl Fn(&str) -> bool) -> Alias {
    let mut offered = displaced_uri(server, own);
    let mut times = 1;
    while is_taken(&offered) && times < MOST_TIMES {
        offered = displaced_uri(server, &offered);
        times += 1;
    }
    Alias {
        offered: offered.into(),
        times,
    }
}

/// `scheme://rest` of a second server becomes `scheme://server/rest`.
fn displaced_uri(server: &ServerName, uri: &str) -> String {
    match uri.split_once("://") {
        Some((scheme, rest)) => format!("{scheme}://{server}/{rest}"),
        None => format!("{server}/{uri}"),
    }
}

/// The URI that was displaced.
fn replaced_uri(server: &ServerName, uri: &str) -> String {
    let after = |rest: &str| {
        let rest = rest.strip_prefix(server.as_str())?;
        rest.strip_prefix('/').map(str::to_owned)
    };
    let replaced = match uri.split_once("://") {
        Some((scheme, rest)) => after(rest).map(|rest| format!("{scheme}://{rest}")),
        None => after(uri),
    };
    replaced.unwrap_or_else(|| uri.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        catalog::Listing,
        wire::{Raw, Revision},
    };

    fn with_templates(name: &str, templates: &[&str]) -> (ServerName, Arc<ServerCatalog>) {
        made(name, &[], &[], templates)
    }

    fn server(name: &str, tools: &[&str], uris: &[&str]) -> (ServerName, Arc<ServerCatalog>) {
        made(name, tools, uris, &[])
    }

    fn made(
        name: &str,
        tools: &[&str],
        uris: &[&str],
        templates: &[&str],
    ) -> (ServerName, Arc<ServerCatalog>) {
        let name = ServerName::parse(name).expect("a name");
        let define = |key: &str, values: &[&str]| {
            values
                .iter()
                .map(|v| Raw::author(&serde_json::json!({key: v, "inputSchema": {}})))
                .collect()
        };
        let listing = Listing {
            initialize: Raw::empty_object(),
            revision: Revision::NEWEST_LEGACY,
            tools: define("name", tools),
            prompts: vec![],
            resources: define("uri", uris),
            templates: define("uriTemplate", templates),
        };
        (
            name.clone(),
            Arc::new(ServerCatalog::ingest(&name, "e", listing)),
        )
    }

    #[test]
    fn offered_names_lead_back() {
        let snapshot = Snapshot::new(
            1,
            [server("a", &["x", "y.z"], &[]), server("b", &["x"], &[])].into(),
        );
        assert_eq!(snapshot.tool_count(), 3);
        for name in snapshot.offered_tool_names() {
            let (server, tool) = snapshot.offered_tool(name).expect("offered");
            assert_eq!(crate::names::offered(server, &tool.name), name);
        }
        assert!(snapshot.offered_tool("a__z").is_none());
    }

    #[test]
    fn only_the_second_of_two_equal_templates_is_offered_differently_and_leads_back() {
        let snapshot = Snapshot::new(
            1,
            [
                with_templates("b", &["doc://{id}", "file:///{+path}", "b://{x}"]),
                with_templates("a", &["doc://{id}", "file:///{+path}", "{+all}"]),
                with_templates("c", &["{+all}"]),
            ]
            .into(),
        );
        let offered: Vec<_> = snapshot
            .offered_templates()
            .map(|one| format!("{} {}", one.server, one.offered))
            .collect();
        assert_eq!(
            offered,
            [
                "a doc://{id}",
                "a file:///{+path}",
                "a {+all}",
                "b doc://b/{id}",
                "b file://b//{+path}",
                "b b://{x}",
                "c c/{+all}"
            ]
        );
        let own = |number: usize, uri: &str| {
            let template = snapshot.offered_templates().nth(number);
            template.expect("offered").own_uri(uri).to_string()
        };
        assert_eq!(own(0, "doc://b/7"), "doc://b/7");
        assert_eq!(own(3, "doc://b/7"), "doc://7");
        assert_eq!(own(4, "file://b//etc/x"), "file:///etc/x");
        assert_eq!(own(6, "c/anything"), "anything");
    }

    #[test]
    fn only_the_second_of_two_equal_uris_is_offered_differently() {
        let snapshot = Snapshot::new(
            1,
            [
                server("b", &[], &["file:///x", "b://y"]),
                server("a", &[], &["file:///x"]),
            ]
            .into(),
        );
        let owner = |uri: &str| {
            snapshot
                .offered_resource(uri)
                .map(|o| (o.server.to_string(), o.uri.to_string()))
        };
        assert_eq!(owner("file:///x"), Some(("a".into(), "file:///x".into())));
        assert_eq!(owner("file://b//x"), Some(("b".into(), "file:///x".into())));
        assert_eq!(owner("b://y"), Some(("b".into(), "b://y".into())));
        let b = ServerName::parse("b").expect("a name");
        assert_eq!(snapshot.offered_uri(&b, "file:///x"), "file://b//x");
        assert_eq!(snapshot.offered_uri(&b, "b://y"), "b://y");
        let other = |server: &str, uri: &str| snapshot.other_offered(server, uri);
        assert_eq!(other("b", "file:///x").as_deref(), Some("file://b//x"));
        assert_eq!(other("b", "b://y"), None);
        assert_eq!(other("a", "file:///x"), None);
        assert_eq!(other("z", "file:///x"), None);
    }

    #[test]
    fn an_alias_is_never_what_another_server_calls_its_own() {
        // Whoever is earlier by name: `c` and `0` own what would be the alias of `b`.
        for other in ["0", "c"] {
            let snapshot = Snapshot::new(
                1,
                [
                    made("a", &[], &["file:///x"], &["doc://{id}"]),
                    made("b", &[], &["file:///x"], &["doc://{id}"]),
                    made(other, &[], &["file://b//x"], &["doc://b/{id}"]),
                ]
                .into(),
            );
            let of = |uri: &str| {
                let owner = snapshot.offered_resource(uri).expect("offered");
                (owner.server.to_string(), owner.uri.to_string())
            };
            assert_eq!(
                of("file://b//x"),
                (other.to_owned(), "file://b//x".to_owned())
            );
            let b = ServerName::parse("b").expect("a name");
            let offered = snapshot.offered_uri(&b, "file:///x");
            assert_eq!(offered, "file://b/b//x");
            assert_eq!(of(&offered), ("b".to_owned(), "file:///x".to_owned()));
            let mut templates = snapshot.offered_templates();
            let template = templates.find(|one| *one.server == b).expect("offered");
            assert_eq!(template.offered, "doc://b/b/{id}");
            assert_eq!(&*template.own_uri("doc://b/b/7"), "doc://7");
        }
    }
}
