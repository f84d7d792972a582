//! `mcpproxy upstream`: the servers behind the daemon, from a terminal.

mod add;
mod approve;
mod change;
mod inspect;
mod list;
mod lock;
mod login;
mod logs;
mod outcome;
mod patch;
mod rest_of_definition;
mod show;

use clap::Subcommand;

pub(super) use list::print_rows;

use super::{failure::CommandFailure, location::Location, output::Output};

/// List, add, change, remove, switch, review and look into the servers behind mcpproxy
///
/// With a daemon running these go through it and take effect at once. Without one, all but `restart`, `login` and `logout` work on the files.
#[derive(Debug, Subcommand)]
#[command(after_long_help = EXAMPLES)]
pub(super) enum UpstreamCommand {
    #[command(visible_alias = "ls")]
    List(list::ListServers),
    Show(show::ShowServer),
    Add(add::AddServer),
    /// Remove servers from the configuration, stop them, and remove their logs
    #[command(visible_alias = "rm")]
    Remove(change::NamedServers),
    /// Switch servers on, and say what came of it
    Enable(change::NamedServers),
    /// Switch servers off: they are stopped, and their tools are no longer offered
    Disable(change::NamedServers),
    /// Stop servers, start them anew and read their tools again, even if they were asleep
    Restart(change::NamedServers),
    Patch(patch::PatchServer),
    Logs(logs::ShowLogs),
    Inspect(inspect::InspectServer),
    Approve(approve::ApproveServer),
    /// Hold servers: nothing of them is executed until they are approved
    Quarantine(change::NamedServers),
    Lock(lock::WriteLock),
    Login(login::LogIn),
    /// Log out of servers: their tokens are forgotten and their connections ended
    Logout(login::LogOut),
}

const EXAMPLES: &str = "\
Examples:
  mcpproxy upstream list
  mcpproxy upstream add time -- uvx mcp-server-time
  mcpproxy upstream add docs --url https://example.com/mcp --header 'X-Key: ${DOCS_KEY}'
  mcpproxy upstream patch docs idle_timeout=2m 'headers.X-Key=${DOCS_KEY}'
  mcpproxy upstream restart time docs
  mcpproxy upstream show docs
  mcpproxy upstream logs time --lines 200 --follow
  mcpproxy upstream inspect docs
  mcpproxy upstream approve docs search --seen 1f0c5a6b7d8e9f00
  mcpproxy upstream lock mcp.lock.json
  mcpproxy upstream login docs";

impl UpstreamCommand {
    pub(super) async fn run(self, location: &Location, out: Output) -> Result<(), CommandFailure> {
        match self {
            Self::List(list) => list.run(location, out).await,
            Self::Show(show) => show.run(location, out).await,
            Self::Add(add) => add.run(location, out).await,
            Self::Remove(named) => named.run(change::Verb::Remove, location, out).await,
            Self::Enable(named) => named.run(change::Verb::Enable, location, out).await,
            Self::Disable(named) => named.run(change::Verb::Disable, location, out).await,
            Self::Restart(named) => named.run(change::Verb::Restart, location, out).await,
            Self::Patch(patch) => patch.run(location, out).await,
            Self::Logs(logs) => logs.run(location, out).await,
            Self::Inspect(inspect) => inspect.run(location, out).await,
            Self::Approve(approve) => approve.run(location, out).await,
            Self::Quarantine(named) => named.run(change::Verb::Quarantine, location, out).await,
            Self::Lock(lock) => lock.run(location, out).await,
            Self::Login(login) => login.run(location, out).await,
            Self::Logout(logout) => logout.run(location, out).await,
        }
    }
}
