//! Remembers kinds of tool calls, so that the shared part of a repeated call is neither redacted nor written as JSON again.

use std::hash::BuildHasher;

use super::{
    call_kind::{CallKind, CallMoment},
    call_tallies::{CallTallies, CallTally, TallyPlace},
    record::RecordMaker,
    seen_call::{CallEnd, SeenCall},
};
use crate::{
    runtime::quick_map::{QuickHash, QuickMap},
    wire::Thing,
};

/// Limit: kinds that are remembered, and bytes of a client's implementation in one.
const MOST: usize = 1_024;
const LARGEST_CLIENT: usize = 512;

/// The remembered kinds. They are valid for one redaction.
#[derive(Default)]
pub(super) struct KnownCalls {
    kinds: QuickMap<u64, KnownKind>,
    hasher: QuickHash,
    tallies: CallTallies,
}

struct KnownKind {
    kind: CallKind,
    last_tally: Option<TallyPlace>,
}

impl KnownCalls {
    /// Counts a tool call that ended with a result, and gives its kind. `None`, and not counted, for all other calls, and for calls that cannot be
    /// remembered.
    pub(super) fn tally(
        &mut self,
        maker: &RecordMaker<'_>,
        call: &SeenCall,
        moment: CallMoment,
    ) -> Option<&CallKind> {
        let Thing::Tool(tool) = &call.thing else {
            return None;
        };
        let is_result = matches!(call.end, CallEnd::Result { .. });
        if !is_result || call.client.as_bytes().len() > LARGEST_CLIENT {
            return None;
        }
        let key = self.hasher.hash_one((tool, call.variant));
        let is_remembered = |known: &KnownKind| known.kind.has(call, tool, moment.run);
        if !self.kinds.get(&key).is_some_and(is_remembered) {
            if self.kinds.len() >= MOST {
                self.kinds.clear();
            }
            // Replaces a kind with the same key, such as that of another client.
            let known = KnownKind {
                kind: CallKind::of(maker, call, tool, moment.run)?,
                last_tally: None,
            };
            self.kinds.insert(key, known);
        }
        let KnownKind { kind, last_tally } = self.kinds.get_mut(&key)?;
        *last_tally = Some(self.tallies.add(&kind.shown, *last_tally, call, moment));
        Some(kind)
    }

    /// Takes all tallies.
    pub(super) fn take_tallies(&mut self) -> Vec<CallTally> {
        self.tallies.take()
    }
}

#[cfg(test)]
mod tests {
    use std::{
        collections::BTreeMap,
        sync::Arc,
        time::{Duration, Instant},
    };

    use proptest::{collection::vec, option, prelude::*, sample::select};

    use super::*;
    use crate::{
        activity::{
            ActivityRecord, CallStage, StatedIntent,
            copies::well_known,
            event::{ActivityEvent, EventKind},
            redaction::Redaction,
            seen_call::{CallEnd, CallEntrance, SeenBody},
        },
        config::{ActivitySettings, Kept},
        text::{moment::MINUTE, secret::Secrets},
        wire::Raw,
    };

    fn raw(text: &str) -> Raw {
        Raw::parse_str(text).expect("JSON")
    }

    /// A call of this tool, with nothing else to it.
    fn plain_call(tool: &str) -> SeenCall {
        let began = Instant::now();
        SeenCall {
            id: 1,
            parent: None,
            caller: "ada".into(),
            client: Raw::empty_object(),
            endpoint: None,
            method: well_known("tools/call"),
            server: None,
            thing: Thing::Tool(tool.to_owned().into()),
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
                outcome: "ok",
                kept: None,
            },
        }
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
            let plain = plain_call(tool);
            if micros % 3 > 0 {
                plain.course.enter(CallStage::AtServer);
            }
            if micros % 3 > 1 {
                plain.course.enter(CallStage::AtClient);
            }
            SeenCall {
                id,
                parent,
                caller: caller.into(),
                client: raw(&format!(r#"{{"name":"{micros}","version":"1"}}"#)),
                endpoint: has_endpoint.then_some(CallEntrance::Path("/mcp")),
                server: owner.map(Into::into),
                variant,
                intent: reason.map(|reason| StatedIntent {
                    data_sensitivity: None,
                    reason: Some(reason.to_owned()),
                }),
                body: SeenBody::Params(raw(&format!(r#"{{"name":"x","arguments":{arguments}}}"#))),
                request_bytes: arguments.len(),
                ended: plain.began + Duration::from_micros(micros),
                end: CallEnd::Result {
                    size: result.len(),
                    outcome: "ok",
                    kept: Some(raw(result)),
                },
                ..plain
            }
        })
    }

    /// How many calls there are of each kind, outcome and minute, and how long they took together.
    type Counted = BTreeMap<(Option<String>, String, String, bool, u64), (usize, Duration)>;

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
                    known.tally(&maker, call, moment).expect("it ended with a result");
                    let Thing::Tool(tool) = &call.thing else {
                        unreachable!("they are all of tools");
                    };
                    let server = call.server.as_deref().map(|server| redaction.name(server));
                    let key = (server, redaction.name(tool), moment.outcome.to_owned(), call.parent.is_some(), *minute);
                    let (count, sum) = expected.entry(key).or_default();
                    *count += 1;
                    *sum += call.ended - call.began;
                }
                for tally in known.take_tallies() {
                    let counted = tally.counted();
                    prop_assert_eq!(counted.calls, u64::try_from(counted.took.len()).expect("few"));
                    let server = counted.server.map(str::to_owned);
                    let tool = counted.tool.expect("they are all of tools").to_owned();
                    let key = (server, tool, counted.outcome.to_owned(), counted.is_caused, counted.millis / MINUTE);
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
                let kind = known.tally(&maker, &call, moment).expect("it ended with a result");
                let new = kind.record(&maker, &call, moment.millis).expect("it ended with a result");
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
        for number in 0..2 * MOST {
            for caller in ["ada", "ben"] {
                let call = SeenCall {
                    caller: caller.into(),
                    ..plain_call(&format!("t{number}"))
                };
                let moment = CallMoment {
                    millis: 5,
                    outcome: "ok",
                    run: 3,
                };
                let kind = known
                    .tally(&maker, &call, moment)
                    .expect("it ended with a result");
                let new = kind
                    .record(&maker, &call, moment.millis)
                    .expect("it ended with a result");
                let read: ActivityRecord = serde_json::from_slice(&new.json).expect("a record");
                assert_eq!(read.caller.as_deref(), Some(caller));
                assert!(known.kinds.len() <= MOST);
            }
        }
    }
}
