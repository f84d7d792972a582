//! `mcpproxy status`: is the daemon running, where, and is anything wrong.

use clap::Args;

use super::{
    Location, connection,
    failure::CommandFailure,
    output::{self, OutputOption},
};
use crate::management::{ServerCounts, StatusReport};

/// Say whether the daemon is running, where it listens and what is wrong
///
/// Ends with 0 when a daemon answers and with 3 when none does.
#[derive(Debug, Args)]
pub(super) struct StatusCommand {
    #[command(flatten)]
    output: OutputOption,
}

impl StatusCommand {
    pub(super) async fn run(self, location: &Location) -> Result<(), CommandFailure> {
        let files = location.files()?;
        let daemon = connection::open(files.data_dir()).await?;
        let (request, status) = ("GET /api/v1/status", daemon.status());
        output::answer(self.output.format, request, status, |report| {
            let facts = facts(report).into_iter();
            output::facts(facts.map(|(name, value)| [name.to_owned(), value]))
        })
    }
}

fn facts(report: StatusReport) -> Vec<(&'static str, String)> {
    let ServerCounts {
        configured,
        connected,
    } = report.servers;
    let location = report.location;
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
        ("url", location.url.unwrap_or_else(|| "-".to_owned())),
        (
            "listens on",
            if location.listen.is_empty() {
                "the local socket only".to_owned()
            } else {
                location.listen.join(", ")
            },
        ),
        ("routing mode", report.routing_mode),
        (
            "servers",
            format!("{configured} configured, {connected} connected"),
        ),
        ("tools", report.tools.to_string()),
        ("client sessions", report.sessions.to_string()),
        ("configuration", report.config_file.display().to_string()),
        ("data folder", location.data_dir.display().to_string()),
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
