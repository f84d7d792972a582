//! Makes records of events, logs each in a line, and writes them in batches. Blocks: [`super::ActivityTask`] runs it off the
//! workers of the runtime. Nobody waits for it; what cannot be written is kept up to a limit, and counted beyond.

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
    failures::{FileError, StoreError, whole},
    known_calls::KnownCalls,
    line::{self, RecordLines},
    store::Totals,
};
use crate::{config::Settings, storage, telemetry::log_throttle::LogThrottle, text::moment};

/// The file in the data folder.
const FILE: &str = "activity.redb";

/// What the name of a damaged one begins with.
const DAMAGED: &str = "activity.redb.damaged-";

/// Limit: records that wait for a file that cannot be written, and their bytes. Later ones are counted only.
const MOST_PENDING: usize = 10_000;
const MOST_PENDING_BYTES: usize = 16 << 20;

/// How long a file that could not be opened or written is left alone.
const PAUSE: Duration = Duration::from_secs(5);

/// Files that are set aside in one run. After that it is the disk that is damaged.
const MOST_SET_ASIDE: u32 = 3;

/// Where the file is.
pub(super) fn file_in(data_dir: &Path) -> PathBuf {
    data_dir.join(FILE)
}

/// Writes the records of one daemon.
pub(super) struct RecordWriter {
    shared: Arc<Shared>,
    path: PathBuf,
    settings: Arc<Settings>,
    redaction: Redaction,
    /// Of this redaction.
    known: KnownCalls,
    file: FileState,
    /// The run of the daemon, as the file counts it.
    run: u64,
    /// What waits to be written. As JSON at once: it is less than a record, and what was made a moment ago is near.
    pending: Vec<NewRecord>,
    /// The bytes of those that came while the file could not be written.
    pending_bytes: usize,
    /// How many are missing before the next one.
    missing: u64,
    /// How many of those no line has counted yet.
    lost: u64,
    gaps: LogThrottle,
    lines: RecordLines,
    set_aside: u32,
    removals: LogThrottle,
}

enum FileState {
    Open(Arc<ActivityStore>),
    /// Not open until then.
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

    /// One in the place of one that ended with a fault, and of what it had not written.
    pub(super) fn after_fault(
        shared: Arc<Shared>,
        data_dir: &Path,
        settings: Arc<Settings>,
        lost: u64,
    ) -> Self {
        shared.publish(None);
        let mut writer = Self::new(shared, data_dir, settings);
        writer.miss(lost);
        writer
    }

    /// How many records wait to be written.
    pub(super) fn n_pending(&self) -> usize {
        self.pending.len()
    }

    /// What came into force: what changed in it is worth a record.
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

    /// Notes something of the daemon itself.
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

    fn miss(&mut self, count: u64) {
        if count > 0 {
            self.missing += count;
            self.shared.status.lock().not_kept += count;
        }
    }

    /// Writes what waits, and removes what is beyond the bounds.
    pub(super) fn commit(&mut self) {
        self.lines.close();
        if !self.settings.activity.is_wanted() {
            return self.remove_all();
        }
        // A file that was found to be damaged is followed by a new one at once.
        for _ in 0..=MOST_SET_ASIDE {
            let Some(store) = self.opened() else {
                return;
            };
            match whole(|| self.write_to(&store), StoreError::Damaged) {
                Ok(()) => return,
                Err(StoreError::Damaged(why)) => {
                    drop(store);
                    self.set_aside(&why);
                }
                Err(StoreError::Removed) => {
                    drop(store);
                    self.begin_anew();
                }
                Err(StoreError::Io(why)) => return self.close(&why),
            }
        }
    }

