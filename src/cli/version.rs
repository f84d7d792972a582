//! `mcpproxy version` and `--version`: the version, commit and protocol revisions of this program, and the running daemon's version.

use std::sync::LazyLock;

use clap::Args;
use serde::Serialize;

use super::{Done, Location, Output, output};
use crate::{daemon_client::DaemonClient, management::ProgramVersion};

/// The text of `--version` behind the program's name.
pub(super) fn with_commit_and_revisions() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(|| {
        let own = ProgramVersion::own();
        format!(
            "{}\ncommit {}\nrevisions of the protocol: {}",
            own.version,
            own.commit.unwrap_or("not recorded in this build"),
            own.revisions.join(", ")
        )
    });
    &TEXT
}

/// Show program, daemon and protocol versions
#[derive(Debug, Args)]
pub(super) struct VersionCommand {}

#[derive(Serialize)]
struct Versions {
    #[serde(flatten)]
    own: ProgramVersion,
    /// The version of the running daemon.
    daemon: Option<String>,
}

impl VersionCommand {
    pub(super) async fn run(self, location: &Location, out: Output) -> Done {
        let files = location.files()?;
        let connected = DaemonClient::connect(files.data_dir()).await;
        let status = connected.iter().find_map(DaemonClient::status_report);
        let versions = Versions {
            own: ProgramVersion::own(),
            daemon: status.map(|status| status.version),
        };
        if out.is_json() {
            return output::print_value(&versions);
        }
        let daemon = match (versions.daemon, connected) {
            (Some(version), _) => format!("daemon {version}"),
            (None, Err(error)) if !error.is_not_running() => error.to_string(),
            (None, _) => "daemon not running".to_owned(),
        };
        let ours = with_commit_and_revisions();
        output::print_line(&format!("mcpproxy {ours}\n{daemon}"))
    }
}
