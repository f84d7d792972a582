//! What a client is told in place of a call to a quarantined server, and what agents may read of what is held: findings with their
//! excerpts escaped, never the text itself.

use serde_json::{Value, json};

use super::{Router, View, built_in};
use crate::{
    access::Caller,
    approvals::ThingKind,
    catalog::{self, ServerCatalog},
    config::ServerEntry,
    error_code::{ErrorCode, Failure},
    gate::Moment,
    scanner::{self, Finding},
    wire::{Raw, Request, Target, method},
};

/// Limit: bytes of arguments that are repeated.
const REPEATED: usize = 64 << 10;

/// Limit: things of one server that are told of.
const TOLD: usize = 100;

/// The status of a call that was blocked.
const BLOCKED: &str = "QUARANTINED_SERVER_BLOCKED";

const INSTRUCTIONS: &str = "Do not try to reach the server in another way. Tell the user that the server waits for a review; only the \
    user can approve it.";

/// What was said of an entry that nobody has contacted.
const NOT_INSPECTED: &str = "The server was added or changed by an agent and was never contacted: only its entry was looked at, its tools were not inspected.";

const NOT_LISTED: &str = "The server has not listed its tools yet: only its entry was looked at.";

impl Router {
    /// The result of a call of a tool that was refused.
    pub(super) fn refused_call(
        &self,
        caller: &Caller,
        view: &View,
        request: &Request,
        failure: &Failure,
    ) -> Raw {
        if failure.code == ErrorCode::ServerQuarantined
            && let (Some(server), Some(tool)) = (&failure.server, &failure.tool)
        {
            let now = self.0.gate.now();
            let arguments = requested(view, request.params.as_ref());
            return blocked(&now, caller, failure, (server, tool), &arguments);
        }
        super::failed_result(failure)
    }
}

fn blocked(
    now: &Moment,
    caller: &Caller,
    failure: &Failure,
    (server, tool): (&str, &str),
    arguments: &Value,
) -> Raw {
    let entry = now.rules().entry(caller, server, &Target::tool(tool)).ok();
    let analysis = entry.map(|entry| analysis_of_tool(now, entry, tool));
    let answer = json!({
        "status": BLOCKED,
        "serverName": server,
        "toolName": tool,
        "requestedArgs": arguments,
        "message": format!("The call was not executed: {}.", failure.error),
        "instructions": INSTRUCTIONS,
        "toolAnalysis": analysis,
        "error": failure.error,
        "code": failure.code.as_str(),
        "server": server,
        "tool": tool,
        "hint": failure.hint,
    });
    Raw::author(&json!({
        "content": [{ "type": "text", "text": answer.to_string() }],
        "isError": true,
    }))
}

/// The arguments that were meant for the tool.
fn requested(view: &View, params: Option<&Raw>) -> Value {
    let arguments = params.and_then(|params| params.get("arguments"));
    let name = params.and_then(|params| params.get("name")?.string());
    let is_ours = !matches!(view, View::Server(_))
        && name.is_some_and(|name| built_in::find(&name).is_some());
    let meant = if is_ours {
        let keys = ["args", "arguments", "args_json"];
        let arguments = arguments.unwrap_or_else(Raw::empty_object);
        keys.iter().find_map(|key| arguments.get(key))
    } else {
        arguments
    };
    let Some(meant) = meant else {
        return json!({});
    };
    if meant.as_bytes().len() > REPEATED {
        return json!("left out: larger than 64 KiB");
    }
    let text = meant.string().unwrap_or_else(|| meant.as_str().to_owned());
    serde_json::from_str(&text).unwrap_or(Value::String(text))
}

fn analysis_of_tool(now: &Moment, entry: &ServerEntry, tool: &str) -> Value {
    let (listed, note) = listed(now, entry);
    let findings = listed.map(|listed| catalog::findings_of_tool(listed, tool, now.snapshot()));
    let is_listed = listed.is_some_and(|listed| listed.tool(tool).is_some());
    json!({
        "inspected": is_listed,
        "note": note,
        "entry": scanner::scan_entry(entry),
        "tool": findings.unwrap_or_default(),
    })
}

