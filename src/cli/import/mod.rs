//! `mcpproxy import`: takes servers over from the files of clients and other proxies, after a look at what would come.

mod apply;
mod gathered;
mod notes;
mod pick;
mod preview;

use clap::Args;

pub(super) use self::{
    apply::add,
    gathered::{check_words, gather, location_of, say_empty, say_faults},
    notes::{NotedServers, say as say_notes, say_readable},
    pick::asked,
    preview::show_table,
};
use super::{
    connection,
    failure::CommandFailure,
    location::Location,
    output::{self, Output},
};
use crate::client_setup::{AddedServer, Gathered, here_already, import_report, picked_by};

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
        let mut daemon = connection::open_if_running(&files, out).await?;
        let gathered = gather(&files, daemon.as_ref(), &self.from)?;
        let is_decided = self.all || self.yes || !self.server.is_empty();
        let same = here_already(&gathered, &self.server);
        let mut wanted = self.server.clone();
        wanted.retain(|name| !same.contains(&name));
        let mut chosen = if wanted.is_empty() && !same.is_empty() {
            Vec::new()
        } else {
            picked_by(&gathered, &wanted)?
        };
        let asks = !is_decided && !self.dry_run && out.is_interactive();
        if !out.is_json() {
            show_table(&gathered)?;
            say_faults(&gathered, out);
            say_empty(&gathered, out);
        }
        let offered = chosen.len();
        if asks && !chosen.is_empty() {
            chosen = asked(&chosen, out);
        }
        let takes = !self.dry_run && (is_decided || asks);
        let added = if takes {
            add(
                &files,
                daemon.as_mut(),
                &gathered,
                &chosen,
                self.is_held,
                out,
            )
            .await
        } else {
            Vec::new()
        };
        if out.is_json() {
            let report = import_report(&gathered, &chosen, &added);
            output::json(&output::as_json(&report)?)?;
        } else {
            let told = if takes {
                NotedServers::Taken(&added)
            } else {
                NotedServers::Offered(&chosen)
            };
            say_notes(&gathered, told, out);
            self.conclude((offered, &chosen), &added, takes, out);
            say_readable(files.config_file(), &gathered, &added, out);
        }
        verdict(&gathered, &added)
    }

    /// Says what came of those that could be taken, and of those of them that were chosen.
    fn conclude(
        &self,
        (offered, chosen): (usize, &[usize]),
        added: &[AddedServer],
        takes: bool,
        out: Output,
    ) {
        let n = |n: usize| match n {
            1 => "1 server".to_owned(),
            n => format!("{n} servers"),
        };
        if chosen.is_empty() && offered > 0 {
            out.note(&format!("nothing was taken over; {} could be", n(offered)));
        } else if chosen.is_empty() {
            out.note("there is nothing to take over");
        } else if takes {
            let done = added.iter().filter(|added| added.error.is_none()).count();
            out.note(&format!(
                "{} taken over; next step: `mcpproxy connect` puts mcpproxy into your clients, `mcpproxy upstream list` shows how the servers are",
                n(done)
            ));
        } else if self.dry_run {
            out.note(&format!("{} would be taken over", n(chosen.len())));
        } else {
            out.note(&format!(
                "nothing was taken over; next step: --all takes {}, --server NAME one",
                n(chosen.len())
            ));
        }
    }
}

/// What was named and could not be read, and what could not be added, is a failure.
fn verdict(gathered: &Gathered, added: &[AddedServer]) -> Result<(), CommandFailure> {
    let failed: Vec<&AddedServer> = added.iter().filter(|added| added.error.is_some()).collect();
    if let Some(first) = failed.first() {
        let names: Vec<&str> = failed.iter().map(|added| added.name.as_str()).collect();
        let why = first.error.as_deref().unwrap_or_default();
        let what = format!("these were not added: {}: {why}", names.join(", "));
        return Err(CommandFailure::failed(what).shown());
    }
    // Why was said above.
    if gathered.faults.iter().any(|fault| fault.is_named) {
        let what = "not every file that was named could be read";
        return Err(CommandFailure::failed(what).shown());
    }
    Ok(())
}
