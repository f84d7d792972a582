//! Calls of tools that are like one before, but for their number, their time and what was sent: what is known of such calls already is
//! neither redacted nor looked up again. Their records are put together as JSON, and they are counted together. The same comes of it as of
//! making each record and counting each call, at a fraction of the work.

use std::{hash::BuildHasher, mem, sync::Arc, time::Duration};

use serde::Serialize;

use super::{
    block::{NewRecord, USUAL},
    course::GateDecision,
    record::{CALL, RecordMaker},
    seen_call::{CallEnd, CallEntrance, SeenCall, ThingCalled},
};
use crate::{
    runtime::quick_map::{QuickHash, QuickMap},
    telemetry::metrics::CountedCall,
    wire::Raw,
};

/// Limit: kinds of calls that are remembered, and bytes of what a client says of itself in one.
const MOST: usize = 1_024;
const LARGEST_CLIENT: usize = 512;

/// What stands at the end of a record of which nothing but the head is known.
const NO_OUTCOME: &[u8] = br#","outcome":""}"#;

const MINUTE: u64 = 60_000;

/// What is known of calls. It holds for one redaction.
#[derive(Default)]
pub(super) struct KnownCalls {
    kinds: QuickMap<u64, CallKind>,
    hasher: QuickHash,
    /// What is not counted yet.
    tallies: Vec<CallTally>,
    /// How often those were taken.
    round: u64,
}

/// When and how a call ended, and which run of the daemon the file counts.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallMoment {
    pub(super) millis: u64,
    pub(super) outcome: &'static str,
    pub(super) run: u64,
}

/// Names as they are, by which calls are alike, and as they are shown and counted.
#[derive(Debug)]
struct KindNames {
    method: Box<str>,
    server: Option<Box<str>>,
    tool: Box<str>,
    shown_server: Option<String>,
    shown_tool: Option<String>,
    client: Option<String>,
    caller: Option<String>,
}

/// Calls of one kind that ended alike in one minute.
#[derive(Debug)]
pub(super) struct CallTally {
    names: Arc<KindNames>,
    outcome: &'static str,
    is_caused: bool,
    /// When the last one ended.
    millis: u64,
    took: Vec<Duration>,
}

impl CallTally {
    fn is_of(&self, call: &SeenCall, moment: CallMoment) -> bool {
        self.outcome == moment.outcome
            && self.is_caused == call.parent.is_some()
            && self.millis / MINUTE == moment.millis / MINUTE
    }

    /// As they are counted.
    pub(super) fn counted(&self) -> CountedCall<'_> {
        CountedCall {
            millis: self.millis,
            calls: u64::try_from(self.took.len()).unwrap_or(u64::MAX),
            is_caused: self.is_caused,
            server: self.names.shown_server.as_deref(),
            tool: self.names.shown_tool.as_deref(),
            method: &self.names.method,
            outcome: self.outcome,
            took: &self.took,
            client: self.names.client.as_deref(),
            caller: self.names.caller.as_deref(),
        }
    }
}

/// What calls have in common.
pub(super) struct CallKind {
    run: u64,
    caller: Arc<str>,
    client: Raw,
    endpoint: Option<CallEntrance>,
    variant: Option<&'static str>,
    decision: Option<GateDecision>,
    names: Arc<KindNames>,
    /// The record as JSON, without the brace at its end.
    json: Vec<u8>,
    /// Its last tally, and of which round that is.
    tally: Option<(u64, usize)>,
}

impl CallKind {
    fn is_of(&self, call: &SeenCall, tool: &str, run: u64) -> bool {
        self.run == run
            && self.decision == call.course.decision()
            && *self.names.tool == *tool
            && self.names.server == call.server
            && self.variant == call.variant
            && self.endpoint == call.endpoint
            && *self.names.method == *call.method
            && self.caller == call.caller
            && self.client == call.client
    }

