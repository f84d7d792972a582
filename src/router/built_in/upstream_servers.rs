//! `upstream_servers`: lists and changes the servers behind mcpproxy for agents. Reads the arguments; [`crate::management`] decides what
//! agents may do.

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{
    BuiltIn, Call,
    arguments::{number, required, stated, string},
    structured,
};
use crate::{
    config::{self, AgentManagement, Settings},
    management::{AgentChange, AgentRequest, AgentVerb, Enabled, LogLines},
    router::{Reply, RequestError},
    wire::Raw,
};

pub(super) const TOOL: BuiltIn = BuiltIn {
    name: "upstream_servers",
    aliases: ALIASES,
    is_listed: |settings| settings.management != AgentManagement::Off,
    usage: |arguments| {
        let operation = ["operation", "action"].map(|key| stated(arguments, key));
        match operation.iter().flatten().next().map(String::as_str) {
            Some("add") => {
                r#"{"operation": "add", "name": "server", "command": "npx", "args": ["-y", "package"]}"#
            }
            Some("remove" | "update" | "patch" | "tail_log" | "enable" | "disable" | "restart") => {
                r#"{"operation": "…", "name": "server"}"#
            }
            _ => r#"{"operation": "list"}"#,
        }
    },
    define,
    run: |call| Box::pin(run(call)),
};

/// Further keys of a server's entry, and other words for those in the schema.
const ALIASES: &[&str] = &[
    "working_dir",
    "protocol",
    "transport",
    "disabled",
    "ca_file",
    "client_cert",
    "min_idle_timeout",
    "max_idle_timeout",
    "start",
    "session_scope",
    "protocol_era",
    "roots",
    "tool_changes",
    "new_tools",
    "tool_acl",
    "changed_by",
    "max_concurrent_requests",
];

const OPERATIONS: [&str; 9] = [
    "list", "add", "remove", "update", "patch", "tail_log", "enable", "disable", "restart",
];

fn define(settings: &Settings) -> Value {
    let operations = match settings.management {
        AgentManagement::Full => &OPERATIONS[..],
        AgentManagement::Read | AgentManagement::Off => &["list", "tail_log"],
    };
    let is_read_only = settings.management != AgentManagement::Full;
    let text = |about: &str| json!({ "type": "string", "description": about });
    let as_json = |key: &str| text(&format!("\"{key}\" as JSON text"));
    let texts = json!({ "type": "array", "items": { "type": "string" } });
    let map = |about: &str| {
        let value = json!({ "type": ["string", "null"] });
        json!({ "type": "object", "additionalProperties": value, "description": about })
    };
    let object = |about: &str| json!({ "type": ["object", "null"], "description": about });
    let mut definition = json!({
        "name": "upstream_servers",
        "title": "Manage MCP servers",
        "description": "Lists the MCP servers behind mcpproxy with their state, reads their logs, and changes them. update and patch are \
            the same: only the given fields change. env and headers are merged (null deletes a key), isolation and oauth are merged \
            deeply, lists are replaced, null removes a field. A server that is added, or changed in most ways, is quarantined until \
            the user approves it; this tool cannot approve.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "operation": { "type": "string", "enum": operations },
                "action": text("Another word for \"operation\""),
                "name": text("The server's name, for all operations but list"),
                "lines": { "type": "integer", "minimum": LogLines::RANGE.start(), "maximum": LogLines::RANGE.end(), "default": LogLines::USUAL, "description": "How many lines tail_log returns" },
                "command": text("The program to start"),
                "args": texts,
                "args_json": as_json("args"),
                "env": map("Environment variables of the program"),
                "env_json": as_json("env"),
                "cwd": text("The folder in which the program starts"),
                "url": text("The address of a remote server"),
                "headers": map("Headers for a remote server"),
                "headers_json": as_json("headers"),
                "type": text("stdio, http, sse or auto; by default, command or url decides"),
                "enabled": { "type": "boolean" },
                "quarantined": { "type": "boolean", "description": "true quarantines the server" },
                "idle_timeout": text("Sleeps when unused for: adaptive, never, or a time such as 2m"),
                "init_timeout": text("How long the start may take, such as 60s"),
                "call_tool_timeout": text("How long a call may take without progress, such as 2m"),
                "enabled_tools": texts,
                "disabled_tools": texts,
                "isolation": object("The container in which the program runs: enabled, image, …"),
                "isolation_json": as_json("isolation"),
                "oauth": object("How to log in: client_id, scopes, …"),
                "oauth_json": as_json("oauth"),
            },
        },
        "annotations": {
            "readOnlyHint": is_read_only,
            "destructiveHint": !is_read_only,
            "openWorldHint": false,
        },
    });
    if is_read_only {
        definition["description"] =
            "Lists the MCP servers behind mcpproxy with their state, and reads a server's log."
                .into();
        let kept = ["operation", "action", "name", "lines"];
        if let Some(properties) = definition["inputSchema"]["properties"].as_object_mut() {
            properties.retain(|key, _| kept.contains(&&**key));
        }
    }
    definition
}

