//! The spans of an ended call: the values of its record under the keys of OpenTelemetry's semantic conventions for MCP.

use super::{ActivityEvent, ActivityRecord, EventKind, Redaction, seen_call::CallEnd};
use crate::{
    telemetry::spans::{EndedCall, Spans},
    wire::method,
};

/// Exports the spans of a call, if the event is one and has a place in a trace.
pub(super) fn export(
    event: &ActivityEvent,
    record: &ActivityRecord,
    redaction: &Redaction,
    spans: &Spans,
) {
    let EventKind::Call(call) = &event.what else {
        return;
    };
    let Some(trace) = &call.trace else {
        return;
    };
    let has_rpc_code = matches!(call.end, CallEnd::RpcError { .. } | CallEnd::Invalid { .. });
    let code = record.code.as_deref();
    let request_id = trace.request_id().map(|id| redaction.name(id));
    let method = record.method.as_deref().unwrap_or_default();
    let target = record.tool.as_deref().or(record.prompt.as_deref());
    let error_type = error_type(&record.outcome, code);
    // The text of a tool's error is only for the log.
    let error = record.error.as_deref();
    let error = error.filter(|_| record.outcome != "tool_error");
    let operation = (method == method::TOOLS_CALL).then_some("execute_tool");
    spans.export(&EndedCall {
        trace,
        began: call.began,
        ended: call.ended,
        ended_at: event.time,
        // Names of spans must be few, so URIs are not part of them.
        name: &target.map_or(method.to_owned(), |target| format!("{method} {target}")),
        failure: error_type.map(|_| error.unwrap_or_default()),
        shared: &[
            ("mcp.method.name", Some(method)),
            ("gen_ai.operation.name", operation),
            ("gen_ai.tool.name", record.tool.as_deref()),
            ("gen_ai.prompt.name", record.prompt.as_deref()),
            ("mcp.resource.uri", record.resource.as_deref()),
            ("error.type", error_type),
            ("rpc.response.status_code", code.filter(|_| has_rpc_code)),
            ("mcpproxy.call.id", record.call.as_deref()),
            ("mcpproxy.server", record.server.as_deref()),
        ],
        own: &[
            ("jsonrpc.request.id", request_id.as_deref()),
            // Calls of operators and inner calls have no revision, and no id of a request.
            (
                "mcp.protocol.version",
                trace.request_id().map(|_| trace.revision),
            ),
            ("mcpproxy.caller", record.caller.as_deref()),
            ("mcpproxy.client", record.client.as_deref()),
            ("mcpproxy.endpoint", record.endpoint.as_deref()),
            ("mcpproxy.outcome", Some(&record.outcome)),
        ],
    });
}

/// The `error.type` of an outcome, if it is a failure. A withdrawn call, and one that asks a question, did not fail.
fn error_type<'a>(outcome: &'a str, code: Option<&'a str>) -> Option<&'a str> {
    match outcome {
        "tool_error" => Some(outcome),
        "rpc_error" | "invalid" | "refused" | "failed" => Some(code.unwrap_or(outcome)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_failed_has_a_type() {
        let check = |outcome, code, expected| assert_eq!(error_type(outcome, code), expected);
        check("ok", None, None);
        check("asked", None, None);
        check("withdrawn", None, None);
        check("tool_error", None, Some("tool_error"));
        check("rpc_error", Some("-32602"), Some("-32602"));
        check("rpc_error", None, Some("rpc_error"));
        check("refused", Some("tool_held"), Some("tool_held"));
    }
}
