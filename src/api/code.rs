//! `/api/v1/code`: runs a script, whose calls pass the same gate as those of an MCP client's script.

use axum::{
    Extension,
    extract::{State, rejection::BytesRejection},
};
use bytes::Bytes;
use http::HeaderMap;
use schemars::{Schema, SchemaGenerator, json_schema};

use super::{Answer, Api, Route, Routes, notices, raw_object, routes::CALL};
use crate::{
    access::Caller, call_context::CallContext, failure::Result, telemetry::log_context::LoggedWork,
    wire::Raw,
};

pub(super) fn routes() -> Routes {
    vec![
        Route::post("/api/v1/code", run)
            .about(
                "runCode",
                "Runs a script with the same checks as an agent's; with `Accept: application/x-ndjson`, progress notifications come first, one per line.",
            )
            .takes_as(arguments_schema)
            .gives_as(answer_schema)
            .gives_text(notices::MEDIA_TYPE)
            .fails(CALL)
            .undone(UNDONE),
    ]
}

const UNDONE: &str = "nothing ran";

/// The arguments of `code_execution`.
fn arguments_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "properties": {
            "code": { "type": "string", "description": "The script, in JavaScript." },
            "input": { "description": "The value of `input` in the script." },
            "options": { "type": "object", "description": "The limits of the script: `timeout_ms`, `max_tool_calls`, `allowed_servers` and `allow_destructive`." },
        },
        "required": ["code"],
    })
}

fn answer_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "description": "The value of the script, or its error.",
        "properties": {
            "ok": { "type": "boolean", "description": "Whether the script succeeded." },
            "value": { "description": "The value of the script." },
            "error": { "type": "object", "description": "Why it failed." },
        },
    })
}

/// The body has the arguments of `code_execution`, and the answer its result: `{"ok", "value" | "error", "logs"?, "tool_calls",
/// "failed_calls"?}`.
async fn run(
    State(api): State<Api>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Answer {
    let arguments = raw_object(body)?;
    let (context, notices) = notices::begin(&api, caller, &headers);
    let params = notices.is_some().then(notices::progress_params);
    let running = async move { run_script(&api, &context, &arguments, params.as_ref()).await };
    notices::answer(notices, UNDONE, running).await
}

/// Runs a script to its end; its JSON. `params` request its progress.
async fn run_script(
    api: &Api,
    context: &CallContext,
    arguments: &Raw,
    params: Option<&Raw>,
) -> Result<Bytes> {
    let running = api.0.router.run_script(context, arguments, params);
    let result = running.logged_in(context.logged_as.clone()).await;
    let result = result?;
    let answer = result.get("structuredContent").unwrap_or(result);
    Ok(answer.bytes().clone())
}
