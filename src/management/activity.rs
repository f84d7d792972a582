//! The activity log, read for the operator: over a daemon all that was noted until now, over files what is in the file.

use super::{Backing, Management, blocking};
use crate::{
    activity::{ActivityReader, ActivityRecord, RecordPage, RecordQuery, UnreadableActivity},
    failure::{ErrorCode, Failure, NextStep, Result},
};

impl<B: Backing> Management<B> {
    /// Some of the records that are asked for, and where to go on.
    pub async fn activity(&self, query: RecordQuery) -> Result<RecordPage> {
        self.read_activity(move |reader| reader.page(query)).await
    }

    /// One record by its number.
    pub async fn activity_record(&self, id: u64) -> Result<ActivityRecord> {
        let found = self.read_activity(move |reader| reader.record(id)).await?;
        found.ok_or_else(|| {
            let error = format!("there is no activity record {id}");
            let failure = Failure::new(ErrorCode::UnknownRecord, error, "Name an existing record.");
            failure.with_step(NextStep::ShowRecords)
        })
    }

    pub(super) async fn read_activity<T: Send + 'static>(
        &self,
        read: impl FnOnce(ActivityReader) -> Result<T, UnreadableActivity> + Send + 'static,
    ) -> Result<T> {
        let reader = self.0.activity().await.map_err(|error| failed(&error))?;
        let read = blocking(move || read(reader)).await?;
        read.map_err(|error| failed(&error))
    }
}

fn failed(error: &UnreadableActivity) -> Failure {
    match error {
        UnreadableActivity::Query(query) => Failure::new(
            ErrorCode::InvalidArguments,
            query.to_string(),
            query.next_step(),
        ),
        UnreadableActivity::File(_) => {
            let hint = "Check whether the disk is full; if not, restart the daemon: it then sets a damaged file aside.";
            let step = "check whether the disk is full; if not, `mcpproxy restart` sets a damaged file aside";
            Failure::new(ErrorCode::Internal, error.to_string(), hint).at_terminal(step)
        }
    }
}
