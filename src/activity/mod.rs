//! The activity log: a record of every call, refusal and change, on disk. Events are given to [`Activity`], which never waits; one task makes
//! records of them and writes these. The log decides nothing, and nothing waits for it.
//!
//! The only door to redb.

mod block;
mod bounds;
mod call_kind;
mod call_tallies;
mod copies;
mod counting;
mod course;
mod difference;
mod event;
mod export;
mod failures;
mod figures;
mod figures_cell;
mod known_calls;
mod line;
mod open_call;
mod outcome;
mod query;
mod queue;
mod reading;
mod record;
mod redaction;
mod seen_call;
mod span;
mod store;
mod task;
#[cfg(test)]
mod tests;
mod usage;
mod walk;
mod writer;

use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, SystemTime},
};

use serde::{Deserialize, Serialize};
use tokio::{
    sync::{Notify, mpsc, oneshot, watch},
    time::timeout,
};

pub use self::{
    course::{
        CallCourse, CallStage, CallWait, DecidedAccess, GateDecision, RecordedDecision, TimeSpent,
    },
    event::{OperatorChange, RefusedNotice, ServerStep, TouchedThing},
    export::ExportFormat,
    figures::{CallFigures, FigurePeriod, WantedFigures, program},
    open_call::{CallBody, NewCall, OpenCall},
    query::{BadQuery, PAGE, RecordQuery},
    reading::{ActivityReader, UnreadableActivity},
    record::ActivityRecord,
    redaction::Redaction,
    seen_call::{CallEntrance, StatedIntent},
    store::RecordPage,
    task::ActivityTask,
    usage::{
        ClientUsage, DefinitionUsage, NamedUsage, ToolUsage, UsageQuery, UsageReport, UsageSums,
    },
};
use self::{
    event::{ActivityEvent, EventKind, MOST_THINGS, ServerNews},
    figures::RunningFigures,
    queue::{ActivityQueue, Alarm},
    store::ActivityStore,
};
use crate::{
    config::{ActivitySettings, Kept, Settings},
    failure::ErrorCode,
    runtime::sync::Guarded,
    telemetry::{
        log_throttle::{COUNTED_APART, LogThrottles},
        metrics::Metrics,
        spans::Spans,
    },
    text::moment,
    wire::Raw,
};

/// How long a reader waits until all events so far are written. Then it reads what there is.
const FLUSH: Duration = Duration::from_secs(5);

/// Limit: readers that wait for that at once.
const MOST_FLUSHES: usize = 64;

/// Takes events for the log. Cheap to clone; clones share one log.
#[derive(Debug, Clone)]
pub struct Activity(Arc<Shared>);

/// The state of the activity log.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default)]
pub struct ActivityStatus {
    /// The number of records in the file.
    pub records: u64,
    /// The size of the file in bytes.
    pub size_bytes: u64,
    /// The number of records of this run that were not kept.
    pub not_kept: u64,
    /// Why mcpproxy cannot write records.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// What to do about that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_step: Option<String>,
    /// The last damaged file, under its new name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub set_aside: Option<String>,
    /// When a new file was begun because the old one was removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub begun_anew: Option<String>,
}

#[derive(Debug)]
struct Shared {
    queue: Guarded<ActivityQueue>,
    /// Wakes the task when an event waits.
    something: Notify,
    /// Wakes the task when so many events wait that it must not wait for more.
    much: Notify,
    /// Counts refusals of callers who send too many requests.
    hasty: LogThrottles,
    /// The file while it is open.
    store: Guarded<Option<Arc<ActivityStore>>>,
    status: Guarded<ActivityStatus>,
    figures: Guarded<FiguresSince>,
    /// The settings in force, for their secrets and for what is kept.
    settings: watch::Receiver<Arc<Settings>>,
    flushes: mpsc::Sender<oneshot::Sender<()>>,
    metrics: Metrics,
    spans: Spans,
}

/// The running figures, and the times for which they are complete, in milliseconds since 1970.
#[derive(Debug)]
struct FiguresSince {
    running: RunningFigures,
    /// All calls since then are counted.
    whole_since: u64,
    /// When the last uncounted calls were dropped; 0 if none were.
    lost: u64,
}

impl Shared {
    fn publish(&self, store: Option<Arc<ActivityStore>>) {
        *self.store.lock() = store;
    }
}

impl Activity {
    /// The log in a data folder, and the task that writes it.
    pub fn new(
        data_dir: PathBuf,
        settings: watch::Receiver<Arc<Settings>>,
    ) -> (Self, ActivityTask) {
        let (flushes, flush_requests) = mpsc::channel(MOST_FLUSHES);
        let figures = FiguresSince {
            running: RunningFigures::default(),
            whole_since: moment::millis(SystemTime::now()),
            lost: 0,
        };
        let shared = Shared {
            queue: Guarded::default(),
            something: Notify::new(),
            much: Notify::new(),
            hasty: LogThrottles::default(),
            store: Guarded::default(),
            status: Guarded::default(),
            figures: Guarded::new(figures),
            settings: settings.clone(),
            flushes,
            metrics: Metrics::default(),
            spans: Spans::default(),
        };
        let shared = Arc::new(shared);
        let task = ActivityTask {
            shared: shared.clone(),
            data_dir,
            settings,
            flushes: flush_requests,
            writer: None,
            counting: None,
        };
        (Self(shared), task)
    }

    /// A log that keeps nothing, for code that is used without a daemon.
    pub fn none() -> Self {
        let (_, settings) = watch::channel(Arc::default());
        let (activity, _) = Self::new(PathBuf::new(), settings);
        activity.0.queue.lock().close();
        activity
    }

