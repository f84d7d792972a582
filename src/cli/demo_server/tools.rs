//! What the demo server's tools do.

use std::time::{Duration, SystemTime};

use serde_json::{Map, Value, json};

use super::{DemoError, DemoRequest, Server, content, schema};
use crate::text::moment::utc;

/// The one tool that takes long.
const SLOW: &str = "slow_count";

/// What a tool says.
enum ToolOutput {
    Text(String),
    /// For tools with an output schema.
    Structured(Value),
    /// The call was cancelled: no answer is sent.
    Nothing,
}

/// Whether the request must not be served on the thread that reads.
pub(super) fn takes_long(request: &DemoRequest) -> bool {
    request.method == "tools/call" && request.params["name"] == SLOW
}

/// The result of `tools/call`; nothing when the call was cancelled. Wrong arguments are a result with `isError`, so that the
/// model sees them and can do better.
pub(super) fn call(server: &Server, request: &DemoRequest) -> Result<Option<Value>, DemoError> {
    let ran = run(server, request);
    // A call that was cancelled has been removed already and gets no answer.
    if takes_long(request) && !server.in_flight.end(&request.id) {
        return Ok(None);
    }
    Ok(match ran? {
        Ok(ToolOutput::Text(text)) => {
            Some(json!({ "content": [{ "type": "text", "text": text }] }))
        }
        Ok(ToolOutput::Structured(value)) => Some(json!({
            "content": [{ "type": "text", "text": value.to_string() }],
            "structuredContent": value,
        })),
        Ok(ToolOutput::Nothing) => None,
        Err(complaint) => {
            Some(json!({ "content": [{ "type": "text", "text": complaint }], "isError": true }))
        }
    })
}

fn run(server: &Server, request: &DemoRequest) -> Result<Result<ToolOutput, String>, DemoError> {
    let Some(name) = request.params["name"].as_str() else {
        return Err(DemoError::params("tools/call needs name, a string"));
    };
    let offered = content::offered("tools");
    let known = offered["tools"].as_array().into_iter().flatten();
    let Some(definition) = known
        .into_iter()
        .find(|definition| definition["name"] == name)
    else {
        return Err(DemoError::params(format!("unknown tool {name:?}")));
    };
    let empty = Map::new();
    let arguments = match &request.params["arguments"] {
        Value::Null => &empty,
        Value::Object(arguments) => arguments,
        _ => return Err(DemoError::params("arguments must be an object")),
    };
    if let Err(complaint) = schema::check(&definition["inputSchema"], arguments) {
        return Ok(Err(complaint));
    }
    Ok(perform(server, request, name, arguments))
}

/// Runs a known tool on checked arguments.
fn perform(
    server: &Server,
    request: &DemoRequest,
    name: &str,
    arguments: &Map<String, Value>,
) -> Result<ToolOutput, String> {
    let text = |name: &str| {
        arguments
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    match name {
        "echo" => Ok(ToolOutput::Text(text("text").to_owned())),
        "add" => add(&arguments["a"], &arguments["b"]),
        "time_now" => Ok(ToolOutput::Text(utc(SystemTime::now()))),
        "notes_write" => server
            .notes
            .write(text("title"), text("text"))
            .map(ToolOutput::Text),
        "notes_list" => Ok(ToolOutput::Text(server.notes.list(text("containing")))),
        "notes_delete" => server.notes.delete(text("title")).map(ToolOutput::Text),
        _ => {
            let seconds = arguments
                .get("seconds")
                .and_then(Value::as_u64)
                .unwrap_or(5);
            Ok(count(server, request, seconds))
        }
    }
}

/// Whole numbers stay whole as far as they fit.
fn add(a: &Value, b: &Value) -> Result<ToolOutput, String> {
    if let (Some(a), Some(b)) = (a.as_i64(), b.as_i64())
        && let Some(sum) = a.checked_add(b)
    {
        return Ok(ToolOutput::Structured(json!({ "sum": sum })));
    }
    let sum = a.as_f64().unwrap_or(f64::NAN) + b.as_f64().unwrap_or(f64::NAN);
    if sum.is_finite() {
        Ok(ToolOutput::Structured(json!({ "sum": sum })))
    } else {
        Err("the sum is too large for a number".to_owned())
    }
}

fn count(server: &Server, request: &DemoRequest, seconds: u64) -> ToolOutput {
    let token = &request.params["_meta"]["progressToken"];
    for second in 1..=seconds {
        if !server.in_flight.wait(&request.id, Duration::from_secs(1)) {
            return ToolOutput::Nothing;
        }
        if token.is_string() || token.is_number() {
            let progress = json!({
                "jsonrpc": "2.0",
                "method": "notifications/progress",
                "params": {
                    "progressToken": token,
                    "progress": second,
                    "total": seconds,
                    "message": format!("counted to {second}"),
                },
            });
            if super::send(&progress).is_err() {
                return ToolOutput::Nothing;
            }
        }
    }
    ToolOutput::Text(format!("Counted to {seconds}."))
}
