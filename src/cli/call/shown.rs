//! Prints the answer to a tool call.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::{CommandFailure, Done, Output, failure::ONE_VERSION, output, tool_name};
use crate::{daemon_client, failure::NextStep};

/// The daemon's answer, with either `result` or `rpc_error`.
#[derive(Deserialize)]
struct Answer<'a> {
    called_as: Option<&'a str>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    rpc_error: Option<&'a RawValue>,
    step: Option<NextStep>,
}

#[derive(Deserialize)]
struct RpcError {
    code: i64,
    message: String,
}

/// The fields of a tool's result that are shown.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToolResult<'a> {
    #[serde(borrow, default)]
    content: Vec<&'a RawValue>,
    #[serde(borrow)]
    structured_content: Option<&'a RawValue>,
    is_error: Option<bool>,
}

/// The outcome of a call whose answer was printed.
pub(super) enum Shown {
    /// The tool reports no error.
    Fine,
    /// The tool or its server reports an error, and the arguments may be why.
    Refused(CommandFailure),
}

/// Prints the answer of this tool. An error that the arguments cannot have caused is a failure.
pub(super) fn show(tool: &str, body: &[u8], out: Output) -> Done<Shown> {
    let request = "POST /api/v1/call";
    let answer: Answer<'_> = daemon_client::read(request, body)?;
    if let Some(kind) = answer.called_as {
        out.note(&format!("called as {kind}"));
    }
    match (answer.result, answer.rpc_error) {
        (Some(result), _) => show_result(tool, result, out),
        (None, Some(error)) => show_rpc_error(tool, error, answer.step, out),
        (None, None) => Err(CommandFailure::failed(
            "the daemon's answer has neither a result nor an error",
        )
        .next(ONE_VERSION)),
    }
}

fn show_result(tool: &str, raw: &RawValue, out: Output) -> Done<Shown> {
    // A result of an unknown shape is printed as it is.
    let result: Option<ToolResult<'_>> = serde_json::from_str(raw.get()).ok();
    match &result {
        _ if out.is_json() => output::print_exact_json(raw.get())?,
        Some(result) => show_content(result)?,
        None => output::print_foreign_json(raw.get())?,
    }
    if result.is_none_or(|result| result.is_error != Some(true)) {
        return Ok(Shown::Fine);
    }
    let failure = CommandFailure::failed(format!("the tool {tool} reports an error"));
    Ok(Shown::Refused(failure.shown()))
}

fn show_content(result: &ToolResult<'_>) -> Done {
    for block in &result.content {
        show_block(block)?;
    }
    match result.structured_content {
        Some(structured) if result.content.is_empty() => {
            output::print_foreign_json(structured.get())
        }
        _ => Ok(()),
    }
}

fn show_rpc_error(tool: &str, raw: &RawValue, step: Option<NextStep>, out: Output) -> Done<Shown> {
    let RpcError { code, message } =
        daemon_client::read("POST /api/v1/call", raw.get().as_bytes())?;
    if out.is_json() {
        output::print_exact_json(&format!("{{\"rpc_error\":{}}}", raw.get()))?;
    }
    let (server, _) = tool_name::parts(tool).unwrap_or_default();
    let failure = CommandFailure::failed(format!(
        "the server answered {tool} with an error: {message} ({code})"
    ));
    match step {
        None | Some(NextStep::ShowTool { .. }) => Ok(Shown::Refused(failure.shown())),
        Some(step) => Err(failure.next(step.at_terminal(server)).shown()),
    }
}

/// A content block of any kind, in one line.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Block {
    r#type: String,
    text: Option<String>,
    data: Option<String>,
    mime_type: Option<String>,
    uri: Option<String>,
    resource: Option<Box<Block>>,
}

fn show_block(raw: &RawValue) -> Done {
    let block: Block = serde_json::from_str(raw.get()).unwrap_or_default();
    if let ("text", Some(text)) = (block.r#type.as_str(), &block.text) {
        return output::print_foreign_text(text);
    }
    let inner = block.resource.unwrap_or_default();
    let kind = if block.r#type.is_empty() {
        "content of an unknown type"
    } else {
        &block.r#type
    };
    let data = block
        .data
        .map(|data| format!("(about {} bytes)", data.len() / 4 * 3));
    let parts = [
        Some(kind.to_owned()),
        block.mime_type,
        inner.mime_type,
        block.uri,
        inner.uri,
        data,
    ];
    let line: Vec<String> = parts.into_iter().flatten().collect();
    output::print_foreign_text(&format!("[{}]", line.join(" ")))
}
