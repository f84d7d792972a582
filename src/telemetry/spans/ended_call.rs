//! Makes the spans of a call that ended: one of the call, and one of what was sent to a server for it.

use std::{
    str::FromStr,
    time::{Instant, SystemTime},
};

use opentelemetry::{
    InstrumentationScope, KeyValue,
    trace::{SpanContext, SpanId, SpanKind, Status, TraceFlags, TraceId, TraceState},
};
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanLinks};

use super::CallTrace;
use crate::wire::TraceParent;

/// A key of a span, and what it says of this call, if anything.
type Attribute<'a> = (&'static str, Option<&'a str>);

/// A call that ended, in texts that are redacted and bounded.
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
    /// What its spans are called.
    pub name: &'a str,
    /// What went wrong, if it failed.
    pub failure: Option<&'a str>,
    /// What both spans say.
    pub shared: &'a [Attribute<'a>],
    /// What only the span of the call says.
    pub own: &'a [Attribute<'a>],
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
            let attributes = pairs(self.shared).collect();
            let span = self.span(trace.sent, parent, SpanKind::Client, attributes);
            self.with_times(span, sent, answered)
        });
        let attributes = pairs(self.shared).chain(pairs(self.own)).collect();
        let own = self.span(trace.own, trace.parent, kind, attributes);
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
            name: self.name.to_owned().into(),
            start_time: self.ended_at,
            end_time: self.ended_at,
            attributes,
            dropped_attributes_count: 0,
            events: SpanEvents::default(),
            links: SpanLinks::default(),
            status: self
                .failure
                .map_or(Status::Unset, |why| Status::error(why.to_owned())),
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
}

fn pairs(attributes: &[Attribute<'_>]) -> impl Iterator<Item = KeyValue> {
    let present = attributes
        .iter()
        .filter_map(|(key, value)| Some((*key, (*value)?)));
    present.map(|(key, value)| KeyValue::new(key, value.to_owned()))
}

fn scope() -> InstrumentationScope {
    InstrumentationScope::builder(env!("CARGO_PKG_NAME"))
        .with_version(env!("CARGO_PKG_VERSION"))
        .build()
}
