//! `call_tool_read`, `call_tool_write` and `call_tool_destructive`, which a client can approve separately, and `call_tool`, which stands
//! for the first two. The arguments reach the upstream as they are, and its result comes back as it is.

use serde_json::{Value, json};

use super::{BuiltIn, Call, required, string, wrong_arguments};
use crate::{
    config::Settings,
    error_code::{ErrorCode, Failure},
    gate::Variant,
    router::{Reply, RequestError, Router},
    wire::{Edit, Raw},
};

pub(super) const READ: BuiltIn = BuiltIn {
    name: "call_tool_read",
    define: |_| {
        define(
            Variant::Read,
            "Call a tool that only reads",
            "Calls a tool of an upstream server that only reads. Find tools with retrieve_tools; use this one where `call_with` names it. \
             A tool that its server marks as destructive, or that is known to write, is refused here.",
            &json!({ "readOnlyHint": true, "openWorldHint": true }),
        )
    },
    run: |call| Box::pin(declared(call, Variant::Read)),
};

pub(super) const WRITE: BuiltIn = BuiltIn {
    name: "call_tool_write",
    define: |_| {
        define(
            Variant::Write,
            "Call a tool that writes",
            "Calls a tool of an upstream server that creates or changes something. Find tools with retrieve_tools; use this one where \
             `call_with` names it. A tool that its server marks as destructive, or that is known to delete, is refused here.",
            &json!({ "readOnlyHint": false, "destructiveHint": false, "openWorldHint": true }),
        )
    },
    run: |call| Box::pin(declared(call, Variant::Write)),
};

pub(super) const DESTRUCTIVE: BuiltIn = BuiltIn {
    name: "call_tool_destructive",
    define: |_| {
        let mut definition = define(
            Variant::Destructive,
            "Call a tool that may destroy something",
            "Calls a tool of an upstream server that deletes or irreversibly changes something. Use it only where `call_with` names it and \
             the user wants it. Any tool may be called this way.",
            &json!({ "readOnlyHint": false, "destructiveHint": true, "openWorldHint": true }),
        );
        definition["_meta"]["anthropic/requiresUserInteraction"] = true.into();
        definition
    },
    run: |call| Box::pin(declared(call, Variant::Destructive)),
};

