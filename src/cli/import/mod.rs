//! `mcpproxy import`: imports servers from the files of clients and other proxies, and can remove them there.

mod files;
pub(super) mod moving;
mod notes;
mod pasted;
mod pick;
mod trial;
pub(super) mod values;

use std::time::Instant;

use clap::Args;
use http::Method;
use serde::Deserialize;
use serde_json::json;

use self::pasted::{GIVE_PASTED, gather_pasted};
pub(super) use self::{
    files::{check_words, gather},
    notes::{plain_secrets, say_beside_missing, say_faults, say_needs, say_readable, show_table},
    pasted::{add_pasted, fill_in, only_entry, read_pasted},
    pick::pick,
};
use super::{
    CommandFailure, Done, Location, OrUndone, Output, connection, input::Input, outcome, output,
    output::shell_word,
};
use crate::{
    clients::{Client, FoundServer, ImportReport, client_rows, home_places, move_out, our_address},
    daemon_client::{AnswerDeadline, DaemonClient},
};

/// Import servers from your AI clients and other proxies
///
/// Shows the servers in your clients' files and in this folder's project files, and asks which to import. Without a terminal, it imports
/// nothing unless you give --all, --yes, --server or -. Imported servers are trusted unless you give --quarantined. --move also removes
/// them from the clients' files, so that no server runs twice.
#[derive(Debug, Args)]
#[command(after_long_help = format!("Clients: {}", Client::listed(|_| true)))]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(super) struct ImportCommand {
    /// Clients, files, or - for stdin; by default all clients
    #[arg(value_name = "CLIENT|FILE|-")]
    from: Vec<String>,
    /// Import everything
    #[arg(long, conflicts_with = "server")]
    all: bool,
    /// Import this server; may be repeated
    #[arg(long, value_name = "NAME")]
    server: Vec<String>,
    /// Import everything, and do not ask
    #[arg(short, long)]
    yes: bool,
    /// Show what would be imported, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Quarantine imported servers until you approve them
    #[arg(long = "quarantined")]
    is_held: bool,
    /// Also remove imported servers from the clients' files
    #[arg(long = "move")]
    moves: bool,
    /// Store secrets in the keyring, or in the configuration file
    #[arg(long, value_name = "keyring|file", hide_possible_values = true)]
    secrets: Option<values::SecretsPlace>,
    /// Put moved servers back into the clients' files
    #[arg(long, conflicts_with_all = ["all", "server", "dry_run", "is_held", "moves"])]
    undo: bool,
}

