//! The activity log: a record of every call, decision and change, on disk. Whoever has something to record tells [`Activity`], which
//! never waits; one task makes records of it and writes them. It decides nothing, and nothing waits for it.
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
    config::{Kept, Settings},
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

/// How long whoever reads waits for what was noted to be written. It reads what is there then.
const FLUSH: Duration = Duration::from_secs(5);

/// Limit: readers that wait for that at once.
const MOST_FLUSHES: usize = 64;

/// Takes what is to be recorded. Cheap to clone; clones are of one log.
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
    something: Notify,
    much: Notify,
    /// Callers who ask too often.
    hasty: LogThrottles,
    /// The file, where it is open.
    store: Guarded<Option<Arc<ActivityStore>>>,
    status: Guarded<ActivityStatus>,
    figures: Guarded<FiguresSince>,
    /// Whose secrets are redacted in names.
    settings: watch::Receiver<Arc<Settings>>,
    flushes: mpsc::Sender<oneshot::Sender<()>>,
    metrics: Metrics,
    spans: Spans,
}

/// What the calls add up to, and from when on all of them are counted.
#[derive(Debug)]
struct FiguresSince {
    running: RunningFigures,
    whole_since: u64,
    /// When some were lost.
    lost: u64,
}

impl FiguresSince {
    fn now() -> Self {
        Self {
            running: RunningFigures::default(),
            whole_since: moment::millis(SystemTime::now()),
            lost: 0,
        }
    }
}

impl Shared {
    fn publish(&self, store: Option<Arc<ActivityStore>>) {
        *self.store.lock() = store;
    }
}

impl Activity {
    /// The log in a data folder, as these settings want it, and the task that writes it.
    pub fn new(
        data_dir: PathBuf,
        settings: watch::Receiver<Arc<Settings>>,
    ) -> (Self, ActivityTask) {
        let (flushes, flush_requests) = mpsc::channel(MOST_FLUSHES);
        let shared = Shared {
            queue: Guarded::default(),
            something: Notify::new(),
            much: Notify::new(),
            hasty: LogThrottles::default(),
            store: Guarded::default(),
            status: Guarded::default(),
            figures: Guarded::new(FiguresSince::now()),
            settings: settings.clone(),
            flushes,
            metrics: Metrics::default(),
            spans: Spans::default(),
        };
        let shared = Arc::new(shared);
        let task = ActivityTask::new(shared.clone(), data_dir, settings, flush_requests);
        (Self(shared), task)
    }

    /// One that keeps nothing: for parts that are used by themselves.
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

    /// Notes a request that was refused and was no call.
    pub fn note_refusal(&self, mut refusal: RefusedNotice) {
        refusal.method = refusal
            .method
            .map(|method| copies::bounded(&method).into());
        self.note(EventKind::Refusal(Box::new(refusal)));
    }

    /// Notes what the operator did: what, to which server, and why it came to nothing if it did.
    pub fn note_change(&self, action: &'static str, server: &str, error: Option<String>) {
        self.note_operator(OperatorChange {
            error,
            ..OperatorChange::by_operator(action, server)
        });
    }

    /// The same, with more of it.
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

    /// Notes a request of a caller who asks too often: one record a minute for each, and one for all who are not counted apart.
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

    /// Notes a request of which nobody knows whose it is. Whoever tells bounds how often.
    pub fn note_unknown(&self, path: &str, why: String, times: u64) {
        self.note_refusal(RefusedNotice {
            path: Some(path.into()),
            code: Some(ErrorCode::Unauthorized),
            error: why,
            times: Some(times),
            ..RefusedNotice::default()
        });
    }

    /// Notes what happened to a server: `ready`, `failed`, `lost`, `asleep`.
    pub fn note_server(&self, action: &'static str, server: &str, step: ServerStep) {
        self.note(EventKind::Server(Box::new(ServerNews {
            server: server.into(),
            action,
            things: Vec::new(),
            more: 0,
            step,
        })));
    }

    /// What is counted of all that is noted, a moment after it was.
    pub fn metrics(&self) -> &Metrics {
        &self.0.metrics
    }

    /// Where spans of calls go, a moment after these ended.
    pub fn spans(&self) -> &Spans {
        &self.0.spans
    }

    /// What the calls of an hour or a day add up to: all that ended until now.
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
        // It adds up thousands of numbers.
        tokio::task::spawn_blocking(show).await.unwrap_or_default()
    }

    /// How the log is.
    pub fn status(&self) -> ActivityStatus {
        let mut status = self.0.status.lock().clone();
        // What the writer has not heard of yet.
        status.not_kept += self.0.queue.lock().shed();
        status
    }

    /// How much was noted since the daemon began: whoever reads looks for more only when it has changed.
    pub fn noted(&self) -> u64 {
        self.0.queue.lock().pushed()
    }

    /// Never waits for anything but the end of another's note. What finds no room is counted.
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

    /// Names and versions of clients, as records have them.
    pub fn client_names(&self) -> impl Fn(&Raw) -> Option<String> + use<> {
        let redaction = self.redaction();
        move |info| redaction.client(info)
    }

    /// How names are written in records.
    fn redaction(&self) -> Redaction {
        Redaction::new(self.0.settings.borrow().secrets())
    }

    /// Whether arguments are held until their record is made.
    fn keeps_arguments(&self) -> bool {
        self.0.settings.borrow().activity.arguments != Kept::Off
    }

    /// The same of results.
    fn keeps_results(&self) -> bool {
        self.0.settings.borrow().activity.results != Kept::Off
    }

    /// Waits until what was noted is written, but not for long.
    async fn flush(&self) {
        let (done, written) = oneshot::channel();
        let flushed = async {
            if self.0.flushes.send(done).await.is_ok() {
                // It ended, if nobody answers.
                let _ = written.await;
            }
        };
        // What is there is read all the same.
        let _ = timeout(FLUSH, flushed).await;
    }
}
