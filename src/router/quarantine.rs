//! The answers to calls of tools of a quarantined server, which are not made.

use serde_json::{Value, json};

use super::{
    RequestError, Router, View,
    held_things::{listed, public_findings},
};
use crate::{
    access::Caller,
    call_context::CallContext,
    catalog,
    config::ServerEntry,
    failure::{ErrorCode, Failure, NOTHING_RAN},
    gate::Moment,
    text::names::BUILT_IN_TOOLS,
    trust::scanner::Scanner,
    wire::{Raw, Request, Target, method},
};

/// The status of a call that was blocked.
const BLOCKED: &str = "QUARANTINED_SERVER_BLOCKED";

const INSTRUCTIONS: &str = "Tell the user that it awaits their review; only they can approve it. Do not reach it another way.";

impl Router {
    /// The result of a call of a tool that was refused.
    pub(super) fn refused_call(context: &CallContext, failure: &Failure) -> Raw {
        match context.course.answer() {
            Some(answer) => super::error_result(&answer),
            None => super::failed_result(failure),
        }
    }

    /// Notes the answer to a call of a tool whose server is quarantined: what is known of both. An inner call's answer becomes that of the
    /// outer call, so it is made once.
    pub(super) fn note_blocked(
        &self,
        context: &CallContext,
        failure: &Failure,
        arguments: impl FnOnce() -> Value,
    ) {
        if failure.code == ErrorCode::ServerQuarantined
            && context.course.answer().is_none()
            && let (Some(server), Some(tool)) = (&failure.server, &failure.tool)
        {
            let now = self.0.gate.now();
            let named = (&**server, &**tool);
            let answer = blocked(&now, &context.caller, failure, named, &arguments());
            context.course.note_answer(answer);
        }
    }

    /// Notes that answer for a request of a client, if it calls a tool.
    pub(super) fn note_blocked_request(
        &self,
        context: &CallContext,
        view: &View,
        request: &Request,
        error: &RequestError,
    ) {
        if let RequestError::Failed(failure) = error
            && &*request.method == method::TOOLS_CALL
        {
            let may_be_ours = view.server().is_none();
            let params = request.params.as_ref();
            self.note_blocked(context, failure, || requested(may_be_ours, params));
        }
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
    Raw::author(&json!({
        "status": BLOCKED,
        "serverName": server,
        "toolName": tool,
        "requestedArgs": arguments,
        "message": format!("{NOTHING_RAN}: {}.", failure.error),
        "instructions": INSTRUCTIONS,
        "toolAnalysis": analysis,
        "error": failure.error,
        "code": failure.code.as_str(),
        "server": server,
        "tool": tool,
        "hint": failure.hint.for_model(),
    }))
}

/// The arguments for the server's tool, which may stand in the arguments of a built-in tool.
fn requested(may_be_ours: bool, params: Option<&Raw>) -> Value {
    let name = params.and_then(|params| params.get("name")?.string());
    let is_ours = may_be_ours && name.is_some_and(|name| BUILT_IN_TOOLS.contains(&&*name));
    if is_ours {
        return meant_for_another(params);
    }
    let arguments = params.and_then(|params| params.get("arguments"));
    echoed(arguments.as_ref())
}

fn analysis_of_tool(now: &Moment, entry: &ServerEntry, tool: &str) -> Value {
    let listed = listed(now, entry);
    let findings = listed.map(|listed| catalog::findings_of_tool(listed, tool, now.snapshot()));
    let is_listed = listed.is_ok_and(|listed| listed.tool(tool).is_some());
    json!({
        "inspected": is_listed,
        "note": listed.err(),
        "entry": public_findings(&Scanner::default().entry(entry)),
        "tool": public_findings(&findings.unwrap_or_default()),
    })
}

/// Bytes of arguments that an answer repeats.
const MOST_ECHOED: usize = 64 << 10;

/// The arguments of a call that was not made, as its sender gets them back: the object, also where they are the JSON text of one.
pub(super) fn echoed(arguments: Option<&Raw>) -> Value {
    let Some(meant) = arguments else {
        return json!({});
    };
    if meant.as_bytes().len() > MOST_ECHOED {
        return json!("left out: larger than 64 KiB");
    }
    let text = meant.string().unwrap_or_else(|| meant.as_str().to_owned());
    serde_json::from_str(&text).unwrap_or(Value::String(text))
}

/// The arguments for another tool in the params of a built-in tool's call, as the sender gets them back.
pub(super) fn meant_for_another(params: Option<&Raw>) -> Value {
    let arguments = params.and_then(|params| params.get("arguments"));
    let arguments = arguments.unwrap_or_else(Raw::empty_object);
    let keys = ["args", "arguments", "args_json"];
    let meant = keys.iter().find_map(|key| arguments.get(key));
    echoed(meant.as_ref())
}
