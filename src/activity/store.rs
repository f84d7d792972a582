//! The file of the log, in redb: records by their numbers. All methods block.
//!
//! A row holds several records ([`super::block`]). Its key is the number of the first.

use std::{
    fmt,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    sync::{PoisonError, RwLock},
};

use redb::{
    Builder, Database, DatabaseError, Key, ReadOnlyTable, ReadableDatabase, ReadableTable,
    StorageError, TableDefinition, TableError, Value, WriteTransaction, backends::FileBackend,
};

use super::{
    block::{self, NewRecord},
    bounds::{Excess, size_of_row},
    failures::StoreError,
    query::{RecordFilter, RecordOrder},
    record::ActivityRecord,
};
use crate::{
    config::ActivitySettings,
    storage::{self, FileIdentity},
    text::moment,
};

const RECORDS: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("records");
const FACTS: TableDefinition<'_, &str, u64> = TableDefinition::new("facts");

/// The keys of the second table.
const FORMAT: &str = "format";
const RUN: &str = "run";
const NEXT: &str = "next";
const BYTES: &str = "bytes";
const COUNT: &str = "records";

/// The format that this version writes and reads.
const OURS: u64 = 1;

/// Bytes of memory for pages of the file.
const CACHE: usize = 8 << 20;

/// Limit: records that are read for one page. A page may end there without records; the reader goes on from its `next`.
const LOOKED_AT: usize = 20_000;

/// The size of the log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Totals {
    pub(super) records: u64,
    pub(super) file_bytes: u64,
}

/// A page of records.
#[derive(
    Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
pub struct RecordPage {
    /// The records.
    pub records: Vec<ActivityRecord>,
    /// The next `cursor` or `after`; null at the end.
    pub next: Option<u64>,
    /// The run of the daemon, if you asked for a call by its id alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<u64>,
}

/// Where [`ActivityStore::look_back`] ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LookedBack {
    /// At this record, because of the limit: there may be older ones.
    To(u64),
    /// At records that are too old.
    ToOlder,
    /// At the first record of the file, which is this one.
    ToTheFirst(u64),
}

/// The open file.
pub(super) struct ActivityStore {
    path: PathBuf,
    identity: FileIdentity,
    /// The number of the first record of this run; 0 if the file is only read.
    first_of_run: u64,
    /// Locked exclusively only while the file is compacted.
    database: RwLock<Database>,
}

impl fmt::Debug for ActivityStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ActivityStore").field(&self.path).finish()
    }
}

impl ActivityStore {
    /// Opens the file for writing, or creates it. Checks every page, and repairs a file that was not closed properly.
    pub(super) fn open(path: &Path) -> Result<Self, StoreError> {
        let opened = Self::open_with(path, storage::open_to_change(path), true)?;
        opened.begin()?;
        let next = opened.fact(NEXT)?;
        Ok(Self {
            first_of_run: next.unwrap_or(1),
            ..opened
        })
    }

    /// Opens an existing file for reading.
    pub(super) fn open_existing(path: &Path) -> Result<Self, StoreError> {
        let file = storage::open_private_file(path, File::options().read(true).write(true));
        let opened = Self::open_with(path, file, false)?;
        opened.check_format()?;
        Ok(opened)
    }

    fn open_with(path: &Path, file: io::Result<File>, checked: bool) -> Result<Self, StoreError> {
        let file = file.map_err(StoreError::Io)?;
        let identity = FileIdentity::of(&file).map_err(StoreError::Io)?;
        let backend = FileBackend::new(file);
        let database = Builder::new()
            .set_cache_size(CACHE)
            .set_check_integrity_on_open(checked)
            .create_with_backend(backend.map_err(open_error)?)
            .map_err(open_error)?;
        Ok(Self {
            path: path.to_owned(),
            identity,
            first_of_run: 0,
            database: RwLock::new(database),
        })
    }

    fn check_format(&self) -> Result<(), StoreError> {
        match self.fact(FORMAT)? {
            None | Some(OURS) => Ok(()),
            Some(other) => Err(StoreError::Newer(other)),
        }
    }

    /// Begins a run of the daemon: gives it the next number.
    fn begin(&self) -> Result<(), StoreError> {
        self.check_format()?;
        self.write(|transaction| {
            transaction.open_table(RECORDS).map_err(StoreError::of)?;
            let mut facts = transaction.open_table(FACTS).map_err(StoreError::of)?;
            let run = facts.get(RUN).map_err(StoreError::of)?;
            let run = run.map_or(0, |run| run.value());
            facts.insert(FORMAT, OURS).map_err(StoreError::of)?;
            facts.insert(RUN, run + 1).map_err(StoreError::of)?;
            Ok(())
        })
    }

    /// Fails if the file was removed, or another one is in its place.
    pub(super) fn check_place(&self) -> Result<(), StoreError> {
        if self.identity.is_at(&self.path) {
            Ok(())
        } else {
            Err(StoreError::Removed)
        }
    }

    /// The number of this run of the daemon.
    pub(super) fn run(&self) -> u64 {
        self.fact(RUN).ok().flatten().unwrap_or(0)
    }

