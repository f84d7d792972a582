//! `mcpproxy config history`: what was changed, and who changed it.

use clap::Args;

use super::super::{
    Done, Output, connection,
    mistake::whole_number,
    output,
    table::{name, text},
};
use crate::{
    config::{ChangeWay, ChangedValue, HistoryEntry},
    daemon_client,
    management::{ConfigHistory, Files},
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
        let path = "/api/v1/config/history";
        let body = daemon.get(path).await?;
        let mut history: ConfigHistory = daemon_client::read(path, &body)?;
        if history.entries.is_empty() && !out.is_json() {
            out.note("no changes yet");
        }
        history.entries.truncate(self.limit);
        out.answer(
            path,
            &output::as_json(&history)?,
            |history: ConfigHistory| {
                if history.entries.is_empty() {
                    return Ok(());
                }
                let columns = [
                    name("NUMBER"),
                    name("WHEN"),
                    name("BY"),
                    text("CHANGED", usize::MAX),
                    text("UNDONE", 1),
                ];
                output::table(columns, history.entries.into_iter().map(row))
            },
        )
    }
}

/// The path of what was changed, with what became of a token or a server as a whole.
fn named(change: &ChangedValue) -> String {
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
    let paths: Vec<String> = entry.changes.iter().map(named).collect();
    let changed = match (entry.undoes, &paths[..]) {
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
