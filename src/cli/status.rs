//! `mcpproxy status`: shows the state of the daemon, and the servers with problems.

use std::time::Duration;

use clap::{Args, ValueEnum};

use super::{
    CommandFailure, Done, Location, Output, config::by_agents, connection, output, start,
    unusable_file::correct_the_file, upstream,
};
use crate::{
    activity::ActivityStatus,
    config::duration as spans,
    daemon_client::{self, DaemonError},
    management::{ConfigHistory, Files, ServerCounts, StatusReport},
};

/// Show if the daemon is running, and which servers need you
///
/// Exits with code 3 if no daemon runs.
#[derive(Debug, Args)]
pub(super) struct StatusCommand {
    /// Wait until something needs you, then show the status
    #[arg(long, value_enum, value_name = "WHAT")]
    wait_for: Option<WaitFor>,
}

/// What can be waited for.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum WaitFor {
    /// A server that does not work or awaits your approval, or an unusable configuration file
    Attention,
}

/// Between two requests for the status with `--wait-for`.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

impl StatusCommand {
    pub(super) async fn run(self, location: &Location, out: Output) -> Done {
        let files = location.files()?;
        let mut daemon = connection::open(&files, out).await?;
        let mut status = daemon.status().clone();
        if let Some(WaitFor::Attention) = self.wait_for {
            let is_due = |it: &StatusReport| !it.problems.is_empty() || it.config_error.is_some();
            while !is_due(&daemon_client::read("GET /api/v1/status", &status)?) {
                tokio::time::sleep(POLL_INTERVAL).await;
                status = daemon.get("/api/v1/status").await.map_err(gone)?;
            }
        }
        let unheard = match daemon_client::read::<StatusReport>("GET /api/v1/status", &status) {
            Ok(now) if now.location.url.is_none() && !out.is_json() => {
                start::unheard(&files, &now.location, "none").await.ok()
            }
            _ => None,
        };
        let agents = if out.is_json() {
            None
        } else {
            let history = daemon.fetch::<ConfigHistory>("/api/v1/config/history");
            history.await.ok().and_then(|history| by_agents(&history))
        };
        out.answer("GET /api/v1/status", &status, |mut report: StatusReport| {
            let problems = std::mem::take(&mut report.problems);
            let facts = facts(report, unheard, &files).into_iter();
            let agents = agents.map(|last| ("agents changed", output::as_typed(&last)));
            output::print_facts(facts.chain(agents))?;
            if problems.is_empty() {
                return Ok(());
            }
            output::print_line("")?;
            upstream::print_rows(problems)
        })
    }
}

/// The failure while waiting. A daemon that ended counts as not reachable.
fn gone(error: DaemonError) -> CommandFailure {
    match error {
        DaemonError::Lost { .. } => {
            CommandFailure::not_reachable("the daemon stopped while this command waited")
                .next("`mcpproxy start`")
        }
        other => other.into(),
    }
}

fn facts(
    report: StatusReport,
    unheard: Option<CommandFailure>,
    files: &Files,
) -> Vec<(&'static str, String)> {
    let step = correct_the_file(&report, files);
    let location = &report.location;
    let tools = match report.callable_tools {
        Some(callable) if callable != report.tools => {
            format!("{} known, {callable} callable", report.tools)
        }
        _ => report.tools.to_string(),
    };
    let listens = location.addresses();
    let listens = listens.unwrap_or_else(|| "the local socket only".to_owned());
    let url = location.url.clone().unwrap_or_else(|| match unheard {
        Some(failure) => {
            let (why, step) = (failure.in_words(), failure.next_step.unwrap_or_default());
            output::as_typed(&format!("{why}; {step}"))
        }
        None => "none".to_owned(),
    });
    let mut facts = vec![
        ("version", report.version.clone()),
        ("running", running(&report)),
        ("url", url),
        ("listens on", listens),
        ("routing mode", report.routing_mode),
        ("servers", servers(report.servers)),
        ("tools", tools),
        ("client sessions", report.sessions.to_string()),
        ("configuration", report.config_file.display().to_string()),
        ("data folder", location.data_dir.display().to_string()),
    ];
    let log = location.log_file.as_ref();
    facts.extend(log.map(|log| ("log", log.display().to_string())));
    facts.extend(report.access.map(|access| ("access", access)));
    facts.extend(report.rate_limit.map(|limit| ("rate limit", limit)));
    let lock = report.location.lock_file.as_ref();
    facts.extend(lock.map(|lock| {
        let lock = lock.display();
        ("lock file", format!("{lock}: only its tools can be called"))
    }));
    if let Some(log) = &report.activity {
        facts.push(("activity log", activity(log)));
        let next = log.next_step.iter();
        facts.extend(next.map(|step| ("next", output::as_typed(step))));
    }
    if let Some(error) = report.config_error {
        facts.push((
            "config error",
            format!("{error} (the last good configuration is in force)"),
        ));
        facts.push(("next", output::as_typed(&step)));
    }
    let warnings = report.warnings.into_iter();
    facts.extend(warnings.map(|warning| ("warning", output::as_typed(&warning.to_string()))));
    facts
}

