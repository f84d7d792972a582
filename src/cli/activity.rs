//! `mcpproxy activity`: what was called, decided and changed, from a terminal.

mod rows;

use std::{
    fs::File,
    io::{ErrorKind, Write},
    path::PathBuf,
    time::{Duration, SystemTime},
};

use clap::{Args, Subcommand};
use http::Method;
use serde_json::Value;

use self::rows::{row, shown};
use super::{
    Location, connection,
    failure::CommandFailure,
    output::{self, Output},
    table::{name, text},
};
use crate::{
    activity::{ActivityRecord, ExportFormat, PAGE, RecordPage, RecordQuery},
    daemon_client::{self, AnswerDeadline, DaemonClient},
    management::{Management, OverFiles},
    moment::utc,
    storage,
};

/// Show what was called, refused and changed
///
/// The daemon records every call with its caller, server, tool, outcome and duration; what of the arguments is kept, the key
/// `activity` of the configuration says. Works also when no daemon runs.
#[derive(Debug, Subcommand)]
#[command(after_long_help = EXAMPLES)]
pub(super) enum ActivityCommand {
    /// List records, the newest first
    #[command(visible_alias = "ls")]
    List(ListActivity),
    /// Show one record whole
    Show(ShowActivity),
    /// Write records to a file or to stdout, the oldest first
    Export(ExportActivity),
}

const EXAMPLES: &str = "\
Examples:
  mcpproxy activity list --server github --outcome refused
  mcpproxy activity list --since 2h -f
  mcpproxy activity show 1234
  mcpproxy activity export --since 2026-11-01 november.jsonl
  mcpproxy activity export --format csv > all.csv";

#[derive(Debug, Args)]
struct ActivityFilter {
    /// Only records of this kind: call, refusal, change, server, daemon, gap
    #[arg(long)]
    kind: Option<String>,
    /// Only records of this server
    #[arg(long, value_name = "NAME")]
    server: Option<String>,
    /// Only calls of this tool, by its own name or as SERVER:TOOL
    #[arg(long)]
    tool: Option<String>,
    /// Only what this caller did
    #[arg(long)]
    caller: Option<String>,
    /// Only what ended so: ok, refused, failed, withdrawn and others, or a code
    #[arg(long)]
    outcome: Option<String>,
    /// Only this call and those that it caused, by the id that log lines show
    #[arg(long, value_name = "ID")]
    call: Option<String>,
    /// From then on: a time in UTC (2026-11-21T08:30), today, yesterday, or how long ago (2h, 7d)
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Before then
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
}

#[derive(Debug, Args)]
pub(super) struct ListActivity {
    #[command(flatten)]
    filter: ActivityFilter,
    /// How many records
    #[arg(short = 'n', long, default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=1000))]
    limit: u16,
    /// Go on with what is added, until Ctrl-C
    #[arg(short, long)]
    follow: bool,
}

#[derive(Debug, Args)]
pub(super) struct ShowActivity {
    /// The record, by its number in the list
    id: u64,
}

#[derive(Debug, Args)]
pub(super) struct ExportActivity {
    #[command(flatten)]
    filter: ActivityFilter,
    /// A JSON object a line, or CSV
    #[arg(long = "format", value_name = "jsonl|csv", default_value = "jsonl", value_parser = form)]
    form: ExportFormat,
    /// The file, which is made private; stdout if none is given
    file: Option<PathBuf>,
    /// Replace the file if it is there
    #[arg(long, requires = "file")]
    force: bool,
}

fn form(text: &str) -> Result<ExportFormat, String> {
    ExportFormat::parse(text).ok_or_else(|| "write jsonl or csv".to_owned())
}

/// How often what is added is looked for.
const FOLLOWING: Duration = Duration::from_secs(1);

/// Where records come from.
struct Source {
    files: Management<OverFiles>,
    daemon: Option<DaemonClient>,
}

impl ActivityCommand {
    pub(super) async fn run(self, location: &Location, out: Output) -> Result<(), CommandFailure> {
        let files = location.files()?;
        let daemon = connection::open_if_running(&files, out).await?;
        let source = Source { files, daemon };
        match self {
            Self::List(list) => list.run(source, out).await,
            Self::Show(show) => show.run(source, out).await,
            Self::Export(export) => export.run(source, out).await,
        }
    }
}