impl ImportCommand {
    pub(super) async fn run(self, location: &Location, out: Output) -> Done {
        let (files, out) = (location.files()?, out.unasked(self.yes));
        if self.undo {
            // This changes clients' files only, so a daemon that does not answer is no obstacle.
            let daemon = connection::open_if_running(&files, out).await;
            let daemon = daemon.ok().flatten();
            let location = daemon.as_ref().and_then(connection::location_of);
            return moving::undo(&files, location.as_ref(), &self.from, out);
        }
        let mut daemon = connection::open_or_files(&files, out).await?;
        let mut report = if self.reads_stdin() {
            let text = Input::Stdin.read("the server's JSON or URL")?;
            gather_pasted(&files, &daemon, &text, None)
        } else {
            gather(&files, &daemon, &self.from)
        }
        .or_undone("nothing was imported")?;
        let is_given = self.reads_stdin() || self.all || self.yes || !self.server.is_empty();
        let picks = !is_given && !self.dry_run && out.is_interactive();
        let mut chosen = self.importable(&report)?;
        if !out.is_json() {
            show_table(&report)?;
            say_faults(&report, out);
        }
        let offered = chosen.len();
        if picks && offered > 0 {
            chosen = pick(&report, &chosen, out);
        }
        // --move alone moves only servers that were imported before.
        let moves_only = self.moves && !(is_given || picks);
        report.choose(if moves_only { &[] } else { &chosen });
        let takes = picks || is_given && !self.dry_run;
        if takes {
            values::fill_placeholders(&files, &mut report, out);
            values::keep_secrets(&files, &mut report, self.secrets, out)?;
            add(&mut daemon, &mut report, self.is_held).await?;
        }
        if !daemon.is_over_files() && !out.is_json() {
            say_outcomes(&mut daemon, &mut report, out).await?;
        }
        let places = home_places(&files)?;
        let us = our_address(&files, connection::location_of(&daemon).as_ref());
        let rows = client_rows(&places, &us, true);
        let is_connected = |server: &FoundServer| {
            let mut rows = rows.iter();
            rows.any(|row| row.client == server.client && row.connected)
        };
        // Without --move, the question is whether what runs twice from now on is to be removed.
        let is_asked = !self.moves && out.is_interactive() && report.taken().any(is_connected);
        let is_meant = |server: &FoundServer| {
            let is_doubled = is_connected(server) && !server.is_foreign();
            let mut names = self.server.iter();
            let is_named = self.server.is_empty() || names.any(|name| server.is_called(name));
            !self.reads_stdin() && is_named && (self.moves || is_asked && is_doubled)
        };
        if is_asked || picks {
            moving::move_agreed(&mut report, (&places, &us), is_meant, !self.moves, out);
        } else {
            move_out(&mut report, (&places, &us), is_meant, self.dry_run);
        }
        if out.is_json() {
            output::print_value(&report)?;
        } else {
            say_needs(&report, takes, out);
            let is_silent = self.moves && chosen.is_empty() && !report.moved.is_empty();
            let is_concluded = is_silent || report.imported > 0 && !daemon.is_over_files();
            if !is_concluded && (offered > 0 || !report.faults.iter().any(|fault| fault.is_named)) {
                self.conclude(offered, chosen.len(), &report, takes, out);
            }
            moving::say(&report, self.dry_run, out);
            if daemon.is_over_files() && !self.dry_run {
                moving::say_start(&report, &rows, out);
            }
            let is_refused = report.moved.iter().any(|one| one.error.is_some());
            let lacks_us = |server: &FoundServer| {
                let mut rows = rows.iter();
                rows.any(|row| row.client == server.client && !row.connected)
            };
            let is_left = report.taken().any(lacks_us) || !rows.iter().any(|row| row.connected);
            if takes && !is_refused && report.imported > 0 && is_left {
                out.next("`mcpproxy connect --all`");
            }
            say_readable(files.config_file(), &report, out);
        }
        verdict(&report, out)
    }

    fn reads_stdin(&self) -> bool {
        self.from.iter().any(|word| word == "-")
    }

    /// The indices of the servers that can be imported: of those that `--server` names, or of all. A named one that is in the configuration
    /// already is left out.
    fn importable(&self, report: &ImportReport) -> Done<Vec<usize>> {
        let mut names = self.server.clone();
        names.retain(|name| !report.is_here(name));
        if names.is_empty() && !self.server.is_empty() {
            return Ok(Vec::new());
        }
        Ok(report.picked(&names)?)
    }

    /// Says how many servers were imported, or would be. `offered` is how many could be, and `chosen` how many of them were chosen.
    fn conclude(
        &self,
        offered: usize,
        chosen: usize,
        report: &ImportReport,
        takes: bool,
        out: Output,
    ) {
        let n = |n: usize| output::count(n, "server");
        let is_left =
            chosen > 0 && !takes && !(self.dry_run && report.servers.iter().any(|one| one.chosen));
        out.done(&if chosen == 0 && report.servers.is_empty() {
            "nothing was imported: no servers were found".to_owned()
        } else if chosen == 0 && offered == 0 {
            "nothing to import".to_owned()
        } else if is_left || chosen == 0 || takes && report.imported == 0 {
            "nothing was imported".to_owned()
        } else if takes {
            format!("imported {}", n(report.imported))
        } else {
            format!("{} would be imported", n(chosen))
        });
        if is_left {
            let from: String = self.from.iter().flat_map(|word| [" ", word]).collect();
            let (moves, n) = (if self.moves { " --move" } else { "" }, n(chosen));
            out.next(&format!("`mcpproxy import{from} --all{moves}` imports {n}"));
        }
    }
}

