//! Filters of records, and the order in which they are read.

use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::{ActivityRecord, Redaction, program};
use crate::{
    config::duration,
    failure::ErrorCode,
    text::{
        ServerName,
        moment::{self, DAY},
        names,
    },
};

/// The filter of records; absent parameters filter nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default)]
pub struct RecordQuery {
    /// The kinds of records, separated by commas: `call`, `refusal`, `change`, `server`, `daemon`, `gap`.
    pub kind: Option<String>,
    /// The server's name.
    pub server: Option<String>,
    /// The tool by its own name, as `server:tool`, or by the name under which clients see it.
    pub tool: Option<String>,
    /// The caller.
    pub caller: Option<String>,
    /// The client by the name that it gives itself, with or without its version.
    pub client: Option<String>,
    /// The outcomes or error codes, separated by commas.
    pub outcome: Option<String>,
    /// The id of a call, which selects it and the calls that it caused; without `run`, in the newest run of the daemon that has it.
    pub call: Option<String>,
    /// The run of the daemon; each run counts its calls from 1.
    #[schemars(range(min = 1))]
    pub run: Option<u64>,
    /// Whether to select only records with masked values.
    pub masked: Option<bool>,
    /// The earliest time, such as `2026-11-21T08:30`, or how long ago, such as `2h`.
    pub since: Option<String>,
    /// The latest time, or how long ago.
    pub until: Option<String>,
    /// The number of a record; the answer has older ones, newest first.
    pub cursor: Option<u64>,
    /// The number of a record; the answer has newer ones, oldest first.
    pub after: Option<u64>,
    /// The number of records, 1 to 1000; 50 by default.
    #[schemars(range(min = 1, max = 1000))]
    pub limit: Option<usize>,
}

/// The most records of a page, and the default.
pub const PAGE: (usize, usize) = (1_000, 50);

/// Every kind of record.
const KINDS: [&str; 6] = ["call", "refusal", "change", "server", "daemon", "gap"];

/// Every outcome of a record.
#[rustfmt::skip]
const OUTCOMES: [&str; 8] = [
    "ok", "tool_error", "rpc_error", "asked", "refused", "failed", "invalid", "withdrawn",
];

/// The most characters of a wrong value that an error repeats.
const REPEATED: usize = 100;

/// A valid query, with its times and its order parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RecordFilter {
    pub(super) query: RecordQuery,
    /// The server and the tool of the query as records have them: redacted.
    recorded: [Option<String>; 2],
    pub(super) since: u64,
    pub(super) until: u64,
    pub(super) limit: usize,
    pub(super) order: RecordOrder,
}

/// The direction in which records are read, and where reading begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RecordOrder {
    /// Backwards, from before this id.
    NewestFirst(u64),
    /// Forwards, from after this id.
    OldestFirst(u64),
}

/// Why a query is not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadQuery {
    /// A text that is not a time.
    #[error("nothing was read: `{key}` cannot be {text:?}")]
    Time {
        /// The parameter.
        key: &'static str,
        /// Its text.
        text: String,
    },
    /// An unknown kind of record.
    #[error("nothing was read: `kind` cannot be {0:?}")]
    Kind(String),
    /// An unknown outcome.
    #[error("nothing was read: `outcome` cannot be {0:?}")]
    Outcome(String),
    /// Both `cursor` and `after`.
    #[error("nothing was read: `cursor` and `after` are both given")]
    Directions,
}

impl BadQuery {
    /// The next step.
    pub fn next_step(&self) -> String {
        match self {
            Self::Time { .. } => {
                "Write a time such as 2026-11-21T08:30 (UTC), today or yesterday, or how long ago: 2h, 7d."
                    .to_owned()
            }
            Self::Kind(_) => format!("Write one of: {}.", KINDS.join(", ")),
            Self::Outcome(_) => {
                format!("Write one of: {}; or an error code such as access_denied.", OUTCOMES.join(", "))
            }
            Self::Directions => "Leave one of them out.".to_owned(),
        }
    }
}

