//! Under which URIs and templates the resources of all servers are offered, and back: their own, but where two servers would share one.
//! Pure. Knows nothing of who may have them.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
};

use super::{ServerCatalog, uri_templates::fits};
use crate::{approvals::ThingKind, names::ServerName};

type Servers = BTreeMap<ServerName, Arc<ServerCatalog>>;

/// Whether nobody may have a resource or template of a server at the moment.
pub(super) trait Hides: Fn(&ServerName, ThingKind, &str) -> bool {}

impl<F: Fn(&ServerName, ThingKind, &str) -> bool> Hides for F {}

/// Limit: templates of one server that a URI is held against. Where it has more, all that has the form of its aliases is taken for one.
const MOST_TEMPLATES: usize = 256;

/// Limit: how often a server's name is put into one URI. Whoever takes all of these is in nobody's way but its own.
const MOST_TIMES: usize = 64;

/// The tables of one snapshot.
#[derive(Debug, Default)]
pub(super) struct OfferedUris {
    resources: HashMap<Box<str>, Owner>,
    /// URI templates, and which server is the first that has it.
    templates: HashMap<Box<str>, ServerName>,
    /// What is offered under another URI or template than its own, by server and own one.
    aliases: HashMap<(ServerName, Box<str>), Alias>,
}

/// Under what a URI or template is offered that cannot be offered as what it is.
#[derive(Debug)]
struct Alias {
    offered: Box<str>,
    /// How often the server's name was put in: once, unless the server itself lists what that makes.
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

