//! The lists that clients get: made once for all callers who see the same in one state of catalog and settings, then sent as they are.

use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwap;

use super::{
    RequestError, Router, View, built_in,
    definitions::{offered_tool, renamed, with_uri},
    instructions,
};
use crate::{
    access::Caller,
    call_context::CallContext,
    catalog::{Difference, ServerCatalog},
    config::RoutingMode,
    gate::{Moment, Rules, ViewKey},
    text::names::ServerName,
    trust::approvals::ThingKind,
    wire::{Edit, Raw, RpcError, Target, method, splice},
};

/// How many views have their lists kept. Where callers have more, the oldest lists are made again when needed.
const VIEWS: usize = 64;

/// The lists of endpoints of many servers for all callers who see the same.
pub(super) struct Lists {
    moment: Moment,
    /// One of the callers.
    caller: Caller,
    /// What they all see.
    view: ViewKey,
    /// The tools of the mode `direct`.
    pub(super) direct: Raw,
    pub(super) prompts: Raw,
    pub(super) resources: Raw,
    pub(super) templates: Raw,
    /// The tools of the other modes, and all instructions, by mode, made on first use.
    built_in: [OnceLock<Raw>; 4],
    instructions: [OnceLock<String>; 4],
}

impl Lists {
    /// The tools that an endpoint of many servers lists.
    pub(super) fn tools(&self, view: &View) -> &Raw {
        self.tools_of(self.mode(view))
    }

    /// The tools that a mode lists.
    pub(super) fn tools_of(&self, mode: RoutingMode) -> &Raw {
        let settings = self.moment.settings();
        let may_use = |name: &str| self.moment.rules().permits_built_in(&self.caller, name);
        let known = &self.built_in[mode as usize];
        match mode {
            RoutingMode::Direct => &self.direct,
            RoutingMode::CodeExecution => known.get_or_init(|| {
                let tools = built_in::listed_for_scripts(&self.moment, &self.caller);
                list("tools", tools)
            }),
            RoutingMode::RetrieveTools => {
                known.get_or_init(|| list("tools", built_in::listed(settings, may_use)))
            }
            RoutingMode::Proxy => {
                known.get_or_init(|| list("tools", built_in::listed_as_proxy(settings, may_use)))
            }
        }
    }

    /// The mode of an endpoint.
    pub(super) fn mode(&self, view: &View) -> RoutingMode {
        view.mode(self.moment.settings())
    }

    /// The instructions for models.
    pub(super) fn instructions(&self, view: &View) -> &str {
        let mode = self.mode(view);
        self.instructions[mode as usize]
            .get_or_init(|| instructions::of_servers(mode, &self.moment, &self.caller))
    }

    /// Whether the others are for the same callers.
    fn is_replaced_by(&self, other: &Self) -> bool {
        let client = |lists: &Self| {
            let is_own = lists.moment.snapshot().is_own();
            let seat = lists.caller.seat().filter(|_| is_own);
            seat.map(|seat| seat.client.clone())
        };
        self.view == other.view && client(self) == client(other)
    }

    /// Whether this server's lists cannot differ: nothing changed that concerns it.
    pub(super) fn is_same_for(&self, server: &ServerName, other: &Self) -> bool {
        let [here, there] = [self, other].map(|lists| lists.moment.snapshot().servers.get(server));
        let same_server = match (here, there) {
            (Some(here), Some(there)) => Arc::ptr_eq(here, there),
            (here, there) => here.is_none() && there.is_none(),
        };
        let pins = [self, other].map(|lists| lists.moment.snapshot().pins.get(server));
        let same_server = same_server && pins[0] == pins[1];
        let same_settings = Arc::ptr_eq(self.moment.settings(), other.moment.settings());
        same_server && same_settings && self.view == other.view
    }