/// What a server lists under its configuration of now, or why nothing of that was looked at.
fn listed<'a>(
    now: &'a Moment,
    entry: &ServerEntry,
) -> (Option<&'a ServerCatalog>, Option<&'static str>) {
    if !entry.may_be_contacted() {
        return (None, Some(NOT_INSPECTED));
    }
    let listed = now.snapshot().servers.get(&entry.name);
    let listed = listed.filter(|listed| *listed.entry == *entry.fingerprint);
    match listed {
        Some(listed) => (Some(listed), None),
        None => (None, Some(NOT_LISTED)),
    }
}

/// All that is held of what this caller might otherwise have, for `quarantine_security`.
pub(super) fn all_held(now: &Moment, caller: &Caller) -> Value {
    let servers = now.settings().servers.keys();
    let held: Vec<Value> = servers
        .filter_map(|name| held_of(now, caller, name.as_str()))
        .collect();
    json!({ "held": held })
}

fn held_of(now: &Moment, caller: &Caller, server: &str) -> Option<Value> {
    let target = Target::method_alone(method::TOOLS_LIST);
    match now.rules().decide(caller, server, &target) {
        Err(failure) if failure.code == ErrorCode::ServerQuarantined => Some(json!({
            "server": server,
            "what": "server",
            "code": failure.code.as_str(),
            "reason": failure.error,
            "hint": failure.hint,
        })),
        Err(_) => None,
        Ok(()) => {
            let things = held_things(now, caller, server);
            (!things.is_empty())
                .then(|| json!({ "server": server, "what": "definitions", "things": things }))
        }
    }
}

/// What is held of a server that may be used: its name if that is nothing but a name, and our reason.
fn held_things(now: &Moment, caller: &Caller, server: &str) -> Vec<Value> {
    let Some(known) = now.snapshot().servers.get(server) else {
        return Vec::new();
    };
    let tools = known.tools.iter().map(|tool| Target::tool(&tool.name));
    let prompts = known
        .prompts
        .iter()
        .map(|prompt| Target::prompt(&prompt.name));
    let resources = known.resources.iter().map(|one| Target::resource(&one.uri));
    let templates = known.templates.iter();
    let templates = templates.map(|one| Target::resource(&one.uri_template));
    let all = tools.chain(prompts).chain(resources).chain(templates);
    let held = all.filter_map(|target| {
        let failure = now.rules().decide(caller, server, &target).err()?;
        let is_held = matches!(failure.code, ErrorCode::ToolChanged | ErrorCode::ToolHeld);
        is_held.then(|| {
            json!({
                "code": failure.code.as_str(),
                "tool": failure.tool,
                "reason": failure.error,
                "hint": failure.hint,
            })
        })
    });
    held.take(TOLD).collect()
}

/// What the scanner says of a server of which something is held, for `quarantine_security`.
pub(super) fn inspected(now: &Moment, caller: &Caller, server: &str) -> Result<Value, Failure> {
    let target = Target::method_alone(method::TOOLS_LIST);
    let refused = now.rules().decide(caller, server, &target).err();
    let is_quarantined = match refused {
        None => false,
        Some(failure) if failure.code == ErrorCode::ServerQuarantined => true,
        Some(failure) => return Err(failure),
    };
    let entry = now.rules().entry(caller, server, &target)?;
    let (listed, note) = listed(now, entry);
    let is_shown = |kind: ThingKind, name: &str| {
        is_quarantined || now.snapshot().hold(server, kind, name).is_some()
    };
    let found = listed.map(|listed| catalog::findings(listed, now.snapshot()));
    let found = found.into_iter().flatten();
    let found = found.filter(|(kind, name, found)| is_shown(*kind, name) && !found.is_empty());
    let things: Vec<Value> = found
        .take(TOLD)
        .map(|(kind, name, found)| thing(kind, &name, &found))
        .collect();
    Ok(json!({
        "server": server,
        "quarantined": is_quarantined,
        "inspected": listed.is_some(),
        "note": note,
        "held": held_things(now, caller, server),
        "entry": scanner::scan_entry(entry),
        "findings": things,
    }))
}

fn thing(kind: ThingKind, name: &str, findings: &[Finding]) -> Value {
    json!({
        "kind": kind.as_str(),
        "name": crate::gate::is_plain(name).then_some(name),
        "findings": findings,
    })
}
