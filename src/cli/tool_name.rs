//! The names of tools on a command line: `SERVER:TOOL`, or `SERVER__TOOL` as clients write them.

use serde::de::DeserializeOwned;

use super::{CommandFailure, Done};
use crate::{
    daemon_client::{self, DaemonClient},
    router,
};

/// The server and the tool in a name; nothing where it has another form.
pub(super) fn parts(name: &str) -> Option<(&str, &str)> {
    let parts = name.split_once(':').or_else(|| name.split_once("__"));
    parts.filter(|(server, tool)| !server.is_empty() && !tool.is_empty())
}

/// [`parts`], or the failure of a command that needs them. Whether server and tool exist is for the daemon to say.
pub(super) fn read(name: &str) -> Done<(&str, &str)> {
    parts(name).ok_or_else(|| {
        if router::is_built_in(name) {
            let what = format!("{name} is a built-in tool, which only clients call");
            let step = format!("use `{}` instead", command_for(name));
            return CommandFailure::usage(what).next(step);
        }
        let what = format!("{name:?} is not of the form SERVER:TOOL");
        CommandFailure::usage(what).next("`mcpproxy tools list` shows the names")
    })
}

/// The command that does at a terminal what a built-in tool does for clients.
fn command_for(built_in: &str) -> &'static str {
    match built_in {
        "retrieve_tools" => "mcpproxy tools search WORDS",
        "describe_tool" => "mcpproxy tools show SERVER:TOOL",
        "code_execution" => "mcpproxy code FILE",
        "upstream_servers" => "mcpproxy upstream list",
        "quarantine_security" => "mcpproxy upstream inspect NAME",
        _ => "mcpproxy call SERVER:TOOL",
    }
}

/// The daemon's answer about a tool; its failure says which tool or server was probably meant.
pub(super) async fn shown<T: DeserializeOwned>(daemon: &mut DaemonClient, name: &str) -> Done<T> {
    if router::is_built_in(name) {
        read(name)?;
    }
    let wanted = [("name", Some(name.to_owned()))];
    let path = daemon_client::with_query("/api/v1/tools/show", &wanted);
    Ok(daemon.fetch(&path).await?)
}
