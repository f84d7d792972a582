//! `mcpproxy service uninstall`: stops the service and removes what install wrote, and nothing else.

use std::{
    fs,
    path::{Path, PathBuf},
};

use clap::Args;
use serde::Serialize;

use super::{Found, ServiceChoice, ServiceFile, ServiceKind, ServiceState, Step, systemd};
use crate::{
    cli::{CommandFailure, Done, Location, Output, connection, output},
    storage::DiskFault,
};

/// Stop the service and remove its file
///
/// Keeps the configuration, the data folder, and files that `install` did not write, such as your own settings next to the unit.
#[derive(Debug, Args)]
pub(in crate::cli) struct UninstallService {
    /// Print the steps, and change nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    manager: ServiceChoice,
}

/// What uninstall did.
#[derive(Serialize)]
struct UninstallReport {
    file: String,
    /// Whether there was something to remove.
    removed: bool,
    next_steps: Vec<String>,
}

impl UninstallService {
    pub(super) async fn run(self, location: &Location, out: Output) -> Done {
        let file = ServiceFile::of(&self.manager)?;
        let mut report = UninstallReport::of(&file);
        match file.read()? {
            Found::Foreign => return Err(file.foreign()),
            Found::Nothing => {
                return print(&report, "nothing is installed: there is no", out);
            }
            Found::Ours { .. } => (),
        }
        if self.dry_run {
            report.next_steps = vec![Step::end(file.kind).to_string()];
            let would = "nothing was changed; would run the step below, then remove";
            return print(&report, would, out);
        }
        let mut report = remove(&file).await?;
        let files = location.files()?;
        if connection::open_if_running(&files, out).await?.is_some() {
            report
                .next_steps
                .push("`mcpproxy stop`: the daemon still runs".to_owned());
        }
        print(&report, "removed the service and", out)
    }
}

impl UninstallReport {
    fn of(file: &ServiceFile) -> Self {
        Self {
            file: file.path.display().to_string(),
            removed: false,
            next_steps: Vec::new(),
        }
    }
}

/// The file of the service that `install` wrote, if there is one.
pub(in crate::cli) fn installed() -> Option<PathBuf> {
    let file = ServiceFile::of(&ServiceChoice { manager: None }).ok()?;
    matches!(file.read(), Ok(Found::Ours { .. })).then_some(file.path)
}

/// Stops and removes that service. Gives the steps that are left to do.
pub(in crate::cli) async fn uninstall() -> Done<Vec<String>> {
    let file = ServiceFile::of(&ServiceChoice { manager: None })?;
    Ok(remove(&file).await?.next_steps)
}

async fn remove(file: &ServiceFile) -> Done<UninstallReport> {
    let mut report = UninstallReport::of(file);
    let state = ServiceState::ask(file.kind).await;
    let is_reachable = state.unknown.is_none();
    let is_loaded = file.kind == ServiceKind::Systemd || state.at_login == Some(true);
    if is_reachable && is_loaded {
        let step = Step::end(file.kind);
        step.run().await.map_err(|reason| {
            CommandFailure::failed(format!("`{step}` failed: {reason}"))
                .next(format!("{} was left unchanged; try again", report.file))
        })?;
    }
    fs::remove_file(&file.path).map_err(DiskFault::of("remove", &file.path))?;
    report.removed = true;
    if file.kind == ServiceKind::Systemd {
        remove_link(&file.path);
    }
    if let Some(step) = Step::forget(file.kind).filter(|_| is_reachable)
        && step.run().await.is_err()
    {
        report.next_steps.push(step.to_string());
    }
    Ok(report)
}

/// Removes the link by which systemd starts the unit at login, in case systemd itself could not.
fn remove_link(unit: &Path) {
    let Some(folder) = unit.parent() else { return };
    let link = folder.join("default.target.wants").join(systemd::UNIT);
    if fs::read_link(&link).is_ok_and(|target| target.ends_with(systemd::UNIT)) {
        // Without its unit the link does nothing.
        let _ = fs::remove_file(&link);
    }
}

fn print(report: &UninstallReport, what: &str, out: Output) -> Done {
    if out.is_json() {
        return output::print_value(report);
    }
    out.done(&format!("{what} {}", report.file));
    report.next_steps.iter().for_each(|step| out.next(step));
    Ok(())
}