    fn of(maker: &RecordMaker<'_>, call: &SeenCall, tool: &str, run: u64) -> Option<Self> {
        let mut shared = maker.shared_part(call);
        shared.run = run;
        let mut json = serde_json::to_vec(&shared).ok()?;
        let length = json.strip_suffix(NO_OUTCOME)?.len();
        json.truncate(length);
        let decision = call.course.decision();
        put(&mut json, "gate", decision.map(GateDecision::recorded))?;
        let names = KindNames {
            method: (*call.method).into(),
            server: call.server.clone(),
            tool: tool.into(),
            shown_server: shared.server,
            shown_tool: shared.tool,
            client: shared.client,
            caller: shared.caller,
        };
        Some(Self {
            run,
            caller: call.caller.clone(),
            client: call.client.detached(),
            endpoint: call.endpoint.clone(),
            variant: call.variant,
            decision,
            names: Arc::new(names),
            json,
            tally: None,
        })
    }

    /// The record of a call of this kind that ended with a result.
    pub(super) fn record(
        &self,
        maker: &RecordMaker<'_>,
        call: &SeenCall,
        moment: CallMoment,
    ) -> Option<NewRecord> {
        let CallEnd::Result { size, kept, .. } = &call.end else {
            return None;
        };
        let own = maker.own_part(call);
        let result = maker.result(kept.as_ref());
        let bodies = [("arguments", own.arguments), ("result", result)];
        let length = |body: &Option<Raw>| body.as_ref().map_or(0, |raw| raw.as_bytes().len());
        let of_bodies: usize = bodies.iter().map(|(_, body)| length(body)).sum();
        let mut json = Vec::with_capacity(USUAL.max(self.json.len()) + of_bodies);
        json.extend(&self.json);
        put_id(&mut json, "call", own.call)?;
        if let Some(parent) = own.parent {
            put_id(&mut json, "parent", parent)?;
        }
        put(&mut json, "data_sensitivity", own.data_sensitivity)?;
        put(&mut json, "reason", own.reason)?;
        put(&mut json, "outcome", Some(moment.outcome))?;
        put(&mut json, "duration_us", own.duration_us)?;
        put(&mut json, "request_bytes", own.request_bytes)?;
        put(&mut json, "spent", own.spent)?;
        put(&mut json, "answer_bytes", u64::try_from(*size).ok())?;
        for (name, body) in bodies {
            if let Some(body) = body {
                name_member(&mut json, name);
                json.extend(body.as_bytes());
            }
        }
        json.push(b'}');
        Some(NewRecord::written(moment.millis, self.run, json))
    }
}

impl KnownCalls {
    /// Notes a call of a tool that ended with a result, for the next tallies. Nothing of any other call, and of what cannot be remembered.
    pub(super) fn note(
        &mut self,
        maker: &RecordMaker<'_>,
        call: &SeenCall,
        moment: CallMoment,
    ) -> Option<&CallKind> {
        let ThingCalled::Tool(tool) = &call.thing else {
            return None;
        };
        let is_result = matches!(call.end, CallEnd::Result { .. });
        if !is_result || call.client.as_bytes().len() > LARGEST_CLIENT {
            return None;
        }
        let key = self.hasher.hash_one((tool, call.variant));
        let is_remembered = |kind: &CallKind| kind.is_of(call, tool, moment.run);
        if !self.kinds.get(&key).is_some_and(is_remembered) {
            if self.kinds.len() >= MOST {
                self.kinds.clear();
            }
            // In the place of one that is otherwise like this: of another client, say.
            let kind = CallKind::of(maker, call, tool, moment.run)?;
            self.kinds.insert(key, kind);
        }
        let kind = self.kinds.get_mut(&key)?;
        let last = kind
            .tally
            .filter(|(round, _)| *round == self.round)
            .and_then(|(_, at)| self.tallies.get_mut(at))
            .filter(|tally| tally.is_of(call, moment));
        let duration = call.ended - call.began;
        if let Some(tally) = last {
            tally.took.push(duration);
            tally.millis = tally.millis.max(moment.millis);
        } else {
            kind.tally = Some((self.round, self.tallies.len()));
            self.tallies.push(CallTally {
                names: kind.names.clone(),
                outcome: moment.outcome,
                is_caused: call.parent.is_some(),
                millis: moment.millis,
                took: vec![duration],
            });
        }
        Some(kind)
    }

