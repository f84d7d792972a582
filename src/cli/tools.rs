//! `mcpproxy tools`: the catalog, from a terminal.

use clap::{Args, Subcommand};

use super::{
    Location, connection,
    failure::CommandFailure,
    output::{self, Output},
    table::{name, text},
    tools_search::SearchTools,
};
use crate::{
    config::BrokenEntry,
    daemon_client::{self, DaemonClient},
    management::{Management, OverFiles, ShownTool, ToolList, ToolRow},
};

/// List the tools of all servers, search them as AI clients do, or show one as its server defines it
#[derive(Debug, Subcommand)]
#[command(after_long_help = EXAMPLES)]
pub(super) enum ToolsCommand {
    /// List the tools of all servers, also of those asleep
    #[command(visible_alias = "ls")]
    List(ListTools),
    /// Search the tools by what they do, ranked as for AI clients
    Search(SearchTools),
    /// Show one tool's definition as its server gave it
    Show(ShowTool),
}

const EXAMPLES: &str = "\
Examples:
  mcpproxy tools list --server github
  mcpproxy tools search create issue
  mcpproxy tools search 'github: \"pull request\"' --limit 5
  mcpproxy tools show github:create_issue
  mcpproxy tools list -o json";

#[derive(Debug, Args)]
pub(super) struct ListTools {
    /// Only the tools of this server
    #[arg(long, value_name = "NAME")]
    server: Option<String>,
}

#[derive(Debug, Args)]
pub(super) struct ShowTool {
    /// The tool, as `tools list` shows it, or under the name that clients see
    #[arg(value_name = "SERVER:TOOL")]
    name: String,
}

impl ToolsCommand {
    pub(super) async fn run(self, location: &Location, out: Output) -> Result<(), CommandFailure> {
        let files = location.files()?;
        let daemon = connection::open_if_running(&files, out).await?;
        if daemon.is_none() {
            out.note("the daemon is not running; this is what the servers listed last");
            warn_of(&files.left_out(self.server())?, out);
        }
        match self {
            Self::List(list) => list.run(&files, daemon, out).await,
            Self::Search(search) => search.run(&files, daemon, out).await,
            Self::Show(show) => show.run(&files, daemon, out).await,
        }
    }

    /// The one server that is meant, if it is one.
    fn server(&self) -> Option<&str> {
        match self {
            Self::List(list) => list.server.as_deref(),
            Self::Search(search) => search.server(),
            Self::Show(show) => show.name.split_once(':').map(|(server, _)| server),
        }
    }
}

/// Names the servers whose tools are missing from what is shown.
fn warn_of(left_out: &[BrokenEntry], out: Output) {
    for BrokenEntry { name, reason, .. } in left_out {
        out.warning(&format!(
            "the tools of {name:?} are left out, because its entry cannot be used here: {reason}"
        ));
    }
}

impl ListTools {
    async fn run(
        self,
        files: &Management<OverFiles>,
        daemon: Option<DaemonClient>,
        out: Output,
    ) -> Result<(), CommandFailure> {
        let server = self.server.as_deref();
        let path = match server {
            None => "/api/v1/tools".to_owned(),
            Some(server) => format!("/api/v1/tools?server={}", daemon_client::encoded(server)),
        };
        let is_alone = daemon.is_none();
        let body = match daemon {
            Some(mut daemon) => daemon.get(&path).await?.to_vec(),
            None => output::as_json(&files.tools(server)?)?,
        };
        out.answer(&path, &body, |known: ToolList| {
            // Without a daemon the notice above is for programs, too.
            if !is_alone {
                warn_of(&known.left_out, out);
            }
            print(known, out)
        })
    }
}

/// Prints a list of tools.
pub(super) fn print(known: ToolList, out: Output) -> Result<(), CommandFailure> {
    if known.tools.is_empty() {
        out.note("no tools are known; `mcpproxy upstream list` shows how the servers are");
        return Ok(());
    }
    let columns = [
        name("NAME"),
        name("CALL WITH"),
        text("CALLABLE", 2),
        text("DESCRIPTION", 2),
    ];
    output::table(columns, known.tools.into_iter().map(row))
}

fn row(tool: ToolRow) -> [String; 4] {
    let callable = match (tool.callable, tool.reason) {
        (true, _) => "yes".to_owned(),
        (false, Some(reason)) => format!("no: {reason}"),
        (false, None) => "no".to_owned(),
    };
    let first_line = tool
        .description
        .trim_start()
        .lines()
        .next()
        .unwrap_or_default();
    [
        tool.name,
        tool.call_with.unwrap_or_else(|| "-".to_owned()),
        callable,
        output::shortened(first_line),
    ]
}

impl ShowTool {
    async fn run(
        self,
        files: &Management<OverFiles>,
        daemon: Option<DaemonClient>,
        out: Output,
    ) -> Result<(), CommandFailure> {
        let path = format!(
            "/api/v1/tools/show?name={}",
            daemon_client::encoded(&self.name)
        );
        let body = match daemon {
            Some(mut daemon) => daemon.get(&path).await?.to_vec(),
            None => output::as_json(&files.tool(&self.name)?)?,
        };
        out.answer(&path, &body, |tool| print_definition(&tool, out))
    }
}

fn print_definition(tool: &ShownTool, out: Output) -> Result<(), CommandFailure> {
    if !tool.callable {
        let reason = tool.reason.as_deref().unwrap_or("no reason is given");
        out.note(&format!("{} cannot be called: {reason}", tool.name));
    }
    output::json(tool.definition.as_bytes())
}

/// Checks the form, `SERVER:TOOL` or `server__tool`; server and tool themselves are the daemon's to know.
pub(super) fn tool_name(text: &str) -> Result<String, String> {
    match text.split_once(':').or_else(|| text.split_once("__")) {
        Some((server, tool)) if !server.is_empty() && !tool.is_empty() => Ok(text.to_owned()),
        _ => Err("write it as SERVER:TOOL, as `mcpproxy tools list` shows it".to_owned()),
    }
}
