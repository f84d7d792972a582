//! The names of tools on a command line: `SERVER:TOOL`, or `SERVER__TOOL` as clients write them.

use super::{CommandFailure, Done, Output, connection};
use crate::{
    management::{Files, ToolList, ToolRow},
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
        let (what, step) = if router::is_built_in(name) {
            let what = format!("{name} is a built-in tool, which only clients call");
            (what, "`mcpproxy tools search WORDS`")
        } else {
            let what = format!("{name:?} is not of the form SERVER:TOOL");
            (what, "`mcpproxy tools list` shows the names")
        };
        CommandFailure::usage(what).next(step)
    })
}

/// The failure for a name without a server, with the step that names a tool of this name.
pub(super) async fn with_meant(
    failure: CommandFailure,
    name: &str,
    files: &Files,
    out: Output,
) -> CommandFailure {
    let meant = async {
        let mut daemon = connection::open_if_running(files, out).await.ok()??;
        let known: ToolList = daemon.fetch("/api/v1/tools").await.ok()?;
        let mut tools = known.tools.into_iter();
        tools.find(|tool| own_name(tool) == Some(name))
    };
    match meant.await {
        Some(tool) => failure.next(format!("did you mean {}?", tool.name)),
        None => failure,
    }
}

/// A tool's name without its server.
pub(super) fn own_name(tool: &ToolRow) -> Option<&str> {
    tool.name.split_once(':').map(|(_, own)| own)
}
