//! A kind of tool calls: calls that differ only in their id, their time and what was sent. Writes the record of such a call as the same JSON
//! that [`RecordMaker`] would give, at a fraction of the work.

use std::sync::Arc;

use super::{
    block::NewRecord,
    record::{ActivityRecord, RecordMaker},
    seen_call::{CallEntrance, SeenCall},
};
use crate::wire::Raw;

/// The JSON of an empty record in two parts. Members that all calls of a kind share stand between them; members of a single call stand there,
/// too, or after the second. A test here checks that serde writes members in this order, and those of `known_calls` check the whole records.
const NOTHING_SHARED: &[u8] = br#"{"id":0,"kind":"","run":0"#;
const NO_OUTCOME: &[u8] = br#","outcome":""}"#;

/// When and how a call ended, and the run of the daemon, as the file counts it.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallMoment {
    pub(super) millis: u64,
    pub(super) outcome: &'static str,
    pub(super) run: u64,
}

/// A kind of calls as it is shown and counted.
#[derive(Debug)]
pub(super) struct ShownKind {
    /// The method, not redacted, for the metrics.
    pub(super) method: Box<str>,
    /// The part that all records of the kind share, redacted.
    pub(super) record: ActivityRecord,
}

/// A kind of calls, with the members that are equal in all of them. Not redacted, because two different values may be redacted alike.
pub(super) struct CallKind {
    run: u64,
    caller: Arc<str>,
    client: Raw,
    endpoint: Option<CallEntrance>,
    variant: Option<&'static str>,
    server: Option<Box<str>>,
    tool: Box<str>,
    pub(super) shown: Arc<ShownKind>,
    /// The shared part of the records as JSON, without [`NO_OUTCOME`].
    json: Vec<u8>,
}

impl CallKind {
    /// The kind of this call.
    pub(super) fn of(
        maker: &RecordMaker<'_>,
        call: &SeenCall,
        tool: &str,
        run: u64,
    ) -> Option<Self> {
        let mut record = maker.shared_part(call);
        record.run = run;
        let mut json = serde_json::to_vec(&record).ok()?;
        let length = json.strip_suffix(NO_OUTCOME)?.len();
        json.truncate(length);
        let method = (*call.method).into();
        Some(Self {
            run,
            caller: call.caller.clone(),
            client: call.client.detached(),
            endpoint: call.endpoint.clone(),
            variant: call.variant,
            server: call.server.clone(),
            tool: tool.into(),
            shown: Arc::new(ShownKind { method, record }),
            json,
        })
    }

    /// Whether a call of this tool in this run is of this kind.
    pub(super) fn has(&self, call: &SeenCall, tool: &str, run: u64) -> bool {
        self.run == run
            && *self.tool == *tool
            && self.server == call.server
            && self.variant == call.variant
            && self.endpoint == call.endpoint
            && *self.shown.method == *call.method
            && self.caller == call.caller
            && self.client == call.client
    }

    /// The record of a call of this kind that ended at this moment.
    pub(super) fn record(
        &self,
        maker: &RecordMaker<'_>,
        call: &SeenCall,
        millis: u64,
    ) -> Option<NewRecord> {
        let mut own = ActivityRecord::default();
        maker.put_own_part(&mut own, call);
        let own = NewRecord::of(millis, own)?;
        let json = [&*self.json, own.json.strip_prefix(NOTHING_SHARED)?].concat();
        Some(NewRecord::written(millis, self.run, json))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_are_a_record_of_which_nothing_is_known() {
        let empty = serde_json::to_vec(&ActivityRecord::default()).expect("JSON");
        assert_eq!([NOTHING_SHARED, NO_OUTCOME].concat(), empty);
    }
}
