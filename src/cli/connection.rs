//! The daemon that a command talks to. One of another version is pointed out.

use std::path::Path;

use super::output;
use crate::daemon_client::{DaemonClient, DaemonError};

/// Connects to the daemon of a data folder.
pub(super) async fn open(data_dir: &Path) -> Result<DaemonClient, DaemonError> {
    let daemon = DaemonClient::connect(data_dir).await?;
    if let Some(note) = daemon.version_note() {
        output::note(&note);
    }
    Ok(daemon)
}

/// [`open`] for commands that can also do without: nothing when no daemon runs.
pub(super) async fn open_if_running(data_dir: &Path) -> Result<Option<DaemonClient>, DaemonError> {
    match open(data_dir).await {
        Ok(daemon) => Ok(Some(daemon)),
        Err(DaemonError::NotRunning(_)) => Ok(None),
        Err(error) => Err(error),
    }
}
