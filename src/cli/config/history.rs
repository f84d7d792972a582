//! `mcpproxy config history`: lists changes and who made them.

use std::time::{Duration, SystemTime};

use clap::Args;

use super::super::{
    Done, Output, connection,
    mistake::whole_number,
    output,
    table::{name, text},
};
use crate::{
    config::{ChangeWay, ChangedValue, HistoryEntry},
    management::{ConfigHistory, Files},
    text::moment::utc,
};

/// List changes to the configuration, tokens and approvals
#[derive(Debug, Args)]
pub(in crate::cli) struct ConfigHistoryList {
    /// How many changes to show, latest first
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = whole_number(1..=10_000_usize))]
    limit: usize,
}

impl ConfigHistoryList {
    pub(super) async fn run(self, files: &Files, out: Output) -> Done {
        let mut daemon = connection::open_or_files(files, out).await?;
        let mut history: ConfigHistory = daemon.fetch("/api/v1/config/history").await?;
        history.entries.truncate(self.limit);
        if out.is_json() {
            return output::print_value(&history);
        }
        if history.entries.is_empty() {
            out.note("no changes yet");
            return Ok(());
        }
        let columns = [
            name("NUMBER"),
            name("WHEN"),
            name("BY"),
            text("CHANGED", usize::MAX),
            text("UNDONE", 1),
        ];
        output::print_table(columns, history.entries.into_iter().map(row))
    }
}

/// The last change that an agent made within a day, how to undo it, and how many others there are; nothing if there is none.
pub(in crate::cli) fn by_agents(history: &ConfigHistory) -> Option<String> {
    const DAY: Duration = Duration::from_hours(24);
    let since = utc(SystemTime::now() - DAY);
    let mut entries = history.entries.iter().filter(|entry| {
        let is_undone = entry.undone_by.is_some() || entry.undoes.is_some();
        entry.author.way == ChangeWay::Agent && !is_undone && entry.at >= since
    });
    let last = entries.next()?;
    let changed: Vec<String> = last.changes.iter().map(in_words).collect();
    let (changed, at, id) = (changed.join(", "), &last.at, last.id);
    let before = match entries.count() {
        0 => String::new(),
        n => format!(
            "; {} before it: `mcpproxy config history`",
            output::count(n, "change")
        ),
    };
    Some(format!(
        "{changed}, {at}: `mcpproxy config undo {id}`{before}"
    ))
}

/// The path of a changed value. Of a whole token or server, the change has a verb.
fn in_words(change: &ChangedValue) -> String {
    let path = change.path.join(".");
    let verb = match (change.path.first().map(String::as_str), change.path.len()) {
        (Some("tokens"), 2) => ["issued", "revoked"],
        (Some("mcpServers"), 2) => ["added", "removed"],
        _ => return path,
    };
    match (&change.before, &change.after, verb) {
        (None, Some(_), [came, _]) => format!("{path} {came}"),
        (Some(_), None, [_, went]) => format!("{path} {went}"),
        _ => path,
    }
}

fn row(entry: HistoryEntry) -> [String; 5] {
    let paths: Vec<String> = entry.changes.iter().map(in_words).collect();
    let changed = match (entry.undoes, &paths[..]) {
        (_, []) if entry.created_file => "file created".to_owned(),
        (_, []) => "comments, whitespace, or unknown".to_owned(),
        (None, paths) => paths.join(", "),
        (Some(id), paths) => format!("{} (undoes {id})", paths.join(", ")),
    };
    let way = match entry.author.way {
        ChangeWay::Terminal => "terminal",
        ChangeWay::Page => "web UI",
        ChangeWay::Rest => "REST",
        ChangeWay::Agent => "agent",
        ChangeWay::File => "file",
    };
    let undone = entry.undone_by.map(|id| format!("by {id}"));
    [
        entry.id.to_string(),
        entry.at,
        format!("{}, {way}", entry.author.by),
        changed,
        undone.unwrap_or_else(|| "-".to_owned()),
    ]
}
