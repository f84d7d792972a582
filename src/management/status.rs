//! The daemon as a whole.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::Management;

/// The answer of `GET /api/v1/status`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct StatusReport {
    /// The daemon's version.
    pub version: String,
    /// Its process.
    pub pid: u32,
    /// How long it runs.
    pub uptime_seconds: u64,
    /// The configuration file.
    pub config_file: PathBuf,
    /// Where it is.
    #[serde(flatten)]
    pub location: DaemonLocation,
    /// What `/mcp` lists.
    pub routing_mode: String,
    /// The servers in numbers.
    pub servers: ServerCounts,
    /// Tools known.
    pub tools: usize,
    /// Client sessions open.
    pub sessions: usize,
    /// What of the configuration is ignored.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// Why the configuration file as it stands is not in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_error: Option<String>,
}

/// Where a daemon is. It does not change while it runs.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct DaemonLocation {
    /// The data folder in use.
    pub data_dir: PathBuf,
    /// The addresses that are served.
    pub listen: Vec<String>,
    /// Where clients connect, unless only the local socket is served.
    pub url: Option<String>,
}

/// How many servers there are.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct ServerCounts {
    /// Switched on.
    pub configured: usize,
    /// Connected now.
    pub connected: usize,
}

impl Management {
    /// How the daemon is, told by one who counts its client sessions.
    pub fn status(&self, location: &DaemonLocation, sessions: usize) -> StatusReport {
        let settings = self.settings_in_force();
        let health = self.health(sessions);
        StatusReport {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            pid: std::process::id(),
            uptime_seconds: self.uptime().as_secs(),
            config_file: self.config_file().to_owned(),
            location: location.clone(),
            routing_mode: settings.routing_mode.as_str().to_owned(),
            servers: ServerCounts {
                configured: health.backends_configured,
                connected: health.backends_connected,
            },
            tools: health.tools,
            sessions: health.active_clients,
            warnings: settings.warnings.clone(),
            config_error: self.config_error(),
        }
    }
}