    /// Begins a call. Its record is made when it ends, however it ends.
    pub fn begin(&self, call: NewCall<'_>) -> OpenCall {
        OpenCall::new(self.clone(), call)
    }

    /// Notes a request that was refused before it became a call.
    pub fn note_refusal(&self, mut refusal: RefusedNotice) {
        refusal.method = refusal.method.map(|method| copies::bounded(&method).into());
        self.note(EventKind::Refusal(Box::new(refusal)));
    }

    /// Notes a change of a server by the operator, with its error if it failed.
    pub fn note_change(&self, action: &'static str, server: &str, error: Option<String>) {
        self.note_operator(OperatorChange {
            error,
            ..OperatorChange::by_operator(action, server)
        });
    }

    /// Notes a change with all its details.
    pub fn note_operator(&self, change: OperatorChange) {
        self.note(EventKind::Change(Box::new(change)));
    }

    /// Notes that definitions of a server are held from now on.
    pub fn note_held(&self, server: &str, mut things: impl Iterator<Item = TouchedThing>) {
        let named: Vec<TouchedThing> = things.by_ref().take(MOST_THINGS).collect();
        if named.is_empty() {
            return;
        }
        self.note(EventKind::Server(Box::new(ServerNews {
            server: server.into(),
            action: "held",
            things: named,
            more: things.count(),
            step: ServerStep::default(),
        })));
    }

    /// Notes a request of a caller who sends too many: at most one record a minute for each caller, and one for those who are not counted apart.
    pub fn note_too_often(&self, caller: &Arc<str>, method: &str) {
        let Some((whose, times)) = self.0.hasty.due(caller) else {
            return;
        };
        let what = "too many requests in a short time";
        let error = match whose {
            Some(_) => what.to_owned(),
            None => format!("{what}, from several callers: only {COUNTED_APART} are counted apart"),
        };
        self.note_refusal(RefusedNotice {
            caller: whose.map(|_| caller.clone()),
            method: Some(method.into()),
            code: Some(ErrorCode::RateLimited),
            error,
            times: Some(times),
            ..RefusedNotice::default()
        });
    }

    /// Notes requests without a known caller. Must be called at a bounded rate.
    pub fn note_unknown(&self, path: &str, why: String, times: u64) {
        self.note_refusal(RefusedNotice {
            path: Some(path.into()),
            code: Some(ErrorCode::Unauthorized),
            error: why,
            times: Some(times),
            ..RefusedNotice::default()
        });
    }

    /// Notes an event of a server: `ready`, `failed`, `lost`, `asleep`.
    pub fn note_server(&self, action: &'static str, server: &str, step: ServerStep) {
        self.note(EventKind::Server(Box::new(ServerNews {
            server: server.into(),
            action,
            things: Vec::new(),
            more: 0,
            step,
        })));
    }

    /// The metrics, which count events a moment after they were noted.
    pub fn metrics(&self) -> &Metrics {
        &self.0.metrics
    }

    /// The exporter of spans, which gets those of calls a moment after they ended.
    pub fn spans(&self) -> &Spans {
        &self.0.spans
    }

    /// The figures of an hour or a day, with all calls that ended until now.
    pub async fn figures(&self, period: FigurePeriod, wanted: WantedFigures) -> CallFigures {
        self.flush().await;
        let wanted = if wanted == WantedFigures::default() {
            wanted
        } else {
            wanted.in_record_words(&self.redaction())
        };
        let shared = self.0.clone();
        let show = move || {
            let now = moment::millis(SystemTime::now());
            let figures = shared.figures.lock();
            let is_whole = figures.whole_since.max(figures.lost) <= period.from(now);
            figures.running.show(period, &wanted, (now, is_whole))
        };
        // Adds up thousands of numbers, so not on a worker of the runtime.
        tokio::task::spawn_blocking(show).await.unwrap_or_default()
    }

    /// The state of the log.
    pub fn status(&self) -> ActivityStatus {
        let mut status = self.0.status.lock().clone();
        // Those that the writer has not counted yet.
        status.not_kept += self.0.queue.lock().shed();
        status
    }

    /// The number of events since the start. Readers look for new records only when it has changed.
    pub fn noted(&self) -> u64 {
        self.0.queue.lock().pushed()
    }

    /// Queues an event. Waits for nothing but the lock of the queue. Events that find no room are counted.
    fn note(&self, what: EventKind) {
        let event = ActivityEvent {
            time: SystemTime::now(),
            what,
        };
        let alarm = self.0.queue.lock().push(event);
        match alarm {
            Alarm::None => (),
            Alarm::Something => self.0.something.notify_one(),
            Alarm::Much => self.0.much.notify_one(),
        }
    }

    /// A function that gives the name and version of a client as records have them.
    pub fn client_names(&self) -> impl Fn(&Raw) -> Option<String> + use<> {
        let redaction = self.redaction();
        move |info| redaction.client(info)
    }

    /// The redaction of names by the secrets of the settings in force.
    fn redaction(&self) -> Redaction {
        Redaction::new(self.0.settings.borrow().secrets())
    }

    /// Whether records have this part.
    fn keeps(&self, part: fn(&ActivitySettings) -> Kept) -> bool {
        part(&self.0.settings.borrow().activity) != Kept::Off
    }

    /// Waits until all events so far are written, but at most [`FLUSH`].
    async fn flush(&self) {
        let (done, written) = oneshot::channel();
        let flushed = async {
            if self.0.flushes.send(done).await.is_ok() {
                // An error means that the task has ended.
                let _ = written.await;
            }
        };
        // After a timeout the reader reads what there is.
        let _ = timeout(FLUSH, flushed).await;
    }
}
