//! What the gate says to an operator, and the operator's next step for each refusal. Agents get the gate's own hints: `agents` asks it
//! for them.

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
    upstream::ConnectError,
    wire::{Target, method},
};

/// Why nothing may be asked of a server.
pub(super) fn server_refusal(
    settings: &Settings,
    lists: &Snapshot,
    server: &str,
) -> Option<Failure> {
    refusal(
        settings,
        lists,
        server,
        &Target::method_alone(method::TOOLS_LIST),
    )
}

/// Why a tool may not be called.
pub(super) fn tool_refusal(
    settings: &Settings,
    lists: &Snapshot,
    server: &str,
    tool: &str,
) -> Option<Failure> {
    refusal(settings, lists, server, &Target::tool(tool))
}

/// The entry of a server, usable or not, or why there is none.
pub(super) fn configured<'a>(
    settings: &'a Settings,
    lists: &'a Snapshot,
    server: &str,
) -> Result<&'a ServerEntry> {
    let asked = Target::method_alone(method::TOOLS_LIST);
    Rules::new(settings, lists).entry(&Access::inspector(), server, &asked)
}

/// What the gate says to somebody who asks for something, and what the access rules alone do.
pub(super) struct Judged {
    pub(super) refusal: Option<Failure>,
    pub(super) decision: Option<Decision>,
}

/// What would become of a request.
pub(super) fn judge(
    settings: &Settings,
    lists: &Snapshot,
    caller: &Caller,
    asked: Asked<'_>,
) -> Judged {
    let rules = Rules::new(settings, lists);
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

/// That there is no such server, or nothing of that name on one that was listed, whatever a token allows there.
pub(super) fn unknown(
    settings: &Settings,
    lists: &Snapshot,
    server: &str,
    asked: Asked<'_>,
) -> Option<Failure> {
    let unknown = configured(settings, lists, server).err();
    let unknown = unknown.filter(|failure| failure.code == ErrorCode::UnknownServer);
    unknown.or_else(|| {
        lists.servers.get(server)?;
        let refusal = judge(settings, lists, &Access::inspector(), asked).refusal;
        refusal.filter(|refusal| refusal.code.is_unknown_name())
    })
}

fn refusal(
    settings: &Settings,
    lists: &Snapshot,
    server: &str,
    target: &Target<'_>,
) -> Option<Failure> {
    let decided = Rules::new(settings, lists).decide(&Access::inspector(), server, target);
    let mut failure = decided.err()?;
    failure.step = next_step(failure.code, server, settings, lists).map(Box::new);
    Some(failure)
}

/// What a person does about a server, or something of it, that the gate keeps closed.
pub(super) fn next_step(
    code: ErrorCode,
    server: &str,
    settings: &Settings,
    lists: &Snapshot,
) -> Option<NextStep> {
    match (code, lists.lock.as_deref()) {
        (ErrorCode::ServerDisabled, _) => Some(NextStep::Enable),
        (ErrorCode::ServerQuarantined, lock) => {
            let command = lock.map_or_else(
                || approve(server, settings, lists),
                |lock| lift(server, lock),
            );
            let server = encoded(server);
            let request = format!(
                "GET /api/v1/servers/{server}/inspect shows it, then POST /api/v1/servers/{server}/approve."
            );
            Some(NextStep::act(command).or_request(request))
        }
        (ErrorCode::ToolChanged | ErrorCode::ToolHeld, None) => Some(NextStep::Review),
        (ErrorCode::ToolChanged | ErrorCode::ToolHeld, Some(lock)) => {
            Some(NextStep::act(look_at(server, lock)))
        }
        _ => None,
    }
}

/// What a person does about a server that is held where nothing can be approved.
fn lift(server: &str, lock: &Lock) -> String {
    let server = as_argument(server);
    let file = lock.file().display();
    format!(
        "`mcpproxy upstream inspect {server}`, then write `\"quarantined\": false` into its entry; only tools in {file} are accepted"
    )
}

/// What a person does about something that is held where nothing can be approved.
fn look_at(server: &str, lock: &Lock) -> String {
    let server = as_argument(server);
    let step = lock.next_step();
    format!("`mcpproxy upstream inspect {server}` shows what is held; {step}")
}

/// Whether it is the lock file that keeps a tool back.
pub(super) fn is_locked_out(lists: &Snapshot, server: &str, tool: &str) -> bool {
    let hold = lists.hold(server, ThingKind::Tool, tool);
    hold.is_some_and(|hold| hold.reason == HoldReason::NotLocked)
}

/// What is wrong with a server that works and refused calls for want of these permissions.
pub(super) fn wants_more(missing: &[String]) -> Option<String> {
    let scopes = missing.join(", ");
    (!missing.is_empty()).then(|| format!("it refused calls: the login lacks {scopes}"))
}

/// What a server lists by its entry as it is now.
pub(super) fn listed<'a>(
    lists: &'a Snapshot,
    name: &str,
    entry: Option<&ServerEntry>,
) -> Option<&'a ServerCatalog> {
    let listed = lists.servers.get(name).map(AsRef::as_ref);
    listed.filter(|listed| entry.is_some_and(|entry| *listed.entry == *entry.fingerprint))
}