impl RecordQuery {
    pub(super) fn understood(self, now: SystemTime) -> Result<RecordFilter, BadQuery> {
        let time = |key: &'static str, text: Option<&String>, otherwise: u64| match text {
            None => Ok(otherwise),
            Some(text) => read_time(text, now).ok_or_else(|| BadQuery::Time {
                key,
                text: text.chars().take(REPEATED).collect(),
            }),
        };
        let repeated = |text: &str| text.chars().take(REPEATED).collect::<String>();
        if let Some(kind) = each(self.kind.as_ref()).find(|kind| !KINDS.contains(kind)) {
            return Err(BadQuery::Kind(repeated(kind)));
        }
        if let Some(outcome) = each(self.outcome.as_ref()).find(|text| !is_outcome(text)) {
            return Err(BadQuery::Outcome(repeated(outcome)));
        }
        let limit = self.limit.unwrap_or(PAGE.1).clamp(1, PAGE.0);
        let order = match (self.cursor, self.after) {
            (Some(_), Some(_)) => return Err(BadQuery::Directions),
            (None, Some(after)) => RecordOrder::OldestFirst(after),
            (cursor, None) => RecordOrder::NewestFirst(cursor.unwrap_or(u64::MAX)),
        };
        Ok(RecordFilter {
            since: time("since", self.since.as_ref(), 0)?,
            until: time("until", self.until.as_ref(), u64::MAX)?,
            limit,
            order,
            recorded: [None, None],
            query: self,
        })
    }
}

/// The values of a filter that takes several.
fn each(filter: Option<&String>) -> impl Iterator<Item = &str> {
    filter.into_iter().flat_map(|filter| filter.split(','))
}

/// Whether a text is an outcome, an error code, or the number of a JSON-RPC error.
fn is_outcome(text: &str) -> bool {
    OUTCOMES.contains(&text) || ErrorCode::parse(text).is_some() || text.parse::<i64>().is_ok()
}

impl RecordFilter {
    pub(super) fn is_in_time(&self, millis: u64) -> bool {
        (self.since..self.until).contains(&millis)
    }

    /// The same filter, which also finds the names as records have them: redacted and cut.
    pub(super) fn in_record_words(mut self, redaction: &Redaction) -> Self {
        let name = |name: &str| redaction.name(name);
        let server = self.query.server.as_deref().map(name);
        let tool = self.query.tool.as_deref().map(|tool| {
            // Records have the two names redacted each by itself.
            let parts = tool.split_once(':');
            parts.map_or_else(
                || name(tool),
                |(server, own)| format!("{}:{}", name(server), name(own)),
            )
        });
        self.recorded = [server, tool];
        self
    }

    pub(super) fn wants(&self, record: &ActivityRecord) -> bool {
        let query = &self.query;
        let is = |wanted: &Option<String>, found: Option<&str>| match wanted {
            None => true,
            Some(wanted) => found == Some(wanted.as_str()),
        };
        let (server, tool) = (record.server.as_deref(), record.tool.as_deref());
        let is_offered_as = |wanted: &str| {
            let server = server.and_then(|server| ServerName::parse(server).ok());
            let offered = server.zip(tool).map(|(of, tool)| names::offered(&of, tool));
            offered.as_deref() == Some(wanted)
        };
        let names_tool = |wanted: &str| {
            let parts = wanted.split_once(':');
            tool == Some(wanted)
                || (wanted.contains("__") && is_offered_as(wanted))
                || parts.is_some_and(|(of, name)| server == Some(of) && tool == Some(name))
        };
        let [recorded_server, recorded_tool] = &self.recorded;
        let is_tool = query.tool.as_deref().is_none_or(names_tool)
            || recorded_tool.as_deref().is_some_and(names_tool);
        let is_server =
            is(&query.server, server) || recorded_server.is_some() && is(recorded_server, server);
        let is_kind =
            query.kind.is_none() || each(query.kind.as_ref()).any(|kind| kind == record.kind);
        let is_outcome = query.outcome.is_none()
            || each(query.outcome.as_ref())
                .any(|one| one == record.outcome || record.code.as_deref() == Some(one));
        let client = record.client.as_deref();
        let is_client = is(&query.client, client) || is(&query.client, client.map(program));
        let is_call =
            is(&query.call, record.call.as_deref()) || is(&query.call, record.parent.as_deref());
        is_tool
            && is_outcome
            && is_call
            && is_kind
            && is_client
            && query.run.is_none_or(|run| run == record.run)
            && query
                .masked
                .is_none_or(|masked| masked == record.masked.is_some())
            && is_server
            && is(&query.caller, record.caller.as_deref())
    }
}

