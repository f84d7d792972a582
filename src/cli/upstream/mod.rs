//! `mcpproxy upstream`: the servers behind the daemon, from a terminal.

mod add;
mod change;
mod list;
mod logs;

use clap::Subcommand;

use super::{failure::CommandFailure, location::Location};

/// List, add, remove, switch and look into the servers behind mcpproxy
///
/// With a daemon running these go through it and take effect at once. Without one, `list`, `add`, `remove`, `enable` and
/// `disable` work on the configuration file.
#[derive(Debug, Subcommand)]
#[command(after_long_help = EXAMPLES)]
pub(super) enum UpstreamCommand {
    List(list::ListServers),
    Add(add::AddServer),
    /// Remove a server from the configuration, and stop it
    Remove(change::NamedServer),
    /// Switch a server on
    Enable(change::NamedServer),
    /// Switch a server off: it is stopped, and its tools are no longer offered
    Disable(change::NamedServer),
    /// Stop a server, start it anew and read its tools again, even if it was asleep
    Restart(change::NamedServer),
    Logs(logs::ShowLogs),
}

const EXAMPLES: &str = "\
Examples:
  mcpproxy upstream list
  mcpproxy upstream add time -- uvx mcp-server-time
  mcpproxy upstream add docs --url https://example.com/mcp --header 'X-Key: ${DOCS_KEY}'
  mcpproxy upstream restart time
  mcpproxy upstream logs time --lines 200";

impl UpstreamCommand {
    pub(super) async fn run(self, location: &Location) -> Result<(), CommandFailure> {
        match self {
            Self::List(list) => list.run(location).await,
            Self::Add(add) => add.run(location).await,
            Self::Remove(named) => named.run(change::Verb::Remove, location).await,
            Self::Enable(named) => named.run(change::Verb::Enable, location).await,
            Self::Disable(named) => named.run(change::Verb::Disable, location).await,
            Self::Restart(named) => named.run(change::Verb::Restart, location).await,
            Self::Logs(logs) => logs.run(location).await,
        }
    }
}
