//! `mcpproxy upstream logs`.

use clap::Args;

use super::super::{
    Location, connection,
    failure::CommandFailure,
    output::{self, OutputOption},
};
use crate::{daemon_client, management::LogLines};

/// Show the last lines that a server wrote to its stderr
#[derive(Debug, Args)]
pub(in crate::cli) struct ShowLogs {
    /// The server's name, as `upstream list` shows it
    name: String,
    /// How many lines, at most 500
    #[arg(short = 'n', long, default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=500))]
    lines: u16,
    #[command(flatten)]
    output: OutputOption,
}

impl ShowLogs {
    pub(super) async fn run(self, location: &Location) -> Result<(), CommandFailure> {
        let files = location.files()?;
        let mut daemon = connection::open(files.data_dir()).await?;
        let name = daemon_client::encoded(&self.name);
        let path = format!("/api/v1/servers/{name}/logs?lines={}", self.lines);
        let body = daemon.get(&path).await?;
        output::answer(self.output.format, &path, &body, |LogLines { lines }| {
            if lines.is_empty() {
                output::note(&format!(
                    "the server {:?} has written nothing to its log",
                    self.name
                ));
                return Ok(());
            }
            output::foreign_text(&lines.join("\n"))
        })
    }
}
