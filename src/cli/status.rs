//! `mcpproxy status`: is the daemon running, where, and is anything wrong.

use clap::Args;
use serde::Deserialize;

use super::{
    Location,
    daemon_client::{self, Daemon},
    failure::Failure,
    offline::Files,
    output::{self, Format, Output},
};

/// Say whether the daemon is running, where it listens and what is wrong
///
/// Ends with 0 when a daemon answers and with 3 when none does.
#[derive(Debug, Args)]
pub(super) struct Status {
    #[command(flatten)]
    output: Output,
}

#[derive(Deserialize)]
struct Report {
    version: String,
    pid: u32,
    uptime_seconds: u64,
    config_file: Option<String>,
    data_dir: String,
    listen: Vec<String>,
    url: Option<String>,
    routing_mode: String,
    servers: Servers,
    tools: u64,
    sessions: u64,
    config_error: Option<String>,
    #[serde(default)]
    warnings: Vec<String>,
}

#[derive(Deserialize)]
struct Servers {
    configured: u64,
    connected: u64,
}

impl Status {
    pub(super) async fn run(self, location: &Location) -> Result<(), Failure> {
        let files = Files::find(location)?;
        let daemon = Daemon::connect(files.data_dir()).await?;
        if self.output.format == Format::Json {
            return output::json(daemon.status());
        }
        let report: Report = daemon_client::read("GET /api/v1/status", daemon.status())?;
        output::facts(
            facts(report)
                .into_iter()
                .map(|(name, value)| [name.to_owned(), value]),
        )
    }
}

fn facts(report: Report) -> Vec<(&'static str, String)> {
    let Servers {
        configured,
        connected,
    } = report.servers;
    let mut facts = vec![
        ("version", report.version),
        (
            "running",
            format!(
                "{}, process {}",
                duration(report.uptime_seconds),
                report.pid
            ),
        ),
        ("url", report.url.unwrap_or_else(|| "-".to_owned())),
        (
            "listens on",
            if report.listen.is_empty() {
                "the local socket only".to_owned()
            } else {
                report.listen.join(", ")
            },
        ),
        ("routing mode", report.routing_mode),
        (
            "servers",
            format!("{configured} configured, {connected} connected"),
        ),
        ("tools", report.tools.to_string()),
        ("client sessions", report.sessions.to_string()),
        (
            "configuration",
            report.config_file.unwrap_or_else(|| "-".to_owned()),
        ),
        ("data folder", report.data_dir),
    ];
    if let Some(error) = report.config_error {
        facts.push((
            "config error",
            format!("{error} (the last good configuration is in force)"),
        ));
    }
    facts.extend(
        report
            .warnings
            .into_iter()
            .map(|warning| ("warning", warning)),
    );
    facts
}

/// A time span in its two largest units.
fn duration(seconds: u64) -> String {
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds}s"),
        (0, 0, _) => format!("{minutes}m {}s", seconds % 60),
        (0, _, _) => format!("{hours}h {minutes}m"),
        _ => format!("{days}d {hours}h"),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn time_spans_show_their_two_largest_units() {
        for (seconds, expected) in [
            (0, "0s"),
            (59, "59s"),
            (61, "1m 1s"),
            (3_600, "1h 0m"),
            (90_061, "1d 1h"),
        ] {
            assert_eq!(super::duration(seconds), expected);
        }
    }
}