/// What a person does about a server that is held. One that an agent added or changed has not been started since, so nobody knows its tools.
fn approve(server: &str, settings: &Settings, lists: &Snapshot) -> String {
    let entry = settings.readable_entry(server).map(AsRef::as_ref);
    let is_known = listed(lists, server, entry).is_some();
    let connects = if is_known { "" } else { " --connect" };
    let server = as_argument(server);
    format!(
        "`mcpproxy upstream inspect {server}{connects}`, then `mcpproxy upstream approve {server}`"
    )
}

/// What a known tool is called with.
pub(super) fn call_variant(
    settings: &Settings,
    lists: &Snapshot,
    server: &str,
    tool: &str,
) -> Option<Variant> {
    let known = lists.tool(server, tool)?;
    Some(Rules::new(settings, lists).call_with(server, known))
}

/// The known tools that clients may call, each with its server.
pub(super) fn callable_tools<'a>(
    settings: &'a Settings,
    lists: &'a Snapshot,
) -> impl Iterator<Item = (&'a str, &'a Tool)> {
    let (rules, operator) = (Rules::new(settings, lists), Access::inspector());
    let known = lists.servers.values().flat_map(|known| {
        let server = known.server.as_str();
        known.tools.iter().map(move |tool| (server, tool))
    });
    known.filter(move |(server, tool)| rules.allows(&operator, server, &Target::tool(&tool.name)))
}

/// What to do about a server that waits for approval and could not be listed. It is tried again when a person asks for it.
pub(super) fn step_while_held(name: &ServerName, error: &ConnectError) -> String {
    let step = error.step.at_terminal(name.as_str());
    format!("{step}; then `mcpproxy upstream inspect {name} --connect`")
}

/// The step of a refusal as data: what says more at a terminal than that begins with a review.
pub(super) fn as_data(step: NextStep) -> NextStep {
    match step {
        NextStep::Act { .. } => NextStep::Review,
        step => step,
    }
}

/// How many things of a server are held, how many of them are tools, and what to do about them. Tools that the entry disables wait for
/// nobody.
pub(super) fn held_step(
    settings: &Settings,
    lists: &Snapshot,
    name: &ServerName,
) -> Option<(usize, usize, String)> {
    let pins = lists.pins.get(name)?;
    let entry = settings.servers.get(name)?;
    let tools = pins.names(ThingKind::Tool);
    let tools = tools.filter(|(tool, _)| entry.tools.allows(tool)).count();
    let held = pins.held_things() - pins.held_tools() + tools;
    if held == 0 || pins.is_untrusted {
        return None;
    }
    let step = next_step(ErrorCode::ToolHeld, name.as_str(), settings, lists)?;
    Some((held, tools, step.at_terminal(name.as_str())))
}
