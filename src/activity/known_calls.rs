//! Records of calls of tools as JSON, put together from what is known already: most calls are like one before, but for their number, their
//! time and what was sent. The same comes of it as of making the record, at a fraction of the work.

use std::{
    collections::HashMap,
    hash::{BuildHasher, RandomState},
    sync::Arc,
};

use serde::Serialize;

use super::{
    block::{NewRecord, USUAL},
    record::RecordMaker,
    seen_call::{CallEnd, CallEntrance, SeenCall, ThingCalled},
};
use crate::wire::Raw;

/// Limit: heads that are remembered, and bytes of what a client says of itself in one.
const MOST: usize = 1_024;
const LARGEST_CLIENT: usize = 512;

/// What stands at the end of a record of which nothing but the head is known.
const NO_OUTCOME: &[u8] = br#","outcome":""}"#;

/// The beginnings of records. They hold for one redaction.
#[derive(Default)]
pub(super) struct RecordHeads {
    heads: HashMap<u64, RecordHead>,
    hasher: RandomState,
}

/// What records have in common.
struct RecordHead {
    run: u64,
    caller: Arc<str>,
    client: Raw,
    endpoint: Option<CallEntrance>,
    method: Box<str>,
    server: Option<Box<str>>,
    tool: Box<str>,
    variant: Option<&'static str>,
    /// As JSON, without the brace at its end.
    json: Vec<u8>,
}

impl RecordHead {
    fn is_of(&self, call: &SeenCall, tool: &str, run: u64) -> bool {
        self.run == run
            && *self.tool == *tool
            && self.server == call.server
            && self.variant == call.variant
            && self.endpoint == call.endpoint
            && *self.method == *call.method
            && self.caller == call.caller
            && self.client == call.client
    }

    fn of(maker: &RecordMaker<'_>, call: &SeenCall, tool: &str, run: u64) -> Option<Self> {
        let mut shared = maker.shared_part(call);
        shared.run = run;
        let mut json = serde_json::to_vec(&shared).ok()?;
        let length = json.strip_suffix(NO_OUTCOME)?.len();
        json.truncate(length);
        Some(Self {
            run,
            caller: call.caller.clone(),
            client: call.client.detached(),
            endpoint: call.endpoint.clone(),
            method: (*call.method).into(),
            server: call.server.clone(),
            tool: tool.into(),
            variant: call.variant,
            json,
        })
    }
}

impl RecordHeads {
    /// The record of a call of a tool that ended with a result. Nothing of any other call, and of what cannot be remembered.
    pub(super) fn record(
        &mut self,
        maker: &RecordMaker<'_>,
        call: &SeenCall,
        millis: u64,
        run: u64,
    ) -> Option<NewRecord> {
        let CallEnd::Result { size, kept, .. } = &call.end else {
            return None;
        };
        let head = self.head(maker, call, run)?;
        let own = maker.own_part(call);
        let result = maker.result(kept.as_ref());
        let bodies = [("arguments", own.arguments), ("result", result)];
        let length = |body: &Option<Raw>| body.as_ref().map_or(0, |raw| raw.as_bytes().len());
        let of_bodies: usize = bodies.iter().map(|(_, body)| length(body)).sum();
        let mut json = Vec::with_capacity(USUAL.max(head.len()) + of_bodies);
        json.extend(head);
        put(&mut json, "call", Some(own.call))?;
        put(&mut json, "parent", own.parent)?;
        put(&mut json, "data_sensitivity", own.data_sensitivity)?;
        put(&mut json, "reason", own.reason)?;
        put(&mut json, "outcome", Some(call.end.outcome()))?;
        put(&mut json, "duration_us", own.duration_us)?;
        put(&mut json, "request_bytes", own.request_bytes)?;
        put(&mut json, "answer_bytes", u64::try_from(*size).ok())?;
        for (name, body) in bodies {
            if let Some(body) = body {
                name_member(&mut json, name);
                json.extend(body.as_bytes());
            }
        }
        json.push(b'}');
        Some(NewRecord::written(millis, run, json))
    }

    fn head(&mut self, maker: &RecordMaker<'_>, call: &SeenCall, run: u64) -> Option<&[u8]> {
        let ThingCalled::Tool(tool) = &call.thing else {
            return None;
        };
        if call.client.as_bytes().len() > LARGEST_CLIENT {
            return None;
        }
        let key = self.hasher.hash_one((tool, call.variant));
        let is_known = |head: &RecordHead| head.is_of(call, tool, run);
        if !self.heads.get(&key).is_some_and(is_known) {
            if self.heads.len() >= MOST {
                self.heads.clear();
            }
            // In the place of one that is otherwise like this: of another client, say.
            let head = RecordHead::of(maker, call, tool, run)?;
            self.heads.insert(key, head);
        }
        self.heads.get(&key).map(|head| &head.json[..])
    }
}