impl ActivityFilter {
    fn query(self) -> RecordQuery {
        let Self {
            kind,
            server,
            tool,
            caller,
            outcome,
            call,
            since,
            until,
        } = self;
        RecordQuery {
            kind,
            server,
            tool,
            caller,
            outcome,
            call,
            since,
            until,
            ..RecordQuery::default()
        }
    }
}

impl Source {
    async fn page(&mut self, query: RecordQuery) -> Result<RecordPage, CommandFailure> {
        let Some(daemon) = &mut self.daemon else {
            return Ok(self.files.activity(query).await?);
        };
        let path = path_of(&query);
        let body = daemon
            .send(Method::GET, &path, "", AnswerDeadline::Daemon)
            .await?;
        Ok(daemon_client::read(&path, &body)?)
    }

    async fn record(&mut self, id: u64) -> Result<Vec<u8>, CommandFailure> {
        match &mut self.daemon {
            Some(daemon) => Ok(daemon
                .get(&format!("/api/v1/activity/{id}"))
                .await?
                .to_vec()),
            None => output::as_json(&self.files.activity_record(id).await?),
        }
    }

    /// As many of the records as are wanted: a page may have looked at many and found few.
    async fn records(
        &mut self,
        mut query: RecordQuery,
        most: usize,
    ) -> Result<RecordPage, CommandFailure> {
        let mut found = RecordPage::default();
        loop {
            query.limit = Some((most - found.records.len()).min(PAGE.0));
            let page = self.page(query.clone()).await?;
            found.records.extend(page.records);
            found.next = page.next;
            match page.next {
                Some(next) if found.records.len() < most => go_on(&mut query, next),
                _ => return Ok(found),
            }
        }
    }
}

fn go_on(query: &mut RecordQuery, next: u64) {
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
        ("since", query.since.clone()),
        ("until", query.until.clone()),
        ("cursor", number(query.cursor)),
        ("after", number(query.after)),
        ("limit", query.limit.map(|limit| limit.to_string())),
    ];
    let said = parameters.into_iter().filter_map(|(key, value)| {
        let value = value?;
        Some(format!("{key}={}", daemon_client::encoded(&value)))
    });
    let said: Vec<String> = said.collect();
    format!("/api/v1/activity?{}", said.join("&"))
}

impl ListActivity {
    async fn run(self, mut source: Source, out: Output) -> Result<(), CommandFailure> {
        if self.follow && out.is_json() {
            let mistake = CommandFailure::usage("--follow does not go with -o json");
            return Err(mistake.next("`mcpproxy activity export` writes JSON"));
        }
        if self.follow && source.daemon.is_none() {
            let mistake = CommandFailure::not_reachable("no daemon runs, so nothing is added");
            return Err(mistake.next("leave --follow out, or start the daemon"));
        }
        let query = self.filter.query();
        let mut found = source.records(query.clone(), self.limit.into()).await?;
        let shows_all = out.is_verbose();
        if out.is_json() {
            return output::json(&output::as_json(&found)?);
        }
        if !self.follow {
            if found.records.is_empty() {
                out.note(&nothing_found(&query, &source));
                return Ok(());
            }
            return print(&found.records, shows_all);
        }
        let mut last = match found.records.first() {
            Some(newest) => newest.id,
            None => source
                .page(RecordQuery {
                    limit: Some(1),
                    ..RecordQuery::default()
                })
                .await?
                .records
                .first()
                .map_or(0, |newest| newest.id),
        };
        found.records.reverse();
        loop {
            last = found
                .records
                .iter()
                .fold(last, |last, one| last.max(one.id));
            let today = utc(SystemTime::now());
            for record in shown(&found.records, shows_all) {
                output::foreign_text(&row(record, &today).join("  "))?;
            }
            tokio::time::sleep(FOLLOWING).await;
            let query = RecordQuery {
                after: Some(last),
                since: None,
                ..query.clone()
            };
            found = source.records(query, PAGE.0).await?;
        }
    }
}