/// The size of the activity log where it is known, and its problems.
fn activity(status: &ActivityStatus) -> String {
    let size = status.size_bytes.div_ceil(1 << 20);
    let records = usize::try_from(status.records).unwrap_or(usize::MAX);
    let mut parts = Vec::new();
    if size > 0 || status.problem.is_none() {
        parts.push(format!("{}, {size} MB", output::count(records, "record")));
    }
    if status.not_kept > 0 {
        parts.push(format!("{} not kept", status.not_kept));
    }
    let set_aside = status.set_aside.as_ref();
    parts.extend(set_aside.map(|file| format!("a damaged file was set aside as {file}")));
    parts.extend(status.begun_anew.iter().chain(&status.problem).cloned());
    parts.join("; ")
}

fn running(report: &StatusReport) -> String {
    let (time, pid) = (duration(report.uptime_seconds), report.pid);
    let background = match report.location.ends_after_idle_seconds {
        Some(seconds) => format!(
            ", in the background until {} after its last client disconnects",
            spans::show(Duration::from_secs(seconds))
        ),
        None => String::new(),
    };
    format!("{time}, process {pid}{background}")
}

/// `5 in the configuration: 2 ready, 1 asleep, 2 error`.
fn servers(counts: ServerCounts) -> String {
    if counts.total == 0 {
        return output::as_typed("none yet: `mcpproxy upstream add NAME -- COMMAND`");
    }
    let parts: Vec<String> = counts
        .by_state()
        .into_iter()
        .filter(|(_, count)| *count > 0)
        .map(|(state, count)| format!("{count} {}", in_words(state)))
        .collect();
    let demo = if counts.demo {
        ", plus the demo server"
    } else {
        ""
    };
    let written = counts.total - usize::from(counts.demo);
    format!("{written} in the configuration{demo}: {}", parts.join(", "))
}

/// The words for a state of servers.
fn in_words(state: &str) -> &str {
    match state {
        "needs_a_value" => "waiting for a secret or variable",
        "authenticating" => "waiting for a login",
        "connecting" => "starting",
        "error" => "failed",
        state => state,
    }
}

/// A time span in its two largest units.
fn duration(seconds: u64) -> String {
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, _) => format!("{minutes} min {} s", seconds % 60),
        (0, _, _) => format!("{hours} h {minutes} min"),
        _ => format!("{days} d {hours} h"),
    }
}

#[cfg(test)]
mod tests {
    use super::gone;
    use crate::daemon_client::DaemonError;

    #[test]
    fn a_daemon_that_ends_while_it_is_waited_for_is_not_reachable() {
        let (request, reason) = (String::from("GET"), String::from("it ended"));
        let lost = DaemonError::Lost {
            request: request.clone(),
            reason: reason.clone(),
        };
        let odd = DaemonError::BadAnswer { request, reason };
        assert_eq!((gone(lost).exit_code, gone(odd).exit_code), (3, 1));
    }

    #[test]
    fn time_spans_show_their_two_largest_units() {
        for (seconds, expected) in [
            (0, "0 s"),
            (59, "59 s"),
            (61, "1 min 1 s"),
            (3_600, "1 h 0 min"),
            (90_061, "1 d 1 h"),
        ] {
            assert_eq!(super::duration(seconds), expected);
        }
    }
}
