//! The log through its own handle and task, and its file with a clock of our own.

use std::{
    fs,
    path::Path,
    sync::Arc,
    time::{Duration, SystemTime},
};

use redb::{Database, TableDefinition};
use tempfile::TempDir;
use tokio::{sync::watch, task::JoinHandle};
use tokio_util::sync::CancellationToken;

use super::{
    Activity, ActivityReader, ActivityRecord, CallBody, CallEntrance, CallFigures, FigurePeriod,
    NewCall, RecordQuery, WantedFigures, block::NewRecord, failures::StoreError,
    query::RecordOrder, store::ActivityStore, writer::file_in,
};
use crate::{
    config::{ActivitySettings, Settings},
    failure::{ErrorCode, Failure},
    wire::{Raw, Thing},
};

const DAY: u64 = 86_400_000;

/// A log whose task runs.
struct Log {
    folder: TempDir,
    activity: Activity,
    ending: CancellationToken,
    running: JoinHandle<()>,
    settings: watch::Sender<Arc<Settings>>,
}

impl Log {
    fn start() -> Self {
        Self::start_in(tempfile::tempdir().expect("a folder"), Settings::default())
    }

    fn start_in(folder: TempDir, settings: Settings) -> Self {
        let (settings, watched) = watch::channel(Arc::new(settings));
        let (activity, task) = Activity::new(folder.path().to_owned(), watched);
        let ending = CancellationToken::new();
        let running = tokio::spawn(task.run(ending.clone()));
        Self {
            folder,
            activity,
            ending,
            running,
            settings,
        }
    }

    async fn stop(self) -> TempDir {
        self.ending.cancel();
        self.running.await.expect("it ends in order");
        self.folder
    }

    /// What is in it, the oldest first.
    async fn records(&self) -> Vec<ActivityRecord> {
        let reader = self.activity.reader().await.expect("readable");
        all(&reader)
    }
}

fn all(reader: &ActivityReader) -> Vec<ActivityRecord> {
    let query = RecordQuery {
        after: Some(0),
        limit: Some(1_000),
        ..RecordQuery::default()
    };
    reader.page(query).expect("readable").records
}

fn call<'a>(client: &'a Raw, body: &'a Raw) -> NewCall<'a> {
    NewCall {
        id: 7,
        parent: Some(6),
        caller: "somebody".into(),
        client,
        endpoint: Some(CallEntrance::Path("/mcp")),
        method: "tools/call",
        body: CallBody::Params(Some(body)),
        trace: None,
        course: Arc::default(),
    }
}

fn raw(text: &str) -> Raw {
    Raw::parse_str(text).expect("JSON")
}