    /// What the endpoint of one server lists.
    pub(super) fn of(&self, server: &ServerName) -> OwnLists<'_> {
        let known = self.moment.snapshot().servers.get(server);
        known.map_or_else(OwnLists::default, |known| {
            OwnLists::seen(self.moment.rules(), &self.caller, known)
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
    /// The part of a server's lists that this caller may have.
    fn seen(rules: Rules<'_>, caller: &Caller, known: &'a ServerCatalog) -> Self {
        let server = known.server.as_str();
        let mut seen = Self::default();
        for one in known.definitions() {
            let list = match one.kind {
                ThingKind::Tool => &mut seen.tools,
                ThingKind::Prompt => &mut seen.prompts,
                ThingKind::Resource => &mut seen.resources,
                ThingKind::Template => &mut seen.templates,
                ThingKind::Instructions => continue,
            };
            if rules.allows(caller, server, &one.target()) {
                list.push(one.definition);
            }
        }
        seen
    }

    pub(super) fn difference(&self, other: &OwnLists<'_>) -> Difference {
        Difference {
            tools: self.tools != other.tools,
            prompts: self.prompts != other.prompts,
            resources: self.resources != other.resources || self.templates != other.templates,
        }
    }
}

/// The newest lists of each view.
#[derive(Default)]
pub(super) struct Prepared(ArcSwap<Vec<Arc<Lists>>>);

impl Prepared {
    /// The lists of this moment for callers who see what this one sees.
    fn find(&self, now: &Moment, caller: &Caller) -> Option<Arc<Lists>> {
        let (kept, view) = (self.0.load(), now.rules().view(caller));
        let mut of_view = kept.iter().filter(|lists| lists.view == view);
        of_view.find(|lists| lists.moment.is_same_as(now)).cloned()
    }

    /// Keeps lists in place of older ones for the same callers.
    fn keep(&self, made: &Arc<Lists>) {
        self.0.rcu(|kept| {
            let others = kept.iter().filter(|lists| !lists.is_replaced_by(made));
            let others: Vec<Arc<Lists>> = others.take(VIEWS - 1).cloned().collect();
            [vec![made.clone()], others].concat()
        });
    }
}

impl Router {
    /// The lists of this moment for a caller. Waits for the first discovery where nothing is known.
    pub(super) async fn lists(&self, caller: &Caller) -> Arc<Lists> {
        if self.0.catalog.glance().servers.is_empty() {
            self.wait_for_first_discovery(caller).await;
        }
        self.prepared(caller)
    }

    /// The lists of this moment for a caller.
    pub(super) fn prepared(&self, caller: &Caller) -> Arc<Lists> {
        let now = self.0.gate.now_for(caller);
        if let Some(lists) = self.0.lists.find(&now, caller) {
            return lists;
        }
        let lists = Arc::new(put_together(now, caller));
        self.0.lists.keep(&lists);
        lists
    }

    /// Renews all kept lists.
    pub(super) fn prepare_all(&self) {
        for lists in self.0.lists.0.load().iter() {
            self.prepared(&lists.caller);
        }
    }

    /// The tools that a mode lists.
    pub(super) async fn tools_of(&self, caller: &Caller, mode: RoutingMode) -> Raw {
        if mode != RoutingMode::Direct {
            self.0.catalog.index_soon();
        }
        let lists = match mode {
            // The description of `code_execution` lists the tools of servers.
            RoutingMode::Direct | RoutingMode::CodeExecution => self.lists(caller).await,
            // Built-in tools alone, which need no discovery.
            RoutingMode::RetrieveTools | RoutingMode::Proxy => self.prepared(caller),
        };
        lists.tools_of(mode).clone()
    }

    /// A list of one server under its own names.
    pub(super) fn own_list(
        &self,
        context: &CallContext,
        server: &ServerName,
        which: &str,
    ) -> Result<Raw, RequestError> {
        let caller = &context.caller;
        let now = self.0.gate.now_for(caller);
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

fn put_together(moment: Moment, caller: &Caller) -> Lists {
    let (rules, snapshot) = (moment.rules(), moment.snapshot());
    let (mut tools, mut prompts, mut resources, mut templates) = (vec![], vec![], vec![], vec![]);
    for (name, server) in &snapshot.servers {
        let visible = |target: Target<'_>| rules.allows(caller, name.as_str(), &target);
        for tool in &server.tools {
            if tool.listable && visible(Target::tool(&tool.name)) {
                tools.push((tool.offered.to_string(), offered_tool(snapshot, name, tool)));
            }
        }
        for prompt in &server.prompts {
            if visible(Target::prompt(&prompt.name)) {
                let definition = renamed(&prompt.definition, "name", &prompt.offered);
                prompts.push((prompt.offered.to_string(), definition));
            }
        }
        for resource in &server.resources {
            if visible(Target::resource(&resource.uri)) {
                let uri = snapshot.offered_uri(name, &resource.uri);
                let definition = with_uri(&resource.definition, "uri", &resource.uri, &uri);
                resources.push((uri.into_owned(), definition));
            }
        }
        for template in &server.templates {
            let own = &template.uri_template;
            if visible(Target::resource(own)) {
                let offered = snapshot.offered_template(name, own);
                let definition = with_uri(&template.definition, "uriTemplate", own, &offered);
                templates.push((offered.into_owned(), definition));
            }
        }
    }
    let settings = moment.settings();
    let may_use = |name: &str| rules.permits_built_in(caller, name);
    let reading_on = built_in::listed_to_read_on(settings, may_use);
    tools.extend(reading_on.map(|tool| ("read_cache".to_owned(), tool)));
    Lists {
        direct: sorted("tools", tools),
        prompts: sorted("prompts", prompts),
        resources: sorted("resources", resources),
        templates: sorted("resourceTemplates", templates),
        built_in: Default::default(),
        instructions: Default::default(),
        view: rules.view(caller),
        caller: caller.clone(),
        moment,
    }
}

fn sorted(key: &str, mut items: Vec<(String, Raw)>) -> Raw {
    items.sort_by(|a, b| a.0.cmp(&b.0));
    list(key, items.into_iter().map(|(_, item)| item))
}

/// `{"key":[…]}`, always one page.
fn list(key: &str, items: impl IntoIterator<Item = Raw>) -> Raw {
    let items: Vec<Raw> = items.into_iter().collect();
    let edits = [(key, Edit::Set(Raw::array(&items)))];
    splice(&Raw::empty_object(), &edits).expect("an object was given")
}
