//! `mcpproxy activity`: the records of the activity log, on a terminal or in a file.

mod export;
mod rows;
mod source;

use std::time::{Duration, SystemTime};

use clap::{Args, Subcommand};
use serde_json::Value;

use self::{
    export::ExportActivity,
    rows::{row, shown},
    source::RecordSource,
};
use super::{
    CommandFailure, Done, Location, Output, connection,
    mistake::whole_number,
    output,
    table::{name, text},
};
use crate::{
    activity::{ActivityRecord, PAGE, RecordQuery},
    failure::NextStep,
    management::ServerList,
    text::moment::utc,
};

/// Show calls, refusals and changes
#[derive(Debug, Subcommand)]
pub(super) enum ActivityCommand {
    /// List records, newest first
    #[command(visible_alias = "ls")]
    List(ListActivity),
    /// Show one record
    Show(ShowActivity),
    /// Write records to a file or to stdout
    Export(ExportActivity),
}

#[derive(Debug, Args)]
struct ActivityFilter {
    /// Only this kind, such as call, refusal, change, server or daemon
    #[arg(long)]
    kind: Option<String>,
    /// Only records of this server
    #[arg(long, value_name = "NAME")]
    server: Option<String>,
    /// Only calls of `TOOL`, `SERVER:TOOL` or `SERVER__TOOL`
    #[arg(long)]
    tool: Option<String>,
    /// Only records of this caller
    #[arg(long)]
    caller: Option<String>,
    /// Only calls of this client, such as claude-code
    #[arg(long, value_name = "NAME")]
    client: Option<String>,
    /// Only this outcome, such as ok, refused or failed, or an error code
    #[arg(long)]
    outcome: Option<String>,
    /// Only the call with this id, and the calls that it caused
    #[arg(long, value_name = "ID")]
    call: Option<String>,
    /// Only records of this run of the daemon
    #[arg(long, value_name = "NUMBER", value_parser = whole_number(1..=u64::from(u32::MAX)))]
    run: Option<u64>,
    /// Since 2026-11-21T08:30 (UTC), today, yesterday, 2h or 7d ago
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Until 2026-11-21T08:30 (UTC), yesterday, 1h or 2d ago
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
}

#[derive(Debug, Args)]
pub(super) struct ListActivity {
    #[command(flatten)]
    filter: ActivityFilter,
    /// How many records
    #[arg(short = 'n', long, default_value_t = 50, value_parser = whole_number(1..=1000_u16))]
    limit: u16,
    /// Print new records as they come, until Ctrl-C
    #[arg(short, long)]
    follow: bool,
}

#[derive(Debug, Args)]
pub(super) struct ShowActivity {
    /// The record's ID, as `activity list` shows it
    id: u64,
}

/// Between two looks for new records with `--follow`.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

impl ActivityCommand {
    pub(super) async fn run(self, location: &Location, out: Output) -> Done {
        let files = location.files()?;
        let source = RecordSource(connection::open_or_files(&files, out).await?);
        match self {
            Self::List(list) => list.run(source, out).await,
            Self::Show(show) => show.run(source, out).await,
            Self::Export(export) => export.run(source, out).await,
        }
    }
}

impl ActivityFilter {
    fn query(self) -> RecordQuery {
        RecordQuery {
            kind: self.kind,
            server: self.server,
            tool: self.tool,
            caller: self.caller,
            client: self.client,
            outcome: self.outcome,
            call: self.call,
            run: self.run,
            since: self.since,
            until: self.until,
            ..RecordQuery::default()
        }
    }
}

