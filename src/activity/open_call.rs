//! A call that is under way: its events until it ends, whatever its end is.

use std::{sync::Arc, time::Instant};

use super::{
    Activity, CallCourse, CallEntrance, EventKind, StatedIntent,
    copies::{bounded, kept_copy, small_client, small_error, well_known},
    outcome::{is_failure, outcome_of_result},
    redaction::LARGEST_BODY,
    seen_call::{CallEnd, SeenBody, SeenCall, ThingCalled},
};
use crate::{
    failure::Failure,
    telemetry::spans::CallTrace,
    wire::{Raw, RpcError, Thing},
};

/// A request of a caller from its beginning.
#[derive(Debug)]
pub struct NewCall<'a> {
    /// Its number.
    pub id: u64,
    /// That of the call which caused it.
    pub parent: Option<u64>,
    /// Whose it is.
    pub caller: Arc<str>,
    /// What the client says of itself.
    pub client: &'a Raw,
    /// Where it came in, if it came in from outside.
    pub endpoint: Option<CallEntrance>,
    /// The method.
    pub method: &'a str,
    /// What came with it.
    pub body: CallBody<'a>,
    /// Its place in a trace, if it has one.
    pub trace: Option<Arc<CallTrace>>,
    /// The events of its way.
    pub course: Arc<CallCourse>,
}

/// What came with a call.
#[derive(Debug, Clone, Copy)]
pub enum CallBody<'a> {
    /// Params as the client wrote them.
    Params(Option<&'a Raw>),
    /// Arguments by themselves.
    Arguments(Option<&'a Raw>),
}

/// A call that is under way. Dropping it is an end too: the call was withdrawn.
#[derive(Debug)]
pub struct OpenCall {
    activity: Activity,
    /// Until it is recorded.
    call: Option<Box<SeenCall>>,
}

impl OpenCall {
    pub(super) fn new(activity: Activity, new: NewCall<'_>) -> Self {
        let NewCall {
            id,
            parent,
            caller,
            client,
            endpoint,
            method,
            body,
            trace,
            course,
        } = new;
        let (kept, request_bytes) = match body {
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
        course.begin(began);
        let call = SeenCall {
            id,
            parent,
            caller,
            client: small_client(client),
            endpoint,
            method: well_known(method),
            server: None,
            thing: ThingCalled::Nothing,
            variant: None,
            intent: None,
            body: kept,
            request_bytes,
            began,
            ended: began,
            end: CallEnd::Withdrawn,
            trace,
            course,
        };
        Self {
            activity,
            call: Some(Box::new(call)),
        }
    }

    /// What is called. Said again when more is known.
    pub fn is_of(&mut self, server: Option<&str>, thing: &Thing<'_>) {
        if let Some(call) = &mut self.call {
            call.server = server.map(|name| bounded(name).into());
            call.thing = ThingCalled::of(thing);
        }
    }

    /// How it was declared.
    pub fn is_declared(&mut self, variant: &'static str, intent: Option<StatedIntent>) {
        if let Some(call) = &mut self.call {
            call.variant = Some(variant);
            call.intent = intent;
        }
    }

    /// It was answered with a result.
    pub fn answered(self, result: &Raw) {
        let size = result.as_bytes().len();
        let outcome = outcome_of_result(result);
        let is_wanted = self.activity.keeps_results() || is_failure(outcome);
        let kept = (is_wanted && size <= LARGEST_BODY).then(|| kept_copy(result));
        self.end(CallEnd::Result {
            size,
            outcome,
            kept,
        });
    }

    /// It was answered with an error of the server.
    pub fn refused_by_server(self, error: &Raw) {
        self.end(CallEnd::RpcError {
            size: error.as_bytes().len(),
            kept: small_error(error),
        });
    }

    /// It came to nothing.
    pub fn failed(self, failure: &Failure) {
        self.end(CallEnd::Failed(Box::new(failure.clone())));
    }

    /// The request was wrong.
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
        // Dropped here, which tells it.
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

/// What is kept of what was sent, and the size of all of it.
fn kept(activity: &Activity, raw: Option<&Raw>, body: fn(&Raw) -> SeenBody) -> (SeenBody, usize) {
    let size = raw.map_or(0, |raw| raw.as_bytes().len());
    let is_wanted = activity.keeps_arguments() && size <= LARGEST_BODY;
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