async fn run(call: Call<'_>) -> Result<Reply, RequestError> {
    let wrong = |why: String| call.wrong(why);
    let operation = operation(&call)?;
    let now = call.now();
    let management = &call.router.0.management;
    let agent = management.for_agent(&call.context.caller, &now);
    agent.check(match &*operation {
        "list" | "tail_log" => AgentVerb::Look,
        _ => AgentVerb::Change,
    })?;
    if !OPERATIONS.contains(&&*operation) {
        let known = OPERATIONS.join(", ");
        let shown: String = operation.chars().take(64).collect();
        return Err(call.wrong(format_args!(
            "\"operation\" cannot be {shown:?}; use one of {known}"
        )));
    }
    if operation == "list" {
        no_others(&call, &operation, &[])?;
        return Ok(answer(&json!({ "servers": agent.servers()? })));
    }
    let name = required(&call.arguments, "name").map_err(wrong)?;
    match &*operation {
        "add" => Ok(answer(&agent.add(&name, entry(&call)?).await?)),
        "update" | "patch" => Ok(answer(&agent.patch(&name, entry(&call)?).await?)),
        "tail_log" => {
            no_others(&call, &operation, &["name", "lines"])?;
            let lines = number(&call.arguments, "lines", 1).map_err(wrong)?;
            let lines = LogLines::count(lines).map_err(wrong)?;
            let lines = agent.log_lines(&name, lines).await?;
            Ok(answer(&json!({ "server": name, "lines": lines })))
        }
        verb => {
            no_others(&call, verb, &["name"])?;
            Ok(answer(&by_name(&agent, verb, &name).await?))
        }
    }
}

async fn by_name(
    agent: &AgentRequest<'_>,
    verb: &str,
    name: &str,
) -> Result<AgentChange, RequestError> {
    Ok(match verb {
        "remove" => agent.remove(name).await?,
        "enable" => agent.set_enabled(name, Enabled::On).await?,
        "disable" => agent.set_enabled(name, Enabled::Off).await?,
        _ => agent.restart(name).await?,
    })
}

/// The operation, under either of its keys.
fn operation(call: &Call<'_>) -> Result<String, RequestError> {
    let wrong = |why: String| call.wrong(why);
    let operation = string(&call.arguments, "operation").map_err(wrong)?;
    let action = string(&call.arguments, "action").map_err(wrong)?;
    match (operation, action) {
        (Some(operation), Some(action)) if operation != action => Err(call.wrong(format_args!(
            "\"operation\" is {operation:?}, but \"action\" is {action:?}; give one"
        ))),
        (Some(operation), _) | (None, Some(operation)) => Ok(operation),
        (None, None) => Err(call.wrong("\"operation\" is missing")),
    }
}

/// The members of a server's entry: all arguments except those of the operation.
fn entry(call: &Call<'_>) -> Result<Map<String, Value>, RequestError> {
    let read = config::read_unrepeated_object(call.arguments.as_bytes());
    let mut entry = read.map_err(|why| call.wrong(why))?;
    for key in ["operation", "action", "name"] {
        entry.shift_remove(key);
    }
    match entry.shift_remove("lines") {
        None | Some(Value::Null) => Ok(entry),
        Some(_) => Err(call.wrong("only \"tail_log\" takes \"lines\"")),
    }
}

/// Refuses arguments that an operation does not take. A null counts as absent.
fn no_others(call: &Call<'_>, operation: &str, taken: &[&str]) -> Result<(), RequestError> {
    for member in call.arguments.members() {
        let name = member.name(call.arguments.as_bytes()).unwrap_or_default();
        let is_taken = ["operation", "action"].contains(&&*name) || taken.contains(&&*name);
        if !is_taken && !call.arguments.part(member.value.clone()).is_null() {
            return Err(call.wrong(format_args!("{operation:?} takes no \"{name}\"")));
        }
    }
    Ok(())
}

fn answer(value: &impl Serialize) -> Reply {
    Reply::Own(structured(&Raw::author(value)))
}