impl ListActivity {
    async fn run(self, mut source: RecordSource, out: Output) -> Done {
        if self.follow && out.is_json() {
            let mistake = CommandFailure::usage("--follow cannot be used with -o json");
            return Err(mistake.next("`mcpproxy activity export` writes JSON"));
        }
        if self.follow && source.0.is_over_files() {
            let mistake =
                CommandFailure::not_reachable("the daemon is not running, so no records are added");
            return Err(mistake.next("`mcpproxy start`, then run this again"));
        }
        let query = self.filter.query();
        let most = usize::from(self.limit);
        let shows_all = out.is_verbose();
        if self.follow {
            return follow(source, &query, most, shows_all).await;
        }
        if out.is_json() {
            return output::print_value(&source.records(query, most).await?);
        }
        let reading = source.records_for_rows(query.clone(), most, shows_all);
        let found = reading.await?;
        if found.records.is_empty() {
            let list = source.0.fetch::<ServerList>("/api/v1/servers").await;
            let servers = list.as_ref().map(|list| &list.servers);
            let is_unknown = |name: &&String| {
                servers.is_ok_and(|rows| rows.iter().all(|row| row.name != **name))
            };
            // A server that was removed has records that the other filters left out.
            let of_server = RecordQuery {
                server: query.server.clone(),
                ..RecordQuery::default()
            };
            let was_never = source.records(of_server, 1).await?.records.is_empty();
            let unknown = query.server.as_ref().filter(is_unknown);
            if let Some(server) = unknown.filter(|_| was_never) {
                out.note(&format!(
                    "no matching records: there is no server {server:?}"
                ));
                out.next(&NextStep::ShowServers.at_terminal(server));
            } else {
                out.note(nothing_found(&query));
            }
            return Ok(());
        }
        if let (Some(call), Some(run)) = (&query.call, found.run) {
            // The call's id alone may occur in several runs.
            out.note(&format!(
                "run {run} of the daemon, the latest with call {call}; --run selects another"
            ));
        }
        print(&found.records, shows_all, most)
    }
}

/// Prints the newest records, oldest first, and then new ones as they come, until nobody reads them any more.
async fn follow(
    mut source: RecordSource,
    query: &RecordQuery,
    most: usize,
    shows_all: bool,
) -> Done {
    let reading = source.records_for_rows(query.clone(), most, shows_all);
    let found = reading.await?.records;
    let mut last = match found.first() {
        Some(newest) => newest.id,
        None => source.newest_id().await?,
    };
    let newest = shown(&found, shows_all).take(most);
    let mut records: Vec<ActivityRecord> = newest.map(|shown| shown.record.clone()).collect();
    records.reverse();
    loop {
        let today = utc(SystemTime::now());
        for shown in shown(&records, shows_all) {
            output::print_foreign_text(&row(shown, &today).join("  "))?;
        }
        if output::is_unread() {
            return Ok(());
        }
        tokio::time::sleep(POLL_INTERVAL).await;
        let added = RecordQuery {
            after: Some(last),
            since: None,
            ..query.clone()
        };
        records = source.records(added, PAGE.0).await?.records;
        last = records.iter().fold(last, |last, one| last.max(one.id));
    }
}

/// Why a query may have found nothing.
fn nothing_found(query: &RecordQuery) -> &'static str {
    let is_filtered = RecordQuery {
        limit: None,
        ..query.clone()
    } != RecordQuery::default();
    if !is_filtered {
        "no records yet; calls and changes add them"
    } else if query.kind.as_deref() == Some("refusal") {
        "no matching records; `--outcome refused` shows refused calls"
    } else {
        "no matching records; `mcpproxy activity list` shows all"
    }
}

fn print(records: &[ActivityRecord], all: bool, most: usize) -> Done {
    let columns = [
        name("ID"),
        name("TIME"),
        name("CALLER"),
        text("WHAT", 2),
        name("OUTCOME"),
        name("TOOK"),
    ];
    let today = utc(SystemTime::now());
    let rows = shown(records, all).take(most);
    output::print_table(columns, rows.map(|shown| row(shown, &today)))
}

