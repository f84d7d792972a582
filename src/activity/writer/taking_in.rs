//! Processes events: counts each, logs it, exports the spans of calls, and makes the record that waits to be written.

use std::time::SystemTime;

use super::{
    super::{
        ActivityEvent, ActivityRecord, EventKind, block::NewRecord, call_kind::CallMoment,
        counting, queue::Waiting, record::RecordMaker, seen_call::SeenCall, span,
    },
    RecordWriter,
};
use crate::text::moment;

impl RecordWriter {
    /// Processes the events that waited.
    pub(in crate::activity) fn take_in(&mut self, waiting: &Waiting) {
        if waiting.shed > 0 {
            // The figures lack the dropped calls.
            self.shared.figures.lock().lost = moment::millis(SystemTime::now());
        }
        self.miss(waiting.shed);
        for event in &waiting.events {
            self.take_event(event);
        }
        counting::count_tallies(&self.shared, &self.known.take_tallies());
    }

    pub(super) fn take_event(&mut self, event: &ActivityEvent) {
        let millis = moment::millis(event.time);
        match &event.what {
            EventKind::Call(call) => self.take_call(event, call, millis),
            EventKind::Refusal(_) | EventKind::Change(_) | EventKind::Server(_) => {
                event.count(&self.shared.metrics);
                self.take_whole(event, millis);
            }
        }
    }

    fn take_call(&mut self, event: &ActivityEvent, call: &SeenCall, millis: u64) {
        let moment = CallMoment {
            millis,
            outcome: call.end.outcome(),
            run: self.run_of_file(),
        };
        let maker = RecordMaker {
            redaction: &self.redaction,
            settings: &self.settings.activity,
        };
        let kind = self.known.tally(&maker, call, moment);
        if kind.is_none() {
            counting::count_call(&self.shared, &self.redaction, call, moment);
        }
        match kind {
            // The export of spans needs the whole record.
            Some(kind) if call.trace.is_none() => {
                self.lines.write_call(&kind.shown.record, call, moment);
                if self.settings.activity.is_wanted() {
                    let new = kind.record(&maker, call, millis);
                    self.keep_json(new);
                }
            }
            _ => self.take_whole(event, millis),
        }
    }

    fn take_whole(&mut self, event: &ActivityEvent, millis: u64) {
        let maker = RecordMaker {
            redaction: &self.redaction,
            settings: &self.settings.activity,
        };
        let record = maker.record(event);
        span::export(event, &record, &self.redaction, &self.shared.spans);
        self.lines.write(&record, millis);
        self.keep(millis, record);
    }

    pub(super) fn keep(&mut self, millis: u64, record: ActivityRecord) {
        if self.settings.activity.is_wanted() {
            let run = self.run_of_file();
            self.keep_json(NewRecord::of(millis, ActivityRecord { run, ..record }));
        }
    }
}
