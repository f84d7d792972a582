//! `mcpproxy upstream list`.

use clap::Args;

use super::super::{
    Location, connection,
    failure::CommandFailure,
    output::{self, OutputOption},
};
use crate::management::{ServerList, ServerRow};

/// List the servers: transport, state, tools, the last error and what to do about it
#[derive(Debug, Args)]
pub(in crate::cli) struct ListServers {
    #[command(flatten)]
    output: OutputOption,
}

impl ListServers {
    pub(super) async fn run(self, location: &Location) -> Result<(), CommandFailure> {
        let files = location.files()?;
        let path = "/api/v1/servers";
        let body = if let Some(mut daemon) = connection::open_if_running(files.data_dir()).await? {
            daemon.get(path).await?.to_vec()
        } else {
            let body = output::as_json(&files.servers()?)?;
            output::note(&format!(
                "the daemon is not running; this is what {} says",
                files.config_file().display()
            ));
            body
        };
        output::answer(self.output.format, path, &body, print)
    }
}

fn print(list: ServerList) -> Result<(), CommandFailure> {
    if list.servers.is_empty() {
        output::note(
            "there are no servers; add one with `mcpproxy upstream add NAME -- COMMAND ARGS…`",
        );
        return Ok(());
    }
    output::table(
        [
            "NAME",
            "TRANSPORT",
            "STATE",
            "TOOLS",
            "LAST ERROR",
            "NEXT STEP",
        ],
        list.servers.into_iter().map(row),
    )
}

fn row(server: ServerRow) -> [String; 6] {
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let state = server.state.as_str();
    [
        server.name,
        or_dash(server.transport),
        match server.instances {
            None | Some(0) => state.to_owned(),
            Some(1) => format!("{state} (1 instance)"),
            Some(instances) => format!("{state} ({instances} instances)"),
        },
        or_dash(server.tools.map(|tools| tools.to_string())),
        or_dash(server.last_error),
        or_dash(server.next_step),
    ]
}
