//! `mcpproxy doctor`: shows problems, and what to do about them.

use std::time::Duration;

use clap::Args;

use super::{
    CommandFailure, Done, Location, Output, config, connection,
    failure::ONE_VERSION,
    output, stdio,
    table::{name, text},
};
use crate::{
    daemon_client::{DaemonClient, DaemonError},
    doctor::{
        self, DoctorFinding, DoctorReport, DoctorSeverity, SeenDaemon, ServersUnknown, StartServers,
    },
    management::ServerList,
};

/// Find problems and how to fix them
///
/// If no daemon is running, it briefly starts or contacts each server, except disabled and quarantined ones. Exits with code 1 if a check
/// fails.
#[derive(Debug, Args)]
pub(super) struct DoctorCommand {
    /// Do not start or contact any server
    #[arg(long)]
    no_start: bool,
    /// How long all servers together may take
    #[arg(long, value_name = "TIME", value_parser = stdio::time, default_value = "1m", conflicts_with = "no_start")]
    wait: Duration,
    /// Check as for `serve --insecure`
    #[arg(long)]
    insecure: bool,
}

impl DoctorCommand {
    pub(super) async fn run(self, location: &Location, out: Output) -> Done {
        let files = location.files()?;
        let start = if self.no_start {
            StartServers::No
        } else {
            StartServers::Within(self.wait)
        };
        // Quietly, because a daemon of another version is a finding.
        let mut daemon = connection::open(&files, out.quietly()).await;
        if daemon.is_err() && !self.no_start {
            out.progress("starting the servers to test them");
        }
        let mut config = files.check(self.insecure);
        if let Ok(daemon) = &mut daemon
            && let Some(status) = daemon.status_report()
            && status.config_file == files.config_file()
        {
            config::trust_daemon(&files, &mut config, &status, daemon).await;
        }
        let seen = seen(daemon).await;
        let report = doctor::examine(&files, &config, &seen, start).await;
        if out.is_json() {
            output::print_value(&report)?;
        } else {
            show(&report, out)?;
        }
        verdict(&report)
    }
}

/// What the daemon reports about itself and its servers.
async fn seen(daemon: Result<DaemonClient, DaemonError>) -> SeenDaemon {
    let mut daemon = match daemon {
        Ok(daemon) => daemon,
        // A data folder that is a file is a finding of its own.
        Err(error) if error.is_not_running() || matches!(error, DaemonError::NoFolder(_)) => {
            return SeenDaemon::Absent;
        }
        Err(error) => {
            let failure = CommandFailure::from(error);
            let step = failure.next_step.unwrap_or_default();
            return SeenDaemon::Unusable(failure.what, step);
        }
    };
    let Some(status) = daemon.status_report() else {
        let what = "the daemon and this command have different versions";
        return SeenDaemon::Unusable(what.to_owned(), "`mcpproxy restart`".to_owned());
    };
    let listed = daemon.fetch::<ServerList>("/api/v1/servers").await;
    let servers = listed.map(|list| list.servers);
    let servers = servers.map_err(|error| ServersUnknown {
        what: error.to_string(),
        fix: match error {
            DaemonError::BadAnswer { .. } => ONE_VERSION,
            _ => "look at `mcpproxy logs`, then try again",
        },
    });
    let status = Box::new(status);
    SeenDaemon::Runs { status, servers }
}

fn show(report: &DoctorReport, out: Output) -> Done {
    let columns = [
        name("RESULT"),
        name("CHECK"),
        text("WHAT", usize::MAX),
        text("WHAT TO DO", usize::MAX),
    ];
    let rows = report.findings.iter().map(|finding| row(finding, out));
    output::print_table(columns, rows)?;
    if report.ok {
        out.done(&format!("no problems: {}", others(report)));
    }
    Ok(())
}

fn others(report: &DoctorReport) -> String {
    let warnings = output::count(count(report, DoctorSeverity::Warn), "warning");
    format!("{warnings}, {} ok", count(report, DoctorSeverity::Ok))
}

fn row(finding: &DoctorFinding, out: Output) -> [String; 4] {
    // A PATH is long, and tells few readers anything.
    let is_shown = |_: &&String| finding.check != "path" || out.is_verbose();
    let what = match finding.place.as_ref().filter(is_shown) {
        // An error of a file has its name already.
        Some(place) if place.starts_with('/') && finding.what.contains(place) => {
            finding.what.clone()
        }
        Some(place) => format!("{place}: {}", finding.what),
        None => finding.what.clone(),
    };
    let fix = output::as_typed(finding.fix.as_deref().unwrap_or("-"));
    [
        finding.severity.to_string(),
        finding.check.to_owned(),
        what,
        fix,
    ]
}

fn count(report: &DoctorReport, severity: DoctorSeverity) -> usize {
    let findings = report.findings.iter();
    findings.filter(|found| found.severity == severity).count()
}

fn verdict(report: &DoctorReport) -> Done {
    if report.ok {
        return Ok(());
    }
    let failed = output::count(count(report, DoctorSeverity::Fail), "check");
    let what = format!("{failed} failed ({})", others(report));
    Err(CommandFailure::failed(what)
        .next("do what the rows marked fail say")
        .shown())
}
