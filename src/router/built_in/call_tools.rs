//! `call_tool_read`, `call_tool_write` and `call_tool_destructive`, which a client can approve separately, and the older `call_tool`, which
//! does what the first two do. Arguments and results pass byte for byte.

use serde_json::{Value, json};

use super::{
    BuiltIn, Call,
    arguments::{passed_on, required},
    call_arguments::{REASON_MAX, SENSITIVITIES, stated_intent},
};
use crate::{
    failure::{ErrorCode, Failure, NextStep, Result},
    gate::Variant,
    router::{
        Reply, RequestError,
        declared_call::{Audience, DeclaredCall},
    },
    text::names,
    wire::{Raw, Target},
};

/// MCP's word for `args`, and the members of `intent` as arguments.
const ALIASES: &[&str] = &["arguments", "intent_data_sensitivity", "intent_reason"];

fn usage(_: &Raw) -> &'static str {
    r#"{"name": "server:tool", "args": {"…": "as in the tool's inputSchema"}}"#
}

pub(super) const READ: BuiltIn = BuiltIn {
    name: "call_tool_read",
    aliases: ALIASES,
    is_listed: |_| true,
    usage,
    define: |_| {
        define(
            Variant::Read,
            "Call a tool that only reads",
            "Calls a server's tool that only reads. Find tools with retrieve_tools; use this one where call_with names it. \
             A tool that its server marks as destructive or not read-only, or that is known to write, is refused here.",
            &json!({ "readOnlyHint": true, "openWorldHint": true }),
        )
    },
    run: |call| Box::pin(declared(call, Variant::Read)),
};

pub(super) const WRITE: BuiltIn = BuiltIn {
    name: "call_tool_write",
    aliases: ALIASES,
    is_listed: |_| true,
    usage,
    define: |_| {
        define(
            Variant::Write,
            "Call a tool that writes",
            "Calls a server's tool that creates or changes something. Find tools with retrieve_tools; use this one where \
             call_with names it. A tool that its server marks as destructive, or that is known to delete, is refused here.",
            &json!({ "readOnlyHint": false, "destructiveHint": false, "openWorldHint": true }),
        )
    },
    run: |call| Box::pin(declared(call, Variant::Write)),
};

pub(super) const DESTRUCTIVE: BuiltIn = BuiltIn {
    name: "call_tool_destructive",
    aliases: ALIASES,
    is_listed: |_| true,
    usage,
    define: |_| {
        let mut definition = define(
            Variant::Destructive,
            "Call a tool that may destroy something",
            "Calls a server's tool that deletes or irreversibly changes something. Use it only where call_with names it and the user wants the change.",
            &json!({ "readOnlyHint": false, "destructiveHint": true, "openWorldHint": true }),
        );
        definition["_meta"]["anthropic/requiresUserInteraction"] = true.into();
        definition
    },
    run: |call| Box::pin(declared(call, Variant::Destructive)),
};

pub(super) const ANY: BuiltIn = BuiltIn {
    name: "call_tool",
    aliases: &["args", "args_json"],
    is_listed: |settings| settings.legacy_call_tool,
    usage: |_| r#"{"server": "…", "tool": "…", "arguments": {"…": "as in the tool's inputSchema"}}"#,
    define: |_| {
        json!({
            "name": "call_tool",
            "title": "Call a tool",
            "description": "Calls a tool that reads or writes. Tools that may delete or overwrite are refused; call_tool_destructive calls them.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "server": { "type": "string", "description": "The server's name" },
                    "tool": { "type": "string", "description": "The tool's name, as the server calls it" },
                    "arguments": { "type": "object", "description": "The tool's arguments" },
                },
                "required": ["server", "tool"],
            },
            "annotations": { "readOnlyHint": false, "destructiveHint": false, "openWorldHint": true },
        })
    },
    run: |call| Box::pin(undeclared(call)),
};

fn define(variant: Variant, title: &str, description: &str, annotations: &Value) -> Value {
    json!({
        "name": format!("call_tool_{}", variant.as_str()),
        "title": title,
        "description": description,
        "inputSchema": {
            "type": "object",
            "properties": {
                "name": { "type": "string", "description": "The tool as server:tool, the \"name\" of a result of retrieve_tools" },
                "args": { "type": "object", "description": "The tool's arguments, as in its inputSchema" },
                "args_json": { "type": "string", "description": "The arguments as JSON text, instead of args" },
                "intent": {
                    "type": "object",
                    "description": "The purpose of the call, for the activity log",
                    "properties": {
                        "operation_type": { "type": "string", "enum": [variant.as_str()] },
                        "data_sensitivity": { "type": "string", "enum": SENSITIVITIES },
                        "reason": { "type": "string", "maxLength": REASON_MAX },
                    },
                    "required": ["operation_type"],
                },
            },
            "required": ["name"],
        },
        "annotations": annotations,
    })
}