#[tokio::test]
async fn a_call_is_one_record_however_it_ends() {
    let log = Log::start();
    let (client, params) = (
        raw(r#"{"name":"c","version":"1"}"#),
        raw(r#"{"name":"t","arguments":{"a":1}}"#),
    );
    let begin = || {
        let mut record = log.activity.begin(call(&client, &params));
        record.is_of(Some("up"), &Thing::Tool("t".into()));
        record
    };
    begin().answered(&raw(r#"{"content":[]}"#));
    begin().answered(&raw(r#"{"content":[],"isError":true}"#));
    let large = format!(
        r#"{{"content":["{}"],"isError":true}}"#,
        "x".repeat(100_000)
    );
    begin().answered(&raw(&large));
    begin().answered(&raw(r#"{"resultType":"input_required"}"#));
    begin().refused_by_server(&raw(r#"{"code":-32000,"message":"no"}"#));
    begin().failed(&Failure::new(ErrorCode::TimedOut, "late", "wait"));
    begin().failed(&Failure::new(ErrorCode::ServerQuarantined, "held", "ask"));
    drop(begin());
    let records = log.records().await;
    let ends: Vec<_> = records[1..]
        .iter()
        .map(|r| (&*r.outcome, r.code.as_deref().unwrap_or("-")))
        .collect();
    let expected = [
        ("ok", "-"),
        ("tool_error", "-"),
        ("tool_error", "-"),
        ("asked", "-"),
        ("rpc_error", "-32000"),
        ("failed", "timed_out"),
        ("refused", "server_quarantined"),
        ("withdrawn", "-"),
    ];
    assert_eq!(ends, expected);
    let first = serde_json::to_value(&records[1]).expect("JSON");
    for (key, value) in [
        ("call", "c7"),
        ("parent", "c6"),
        ("caller", "somebody"),
        ("client", "c 1"),
        ("endpoint", "/mcp"),
        ("method", "tools/call"),
        ("server", "up"),
        ("tool", "t"),
    ] {
        assert_eq!(first[key], value, "{first}");
    }
    assert_eq!(first["arguments"], serde_json::json!({"a": 1}));
    assert_eq!(
        (&first["request_bytes"], &first["answer_bytes"]),
        (&32.into(), &14.into())
    );
    assert_eq!(
        (records[0].kind.as_str(), records[0].action.as_deref()),
        ("daemon", Some("start"))
    );
    assert_eq!(records[0].run, 1);
}

#[tokio::test]
async fn calls_are_added_up_however_many_there_are_and_again_after_a_start() {
    const CALLS: u64 = 2_500;
    let log = Log::start();
    let (client, params) = (raw(r#"{"name":"c","version":"1"}"#), raw(r#"{"name":"t"}"#));
    for number in 0..CALLS {
        let of_agent = NewCall {
            id: number,
            parent: None,
            ..call(&client, &params)
        };
        let mut outer = log.activity.begin(of_agent);
        outer.is_of(None, &Thing::Tool("call_tool_read".into()));
        let caused = NewCall {
            parent: Some(number),
            ..call(&client, &params)
        };
        let mut inner = log.activity.begin(caused);
        inner.is_of(Some("up"), &Thing::Tool("t".into()));
        inner.answered(&raw(r#"{"content":[],"isError":true}"#));
        if number % 100 == 0 {
            outer.failed(&Failure::new(ErrorCode::AccessDenied, "no", ""));
        } else {
            outer.answered(&raw(r#"{"content":[]}"#));
        }
        // As many as find room in the queue.
        if number % 500 == 0 {
            log.activity
                .figures(FigurePeriod::Hour, WantedFigures::default())
                .await;
        }
    }
    let all = |figures: &CallFigures| {
        let [up] = &figures.servers[..] else {
            panic!("{figures:?}");
        };
        assert_eq!((up.sums.calls, up.sums.failed), (CALLS, CALLS));
        assert_eq!((figures.all.calls, figures.all.refused), (CALLS, 25));
        assert_eq!(
            (figures.all.failed, &figures.all.clients[..]),
            (0, &["c".to_owned()][..])
        );
        assert!(figures.all.last.is_some() && figures.all.median_us.is_some());
    };
    for period in [FigurePeriod::Hour, FigurePeriod::Day] {
        all(&log.activity.figures(period, WantedFigures::default()).await);
    }
    let log = Log::start_in(log.stop().await, Settings::default());
    let counted = async {
        loop {
            let figures = log
                .activity
                .figures(FigurePeriod::Day, WantedFigures::default())
                .await;
            if figures.complete {
                return figures;
            }
            tokio::task::yield_now().await;
        }
    };
    all(&tokio::time::timeout(Duration::from_mins(1), counted)
        .await
        .expect("it is counted"));
    log.stop().await;
}

#[tokio::test]
async fn what_finds_no_room_is_counted_and_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let (_settings, watched) = watch::channel(Arc::new(Settings::default()));
    let (activity, task) = Activity::new(folder.path().to_owned(), watched);
    // Nobody writes yet: the queue is all there is.
    for _ in 0..12_000 {
        activity.note_change("restart", "s", None);
    }
    assert_eq!(activity.status().not_kept, 2_000);
    let ending = CancellationToken::new();
    let running = tokio::spawn(task.run(ending.clone()));
    let reader = activity.reader().await.expect("readable");
    let gap = RecordQuery {
        kind: Some("gap".to_owned()),
        ..RecordQuery::default()
    };
    let found = reader.page(gap).expect("readable").records;
    let missing: u64 = found.iter().filter_map(|gap| gap.missing).sum();
    let status = activity.status();
    assert!(
        missing >= 2_000 && missing == status.not_kept,
        "{status:?} {missing}"
    );
    assert_eq!(
        status.records + missing,
        12_000 + 1 + 1,
        "every one is there or counted"
    );
    ending.cancel();
    running.await.expect("it ends in order");
}

#[tokio::test]
async fn settings_take_effect_while_it_runs() {
    let log = Log::start();
    let (client, params) = (
        raw("{}"),
        raw(r#"{"name":"t","arguments":{"token":"t0ken-t0ken"}}"#),
    );
    let mut seen = Vec::new();
    for kept in [
        crate::config::Kept::Redacted,
        crate::config::Kept::Full,
        crate::config::Kept::Off,
    ] {
        let mut settings = Settings::default();
        settings.activity.arguments = kept;
        log.settings.send(Arc::new(settings)).expect("it listens");
        log.activity
            .reader()
            .await
            .expect("it has read the settings");
        log.activity
            .begin(call(&client, &params))
            .answered(&raw("{}"));
        let records = log.records().await;
        let last = records
            .iter()
            .rfind(|record| record.kind == "call")
            .expect("it is there")
            .clone();
        seen.push(
            last.arguments
                .map_or_else(|| "none".to_owned(), |kept| kept.as_str().to_owned()),
        );
    }
    assert_eq!(
        seen,
        [r#"{"token":"***"}"#, r#"{"token":"t0ken-t0ken"}"#, "none"]
    );
    let mut none = Settings::default();
    none.activity.max_records = 0;
    log.settings.send(Arc::new(none)).expect("it listens");
    log.activity
        .reader()
        .await
        .expect("it has read the settings");
    let before = log.records().await.len();
    log.activity
        .begin(call(&client, &params))
        .answered(&raw("{}"));
    assert_eq!(log.records().await.len(), before);
}

/// Starts a log over a file, and says how it is then.
async fn over(prepare: impl FnOnce(&Path)) -> (Log, super::ActivityStatus) {
    let folder = tempfile::tempdir().expect("a folder");
    prepare(&file_in(folder.path()));
    let log = Log::start_in(folder, Settings::default());
    // It may be that nothing can be read.
    let _ = log.activity.reader().await;
    let status = log.activity.status();
    (log, status)
}

#[tokio::test]
async fn a_damaged_file_is_set_aside_and_a_new_one_begun() {
    let garbage = "no database at all, but long enough to look like something".repeat(1_000);
    let (log, status) = over(|file| fs::write(file, &garbage).expect("writable")).await;
    let set_aside = status.set_aside.expect("it is named");
    assert_eq!(
        fs::read_to_string(&set_aside).expect("it is there"),
        garbage
    );
    assert_eq!((status.problem, log.records().await.len()), (None, 1));
    let folder = log.stop().await;
    // The same where the content is spoilt.
    let file = file_in(folder.path());
    let mut content = fs::read(&file).expect("readable");
    let middle = 4_096..content.len();
    content[middle].fill(0xA5);
    fs::write(&file, content).expect("writable");
    let log = Log::start_in(folder, Settings::default());
    assert_eq!(log.records().await.len(), 1);
    assert!(log.activity.status().set_aside.is_some());
}

#[tokio::test]
async fn a_file_of_a_newer_version_is_left_alone() {
    const FACTS: TableDefinition<'_, &str, u64> = TableDefinition::new("facts");
    let newer = |file: &Path| {
        let database = Database::create(file).expect("a database");
        let writing = database.begin_write().expect("a transaction");
        writing
            .open_table(FACTS)
            .expect("a table")
            .insert("format", 2)
            .expect("writable");
        writing.commit().expect("writable");
    };
    let (log, status) = over(newer).await;
    let problem = status.problem.expect("it is said");
    assert!(
        problem.contains("a newer mcpproxy wrote it (format 2)"),
        "{problem}"
    );
    let step = status.next_step.expect("there is one");
    assert!(step.contains("update mcpproxy, or move /"), "{step}");
    log.activity.note_change("restart", "s", None);
    assert!(log.activity.reader().await.is_err());
    let folder = log.stop().await;
    let opened = ActivityStore::open(&file_in(folder.path()));
    assert!(matches!(opened, Err(StoreError::Newer(2))));
}

#[tokio::test]
async fn a_file_that_another_has_is_said_and_not_damaged() {
    let folder = tempfile::tempdir().expect("a folder");
    let held = ActivityStore::open(&file_in(folder.path())).expect("a file");
    let log = Log::start_in(folder, Settings::default());
    assert!(log.activity.reader().await.is_err());
    let problem = log.activity.status().problem.expect("it is said");
    assert!(problem.contains("another process has it open"), "{problem}");
    drop(held);
    assert!(log.activity.reader().await.is_ok(), "at once");
    let folder = log.stop().await;
    assert_eq!(fs::read_dir(folder.path()).expect("readable").count(), 1);
}

/// A file of its own.
struct File {
    folder: TempDir,
    store: ActivityStore,
    bounds: ActivitySettings,
}

impl File {
    fn new(bounds: ActivitySettings) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let store = ActivityStore::open(&file_in(folder.path())).expect("a file");
        Self {
            folder,
            store,
            bounds,
        }
    }

    fn append(&self, count: usize, millis: u64, filler: usize) {
        let record = ActivityRecord {
            kind: if millis.is_multiple_of(2) {
                "call"
            } else {
                "change"
            }
            .to_owned(),
            detail: Some("x".repeat(filler)),
            ..ActivityRecord::default()
        };
        let new = || NewRecord::of(millis, record.clone());
        let rows: Vec<NewRecord> = std::iter::repeat_with(new).take(count).flatten().collect();
        self.store
            .append(&rows, &self.bounds, millis)
            .expect("written");
    }

    fn ids(&self, query: RecordQuery) -> Vec<u64> {
        let now = SystemTime::UNIX_EPOCH;
        let filter = query.understood(now).expect("it makes sense");
        let page = self.store.page(&filter).expect("readable");
        page.records.iter().map(|record| record.id).collect()
    }
}

fn query(text: &str) -> RecordQuery {
    serde_json::from_str(text).expect("a query")
}

#[test]
fn records_beyond_a_number_are_removed_and_numbers_are_never_used_again() {
    let file = File::new(ActivitySettings {
        max_records: 100,
        ..ActivitySettings::default()
    });
    file.append(100, DAY, 1);
    assert_eq!(file.ids(query(r#"{"limit":1000}"#)).len(), 100);
    file.append(1, DAY, 1);
    let ids = file.ids(query(r#"{"limit":1000}"#));
    assert_eq!(
        (ids.len(), ids.first(), ids.last()),
        (95, Some(&101), Some(&7))
    );
    let none = File {
        bounds: ActivitySettings {
            max_records: 1,
            ..ActivitySettings::default()
        },
        ..file
    };
    none.append(1, DAY, 1);
    assert_eq!(none.ids(query("{}")), [102]);
}

#[test]
fn records_beyond_an_age_are_removed() {
    let file = File::new(ActivitySettings {
        max_age: Duration::from_hours(48),
        ..ActivitySettings::default()
    });
    for day in 1..=5 {
        file.append(2, day * DAY, 1);
    }
    assert_eq!(file.ids(query("{}")), [10, 9, 8, 7, 6, 5]);
    file.append(0, 30 * DAY, 1);
    assert_eq!(file.ids(query("{}")), [0_u64; 0]);
    file.append(1, 30 * DAY, 1);
    assert_eq!(file.ids(query("{}")), [11]);
}

#[test]
fn the_file_does_not_grow_beyond_its_size() {
    let file = File::new(ActivitySettings {
        max_size_mb: 8,
        ..ActivitySettings::default()
    });
    let path = file_in(file.folder.path());
    let mut largest = 0;
    for _ in 0..100 {
        file.append(400, DAY, 1_000);
        largest = largest.max(fs::metadata(&path).expect("it is there").len());
    }
    assert!(largest <= 16 << 20, "{largest}");
    let size = fs::metadata(&path).expect("it is there").len();
    assert!(size <= 8 << 20, "{size}");
    assert!(
        file.ids(query(r#"{"limit":1000}"#)).len() == 1_000,
        "much is there"
    );
}

#[test]
fn large_records_are_held_to_the_size_too() {
    let file = File::new(ActivitySettings {
        max_size_mb: 8,
        ..ActivitySettings::default()
    });
    let path = file_in(file.folder.path());
    for _ in 0..5 {
        file.append(200, DAY, 60_000);
        let size = fs::metadata(&path).expect("it is there").len();
        assert!(size <= 8 << 20, "{size}");
    }
    assert!(file.ids(query("{}")).len() > 20, "some are there");
}

#[test]
fn pages_follow_each_other_in_both_directions() {
    let file = File::new(ActivitySettings::default());
    for millis in 1..=10 {
        file.append(1, millis, 1);
    }
    let check = |text: &str, expected: &[u64], next: Option<u64>| {
        let filter = query(text)
            .understood(SystemTime::UNIX_EPOCH)
            .expect("it makes sense");
        let page = file.store.page(&filter).expect("readable");
        let ids: Vec<u64> = page.records.iter().map(|record| record.id).collect();
        assert_eq!((&ids[..], page.next), (expected, next), "{text}");
    };
    check(r#"{"limit":3}"#, &[10, 9, 8], Some(8));
    check(r#"{"limit":3,"cursor":8}"#, &[7, 6, 5], Some(5));
    check(r#"{"limit":3,"cursor":3}"#, &[2, 1], None);
    check(r#"{"cursor":1}"#, &[], None);
    check(r#"{"limit":4,"after":0}"#, &[1, 2, 3, 4], Some(4));
    check(r#"{"limit":4,"after":8}"#, &[9, 10], None);
    check(r#"{"after":10}"#, &[], None);
    check(r#"{"after":18446744073709551615}"#, &[], None);
    check(r#"{"kind":"change","limit":2}"#, &[9, 7], Some(7));
    check(r#"{"since":"1970-01-01T00:00:00.009"}"#, &[10, 9], None);
    check(r#"{"until":"1970-01-01T00:00:00.003"}"#, &[2, 1], None);
    check(r#"{"kind":"gap"}"#, &[], None);
    let filter = query("{}")
        .understood(SystemTime::UNIX_EPOCH)
        .expect("it makes sense");
    assert_eq!(filter.order, RecordOrder::NewestFirst(u64::MAX));
}

#[test]
fn pages_begin_and_end_inside_of_what_was_written_together() {
    let file = File::new(ActivitySettings::default());
    file.append(100, 2, 1);
    file.append(3, 4, 1);
    let check =
        |text: &str, expected: &[u64]| assert_eq!(file.ids(query(text)), expected, "{text}");
    check(r#"{"limit":3}"#, &[103, 102, 101]);
    check(r#"{"limit":3,"cursor":102}"#, &[101, 100, 99]);
    check(r#"{"limit":3,"cursor":66}"#, &[65, 64, 63]);
    check(r#"{"limit":3,"after":62}"#, &[63, 64, 65]);
    check(r#"{"limit":3,"after":99}"#, &[100, 101, 102]);
    check(r#"{"after":103}"#, &[]);
    let found = [1, 64, 65, 100, 101, 103, 104, 0].map(|id| {
        let record = file.store.record(id).expect("readable");
        record.map(|record| record.id)
    });
    let expected = [
        Some(1),
        Some(64),
        Some(65),
        Some(100),
        Some(101),
        Some(103),
        None,
        None,
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_file_that_is_not_there_has_no_records_and_is_not_made() {
    let folder = tempfile::tempdir().expect("a folder");
    let reader = ActivityReader::of_file(folder.path()).expect("readable");
    assert_eq!(
        reader
            .page(RecordQuery::default())
            .expect("readable")
            .records,
        []
    );
    assert_eq!(reader.record(1).expect("readable"), None);
    assert!(!file_in(folder.path()).exists());
}
