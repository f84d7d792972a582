//! The place of one call in a trace: made when the call begins, and used when the call is sent to a server and when its spans are exported.

use std::time::Instant;

use opentelemetry_sdk::trace::{IdGenerator, RandomIdGenerator};

use crate::{
    runtime::sync::Guarded,
    wire::{Edit, Raw, RequestTrace, TraceParent, meta},
};

/// The ids of a call's spans. Calls whose trace is not recorded have none.
#[derive(Debug)]
pub struct CallTrace {
    /// The span of the call.
    pub(super) own: TraceParent,
    /// The span of the request to a server.
    pub(super) sent: TraceParent,
    /// The span that the call is part of.
    pub(super) parent: Option<Parent>,
    /// The `tracestate` of the incoming request.
    pub(super) state: Option<Box<str>>,
    /// The id of the client's request; `None` for calls that another call causes.
    request_id: Option<Box<str>>,
    /// The revision that the client speaks.
    pub revision: &'static str,
    /// Whether the trace came in the params, which carry its `tracestate` to the server unchanged.
    is_in_params: bool,
    pub(super) exchange: Guarded<ExchangeTimes>,
}

/// The id of the span that a call is part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Parent {
    /// A span of the client.
    Remote([u8; 8]),
    /// The span of another call, which caused this one.
    Call([u8; 8]),
}

/// When the call was first sent to a server, and when it was answered last.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ExchangeTimes {
    pub(super) sent: Option<Instant>,
    pub(super) answered: Option<Instant>,
}

/// What a span says of the client's request.
#[derive(Debug, Clone, Copy)]
pub struct TracedRequest<'a> {
    /// Its id, if it has one.
    pub id: Option<&'a str>,
    /// The revision that the client speaks.
    pub revision: &'static str,
    /// Whether its trace stands in its params, and not in headers.
    pub is_in_params: bool,
}

impl CallTrace {
    /// The place of a call in the received trace, or in a new one. `None` if the received trace is not recorded.
    pub(super) fn begin(
        received: Option<RequestTrace>,
        request: TracedRequest<'_>,
    ) -> Option<Self> {
        let (trace_id, flags, parent, state) = match received {
            Some(trace) if !trace.parent.is_sampled() => return None,
            Some(RequestTrace { parent, state }) => {
                let asks = Some(Parent::Remote(parent.span_id));
                (parent.trace_id, parent.flags, asks, state)
            }
            None => {
                let id = RandomIdGenerator::default().new_trace_id();
                (id.to_bytes(), TraceParent::SAMPLED, None, None)
            }
        };
        Some(Self {
            own: new_span(trace_id, flags),
            sent: new_span(trace_id, flags),
            parent,
            state,
            request_id: request.id.map(Box::from),
            revision: request.revision,
            is_in_params: parent.is_some() && request.is_in_params,
            exchange: Guarded::default(),
        })
    }

    /// The place of a call that this one causes.
    #[must_use]
    pub fn child(&self) -> Self {
        let (trace_id, flags) = (self.own.trace_id, self.own.flags);
        Self {
            own: new_span(trace_id, flags),
            sent: new_span(trace_id, flags),
            parent: Some(Parent::Call(self.own.span_id)),
            state: self.state.clone(),
            request_id: None,
            revision: self.revision,
            // A call that causes others repeats its trace in their params.
            is_in_params: self.is_in_params,
            exchange: Guarded::default(),
        }
    }

    /// The edits of `_meta` for the request to a server: the span of that request, and the `tracestate` that belongs to it.
    pub fn edits(&self) -> Vec<(&'static str, Edit<'static>)> {
        let parent = Raw::author(&self.sent.to_string());
        let mut edits = vec![(meta::TRACEPARENT, Edit::Set(parent))];
        if !self.is_in_params {
            let state = self.state.as_ref();
            let state = state.map_or(Edit::Remove, |state| Edit::Set(Raw::author(state)));
            edits.push((meta::TRACESTATE, state));
        }
        edits
    }