    /// Whether it is offered as another than its server's own. What it describes then is nobody else's.
    pub fn is_alias(&self) -> bool {
        self.times > 0
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

impl OfferedUris {
    /// Among servers the order of names decides who comes first, so the outcome never depends on who answered first. What nobody may have
    /// comes behind all the rest: it takes no URI from what is in use. What has the form of another server's alias is offered as an alias
    /// itself, so that nobody can take over one that is in use by listing it.
    pub(super) fn new(servers: &Servers, hides: impl Hides) -> Self {
        let mut made = Self::default();
        let reserved = reserved(servers, &hides);
        let is_free = |name: &ServerName, own: &str| !reserved.contains(&(name.as_str(), own));
        for is_hidden in [false, true] {
            for (name, server) in servers {
                let is_now = |kind, own: &str| hides(name, kind, own) == is_hidden;
                let own = server.resources.iter().map(|resource| &resource.uri);
                let own = own.filter(|uri| is_now(ThingKind::Resource, uri));
                for uri in own.filter(|uri| is_free(name, uri)) {
                    let owner = || Owner {
                        server: name.clone(),
                        uri: uri.clone(),
                    };
                    made.resources.entry(uri.clone()).or_insert_with(owner);
                }
                let own = server.templates.iter().map(|one| &one.uri_template);
                let own = own.filter(|template| is_now(ThingKind::Template, template));
                for template in own.filter(|template| is_free(name, template)) {
                    let owner = || name.clone();
                    made.templates.entry(template.clone()).or_insert_with(owner);
                }
            }
        }
        for (name, server) in servers {
            for resource in &server.resources {
                made.displace_resource(name, &resource.uri);
            }
            for template in &server.templates {
                made.displace_template(name, &template.uri_template);
            }
        }
        made
    }

    fn displace_resource(&mut self, server: &ServerName, uri: &str) {
        let owner = self.resources.get(uri);
        if owner.is_some_and(|owner| owner.server == *server && *owner.uri == *uri) {
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
        let owner = self.templates.get(template);
        let is_its_own = owner.is_some_and(|owner| owner == server);
        if is_its_own || self.alias(server, template).is_some() {
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

    /// Whose resource an offered URI is.
    pub(super) fn resource(&self, uri: &str) -> Option<&Owner> {
        self.resources.get(uri)
    }

    /// The URI under which a server's resource is offered.
    pub(super) fn offered_uri(&self, servers: &Servers, server: &ServerName, uri: &str) -> String {
        if let Some(alias) = self.alias(server, uri) {
            return alias.offered.to_string();
        }
        let is_others = match self.resources.get(uri) {
            Some(owner) => owner.server != *server,
            // It is in no list: a part of something, for example.
            None => named_server(servers, server, uri).is_some_and(|other| {
                let own = replaced_uri(&other.server, uri);
                self.lists(&other.server, &own) || describes(other, &own, |_| true)
            }),
        };
        if !is_others {
            return uri.to_owned();
        }
        let taken = |offered: &str| self.resources.contains_key(offered);
        free_alias(server, uri, taken).offered.into()
    }

    fn lists(&self, server: &ServerName, own: &str) -> bool {
        let owner = self.resources.get(own);
        owner.is_some_and(|owner| owner.server == *server) || self.alias(server, own).is_some()
    }

    /// What a URI or template of a server is offered as, where that is not what the server calls it.
    pub(super) fn other_offered(
        &self,
        servers: &Servers,
        server: &str,
        own: &str,
    ) -> Option<String> {
        if self.aliases.is_empty() {
            return None;
        }
        let (server, known) = servers.get_key_value(server)?;
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

    /// The URI template under which a server's is offered.
    pub(super) fn offered_template<'a>(
        &self,
        server: &ServerName,
        template: &'a str,
    ) -> Cow<'a, str> {
        match self.alias(server, template) {
            Some(alias) => alias.offered.to_string().into(),
            None => template.into(),
        }
    }

    /// Every template that is offered.
    pub(super) fn offered_templates<'a>(
        &'a self,
        servers: &'a Servers,
    ) -> impl Iterator<Item = OfferedTemplate<'a>> {
        servers.iter().flat_map(move |(server, catalog)| {
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
}

/// What is listed, by server and own URI or template, although it has the form of another server's alias: it would stand for something that
/// the other one lists or describes, whether that is offered as an alias at the moment or not. What nobody may have keeps nothing free that
/// something in use is called.
fn reserved<'a>(servers: &'a Servers, hides: &impl Hides) -> HashSet<(&'a str, &'a str)> {
    let own = servers.iter().flat_map(|(name, server)| {
        let resources = server.resources.iter().map(|resource| &*resource.uri);
        let templates = server.templates.iter().map(|one| &*one.uri_template);
        let resources = resources.map(|uri| (ThingKind::Resource, uri));
        let templates = templates.map(|template| (ThingKind::Template, template));
        resources.chain(templates).map(move |own| (name, own))
    });
    let suspects: Vec<_> = own
        .filter_map(|(name, own)| Some((name, own, named_server(servers, name, own.1)?)))
        .collect();
    let mut lists: HashMap<&str, HashSet<&str>> = HashMap::new();
    let reserved = suspects.into_iter().filter(|(name, (kind, own), other)| {
        let is_hidden = hides(name, *kind, own);
        let stands_for = replaced_uri(&other.server, own);
        let all = || other.resources.iter().map(|resource| &*resource.uri);
        let listed = lists.entry(other.server.as_str());
        let listed = listed.or_insert_with(|| all().collect());
        let counts = |kind, own: &str| is_hidden || !hides(&other.server, kind, own);
        let is_listed = listed.contains(&*stands_for) && counts(ThingKind::Resource, &stands_for);
        is_listed
            || describes(other, &stands_for, |template| {
                counts(ThingKind::Template, template)
            })
    });
    reserved
        .map(|(name, (_, own), _)| (name.as_str(), own))
        .collect()
}

/// The other server whose name stands where aliases have it.
fn named_server<'a>(
    servers: &'a Servers,
    server: &ServerName,
    own: &str,
) -> Option<&'a ServerCatalog> {
    let rest = own.split_once("://").map_or(own, |(_, rest)| rest);
    let (first, _) = rest.split_once('/')?;
    let other = servers.get(first)?;
    (other.server != *server).then_some(other)
}

/// Whether a URI or template is one of a server's templates that count, or may be an expansion of one.
fn describes(server: &ServerCatalog, own: &str, counts: impl Fn(&str) -> bool) -> bool {
    let templates = server.templates.iter();
    let mut templates = templates.filter(|one| counts(&one.uri_template));
    let tried = templates.by_ref().take(MOST_TEMPLATES);
    let mut tried = tried.map(|one| &*one.uri_template);
    tried.any(|template| *template == *own || fits(template, own)) || templates.next().is_some()
}

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

/// `scheme://rest` becomes `scheme://server/rest`.
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
        catalog::{Listing, Snapshot},
        wire::{Raw, Revision},
    };

    fn with_templates(name: &str, templates: &[&str]) -> (ServerName, Arc<ServerCatalog>) {
        made(name, &[], templates)
    }

    fn server(name: &str, uris: &[&str]) -> (ServerName, Arc<ServerCatalog>) {
        made(name, uris, &[])
    }

