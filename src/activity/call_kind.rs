//! A kind of tool calls, which differ only in their number, their time and what was sent. Writes the record of one as the JSON that
//! [`RecordMaker`] would come to, at a fraction of the work.

use std::sync::Arc;

use serde::Serialize;

use super::{
    block::{NewRecord, USUAL},
    course::{GateDecision, TimeSpent},
    outcome::is_failure,
    record::{ActivityRecord, CALL, RecordMaker, masked_in},
    seen_call::{CallEnd, CallEntrance, SeenCall},
};
use crate::wire::Raw;

/// What stands at the end of a record of which nothing but the head is known.
const NO_OUTCOME: &[u8] = br#","outcome":""}"#;

/// When and how a call ended, and which run of the daemon the file counts.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallMoment {
    pub(super) millis: u64,
    pub(super) outcome: &'static str,
    pub(super) run: u64,
}

/// Names as they are, by which calls are alike, and as they are shown and counted.
#[derive(Debug)]
pub(super) struct KindNames {
    pub(super) method: Box<str>,
    server: Option<Box<str>>,
    tool: Box<str>,
    /// What the records have in common.
    pub(super) shown: ActivityRecord,
}

/// What calls have in common.
pub(super) struct CallKind {
    run: u64,
    caller: Arc<str>,
    client: Raw,
    endpoint: Option<CallEntrance>,
    variant: Option<&'static str>,
    decision: Option<GateDecision>,
    pub(super) names: Arc<KindNames>,
    /// The record as JSON, without the brace at its end.
    json: Vec<u8>,
}

impl CallKind {
    /// Whether a call of this tool is of this kind, in this run.
    pub(super) fn is_of(&self, call: &SeenCall, tool: &str, run: u64) -> bool {
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

    /// The kind of this call.
    pub(super) fn of(
        maker: &RecordMaker<'_>,
        call: &SeenCall,
        tool: &str,
        run: u64,
    ) -> Option<Self> {
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
            shown: shared,
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
        let in_result = masked_in(kept.as_ref(), result.as_ref());
        let own_masked = own.masked;
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
        let complaint = is_failure(moment.outcome).then(|| maker.complaint(call));
        let (error, in_error) = complaint.flatten().unzip();
        put(&mut json, "error", error)?;
        put(&mut json, "duration_us", own.duration_us)?;
        put(&mut json, "request_bytes", own.request_bytes)?;
        if let Some(spent) = own.spent {
            put_spent(&mut json, &spent)?;
        }
        put(&mut json, "answer_bytes", u64::try_from(*size).ok())?;
        let masked = own_masked + in_result.max(in_error.unwrap_or(0));
        put(&mut json, "masked", (masked > 0).then_some(masked))?;
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

/// Adds where the time of a call went.
fn put_spent(json: &mut Vec<u8>, spent: &TimeSpent) -> Option<()> {
    name_member(json, "spent");
    let begins = json.len();
    put(json, "gate_us", Some(spent.gate_us))?;
    put(json, "waiting_us", Some(spent.waiting_us))?;
    put(json, "server_us", Some(spent.server_us))?;
    put(
        json,
        "client_us",
        Some(spent.client_us).filter(|us| *us > 0),
    )?;
    // In place of the comma before the first.
    *json.get_mut(begins)? = b'{';
    json.push(b'}');
    Some(())
}

fn name_member(json: &mut Vec<u8>, name: &str) {
    json.extend(b",\"");
    json.extend(name.as_bytes());
    json.extend(b"\":");
}
