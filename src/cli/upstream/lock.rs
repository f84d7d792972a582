//! `mcpproxy upstream lock`: what was approved, as a file that a team reviews and keeps.

use std::path::PathBuf;

use clap::Args;

use super::super::{
    Location, connection,
    failure::CommandFailure,
    output::{self, Output},
};

/// Write what was approved of every trusted server to a lock file, by server and tool
///
/// `mcpproxy serve --locked FILE` accepts exactly what such a file has. Without FILE the text goes to stdout.
#[derive(Debug, Args)]
pub(in crate::cli) struct WriteLock {
    /// The file, mcp.lock.json for example
    file: Option<PathBuf>,
}

impl WriteLock {
    pub(super) async fn run(self, location: &Location, out: Output) -> Result<(), CommandFailure> {
        let files = location.files()?;
        let text = match connection::open_if_running(&files, out).await? {
            Some(mut daemon) => {
                let body = daemon.get("/api/v1/lock").await?;
                String::from_utf8_lossy(&body).into_owned()
            }
            None => files.lock_text()?,
        };
        let Some(file) = self.file else {
            return output::exactly(text.trim_end());
        };
        std::fs::write(&file, text).map_err(|error| {
            CommandFailure::failed(format!("failed to write {}: {error}", file.display()))
        })?;
        out.note(&format!("wrote {}", file.display()));
        Ok(())
    }
}
