//! `mcpproxy upstream list`.

use clap::Args;
use serde::{Deserialize, Serialize};

use super::{
    super::{
        Location,
        daemon_client::{self, Daemon},
        failure::Failure,
        offline::Files,
        output::{self, Format, Output},
    },
    ServerRow,
};

/// List the servers: transport, state, tools, the last error and what to do about it
#[derive(Debug, Args)]
pub(in crate::cli) struct List {
    #[command(flatten)]
    output: Output,
}

#[derive(Serialize, Deserialize)]
struct Servers {
    servers: Vec<ServerRow>,
}

impl List {
    pub(super) async fn run(self, location: &Location) -> Result<(), Failure> {
        let files = Files::find(location)?;
        let (servers, body) = if let Some(mut daemon) = Daemon::running(files.data_dir()).await? {
            let body = daemon.get("/api/v1/servers").await?;
            (
                daemon_client::read("GET /api/v1/servers", &body)?,
                Some(body),
            )
        } else {
            let servers = Servers {
                servers: files.servers()?,
            };
            output::note(&format!(
                "the daemon is not running; this is what {} says",
                files.config_file().display()
            ));
            (servers, None)
        };
        match (self.output.format, body) {
            (Format::Json, Some(body)) => output::json(&body),
            (Format::Json, None) => output::json_of(&servers),
            (Format::Table, _) => print(servers.servers),
        }
    }
}

fn print(servers: Vec<ServerRow>) -> Result<(), Failure> {
    if servers.is_empty() {
        output::note(
            "there are no servers; add one with `mcpproxy upstream add NAME -- COMMAND ARGS…`",
        );
        return Ok(());
    }
    let rows = servers.into_iter().map(|server| {
        let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        [
            server.name,
            or_dash(server.transport),
            match server.instances {
                None | Some(0) => server.state,
                Some(1) => format!("{} (1 instance)", server.state),
                Some(instances) => format!("{} ({instances} instances)", server.state),
            },
            or_dash(server.tools.map(|tools| tools.to_string())),
            or_dash(server.last_error),
            or_dash(server.next_step),
        ]
    });
    output::table(
        [
            "NAME",
            "TRANSPORT",
            "STATE",
            "TOOLS",
            "LAST ERROR",
            "NEXT STEP",
        ],
        rows,
    )
}
