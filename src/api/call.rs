//! `/api/v1/call`: one call of a tool, through the same gate as an MCP client's.

use axum::{
    Extension,
    extract::{State, rejection::BytesRejection},
};
use bytes::Bytes;
use http::HeaderMap;
use schemars::{Schema, SchemaGenerator, json_schema};

use super::{Answer, Api, Route, Routes, notices, raw_object, routes::CALL, wrong};
use crate::{
    access::Caller,
    call_context::CallContext,
    failure::{HintText, Result},
    router::{self, ToolRequest},
    telemetry::log_context::LoggedWork,
    wire::{Edit, Outcome, Raw, splice},
};

pub(super) fn routes() -> Routes {
    vec![
        Route::post("/api/v1/call", call)
            .about(
                "callTool",
                "Calls a tool with the same checks as an agent's call; with `Accept: application/x-ndjson`, progress notifications come first, one per line.",
            )
            .takes_as(request)
            .gives_as(answer)
            .gives_text(notices::MEDIA_TYPE)
            .fails(CALL)
            .undone(UNDONE),
    ]
}

const UNDONE: &str = "nothing was called";

fn request(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "properties": {
            "variant": { "enum": ["read", "write", "destructive"], "description": "The call type; the tool's own if absent." },
            "name": { "type": "string", "description": "`server:tool`, or the name under which clients see it." },
            "args": { "type": ["object", "null"], "description": "The arguments of the tool." },
            "arguments": { "type": ["object", "null"], "description": "The same as `args`." },
            "args_json": { "type": ["string", "null"], "description": "The arguments as JSON text." },
        },
        "required": ["name"],
        "additionalProperties": false,
    })
}

/// The schema of the answer. The result of the tool passes unchanged.
fn answer(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "description": "The result of the tool, or the server's error.",
        "properties": {
            "called_as": { "enum": ["read", "write", "destructive"], "description": "The call type, if the request has none." },
            "result": { "description": "The tool's result." },
            "rpc_error": { "description": "The JSON-RPC error of the server." },
            "server": { "type": "string", "description": "The server, if the call failed." },
            "tool": { "type": "string", "description": "The tool, if the call failed." },
            "step": { "description": "The next step, if the call failed." },
        },
    })
}

async fn call(
    State(api): State<Api>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Answer {
    let body = raw_object(body)?;
    let mut request = ToolRequest::read(&body).map_err(|why| {
        let mut wrong = wrong(why);
        if router::passed_on(&body).is_err() {
            wrong.0.hint = HintText::new("correct the arguments and send the request again");
        }
        wrong
    })?;
    if !request.name.contains(':') {
        // The name under which clients see it.
        request.name = api.0.management.tool(&request.name)?.name;
    }
    let (context, notices) = notices::begin(&api, caller, &headers);
    let calling = async move { make_call(&api, &context, &request).await };
    notices::answer(notices, UNDONE, calling).await
}

/// Makes the call; its JSON. Requests progress even where nobody reads it: that keeps the call alive.
async fn make_call(api: &Api, context: &CallContext, request: &ToolRequest) -> Result<Bytes> {
    let name = request.name.as_str();
    let (server, tool) = name.split_once(':').unwrap_or((name, ""));
    let (router, params) = (&api.0.router, notices::progress_params());
    let (args, params) = (request.arguments.as_ref(), Some(&params));
    let (variant, called_as) = if let Some(variant) = request.variant {
        (variant, None)
    } else {
        let own = router.variant_for_operator(context, server, tool).await?;
        (own, Some(own))
    };
    let answering = router.call_for_operator(context, variant, server, tool, args, params);
    let answer = answering.logged_in(context.logged_as.clone()).await?;
    let text = |text: &str| Edit::Set(Raw::author(&text));
    let called_as = called_as.map(|variant| ("called_as", text(variant.as_str())));
    let mut members: Vec<_> = called_as.into_iter().collect();
    match answer {
        Outcome::Result(result) => members.push(("result", Edit::Set(result))),
        Outcome::Error(error) => {
            let code: Option<i64> = error.get("code").and_then(|code| code.read().ok());
            let management = &api.0.management;
            let step = management.after_rpc_error(server, tool, code.unwrap_or_default());
            members.extend([
                ("server", text(server)),
                ("tool", text(tool)),
                ("step", Edit::Set(Raw::author(&step))),
                ("rpc_error", Edit::Set(error)),
            ]);
        }
    }
    let answer = splice(&Raw::empty_object(), &members).expect("an object was given");
    Ok(answer.bytes().clone())
}
