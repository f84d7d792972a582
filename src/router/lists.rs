//! Lists as clients see them: put together once for a state of catalog and settings, then sent as they are.

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use tokio::sync::broadcast::error::RecvError;

use super::{FIRST_DISCOVERY, RequestError, Router, View, built_in};
use crate::{
    access::{self, Caller},
    call_context::CallContext,
    catalog::{Difference, ServerCatalog, Snapshot},
    config::{RoutingMode, Settings},
    forward::prefixed,
    gate::Rules,
    names::ServerName,
    upstream::Upstream,
    wire::{Edit, Raw, RpcError, Target, method, splice},
};

/// The lists of the aggregated view.
pub(super) struct Lists {
    settings: Arc<Settings>,
    snapshot: Arc<Snapshot>,
    /// The upstreams' tools.
    pub(super) direct: Raw,
    /// Our own tools, which find and call those.
    pub(super) built_in: Raw,
    pub(super) prompts: Raw,
    pub(super) resources: Raw,
    pub(super) templates: Raw,
}

impl Lists {
    /// The tools that an endpoint of many servers lists.
    pub(super) fn tools(&self, view: &View) -> &Raw {
        if self.shows_direct(view) {
            &self.direct
        } else {
            &self.built_in
        }
    }

    /// Whether that are the upstreams' tools.
    pub(super) fn shows_direct(&self, view: &View) -> bool {
        let mode = match view {
            View::Mode(mode) => *mode,
            View::Configured | View::Server(_) => self.settings.routing_mode,
        };
        mode == RoutingMode::Direct
    }

    /// Whether nothing happened that could concern this server.
    pub(super) fn is_same_for(&self, server: &ServerName, other: &Self) -> bool {
        let [here, there] = [self, other].map(|lists| lists.snapshot.servers.get(server));
        let same_server = match (here, there) {
            (Some(here), Some(there)) => Arc::ptr_eq(here, there),
            (here, there) => here.is_none() && there.is_none(),
        };
        same_server && Arc::ptr_eq(&self.settings, &other.settings)
    }

    /// What the endpoint of one server lists.
    pub(super) fn of(&self, server: &ServerName) -> OwnLists<'_> {
        let rules = Rules::new(&self.settings, &self.snapshot);
        let known = self.snapshot.servers.get(server);
        known.map_or_else(OwnLists::default, |known| {
            OwnLists::seen(rules, &access::anonymous(), known)
        })
    }
}

/// The definitions of one server that its endpoint lists.
#[derive(Default)]
pub(super) struct OwnLists<'a> {
    tools: Vec<&'a Raw>,
    prompts: Vec<&'a Raw>,
    resources: Vec<&'a Raw>,
    templates: Vec<&'a Raw>,
}

impl<'a> OwnLists<'a> {
    /// What of a server's lists this caller may have.
    fn seen(rules: Rules<'_>, caller: &Caller, known: &'a ServerCatalog) -> Self {
        let server = known.server.as_str();
        let sees = |target: &Target<'_>| rules.allows(caller, server, target);
        let tools = known.tools.iter();
        let prompts = known.prompts.iter();
        let resources = known.resources.iter();
        let templates = known.templates.iter();
        Self {
            tools: tools
                .filter(|tool| sees(&Target::tool(&tool.name)))
                .map(|tool| &tool.definition)
                .collect(),
            prompts: prompts
                .filter(|prompt| sees(&Target::prompt(&prompt.name)))
                .map(|prompt| &prompt.definition)
                .collect(),
            resources: resources
                .filter(|resource| sees(&Target::resource(&resource.uri)))
                .map(|resource| &resource.definition)
                .collect(),
            templates: templates
                .filter(|template| sees(&Target::resource(&template.uri_template)))
                .map(|template| &template.definition)
                .collect(),
        }
    }

    pub(super) fn difference(&self, other: &OwnLists<'_>) -> Difference {
        Difference {
            tools: self.tools != other.tools,
            prompts: self.prompts != other.prompts,
            resources: self.resources != other.resources || self.templates != other.templates,
        }
    }
}

/// The lists that were put together last.
#[derive(Default)]
pub(super) struct Prepared(ArcSwapOption<Lists>);

impl Router {
    /// The lists for what is known now. Only when nothing is known at all does this wait for the first discovery.
    pub(super) async fn lists(&self) -> Arc<Lists> {
        if self.0.catalog.glance().servers.is_empty() {
            self.first_discovery().await;
        }
        self.prepared()
    }

    /// The lists for what is known now.
    pub(super) fn prepared(&self) -> Arc<Lists> {
        let (settings, snapshot) = (self.settings(), self.0.catalog.snapshot());
        if let Some(lists) = self.0.lists.0.load_full()
            && Arc::ptr_eq(&lists.settings, &settings)
            && Arc::ptr_eq(&lists.snapshot, &snapshot)
        {
            return lists;
        }
        let lists = Arc::new(put_together(settings, snapshot));
        self.0.lists.0.store(Some(lists.clone()));
        lists
    }

    /// The tools that a mode lists.
    pub(super) async fn tools_of(&self, mode: RoutingMode) -> Raw {
        match mode {
            RoutingMode::Direct => self.lists().await.direct.clone(),
            // Of ours, which need no discovery.
            _ => self.prepared().built_in.clone(),
        }
    }

