//! Makes the spans of an ended call: one for the call, and one for its request to a server.

use std::{
    str::FromStr,
    sync::LazyLock,
    time::{Instant, SystemTime},
};

use opentelemetry::{
    InstrumentationScope, KeyValue,
    trace::{SpanContext, SpanId, SpanKind, Status, TraceFlags, TraceId, TraceState},
};
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanLinks};

use super::{CallTrace, call_trace::Parent};
use crate::wire::TraceParent;

/// The instrumentation scope of all spans.
static SCOPE: LazyLock<InstrumentationScope> = LazyLock::new(|| {
    InstrumentationScope::builder(env!("CARGO_PKG_NAME"))
        .with_version(env!("CARGO_PKG_VERSION"))
        .build()
});

/// The key of an attribute, and its value if the call has one.
type Attribute<'a> = (&'static str, Option<&'a str>);

/// An ended call, with texts that are redacted and cut.
#[derive(Debug, Clone, Copy)]
pub struct EndedCall<'a> {
    /// Its place in a trace.
    pub trace: &'a CallTrace,
    /// When it began.
    pub began: Instant,
    /// When it ended.
    pub ended: Instant,
    /// When it ended, by the clock.
    pub ended_at: SystemTime,
    /// The name of its spans.
    pub name: &'a str,
    /// The error, if it failed.
    pub failure: Option<&'a str>,
    /// The attributes of both spans.
    pub shared: &'a [Attribute<'a>],
    /// The attributes of the call's span alone.
    pub own: &'a [Attribute<'a>],
}

impl EndedCall<'_> {
    /// The span of the request to a server, if there was one, and the span of the call.
    pub(super) fn spans(&self) -> impl Iterator<Item = SpanData> {
        let trace = self.trace;
        let exchange = *trace.exchange.lock();
        let sent = exchange.sent.map(|sent| {
            let parent = Some(Parent::Call(trace.own.span_id));
            let times = [sent, exchange.answered.unwrap_or(self.ended)];
            let attributes = pairs(self.shared).collect();
            self.span(trace.sent, parent, SpanKind::Client, times, attributes)
        });
        let kind = match trace.parent {
            Some(Parent::Call(_)) => SpanKind::Internal,
            Some(Parent::Remote(_)) | None => SpanKind::Server,
        };
        let times = [self.began, self.ended];
        let attributes = pairs(self.shared).chain(pairs(self.own)).collect();
        let own = self.span(trace.own, trace.parent, kind, times, attributes);
        sent.into_iter().chain([own])
    }

    fn span(
        &self,
        id: TraceParent,
        parent: Option<Parent>,
        span_kind: SpanKind,
        times: [Instant; 2],
        attributes: Vec<KeyValue>,
    ) -> SpanData {
        let state = self.trace.state.as_deref().map(TraceState::from_str);
        let (parent_span_id, parent_span_is_remote) = match parent {
            Some(Parent::Remote(id)) => (SpanId::from_bytes(id), true),
            Some(Parent::Call(id)) => (SpanId::from_bytes(id), false),
            None => (SpanId::INVALID, false),
        };
        let [start_time, end_time] = times.map(|moment| {
            let before = self.ended.saturating_duration_since(moment);
            self.ended_at.checked_sub(before).unwrap_or(self.ended_at)
        });
        SpanData {
            span_context: SpanContext::new(
                TraceId::from_bytes(id.trace_id),
                SpanId::from_bytes(id.span_id),
                TraceFlags::new(id.flags),
                false,
                state.and_then(Result::ok).unwrap_or_default(),
            ),
            parent_span_id,
            parent_span_is_remote,
            span_kind,
            name: self.name.to_owned().into(),
            start_time,
            end_time,
            attributes,
            dropped_attributes_count: 0,
            events: SpanEvents::default(),
            links: SpanLinks::default(),
            status: self
                .failure
                .map_or(Status::Unset, |why| Status::error(why.to_owned())),
            instrumentation_scope: SCOPE.clone(),
        }
    }
}

fn pairs(attributes: &[Attribute<'_>]) -> impl Iterator<Item = KeyValue> {
    let present = attributes
        .iter()
        .filter_map(|(key, value)| Some((*key, (*value)?)));
    present.map(|(key, value)| KeyValue::new(key, value.to_owned()))
}
