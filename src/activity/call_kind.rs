//! A kind of tool calls, which differ only in their number, their time and what was sent. Writes the record of one as the JSON that
//! [`RecordMaker`] would come to, at a fraction of the work.

use std::sync::Arc;

use super::{
    block::NewRecord,
    record::{ActivityRecord, RecordMaker},
    seen_call::{CallEntrance, SeenCall},
};
use crate::wire::Raw;

/// What stands at the beginning of a record of which nothing is known that it has in common with others.
const NOTHING_SHARED: &[u8] = br#"{"id":0,"kind":"","run":0"#;

/// What stands at the end of a record of which nothing else is known.
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
    pub(super) names: Arc<KindNames>,
    /// The record as JSON, without what stands at its end.
    json: Vec<u8>,
}

impl CallKind {
    /// Whether a call of this tool is of this kind, in this run.
    pub(super) fn is_of(&self, call: &SeenCall, tool: &str, run: u64) -> bool {
        self.run == run
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
            names: Arc::new(names),
            json,
        })
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
