//! New records of the activity log as events. A reader that is too far behind gets the number of the records that it missed.

use bytes::{Bytes, BytesMut};
use serde_json::json;

use super::sse::{StreamNews, event};
use crate::{activity::RecordQuery, failure::Result, management::Management};

/// Limit: records that are read at once.
const AT_ONCE: usize = 200;

/// Limit: records that a reader may be behind. It misses the older ones.
const BEHIND: u64 = 1_000;

/// The records of the log that a reader has not got yet.
pub(super) struct RecordNews {
    management: Management,
    /// Which records are wanted.
    filter: RecordQuery,
    /// The last record that was looked at.
    after: u64,
    /// How many events the log had taken then.
    noted: u64,
}

impl RecordNews {
    /// The matching records from now on, or after the record that the query names.
    pub(super) async fn from_now(management: Management, filter: RecordQuery) -> Result<Self> {
        let noted = management.records_noted();
        let after = match filter.after {
            Some(after) => after,
            None => newest(&management).await?,
        };
        // A wrong query is refused before the stream begins.
        let query = RecordQuery {
            after: Some(after),
            limit: Some(1),
            ..filter.clone()
        };
        let waiting = management.activity(query).await?;
        Ok(Self {
            // Existing records are read at the first look.
            noted: noted.wrapping_sub(u64::from(!waiting.records.is_empty())),
            management,
            filter,
            after,
        })
    }

    /// The number of the record after which the events begin.
    pub(super) fn after(&self) -> u64 {
        self.after
    }

    /// The events since the last call, which may be none.
    pub(super) async fn new_events(&mut self) -> Bytes {
        let noted = self.management.records_noted();
        if noted == self.noted {
            return Bytes::new();
        }
        match self.read().await {
            Ok((news, is_all)) => {
                if is_all {
                    self.noted = noted;
                }
                news
            }
            Err(failure) => {
                self.noted = noted;
                event("failed", &failure)
            }
        }
    }

    /// The next events, and whether there are no more.
    async fn read(&mut self) -> Result<(Bytes, bool)> {
        let mut news = BytesMut::new();
        let newest = newest(&self.management).await?;
        if newest < self.after {
            // The log and its numbers began anew.
            self.after = 0;
        }
        let behind = newest.saturating_sub(self.after);
        if behind > BEHIND {
            let missed = behind - BEHIND;
            self.after += missed;
            news.extend(event("lagged", &json!({ "missed": missed })));
        }
        let query = RecordQuery {
            after: Some(self.after),
            limit: Some(AT_ONCE),
            cursor: None,
            ..self.filter.clone()
        };
        let page = self.management.activity(query).await?;
        for record in &page.records {
            news.extend(event("record", record));
        }
        let last = page.records.last().map(|record| record.id);
        // Without a next page, all records have been read.
        let looked_at = page.next.or(last).unwrap_or(self.after);
        self.after = if page.next.is_none() {
            newest.max(looked_at)
        } else {
            looked_at
        };
        Ok((news.freeze(), page.next.is_none()))
    }
}

/// The number of the newest record.
async fn newest(management: &Management) -> Result<u64> {
    let query = RecordQuery {
        limit: Some(1),
        ..RecordQuery::default()
    };
    let page = management.activity(query).await?;
    Ok(page.records.first().map_or(0, |record| record.id))
}

impl StreamNews for RecordNews {
    async fn next(&mut self) -> Option<Bytes> {
        Some(self.new_events().await)
    }
}