pub(super) const ANY: BuiltIn = BuiltIn {
    name: "call_tool",
    define: |_| {
        json!({
            "name": "call_tool",
            "title": "Call a tool",
            "description": "Calls a tool of an upstream server that reads or writes. Tools that may destroy something are refused; \
                            call_tool_destructive calls them.",
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
                "name": { "type": "string", "description": "The tool as server:tool, the `name` of a result of retrieve_tools" },
                "args": { "type": "object", "description": "The tool's arguments, as its inputSchema wants them" },
                "args_json": { "type": "string", "description": "The same as JSON text, in place of args" },
                "intent": {
                    "type": "object",
                    "description": "What the call is for, for the audit trail",
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

const SENSITIVITIES: [&str; 4] = ["public", "internal", "private", "unknown"];

/// Limit: characters of a reason. It is kept in the audit trail.
const REASON_MAX: usize = 1000;

struct Declared {
    name: String,
    args_json: Option<String>,
    intent: Option<Intent>,
    data_sensitivity: Option<String>,
    reason: Option<String>,
}

struct Intent {
    operation_type: Option<String>,
    data_sensitivity: Option<String>,
    reason: Option<String>,
}

impl Declared {
    fn read(arguments: &Raw) -> Result<Self, String> {
        let intent = match arguments.get("intent").filter(|intent| !intent.is_null()) {
            None => None,
            Some(intent) if intent.is_object() => Some(Intent {
                operation_type: string(&intent, "operation_type")?,
                data_sensitivity: string(&intent, "data_sensitivity")?,
                reason: string(&intent, "reason")?,
            }),
            Some(_) => return Err("`intent` is not an object".to_owned()),
        };
        Ok(Self {
            name: required(arguments, "name")?,
            args_json: string(arguments, "args_json")?,
            intent,
            data_sensitivity: string(arguments, "intent_data_sensitivity")?,
            reason: string(arguments, "intent_reason")?,
        })
    }
}

/// The intent may be absent; what is there must make sense and match the variant.
fn check_intent(asked: &Declared, variant: Variant) -> Result<(), String> {
    let intent = asked.intent.as_ref();
    if let Some(intent) = intent {
        match intent.operation_type.as_deref() {
            None => return Err("`intent.operation_type` is missing".to_owned()),
            Some(said) if said == variant.as_str() => (),
            Some(said) => {
                return Err(format!(
                    "`intent.operation_type` is {said:?}, but this tool is for {:?}",
                    variant.as_str()
                ));
            }
        }
    }
    let sensitivity = intent
        .and_then(|i| i.data_sensitivity.as_deref())
        .or(asked.data_sensitivity.as_deref());
    if let Some(said) = sensitivity.filter(|said| !SENSITIVITIES.contains(said)) {
        return Err(format!(
            "`data_sensitivity` is {said:?}; it may be one of {}",
            SENSITIVITIES.join(", ")
        ));
    }
    let reason = intent
        .and_then(|i| i.reason.as_deref())
        .or(asked.reason.as_deref());
    if reason.is_some_and(|reason| reason.chars().count() > REASON_MAX) {
        return Err(format!("`reason` is longer than {REASON_MAX} characters"));
    }
    Ok(())
}

/// The arguments for the upstream, as they stand there.
fn arguments_of(call: &Call<'_>, asked: &Declared) -> Result<Option<Raw>, String> {
    let given = call.arguments.get("args").filter(|args| !args.is_null());
    let arguments = match (given, asked.args_json.as_deref()) {
        (Some(_), Some(_)) => {
            return Err("`args` and `args_json` are both there; give one".to_owned());
        }
        (Some(args), None) => args,
        (None, Some(text)) if text.trim().is_empty() => return Ok(None),
        (None, Some(text)) => {
            Raw::parse_str(text).map_err(|error| format!("`args_json` is {error}"))?
        }
        (None, None) => return Ok(None),
    };
    if !arguments.is_object() {
        return Err("the arguments are not an object".to_owned());
    }
    // As text they were not looked at with the message.
    if arguments.is_too_deep() {
        return Err("the arguments nest deeper than 512 levels".to_owned());
    }
    Ok(Some(arguments))
}

async fn declared(call: Call<'_>, variant: Variant) -> Result<Reply, RequestError> {
    let tool = format!("call_tool_{}", variant.as_str());
    let wrong = |why: String| wrong_arguments(&tool, why);
    let asked = Declared::read(&call.arguments).map_err(wrong)?;
    check_intent(&asked, variant).map_err(wrong)?;
    let arguments = arguments_of(&call, &asked).map_err(wrong)?;
    let (server, name) = split(&call, &asked.name)?;
    call.router
        .call_declared(&call, variant, &server, &name, arguments)
        .await
}

/// `server:tool`, or a name under which a tool is offered.
fn split(call: &Call<'_>, name: &str) -> Result<(String, String), Failure> {
    if let Some((server, tool)) = name.split_once(':') {
        return Ok((server.to_owned(), tool.to_owned()));
    }
    let found = call.router.find_tool(name);
    found
        .map(|(server, tool)| (server.to_string(), tool.into()))
        .ok_or_else(|| {
            let error = format!("{name:?} is not of the form server:tool");
            Failure::new(
                ErrorCode::UnknownTool,
                error,
                "Find the tool with retrieve_tools and use its `name`.",
            )
        })
}

async fn undeclared(call: Call<'_>) -> Result<Reply, RequestError> {
    let wrong = |why: String| wrong_arguments("call_tool", why);
    let server = &required(&call.arguments, "server").map_err(wrong)?;
    let tool = &required(&call.arguments, "tool").map_err(wrong)?;
    let arguments = call
        .arguments
        .get("arguments")
        .filter(|arguments| !arguments.is_null());
    if arguments
        .as_ref()
        .is_some_and(|arguments| !arguments.is_object())
    {
        return Err(wrong("`arguments` is not an object".to_owned()));
    }
    call.router.ensure_known(server).await?;
    let variant = {
        let now = call.router.0.gate.now();
        let known = now.snapshot().tool(server, tool);
        known.map(|known| now.rules().call_with(server, known))
    };
    if variant == Some(Variant::Destructive) {
        // One tool for everything cannot be approved separately.
        let error = format!(
            "the tool {tool:?} of server {server:?} may destroy something, which call_tool does not do"
        );
        let hint = "Call it with call_tool_destructive if that is meant.";
        return Err(Failure::new(ErrorCode::WrongVariant, error, hint)
            .of_server(server)
            .of_tool(tool.as_str())
            .into());
    }
    call.router
        .call_declared(
            &call,
            variant.unwrap_or(Variant::Write),
            server,
            tool,
            arguments,
        )
        .await
}

impl Router {
    /// Sends a call on, with the params of the built-in call around its own name and arguments: metadata and what we do not know
    /// belong to the inner call.
    async fn call_declared(
        &self,
        call: &Call<'_>,
        variant: Variant,
        server: &str,
        tool: &str,
        arguments: Option<Raw>,
    ) -> Result<Reply, RequestError> {
        self.ensure_known(server).await?;
        let caller = &call.context.caller;
        let admitted = self.0.gate.admit_as(caller, variant, server, tool)?;
        let edits = [("arguments", arguments.map_or(Edit::Remove, Edit::Set))];
        self.forward(call.context, &admitted, Some(call.params), &edits)
            .await
    }
}

/// Whether `call_tool` is listed; its successors always are.
pub(super) fn lists_any(settings: &Settings) -> bool {
    settings.legacy_call_tool
}
