//! Reads the log: the file of the running daemon, or one that no daemon has open.

use std::{path::Path, sync::Arc, time::SystemTime};

use super::{
    Activity, ActivityRecord, ActivityStore, BadQuery, RecordPage, RecordQuery, Redaction,
    failures::StoreError,
    query::{RecordFilter, RecordOrder},
    writer,
};

/// Reads records. Its methods block.
#[derive(Debug, Clone)]
pub struct ActivityReader {
    pub(super) store: Option<Arc<ActivityStore>>,
    /// The redaction of names in records.
    pub(super) redaction: Arc<Redaction>,
}

/// Why no records can be read.
#[derive(Debug, thiserror::Error)]
pub enum UnreadableActivity {
    /// The query is not valid.
    #[error(transparent)]
    Query(#[from] BadQuery),
    /// The file cannot be read.
    #[error("the activity log {why}")]
    File {
        /// Its state, and the reason.
        why: String,
        /// What to do about it.
        step: String,
    },
}

impl ActivityReader {
    /// A reader of the file in a data folder while no daemon runs. A missing file has no records.
    pub fn of_file(data_dir: &Path) -> Result<Self, UnreadableActivity> {
        let file = writer::file_in(data_dir);
        let of = |store| Self {
            store,
            // Without settings no secrets are known.
            redaction: Arc::default(),
        };
        if !file.exists() {
            return Ok(of(None));
        }
        let opened = ActivityStore::open_existing(&file);
        let store = opened.map_err(|error| UnreadableActivity::File {
            why: format!("cannot be read: {}: {error}", file.display()),
            step: error.step(&file),
        })?;
        Ok(of(Some(Arc::new(store))))
    }

    /// A page of the records that the filter selects.
    pub fn page(&self, query: RecordQuery) -> Result<RecordPage, UnreadableActivity> {
        let filter = query.understood(SystemTime::now())?;
        let mut filter = filter.in_record_words(&self.redaction);
        let Some(store) = &self.store else {
            return Ok(RecordPage::default());
        };
        let mut run = None;
        if filter.query.call.is_some() && filter.query.run.is_none() {
            run = newest_run(store, filter.clone()).map_err(unreadable)?;
            filter.query.run = run;
        }
        let page = store.page(&filter).map_err(unreadable)?;
        Ok(RecordPage { run, ..page })
    }

    /// One record by its number.
    pub fn record(&self, id: u64) -> Result<Option<ActivityRecord>, UnreadableActivity> {
        match &self.store {
            Some(store) => store.record(id).map_err(unreadable),
            None => Ok(None),
        }
    }
}

impl Activity {
    /// A reader that finds all events so far.
    pub async fn reader(&self) -> Result<ActivityReader, UnreadableActivity> {
        self.flush().await;
        let store = self.0.store.lock().clone();
        let status = self.status();
        match (&store, status.problem) {
            (None, Some(problem)) => Err(UnreadableActivity::File {
                why: format!("is closed: {problem}"),
                step: status.next_step.unwrap_or_default(),
            }),
            _ => Ok(ActivityReader {
                store,
                redaction: Arc::new(self.redaction()),
            }),
        }
    }
}

/// The newest run of the daemon that has a record for this filter, wherever its page begins.
fn newest_run(store: &ActivityStore, mut filter: RecordFilter) -> Result<Option<u64>, StoreError> {
    filter.limit = 1;
    filter.order = RecordOrder::NewestFirst(u64::MAX);
    loop {
        let page = store.page(&filter)?;
        match (page.records.first(), page.next) {
            (Some(newest), _) => return Ok(Some(newest.run)),
            (None, Some(next)) => filter.order = RecordOrder::NewestFirst(next),
            (None, None) => return Ok(None),
        }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is what is mapped over")]
pub(super) fn unreadable(error: StoreError) -> UnreadableActivity {
    UnreadableActivity::File {
        why: format!("cannot be read: {error}"),
        step: error.step_while_open().to_owned(),
    }
}
