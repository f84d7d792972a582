//! `/api/v1/events`: a stream of changes: of the state of servers, their lists and the configuration, and new records of the activity log.

use std::{collections::BTreeMap, sync::Arc};

use axum::extract::State;
use bytes::{Bytes, BytesMut};
use serde_json::{Value, json};

use super::{
    Answer, Api, Route, Routes,
    record_news::RecordNews,
    routes::EVENTS,
    sse::{self, StreamNews, event},
};
use crate::{activity::RecordQuery, catalog::Snapshot, config::Settings, management::Management};

pub(super) fn routes() -> Routes {
    vec![
        Route::get("/api/v1/events", stream)
            .about(
                "streamEvents",
                "Changes as they happen: the event `open`, then `server`, `removed`, `lists`, `config`, `record` and `lagged`.",
            )
            .gives_text(EVENTS),
    ]
}

async fn stream(State(api): State<Api>) -> Answer {
    let management = api.0.management.clone();
    let records = RecordNews::from_now(management.clone(), RecordQuery::default()).await?;
    let changes = Changes {
        known: Known::of(&management),
        management,
        records,
    };
    let open = json!({ "version": env!("CARGO_PKG_VERSION") });
    Ok(sse::respond(event("open", &open), changes))
}

/// The changes for one reader of the stream.
struct Changes {
    management: Management,
    known: Known,
    records: RecordNews,
}

/// What a reader knows: the state at one moment, which is compared with that of a later one.
struct Known {
    settings: Arc<Settings>,
    error: Option<String>,
    lists: Arc<Snapshot>,
    rows: BTreeMap<String, Value>,
}

impl Known {
    fn of(management: &Management) -> Self {
        let settings = management.settings_in_force();
        let lists = management.lists(&settings);
        let servers = management.servers().map(|list| list.servers);
        let rows = servers.unwrap_or_default().into_iter().map(|mut row| {
            // A countdown is no change.
            row.next_attempt_in_seconds = None;
            let value = serde_json::to_value(&row).unwrap_or_default();
            (row.name, value)
        });
        Self {
            rows: rows.collect(),
            error: management.config_error().map(|failure| failure.error),
            settings,
            lists,
        }
    }

    /// The events for a reader that knows this state, up to the state `now`.
    fn news(&self, now: &Self) -> BytesMut {
        let mut news = BytesMut::new();
        if !Arc::ptr_eq(&self.settings, &now.settings) || self.error != now.error {
            news.extend(event("config", &json!({ "error": now.error })));
        }
        for (name, row) in &now.rows {
            if self.rows.get(name) != Some(row) {
                news.extend(event("server", row));
            }
        }
        let is_gone = |name: &&String| !now.rows.contains_key(*name);
        for name in self.rows.keys().filter(is_gone) {
            news.extend(event("removed", &json!({ "name": name })));
        }
        if !Arc::ptr_eq(&self.lists, &now.lists) {
            let before = &self.lists.servers;
            let listed = now.lists.servers.iter().filter(|(name, listed)| {
                let known = before.get(*name);
                known.is_none_or(|known| !Arc::ptr_eq(known, listed))
            });
            let servers: Vec<&str> = listed.map(|(name, _)| name.as_str()).collect();
            news.extend(event("lists", &json!({ "servers": servers })));
        }
        news
    }
}

impl StreamNews for Changes {
    async fn next(&mut self) -> Option<Bytes> {
        let now = Known::of(&self.management);
        let mut news = self.known.news(&now);
        self.known = now;
        news.extend(self.records.new_events().await);
        Some(news.freeze())
    }
}