/// The daemon's answer to new servers.
#[derive(Deserialize)]
struct Added {
    /// Why a server was not added, for each in the order of the request.
    errors: Vec<Option<String>>,
}

/// Adds the chosen servers by one change of the configuration file, and notes the outcome of each in the report.
pub(super) async fn add(
    daemon: &mut DaemonClient,
    report: &mut ImportReport,
    is_held: bool,
) -> Done {
    let entries = report.entries(is_held).into_iter();
    let named = entries.map(|(at, name, mut entry)| {
        entry.insert("name".to_owned(), json!(name));
        (at, entry)
    });
    let (places, servers): (Vec<_>, Vec<_>) = named.unzip();
    if servers.is_empty() {
        return Ok(());
    }
    let body = json!({ "servers": servers }).to_string();
    let (path, deadline) = ("/api/v1/additions", AnswerDeadline::Daemon);
    let Added { errors } = daemon.request(Method::POST, path, body, deadline).await?;
    for (at, error) in places.into_iter().zip(errors) {
        report.note(at, error);
    }
    Ok(())
}

/// Says what each imported server does, and notes why one fails: its client keeps it.
async fn say_outcomes(daemon: &mut DaemonClient, report: &mut ImportReport, out: Output) -> Done {
    let began = Instant::now();
    for server in report.servers.iter_mut().filter(|server| server.imported) {
        let name = server.new_name().unwrap_or_default();
        let left = outcome::CONNECT_TIMEOUT.saturating_sub(began.elapsed().as_secs());
        let row = outcome::wait_for(daemon, name, Some(left)).await?;
        outcome::say(out, daemon, "imported", &row);
        let error = row.last_error.clone().filter(|_| row.is_failing());
        server.warning = server.warning.take().or(error);
    }
    Ok(())
}

/// The step for a server that was not imported because it lacks a value: in a terminal that was a question.
pub(super) fn value_step(server: &FoundServer, out: Output) -> Option<String> {
    let asks = if out.is_interactive() {
        "asks for it again"
    } else {
        "asks for it in a terminal"
    };
    let lacks_value = server.error.is_some() && !server.placeholders.is_empty();
    let (file, name) = (shell_word(&server.file), shell_word(&server.written_name));
    lacks_value.then(|| match &*server.file {
        "" | "-" => GIVE_PASTED.to_owned(),
        _ => format!("`mcpproxy import {file} --server {name}` {asks}"),
    })
}

/// Fails if a server could not be added, or a named file could not be read.
fn verdict(report: &ImportReport, out: Output) -> Done {
    let failed = report.servers.iter();
    let failed = failed.filter_map(|server| Some((server.new_name()?, server.error.as_deref()?)));
    let failed: Vec<(&str, &str)> = failed.collect();
    if let Some((_, first)) = failed.first() {
        let what = if failed.iter().all(|(_, why)| why == first) {
            let names: Vec<&str> = failed.iter().map(|(name, _)| *name).collect();
            let were = if names.len() == 1 { "was" } else { "were" };
            format!("{} {were} not added: {first}", names.join(", "))
        } else {
            let each = failed.iter();
            let each = each.map(|(name, why)| format!("{name} was not added: {why}"));
            each.collect::<Vec<_>>().join("; ")
        };
        let step = report.servers.iter().find_map(|one| value_step(one, out));
        return Err(CommandFailure::failed(what).next_if(step).shown());
    }
    let faults: Vec<_> = report.faults.iter().filter(|one| one.is_named).collect();
    let Some(first) = faults.first() else {
        return Ok(());
    };
    let whats = faults
        .iter()
        .map(|fault| format!("{} was not imported: {}", fault.file, fault.error));
    let what = whats.collect::<Vec<_>>().join("; ");
    Err(CommandFailure::failed(what).next(&*first.next_step).shown())
}
