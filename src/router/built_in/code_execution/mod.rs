//! `code_execution`: runs a script that calls tools and keeps their results to itself. [`crate::code_execution`] runs the script; this module
//! reads the request and makes the script's calls.

mod answer;
mod arguments;
mod call_answer;
mod catalogue;
mod conversation;
mod inner_calls;
mod progress;

use serde_json::{Value, json};

use self::{arguments::ScriptRequest, conversation::Conversation};
use super::{BuiltIn, Call};
use crate::{
    access::Caller,
    code_execution::{NotStarted, Script, limits},
    config::Settings,
    failure::{ErrorCode, Failure, NextStep, Result},
    gate::Moment,
    router::{Reply, RequestError},
    text::names::{self, ServerName},
    wire::Raw,
};

pub(super) const TOOL: BuiltIn = BuiltIn {
    name: "code_execution",
    aliases: &arguments::OPTIONS,
    is_listed: |settings| settings.code_execution.is_on,
    usage: |_| r#"{"code": "call_tool('server', 'tool', {}).value"}"#,
    define,
    run: |call| Box::pin(async move { run(&call).await }),
};

/// The failure where scripts are not switched on.
const OFF: &str = "code_execution is disabled";

const ABOUT: &str = "Runs JavaScript (ES2023) that calls tools of the MCP servers behind this proxy. Use it where several calls belong \
    together, or where only a part of large results is needed: results stay in the script, and only its last expression, or what it \
    returns, comes back, as JSON. \
    call_tool(server, tool, args) calls one tool and waits for it: {ok: true, result, value}, where value is the data of the result, or \
    {ok: false, error: {code, message, …}}. call_tools([{server, tool, args}, …], {max_parallel}) calls independent tools at once and gives \
    the same in the same order. Both return their answer, not a promise. console.log(…) comes back as logs. The variable \"input\" has \
    the value of the argument \"input\". There are no files, network, timers or modules. Tools that may destroy something need \
    options.allow_destructive: true; ask the user first. Find tools with retrieve_tools, their arguments with describe_tool.";

fn define(settings: &Settings) -> Value {
    let most = settings.code_execution;
    let about = if most.is_on {
        ABOUT.to_owned()
    } else {
        format!("{OFF}. {ABOUT}")
    };
    let mut calls = json!({ "type": "integer", "minimum": 0, "default": most.max_tool_calls,
        "description": "The most calls it may make; 0: as many as are allowed" });
    if most.max_tool_calls > 0 {
        calls["maximum"] = most.max_tool_calls.into();
    }
    json!({
        "name": "code_execution",
        "title": "Run a script that calls tools",
        "description": about,
        "inputSchema": {
            "type": "object",
            "properties": {
                "code": { "type": "string", "maxLength": limits::CODE, "description": "The script; \"await\" and \"return\" work at its top level" },
                "input": { "description": "Any JSON; the script finds it as \"input\"", "default": {} },
                "options": {
                    "type": "object",
                    "properties": {
                        "timeout_ms": { "type": "integer", "minimum": 1, "maximum": most.timeout_ms, "default": most.timeout_ms, "description": "How long it may take, calls included" },
                        "max_tool_calls": calls,
                        "allowed_servers": { "type": "array", "items": { "type": "string" }, "description": "Only these servers may be called; all if empty" },
                        "allow_destructive": { "type": "boolean", "default": false, "description": "Whether it may call tools that may destroy something" },
                    },
                },
            },
            "required": ["code"],
        },
        "outputSchema": {
            "type": "object",
            "properties": {
                "ok": { "type": "boolean" },
                "value": { "description": "The script's value" },
                "error": {
                    "type": "object",
                    "properties": {
                        "code": { "type": "string" },
                        "message": { "type": "string" },
                        "stack": { "type": "string" },
                        "line": { "type": "integer" },
                        "column": { "type": "integer" },
                        "hint": { "type": "string" },
                        "limited_by": { "type": "string", "description": "\"configuration\" if no option can raise the limit" },
                    },
                    "required": ["code", "message", "stack", "hint"],
                },
                "logs": { "type": "array", "items": { "type": "string" }, "description": "What it logged" },
                "tool_calls": { "type": "integer", "description": "How many calls it asked for, refused ones included" },
                "failed_calls": { "type": "integer", "description": "How many of them failed or were refused, if any" },
                "cut": { "type": "string", "description": "How to read the rest of a value that was too long" },
            },
            "required": ["ok", "tool_calls"],
        },
        "annotations": { "readOnlyHint": false, "destructiveHint": false, "openWorldHint": true },
    })
}

async fn run(call: &Call<'_>) -> Result<Reply, RequestError> {
    let settings = call.router.0.gate.settings();
    if !settings.code_execution.is_on {
        let hint = "The user can enable it (\"enable_code_execution\": true). Until then find tools with retrieve_tools and call them one by one.";
        let (code, step) = (ErrorCode::ToolDisabled, NextStep::ShowTools);
        return Err(Failure::for_agents(code, OFF, hint, step).into());
    }
    let request = ScriptRequest::read(&call.arguments, settings.code_execution);
    let request = request.map_err(|why| call.wrong(why))?;
    check_servers(call, &request.allowed_servers)?;
    let script = Script {
        code: request.code.clone(),
        input: request.input.clone(),
        wall: request.wall,
    };
    let starting = call.router.0.scripts.start(script);
    let script = starting.await.map_err(not_started)?;
    let ended = Conversation::new(call, &request).carry_on(script).await;
    Ok(Reply::Own(ended.result()))
}

/// Refuses names that are no servers: the script would be refused every call that it was written for. A server of which the caller may not
/// know counts as none.
fn check_servers(call: &Call<'_>, allowed: &[String]) -> Result {
    let now = call.now();
    let rules = now.rules();
    let is_known = |name: &str| rules.shows(&call.context.caller, name);
    let Some(unknown) = allowed.iter().find(|name| !is_known(name)) else {
        return Ok(());
    };
    let known = now.settings().servers.keys().map(ServerName::as_str);
    let close = names::closest_allowed(unknown, known, is_known);
    let close = close.map(|close| format!("; {}", names::did_you_mean(&[close])));
    let error = format!(
        "code_execution did not run: \"allowed_servers\" names {unknown:?}, which is not configured{}",
        close.unwrap_or_default()
    );
    let hint = "Name configured servers, or leave \"allowed_servers\" out.";
    let failure = Failure::not_run(ErrorCode::InvalidArguments, error, hint);
    Err(failure.with_step(NextStep::ShowServers))
}

fn not_started(error: NotStarted) -> Failure {
    match error {
        NotStarted::TooMany => {
            let error = "too many scripts are running";
            Failure::not_run(ErrorCode::Overloaded, error, "Try again in a moment.")
        }
        NotStarted::Process(source) => {
            tracing::warn!(%source, "the process of a script could not be started");
            let step = NextStep::act("`mcpproxy logs` says why");
            Failure::for_agents(
                ErrorCode::Internal,
                "the script's process could not be started",
                "Call tools without a script; tell the user.",
                step.or_request("The daemon's log says why."),
            )
        }
    }
}

/// The definition for the mode `code_execution`: with the tools that scripts can call.
pub(super) fn definition_with_tools(now: &Moment, caller: &Caller) -> Raw {
    TOOL.definition_with(now.settings(), &catalogue::described(now, caller))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_that_is_one_too_many_has_a_step_for_people() {
        let failure = not_started(NotStarted::TooMany).undone("nothing ran");
        assert_eq!(failure.error, "nothing ran: too many scripts are running");
        assert_eq!(failure.terminal_step(), "Try again in a moment.");
    }
}
