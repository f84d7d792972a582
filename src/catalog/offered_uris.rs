//! Maps the resource URIs and templates of all servers to those that endpoints of many servers offer, and back. An offered one is the
//! server's own, unless another server has the same: then it gets the server's name in it. Knows nothing of access rules. Pure.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap, hash_map::Entry},
    sync::Arc,
};

use super::{ServerCatalog, uri_templates::fits};
use crate::{text::names::ServerName, trust::approvals::ThingKind};

type Servers = BTreeMap<ServerName, Arc<ServerCatalog>>;

/// Whether nobody may have a thing of a server at the moment.
pub(super) trait Hides: Fn(&ServerName, ThingKind, &str) -> bool {}

impl<F: Fn(&ServerName, ThingKind, &str) -> bool> Hides for F {}

/// Limit: renamed templates of one server with which a URI is compared. If the server has more, every URI with its name in it counts as theirs.
const MOST_TEMPLATES: usize = 256;

/// The offered URIs and templates of one snapshot.
#[derive(Debug, Default)]
pub(super) struct OfferedUris {
    resources: Names,
    templates: Names,
}

/// The offered forms of all URIs, or of all templates.
#[derive(Debug, Default)]
struct Names {
    /// By offered form.
    owners: HashMap<Box<str>, Owner>,
    /// By server and its own form: the offered form, where that is another.
    renamed: HashMap<ServerName, HashMap<Box<str>, Box<str>>>,
}

/// The server of a resource, and its own URI for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// The server.
    pub server: ServerName,
    /// The server's own URI.
    pub uri: Box<str>,
}

/// A URI, or a template, that a server has.
struct Claim<'a> {
    own: &'a str,
    rank: Rank,
    server: &'a ServerName,
}

/// Which of several servers keeps a URI as its own: the one with the first of these ranks; among equals the first by name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Listed,
    /// The view of a tool (MCP Apps), which its server does not list.
    Named,
    /// Nobody may use it at the moment, so it must not rename what is in use.
    Hidden,
}

/// A URI template as clients see it.
#[derive(Debug, Clone)]
pub struct OfferedTemplate<'a> {
    /// Its server.
    pub server: &'a ServerName,
    /// The offered form.
    pub offered: Cow<'a, str>,
    /// Whether the offered form differs from the server's own. A URI that fits it then belongs to no other server.
    pub is_renamed: bool,
}

impl OfferedTemplate<'_> {
    /// The server's own form of an expansion of the offered template, or of the template itself.
    pub fn own_uri(&self, uri: &str) -> Box<str> {
        if self.is_renamed {
            without_server(self.server, uri).into()
        } else {
            uri.into()
        }
    }
}

impl OfferedUris {
    /// The result depends on the lists and names of the servers alone, not on earlier results: a URI leads to the same server after a
    /// restart.
    pub(super) fn new(servers: &Servers, hides: impl Hides) -> Self {
        let (mut resources, mut templates) = (Vec::new(), Vec::new());
        for (server, known) in servers {
            let claim = |kind, name: &str, rank, own| {
                let is_hidden = hides(server, kind, name);
                let rank = if is_hidden { Rank::Hidden } else { rank };
                Claim { own, rank, server }
            };
            let listed = known.resources.iter().map(|one| &*one.uri);
            resources.extend(listed.map(|own| claim(ThingKind::Resource, own, Rank::Listed, own)));
            for tool in &known.tools {
                let named = tool.views.iter();
                resources
                    .extend(named.map(|own| claim(ThingKind::Tool, &tool.name, Rank::Named, own)));
            }
            let listed = known.templates.iter().map(|one| &*one.uri_template);
            templates.extend(listed.map(|own| claim(ThingKind::Template, own, Rank::Listed, own)));
        }
        let templates = Names::new(templates, |_| false);
        let resources = Names::new(resources, |claim| templates.may_describe(claim));
        Self {
            resources,
            templates,
        }
    }

    /// The owner of an offered URI.
    pub(super) fn resource(&self, uri: &str) -> Option<&Owner> {
        self.resources.owners.get(uri)
    }

