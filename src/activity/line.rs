//! Writes a log line for each record. Clients cause as many as they like, so when there are too many, lines are left out and counted; their
//! records are kept all the same.

use super::{ActivityRecord, call_kind::CallMoment, record::shown_call, seen_call::SeenCall};
use crate::failure::ErrorCode;

/// The target of these lines, by which they can be left out: `MCPPROXY_LOG=info,mcpproxy::activity=warn`.
pub(super) const TARGET: &str = "mcpproxy::activity";

/// Limit: lines in one second.
const A_SECOND: u32 = 100;

/// Writes lines.
#[derive(Debug, Default)]
pub(super) struct RecordLines {
    second: u64,
    written: u32,
    left_out: u64,
}

impl RecordLines {
    /// Writes the line of a record.
    pub(super) fn write(&mut self, record: &ActivityRecord, millis: u64) {
        if !is_logged(record) && self.count(millis) {
            let (id, parent) = (record.call.as_deref(), record.parent.as_deref());
            line_of(record, (id, parent), &record.outcome, record.duration_us);
        }
    }

    /// Writes the line of a call from the shared part of its record, without making the whole record.
    pub(super) fn write_call(
        &mut self,
        shared: &ActivityRecord,
        call: &SeenCall,
        moment: CallMoment,
    ) {
        if self.count(moment.millis) {
            let (id, parent) = (shown_call(call.id), call.parent.map(shown_call));
            let ids = (Some(&*id), parent.as_deref());
            line_of(shared, ids, moment.outcome, call.micros());
        }
    }

    /// Counts a line of this moment. False if it must be left out.
    fn count(&mut self, millis: u64) -> bool {
        let second = millis / 1_000;
        if second != self.second {
            self.second = second;
            self.written = 0;
            self.close();
        }
        let has_room = self.written < A_SECOND;
        self.written += u32::from(has_room);
        self.left_out += u64::from(!has_room);
        has_room
    }

    /// Logs how many lines were left out, if any were.
    pub(super) fn close(&mut self) {
        let left_out = std::mem::take(&mut self.left_out);
        if left_out > 0 {
            tracing::info!(target: TARGET, left_out, "further calls appear only in the activity log");
        }
    }
}

/// Whether other code logs the fact already: the daemon's start and end, events of servers, a reload of the configuration, and requests without
/// a known caller.
fn is_logged(record: &ActivityRecord) -> bool {
    let is_elsewhere = matches!(record.kind.as_str(), "daemon" | "server");
    let is_unknown = record.code.as_deref() == Some(ErrorCode::Unauthorized.as_str());
    is_elsewhere || is_unknown || record.action.as_deref() == Some("reload")
}

fn line_of(
    record: &ActivityRecord,
    (id, parent): (Option<&str>, Option<&str>),
    outcome: &str,
    duration_us: Option<u64>,
) {
    let kind = record.kind.as_str();
    let (caller, method) = (record.caller.as_deref(), record.method.as_deref());
    let (client, endpoint) = (record.client.as_deref(), record.endpoint.as_deref());
    let (server, tool) = (record.server.as_deref(), record.tool.as_deref());
    let (prompt, resource) = (record.prompt.as_deref(), record.resource.as_deref());
    let task = record.task.as_deref();
    let (code, times) = (record.code.as_deref(), record.times);
    match (kind, outcome) {
        ("change", _) => {
            let (action, error) = (record.action.as_deref(), record.error.as_deref());
            let detail = record.detail.as_deref();
            tracing::info!(target: TARGET, kind, caller, action, server, detail, outcome, error, "a change ended");
        }
        (_, "refused") => {
            tracing::info!(target: TARGET, kind, id, parent, caller, client, endpoint, method, server, tool, prompt, resource, task, outcome, code, duration_us, times, "request refused");
        }
        _ => {
            tracing::info!(target: TARGET, kind, id, parent, caller, client, endpoint, method, server, tool, prompt, resource, task, outcome, code, duration_us, "a call ended");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_has_so_many_lines_a_second_and_the_others_are_counted() {
        let mut lines = RecordLines::default();
        let record = ActivityRecord {
            kind: "call".to_owned(),
            ..ActivityRecord::default()
        };
        for _ in 0..150 {
            lines.write(&record, 5_000);
        }
        assert_eq!((lines.written, lines.left_out), (100, 50));
        lines.write(&record, 6_000);
        assert_eq!((lines.written, lines.left_out), (1, 0));
        let said = ActivityRecord {
            kind: "daemon".to_owned(),
            ..record
        };
        lines.write(&said, 6_000);
        assert_eq!(lines.written, 1);
    }
}