impl ShowActivity {
    async fn run(self, mut source: RecordSource, out: Output) -> Done {
        let path = format!("/api/v1/activity/{}", self.id);
        let body = source.0.get(&path).await?;
        out.answer("the activity record", &body, |record: Value| {
            let facts = record.as_object().into_iter().flatten();
            output::print_facts(facts.map(|(name, value)| {
                if let ("duration_us", Some(us)) = (&**name, value.as_u64()) {
                    return ("took".to_owned(), rows::took(us));
                }
                let shown = value
                    .as_str()
                    .map_or_else(|| value.to_string(), str::to_owned);
                (name.replace('_', " "), shown)
            }))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{
        rows::{ShownRecord, time, took, what},
        *,
    };

    #[test]
    fn a_record_is_a_row_for_a_glance() {
        let text = |text: &str| Some(text.to_owned());
        let record = ActivityRecord {
            id: 12,
            time: "2026-11-21T20:44:19.123Z".to_owned(),
            kind: "call".to_owned(),
            caller: text("anonymous"),
            method: text("tools/call"),
            server: text("up"),
            tool: text("echo"),
            outcome: "refused".to_owned(),
            code: text("tool_disabled"),
            duration_us: Some(1_500),
            ..ActivityRecord::default()
        };
        let expected = [
            "12",
            "20:44:19",
            "anonymous",
            "up:echo",
            "tool_disabled",
            "1ms",
        ];
        assert_eq!(row(only(&record), "2026-11-21T21:00:00Z"), expected);
        for (today, shown) in [
            ("2026-11-22T00:00:00Z", "11-21 20:44"),
            ("2027-01-01T00:00:00Z", "2026-11-21"),
        ] {
            assert_eq!(time(&record.time, today), shown);
        }
        let read = ActivityRecord {
            method: text("resources/read"),
            tool: None,
            resource: text("a://b"),
            ..record
        };
        assert_eq!(what(only(&read)), "resources/read a://b");
        assert_eq!([took(999), took(61_250_000)], ["999µs", "61.2s"]);
        let failed = ActivityRecord {
            kind: "server".to_owned(),
            server: text("up"),
            action: text("failed"),
            error: text("exited with code 3"),
            ..ActivityRecord::default()
        };
        assert_eq!(what(only(&failed)), "server failed up exited with code 3");
        let named = ActivityRecord {
            client: text("claude-code 2.1"),
            ..read
        };
        let caller = &row(only(&named), "2026-11-21T21:00:00Z")[2];
        assert_eq!(caller, "anonymous (claude-code)");
    }

    fn only(record: &ActivityRecord) -> ShownRecord<'_> {
        let mut all = shown(std::slice::from_ref(record), true);
        all.next().expect("it is shown")
    }

    #[test]
    fn a_call_through_a_tool_of_ours_is_one_row() {
        let text = |text: &str| Some(text.to_owned());
        let outer = ActivityRecord {
            kind: "call".to_owned(),
            call: text("c1"),
            tool: text("call_tool_read"),
            method: text("tools/call"),
            outcome: "ok".to_owned(),
            arguments: Some(crate::wire::Raw::author(
                &serde_json::json!({ "name": "up:echo" }),
            )),
            ..ActivityRecord::default()
        };
        let inner = ActivityRecord {
            call: text("c2"),
            parent: text("c1"),
            server: text("up"),
            tool: text("echo"),
            variant: text("read"),
            arguments: None,
            ..outer.clone()
        };
        assert_eq!(what(only(&inner)), "call_tool_read → up:echo");
        assert_eq!(what(only(&outer)), "call_tool_read → up:echo");
        let plain = ActivityRecord {
            variant: None,
            ..inner.clone()
        };
        assert_eq!(what(only(&plain)), "→ up:echo");
        for (tool, rows) in [("call_tool", 1), ("code_execution", 2), ("proxy", 2)] {
            let through = ActivityRecord {
                tool: text(tool),
                ..outer.clone()
            };
            let records = [plain.clone(), through];
            let all: Vec<_> = shown(&records, false).collect();
            assert_eq!(all.len(), rows, "{tool}");
            assert_eq!(what(all[0]), format!("{tool} → up:echo"));
        }
        let apart = ActivityRecord {
            tool: text("call_tool"),
            arguments: Some(crate::wire::Raw::author(
                &serde_json::json!({ "server": "up", "tool": "echo" }),
            )),
            ..outer.clone()
        };
        assert_eq!(what(only(&apart)), "call_tool → up:echo");
        let count = |records: &[ActivityRecord], all| shown(records, all).count();
        assert_eq!(count(&[apart, plain], false), 1);
        assert_eq!(count(&[outer.clone(), inner.clone()], false), 1);
        assert_eq!(count(&[outer.clone(), inner.clone()], true), 2);
        assert_eq!(count(std::slice::from_ref(&outer), false), 1);
        let failed = ActivityRecord {
            outcome: "failed".to_owned(),
            ..outer
        };
        assert_eq!(count(&[failed, inner], false), 2, "another outcome");
    }
}