/// Reads a point in time: what [`moment::read`] reads, the beginning of `today` or `yesterday`, or how long ago (`90m`, `2d`).
fn read_time(text: &str, now: SystemTime) -> Option<u64> {
    let text = text.trim();
    if let Some(ago) = duration::parse(text) {
        return Some(now.checked_sub(ago).map_or(0, moment::millis));
    }
    let today = moment::millis(now) / DAY * DAY;
    match text {
        "today" => Some(today),
        "yesterday" => Some(today.saturating_sub(DAY)),
        date => moment::read(date),
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use proptest::{option, proptest};

    use super::*;
    use crate::text::secret::Secrets;

    fn record() -> ActivityRecord {
        let text = |text: &str| Some(text.to_owned());
        ActivityRecord {
            kind: "call".to_owned(),
            run: 4,
            call: text("c2"),
            parent: text("c1"),
            caller: text("anonymous"),
            client: text("Claude Code 2.1"),
            server: text("up"),
            tool: text("echo"),
            outcome: "refused".to_owned(),
            code: text("tool_disabled"),
            ..ActivityRecord::default()
        }
    }

    #[track_caller]
    fn check(query: &str, wanted: bool) {
        let query: RecordQuery = serde_json::from_str(query).expect("a query");
        let filter = query.understood(UNIX_EPOCH).expect("it makes sense");
        assert_eq!(filter.wants(&record()), wanted, "{:?}", filter.query);
    }

    #[test]
    fn a_record_is_wanted_if_it_is_all_that_is_asked_for() {
        check("{}", true);
        check(
            r#"{"kind":"call","server":"up","tool":"echo","caller":"anonymous"}"#,
            true,
        );
        check(r#"{"kind":"change"}"#, false);
        check(r#"{"server":"other"}"#, false);
        check(r#"{"server":"up","caller":"operator"}"#, false);
        check(r#"{"tool":"up:echo"}"#, true);
        check(r#"{"tool":"other:echo"}"#, false);
        check(r#"{"tool":"up__echo"}"#, true);
        check(r#"{"tool":"other__echo"}"#, false);
        check(r#"{"tool":"ech"}"#, false);
        check(r#"{"outcome":"refused"}"#, true);
        check(r#"{"outcome":"tool_disabled"}"#, true);
        check(r#"{"outcome":"ok"}"#, false);
        check(r#"{"outcome":"failed,refused"}"#, true);
        check(r#"{"outcome":"failed,tool_disabled"}"#, true);
        check(r#"{"outcome":"failed,ok"}"#, false);
        check(r#"{"kind":"gap,call"}"#, true);
        check(r#"{"kind":"gap,change"}"#, false);
        check(r#"{"client":"Claude Code"}"#, true);
        check(r#"{"client":"Claude Code 2.1"}"#, true);
        check(r#"{"client":"Claude"}"#, false);
        check(r#"{"call":"c2"}"#, true);
        check(r#"{"call":"c1"}"#, true);
        check(r#"{"call":"c3"}"#, false);
        check(r#"{"call":"c2","run":4}"#, true);
        check(r#"{"call":"c2","run":3}"#, false);
    }

    #[test]
    fn a_tool_whose_name_is_redacted_in_records_is_found_by_its_name() {
        let redaction = Redaction::new(Secrets::new(["hunter2-hunter2".to_owned()]));
        for name in ["sl/ash?a=1#x%2F..", "t_hunter2-hunter2", &"n".repeat(300)] {
            let record = ActivityRecord {
                tool: Some(redaction.name(name)),
                ..record()
            };
            assert_ne!(record.tool.as_deref(), Some(name));
            for tool in [name.to_owned(), format!("up:{name}"), redaction.name(name)] {
                let query = RecordQuery {
                    server: Some("up".to_owned()),
                    tool: Some(tool),
                    ..RecordQuery::default()
                };
                let filter = query.understood(UNIX_EPOCH).expect("it makes sense");
                let filter = filter.in_record_words(&redaction);
                assert!(filter.wants(&record), "{:?}", filter.query);
                let other = ActivityRecord {
                    tool: Some("echo".to_owned()),
                    ..record.clone()
                };
                assert!(!filter.wants(&other), "{:?}", filter.query);
            }
        }
    }

    #[test]
    fn a_query_is_understood_or_said_to_be_wrong() {
        let now = UNIX_EPOCH + Duration::from_secs(10_000);
        let read = |query: &str| {
            let query: RecordQuery = serde_json::from_str(query).expect("a query");
            query.understood(now)
        };
        let plain = read("{}").expect("nothing is asked for");
        assert_eq!(
            (plain.limit, plain.order),
            (50, RecordOrder::NewestFirst(u64::MAX))
        );
        assert!(plain.is_in_time(0) && plain.is_in_time(u64::MAX - 1));
        let some = read(r#"{"since":"1h","until":"1970-01-01T02:00","limit":1000,"after":7}"#)
            .expect("it makes sense");
        assert_eq!(
            (some.limit, some.order),
            (1_000, RecordOrder::OldestFirst(7))
        );
        let in_time =
            [6_399_999, 6_400_000, 7_199_999, 7_200_000].map(|time| some.is_in_time(time));
        assert_eq!(in_time, [false, true, true, false]);
        assert_eq!(read(r#"{"cursor":1,"after":1}"#), Err(BadQuery::Directions));
        for good in [
            "kind=gap",
            "outcome=asked",
            "outcome=rate_limited",
            "outcome=-32602",
        ] {
            let (key, value) = good.split_once('=').expect("a key");
            read(&format!("{{{key:?}:{value:?}}}")).expect(good);
        }
        let told = read(r#"{"kind":"calls"}"#).expect_err("no kind");
        let step = told.next_step();
        assert!(
            told.to_string().contains("\"calls\"") && step.contains("call, refusal, change"),
            "{told}: {step}"
        );
        let told = read(r#"{"outcome":"denied"}"#)
            .expect_err("no outcome")
            .next_step();
        assert!(
            told.contains("refused") && told.contains("access_denied"),
            "{told}"
        );
        for wrong in ["", "call,", "call,calls", "call, gap"] {
            let told = read(&format!(r#"{{"kind":{wrong:?}}}"#));
            assert!(matches!(told, Err(BadQuery::Kind(_))), "{wrong}");
        }
        assert!(matches!(
            read(r#"{"outcome":"refused,denied"}"#),
            Err(BadQuery::Outcome(text)) if text == "denied"
        ));
        assert!(matches!(
            read(r#"{"since":"soon"}"#),
            Err(BadQuery::Time { key: "since", .. })
        ));
    }

    #[test]
    fn times_are_read_as_people_write_them() {
        const NOW: u64 = 1_795_293_859_123;
        let now = UNIX_EPOCH + Duration::from_millis(NOW);
        let check = |text: &str, expected: Option<u64>| {
            assert_eq!(read_time(text, now), expected, "{text:?}");
        };
        check("2000-02-29", Some(951_782_400_000));
        check("2000-02-29 00:01", Some(951_782_460_000));
        check("2000-02-29T00:01:00.5Z", Some(951_782_460_500));
        check("today", Some(1_795_219_200_000));
        check("yesterday", Some(1_795_219_200_000 - 86_400_000));
        check("0s", Some(NOW));
        check("1h", Some(NOW - 3_600_000));
        check("365d", Some(NOW - 365 * 86_400_000));
        for bad in [
            "",
            "x",
            "2001-02-29",
            "2000-13-01",
            "2000-00-01",
            "2000-01-32",
            "2000-01",
            "2000-1-1T24:00",
            "2000-01-01T1",
            "2000-01-01T00:00+02:00",
            "2000-01-01T00:00:00.x",
            "-5",
            "1969-12-31",
            "99999-01-01",
        ] {
            check(bad, None);
        }
    }

    proptest! {
        #[test]
        fn no_query_panics(since in option::of(".{0,30}"), until in option::of("[0-9TZ:. -]{0,30}"), limit in option::of(0_usize..), cursor in option::of(0_u64..)) {
            let query = RecordQuery { since, until, cursor, limit, ..RecordQuery::default() };
            if let Ok(filter) = query.understood(SystemTime::now()) {
                filter.wants(&record());
                assert!((1..=PAGE.0).contains(&filter.limit));
            }
        }
    }
}
