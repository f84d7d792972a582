//! Where records come from: the daemon, or the file that nobody has open.

use http::Method;

use super::rows::shown;
use crate::{
    activity::{ActivityRecord, PAGE, RecordPage, RecordQuery},
    cli::{failure::CommandFailure, output},
    daemon_client::{self, AnswerDeadline, DaemonClient},
    management::{Management, OverFiles},
};

/// Where records come from.
pub(super) struct RecordSource {
    pub(super) files: Management<OverFiles>,
    pub(super) daemon: Option<DaemonClient>,
}

impl RecordSource {
    pub(super) async fn page(&mut self, query: RecordQuery) -> Result<RecordPage, CommandFailure> {
        let Some(daemon) = &mut self.daemon else {
            return Ok(self.files.activity(query).await?);
        };
        let path = path_of(&query);
        let body = daemon
            .send(Method::GET, &path, "", AnswerDeadline::Daemon)
            .await?;
        Ok(daemon_client::read(&path, &body)?)
    }

    pub(super) async fn record(&mut self, id: u64) -> Result<Vec<u8>, CommandFailure> {
        match &mut self.daemon {
            Some(daemon) => Ok(daemon
                .get(&format!("/api/v1/activity/{id}"))
                .await?
                .to_vec()),
            None => output::as_json(&self.files.activity_record(id).await?),
        }
    }

    /// As many of the records as are wanted: a page may have looked at many and found few.
    pub(super) async fn records(
        &mut self,
        query: RecordQuery,
        most: usize,
    ) -> Result<RecordPage, CommandFailure> {
        self.until_enough(query, |found| most.saturating_sub(found.len()))
            .await
    }

    /// Records for as many rows as are wanted, or a few more.
    pub(super) async fn records_for_rows(
        &mut self,
        query: RecordQuery,
        most: usize,
        all: bool,
    ) -> Result<RecordPage, CommandFailure> {
        /// Limit: records between a call of a built-in tool and the call that it made. With more both have a row.
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
    ) -> Result<RecordPage, CommandFailure> {
        let mut found = RecordPage::default();
        loop {
            query.limit = Some(wanted(&found.records).clamp(1, PAGE.0));
            let page = self.page(query.clone()).await?;
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
    let number = |number: Option<u64>| number.map(|number| number.to_string());
    let parameters = [
        ("kind", query.kind.clone()),
        ("server", query.server.clone()),
        ("tool", query.tool.clone()),
        ("caller", query.caller.clone()),
        ("outcome", query.outcome.clone()),
        ("call", query.call.clone()),
        ("run", number(query.run)),
        ("since", query.since.clone()),
        ("until", query.until.clone()),
        ("cursor", number(query.cursor)),
        ("after", number(query.after)),
        ("limit", query.limit.map(|limit| limit.to_string())),
    ];
    let parameters = parameters.into_iter().filter_map(|(key, value)| {
        let value = value?;
        Some(format!("{key}={}", daemon_client::encoded(&value)))
    });
    let parameters: Vec<String> = parameters.collect();
    format!("/api/v1/activity?{}", parameters.join("&"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_an_address() {
        let query = RecordQuery {
            server: Some("a&b".to_owned()),
            after: Some(3),
            ..RecordQuery::default()
        };
        assert_eq!(path_of(&query), "/api/v1/activity?server=a%26b&after=3");
    }
}