async fn declared(call: Call<'_>, variant: Variant) -> Result<Reply, RequestError> {
    let wrong = |why: String| call.wrong(why);
    let name = required(&call.arguments, "name").map_err(wrong)?;
    let name = name.trim().to_owned();
    let intent = stated_intent(&call.arguments, variant);
    let intent = intent.map_err(|why| wrong_intent(&call, variant, &why))?;
    let arguments = passed_on(&call.arguments).map_err(wrong)?;
    let (server, tool) = split(&call, &name).await?;
    let declared = DeclaredCall {
        variant,
        is_stated: true,
        server: &server,
        tool: &tool,
        arguments,
        intent,
        audience: Audience::Client,
    };
    let made = call
        .things
        .call_tool(call.context, declared, call.params)
        .await;
    made.map_err(|error| match error {
        RequestError::Failed(failure) => super::with_whole_name(failure).into(),
        error @ RequestError::Rpc(_) => error,
    })
}

/// The failure of a call whose arguments are right, but not its stated purpose.
fn wrong_intent(call: &Call<'_>, variant: Variant, why: &str) -> Failure {
    let error = format!("{}: {why}", call.tool.name);
    let hint = format!(
        "Correct that or leave it out; \"intent\" may be {{\"operation_type\": \"{}\"}}.",
        variant.as_str()
    );
    Failure::not_run(ErrorCode::InvalidArguments, error, hint)
}

/// The server and tool of a name: `server:tool`, or an offered name.
async fn split(call: &Call<'_>, name: &str) -> Result<(String, String)> {
    let parts = name.split_once(':');
    let parts = parts.filter(|(server, tool)| !server.is_empty() && !tool.is_empty());
    if let Some((server, tool)) = parts {
        return Ok((server.to_owned(), tool.to_owned()));
    }
    if let Some((server, tool)) = call.router.find_tool(&call.context.caller, name) {
        return Ok((server.to_string(), tool.into()));
    }
    if let Some(failure) = super::of_mcpproxy(name) {
        return Err(failure);
    }
    let caller = &call.context.caller;
    if call.router.0.gate.offers(caller, name) {
        let error = format!("{name:?} is a server, not a tool");
        let hint = format!(
            "Write {name}:TOOL; a search for \"{name}:\" with retrieve_tools lists its tools."
        );
        return Err(unknown_tool(error, hint));
    }
    let error = format!("{name:?} is not of the form server:tool");
    let search = &call.router.0.search;
    let closest = search.closest(caller, vec![name.to_owned()]).await?;
    let closest = closest.into_iter().flatten().collect::<Vec<_>>();
    let hint = match &closest[..] {
        [] => "Find the tool with retrieve_tools and use its \"name\".".to_owned(),
        found => names::did_you_mean(found),
    };
    Err(unknown_tool(error, hint))
}

fn unknown_tool(error: String, hint: String) -> Failure {
    Failure::for_agents(ErrorCode::UnknownTool, error, hint, NextStep::ShowTools)
}

async fn undeclared(call: Call<'_>) -> Result<Reply, RequestError> {
    let wrong = |why: String| call.wrong(why);
    let server = &required(&call.arguments, "server").map_err(wrong)?;
    let tool = &required(&call.arguments, "tool").map_err(wrong)?;
    let arguments = passed_on(&call.arguments).map_err(wrong)?;
    let variant = call.things.variant_for(call.context, server, tool).await?;
    if variant == Some(Variant::Destructive) {
        // If the tool is held or denied, the failure must be that.
        let gate = &call.router.0.gate;
        gate.decide(&call.context.caller, server, &Target::tool(tool))?;
        // One tool for everything cannot be approved separately.
        let error =
            format!("{server}:{tool} is destructive, and call_tool does not call such tools");
        let hint = format!(
            "If the user wants this, call call_tool_destructive with \"{server}:{tool}\" as name and the arguments as args."
        );
        let (code, step) = (ErrorCode::WrongVariant, NextStep::ShowTools);
        let failure = Failure::for_agents(code, error, hint, step);
        return Err(failure.of_server(server).of_tool(tool.as_str()).into());
    }
    let declared = DeclaredCall {
        variant: variant.unwrap_or(Variant::Write),
        is_stated: false,
        server,
        tool,
        arguments,
        intent: None,
        audience: Audience::Client,
    };
    call.things
        .call_tool(call.context, declared, call.params)
        .await
}