    /// Waits until every server has said what it offers or failed; once something is known, only a moment for the rest.
    async fn first_discovery(&self) {
        let mut differences = self.0.catalog.differences();
        let mut upstreams = self.0.upstreams.all();
        // A quarantined server is listed for inspection only.
        upstreams.retain(|upstream| self.0.gate.is_usable(upstream.name().as_str()));
        let settled = futures_util::future::join_all(upstreams.iter().map(Upstream::settled));
        let quiet = async {
            let mut pause = FIRST_DISCOVERY;
            // A lagging receiver has heard of a change all the same.
            while !matches!(
                tokio::time::timeout(pause, differences.recv()).await,
                Err(_) | Ok(Err(RecvError::Closed))
            ) {
                pause = FIRST_DISCOVERY / 10;
            }
        };
        let enough = async {
            tokio::select! {
                _ = settled => (),
                () = quiet => (),
            }
        };
        if tokio::time::timeout(FIRST_DISCOVERY, enough).await.is_err() {
            tracing::debug!("a list was asked for while the first discovery is still running");
        }
    }

    /// A list of one server under its own names.
    pub(super) fn own_list(
        &self,
        context: &CallContext,
        server: &ServerName,
        which: &str,
    ) -> Result<Raw, RequestError> {
        let (now, caller) = (self.0.gate.now(), &context.caller);
        let rules = now.rules();
        rules.decide(caller, server.as_str(), &Target::method_alone(which))?;
        let known = now.snapshot().servers.get(server);
        let known = known.ok_or_else(|| RpcError::method_not_found(which))?;
        let seen = OwnLists::seen(rules, caller, known);
        let (key, definitions) = match which {
            method::TOOLS_LIST => ("tools", seen.tools),
            method::PROMPTS_LIST => ("prompts", seen.prompts),
            method::RESOURCES_LIST => ("resources", seen.resources),
            _ => ("resourceTemplates", seen.templates),
        };
        Ok(list(key, definitions.into_iter().cloned()))
    }
}

fn put_together(settings: Arc<Settings>, snapshot: Arc<Snapshot>) -> Lists {
    let everyone = access::anonymous();
    let rules = Rules::new(&settings, &snapshot);
    let visible =
        |server: &ServerName, target: &Target<'_>| rules.allows(&everyone, server.as_str(), target);
    let (mut tools, mut prompts, mut resources, mut templates) = (vec![], vec![], vec![], vec![]);
    for (name, server) in &snapshot.servers {
        for tool in server
            .tools
            .iter()
            .filter(|t| visible(name, &Target::tool(&t.name)))
        {
            tools.push((
                tool.offered.to_string(),
                offered_tool(name, &tool.offered, &tool.definition),
            ));
        }
        for prompt in server
            .prompts
            .iter()
            .filter(|p| visible(name, &Target::prompt(&p.name)))
        {
            prompts.push((
                prompt.offered.to_string(),
                renamed(&prompt.definition, "name", &prompt.offered),
            ));
        }
        for resource in server
            .resources
            .iter()
            .filter(|r| visible(name, &Target::resource(&r.uri)))
        {
            let uri = snapshot.offered_uri(name, &resource.uri);
            let definition = if uri == *resource.uri {
                resource.definition.clone()
            } else {
                renamed(&resource.definition, "uri", &uri)
            };
            resources.push((uri, definition));
        }
        for template in server
            .templates
            .iter()
            .filter(|t| visible(name, &Target::resource(&t.uri_template)))
        {
            templates.push((
                template.uri_template.to_string(),
                template.definition.clone(),
            ));
        }
    }
    Lists {
        direct: sorted("tools", tools),
        built_in: list("tools", built_in::listed(&settings).into_iter()),
        prompts: sorted("prompts", prompts),
        resources: sorted("resources", resources),
        templates: sorted("resourceTemplates", templates),
        settings,
        snapshot,
    }
}

/// A tool's definition as it came, but for the offered name and the server's name before the description.
pub(super) fn offered_tool(server: &ServerName, offered: &str, definition: &Raw) -> Raw {
    let edits = [
        ("name", Edit::Set(Raw::author(&offered))),
        (
            "description",
            Edit::Set(prefixed(server, definition.get("description").as_ref())),
        ),
    ];
    // Only objects get into the catalog.
    splice(definition, &edits).unwrap_or_else(|_| definition.clone())
}

fn renamed(definition: &Raw, key: &str, value: &str) -> Raw {
    splice(definition, &[(key, Edit::Set(Raw::author(&value)))])
        .unwrap_or_else(|_| definition.clone())
}

fn sorted(key: &str, mut items: Vec<(String, Raw)>) -> Raw {
    items.sort_by(|a, b| a.0.cmp(&b.0));
    list(key, items.into_iter().map(|(_, item)| item))
}

/// `{"key":[…]}`, always one page.
fn list(key: &str, items: impl Iterator<Item = Raw>) -> Raw {
    let items: Vec<Raw> = items.collect();
    let edits = [(key, Edit::Set(Raw::array(&items)))];
    splice(&Raw::empty_object(), &edits).expect("an object was given")
}
