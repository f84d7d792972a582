//! `mcpproxy config check`: checks the configuration file, with what the running daemon knows of it.

use clap::Args;

use super::super::{
    CommandFailure, Done, Output, connection, output,
    table::{name, text},
    unusable_file::correct_the_file,
};
use crate::{
    clients::real_path,
    config::Warning,
    daemon_client::DaemonClient,
    failure::NextStep,
    management::{
        COUNTS_AFTER_RESTART, ConfigReport, DaemonLocation, Files, ServerList, StatusReport,
    },
};

/// Check the configuration file
///
/// Exits with code 0 if `serve` would start and every entry is usable, else with 1; warnings do not count. Variables are looked up in this
/// command's environment; a variable that only the running daemon has causes a warning.
#[derive(Debug, Default, Args)]
pub(in crate::cli) struct ConfigCheck {
    /// Check as for `serve --insecure`
    #[arg(long)]
    insecure: bool,
}

impl ConfigCheck {
    pub(super) async fn run(self, files: &Files, out: Output) -> Done {
        let mut report = files.check(self.insecure);
        if (report.error.is_none() || !report.missing_variables.is_empty())
            && let Some((status, mut daemon)) = running(files, out).await
        {
            trust_daemon(files, &mut report, &status, &mut daemon).await;
            // With a fault, no restart helps.
            if report.faults.is_empty() {
                report.warnings.extend(restart_warnings(files, &status));
            }
        }
        if out.is_json() {
            output::print_value(&report)?;
        } else {
            show(&report, out)?;
        }
        verdict(&report).map_err(CommandFailure::shown)
    }
}

/// The daemon's warnings about keys whose values count only after a restart.
fn restart_warnings(files: &Files, status: &StatusReport) -> Vec<Warning> {
    let data_dir = data_dir_warning(files, &status.location);
    let waits = |key: &String| {
        status.needs_restart.contains(key) && (data_dir.is_none() || key != "data_dir")
    };
    let waiting = status.warnings.iter();
    let waiting = waiting.filter(|one| one.key.as_ref().is_some_and(waits));
    waiting.chain(&data_dir).cloned().collect()
}

/// The warning if the file names another data folder than the daemon uses. The daemon does not report this itself.
fn data_dir_warning(files: &Files, daemon: &DaemonLocation) -> Option<Warning> {
    let (named, used) = (files.data_dir(), &daemon.data_dir);
    (real_path(named) != real_path(used)).then(|| {
        let what = format!(
            "is now {}, but the running daemon uses {}; the new value {COUNTS_AFTER_RESTART}",
            named.display(),
            used.display()
        );
        Warning::of_key("data_dir", what)
    })
}

/// The daemon that runs with this file, and its status. Its data folder is a warning, and so no note.
pub(super) async fn running(files: &Files, out: Output) -> Option<(StatusReport, DaemonClient)> {
    let mut daemon = connection::open(files, out.quietly()).await.ok()?;
    let status = connection::status_now(&mut daemon).await.ok()?;
    (status.config_file == files.config_file()).then_some((status, daemon))
}

/// Corrects a report by the daemon that runs with this file. It may have variables that this command lacks, and --insecure.
pub(in crate::cli) async fn trust_daemon(
    files: &Files,
    report: &mut ConfigReport,
    status: &StatusReport,
    daemon: &mut DaemonClient,
) {
    if status.location.is_insecure() {
        *report = files.check(true);
    }
    if let Some(why) = &status.config_error {
        if report.error.is_none() {
            report.reject(why, correct_the_file(status, files));
        }
        return;
    }
    if report.broken.is_empty() && report.missing_variables.is_empty() {
        return;
    }
    if let Ok(list) = daemon.fetch::<ServerList>("/api/v1/servers").await {
        report.beside_daemon(&list.servers);
    }
}

/// Limit: steps that are named at once. The table has every finding.
const STEPS: usize = 3;

fn verdict(report: &ConfigReport) -> Done {
    if let Some(error) = report.error.clone() {
        return Err(CommandFailure::failed(error).next_if(report.error_step.clone()));
    }
    if let Some(fault) = report.faults.first() {
        return Err(CommandFailure::failed(fault).next(report.fault_step()));
    }
    let mut steps: Vec<String> = Vec::new();
    for entry in &report.broken {
        let step = match entry.step() {
            NextStep::FixEntry { how: None, .. } => "`mcpproxy config edit`".to_owned(),
            step => step.at_terminal(&entry.name),
        };
        if steps.len() < STEPS && !steps.contains(&step) {
            steps.push(step);
        }
    }
    match report.broken.len() {
        0 => Ok(()),
        broken => Err(CommandFailure::failed(format!(
            "{broken} of {} in {} cannot be used",
            output::count(broken + report.servers, "server"),
            report.config_file
        ))
        .next(steps.join(", then "))),
    }
}

fn show(report: &ConfigReport, out: Output) -> Done {
    let finding = |kind: &str, server: &str, what: &str| [kind, server, what].map(str::to_owned);
    // A single fault is in the error already.
    let faults = report.faults.iter().filter(|_| report.faults.len() > 1);
    let faults = faults.map(|fault| finding("fault", "-", fault));
    let broken = report
        .broken
        .iter()
        .map(|entry| finding("broken server", &entry.name, &entry.reason));
    let warnings = report.warnings.iter().map(|warning| {
        let server = warning.server.as_deref().unwrap_or("-");
        finding("warning", server, &warning.text)
    });
    let findings: Vec<[String; 3]> = faults.chain(broken).chain(warnings).collect();
    if !findings.is_empty() {
        let columns = [name("FINDING"), name("SERVER"), text("WHAT", usize::MAX)];
        output::print_table(columns, findings)?;
    }
    if report.ok {
        let usable = output::count(report.servers, "server");
        let verdict = match report.warnings.len() {
            0 => "no mistakes".to_owned(),
            n => output::count(n, "warning"),
        };
        out.done(&format!("{}: {verdict}, {usable}", report.config_file));
    }
    Ok(())
}
