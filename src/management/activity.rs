//! The activity log for operators: its records, and what the calls in it add up to. A daemon has all that happened until now; over files
//! it is what the file has.

use super::{Backing, Management, blocking};
use crate::{
    activity::{
        ActivityReader, ActivityRecord, RecordPage, RecordQuery, UnreadableActivity, UsageQuery,
        UsageReport,
    },
    failure::{ErrorCode, Failure, NextStep, Result},
};

impl<B: Backing> Management<B> {
    /// A page of the records that match a query.
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

    /// What the calls of some days add up to, beside what the definitions of all callable tools would have taken.
    pub async fn usage(&self, query: UsageQuery) -> Result<UsageReport> {
        let read = self.read_activity(move |reader| reader.usage(query));
        let mut usage = read.await?;
        let view = self.view()?;
        let tools = view.callable_tools();
        let bytes: usize = tools
            .map(|(_, tool)| tool.definition.as_bytes().len())
            .sum();
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        usage.definitions = usage.definitions.of_definitions(bytes);
        Ok(usage)
    }

    async fn read_activity<T: Send + 'static>(
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
        UnreadableActivity::File { step, .. } => {
            Failure::new(ErrorCode::Internal, error.to_string(), step).at_terminal(step)
        }
    }
}
