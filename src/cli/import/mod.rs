//! `mcpproxy import`: takes servers over from the files of clients and other proxies, after a look at what would come.

mod files;
pub(super) mod moving;
mod notes;
mod pick;
mod trial;
pub(super) mod values;

use std::collections::BTreeSet;

use clap::Args;
use http::Method;
use serde::Deserialize;
use serde_json::{Map, Value, json};

pub(super) use self::{
    files::{check_words, gather, pasted},
    notes::{say_beside_missing, say_faults, say_needs, say_readable, show_table},
    pick::pick,
};
use super::{
    CommandFailure, Done, Location, Output, connection,
    failure::{FAILED, USAGE},
    input::Input,
    outcome, output,
    output::shell_word,
};
use crate::{
    clients::{
        Client, ClientRow, FoundOutcome, FoundServer, ImportReport, client_rows, home_places,
        move_out, our_address,
    },
    daemon_client::{AnswerDeadline, DaemonClient},
    management::Files,
};

/// Import servers from your AI clients and other proxies
///
/// Shows the servers in your clients' files and in this folder's project file, and asks which to import. Without a terminal it imports
/// nothing unless --all, --yes or --server is given. Imported servers are trusted. --move also removes them from the clients' files,
/// so that no server runs twice.
#[derive(Debug, Args)]
#[command(after_long_help = format!("Clients: {}", Client::listed(|_| true)))]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
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
    #[arg(
        long,
        value_name = "keyring|file",
        value_enum,
        hide_possible_values = true
    )]
    secrets: Option<values::SecretsPlace>,
    /// Put moved servers back into the clients' files
    #[arg(long, conflicts_with_all = ["all", "server", "dry_run", "is_held", "moves"])]
    undo: bool,
}

/// What to do where an entry has a placeholder.
const GIVE_VALUE: &str =
    "replace it with your value, or type it when this command asks for it in a terminal";

/// The same of a text that was pasted.
const GIVE_PASTED: &str = "replace it in the text, or type it when `mcpproxy upstream add --json 'TEXT'` asks for it in a terminal";

