//! `mcpproxy tools disable|enable`: whether agents get a tool, which is its name in `disabled_tools` of its server.

use clap::Args;
use http::Method;
use serde_json::{Value, json};

use super::{CommandFailure, Done, Output, connection, output};
use crate::{
    daemon_client::{self, AnswerDeadline, DaemonClient, DaemonError},
    failure::ErrorCode,
    management::{ServerChange, ServerDetails, ToolList, ToolRow},
    process, router,
    text::names,
};

/// The tools that are meant.
#[derive(Debug, Args)]
pub(super) struct NamedTools {
    /// The tools, as `tools list` shows them
    #[arg(value_name = "SERVER:TOOL", required = true)]
    names: Vec<String>,
}

/// What becomes of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Switch {
    Disable,
    Enable,
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
            match switched(switch, &mut daemon, name, out).await {
                Ok(change) => changes.extend(change),
                Err(failure) => failures.push(failure),
            }
        }
        if out.is_json() {
            output::print_value(&json!({ "changes": changes }))?;
        }
        output::overall(failures)
    }
}

/// Changes the entry of a tool's server; nothing where it says so already.
async fn switched(
    switch: Switch,
    daemon: &mut DaemonClient,
    name: &str,
    out: Output,
) -> Done<Option<ServerChange>> {
    const UNDONE: &str = "nothing was changed";
    let full = match tool_name(name) {
        Ok(full) => full,
        Err(failure) => {
            // The daemon knows whose tool is called so.
            let wanted = [("name", Some(name.to_owned()))];
            let path = daemon_client::with_query("/api/v1/tools/show", &wanted);
            let meant = daemon.get(&path).await.err().map(CommandFailure::from);
            return Err(meant.unwrap_or(failure).undone(UNDONE));
        }
    };
    let parts = full.split_once(':').or_else(|| full.split_once("__"));
    let (server, tool) = parts.unwrap_or((&full, ""));
    let row = known_tool(daemon, server, tool).await;
    let row = row.map_err(|failure| failure.undone(UNDONE))?;
    let path = connection::server_path(server, "");
    let details: ServerDetails = daemon.fetch(&path).await?;
    let entry = details.entry.as_ref();
    let written = entry.and_then(|entry| entry.get("disabled_tools")?.as_array());
    let mut patterns = written.cloned().unwrap_or_default();
    let own = Value::String(pattern_of(tool));
    let is_named = patterns.contains(&own);
    if is_named == (switch == Switch::Disable) {
        let code = row.as_ref().and_then(|row| row.code.as_deref());
        let is_left_out = code == Some("tool_disabled");
        if switch == Switch::Enable && is_left_out {
            return Err(left_out(server, tool).undone(UNDONE));
        }
        if switch == Switch::Enable && row.is_none() {
            let what = format!("{server} has listed no tool {tool:?} yet");
            let failure = CommandFailure::failed(what).undone(UNDONE);
            return Err(failure.next(format!("`mcpproxy upstream show {server}`")));
        }
        let past = past(switch);
        out.note(&format!("{server}:{tool} is already {past}"));
        return Ok(None);
    }
    match switch {
        Switch::Disable => patterns.push(own),
        Switch::Enable => patterns.retain(|pattern| *pattern != own),
    }
    let patterns = Some(patterns).filter(|patterns| !patterns.is_empty());
    let body = json!({ "disabled_tools": patterns }).to_string();
    let changing = daemon.request(Method::PATCH, &path, body, AnswerDeadline::Daemon);
    let change: ServerChange = changing.await.map_err(without_entry)?;
    let file = daemon.in_file("in");
    out.done(&format!("{} {server}:{tool}{file}", past(switch)));
    if row.is_none() {
        out.note(&format!(
            "{server} has listed no tool yet, so the name was not checked"
        ));
    }
    Ok(Some(change))
}

/// What is known of the tool; nothing while its server was never listed. One that a listed server lacks is a mistake.
pub(super) async fn known_tool(
    daemon: &mut DaemonClient,
    server: &str,
    tool: &str,
) -> Done<Option<ToolRow>> {
    let path = connection::server_path(server, "/tools");
    let known: ToolList = daemon.fetch(&path).await?;
    let own = |row: &ToolRow| row.name.split_once(':').map(|(_, own)| own.to_owned());
    let names: Vec<String> = known.tools.iter().filter_map(own).collect();
    let mut rows = known.tools.into_iter();
    let found = rows.find(|row| own(row).as_deref() == Some(tool));
    if found.is_some() || names.is_empty() {
        return Ok(found);
    }
    let closest = names::closest(tool, names.iter().map(String::as_str));
    let meant = closest.map_or_else(String::new, |name| {
        format!("; did you mean {server}:{name}?")
    });
    let failure = CommandFailure::failed(format!("{server} has no tool {tool:?}{meant}"));
    let failure = failure.of_code(Some(ErrorCode::UnknownTool));
    Err(failure.next(format!("`mcpproxy tools list {server}` shows its tools")))
}

/// The demo server, which the daemon has beside the file, needs an entry there for its tools to be disabled in.
fn without_entry(error: DaemonError) -> CommandFailure {
    let failure = CommandFailure::from(error);
    if failure.code != Some(ErrorCode::NotInFile) {
        return failure;
    }
    let program = process::own_program().unwrap_or_else(|_| "mcpproxy".into());
    let entry = json!({ "command": program.to_string_lossy(), "args": ["demo-server"] });
    let entry = output::shell_word(&entry.to_string());
    failure.next(format!(
        "give it an entry, then try again: `mcpproxy config set mcpServers.demo {entry}`"
    ))
}

/// A tool that something else than its name keeps away.
fn left_out(server: &str, tool: &str) -> CommandFailure {
    let what = format!("{server}:{tool} is excluded by a pattern in its server's entry");
    CommandFailure::failed(what).next(format!(
        "change `enabled_tools` or `disabled_tools`: `mcpproxy upstream patch {server} KEY=VALUE`"
    ))
}

/// A name as a pattern that matches it alone.
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

fn past(switch: Switch) -> &'static str {
    match switch {
        Switch::Disable => "disabled",
        Switch::Enable => "enabled",
    }
}

/// Checks the form, `SERVER:TOOL` or `server__tool`; server and tool themselves are the daemon's to know.
pub(super) fn tool_name(text: &str) -> Done<String> {
    match text.split_once(':').or_else(|| text.split_once("__")) {
        Some((server, tool)) if !server.is_empty() && !tool.is_empty() => Ok(text.to_owned()),
        _ => {
            let (what, step) = if router::is_built_in(text) {
                let what = format!("{text} is a built-in tool, which only clients call");
                (what, "`mcpproxy tools search WORDS`")
            } else {
                let what = format!("{text:?} is not of the form SERVER:TOOL");
                (what, "`mcpproxy tools list` shows the names")
            };
            Err(CommandFailure::usage(what).next(step))
        }
    }
}