    fn fact(&self, name: &str) -> Result<Option<u64>, StoreError> {
        let database = self.database.read().unwrap_or_else(PoisonError::into_inner);
        let Some(facts) = table_of(&database, FACTS)? else {
            return Ok(None);
        };
        let found = facts.get(name).map_err(StoreError::of)?;
        Ok(found.map(|value| value.value()))
    }

    fn write<T>(
        &self,
        change: impl FnOnce(&WriteTransaction) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let database = self.database.read().unwrap_or_else(PoisonError::into_inner);
        let transaction = database.begin_write().map_err(StoreError::of)?;
        let changed = change(&transaction)?;
        transaction.commit().map_err(StoreError::of)?;
        Ok(changed)
    }

    /// Writes records, removes the oldest beyond the bounds, and compacts the file if it has grown beyond them.
    pub(super) fn append(
        &self,
        new: &[NewRecord],
        bounds: &ActivitySettings,
        now: u64,
    ) -> Result<Totals, StoreError> {
        let totals = self.append_once(new, bounds, now)?;
        if totals.file_bytes > most_bytes(bounds) && !new.is_empty() {
            // At once: the next write may be far away.
            return self.append_once(&[], bounds, now);
        }
        Ok(totals)
    }

    fn append_once(
        &self,
        new: &[NewRecord],
        bounds: &ActivitySettings,
        now: u64,
    ) -> Result<Totals, StoreError> {
        let most_bytes = most_bytes(bounds);
        let is_too_large = self.file_bytes() > most_bytes;
        let (records, removed) = self.write(|transaction| {
            let mut table = transaction.open_table(RECORDS).map_err(StoreError::of)?;
            let mut facts = transaction.open_table(FACTS).map_err(StoreError::of)?;
            let mut found = [0; 3];
            for (fact, name) in found.iter_mut().zip([NEXT, COUNT, BYTES]) {
                let value = facts.get(name).map_err(StoreError::of)?;
                *fact = value.map_or(0, |value| value.value());
            }
            let [next, mut records, mut bytes] = found;
            let mut next = next.max(1);
            for (count, row) in block::rows(new, bounds.max_records) {
                table.insert(next, &row[..]).map_err(StoreError::of)?;
                let count = u64::try_from(count).unwrap_or(u64::MAX);
                next += count;
                records += count;
                bytes += size_of_row(&row);
            }
            let age = u64::try_from(bounds.max_age.as_millis()).unwrap_or(u64::MAX);
            let excess = Excess {
                records,
                bytes,
                most: u64::try_from(bounds.max_records).unwrap_or(u64::MAX),
                // Half, because pages are not full and changes need further ones. If the file has grown too large all the same, less.
                most_bytes: if is_too_large {
                    (bytes - bytes / 4).min(most_bytes / 2)
                } else {
                    most_bytes / 2
                },
                oldest: now.saturating_sub(age),
            };
            let left = excess.remove(&mut table)?;
            for (name, fact) in [(NEXT, next), (COUNT, left.records), (BYTES, left.bytes)] {
                facts.insert(name, fact).map_err(StoreError::of)?;
            }
            Ok((left.records, bytes > left.bytes))
        })?;
        if is_too_large && removed {
            self.compact()?;
        }
        Ok(Totals {
            records,
            file_bytes: self.file_bytes(),
        })
    }

    /// Makes the file smaller by its free pages. Waits for readers, each of which takes milliseconds.
    fn compact(&self) -> Result<(), StoreError> {
        let mut database = self
            .database
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        database.compact().map(drop).map_err(StoreError::of)
    }

    fn file_bytes(&self) -> u64 {
        fs::metadata(&self.path).map_or(0, |found| found.len())
    }

    /// A page of the records that the filter selects.
    pub(super) fn page(&self, filter: &RecordFilter) -> Result<RecordPage, StoreError> {
        let database = self.database.read().unwrap_or_else(PoisonError::into_inner);
        let Some(table) = table_of(&database, RECORDS)? else {
            return Ok(RecordPage::default());
        };
        let rows: Box<dyn Iterator<Item = _>> = match filter.order {
            RecordOrder::NewestFirst(before) => {
                Box::new(table.range(..before).map_err(StoreError::of)?.rev())
            }
            RecordOrder::OldestFirst(after) => {
                let wanted = after.saturating_add(1);
                // It may be in the middle of a row.
                let holding = table.range(..=wanted).map_err(StoreError::of)?.next_back();
                let holding = holding.transpose().map_err(StoreError::of)?;
                let first = holding.map_or(wanted, |(first, _)| first.value());
                Box::new(table.range(first..).map_err(StoreError::of)?)
            }
        };
        let (mut page, mut looked_at) = (RecordPage::default(), 0);
        for row in rows {
            let (first, row) = row.map_err(StoreError::of)?;
            for (id, millis, json) in in_order(first.value(), row.value(), filter.order) {
                if page.records.len() == filter.limit || looked_at == LOOKED_AT {
                    return Ok(page);
                }
                looked_at += 1;
                page.next = Some(id);
                page.records.extend(wanted(id, millis, json, filter));
            }
        }
        page.next = None;
        Ok(page)
    }