    /// Whether a URI or template of a server is renamed.
    pub(super) fn renames(&self, server: &str) -> bool {
        self.resources.renamed.contains_key(server) || self.templates.renamed.contains_key(server)
    }

    /// The URI under which a server's resource is offered, listed or not.
    pub(super) fn offered_uri<'a>(&self, server: &ServerName, own: &'a str) -> Cow<'a, str> {
        let owner = self.resources.owners.get(own);
        if owner.is_some_and(|owner| owner.server == *server && *owner.uri == *own) {
            return own.into();
        }
        let renamed = self.other_offered(server.as_str(), own);
        // Its server does not list it, but another one does.
        let renamed = renamed.or_else(|| owner.map(|_| with_server(server, own)));
        renamed.map_or(own.into(), Cow::Owned)
    }

    /// The offered form of a server's URI or template, if that is another.
    pub(super) fn other_offered(&self, server: &str, own: &str) -> Option<String> {
        let (resources, templates) = (&self.resources, &self.templates);
        if let Some(offered) = resources.offered_form(server, own) {
            return Some(offered.to_owned());
        }
        let (server, renamed) = templates.renamed.get_key_value(server)?;
        let describes = |template: &str| template == own || fits(template, own);
        let is_described = renamed.keys().any(|template| describes(template));
        is_described.then(|| with_server(server, own))
    }

    /// The offered form of a server's template.
    pub(super) fn offered_template<'a>(&self, server: &str, template: &'a str) -> Cow<'a, str> {
        let other = self.templates.offered_form(server, template);
        other.map_or(template.into(), |other| other.to_owned().into())
    }

    /// Every template that is offered.
    pub(super) fn offered_templates<'a>(
        &'a self,
        servers: &'a Servers,
    ) -> impl Iterator<Item = OfferedTemplate<'a>> {
        servers.iter().flat_map(move |(server, catalog)| {
            let templates = catalog.templates.iter();
            templates.map(move |template| {
                let own = &*template.uri_template;
                let other = self.templates.offered_form(server.as_str(), own);
                OfferedTemplate {
                    server,
                    offered: other.unwrap_or(own).into(),
                    is_renamed: other.is_some(),
                }
            })
        })
    }
}

impl Names {
    /// Takes shorter claims first. A renamed form is longer than the own form, so it is in the table before any server's own URI that is the
    /// same text, and that one is renamed then. So each is renamed at most once, and every offered form has one owner.
    fn new(mut claims: Vec<Claim<'_>>, is_taken: impl Fn(&Claim<'_>) -> bool) -> Self {
        // Stable: they come in the order of the servers' names.
        claims.sort_by_key(|claim| (claim.own.len(), claim.rank));
        let mut made = Self::default();
        for claim in claims {
            let owner = Owner {
                server: claim.server.clone(),
                uri: claim.own.into(),
            };
            match made.owners.entry(claim.own.into()) {
                Entry::Occupied(known) if *known.get() == owner => continue,
                Entry::Vacant(free) if !is_taken(&claim) => {
                    free.insert(owner);
                    continue;
                }
                _ => (),
            }
            let offered: Box<str> = with_server(claim.server, claim.own).into();
            made.owners.insert(offered.clone(), owner);
            let renamed = made.renamed.entry(claim.server.clone()).or_default();
            renamed.insert(claim.own.into(), offered);
        }
        made
    }

    /// The offered form of a server's URI or template, if that is another.
    fn offered_form(&self, server: &str, own: &str) -> Option<&str> {
        Some(self.renamed.get(server)?.get(own)?)
    }

    /// Whether a claimed URI may be an expansion of another server's renamed template.
    fn may_describe(&self, claim: &Claim<'_>) -> bool {
        let after_scheme = claim.own.split_once("://");
        let rest = after_scheme.map_or(claim.own, |(_, rest)| rest);
        let named = rest.split_once('/').map(|(first, _)| first);
        let Some((other, renamed)) = named.and_then(|name| self.renamed.get_key_value(name)) else {
            return false;
        };
        let described = without_server(other, claim.own);
        other != claim.server
            && (renamed.len() > MOST_TEMPLATES || renamed.keys().any(|one| fits(one, &described)))
    }
}

