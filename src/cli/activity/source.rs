//! Reads records page by page: from the daemon, or from the file that nobody has open.

use bytes::Bytes;
use serde_json::Value;

use super::rows::shown;
use crate::{
    activity::{ActivityRecord, PAGE, RecordPage, RecordQuery},
    cli::Done,
    daemon_client::{self, DaemonClient},
    management::Files,
};

/// Where records come from.
pub(super) struct RecordSource {
    pub(super) files: Files,
    pub(super) daemon: DaemonClient,
}

impl RecordSource {
    pub(super) async fn page(&mut self, query: &RecordQuery) -> Done<RecordPage> {
        Ok(self.daemon.fetch(&path_of(query)).await?)
    }

    pub(super) async fn record(&mut self, id: u64) -> Done<Bytes> {
        Ok(self.daemon.get(&format!("/api/v1/activity/{id}")).await?)
    }

    /// As many of the records as are wanted: a page may have looked at many and found few.
    pub(super) async fn records(&mut self, query: RecordQuery, most: usize) -> Done<RecordPage> {
        self.until_enough(query, |found| most.saturating_sub(found.len()))
            .await
    }

    /// Records for as many rows as are wanted, or a few more.
    pub(super) async fn records_for_rows(
        &mut self,
        query: RecordQuery,
        most: usize,
        all: bool,
    ) -> Done<RecordPage> {
        /// Records between a call of a built-in tool and the call that it made. With more both have a row.
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

    /// Reads on until no more are wanted, or there are none.
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
            // What follows is of the same run.
            found.run = found.run.or(page.run);
            query.run = query.run.or(page.run);
            match page.next {
                Some(next) if wanted(&found.records) > 0 => go_on(&mut query, next),
                _ => return Ok(found),
            }
        }
    }
}

/// The query for what comes after a page.
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
