//! `mcpproxy upstream`: the servers behind the daemon, from a terminal.

mod add;
mod change;
mod list;
mod logs;

use clap::Subcommand;
use serde::{Deserialize, Serialize};

use super::{Location, failure::Failure};

/// List, add, remove, switch and look into the servers behind mcpproxy
///
/// With a daemon running these go through it and take effect at once. Without one, `list`, `add`, `remove`, `enable` and
/// `disable` work on the configuration file.
#[derive(Debug, Subcommand)]
#[command(after_long_help = EXAMPLES)]
pub(super) enum Upstream {
    List(list::List),
    Add(add::Add),
    /// Remove a server from the configuration, and stop it
    Remove(change::Named),
    /// Switch a server on
    Enable(change::Named),
    /// Switch a server off: it is stopped, and its tools are no longer offered
    Disable(change::Named),
    /// Stop a server, start it anew and read its tools again, even if it was asleep
    Restart(change::Named),
    Logs(logs::Logs),
}

const EXAMPLES: &str = "\
Examples:
  mcpproxy upstream list
  mcpproxy upstream add time -- uvx mcp-server-time
  mcpproxy upstream add docs --url https://example.com/mcp --header 'X-Key: ${DOCS_KEY}'
  mcpproxy upstream restart time
  mcpproxy upstream logs time --lines 200";

impl Upstream {
    pub(super) async fn run(self, location: &Location) -> Result<(), Failure> {
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

/// A server as listings show it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ServerRow {
    pub(super) name: String,
    /// `stdio`, `http`, `sse` or `auto`.
    pub(super) transport: Option<String>,
    pub(super) state: String,
    #[serde(default)]
    pub(super) enabled: bool,
    #[serde(default)]
    pub(super) quarantined: bool,
    /// How many tools it is known to have; nothing when that is not known.
    pub(super) tools: Option<u64>,
    /// How many instances run, of a server that not all clients share.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) instances: Option<u64>,
    pub(super) last_error: Option<String>,
    pub(super) next_step: Option<String>,
}

/// The daemon's answer to a change.
#[derive(Deserialize)]
struct Changed {
    server: Option<ServerRow>,
}
