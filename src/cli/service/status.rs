//! `mcpproxy service status`: whether the service is installed, runs, and has the file that `install` would write.

use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;

use super::{
    CommandLine, Found, ServiceChoice, ServiceDefinition, ServiceFile, ServiceKind, ServiceState,
    install,
};
use crate::{
    cli::{Done, Location, Output, daemon_options::DaemonOptions, output},
    daemon_client::DaemonClient,
};

/// Show whether the service is installed and running
#[derive(Debug, Args)]
pub(in crate::cli) struct ServiceStatus {
    #[command(flatten)]
    manager: ServiceChoice,
}

/// What the command reports.
#[derive(Default, Serialize)]
struct ServiceReport {
    installed: bool,
    file: String,
    #[serde(flatten)]
    state: ServiceState,
    /// The program that it starts.
    program: Option<String>,
    config_file: Option<String>,
    arguments: Vec<String>,
    /// How to see the log.
    logs: Option<String>,
    /// The lines in which the file differs from the one that `install` would write with the same options.
    differences: Vec<String>,
    /// What else is wrong.
    warnings: Vec<String>,
    /// Whether another program wrote the file.
    #[serde(skip)]
    is_foreign: bool,
    /// Whether a daemon runs, as a service or not.
    #[serde(skip)]
    has_daemon: bool,
}

impl ServiceStatus {
    pub(super) async fn run(self, location: &Location, out: Output) -> Done {
        let file = ServiceFile::of(&self.manager)?;
        let mut report = ServiceReport {
            file: file.path.display().to_string(),
            state: ServiceState::ask(file.kind).await,
            has_daemon: match location.files() {
                Ok(files) => DaemonClient::connect(files.data_dir()).await.is_ok(),
                Err(_) => false,
            },
            ..ServiceReport::default()
        };
        match file.read()? {
            Found::Nothing => (),
            Found::Foreign => {
                report.warnings.push(file.foreign().what);
                report.is_foreign = true;
            }
            Found::Ours { text, installed } => {
                report.installed = true;
                report.describe(&file, &text, installed, location)?;
            }
        }
        if out.is_json() {
            return output::print_value(&report);
        }
        print(report, file.kind, out)
    }
}

impl ServiceReport {
    fn describe(
        &mut self,
        file: &ServiceFile,
        text: &str,
        installed: Option<CommandLine>,
        location: &Location,
    ) -> Done {
        let Some(installed) = installed else {
            let what = "the file does not say which command it starts; `mcpproxy service install` replaces it";
            self.warnings.push(what.to_owned());
            return Ok(());
        };
        let path = |option| installed.option(option).map(PathBuf::from);
        let there = Location::named(path("--config"), path("--data-dir")).files()?;
        let mut wanted = ServiceDefinition::new(&there, &DaemonOptions::default())?;
        wanted.command.arguments.clone_from(&installed.arguments);
        self.logs = Some(install::logs(file.kind, &wanted));
        self.differences = differences(text, &file.text(&wanted));
        if !Path::new(&installed.program).is_file() {
            let program = &installed.program;
            self.warnings.push(format!(
                "the program {program} no longer exists; `mcpproxy service install` writes the path of this one"
            ));
        }
        let meant = location.files()?;
        if meant.config_file() != there.config_file() {
            let meant = meant.config_file().display();
            self.warnings.push(format!(
                "the service uses a different configuration; this command uses {meant}"
            ));
        }
        self.program = Some(installed.program);
        self.config_file = Some(there.config_file().display().to_string());
        self.arguments = installed.arguments;
        Ok(())
    }
}

/// The lines that only one of the two has.
fn differences(installed: &str, wanted: &str) -> Vec<String> {
    let only = |of: &str, other: &str, who: &str| -> Vec<String> {
        of.lines()
            .filter(|line| !other.lines().any(|known| known == *line))
            .map(|line| format!("{who}: {}", line.trim()))
            .collect()
    };
    let mut differences = only(installed, wanted, "installed");
    differences.extend(only(wanted, installed, "install would write"));
    differences
}

fn print(report: ServiceReport, kind: ServiceKind, out: Output) -> Done {
    let either = |is_so, [yes, no]: [&str; 2]| if is_so { yes } else { no }.to_owned();
    let state = report.state.state.unwrap_or_else(|| "not known".to_owned());
    let pid = report.state.pid.map(|pid| format!(", process {pid}"));
    let restarts = report.state.restarts.filter(|count| *count > 0);
    let restarts = restarts.map(|count| format!(", restarted {count} times"));
    let mut facts = vec![
        ("installed", either(report.installed, ["yes", "no"])),
        ("file", report.file),
        (
            "state",
            [Some(state), pid, restarts].into_iter().flatten().collect(),
        ),
    ];
    facts.extend(report.state.at_login.map(|starts| {
        let words = ["starts", "does not start"];
        ("at login", either(starts, words))
    }));
    facts.extend(report.program.map(|program| ("program", program)));
    facts.extend(report.config_file.map(|file| ("configuration", file)));
    if !report.arguments.is_empty() {
        facts.push(("arguments", report.arguments.join(" ")));
    }
    facts.extend(report.logs.map(|logs| ("log", logs)));
    if report.installed {
        let changed = "no: `mcpproxy service install` rewrites the file";
        let is_same = report.differences.is_empty();
        facts.push(("up to date", either(is_same, ["yes", changed])));
    }
    let differences = report.differences.into_iter();
    facts.extend(differences.map(|line| ("difference", line)));
    facts.extend(report.warnings.into_iter().map(|text| ("warning", text)));
    output::print_facts(facts)?;
    if let Some(reason) = report.state.unknown {
        out.note(&format!("{} cannot be reached: {reason}", kind.name()));
        if !report.has_daemon {
            out.next("`mcpproxy start` runs the daemon without it");
        } else if report.installed {
            out.next("in a login session, `mcpproxy service status` shows its state");
        }
    } else if report.is_foreign {
        out.next("move that file away, then `mcpproxy service install`");
    } else if !report.installed {
        out.next("`mcpproxy service install`");
    } else if report.state.running == Some(false) {
        out.next(install::LOOK);
    }
    Ok(())
}
