//! The settings and the known lists at one moment, and what the gate says of them to an operator, with the operator's next steps. Agents
//! get the gate's own hints.

use std::sync::Arc;

use crate::{
    access::{
        Access, Caller,
        acl::{Asked, Decision},
    },
    catalog::{ServerCatalog, Snapshot, Tool},
    config::{ServerEntry, Settings},
    failure::{ErrorCode, Failure, NextStep, Result},
    gate::{Rules, Variant},
    text::{ServerName, names::as_argument, percent::encoded},
    trust::approvals::{HoldReason, Lock, ThingKind},
    wire::{Target, method},
};

/// The settings and the known lists at one moment.
pub(super) struct OperatorView {
    pub(super) settings: Arc<Settings>,
    pub(super) lists: Arc<Snapshot>,
}

/// The decision on a request: of all guards, and of the access rules alone.
pub(super) struct Judged {
    /// Why it would be refused.
    pub(super) refusal: Option<Failure>,
    /// What the access rules say, if there are any.
    pub(super) decision: Option<Decision>,
}

/// The held definitions of a server.
pub(super) struct HeldThings {
    pub(super) count: usize,
    /// How many of them are tools.
    pub(super) tools: usize,
    /// The kind of the others, if it is one.
    pub(super) kind: Option<&'static str>,
    /// What to do about them, at a terminal.
    pub(super) step: String,
}

impl OperatorView {
    fn rules(&self) -> Rules<'_> {
        Rules::new(&self.settings, &self.lists)
    }

    /// Why a server cannot be used.
    pub(super) fn server_refusal(&self, server: &str) -> Option<Failure> {
        self.refusal(server, &Target::method_alone(method::TOOLS_LIST))
    }

    /// Why a tool cannot be called.
    pub(super) fn tool_refusal(&self, server: &str, tool: &str) -> Option<Failure> {
        let mut refusal = self.refusal(server, &Target::tool(tool))?;
        if refusal.code == ErrorCode::ToolDisabled {
            let step = self.step_of_disabled(Some(server), tool);
            refusal.step = Some(Box::new(step));
        }
        Some(refusal)
    }

    fn refusal(&self, server: &str, target: &Target<'_>) -> Option<Failure> {
        let decided = self.rules().decide(&Access::inspector(), server, target);
        let mut failure = decided.err()?;
        let known = self.next_step(failure.code, server).map(Box::new);
        failure.step = known.or(failure.step);
        Some(failure)
    }

    /// The entry of a server, also of one that may not be used, or why there is none.
    pub(super) fn entry(&self, server: &str) -> Result<&ServerEntry> {
        let target = Target::method_alone(method::TOOLS_LIST);
        self.rules().entry(&Access::inspector(), server, &target)
    }

    /// What would become of a request.
    pub(super) fn judge(&self, caller: &Caller, asked: Asked<'_>) -> Judged {
        let rules = self.rules();
        let decided = match asked {
            Asked::BuiltIn(name) => rules.decide_built_in(caller, name),
            Asked::Tool { server, name } => rules.decide(caller, server, &Target::tool(name)),
            Asked::Prompt { server, name } => rules.decide(caller, server, &Target::prompt(name)),
            Asked::Resource { server, uri } => rules.decide(caller, server, &Target::resource(uri)),
        };
        Judged {
            refusal: decided.err(),
            decision: rules.explain_access(caller, asked),
        }
    }

    /// A failure if there is no such server, or if it was listed and has nothing of that name; whatever a token allows there.
    pub(super) fn unknown(&self, server: &str, asked: Asked<'_>) -> Option<Failure> {
        let unknown = self.entry(server).err();
        let unknown = unknown.filter(|failure| failure.code == ErrorCode::UnknownServer);
        unknown.or_else(|| {
            self.lists.servers.get(server)?;
            let refusal = self.judge(&Access::inspector(), asked).refusal;
            refusal.filter(|refusal| refusal.code.is_unknown_name())
        })
    }

    /// What a person does about a server, or a part of it, that the gate refuses with this code.
    pub(super) fn next_step(&self, code: ErrorCode, server: &str) -> Option<NextStep> {
        match (code, self.lists.lock.as_deref()) {
            (ErrorCode::ServerDisabled, _) => Some(NextStep::Enable),
            (ErrorCode::ServerQuarantined, lock) => {
                let command = lock.map_or_else(|| self.approve(server), |lock| lift(server, lock));
                let server = encoded(server);
                let then = match lock {
                    Some(_) => {
                        format!("PATCH /api/v1/servers/{server} sets `quarantined` to false")
                    }
                    None => format!("POST /api/v1/servers/{server}/approve"),
                };
                let request =
                    format!("GET /api/v1/servers/{server}/inspect shows it, then {then}.");
                Some(NextStep::act(command).or_request(request))
            }
            (ErrorCode::ToolChanged | ErrorCode::ToolHeld, None) => Some(NextStep::Review),
            (ErrorCode::ToolChanged | ErrorCode::ToolHeld, Some(lock)) => {
                Some(look_at(server, lock))
            }
            _ => None,
        }
    }

    /// The next step about a disabled tool of this server, or a built-in one.
    pub(super) fn step_of_disabled(&self, server: Option<&str>, tool: &str) -> NextStep {
        let Some(server) = server else {
            // `code_execution` is the only built-in tool that can be disabled.
            let command = "`mcpproxy config set enable_code_execution true`";
            let request = "PATCH /api/v1/config sets `enable_code_execution` to true.";
            return NextStep::act(command).or_request(request);
        };
        let entry = self.settings.servers.get(server).into_iter();
        let mut patterns = entry.flat_map(|entry| entry.tools.disabled.patterns());
        let thing = format!("{server}:{tool}");
        let request = format!(
            "PATCH /api/v1/servers/{} changes its `enabled_tools` or `disabled_tools`.",
            encoded(server)
        );
        let step = if patterns.any(|pattern| **pattern == *tool) {
            format!("`mcpproxy tools enable {}`", as_argument(&thing))
        } else {
            let server = as_argument(server);
            format!(
                "`mcpproxy upstream show {server}` shows `enabled_tools` and `disabled_tools`: a pattern there leaves the tool out"
            )
        };
        NextStep::act(step).or_request(request)
    }

    /// The commands that approve a quarantined server. One that an agent added or changed has not been started since, so nobody knows its
    /// tools.
    pub(super) fn approve(&self, server: &str) -> String {
        let entry = self.settings.readable_entry(server).map(AsRef::as_ref);
        let listed = self.listed(server, entry);
        let is_unseen = listed.is_none_or(ServerCatalog::lists_nothing);
        let connects = if is_unseen { " --connect" } else { "" };
        let server = as_argument(server);
        format!(
            "`mcpproxy upstream inspect {server}{connects}`, then `mcpproxy upstream approve {server}`"
        )
    }

    /// Why the lock file holds a tool, if it does.
    pub(super) fn locked_out(&self, server: &str, tool: &str) -> Option<HoldReason> {
        let hold = self.lists.hold(server, ThingKind::Tool, tool)?;
        Some(hold.reason).filter(|reason| reason.is_of_lock())
    }

    /// The lists of a server, if it has listed by this entry and not by a former one.
    pub(super) fn listed(&self, name: &str, entry: Option<&ServerEntry>) -> Option<&ServerCatalog> {
        let listed = self.lists.servers.get(name).map(AsRef::as_ref);
        listed.filter(|listed| entry.is_some_and(|entry| *listed.entry == *entry.fingerprint))
    }

    /// The call type of a known tool.
    pub(super) fn call_variant(&self, server: &str, tool: &str) -> Option<Variant> {
        let known = self.lists.tool(server, tool)?;
        Some(self.rules().call_with(server, known))
    }

    /// The known tools that clients may call, each with its server.
    pub(super) fn callable_tools(&self) -> impl Iterator<Item = (&str, &Tool)> {
        let (rules, operator) = (self.rules(), Access::inspector());
        let known = self.lists.servers.values().flat_map(|known| {
            let server = known.server.as_str();
            known.tools.iter().map(move |tool| (server, tool))
        });
        known.filter(move |(server, tool)| {
            rules.allows(&operator, server, &Target::tool(&tool.name))
        })
    }

    /// The held definitions of a server, without tools that its entry disables: those wait for nobody.
    pub(super) fn held_things(&self, name: &ServerName) -> Option<HeldThings> {
        let pins = self.lists.pins.get(name)?;
        let entry = self.settings.servers.get(name)?;
        let tools = pins.names(ThingKind::Tool);
        let tools = tools.filter(|(tool, _)| entry.tools.allows(tool)).count();
        let count = pins.held_things() - pins.held_tools() + tools;
        if count == 0 || pins.is_untrusted {
            return None;
        }
        let step = self.next_step(ErrorCode::ToolHeld, name.as_str())?;
        let step = step.at_terminal(name.as_str());
        let is_other =
            |kind: ThingKind| kind != ThingKind::Tool && pins.names(kind).next().is_some();
        let others = ThingKind::ALL.iter().filter(|(kind, _)| is_other(*kind));
        let mut others = others.map(|(_, word)| *word);
        let kind = others.next().filter(|_| others.next().is_none());
        Some(HeldThings {
            count,
            tools,
            kind,
            step,
        })
    }
}

