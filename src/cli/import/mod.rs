//! `mcpproxy import`: takes servers over from the files of clients and other proxies, after a look at what would come.

mod files;
mod notes;
mod pick;

use clap::Args;
use http::Method;
use serde_json::{Value, json};

pub(super) use self::{
    files::{check_words, gather, location_of},
    notes::{say_faults, say_needs, say_readable, show_table},
    pick::pick,
};
use super::{
    connection,
    failure::CommandFailure,
    location::Location,
    output::{self, Output},
};
use crate::{
    clients::ImportReport,
    daemon_client::{AnswerDeadline, DaemonClient},
};

/// Take over the servers that your AI clients and other proxies have in their files
///
/// Without arguments it looks in all known files of yours and of the project in this folder, and shows what it found: what is new, what
/// is here already, and what cannot be used and why. On a terminal it then asks which to take; elsewhere nothing is taken unless --all,
/// --yes or --server says so. Servers are the same if they start the same thing, whatever they are called. What you take over is
/// trusted, as with `mcpproxy upstream add`. The files of the others are not changed.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
pub(super) struct ImportCommand {
    /// Clients, such as `cursor`, or files; all that are known if none is named
    #[arg(value_name = "CLIENT|FILE")]
    from: Vec<String>,
    /// Take everything that can be taken
    #[arg(long, conflicts_with = "server")]
    all: bool,
    /// Take this server; may be repeated
    #[arg(long, value_name = "NAME")]
    server: Vec<String>,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
    /// Show what would come, and take nothing
    #[arg(long)]
    dry_run: bool,
    /// Hold what is taken until it is approved
    #[arg(long = "quarantined")]
    is_held: bool,
}

const EXAMPLES: &str = "\
Examples:
  mcpproxy import                              look everywhere, and ask
  mcpproxy import --dry-run -o json            the same for programs, and nothing is taken
  mcpproxy import cursor claude-code --all     everything that these two have
  mcpproxy import ./servers.json --server github
Clients: claude-code, claude-desktop, cursor, vscode, windsurf, codex, gemini-cli, zed, goose, opencode; mcpproxy-go, servers-json, magg";

impl ImportCommand {
    pub(super) async fn run(self, location: &Location, out: Output) -> Result<(), CommandFailure> {
        let files = location.files()?;
        let mut daemon = connection::open_or_files(&files, out).await?;
        let mut report = gather(&files, &daemon, &self.from)?;
        let is_decided = self.all || self.yes || !self.server.is_empty();
        let mut wanted = self.server.clone();
        wanted.retain(|name| !report.is_here(name));
        let mut chosen = if wanted.is_empty() && !self.server.is_empty() {
            Vec::new()
        } else {
            report.picked(&wanted)?
        };
        let asks = !is_decided && !self.dry_run && out.is_interactive();
        if !out.is_json() {
            show_table(&report)?;
            say_faults(&report, out);
        }
        let offered = chosen.len();
        if asks && !chosen.is_empty() {
            chosen = pick(&chosen, out);
        }
        let takes = !self.dry_run && (is_decided || asks);
        report.choose(&chosen);
        if takes {
            add(&mut daemon, &mut report, self.is_held, out).await;
        }
        if out.is_json() {
            output::json(&output::as_json(&report)?)?;
        } else {
            say_needs(&report, takes, out);
            self.conclude(offered, chosen.len(), &report, takes, out);
            say_readable(files.config_file(), &report, out);
        }
        verdict(&report)
    }

    /// Says what came of those that could be taken, and of those of them that were chosen.
    fn conclude(
        &self,
        offered: usize,
        chosen: usize,
        report: &ImportReport,
        takes: bool,
        out: Output,
    ) {
        let n = |n: usize| output::count(n, "server");
        out.note(&if chosen == 0 && offered > 0 {
            format!("nothing was taken over; {} could be", n(offered))
        } else if chosen == 0 {
            "there is nothing to take over".to_owned()
        } else if takes {
            format!(
                "{} taken over; next step: `mcpproxy connect` puts mcpproxy into your clients, `mcpproxy upstream list` shows how the servers are",
                n(report.imported)
            )
        } else if self.dry_run {
            format!("{} would be taken over", n(chosen))
        } else {
            format!(
                "nothing was taken over; next step: --all takes {}, --server NAME one",
                n(chosen)
            )
        });
    }
}

/// Adds those that were chosen one after the other; what fails with one leaves the others alone.
pub(super) async fn add(
    daemon: &mut DaemonClient,
    report: &mut ImportReport,
    is_held: bool,
    out: Output,
) {
    let entries = report.entries(is_held);
    let n = entries.len();
    for (done, (at, name, mut entry)) in entries.into_iter().enumerate() {
        out.progress(&format!("adding {name} ({} of {n})", done + 1));
        entry.insert("name".to_owned(), json!(name));
        let body = Value::Object(entry).to_string();
        let (path, deadline) = ("/api/v1/servers", AnswerDeadline::Daemon);
        let added = daemon.send(Method::POST, path, body, deadline).await;
        let error = added.err().map(|error| error.to_string());
        if let Some(error) = &error {
            out.warning(&format!("{name} was not added: {error}"));
        }
        report.note(at, error);
    }
}

/// What was named and could not be read, and what could not be added, is a failure.
fn verdict(report: &ImportReport) -> Result<(), CommandFailure> {
    let failed = report.servers.iter();
    let failed = failed.filter_map(|server| Some((server.new_name()?, server.error.as_deref()?)));
    let (names, errors): (Vec<&str>, Vec<&str>) = failed.unzip();
    if let Some(why) = errors.first() {
        let what = format!("these were not added: {}: {why}", names.join(", "));
        return Err(CommandFailure::failed(what).shown());
    }
    // The report named the reason.
    if report.faults.iter().any(|fault| fault.is_named) {
        let what = "not every file that was named could be read";
        return Err(CommandFailure::failed(what).shown());
    }
    Ok(())
}