    /// Nothing is to be on disk: not what waits, and not what was kept before. The file goes as a whole, because what is removed from it
    /// could still be read in it.
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
            Err(error) => self.problem(&format!("{file} cannot be removed: {error}")),
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
        // What says how many are missing is made anew each time.
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
        status.problem = None;
        Ok(())
    }

    fn append_to(&self, store: &ActivityStore, now: u64) -> Result<Totals, StoreError> {
        store.check_place()?;
        let totals = store.append(&self.pending, &self.settings.activity, now)?;
        store.check_place()?;
        Ok(totals)
    }

    /// The file, if it can be had now.
    fn opened(&mut self) -> Option<Arc<ActivityStore>> {
        match &self.file {
            FileState::Open(store) => return Some(store.clone()),
            FileState::Closed { again } if *again <= Instant::now() => (),
            FileState::Closed { .. } | FileState::Unusable => return None,
        }
        let open = || {
            if let Some(folder) = self.path.parent() {
                let made = storage::create_private_dir(folder);
                made.map_err(|error| FileError::Io(error.to_string()))?;
            }
            ActivityStore::open(&self.path)
        };
        match whole(open, FileError::Damaged) {
            Ok(store) => {
                let store = Arc::new(store);
                self.shared.publish(Some(store.clone()));
                self.run = store.run();
                self.file = FileState::Open(store.clone());
                Some(store)
            }
            Err(FileError::Damaged(why)) => {
                self.set_aside(&why);
                self.opened()
            }
            Err(newer @ FileError::Newer(_)) => {
                self.give_up(&newer.to_string());
                None
            }
            Err(error @ (FileError::InUse | FileError::Io(_))) => {
                self.close(&error.to_string());
                None
            }
        }
    }

    /// Lets go of the file, and looks for it again at this moment.
    fn let_go_until(&mut self, again: Instant) {
        self.shared.publish(None);
        self.file = FileState::Closed { again };
    }

    /// Leaves the file alone for a while.
    fn close(&mut self, why: &str) {
        self.let_go_until(Instant::now() + PAUSE);
        self.problem(&format!("{} cannot be written: {why}", self.path.display()));
    }

    /// Lets go of a file that somebody removed. The next one is begun at once, in a new folder if that is gone too.
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

    /// Looks whether the file is still there.
    pub(super) fn look(&mut self) {
        if let FileState::Open(store) = &self.file
            && store.check_place().is_err()
        {
            self.commit();
        }
    }

    fn give_up(&mut self, why: &str) {
        self.shared.publish(None);
        self.file = FileState::Unusable;
        self.pending_bytes = 0;
        let waiting = u64::try_from(mem::take(&mut self.pending).len()).unwrap_or(u64::MAX);
        self.miss(waiting);
        self.problem(&format!("nothing is kept: {}: {why}", self.path.display()));
    }

    /// Says what is wrong, once.
    fn problem(&self, problem: &str) {
        let mut status = self.shared.status.lock();
        if status.problem.as_deref() != Some(problem) {
            tracing::warn!(target: line::TARGET, problem, "the activity log has a problem");
            status.problem = Some(problem.to_owned());
        }
    }

    /// Gives a damaged file another name, so that a new one can be begun.
    fn set_aside(&mut self, why: &str) {
        self.let_go_until(Instant::now());
        self.set_aside += 1;
        if self.set_aside > MOST_SET_ASIDE {
            return self.give_up(why);
        }
        let moment = moment::utc_millis(moment::millis(SystemTime::now())).replace([':', '.'], "-");
        let other = self.path.with_file_name(format!("{DAMAGED}{moment}"));
        match fs::rename(&self.path, &other) {
            Ok(()) => {
                let file = other.display().to_string();
                tracing::warn!(target: line::TARGET, file, why, "damaged activity log set aside, new one begun");
                self.shared.status.lock().set_aside = Some(file);
                remove_older(&other);
            }
            Err(error) => self.give_up(&format!("{why}, and it cannot be moved away: {error}")),
        }
    }
}

/// Damaged files are large, and the newest one says as much as a person will look at.
fn remove_older(newest: &Path) {
    let folder = newest.parent().map(fs::read_dir);
    let files = folder.into_iter().flatten().flatten().flatten();
    for file in files.map(|entry| entry.path()) {
        let name = file.file_name().and_then(|name| name.to_str());
        let is_one = name.is_some_and(|name| name.starts_with(DAMAGED));
        if is_one && file != newest {
            // One that stays takes room, and nothing else.
            let _ = fs::remove_file(file);
        }
    }
}
