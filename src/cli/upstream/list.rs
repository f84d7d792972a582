//! `mcpproxy upstream list`: lists servers.

use clap::Args;

use super::super::{
    Done, Output, connection, output,
    table::{name, text},
    unusable_file::correct_the_file,
};
use crate::management::{Files, LeftOut, ServerList, ServerRow};

/// List servers, their states, errors and next steps
#[derive(Debug, Args)]
pub(in crate::cli) struct ListServers {}

impl ListServers {
    pub(super) async fn run(self, files: &Files, out: Output) -> Done {
        let path = "/api/v1/servers";
        let mut daemon = connection::open_to_show(files, out).await?;
        if let Some(status) = daemon.status_report()
            && let Some(error) = &status.config_error
        {
            out.warning(&format!(
                "{error}; mcpproxy keeps the last good configuration"
            ));
            out.next(&correct_the_file(&status, files));
        }
        let body = daemon.get(path).await?;
        out.answer(path, &body, |list: ServerList| {
            if list.servers.is_empty() {
                out.note("no servers yet; add one: `mcpproxy upstream add NAME -- COMMAND`");
                return Ok(());
            }
            print_rows(list.servers)
        })
    }
}

/// Prints servers as a table.
pub(in crate::cli) fn print_rows(servers: Vec<ServerRow>) -> Done {
    let columns = [
        name("NAME"),
        name("TRANSPORT"),
        name("STATE"),
        name("TOOLS"),
        text("ERROR", 3),
        text("NEXT", usize::MAX),
    ];
    output::print_table(columns, servers.into_iter().map(row))
}

fn row(server: ServerRow) -> [String; 6] {
    let (state, tools) = (state(&server), tools(&server));
    let left_out = server.left_out.map(|left_out| left_out.to_string());
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let writes = |line: String| format!("wait; its log: {line}");
    let next = server.next_step.or(server.last_output.map(writes));
    [
        server.name,
        or_dash(server.transport.map(|kind| kind.to_string())),
        state,
        or_dash(tools),
        or_dash(server.last_error.or(left_out)),
        output::as_typed(&or_dash(next)),
    ]
}

/// `5 (2 held, 1 prompt held, 1 left out)`.
pub(super) fn tools(server: &ServerRow) -> Option<String> {
    let left_out = server.left_out.as_ref().map(LeftOut::short);
    let remarks: Vec<String> = server.held_in_words().into_iter().chain(left_out).collect();
    if remarks.is_empty() {
        return server.tools.map(|tools| tools.to_string());
    }
    let tools = server.tools.unwrap_or_default();
    Some(format!("{tools} ({})", remarks.join(", ")))
}

/// The state with remarks, such as `Ready (2 instances)` or `Starting (downloading)`.
pub(super) fn state(server: &ServerRow) -> String {
    let instances = server.instances.filter(|n| *n > 0);
    let instances = instances.map(|n| output::count(n, "instance"));
    let demo = server.demo.map(|_| "demo server".to_owned());
    let remarks = [instances, server.detail.clone(), demo];
    let remarks: Vec<String> = remarks.into_iter().flatten().collect();
    let state = &server.shown_state;
    if remarks.is_empty() {
        state.to_owned()
    } else {
        format!("{state} ({})", remarks.join(", "))
    }
}
