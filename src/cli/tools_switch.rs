//! `mcpproxy tools disable|enable`: adds tools to `disabled_tools` in their servers' entries, or removes them.

use clap::Args;
use http::Method;
use serde_json::{Value, json};

use super::{CommandFailure, Done, OrUndone, Output, connection, output, tool_name};
use crate::{
    daemon_client::DaemonClient,
    failure::ErrorCode,
    management::{ServerChange, ServerDetails, ShownTool},
    text::names::as_argument,
};

/// The arguments of both commands.
#[derive(Debug, Args)]
pub(super) struct NamedTools {
    /// The tools, as `tools list` shows them
    #[arg(value_name = "SERVER:TOOL", required = true)]
    names: Vec<String>,
}

/// Which of the two commands runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Switch {
    Disable,
    Enable,
}

impl Switch {
    fn past(self) -> &'static str {
        match self {
            Self::Disable => "disabled",
            Self::Enable => "enabled",
        }
    }
}

impl NamedTools {
    /// The server of the first of them.
    pub(super) fn server(&self) -> Option<&str> {
        Some(self.names.first()?.split_once(':')?.0)
    }

    pub(super) async fn run(self, switch: Switch, mut daemon: DaemonClient, out: Output) -> Done {
        let mut changes = Vec::new();
        let mut failures = Vec::new();
        for name in &self.names {
            match change_entry(switch, &mut daemon, name, out).await {
                Ok(change) => changes.extend(change),
                Err(failure) => failures.push(failure),
            }
        }
        if out.is_json() {
            output::print_value(&json!({ "changes": changes }))?;
        }
        output::report_failures(failures)
    }
}

/// Changes the entry of a tool's server; nothing where it needs no change.
async fn change_entry(
    switch: Switch,
    daemon: &mut DaemonClient,
    name: &str,
    out: Output,
) -> Done<Option<ServerChange>> {
    const UNDONE: &str = "nothing was changed";
    let (server, tool) = match tool_name::read(name) {
        Ok(parts) => parts,
        Err(failure) => {
            let judged = tool_name::shown::<ShownTool>(daemon, name).await.err();
            let judged = judged.unwrap_or(failure).undone(UNDONE);
            let path = connection::server_path(name, "");
            let is_server = daemon.fetch::<ServerDetails>(&path).await.is_ok();
            let verb = switch.past().trim_end_matches('d');
            let step = || format!("`mcpproxy upstream {verb} {}`", as_argument(name));
            return Err(judged.next_if(is_server.then(step)));
        }
    };
    let path = connection::server_path(server, "");
    let details: ServerDetails = daemon.fetch(&path).await.or_undone(UNDONE)?;
    let row = match tool_name::shown::<ShownTool>(daemon, name).await {
        // Its tools are not known yet.
        Err(_) if details.server.tools.unwrap_or_default() == 0 => None,
        shown => Some(shown.or_undone(UNDONE)?),
    };
    let entry = details.entry.as_ref();
    let written = entry.and_then(|entry| entry.get("disabled_tools")?.as_array());
    let mut patterns = written.cloned().unwrap_or_default();
    let own = Value::String(pattern_of(tool));
    let is_named = patterns.contains(&own);
    if is_named == (switch == Switch::Disable) {
        if switch == Switch::Enable {
            let step = details.server.next_step.as_deref();
            check_enabled(row.as_ref(), server, tool, step).or_undone(UNDONE)?;
        }
        out.note(&format!("{server}:{tool} is already {}", switch.past()));
        return Ok(None);
    }
    match switch {
        Switch::Disable => patterns.push(own),
        Switch::Enable => patterns.retain(|pattern| *pattern != own),
    }
    let patterns = Some(patterns).filter(|patterns| !patterns.is_empty());
    let body = json!({ "disabled_tools": patterns }).to_string();
    let change: ServerChange = daemon.ask_for(Method::PATCH, &path, body).await?;
    let file = daemon.in_file("in");
    out.done(&format!("{} {server}:{tool}{file}", switch.past()));
    if row.is_none() {
        out.note(&format!(
            "{server} has listed no tool yet, so the name was not checked"
        ));
    }
    Ok(Some(change))
}

/// Fails for a tool that stays disabled although `disabled_tools` does not name it. `step` is the next one of its server.
fn check_enabled(row: Option<&ShownTool>, server: &str, tool: &str, step: Option<&str>) -> Done {
    let (what, step) = match row {
        Some(row) if row.code.as_deref() == Some(ErrorCode::ToolDisabled.as_str()) => (
            format!("{server}:{tool} is excluded by a pattern in its server's entry"),
            format!(
                "change `enabled_tools` or `disabled_tools`: `mcpproxy upstream patch {server} KEY=VALUE`"
            ),
        ),
        Some(_) => return Ok(()),
        None => (
            format!("{server} has listed no tool {tool:?} yet"),
            step.map_or_else(
                || format!("`mcpproxy upstream show {server}` shows its state"),
                str::to_owned,
            ),
        ),
    };
    Err(CommandFailure::failed(what).next(step))
}

/// The pattern that matches this name only.
fn pattern_of(name: &str) -> String {
    let mut pattern = String::new();
    for c in name.chars() {
        if "*?[]{}\\!".contains(c) {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern
}