/// What a person does about a quarantined server where a lock file is in force, so that nothing can be approved.
fn lift(server: &str, lock: &Lock) -> String {
    let server = as_argument(server);
    let file = lock.file().display();
    format!(
        "`mcpproxy upstream inspect {server}`, then write `\"quarantined\": false` into its entry; only tools in {file} are accepted"
    )
}

/// What a person does about a held definition where a lock file is in force.
fn look_at(server: &str, lock: &Lock) -> NextStep {
    let (argument, segment) = (as_argument(server), encoded(server));
    let shows = format!("shows what is held; {}", lock.next_step());
    NextStep::act(format!("`mcpproxy upstream inspect {argument}` {shows}"))
        .or_request(format!("GET /api/v1/servers/{segment}/inspect {shows}."))
}

/// What is wrong with a server that works but refused calls because the login lacks these permissions.
pub(super) fn wants_more(missing: &[String]) -> Option<String> {
    let scopes = missing.join(", ");
    (!missing.is_empty()).then(|| format!("it refused calls: the login lacks {scopes}"))
}

/// What to do about a quarantined server that could not be listed. It is tried again only when a person asks for it.
pub(super) fn step_while_held(name: &ServerName, step: &NextStep) -> String {
    let again = format!("`mcpproxy upstream inspect {name} --connect`");
    let first = step.at_terminal(name.as_str());
    match step {
        NextStep::Wait => format!("{first}: {again}"),
        NextStep::Remove => first,
        _ => format!("{first}; then {again}"),
    }
}

/// The step of a refusal as data: what a terminal says in several commands begins with a review.
pub(super) fn as_data(step: NextStep) -> NextStep {
    match step {
        NextStep::Act { .. } => NextStep::Review,
        step => step,
    }
}