    /// What was noted since this was asked last.
    pub(super) fn take_tallies(&mut self) -> Vec<CallTally> {
        self.round += 1;
        mem::take(&mut self.tallies)
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

/// Adds the number of a call.
fn put_id(json: &mut Vec<u8>, name: &str, id: u64) -> Option<()> {
    name_member(json, name);
    json.extend([b'"', CALL]);
    serde_json::to_writer(&mut *json, &id).ok()?;
    json.push(b'"');
    Some(())
}

fn name_member(json: &mut Vec<u8>, name: &str) {
    json.extend(b",\"");
    json.extend(name.as_bytes());
    json.extend(b"\":");
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, time::Instant};

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
        text::secret::Secrets,
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
                course: Arc::default(),
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

    /// How many calls there are of each kind, outcome and minute, and how long they took together.
    type Counted = BTreeMap<(Option<String>, String, &'static str, bool, u64), (usize, Duration)>;

    proptest! {
        #[test]
        fn each_call_is_counted_once(calls in vec((a_call(), 0_u64..3), 1..40), taken in 1_usize..10) {
            let redaction = Redaction::default();
            let settings = ActivitySettings::default();
            let maker = RecordMaker { redaction: &redaction, settings: &settings };
            let mut known = KnownCalls::default();
            let (mut expected, mut found) = (Counted::new(), Counted::new());
            for calls in calls.chunks(taken) {
                for (call, minute) in calls {
                    let moment = CallMoment { millis: minute * MINUTE, outcome: call.end.outcome(), run: 3 };
                    known.note(&maker, call, moment).expect("it ended with a result");
                    let ThingCalled::Tool(tool) = &call.thing else {
                        unreachable!("they are all of tools");
                    };
                    let server = call.server.as_deref().map(|server| redaction.name(server));
                    let key = (server, redaction.name(tool), moment.outcome, call.parent.is_some(), *minute);
                    let (count, sum) = expected.entry(key).or_default();
                    *count += 1;
                    *sum += call.ended - call.began;
                }
                for tally in known.take_tallies() {
                    let counted = tally.counted();
                    prop_assert_eq!(counted.calls, u64::try_from(counted.took.len()).expect("few"));
                    let server = counted.server.map(str::to_owned);
                    let tool = counted.tool.expect("they are all of tools").to_owned();
                    let key = (server, tool, tally.outcome, counted.is_caused, counted.millis / MINUTE);
                    let (count, sum) = found.entry(key).or_default();
                    *count += counted.took.len();
                    *sum += counted.took.iter().sum::<Duration>();
                }
            }
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn what_is_put_together_is_the_record(calls in vec(a_call(), 1..20), is_full in any::<bool>()) {
            let redaction = Redaction::new(Secrets::new(["hunter2-hunter2".to_owned()]));
            let settings = ActivitySettings {
                results: if is_full { Kept::Full } else { Kept::Off },
                ..ActivitySettings::default()
            };
            let maker = RecordMaker { redaction: &redaction, settings: &settings };
            let mut known = KnownCalls::default();
            for call in calls {
                let moment = CallMoment { millis: 5, outcome: call.end.outcome(), run: 3 };
                let kind = known.note(&maker, &call, moment).expect("it ended with a result");
                let new = kind.record(&maker, &call, moment).expect("it ended with a result");
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
    fn kinds_are_bounded_and_follow_who_calls() {
        let (redaction, settings) = (Redaction::default(), ActivitySettings::default());
        let maker = RecordMaker {
            redaction: &redaction,
            settings: &settings,
        };
        let mut known = KnownCalls::default();
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
                    course: Arc::default(),
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
                let moment = CallMoment {
                    millis: 5,
                    outcome: "ok",
                    run: 3,
                };
                let kind = known
                    .note(&maker, &call, moment)
                    .expect("it ended with a result");
                let new = kind
                    .record(&maker, &call, moment)
                    .expect("it ended with a result");
                let read: ActivityRecord = serde_json::from_slice(&new.json).expect("a record");
                assert_eq!(read.caller.as_deref(), Some(caller));
                assert!(known.kinds.len() <= MOST);
            }
        }
    }
}
