//! Counts calls for the metrics and the figures: each when it ends, and after a start also those of the last 24 hours that the file has.

use std::time::{Duration, SystemTime};

use serde::{Deserialize, Deserializer};
use tokio_util::sync::CancellationToken;

use super::{
    ActivityStore, FigurePeriod, Redaction, Shared,
    call_kind::CallMoment,
    call_tallies::CallTally,
    failures::StoreError,
    outcome::is_failure,
    seen_call::{SeenCall, if_known},
    store::LookedBack,
};
use crate::{telemetry::metrics::CountedCall, text::moment, wire::Thing};

/// Limit: records that are read back in all.
const MOST: usize = 500_000;

/// Limit: records that are read in one go, which the writer and readers may have to wait for.
const AT_ONCE: usize = 2_000;

/// The members of a record that are counted.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct CountedRecord {
    pub(super) kind: String,
    pub(super) parent: Option<String>,
    pub(super) caller: Option<String>,
    pub(super) client: Option<String>,
    pub(super) server: Option<String>,
    pub(super) tool: Option<String>,
    outcome: String,
    code: Option<String>,
    pub(super) answer_bytes: Option<u64>,
    #[serde(rename = "duration_us", deserialize_with = "micros")]
    took: Option<Duration>,
}

impl CountedRecord {
    pub(super) fn counted(&self, millis: u64) -> CountedCall<'_> {
        CountedCall {
            millis,
            is_caused: self.parent.is_some(),
            server: self.known_server(),
            tool: self.tool.as_deref(),
            method: "",
            outcome: &self.outcome,
            calls: 1,
            took: self.took.as_slice(),
            client: self.client.as_deref(),
            caller: self.caller.as_deref(),
        }
    }

    /// The server, if there was one of this name.
    pub(super) fn known_server(&self) -> Option<&str> {
        if_known(self.server.as_deref(), self.code.as_deref())
    }

    pub(super) fn has_failed(&self) -> bool {
        is_failure(&self.outcome)
    }
}

fn micros<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
    let micros = Option::<u64>::deserialize(from)?;
    Ok(micros.map(Duration::from_micros))
}

/// Counts a call that is in no tally.
pub(super) fn count_call(
    shared: &Shared,
    redaction: &Redaction,
    call: &SeenCall,
    moment: CallMoment,
) {
    let redacted = |name: &str| redaction.name(name);
    let tool = match &call.thing {
        Thing::Tool(tool) => Some(redacted(tool)),
        _ => None,
    };
    let server = call.known_server().map(redacted);
    let (client, caller) = (redaction.client(&call.client), redacted(&call.caller));
    count(
        shared,
        [CountedCall {
            millis: moment.millis,
            calls: 1,
            is_caused: call.parent.is_some(),
            server: server.as_deref(),
            tool: tool.as_deref(),
            method: &call.method,
            outcome: moment.outcome,
            took: &[call.ended - call.began],
            client: client.as_deref(),
            caller: Some(&caller),
        }],
    );
}

/// Counts the calls of tallies.
pub(super) fn count_tallies(shared: &Shared, tallies: &[CallTally]) {
    if !tallies.is_empty() {
        count(shared, tallies.iter().map(CallTally::counted));
    }
}

/// Counts calls in the metrics and in the figures.
fn count<'a>(shared: &Shared, calls: impl IntoIterator<Item = CountedCall<'a>>) {
    let now = moment::millis(SystemTime::now());
    let mut figures = shared.figures.lock();
    for call in calls {
        shared.metrics.count_call(call);
        figures.running.add(call, now);
    }
}

/// Counts the calls of earlier runs that the file has, in the figures. Blocks; stops when `ending` is cancelled.
pub(super) fn count_file(shared: &Shared, store: &ActivityStore, ending: &CancellationToken) {
    let now = moment::millis(SystemTime::now());
    let oldest = FigurePeriod::Day.from(now);
    let see = |millis, record: &CountedRecord| {
        if record.kind == "call" {
            let mut figures = shared.figures.lock();
            figures.running.add(record.counted(millis), now);
        }
    };
    let range = (store.first_of_run(), oldest);
    let whole_since = match read_back(store, range, || ending.is_cancelled(), see) {
        // Earlier records were not read, or have been removed.
        Ok((earliest, LookedBack::To(_) | LookedBack::ToTheFirst(2..))) => earliest,
        Ok((_, LookedBack::ToOlder | LookedBack::ToTheFirst(_))) => oldest,
        Err(error) => {
            tracing::debug!(%error, "activity log not counted");
            return;
        }
    };
    let mut figures = shared.figures.lock();
    figures.whole_since = figures.whole_since.min(whole_since);
}

/// Reads records before a number, newest first: not beyond a moment, not more than [`MOST`], and until `is_stopped`. Gives the time of the
/// earliest that was read, and why reading ended.
pub(super) fn read_back(
    store: &ActivityStore,
    (mut before, oldest): (u64, u64),
    is_stopped: impl Fn() -> bool,
    mut see: impl FnMut(u64, &CountedRecord),
) -> Result<(u64, LookedBack), StoreError> {
    let (mut seen, mut earliest) = (0, moment::millis(SystemTime::now()));
    loop {
        let looked = store.look_back((before, AT_ONCE, oldest), |millis, json| {
            seen += 1;
            earliest = earliest.min(millis);
            if let Ok(record) = serde_json::from_slice(json) {
                see(millis, &record);
            }
        })?;
        match looked {
            LookedBack::To(first) if seen < MOST && !is_stopped() => before = first,
            end => return Ok((earliest, end)),
        }
    }
}