/// `scheme://rest` becomes `scheme://server/rest`.
fn with_server(server: &ServerName, uri: &str) -> String {
    match uri.split_once("://") {
        Some((scheme, rest)) => format!("{scheme}://{server}/{rest}"),
        None => format!("{server}/{uri}"),
    }
}

/// `scheme://server/rest` becomes `scheme://rest`.
fn without_server(server: &ServerName, uri: &str) -> String {
    let after = |rest: &str| {
        let rest = rest.strip_prefix(server.as_str())?;
        rest.strip_prefix('/').map(str::to_owned)
    };
    let own = match uri.split_once("://") {
        Some((scheme, rest)) => after(rest).map(|rest| format!("{scheme}://{rest}")),
        None => after(uri),
    };
    own.unwrap_or_else(|| uri.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        catalog::{Listing, Snapshot},
        wire::{Raw, Revision},
    };

    type Known = (ServerName, Arc<ServerCatalog>);

    fn server(name: &str, uris: &[&str], templates: &[&str]) -> Known {
        with_views(name, uris, templates, &[])
    }

    fn with_views(name: &str, uris: &[&str], templates: &[&str], views: &[&str]) -> Known {
        let name = ServerName::parse(name).expect("a name");
        let define = |key: &str, values: &[&str]| {
            let values = values.iter();
            values.map(|v| Raw::author(&json!({key: v}))).collect()
        };
        let tool = |view: &&str| {
            let meta = json!({ "ui": { "resourceUri": view } });
            Raw::author(&json!({ "name": view, "inputSchema": {}, "_meta": meta }))
        };
        let listing = Listing {
            initialize: Raw::empty_object(),
            revision: Revision::NEWEST_LEGACY,
            tools: views.iter().map(tool).collect(),
            prompts: vec![],
            resources: define("uri", uris),
            templates: define("uriTemplate", templates),
        };
        let known = ServerCatalog::ingest(&name, "e", listing);
        (name, Arc::new(known))
    }

    fn named(uri: &str) -> ServerName {
        ServerName::parse(uri).expect("a name")
    }

    /// What is offered under another name: its server, its own URI or template, and what it is offered as. All leads back.
    #[track_caller]
    fn renamed(servers: &[Known]) -> Vec<String> {
        let snapshot = Snapshot::new(1, servers.iter().cloned().collect());
        let mut all = Vec::new();
        for (name, server) in &snapshot.servers {
            for resource in &server.resources {
                let offered = snapshot.offered_uri(name, &resource.uri);
                let owner = snapshot.offered_resource(&offered).expect("it leads back");
                assert_eq!((&owner.server, &owner.uri), (name, &resource.uri));
                all.push((name.clone(), resource.uri.clone(), offered.into_owned()));
            }
        }
        for template in snapshot.offered_templates() {
            let own = template.own_uri(&template.offered);
            let known = snapshot.servers.get(template.server);
            assert!(
                known.is_some_and(|known| known.template(&own).is_some()),
                "{own}"
            );
            all.push((template.server.clone(), own, template.offered.into_owned()));
        }
        let other = all.iter().filter(|(_, own, offered)| **own != **offered);
        let shown = other.map(|(server, own, offered)| format!("{server} {own} {offered}"));
        shown.collect()
    }

    #[test]
    fn only_what_another_server_has_too_is_renamed_and_only_once() {
        let a = || server("a", &["file:///x", "urn:x"], &["doc://{id}", "{+all}"]);
        let b = || {
            server(
                "b",
                &["file:///x", "urn:x", "b://y"],
                &["doc://{id}", "b://{x}"],
            )
        };
        let of_b = [
            "b file:///x file://b//x",
            "b urn:x b/urn:x",
            "b doc://{id} doc://b/{id}",
        ];
        let cases: [(&[Known], &[&str]); 5] = [
            (&[a()], &[]),
            (&[b(), a()], &of_b),
            // What another server's is renamed to is that one's, whoever is earlier by name.
            (
                &[
                    a(),
                    b(),
                    server("0", &["file://b//x", "doc://b/7"], &["doc://b/{id}"]),
                ],
                &[
                    "0 file://b//x file://0/b//x",
                    "0 doc://b/7 doc://0/b/7",
                    "b file:///x file://b//x",
                    "b urn:x b/urn:x",
                    "0 doc://b/{id} doc://0/b/{id}",
                    "b doc://{id} doc://b/{id}",
                ],
            ),
            // What would be a renamed one is everybody's, as long as none is.
            (&[b(), server("c", &["b://b/y", "file://b//x"], &[])], &[]),
            // A server that lists both forms.
            (
                &[
                    server("a", &["doc://plan"], &[]),
                    server("b", &["doc://b/plan", "doc://plan"], &[]),
                ],
                &["b doc://b/plan doc://b/b/plan", "b doc://plan doc://b/plan"],
            ),
        ];
        for (servers, expected) in cases {
            assert_eq!(renamed(servers), expected);
        }
    }

    #[test]
    fn what_is_in_no_list_leads_to_its_server_too() {
        let servers = [
            server("a", &["doc://plan", "ui://x"], &["page://{n}"]),
            with_views(
                "b",
                &["doc://book", "page://0"],
                &["page://{n}"],
                &["ui://x", "ui://b"],
            ),
        ];
        let snapshot = Snapshot::new(1, servers.into());
        for (own, offered) in [
            ("doc://plan", "doc://b/plan"),
            ("doc://a/else", "doc://a/else"),
            ("doc://book/1", "doc://book/1"),
            ("page://7", "page://b/7"),
            // Listed, and of nobody else.
            ("page://0", "page://0"),
            ("ui://x", "ui://b/x"),
            ("ui://b", "ui://b"),
        ] {
            assert_eq!(snapshot.offered_uri(&named("b"), own), offered);
            assert_eq!(
                snapshot.offered_uri(&named("a"), "doc://plan"),
                "doc://plan"
            );
        }
        let owner = |uri: &str| snapshot.offered_resource(uri).map(|one| one.server.clone());
        assert_eq!(owner("ui://b/x"), Some(named("b")));
        assert_eq!(owner("ui://b"), Some(named("b")));
        assert_eq!(owner("ui://x"), Some(named("a")));
        assert!(snapshot.renames("b") && !snapshot.renames("a"));
    }

    #[test]
    fn what_a_tool_names_and_nobody_lists_takes_nothing_from_what_is_listed() {
        let servers = [
            with_views("a", &[], &[], &["ui://x"]),
            server("z", &["ui://x"], &[]),
        ];
        let snapshot = Snapshot::new(1, servers.into());
        assert_eq!(snapshot.offered_uri(&named("z"), "ui://x"), "ui://x");
        assert_eq!(snapshot.offered_uri(&named("a"), "ui://x"), "ui://a/x");
    }

    #[test]
    fn what_nobody_may_have_takes_no_uri_from_what_is_in_use() {
        let all: Servers = [
            server("a", &["doc://plan"], &["doc://{id}"]),
            server("b", &["doc://plan"], &["doc://{id}"]),
        ]
        .into();
        let first = |hides: fn(&ServerName, ThingKind, &str) -> bool| {
            let uris = OfferedUris::new(&all, hides);
            let resource = uris.resource("doc://plan").map(|one| one.server.clone());
            let mut templates = uris.offered_templates(&all);
            let template = templates.find(|one| !one.is_renamed);
            [resource, template.map(|one| one.server.clone())]
        };
        let are = |names: [&str; 2]| names.map(|name| Some(named(name)));
        assert_eq!(first(|_, _, _| false), are(["a", "a"]));
        // A server that may not be used.
        assert_eq!(
            first(|server, _, _| server.as_str() == "a"),
            are(["b", "b"])
        );
        // One thing that is held.
        assert_eq!(
            first(|server, kind, _| server.as_str() == "a" && kind == ThingKind::Resource),
            are(["b", "a"])
        );
    }
}