    fn made(name: &str, uris: &[&str], templates: &[&str]) -> (ServerName, Arc<ServerCatalog>) {
        let name = ServerName::parse(name).expect("a name");
        let define = |key: &str, values: &[&str]| {
            values
                .iter()
                .map(|v| Raw::author(&serde_json::json!({key: v})))
                .collect()
        };
        let listing = Listing {
            initialize: Raw::empty_object(),
            revision: Revision::NEWEST_LEGACY,
            tools: vec![],
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
                server("b", &["file:///x", "b://y"]),
                server("a", &["file:///x"]),
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

    /// What is offered: its server, its own URI or template, and what it is offered as.
    fn offered(servers: &[(ServerName, Arc<ServerCatalog>)]) -> Vec<String> {
        let snapshot = Snapshot::new(1, servers.iter().cloned().collect());
        let mut all = Vec::new();
        for (name, server) in &snapshot.servers {
            for resource in &server.resources {
                let offered = snapshot.offered_uri(name, &resource.uri);
                let owner = snapshot.offered_resource(&offered).expect("it leads back");
                assert_eq!((&owner.server, &owner.uri), (name, &resource.uri));
                all.push(format!("{name} {} {offered}", resource.uri));
            }
        }
        for template in snapshot.offered_templates() {
            let own = template.own_uri(&template.offered);
            all.push(format!("{} {own} {}", template.server, template.offered));
        }
        all
    }

    #[test]
    fn no_server_takes_over_what_is_anothers_alias() {
        // Whoever is earlier by name.
        for other in ["0", "c"] {
            let seen = offered(&[
                made("a", &["file:///x"], &["doc://{id}"]),
                made("b", &["file:///x"], &["doc://{id}"]),
                made(other, &["file://b//x", "doc://b/7"], &["doc://b/{any}"]),
            ]);
            for expected in [
                "a file:///x file:///x".to_owned(),
                "b file:///x file://b//x".to_owned(),
                "b doc://{id} doc://b/{id}".to_owned(),
                format!("{other} file://b//x file://{other}/b//x"),
                format!("{other} doc://b/7 doc://{other}/b/7"),
                format!("{other} doc://b/{{any}} doc://{other}/b/{{any}}"),
            ] {
                assert!(seen.contains(&expected), "{expected}: {seen:?}");
            }
        }
    }

    #[test]
    fn what_has_the_form_of_an_alias_that_is_not_in_use_yet_is_kept_free() {
        let alone = [
            server("files", &["doc://plan"]),
            server("other", &["doc://files/plan", "doc://files/else"]),
        ];
        let kept = [
            "files doc://plan doc://plan",
            "other doc://files/plan doc://other/files/plan",
            "other doc://files/else doc://files/else",
        ];
        assert_eq!(offered(&alone), kept);
        let with_another = [&alone[..], &[server("a", &["doc://plan"])]].concat();
        let seen = offered(&with_another);
        assert!(seen.contains(&"files doc://plan doc://files/plan".to_owned()));
        assert_eq!(seen[2..], kept[1..]);
    }

    #[test]
    fn what_nobody_may_have_takes_no_uri_from_what_is_in_use() {
        let all: Servers = [
            made("a", &["doc://plan", "doc://c/plan"], &["doc://{id}"]),
            made("b", &["doc://plan", "doc://c/plan"], &["doc://{id}"]),
            made("c", &["doc://plan"], &[]),
        ]
        .into();
        let offered = |hides: fn(&ServerName, ThingKind, &str) -> bool| {
            let uris = OfferedUris::new(&all, hides);
            let owner = |uri| uris.resource(uri).map(|owner| owner.server.to_string());
            let templates = uris.offered_templates(&all);
            let of = |one: OfferedTemplate<'_>| format!("{} {}", one.server, one.offered);
            (
                owner("doc://plan").unwrap_or_default(),
                owner("doc://c/plan").unwrap_or_default(),
                templates.map(of).collect::<Vec<_>>().join(", "),
            )
        };
        let expect = |plan: &str, of_c: &str, templates: &str| {
            (plan.to_owned(), of_c.to_owned(), templates.to_owned())
        };
        assert_eq!(
            offered(|_, _, _| false),
            expect("a", "c", "a doc://{id}, b doc://b/{id}")
        );
        // A server that may not be used.
        assert_eq!(
            offered(|server, _, _| server.as_str() == "a"),
            expect("b", "c", "a doc://a/{id}, b doc://{id}")
        );
        // Nor does it keep free what its aliases would be.
        assert_eq!(
            offered(|server, _, _| server.as_str() == "c"),
            expect("a", "a", "a doc://{id}, b doc://b/{id}")
        );
        // One thing that is held.
        assert_eq!(
            offered(|server, kind, _| server.as_str() == "a" && kind == ThingKind::Resource),
            expect("b", "c", "a doc://{id}, b doc://b/{id}")
        );
    }

    #[test]
    fn a_servers_own_name_in_its_uris_is_its_own_affair() {
        let seen = offered(&[
            server("a", &["doc://plan"]),
            server("b", &["doc://plan", "doc://b/plan", "doc://nobody/plan"]),
        ]);
        assert_eq!(
            seen,
            [
                "a doc://plan doc://plan",
                "b doc://plan doc://b/b/plan",
                "b doc://b/plan doc://b/plan",
                "b doc://nobody/plan doc://nobody/plan",
            ]
        );
    }

    #[test]
    fn parts_that_are_in_no_list_are_no_others_alias_either() {
        let servers = [server("a", &["doc://plan"]), server("b", &["doc://book"])];
        let snapshot = Snapshot::new(1, servers.into());
        let b = ServerName::parse("b").expect("a name");
        let check = |part, expected: &str| assert_eq!(snapshot.offered_uri(&b, part), expected);
        check("doc://plan", "doc://b/plan");
        check("doc://a/plan", "doc://b/a/plan");
        check("doc://a/else", "doc://a/else");
        check("doc://book/1", "doc://book/1");
    }
}
