//! What the gate says to an operator, and the operator's next step for each refusal. Agents get the gate's own hints: `agents` asks it
//! for them.

use crate::{
    access::{
        Access, Caller,
        acl::{Asked, Decision},
    },
    authorization::LoginTrouble,
    catalog::Snapshot,
    config::{ServerEntry, Settings},
    failure::error_code::{ErrorCode, Failure},
    gate::Rules,
    text::names::{ServerName, as_argument},
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
) -> Result<&'a ServerEntry, Failure> {
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

fn refusal(
    settings: &Settings,
    lists: &Snapshot,
    server: &str,
    target: &Target<'_>,
) -> Option<Failure> {
    let decided = Rules::new(settings, lists).decide(&Access::inspector(), server, target);
    let mut failure = decided.err()?;
    if let Some(step) = next_step(failure.code, server, lists) {
        failure.hint = step;
    }
    Some(failure)
}

/// What a person does about a server, or something of it, that the gate keeps closed.
pub(super) fn next_step(code: ErrorCode, server: &str, lists: &Snapshot) -> Option<String> {
    match (code, lists.lock.as_deref()) {
        (ErrorCode::ServerDisabled, _) => Some(enable(server)),
        (ErrorCode::ServerQuarantined, None) => Some(approve(server)),
        (ErrorCode::ServerQuarantined, Some(lock)) => Some(lift(server, lock)),
        (ErrorCode::ToolChanged | ErrorCode::ToolHeld, None) => Some(inspect(server)),
        (ErrorCode::ToolChanged | ErrorCode::ToolHeld, Some(lock)) => Some(look_at(server, lock)),
        _ => None,
    }
}

/// What a person does about a server that is held where nothing can be approved.
fn lift(server: &str, lock: &Lock) -> String {
    let server = as_argument(server);
    let file = lock.file().display();
    format!(
        "review it with `mcpproxy upstream inspect {server}`, then write `\"quarantined\": false` into its entry; of its tools only those \
         in the lock file {file} are accepted"
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

/// What a person does about a server that is switched off.
fn enable(server: &str) -> String {
    let server = as_argument(server);
    format!("`mcpproxy upstream enable {server}` switches it on")
}

/// What a person does about a server that wants a login.
pub(super) fn login_step(server: impl std::fmt::Display) -> String {
    let server = as_argument(&server.to_string());
    format!("`mcpproxy upstream login {server}`")
}

/// What is wrong with a server whose login does not work for now, and what a person does about it.
pub(super) fn login_stuck(server: &ServerName, trouble: &LoginTrouble) -> (String, String) {
    let step = format!("wait; if it stays so, {}", login_step(server));
    (trouble.to_string(), step)
}

/// What is wrong with a server that works and refused calls for want of these permissions, and what a person does about it.
pub(super) fn wants_more(server: &ServerName, missing: &[String]) -> Option<(String, String)> {
    (!missing.is_empty()).then(|| {
        let scopes = missing.join(", ");
        let error = format!("it refused calls for want of these permissions: {scopes}");
        (error, login_step(server))
    })
}

/// What a person does about a server that is held.
fn approve(server: &str) -> String {
    let server = as_argument(server);
    format!(
        "review it with `mcpproxy upstream inspect {server}`, then `mcpproxy upstream approve {server}`"
    )
}

/// What a person does about something that is held.
fn inspect(server: &str) -> String {
    let server = as_argument(server);
    format!("`mcpproxy upstream inspect {server}` shows what is held, and how to approve it")
}

/// `read`, `write` or `destructive`: what a known tool is called with.
pub(super) fn call_variant(
    settings: &Settings,
    lists: &Snapshot,
    server: &str,
    tool: &str,
) -> Option<&'static str> {
    let known = lists.tool(server, tool)?;
    Some(
        Rules::new(settings, lists)
            .call_with(server, known)
            .as_str(),
    )
}

/// How many of the known tools may be called.
pub(super) fn count_callable(settings: &Settings, lists: &Snapshot) -> usize {
    let (rules, operator) = (Rules::new(settings, lists), Access::inspector());
    let known = lists.servers.values().flat_map(|known| {
        let server = known.server.as_str();
        known.tools.iter().map(move |tool| (server, &*tool.name))
    });
    known
        .filter(|(server, tool)| rules.allows(&operator, server, &Target::tool(tool)))
        .count()
}

/// What to do about a server that waits for approval and could not be listed. It is tried again when a person asks for it.
pub(super) fn step_while_held(name: &ServerName, error: &ConnectError) -> String {
    format!(
        "{}; `mcpproxy upstream inspect {name} --connect` tries it once more",
        error.next_step
    )
}

/// How many things of a server are held, and what to do about them.
pub(super) fn held_step(
    settings: &Settings,
    lists: &Snapshot,
    name: &ServerName,
) -> Option<(usize, String)> {
    let pins = lists.pins.get(name)?;
    let held = pins.held_things();
    if held == 0 || pins.is_untrusted || !settings.servers.contains_key(name) {
        return None;
    }
    let step = next_step(ErrorCode::ToolHeld, name.as_str(), lists)?;
    Some((held, step))
}
