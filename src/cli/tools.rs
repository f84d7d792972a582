//! `mcpproxy tools`: the catalog, from a terminal.

use clap::{Args, Subcommand};
use serde::Deserialize;

use super::{
    Location, connection,
    failure::CommandFailure,
    output::{self, OutputOption},
    tools_search::SearchTools,
};
use crate::{
    daemon_client::{self, DaemonClient},
    management::{Management, OverFiles, ShownTool, ToolList, ToolRow},
};

/// List the tools of all servers, search them as AI clients do, or show one as its server defines it
#[derive(Debug, Subcommand)]
#[command(after_long_help = EXAMPLES)]
pub(super) enum ToolsCommand {
    /// List the tools of all servers, also of those asleep
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
    #[command(flatten)]
    output: OutputOption,
}

#[derive(Debug, Args)]
pub(super) struct ShowTool {
    /// The tool, as `tools list` shows it, or under the name that clients see
    #[arg(value_name = "SERVER:TOOL")]
    name: String,
    #[command(flatten)]
    output: OutputOption,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Annotations {
    read_only_hint: Option<bool>,
    destructive_hint: Option<bool>,
}

impl ToolsCommand {
    pub(super) async fn run(self, location: &Location) -> Result<(), CommandFailure> {
        let files = location.files()?;
        let daemon = connection::open_if_running(files.data_dir()).await?;
        if daemon.is_none() {
            output::note("the daemon is not running; this is what the servers listed last");
        }
        match self {
            Self::List(list) => list.run(&files, daemon).await,
            Self::Search(search) => search.run(&files, daemon).await,
            Self::Show(show) => show.run(&files, daemon).await,
        }
    }
}

impl ListTools {
    async fn run(
        self,
        files: &Management<OverFiles>,
        daemon: Option<DaemonClient>,
    ) -> Result<(), CommandFailure> {
        let server = self.server.as_deref();
        let path = match server {
            None => "/api/v1/tools".to_owned(),
            Some(server) => format!("/api/v1/tools?server={}", daemon_client::encoded(server)),
        };
        let body = match daemon {
            Some(mut daemon) => daemon.get(&path).await?.to_vec(),
            None => output::as_json(&files.tools(server)?)?,
        };
        output::answer(self.output.format, &path, &body, print)
    }
}

fn print(known: ToolList) -> Result<(), CommandFailure> {
    if known.tools.is_empty() {
        output::note("no tools are known; `mcpproxy upstream list` shows how the servers are");
        return Ok(());
    }
    output::table(
        ["NAME", "KIND", "CALLABLE", "DESCRIPTION"],
        known.tools.into_iter().map(row),
    )
}

fn row(tool: ToolRow) -> [String; 4] {
    // Annotations of an odd shape say nothing.
    let annotations = tool.annotations.and_then(|raw| raw.read().ok());
    let annotations: Annotations = annotations.unwrap_or_default();
    let kind = match (annotations.destructive_hint, annotations.read_only_hint) {
        (Some(true), _) => "destructive",
        (_, Some(true)) => "read",
        (_, Some(false)) => "write",
        _ => "-",
    };
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
        kind.to_owned(),
        callable,
        output::shortened(first_line),
    ]
}

impl ShowTool {
    async fn run(
        self,
        files: &Management<OverFiles>,
        daemon: Option<DaemonClient>,
    ) -> Result<(), CommandFailure> {
        let path = format!(
            "/api/v1/tools/show?name={}",
            daemon_client::encoded(&self.name)
        );
        let body = match daemon {
            Some(mut daemon) => daemon.get(&path).await?.to_vec(),
            None => output::as_json(&files.tool(&self.name)?)?,
        };
        output::answer(self.output.format, &path, &body, |tool| {
            print_definition(&tool)
        })
    }
}

fn print_definition(tool: &ShownTool) -> Result<(), CommandFailure> {
    if !tool.callable {
        let reason = tool.reason.as_deref().unwrap_or("no reason is given");
        output::note(&format!("{} cannot be called: {reason}", tool.name));
    }
    output::json(tool.definition.as_bytes())
}

/// Checks the form `SERVER:TOOL`; server and tool themselves are the daemon's to know.
pub(super) fn tool_name(text: &str) -> Result<String, String> {
    match text.split_once(':') {
        Some((server, tool)) if !server.is_empty() && !tool.is_empty() => Ok(text.to_owned()),
        _ => Err("write it as SERVER:TOOL, as `mcpproxy tools list` shows it".to_owned()),
    }
}
