//! `mcpproxy upstream logs`: shows or follows a server's log.

use clap::Args;

use super::super::{Done, Output, connection, logs::LogPart};
use crate::management::{Files, LogLines};

/// Show a server's log
///
/// Logs are in the data folder, so the command also works without a daemon.
#[derive(Debug, Args)]
pub(in crate::cli) struct ShowLogs {
    /// The server's name, as `upstream list` shows it
    name: String,
    #[command(flatten)]
    part: LogPart,
}

impl ShowLogs {
    pub(super) async fn run(self, files: &Files, out: Output) -> Done {
        self.part.check(out)?;
        let lines = format!("/logs?lines={}", self.part.lines);
        let path = connection::server_path(&self.name, &lines);
        let mut daemon = connection::open_or_files(files, out).await?;
        let log: LogLines = daemon.fetch(&path).await?;
        if !self.part.follow {
            return self.part.show(&self.name, log, out);
        }
        let name = &self.name;
        // The demo server is not in the file, so its log is followed without this check.
        let was_there = is_configured(files, name);
        let is_over = || was_there && !is_configured(files, name);
        if self.part.follow(&log.file, is_over).await? {
            out.note(&format!("the server {name:?} was removed"));
        }
        Ok(())
    }
}

/// Whether the configuration file has the server, or cannot be read.
fn is_configured(files: &Files, name: &str) -> bool {
    files.settings().map_or(true, |settings| {
        let mut broken = settings.broken.iter();
        settings.servers.contains_key(name) || broken.any(|broken| broken.name == name)
    })
}
