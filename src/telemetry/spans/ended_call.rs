//! Makes the spans of a call that ended: one of the call, and one of what was sent to a server for it (OpenTelemetry's semantic
//! conventions for MCP).

use std::{
    borrow::Cow,
    str::FromStr,
    time::{Instant, SystemTime},
};

use opentelemetry::{
    InstrumentationScope, KeyValue,
    trace::{SpanContext, SpanId, SpanKind, Status, TraceFlags, TraceId, TraceState},
};
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanLinks};

use super::CallTrace;
use crate::wire::{TraceParent, method};

/// A call that ended. All texts are as records have them: redacted, and bounded.
#[derive(Debug, Clone, Copy)]
pub struct EndedCall<'a> {
    /// Its place.
    pub trace: &'a CallTrace,
    /// When it began.
    pub began: Instant,
    /// When it ended.
    pub ended: Instant,
    /// The same, for others.
    pub ended_at: SystemTime,
    /// Its id, as records show it.
    pub call: &'a str,
    /// Its id, as the client wrote it.
    pub request_id: Option<&'a str>,
    /// The method.
    pub method: &'a str,
    /// The server, if it was for one.
    pub server: Option<&'a str>,
    /// What was called, if it was a tool.
    pub tool: Option<&'a str>,
    /// The requested prompt, if it was one.
    pub prompt: Option<&'a str>,
    /// The requested resource, if it was one.
    pub resource: Option<&'a str>,
    /// The caller.
    pub caller: Option<&'a str>,
    /// The client, as it calls itself.
    pub client: Option<&'a str>,
    /// Where it came in.
    pub endpoint: Option<&'a str>,
    /// How it ended, in the words of the activity log.
    pub outcome: &'a str,
    /// What kind of failure, if it failed.
    pub error_type: Option<&'a str>,
    /// The code of a JSON-RPC error.
    pub rpc_code: Option<&'a str>,
    /// What went wrong, in words.
    pub error: Option<&'a str>,
}

impl EndedCall<'_> {
    pub(super) fn spans(&self) -> impl Iterator<Item = SpanData> {
        let trace = self.trace;
        let kind = if trace.has_parent_call {
            SpanKind::Internal
        } else {
            SpanKind::Server
        };
        let exchange = *trace.exchange.lock();
        let sent = exchange.sent.map(|sent| {
            let answered = exchange.answered.unwrap_or(self.ended);
            let parent = Some(trace.own.span_id);
            let attributes = self.shared_attributes();
            let span = self.span(trace.sent, parent, SpanKind::Client, attributes);
            self.with_times(span, sent, answered)
        });
        let own = self.span(trace.own, trace.parent, kind, self.attributes());
        let own = SpanData {
            parent_span_is_remote: trace.parent.is_some() && !trace.has_parent_call,
            ..self.with_times(own, self.began, self.ended)
        };
        sent.into_iter().chain([own])
    }

    fn span(
        &self,
        id: TraceParent,
        parent: Option<[u8; 8]>,
        span_kind: SpanKind,
        attributes: Vec<KeyValue>,
    ) -> SpanData {
        let state = self.trace.state.as_deref().map(TraceState::from_str);
        let state = state.and_then(Result::ok).unwrap_or_default();
        SpanData {
            span_context: SpanContext::new(
                TraceId::from_bytes(id.trace_id),
                SpanId::from_bytes(id.span_id),
                TraceFlags::new(id.flags),
                false,
                state,
            ),
            parent_span_id: parent.map_or(SpanId::INVALID, SpanId::from_bytes),
            parent_span_is_remote: false,
            span_kind,
            name: self.name(),
            start_time: self.ended_at,
            end_time: self.ended_at,
            attributes,
            dropped_attributes_count: 0,
            events: SpanEvents::default(),
            links: SpanLinks::default(),
            status: self.status(),
            instrumentation_scope: scope(),
        }
    }

    fn with_times(&self, span: SpanData, from: Instant, to: Instant) -> SpanData {
        let at = |moment: Instant| {
            let before = self.ended.saturating_duration_since(moment);
            self.ended_at.checked_sub(before).unwrap_or(self.ended_at)
        };
        SpanData {
            start_time: at(from),
            end_time: at(to),
            ..span
        }
    }

    /// `{mcp.method.name} {target}`. A URI is no target: there may be any number of them.
    fn name(&self) -> Cow<'static, str> {
        match self.tool.or(self.prompt) {
            Some(target) => format!("{} {target}", self.method).into(),
            None => self.method.to_owned().into(),
        }
    }

    fn status(&self) -> Status {
        match self.error_type {
            Some(_) => Status::error(self.error.unwrap_or_default().to_owned()),
            None => Status::Unset,
        }
    }

    /// What both spans say.
    fn shared_attributes(&self) -> Vec<KeyValue> {
        let operation = (self.method == method::TOOLS_CALL).then_some("execute_tool");
        let all = [
            ("mcp.method.name", Some(self.method)),
            ("gen_ai.operation.name", operation),
            ("gen_ai.tool.name", self.tool),
            ("gen_ai.prompt.name", self.prompt),
            ("mcp.resource.uri", self.resource),
            ("error.type", self.error_type),
            ("rpc.response.status_code", self.rpc_code),
            ("mcpproxy.call.id", Some(self.call)),
            ("mcpproxy.server", self.server),
        ];
        pairs(&all)
    }

    fn attributes(&self) -> Vec<KeyValue> {
        let mut attributes = self.shared_attributes();
        // Operators and inner calls speak none.
        let revision = self.request_id.map(|_| self.trace.revision);
        attributes.extend(pairs(&[
            ("jsonrpc.request.id", self.request_id),
            ("mcp.protocol.version", revision),
            ("mcpproxy.caller", self.caller),
            ("mcpproxy.client", self.client),
            ("mcpproxy.endpoint", self.endpoint),
            ("mcpproxy.outcome", Some(self.outcome)),
        ]));
        attributes
    }
}

fn pairs(all: &[(&'static str, Option<&str>)]) -> Vec<KeyValue> {
    let pair = |(key, value): &(&'static str, Option<&str>)| {
        let value = (*value)?.to_owned();
        Some(KeyValue::new(*key, value))
    };
    all.iter().filter_map(pair).collect()
}

fn scope() -> InstrumentationScope {
    InstrumentationScope::builder(env!("CARGO_PKG_NAME"))
        .with_version(env!("CARGO_PKG_VERSION"))
        .build()
}