    /// The id of the request, as the client wrote it.
    pub fn request_id(&self) -> Option<&str> {
        self.request_id.as_deref()
    }

    /// Notes that the call is sent to a server.
    pub fn note_sent(&self) {
        let mut exchange = self.exchange.lock();
        exchange.sent.get_or_insert_with(Instant::now);
        // An earlier answer was a question to the client.
        exchange.answered = None;
    }

    /// Notes that the server answered.
    pub fn note_answered(&self) {
        self.exchange.lock().answered = Some(Instant::now());
    }
}

fn new_span(trace_id: [u8; 16], flags: u8) -> TraceParent {
    TraceParent {
        trace_id,
        span_id: RandomIdGenerator::default().new_span_id().to_bytes(),
        flags,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUEST: TracedRequest<'_> = TracedRequest {
        id: Some("7"),
        revision: "2025-06-18",
        is_in_params: true,
    };

    fn received(flags: &str) -> Option<RequestTrace> {
        let parent = format!("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-{flags}");
        RequestTrace::of(&parent, Some("a=1"))
    }

    fn edited(trace: &CallTrace, before: &str) -> String {
        let before = Raw::parse_str(before).expect("JSON");
        let edited = crate::wire::splice(&before, &trace.edits());
        edited.expect("an object").as_str().to_owned()
    }

    #[test]
    fn a_call_is_part_of_the_trace_of_whoever_asks() {
        let trace = CallTrace::begin(received("03"), REQUEST).expect("it is recorded");
        let parent = received("03").expect("well-formed").parent;
        assert_eq!(trace.own.trace_id, parent.trace_id);
        assert_eq!(trace.parent, Some(Parent::Remote(parent.span_id)));
        assert_ne!(trace.own.span_id, parent.span_id);
        assert_ne!(trace.own.span_id, trace.sent.span_id);
        assert_eq!(trace.own.flags, 3);
        let after = edited(&trace, r#"{ "traceparent":"x", "tracestate" : "a=1" }"#);
        let expected = format!(
            r#"{{ "traceparent":"{}", "tracestate" : "a=1" }}"#,
            trace.sent
        );
        assert_eq!(after, expected, "its state stays as it is");
    }

    #[test]
    fn without_one_a_new_trace_begins_and_what_does_not_count_goes() {
        let trace = CallTrace::begin(None, REQUEST).expect("it is recorded");
        assert!(trace.own.is_sampled() && trace.parent.is_none());
        let after = edited(
            &trace,
            r#"{"traceparent":"bad","tracestate":"a=1","x":1.10}"#,
        );
        let expected = format!(r#"{{"traceparent":"{}","x":1.10}}"#, trace.sent);
        assert_eq!(after, expected);
        let other = CallTrace::begin(None, REQUEST).expect("it is recorded");
        assert_ne!(trace.own.trace_id, other.own.trace_id);
    }

    #[test]
    fn what_headers_say_goes_on_in_the_params() {
        let request = TracedRequest {
            is_in_params: false,
            ..REQUEST
        };
        let trace = CallTrace::begin(received("01"), request).expect("it is recorded");
        let expected = format!(r#"{{"traceparent":"{}","tracestate":"a=1"}}"#, trace.sent);
        assert_eq!(edited(&trace, "{}"), expected);
    }

    #[test]
    fn what_is_not_recorded_has_no_place() {
        assert!(CallTrace::begin(received("00"), REQUEST).is_none());
    }

    #[test]
    fn an_inner_call_is_part_of_the_outer_one() {
        let outer = CallTrace::begin(received("01"), REQUEST).expect("it is recorded");
        let inner = outer.child();
        assert_eq!(inner.own.trace_id, outer.own.trace_id);
        assert_eq!(inner.parent, Some(Parent::Call(outer.own.span_id)));
        assert_eq!(inner.request_id, None);
    }
}
