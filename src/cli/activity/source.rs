//! Reads records from the daemon, page by page. Where no daemon runs, they come from its file.

use serde_json::Value;

use super::rows::shown;
use crate::{
    activity::{ActivityRecord, PAGE, RecordPage, RecordQuery},
    cli::Done,
    daemon_client::{self, DaemonClient},
};

/// The daemon, as the source of records.
pub(super) struct RecordSource(pub(super) DaemonClient);

impl RecordSource {
    pub(super) async fn page(&mut self, query: &RecordQuery) -> Done<RecordPage> {
        Ok(self.0.fetch(&path_of(query)).await?)
    }

    /// The id of the newest record, or 0.
    pub(super) async fn newest_id(&mut self) -> Done<u64> {
        let newest = RecordQuery {
            limit: Some(1),
            ..RecordQuery::default()
        };
        let page = self.page(&newest).await?;
        Ok(page.records.first().map_or(0, |newest| newest.id))
    }

    /// At most so many records, from as many pages as that takes: a page may have read many records and found few.
    pub(super) async fn records(&mut self, query: RecordQuery, most: usize) -> Done<RecordPage> {
        self.until_enough(query, |found| most.saturating_sub(found.len()))
            .await
    }

    /// Records for at least so many rows, if there are. Two records may be one row, so it reads a few more.
    pub(super) async fn records_for_rows(
        &mut self,
        query: RecordQuery,
        most: usize,
        all: bool,
    ) -> Done<RecordPage> {
        /// Limit: records between a call of a built-in tool and the call that it made. With more, both have a row.
        const BETWEEN: usize = 20;
        self.until_enough(query, |found| {
            let rows = shown(found, all).count();
            let missing = (most + 1).saturating_sub(rows);
            if missing == 0 {
                0
            } else {
                2 * missing + BETWEEN
            }
        })
        .await
    }

    /// Reads pages until `wanted` is 0, which says how many more records are wanted, or there are no more.
    async fn until_enough(
        &mut self,
        mut query: RecordQuery,
        wanted: impl Fn(&[ActivityRecord]) -> usize,
    ) -> Done<RecordPage> {
        let mut found = RecordPage::default();
        loop {
            query.limit = Some(wanted(&found.records).clamp(1, PAGE.0));
            let page = self.page(&query).await?;
            found.records.extend(page.records);
            found.next = page.next;
            // Further pages are of the same run.
            found.run = found.run.or(page.run);
            query.run = query.run.or(page.run);
            match page.next {
                Some(next) if wanted(&found.records) > 0 => go_on(&mut query, next),
                _ => return Ok(found),
            }
        }
    }
}

/// Changes a query into the one for the next page.
pub(super) fn go_on(query: &mut RecordQuery, next: u64) {
    if query.after.is_some() {
        query.after = Some(next);
    } else {
        query.cursor = Some(next);
    }
}

fn path_of(query: &RecordQuery) -> String {
    let query = serde_json::to_value(query).unwrap_or_default();
    let text = |value: &Value| match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    };
    let members = query.as_object().into_iter().flatten();
    let parameters = members.map(|(key, value)| (key.as_str(), text(value)));
    daemon_client::with_query("/api/v1/activity", &parameters.collect::<Vec<_>>())
}
