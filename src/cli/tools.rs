//! `mcpproxy tools`: lists and shows tools, and leads to the commands that search and disable them.

use std::collections::BTreeMap;

use clap::{Args, Subcommand};

use super::{
    CommandFailure, Done, Location, Output, connection, output,
    table::{name, text},
    tool_name,
    tools_search::SearchTools,
    tools_switch::{NamedTools, Switch},
};
use crate::{
    config::BrokenEntry,
    daemon_client::{self, DaemonClient},
    failure::ErrorCode,
    management::{ServerDetails, ServerState, ShownTool, ToolList, ToolRow},
    wire::Raw,
};

/// List, search, show and disable tools
#[derive(Debug, Subcommand)]
pub(super) enum ToolsCommand {
    /// List the tools of all servers
    ///
    /// CALL WITH is the call type that a tool needs, as `mcpproxy call` takes it.
    #[command(visible_alias = "ls")]
    List(ListTools),
    /// Search tools as agents do
    Search(SearchTools),
    /// Show the definitions of tools as their servers gave them
    Show(ShowTool),
    /// Hide tools from agents
    Disable(NamedTools),
    /// Offer disabled tools again
    Enable(NamedTools),
}

#[derive(Debug, Args)]
pub(super) struct ListTools {
    /// Only the tools of this server
    #[arg(value_name = "SERVER")]
    server: Option<String>,
    /// The same
    #[arg(
        long = "server",
        value_name = "NAME",
        conflicts_with = "server",
        hide = true
    )]
    of: Option<String>,
}

#[derive(Debug, Args)]
pub(super) struct ShowTool {
    /// The tools, as `tools list` or a client names them
    #[arg(value_name = "SERVER:TOOL", required = true)]
    names: Vec<String>,
}

impl ToolsCommand {
    pub(super) async fn run(self, location: &Location, out: Output) -> Done {
        let files = location.files()?;
        let daemon = match &self {
            Self::Disable(_) | Self::Enable(_) => connection::open_or_files(&files, out).await?,
            _ => connection::open_to_show(&files, out).await?,
        };
        if daemon.is_over_files() {
            warn_of(&files.left_out(self.server())?, out);
        }
        match self {
            Self::List(list) => list.run(daemon, out).await,
            Self::Search(search) => search.run(daemon, out).await,
            Self::Show(show) => show.run(daemon, out).await,
            Self::Disable(named) => named.run(Switch::Disable, daemon, out).await,
            Self::Enable(named) => named.run(Switch::Enable, daemon, out).await,
        }
    }

    /// The server that the arguments name, if they name one.
    fn server(&self) -> Option<&str> {
        match self {
            Self::List(list) => list.server(),
            Self::Search(search) => search.server(),
            Self::Show(show) => Some(show.names.first()?.split_once(':')?.0),
            Self::Disable(named) | Self::Enable(named) => named.server(),
        }
    }
}

/// Names the servers whose tools are missing from what is shown.
fn warn_of(left_out: &[BrokenEntry], out: Output) {
    match left_out {
        [] => (),
        [BrokenEntry { name, reason, .. }] => {
            out.warning(&format!("{name} is left out: {reason}"));
        }
        several => {
            let n = several.len();
            out.warning(&format!(
                "{n} servers are left out: `mcpproxy upstream list`"
            ));
        }
    }
}

impl ListTools {
    fn server(&self) -> Option<&str> {
        self.server.as_deref().or(self.of.as_deref())
    }

    async fn run(self, mut daemon: DaemonClient, out: Output) -> Done {
        let server = self.server().map(str::to_owned);
        let path = daemon_client::with_query("/api/v1/tools", &[("server", server)]);
        let body = daemon.get(&path).await?;
        let known: ToolList = daemon_client::read(&path, &body)?;
        if let Some(server) = self
            .server()
            .filter(|_| known.tools.is_empty() && !out.is_json())
        {
            let path = connection::server_path(server, "");
            let ServerDetails { server: row, .. } = daemon.fetch(&path).await?;
            let what = match row.left_out {
                Some(_) => "has no usable tools",
                None if row.state == ServerState::Connecting => "has listed no tools yet",
                None => "has listed no tools",
            };
            let left_out = row.left_out.map(|left_out| left_out.to_string());
            let why = row.last_error.or(left_out);
            let why = why.map_or_else(String::new, |why| format!(": {why}"));
            out.note(&format!("{} {what}{why}", row.name));
            row.next_step.iter().for_each(|step| out.next(step));
            return Ok(());
        }
        out.answer(&path, &body, |known: ToolList| {
            // Without a daemon, `run` has printed this already.
            if !daemon.is_over_files() {
                warn_of(&known.left_out, out);
            }
            print(known, out)
        })
    }
}

/// Prints a list of tools.
pub(super) fn print(known: ToolList, out: Output) -> Done {
    if known.tools.is_empty() {
        out.note("no tools yet; `mcpproxy upstream list` shows the servers");
        return Ok(());
    }
    let (tool, call_with, about) = (name("NAME"), name("CALL WITH"), text("DESCRIPTION", 1));
    let are_callable = known.tools.iter().all(|tool| tool.callable);
    let rows = known.tools.into_iter().map(row);
    if are_callable {
        let rows = rows.map(|[tool, call_with, _, about]| [tool, call_with, about]);
        return output::print_table([tool, call_with, about], rows);
    }
    let columns = [tool, call_with, text("CALLABLE", 2), about];
    output::print_table(columns, rows)
}

fn row(tool: ToolRow) -> [String; 4] {
    // The row names the tool and its server already.
    let code = tool.code.as_deref().and_then(ErrorCode::parse);
    let callable = match (code, tool.reason) {
        _ if tool.callable => "yes".to_owned(),
        (Some(ErrorCode::ToolHeld), _) => "no: held for review".to_owned(),
        (Some(ErrorCode::ToolChanged), _) => "no: held, changed".to_owned(),
        (Some(ErrorCode::ToolDisabled), _) => "no: disabled".to_owned(),
        (Some(ErrorCode::ServerQuarantined), _) => "no: quarantined".to_owned(),
        (Some(ErrorCode::ServerDisabled), _) => "no: server disabled".to_owned(),
        (_, Some(reason)) => format!("no: {reason}"),
        (_, None) => "no".to_owned(),
    };
    [
        tool.name,
        tool.call_with.unwrap_or_else(|| "-".to_owned()),
        callable,
        output::first_line(&tool.description),
    ]
}

impl ShowTool {
    async fn run(self, mut daemon: DaemonClient, out: Output) -> Done {
        let is_one = self.names.len() == 1;
        let (mut bodies, mut failures) = (Vec::new(), Vec::new());
        for name in &self.names {
            let body: Raw = match tool_name::shown(&mut daemon, name).await {
                Ok(body) => body,
                Err(failure) if is_one => return Err(failure),
                Err(failure) => {
                    failures.push(failure);
                    continue;
                }
            };
            let tool: ShownTool = daemon_client::read(name, body.as_bytes())?;
            if !out.is_json() {
                output::print_foreign_json(tool.definition.as_str())?;
            }
            if !tool.callable {
                out.note(tool.reason.as_deref().unwrap_or("clients cannot call it"));
                if let Some(step) = &tool.step {
                    out.next(&step.at_terminal(&tool.server));
                }
                failures.push(CommandFailure::refused(""));
            }
            bodies.push(body);
        }
        if out.is_json() {
            match &bodies[..] {
                [body] if is_one => output::print_json(body.as_bytes())?,
                _ => output::print_value(&BTreeMap::from([("tools", &bodies)]))?,
            }
        }
        output::report_failures(failures)
    }
}
