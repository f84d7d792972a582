//! A call that is under way: collects what its record needs, and notes the event when it ends, in whatever way.

use std::{sync::Arc, time::Instant};

use super::{
    Activity, CallCourse, CallEntrance, EventKind, StatedIntent,
    copies::{bounded, kept_copy, small_client, small_error, well_known},
    outcome::{is_failure, outcome_of_result},
    redaction::LARGEST_BODY,
    seen_call::{CallEnd, SeenBody, SeenCall},
};
use crate::{
    failure::Failure,
    telemetry::spans::CallTrace,
    wire::{Raw, RpcError, Thing},
};

/// What is known of a call when it begins.
#[derive(Debug)]
pub struct NewCall<'a> {
    /// The number of its id.
    pub id: u64,
    /// The number of the call that caused it.
    pub parent: Option<u64>,
    /// The caller.
    pub caller: Arc<str>,
    /// The client's implementation.
    pub client: &'a Raw,
    /// The endpoint, if it came from outside.
    pub endpoint: Option<CallEntrance>,
    /// The method.
    pub method: &'a str,
    /// The content of the request.
    pub body: CallBody<'a>,
    /// Its place in a trace, if it has one.
    pub trace: Option<Arc<CallTrace>>,
    /// Decisions and times on its way.
    pub course: Arc<CallCourse>,
}

/// The content of a call's request.
#[derive(Debug, Clone, Copy)]
pub enum CallBody<'a> {
    /// Params as the client wrote them.
    Params(Option<&'a Raw>),
    /// Arguments alone.
    Arguments(Option<&'a Raw>),
}

/// A call that is under way. Dropping it records that the call was withdrawn.
#[derive(Debug)]
pub struct OpenCall {
    activity: Activity,
    /// `None` once it was noted.
    call: Option<Box<SeenCall>>,
}

impl OpenCall {
    pub(super) fn new(activity: Activity, new: NewCall<'_>) -> Self {
        let (kept, request_bytes) = match new.body {
            CallBody::Params(params) => {
                kept(&activity, params, |params| match params.get("arguments") {
                    Some(arguments) => SeenBody::Arguments(kept_copy(&arguments)),
                    None => SeenBody::Params(kept_copy(params)),
                })
            }
            CallBody::Arguments(arguments) => kept(&activity, arguments, |arguments| {
                SeenBody::Arguments(kept_copy(arguments))
            }),
        };
        let began = Instant::now();
        new.course.begin(began);
        let call = SeenCall {
            id: new.id,
            parent: new.parent,
            caller: new.caller,
            client: small_client(new.client),
            endpoint: new.endpoint,
            method: well_known(new.method),
            server: None,
            thing: Thing::Nothing,
            variant: None,
            intent: None,
            body: kept,
            request_bytes,
            began,
            ended: began,
            end: CallEnd::Withdrawn,
            trace: new.trace,
            course: new.course,
        };
        Self {
            activity,
            call: Some(Box::new(call)),
        }
    }

    /// Sets what is called. May be called again when more is known.
    pub fn is_of(&mut self, server: Option<&str>, thing: &Thing<'_>) {
        if let Some(call) = &mut self.call {
            call.server = server.map(|name| bounded(name).into());
            let name = bounded(thing.name().unwrap_or_default()).to_owned();
            call.thing = thing.named(name.into());
        }
    }

    /// Sets the declared call type and intent.
    pub fn is_declared(&mut self, variant: &'static str, intent: Option<StatedIntent>) {
        if let Some(call) = &mut self.call {
            call.variant = Some(variant);
            call.intent = intent;
        }
    }

    /// Ends the call with a result.
    pub fn answered(self, result: &Raw) {
        let size = result.as_bytes().len();
        let outcome = outcome_of_result(result);
        let is_wanted = self.activity.keeps(|kept| kept.results) || is_failure(outcome);
        let kept = (is_wanted && size <= LARGEST_BODY).then(|| kept_copy(result));
        self.end(CallEnd::Result {
            size,
            outcome,
            kept,
        });
    }

    /// Ends the call with an error of the server.
    pub fn refused_by_server(self, error: &Raw) {
        self.end(CallEnd::RpcError {
            size: error.as_bytes().len(),
            kept: small_error(error),
        });
    }

    /// Ends the call with a failure of mcpproxy.
    pub fn failed(self, failure: &Failure) {
        self.end(CallEnd::Failed(Box::new(failure.clone())));
    }

    /// Ends the call because its request was invalid.
    pub fn was_wrong(self, error: &RpcError) {
        self.end(CallEnd::Invalid {
            code: error.code,
            error: bounded(&error.message).to_owned(),
        });
    }

    fn end(mut self, end: CallEnd) {
        if let Some(call) = &mut self.call {
            call.end = end;
        }
        // Dropping it here notes the event.
    }
}

impl Drop for OpenCall {
    fn drop(&mut self) {
        if let Some(mut call) = self.call.take() {
            call.ended = Instant::now();
            self.activity.note(EventKind::Call(call));
        }
    }
}

/// The part of the request that is kept, and the size of the whole request.
fn kept(activity: &Activity, raw: Option<&Raw>, body: fn(&Raw) -> SeenBody) -> (SeenBody, usize) {
    let size = raw.map_or(0, |raw| raw.as_bytes().len());
    let is_wanted = activity.keeps(|kept| kept.arguments) && size <= LARGEST_BODY;
    let raw = raw.filter(|_| is_wanted);
    (raw.map_or(SeenBody::Nothing, body), size)
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::{super::event::ActivityEvent, *};
    use crate::activity::copies::{COPIED, LONGEST_TEXT};

    #[test]
    fn what_waits_is_bounded_and_lets_go_of_the_messages_it_came_in() {
        let long = "x".repeat(1 << 20);
        let error = Raw::author(&serde_json::json!({ "code": -3, "message": long, "data": long }));
        let client = Raw::author(&serde_json::json!({ "name": "n", "version": long }));
        let some = "y".repeat(2 * COPIED);
        let frame = Raw::author(&serde_json::json!({ "arguments": { "a": some }, "junk": long }));
        let few = Raw::author(&serde_json::json!({ "arguments": { "a": 1 }, "junk": long }));
        let small = kept_copy(&few.get("arguments").expect("it is there"));
        assert!(few.bytes().is_unique(), "a part of it is held: {small:?}");
        let arguments = frame.get("arguments").expect("it is there");
        let mut call = OpenCall::new(
            Activity::none(),
            NewCall {
                id: 1,
                parent: None,
                caller: "ada".into(),
                client: &client,
                endpoint: None,
                method: &long,
                body: CallBody::Arguments(Some(&arguments)),
                trace: None,
                course: Arc::default(),
            },
        );
        call.is_of(Some(&long), &Thing::Resource(long.as_str().into()));
        let mut call = call.call.take().expect("it is open");
        call.end = CallEnd::RpcError {
            size: error.as_bytes().len(),
            kept: small_error(&error),
        };
        assert_eq!(call.method.len(), LONGEST_TEXT);
        assert!(
            call.held_bytes() < 3 * LONGEST_TEXT,
            "{}",
            call.held_bytes()
        );
        let mut event = ActivityEvent {
            time: SystemTime::UNIX_EPOCH,
            what: EventKind::Call(call),
        };
        drop(arguments);
        assert!(!frame.bytes().is_unique(), "it holds a part of it");
        event.detach();
        assert!(frame.bytes().is_unique(), "{event:?}");
    }
}