    /// The number of the first record of this run.
    pub(super) fn first_of_run(&self) -> u64 {
        self.first_of_run
    }

    /// Gives records before a number to `take`, newest first: about `limit` of them, and none of rows that are all older than `oldest`.
    pub(super) fn look_back(
        &self,
        (before, limit, oldest): (u64, usize, u64),
        mut take: impl FnMut(u64, &[u8]),
    ) -> Result<LookedBack, StoreError> {
        let database = self.database.read().unwrap_or_else(PoisonError::into_inner);
        let Some(table) = table_of(&database, RECORDS)? else {
            return Ok(LookedBack::ToTheFirst(before));
        };
        let (mut looked_at, mut first_seen) = (0, before);
        for row in table.range(..before).map_err(StoreError::of)?.rev() {
            let (first, row) = row.map_err(StoreError::of)?;
            let entries = block::entries(row.value());
            if entries.last().is_some_and(|(millis, _)| *millis < oldest) {
                return Ok(LookedBack::ToOlder);
            }
            if looked_at >= limit {
                return Ok(LookedBack::To(first_seen));
            }
            looked_at += entries.len();
            first_seen = first.value();
            for (millis, json) in entries.into_iter().rev() {
                take(millis, json);
            }
        }
        Ok(LookedBack::ToTheFirst(first_seen))
    }

    /// One record.
    pub(super) fn record(&self, id: u64) -> Result<Option<ActivityRecord>, StoreError> {
        let database = self.database.read().unwrap_or_else(PoisonError::into_inner);
        let Some(table) = table_of(&database, RECORDS)? else {
            return Ok(None);
        };
        let holding = table.range(..=id).map_err(StoreError::of)?.next_back();
        let holding = holding.transpose().map_err(StoreError::of)?;
        Ok(holding.and_then(|(first, row)| {
            let at = usize::try_from(id - first.value()).ok()?;
            let (millis, json) = *block::entries(row.value()).get(at)?;
            read(id, millis, json)
        }))
    }
}

/// A table of the file; `None` if nothing was written yet.
fn table_of<K: Key + 'static, V: Value + 'static>(
    database: &Database,
    table: TableDefinition<'_, K, V>,
) -> Result<Option<ReadOnlyTable<K, V>>, StoreError> {
    let reading = database.begin_read().map_err(StoreError::of)?;
    match reading.open_table(table) {
        Ok(table) => Ok(Some(table)),
        Err(TableError::TableDoesNotExist(_)) => Ok(None),
        Err(error) => Err(StoreError::of(error)),
    }
}

/// The numbers, times and JSON of the records of a row that this order selects, in that order.
fn in_order(first: u64, row: &[u8], order: RecordOrder) -> Vec<(u64, u64, &[u8])> {
    let entries = (first..).zip(block::entries(row));
    let entries = entries.map(|(id, (millis, json))| (id, millis, json));
    let mut entries: Vec<_> = entries
        .filter(|(id, ..)| match order {
            RecordOrder::NewestFirst(before) => *id < before,
            RecordOrder::OldestFirst(after) => *id > after,
        })
        .collect();
    if matches!(order, RecordOrder::NewestFirst(_)) {
        entries.reverse();
    }
    entries
}

fn wanted(id: u64, millis: u64, json: &[u8], filter: &RecordFilter) -> Option<ActivityRecord> {
    if !filter.is_in_time(millis) {
        return None;
    }
    read(id, millis, json).filter(|record| filter.wants(record))
}

/// Reads a record. `None` if it is damaged.
fn read(id: u64, millis: u64, json: &[u8]) -> Option<ActivityRecord> {
    let record: ActivityRecord = serde_json::from_slice(json).ok()?;
    Some(ActivityRecord {
        id,
        time: moment::utc_millis(millis),
        ..record
    })
}

fn open_error(error: DatabaseError) -> StoreError {
    match error {
        DatabaseError::DatabaseAlreadyOpen | DatabaseError::LockProtocolMismatch => {
            StoreError::InUse
        }
        DatabaseError::UpgradeRequired(format) => StoreError::Newer(format.into()),
        DatabaseError::Storage(StorageError::Corrupted(why)) => StoreError::Damaged(why),
        // A file of another kind.
        DatabaseError::Storage(StorageError::Io(error))
            if matches!(
                error.kind(),
                io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof
            ) =>
        {
            StoreError::Damaged("its content is not an activity log".to_owned())
        }
        DatabaseError::Storage(StorageError::Io(error)) => StoreError::Io(error),
        DatabaseError::RepairAborted => StoreError::Damaged("it could not be repaired".to_owned()),
        other => StoreError::Io(io::Error::other(other.to_string())),
    }
}

/// The bound of the file's size in bytes.
fn most_bytes(bounds: &ActivitySettings) -> u64 {
    let megabytes = u64::try_from(bounds.max_size_mb).unwrap_or(u64::MAX);
    megabytes.saturating_mul(1 << 20)
}