impl ImportCommand {
    pub(super) async fn run(self, location: &Location, out: Output) -> Done {
        let (files, out) = (location.files()?, out.unasked(self.yes));
        if self.undo {
            // Only files are changed: a daemon that cannot be asked is no obstacle.
            let daemon = connection::open_if_running(&files, out)
                .await
                .ok()
                .flatten();
            let location = daemon.as_ref().and_then(connection::location_of);
            return moving::undo(&files, location.as_ref(), &self.from, out);
        }
        let mut daemon = connection::open_or_files(&files, out).await?;
        let is_pasted = self.from.iter().any(|word| word == "-");
        let mut report = if is_pasted {
            let text = Input::Stdin.read("the entry")?;
            pasted(&files, &daemon, &text, None)?
        } else {
            let gathered = gather(&files, &daemon, &self.from);
            gathered.map_err(|failure| failure.undone("nothing was imported"))?
        };
        let is_decided = is_pasted || self.all || self.yes || !self.server.is_empty();
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
        // Of what is not here yet, nothing moves of itself.
        let is_meant = is_decided || asks || !self.moves;
        report.choose(if is_meant { &chosen } else { &[] });
        if takes {
            values::fill_placeholders(&files, &mut report, out);
            values::keep_secrets(&files, &mut report, self.secrets, out)?;
            add(&mut daemon, &mut report, self.is_held, out).await;
        }
        let (places, us) = (
            home_places(&files)?,
            our_address(&files, connection::location_of(&daemon).as_ref()),
        );
        let rows = client_rows(&places, &us, true);
        let connected = |client| rows.iter().any(|row| row.client == client && row.connected);
        let from = if asks && !self.moves && report.taken().any(|one| connected(one.client)) {
            let servers = report.servers.iter();
            moving::wanted(servers.filter(|one| connected(one.client)), false, out)
        } else {
            BTreeSet::new()
        };
        let is_meant = |server: &FoundServer| self.moves || from.contains(&server.file);
        move_out(&mut report, (&places, &us), is_meant, self.dry_run);
        if out.is_json() {
            output::print_value(&report)?;
        } else {
            say_needs(&report, takes, out);
            let is_silent = self.moves && chosen.is_empty() && !report.moved.is_empty();
            if !is_silent && (offered > 0 || !report.faults.iter().any(|fault| fault.is_named)) {
                self.conclude(offered, chosen.len(), &report, takes, out);
            }
            moving::say(&report, self.dry_run, out);
            if daemon.is_over_files() && !self.dry_run {
                moving::say_start(&report, &rows, out);
            }
            let is_refused = report.moved.iter().any(|one| one.error.is_some());
            if takes && !is_refused && report.imported > 0 && !all_connected(&rows, &report) {
                out.next("`mcpproxy connect`");
            }
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
        let is_left =
            chosen > 0 && !takes && !(self.dry_run && report.servers.iter().any(|one| one.chosen));
        out.done(&if chosen == 0 && report.servers.is_empty() {
            "nothing was imported: no servers were found".to_owned()
        } else if chosen == 0 && offered == 0 {
            "nothing was imported: there is nothing new".to_owned()
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

/// Whether every client that servers came from is connected, or a client at all where they came from none.
fn all_connected(rows: &[ClientRow], report: &ImportReport) -> bool {
    let came_from = |row: &&ClientRow| report.taken().any(|one| one.client == row.client);
    let (mut of_report, mut any) = (rows.iter().filter(came_from).peekable(), rows.iter());
    match of_report.peek() {
        Some(_) => of_report.all(|row| row.connected),
        None => any.any(|row| row.connected),
    }
}

/// What came of adding servers.
#[derive(Deserialize)]
struct Added {
    errors: Vec<Option<String>>,
}

/// Adds those that were chosen by one change of the file.
pub(super) async fn add(
    daemon: &mut DaemonClient,
    report: &mut ImportReport,
    is_held: bool,
    out: Output,
) {
    let entries = report.entries(is_held).into_iter();
    let named = entries.map(|(at, name, mut entry)| {
        entry.insert("name".to_owned(), json!(name));
        ((at, name), entry)
    });
    let (places, servers): (Vec<_>, Vec<_>) = named.unzip();
    if servers.is_empty() {
        return;
    }
    let body = json!({ "servers": servers }).to_string();
    let (path, deadline) = ("/api/v1/additions", AnswerDeadline::Daemon);
    let added = daemon.request(Method::POST, path, body, deadline).await;
    let errors = match added {
        Ok(Added { errors }) => errors,
        Err(error) => vec![Some(error.to_string()); places.len()],
    };
    for ((at, name), error) in places.into_iter().zip(errors) {
        if let Some(error) = &error {
            out.warning(&format!("{name} was not added: {error}"));
        }
        report.note(at, error);
    }
}

/// What was pasted, with all that is new of it chosen.
pub(super) fn read_pasted(
    files: &Files,
    daemon: &DaemonClient,
    text: &str,
    name: Option<&str>,
) -> Done<ImportReport> {
    let text = match text {
        "-" => Input::Stdin.read("the entry")?,
        text => text.to_owned(),
    };
    let mut report = pasted(files, daemon, &text, name)?;
    let new = report.picked(&[])?;
    report.choose(&new);
    Ok(report)
}

/// Asks for values of placeholders, checks whether the servers work if that is wanted, and then stores their secrets where they are to be.
pub(super) async fn fill_in(
    files: &Files,
    daemon: &mut DaemonClient,
    report: &mut ImportReport,
    is_checked: bool,
    secrets: Option<values::SecretsPlace>,
    out: Output,
) -> Done {
    values::fill_placeholders(files, report, out);
    if is_checked {
        trial::try_chosen(daemon, report, out).await?;
    }
    values::keep_secrets(files, report, secrets, out)
}

/// Adds what was pasted.
pub(super) async fn add_pasted(
    mut daemon: DaemonClient,
    mut report: ImportReport,
    is_held: bool,
    out: Output,
) -> Done {
    for (_, name, entry) in report.entries(is_held) {
        if let Some(cwd) = entry.get("cwd").and_then(Value::as_str) {
            let step = format!("`mcpproxy upstream patch {name} cwd=DIR` changes that");
            out.note(&format!("{name} starts in {cwd}; {step}"));
        }
    }
    add(&mut daemon, &mut report, is_held, out).await;
    if out.is_json() {
        output::print_value(&report)?;
    } else {
        say_needs(&report, true, out);
        if report.imported > 0 {
            let left_out = not_added(&report, |server| !server.chosen);
            left_out.for_each(|why| out.warning(&why));
        }
        for server in report.taken() {
            let name = server.new_name().unwrap_or_default();
            if let Some(why) = &server.reason {
                out.note(&format!("{why}; this one is {name}"));
            }
            let row = outcome::wait_for(&mut daemon, name, None).await?;
            outcome::say(out, &daemon, "added", &row);
        }
    }
    if report.imported == 0 {
        let lacks_value = |server: &FoundServer| !server.placeholders.is_empty();
        let mut servers = report.servers.iter();
        let same = servers.clone().find(|server| server.is_here_as_it_is());
        let same = same.and_then(|server| server.name.as_deref());
        let step = match same {
            Some(same) => format!("`mcpproxy upstream show {same}`"),
            None if servers.any(lacks_value) => GIVE_PASTED.to_owned(),
            None => "paste the JSON or the URL from the server's page".to_owned(),
        };
        let mut whys = not_added(&report, |_| true).collect::<Vec<_>>().join("; ");
        if whys.is_empty() {
            "nothing was added: the text has no server".clone_into(&mut whys);
        }
        let mut servers = report.servers.iter();
        let is_wrong = servers.any(|one| lacks_value(one) || one.outcome == FoundOutcome::Unusable);
        let exit_code = if is_wrong { USAGE } else { FAILED };
        let failure = CommandFailure::with_code(whys, exit_code);
        return Err(failure.next(step).shown());
    }
    verdict(&report)
}

/// Which of these servers were not added, and why.
fn not_added(
    report: &ImportReport,
    are_meant: impl Fn(&FoundServer) -> bool,
) -> impl Iterator<Item = String> {
    let meant = report.servers.iter();
    let meant = meant.filter(move |server| are_meant(server));
    meant.map(|server| {
        let why = server.error.clone().unwrap_or_else(|| server.summary());
        format!("{} was not added: {why}", server.written_name)
    })
}

/// The one entry of a report, with the values of its placeholders.
pub(super) fn only_entry(report: ImportReport) -> Done<Map<String, Value>> {
    let Some(server) = report.servers.into_iter().next() else {
        return Ok(Map::new());
    };
    server.into_entry().map_err(|why| {
        let failure = CommandFailure::usage(why).undone("nothing was added");
        failure.next(GIVE_VALUE)
    })
}

/// What to do about a server that was not imported because it lacks a value: the command that asks for it, of one that a file has.
pub(super) fn value_step(server: &FoundServer) -> Option<String> {
    let lacks_value = server.error.is_some() && !server.placeholders.is_empty();
    let (file, name) = (shell_word(&server.file), shell_word(&server.written_name));
    lacks_value.then(|| match &*server.file {
        "" | "-" => GIVE_PASTED.to_owned(),
        _ => format!("`mcpproxy import {file} --server {name}` asks for it in a terminal"),
    })
}

/// What was named and could not be read, and what could not be added, is a failure.
fn verdict(report: &ImportReport) -> Done {
    let failed = report.servers.iter();
    let failed = failed.filter_map(|server| Some((server.new_name()?, server.error.as_deref()?)));
    let failed: Vec<(&str, &str)> = failed.collect();
    if let Some((_, first)) = failed.first() {
        let what = if failed.iter().all(|(_, why)| why == first) {
            let names: Vec<&str> = failed.iter().map(|(name, _)| *name).collect();
            format!("{} not added: {first}", names.join(", "))
        } else {
            let each = failed.iter();
            let each = each.map(|(name, why)| format!("{name} not added: {why}"));
            each.collect::<Vec<_>>().join("; ")
        };
        let mut failure = CommandFailure::failed(what).shown();
        if let Some(step) = report.servers.iter().find_map(value_step) {
            failure = failure.next(step);
        }
        return Err(failure);
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