/// Adds a member, if it has a value.
fn put(json: &mut Vec<u8>, name: &str, value: Option<impl Serialize>) -> Option<()> {
    if let Some(value) = value {
        name_member(json, name);
        serde_json::to_writer(json, &value).ok()?;
    }
    Some(())
}

fn name_member(json: &mut Vec<u8>, name: &str) {
    json.extend(b",\"");
    json.extend(name.as_bytes());
    json.extend(b"\":");
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use proptest::{collection::vec, option, prelude::*, sample::select};

    use super::*;
    use crate::{
        activity::{
            ActivityRecord, StatedIntent,
            event::{ActivityEvent, EventKind},
            redaction::Redaction,
            seen_call::{SeenBody, well_known},
        },
        config::{ActivitySettings, Kept},
        secret::Secrets,
    };

    fn raw(text: &str) -> Raw {
        Raw::parse_str(text).expect("JSON")
    }

    fn a_call() -> impl Strategy<Value = SeenCall> {
        let name = || select(vec!["ada", "echo", "hunter2-hunter2", r#"ä"b\"#, "api_key"]);
        let body = select(vec![
            r#"{"a":1}"#,
            r#"{"token":"t"}"#,
            "{}",
            r#"{"q":"hunter2-hunter2"}"#,
        ]);
        let names = (name(), name(), option::of(name()), option::of(name()));
        let numbers = (any::<u64>(), option::of(any::<u64>()), 0_u64..1_000_000);
        let rest = (
            body.clone(),
            body,
            any::<bool>(),
            option::of(select(vec!["read", "write"])),
        );
        (names, numbers, rest).prop_map(|(names, numbers, rest)| {
            let (caller, tool, owner, reason) = names;
            let (id, parent, micros) = numbers;
            let (arguments, result, has_endpoint, variant) = rest;
            let began = Instant::now();
            SeenCall {
                id,
                parent,
                caller: caller.into(),
                client: raw(&format!(r#"{{"name":"{micros}","version":"1"}}"#)),
                endpoint: has_endpoint.then_some(CallEntrance::Path("/mcp")),
                method: well_known("tools/call"),
                server: owner.map(Into::into),
                thing: ThingCalled::Tool(tool.into()),
                variant,
                trace: None,
                intent: reason.map(|reason| StatedIntent {
                    data_sensitivity: None,
                    reason: Some(reason.to_owned()),
                }),
                body: SeenBody::Params(raw(&format!(r#"{{"name":"x","arguments":{arguments}}}"#))),
                request_bytes: arguments.len(),
                began,
                ended: began + Duration::from_micros(micros),
                end: CallEnd::Result {
                    size: result.len(),
                    kept: Some(raw(result)),
                    is_error: false,
                },
            }
        })
    }

    proptest! {
        #[test]
        fn what_is_put_together_is_the_record(calls in vec(a_call(), 1..20), is_full in any::<bool>()) {
            let redaction = Redaction::new(Secrets::new(["hunter2-hunter2".to_owned()]));
            let settings = ActivitySettings {
                results: if is_full { Kept::Full } else { Kept::Off },
                ..ActivitySettings::default()
            };
            let maker = RecordMaker { redaction: &redaction, settings: &settings };
            let mut heads = RecordHeads::default();
            for call in calls {
                let new = heads.record(&maker, &call, 5, 3).expect("it ended with a result");
                let read: ActivityRecord = serde_json::from_slice(&new.json).expect("a record");
                let event = ActivityEvent {
                    time: std::time::SystemTime::UNIX_EPOCH,
                    what: EventKind::Call(Box::new(call)),
                };
                let made = ActivityRecord { run: 3, ..maker.record(&event) };
                prop_assert_eq!(read, made);
            }
        }
    }

    #[test]
    fn heads_are_bounded_and_follow_who_calls() {
        let (redaction, settings) = (Redaction::default(), ActivitySettings::default());
        let maker = RecordMaker {
            redaction: &redaction,
            settings: &settings,
        };
        let mut heads = RecordHeads::default();
        let began = Instant::now();
        for number in 0..2 * MOST {
            for caller in ["ada", "ben"] {
                let call = SeenCall {
                    id: 1,
                    parent: None,
                    caller: caller.into(),
                    client: Raw::empty_object(),
                    endpoint: None,
                    method: well_known("tools/call"),
                    server: None,
                    thing: ThingCalled::Tool(format!("t{number}").into()),
                    variant: None,
                    trace: None,
                    intent: None,
                    body: SeenBody::Nothing,
                    request_bytes: 0,
                    began,
                    ended: began,
                    end: CallEnd::Result {
                        size: 2,
                        kept: None,
                        is_error: false,
                    },
                };
                let new = heads
                    .record(&maker, &call, 5, 3)
                    .expect("it ended with a result");
                let read: ActivityRecord = serde_json::from_slice(&new.json).expect("a record");
                assert_eq!(read.caller.as_deref(), Some(caller));
                assert!(heads.heads.len() <= MOST);
            }
        }
    }
}
