//! What is counted of calls that end, and of those that the file has of the last 24 hours, once after a start.

use std::time::SystemTime;

use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use super::{
    Shared,
    event::{ActivityEvent, EventKind},
    figures::FigurePeriod,
    figures_cell::CountedCall,
    redaction::Redaction,
    seen_call::ThingCalled,
    store::{ActivityStore, LookedBack},
    time,
};

/// Limit: records that are read.
const MOST: usize = 500_000;

/// Records that are read at once: neither the writer nor a reader waits for more.
const AT_ONCE: usize = 2_000;

/// What is counted of a record.
#[derive(Default, Deserialize)]
#[serde(default)]
struct CountedRecord {
    kind: String,
    parent: Option<String>,
    caller: Option<String>,
    client: Option<String>,
    server: Option<String>,
    tool: Option<String>,
    outcome: String,
    duration_us: Option<u64>,
}

impl CountedRecord {
    fn counted(&self, millis: u64) -> CountedCall<'_> {
        CountedCall {
            millis,
            is_caused: self.parent.is_some(),
            server: self.server.as_deref(),
            tool: self.tool.as_deref(),
            outcome: &self.outcome,
            took_us: self.duration_us,
            client: self.client.as_deref(),
            caller: self.caller.as_deref(),
        }
    }
}

/// Counts a call.
pub(super) fn count_event(shared: &Shared, redaction: &Redaction, event: &ActivityEvent) {
    let EventKind::Call(call) = &event.what else {
        return;
    };
    let name = |name: &str| redaction.name(name);
    let server = call.server.as_deref().map(name);
    let tool = match &call.thing {
        ThingCalled::Tool(tool) => Some(name(tool)),
        _ => None,
    };
    let (client, caller) = (redaction.client(&call.client), name(&call.caller));
    let counted = CountedCall {
        millis: time::millis(event.time),
        is_caused: call.parent.is_some(),
        server: server.as_deref(),
        tool: tool.as_deref(),
        outcome: call.end.outcome(),
        took_us: u64::try_from((call.ended - call.began).as_micros()).ok(),
        client: client.as_deref(),
        caller: Some(&caller),
    };
    let now = time::millis(SystemTime::now());
    shared.figures.lock().running.add(counted, now);
}

/// Counts what was there before this run. Blocks; stops when it is told to.
pub(super) fn count_file(shared: &Shared, store: &ActivityStore, ending: &CancellationToken) {
    let now = time::millis(SystemTime::now());
    let oldest = FigurePeriod::Day.from(now);
    let (mut before, mut read) = (store.first_of_run(), 0);
    while !ending.is_cancelled() {
        let mut found: Vec<(u64, CountedRecord)> = Vec::new();
        let mut earliest = now;
        let looked = store.look_back((before, AT_ONCE, oldest), |millis, json| {
            read += 1;
            earliest = earliest.min(millis);
            found.extend(
                serde_json::from_slice(json)
                    .ok()
                    .map(|record| (millis, record)),
            );
        });
        let looked = match looked {
            Ok(looked) => looked,
            Err(error) => {
                tracing::debug!(%error, "what the file of the activity log has is not counted");
                return;
            }
        };
        let mut figures = shared.figures.lock();
        for (millis, record) in found.iter().filter(|(_, record)| record.kind == "call") {
            figures.running.add(record.counted(*millis), now);
        }
        let whole_since = match looked {
            LookedBack::To(first) if read < MOST => {
                before = first;
                continue;
            }
            // What was before has been removed.
            LookedBack::ToTheFirst(first) if first > 1 => earliest,
            LookedBack::To(_) => earliest,
            LookedBack::ToOlder | LookedBack::ToTheFirst(_) => oldest,
        };
        figures.whole_since = figures.whole_since.min(whole_since);
        return;
    }
}
