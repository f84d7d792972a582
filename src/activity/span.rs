//! The spans of a call that ended, in the words of its record.

use super::{
    event::{ActivityEvent, EventKind},
    record::ActivityRecord,
    redaction::Redaction,
    seen_call::CallEnd,
};
use crate::telemetry::spans::{EndedCall, Spans};

/// Hands over what the record of an event says, if that is a call with a place in a trace.
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
    spans.export(&EndedCall {
        trace,
        began: call.began,
        ended: call.ended,
        ended_at: event.time,
        call: record.call.as_deref().unwrap_or_default(),
        request_id: request_id.as_deref(),
        method: record.method.as_deref().unwrap_or_default(),
        server: record.server.as_deref(),
        tool: record.tool.as_deref(),
        prompt: record.prompt.as_deref(),
        resource: record.resource.as_deref(),
        caller: record.caller.as_deref(),
        client: record.client.as_deref(),
        endpoint: record.endpoint.as_deref(),
        outcome: &record.outcome,
        error_type: error_type(&record.outcome, code),
        rpc_code: code.filter(|_| has_rpc_code),
        // What a tool answered is for the log alone.
        error: record
            .error
            .as_deref()
            .filter(|_| record.outcome != "tool_error"),
    });
}

/// What kind of failure an outcome is, if it is one: a call that its client took back, or that asks something, did not fail.
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
