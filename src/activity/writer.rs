//! Makes records of events, logs each in a line, and writes them in batches. Blocks: [`super::ActivityTask`] runs it on a blocking thread. Records
//! that cannot be written are kept up to a limit; further ones are counted.

mod taking_in;

use std::{
    fs,
    io::ErrorKind,
    mem,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use super::{
    ActivityEvent, ActivityRecord, ActivityStore, EventKind, OperatorChange, Redaction, Shared,
    block::NewRecord,
    difference::difference,
    event::DAEMON,
    failures::{CHECK_DISK, StoreError, whole},
    known_calls::KnownCalls,
    line::{self, RecordLines},
    store::Totals,
};
use crate::{
    config::Settings,
    storage::{self, DataFile, disk_step, in_words},
    telemetry::log_throttle::LogThrottle,
    text::moment,
};

/// Limit: records that wait while the file cannot be written, and their bytes. Further ones are only counted.
const MOST_PENDING: usize = 10_000;
const MOST_PENDING_BYTES: usize = 16 << 20;

/// How long the writer waits before it opens a file again that could not be opened or written.
const PAUSE: Duration = Duration::from_secs(5);

/// Limit: files that are set aside in one run. After that the disk is taken to be damaged.
const MOST_SET_ASIDE: u32 = 3;

/// The outcome of most problems, in a log line.
const NOT_RECORDED: &str = "calls are not recorded";

/// Where the file is.
pub(super) fn file_in(data_dir: &Path) -> PathBuf {
    DataFile::Activity.within(data_dir)
}

/// Writes the records of one daemon.
pub(super) struct RecordWriter {
    shared: Arc<Shared>,
    path: PathBuf,
    settings: Arc<Settings>,
    redaction: Redaction,
    /// Valid for this redaction.
    known: KnownCalls,
    file: FileState,
    /// The run of the daemon, as the file counts it.
    run: u64,
    /// The records that wait to be written, as JSON, which takes less memory than the records.
    pending: Vec<NewRecord>,
    /// The bytes of those that came while the file could not be written.
    pending_bytes: usize,
    /// The number of missing records that no record stands for yet.
    missing: u64,
    /// The number of missing records that no log line names yet.
    lost: u64,
    gaps: LogThrottle,
    lines: RecordLines,
    set_aside: u32,
    removals: LogThrottle,
}

enum FileState {
    Open(Arc<ActivityStore>),
    /// Not open, and not to be opened before that moment.
    Closed {
        again: Instant,
    },
    /// Not to be used in this run.
    Unusable,
}

impl RecordWriter {
    pub(super) fn new(shared: Arc<Shared>, data_dir: &Path, settings: Arc<Settings>) -> Self {
        Self {
            redaction: Redaction::new(settings.secrets()),
            known: KnownCalls::default(),
            shared,
            path: file_in(data_dir),
            settings,
            file: FileState::Closed {
                again: Instant::now(),
            },
            run: 0,
            pending: Vec::new(),
            pending_bytes: 0,
            missing: 0,
            lost: 0,
            gaps: LogThrottle::default(),
            lines: RecordLines::default(),
            set_aside: 0,
            removals: LogThrottle::default(),
        }
    }

    /// The number of records that wait to be written.
    pub(super) fn n_pending(&self) -> usize {
        self.pending.len()
    }

    /// Takes the settings in force, and records what changed in them.
    pub(super) fn follow(&mut self, settings: Arc<Settings>) {
        if Arc::ptr_eq(&self.settings, &settings) {
            return;
        }
        let detail = difference(&self.settings, &settings);
        self.redaction = Redaction::new(settings.secrets());
        self.known = KnownCalls::default();
        self.settings = settings;
        if !self.settings.activity.is_wanted() {
            self.remove_all();
        }
        if let Some(detail) = detail {
            let change = OperatorChange {
                caller: DAEMON.into(),
                action: "reload",
                detail: Some(detail),
                ..OperatorChange::default()
            };
            let what = EventKind::Change(Box::new(change));
            self.take_event(&ActivityEvent {
                time: SystemTime::now(),
                what,
            });
        }
    }

    /// Records an event of the daemon.
    pub(super) fn note_daemon(&mut self, action: &str) {
        let detail = format!(
            "version {}, process {}",
            env!("CARGO_PKG_VERSION"),
            std::process::id()
        );
        let now = moment::millis(SystemTime::now());
        self.keep(now, ActivityRecord::of_daemon(action, detail));
    }

    /// 0 while the file is not open.
    fn run_of_file(&self) -> u64 {
        match self.file {
            FileState::Open(_) => self.run,
            FileState::Closed { .. } | FileState::Unusable => 0,
        }
    }

    fn keep_json(&mut self, new: Option<NewRecord>) {
        let is_open = match &self.file {
            FileState::Open(_) => true,
            FileState::Closed { .. } => false,
            FileState::Unusable => return self.miss(1),
        };
        let Some(new) = new else {
            return self.miss(1);
        };
        let size = if is_open { 0 } else { new.json.len() };
        let bytes = self.pending_bytes.saturating_add(size);
        if self.pending.len() >= MOST_PENDING || bytes > MOST_PENDING_BYTES {
            self.miss(1);
        } else {
            self.pending_bytes = bytes;
            self.pending.push(new);
        }
    }

    pub(super) fn miss(&mut self, count: u64) {
        if count > 0 {
            self.missing += count;
            self.shared.status.lock().not_kept += count;
        }
    }

    /// Writes the records that wait, and removes the oldest beyond the bounds.
    pub(super) fn commit(&mut self) {
        self.lines.close();
        if !self.settings.activity.is_wanted() {
            return self.remove_all();
        }
        // After a damaged file a new one is written at once.
        for _ in 0..=MOST_SET_ASIDE {
            let Some(store) = self.opened() else {
                return;
            };
            match whole(|| self.write_to(&store)) {
                Ok(()) => return,
                Err(StoreError::Damaged(why)) => {
                    drop(store);
                    self.set_aside(&why);
                }
                Err(StoreError::Removed) => {
                    drop(store);
                    self.begin_anew();
                }
                Err(error) => return self.close(&error),
            }
        }
    }

    /// Removes all records, because the log is disabled. Deletes the whole file, because records that are removed from it could still be read in
    /// its free pages.
    fn remove_all(&mut self) {
        self.pending.clear();
        self.pending_bytes = 0;
        self.let_go_until(Instant::now());
        {
            let mut status = self.shared.status.lock();
            (status.records, status.size_bytes) = (0, 0);
        }
        let file = self.path.display();
        match fs::remove_file(&self.path) {
            Ok(()) => {
                tracing::info!(target: line::TARGET, %file, "activity log removed: it is disabled");
            }
            Err(error) if error.kind() == ErrorKind::NotFound => (),
            Err(error) => {
                let why = in_words(&error);
                let step = disk_step(&self.path, &error);
                let problem = format!("{file} cannot be removed: {why}");
                self.problem("old records are not removed", &problem, step);
            }
        }
    }

    fn write_to(&mut self, store: &ActivityStore) -> Result<(), StoreError> {
        let now = moment::millis(SystemTime::now());
        for pending in &mut self.pending {
            pending.set_run(self.run);
        }
        let n_pending = self.pending.len();
        if self.missing > 0 {
            let run = self.run;
            let gap = ActivityRecord::of_gap(self.missing);
            self.pending
                .extend(NewRecord::of(now, ActivityRecord { run, ..gap }));
        }
        let appended = self.append_to(store, now);
        // The record of the gap is made again if this fails.
        self.pending.truncate(n_pending);
        let totals = appended?;
        self.pending.clear();
        self.pending_bytes = 0;
        self.lost += mem::take(&mut self.missing);
        if self.lost > 0 && self.gaps.due().is_some() {
            let not_kept = mem::take(&mut self.lost);
            tracing::warn!(target: line::TARGET, not_kept, "records of the activity log were not kept");
        }
        let mut status = self.shared.status.lock();
        status.records = totals.records;
        status.size_bytes = totals.file_bytes;
        (status.problem, status.next_step) = (None, None);
        Ok(())
    }

    fn append_to(&self, store: &ActivityStore, now: u64) -> Result<Totals, StoreError> {
        store.check_place()?;
        let totals = store.append(&self.pending, &self.settings.activity, now)?;
        store.check_place()?;
        Ok(totals)
    }

    /// The file, opened if it can be.
    fn opened(&mut self) -> Option<Arc<ActivityStore>> {
        match &self.file {
            FileState::Open(store) => return Some(store.clone()),
            FileState::Closed { again } if *again <= Instant::now() => (),
            FileState::Closed { .. } | FileState::Unusable => return None,
        }
        let open = || {
            if let Some(folder) = self.path.parent() {
                let made = storage::create_private_dir(folder);
                made.map_err(StoreError::Io)?;
            }
            ActivityStore::open(&self.path)
        };
        match whole(open) {
            Ok(store) => {
                let store = Arc::new(store);
                self.shared.publish(Some(store.clone()));
                self.run = store.run();
                self.file = FileState::Open(store.clone());
                Some(store)
            }
            Err(StoreError::Damaged(why)) => {
                self.set_aside(&why);
                self.opened()
            }
            Err(newer @ StoreError::Newer(_)) => {
                let step = newer.step(&self.path);
                self.give_up(&newer.to_string(), step);
                None
            }
            Err(error) => {
                self.close(&error);
                None
            }
        }
    }

    /// Closes the file, and does not open it again before that moment.
    fn let_go_until(&mut self, again: Instant) {
        self.shared.publish(None);
        self.file = FileState::Closed { again };
    }

    /// Closes the file for [`PAUSE`] after an error; one that another process has may be free at the next try.
    fn close(&mut self, error: &StoreError) {
        let (pause, done) = match error {
            StoreError::InUse => (Duration::ZERO, "opened"),
            _ => (PAUSE, "written"),
        };
        self.let_go_until(Instant::now() + pause);
        let problem = format!("{} cannot be {done}: {error}", self.path.display());
        self.problem(NOT_RECORDED, &problem, error.step(&self.path));
    }

    /// Closes a file that was removed. A new one is begun at once, in a new folder if that is gone, too.
    fn begin_anew(&mut self) {
        self.let_go_until(Instant::now());
        let (file, moment) = (self.path.display(), moment::millis(SystemTime::now()));
        if let Some(times) = self.removals.due() {
            tracing::warn!(target: line::TARGET, %file, times, "activity log was removed; a new one begins");
        }
        let reason = format!(
            "its file was removed while the daemon ran; a new log begins at {}",
            moment::utc_millis(moment)
        );
        self.shared.status.lock().begun_anew = Some(reason);
    }

    /// Begins a new file if the open one was removed.
    pub(super) fn look(&mut self) {
        if let FileState::Open(store) = &self.file
            && store.check_place().is_err()
        {
            self.commit();
        }
    }

    fn give_up(&mut self, why: &str, step: String) {
        self.shared.publish(None);
        self.file = FileState::Unusable;
        self.pending_bytes = 0;
        let waiting = u64::try_from(mem::take(&mut self.pending).len()).unwrap_or(u64::MAX);
        self.miss(waiting);
        let problem = format!("{} cannot be used: {why}", self.path.display());
        self.problem(NOT_RECORDED, &problem, step);
    }

    /// Logs a problem once, and shows it in the status.
    fn problem(&self, outcome: &str, problem: &str, step: String) {
        let mut status = self.shared.status.lock();
        if status.problem.as_deref() != Some(problem) {
            tracing::warn!(target: line::TARGET, reason = problem, next = %step, "{outcome}");
            status.problem = Some(problem.to_owned());
            status.next_step = Some(step);
        }
    }

    /// Renames a damaged file, so that a new one can be begun.
    fn set_aside(&mut self, why: &str) {
        self.let_go_until(Instant::now());
        self.set_aside += 1;
        if self.set_aside > MOST_SET_ASIDE {
            return self.give_up(why, CHECK_DISK.to_owned());
        }
        let moment = moment::utc_millis(moment::millis(SystemTime::now())).replace([':', '.'], "-");
        let other = self.path.with_file_name(damaged() + &moment);
        match fs::rename(&self.path, &other) {
            Ok(()) => {
                let file = other.display().to_string();
                tracing::warn!(target: line::TARGET, file, why, "damaged activity log set aside, new one begun");
                self.shared.status.lock().set_aside = Some(file);
                remove_older(&other);
            }
            Err(error) => {
                let step = disk_step(&self.path, &error);
                let unmoved = in_words(&error);
                self.give_up(
                    &format!("{why}, and it cannot be moved away: {unmoved}"),
                    step,
                );
            }
        }
    }
}

/// The beginning of the name of a damaged file that was set aside.
fn damaged() -> String {
    format!("{}.damaged-", DataFile::Activity.name())
}

/// Deletes all damaged files but the newest: they are large, and one is enough to find the cause.
fn remove_older(newest: &Path) {
    let folder = newest.parent().map(fs::read_dir);
    let files = folder.into_iter().flatten().flatten().flatten();
    for file in files.map(|entry| entry.path()) {
        let name = file.file_name().and_then(|name| name.to_str());
        let is_one = name.is_some_and(|name| name.starts_with(&damaged()));
        if is_one && file != newest {
            // A file that cannot be deleted only takes space.
            let _ = fs::remove_file(file);
        }
    }
}
