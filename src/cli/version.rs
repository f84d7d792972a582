//! `mcpproxy version`: ours, and that of the daemon that runs.

use clap::Args;
use serde::Serialize;

use super::{
    failure::CommandFailure,
    location::Location,
    output::{self, Output},
};
use crate::{daemon_client::DaemonClient, management::StatusReport};

/// Print the version of this program, and of the daemon that runs
#[derive(Debug, Args)]
pub(super) struct VersionCommand {}

#[derive(Serialize)]
struct Versions {
    version: &'static str,
    /// Nothing while none runs.
    daemon: Option<String>,
}

impl VersionCommand {
    pub(super) async fn run(self, location: &Location, out: Output) -> Result<(), CommandFailure> {
        let files = location.files()?;
        // Whatever is wrong with it, the version is what was asked for.
        let daemon = DaemonClient::connect(files.data_dir()).await.ok();
        let status = daemon.and_then(|daemon| serde_json::from_slice(daemon.status()).ok());
        let versions = Versions {
            version: env!("CARGO_PKG_VERSION"),
            daemon: status.map(|status: StatusReport| status.version),
        };
        if out.is_json() {
            return output::json(&output::as_json(&versions)?);
        }
        let daemon = versions.daemon.unwrap_or_else(|| "not running".to_owned());
        output::exactly(&format!("mcpproxy {}\ndaemon {daemon}", versions.version))
    }
}