/// Why there may be nothing.
fn nothing_found(query: &RecordQuery, source: &Source) -> String {
    let settings = source.files.settings();
    let is_unknown = |name: &&String| {
        let settings = settings.as_ref();
        settings.is_ok_and(|settings| !settings.servers.contains_key(name.as_str()))
    };
    let mut text = "there are no such records".to_owned();
    if query.kind.as_deref() == Some("refusal") {
        text.push_str("; refused calls are calls: `--outcome refused` shows them");
    }
    if let Some(server) = query.server.as_ref().filter(is_unknown) {
        let why = format!("; no server {server:?} is configured");
        text.push_str(&why);
    }
    text
}

fn print(records: &[ActivityRecord], all: bool) -> Result<(), CommandFailure> {
    let columns = [
        name("ID"),
        name("TIME"),
        name("CALLER"),
        text("WHAT", 2),
        name("OUTCOME"),
        name("TOOK"),
    ];
    let today = utc(SystemTime::now());
    output::table(
        columns,
        shown(records, all).map(|record| row(record, &today)),
    )
}

impl ShowActivity {
    async fn run(self, mut source: Source, out: Output) -> Result<(), CommandFailure> {
        let body = source.record(self.id).await?;
        out.answer("the activity record", &body, |record: Value| {
            let facts = record.as_object().into_iter().flatten();
            output::facts(facts.map(|(name, value)| {
                let shown = value
                    .as_str()
                    .map_or_else(|| value.to_string(), str::to_owned);
                [name.replace('_', " "), shown]
            }))
        })
    }
}

impl ExportActivity {
    async fn run(self, mut source: Source, out: Output) -> Result<(), CommandFailure> {
        let mut query = RecordQuery {
            after: Some(0),
            limit: Some(PAGE.0),
            ..self.filter.query()
        };
        let shown = self.file.as_ref().map(|file| file.display().to_string());
        let failed = |error: std::io::Error| {
            CommandFailure::failed(format!(
                "failed to write {}: {error}",
                shown.as_deref().unwrap_or("to stdout")
            ))
        };
        let mut page = source.page(query.clone()).await?;
        let made = self.file.as_ref().map(|file| {
            if self.force {
                storage::create_private_file(file)
            } else {
                let mut new = File::options();
                storage::open_private_file(file, new.write(true).create_new(true))
            }
        });
        let mut file: Option<File> = made.transpose().map_err(|error| {
            if error.kind() == ErrorKind::AlreadyExists {
                let file = shown.as_deref().unwrap_or_default();
                let mistake = CommandFailure::usage(format!("{file} is there already"));
                return mistake.next("name another file, or replace it with --force");
            }
            failed(error)
        })?;
        let mut write = |text: String| match &mut file {
            Some(file) => file.write_all(text.as_bytes()).map_err(failed),
            None if text.is_empty() => Ok(()),
            None => output::exactly(text.strip_suffix('\n').unwrap_or(&text)),
        };
        let mut count = page.records.len();
        write(self.form.header())?;
        loop {
            write(
                page.records
                    .iter()
                    .map(|record| self.form.line(record))
                    .collect(),
            )?;
            let Some(next) = page.next else {
                break;
            };
            go_on(&mut query, next);
            page = source.page(query.clone()).await?;
            count += page.records.len();
        }
        out.note(&format!("{count} records were written"));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{
        rows::{time, took, what},
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
        assert_eq!(row(&record, "2026-11-21T21:00:00Z"), expected);
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
        assert_eq!(what(&read), "resources/read a://b");
        assert_eq!([took(999), took(61_250_000)], ["999µs", "61.2s"]);
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
        assert_eq!(what(&inner), "call_tool_read → up:echo");
        assert_eq!(what(&outer), "call_tool_read → up:echo");
        let count = |records: &[ActivityRecord], all| shown(records, all).count();
        assert_eq!(count(&[outer.clone(), inner.clone()], false), 1);
        assert_eq!(count(&[outer.clone(), inner.clone()], true), 2);
        assert_eq!(count(std::slice::from_ref(&outer), false), 1);
        let failed = ActivityRecord {
            outcome: "failed".to_owned(),
            ..outer
        };
        assert_eq!(count(&[failed, inner], false), 2, "another outcome");
    }

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
