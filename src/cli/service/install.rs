//! `mcpproxy service install`: writes the file, registers it with the service manager, and reports the steps.

use std::{fs, path::Path};

use clap::Args;
use serde::Serialize;
use serde_json::json;

use super::{
    Found, ServiceChoice, ServiceDefinition, ServiceFile, ServiceKind, ServiceState, Step, places,
    steps::StartNow,
};
use crate::{
    cli::{
        CommandFailure, Done, Location, OrUndone, Output, daemon_options::DaemonOptions, output,
    },
    config,
    daemon_client::DaemonClient,
    management::Files,
    storage::{self, DiskFault},
};

/// Run the daemon now and at every login
///
/// Writes and starts a systemd user unit or a launchd agent that runs `mcpproxy serve` with these options. To change options, or after the
/// program has moved, run the command again. A service does not have your shell's variables; if the configuration refers to any, the command
/// shows where to set them.
#[derive(Debug, Args)]
pub(in crate::cli) struct InstallService {
    #[command(flatten)]
    options: DaemonOptions,
    /// Print the file and the commands, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Start the daemon at the next login only
    #[arg(long)]
    no_start: bool,
    #[command(flatten)]
    manager: ServiceChoice,
}

/// What install did.
#[derive(Default, Serialize)]
pub(in crate::cli) struct InstallReport {
    file: String,
    /// Whether the file was written.
    changed: bool,
    /// Whether there was a file before.
    #[serde(skip)]
    was_there: bool,
    /// Whether the daemon was started or restarted.
    started: bool,
    state: ServiceState,
    program: String,
    config_file: String,
    /// How to see the log.
    logs: String,
    /// What is left for the person to do.
    pub(in crate::cli) next_steps: Vec<String>,
    /// Why no service manager could register the file, if none could.
    #[serde(skip)]
    pub(in crate::cli) unmanaged: Option<CommandFailure>,
}

impl InstallReport {
    /// Whether the daemon runs as a service now.
    pub(in crate::cli) fn is_running(&self) -> bool {
        self.started || self.state.running == Some(true)
    }
}

impl InstallService {
    pub(super) async fn run(self, location: &Location, out: Output) -> Done {
        let files = location.files()?;
        if !self.dry_run {
            return print(self.install(&files, false).await?, out);
        }
        let (file, definition) = self.definition(&files)?;
        let text = file.text(&definition);
        let path = file.path.display().to_string();
        dry_run(file.kind, &path, &text, self.wanted_start(), out)
    }

    fn definition(&self, files: &Files) -> Done<(ServiceFile, ServiceDefinition)> {
        let file = ServiceFile::to_write(&self.manager)?;
        let definition = ServiceDefinition::new(files, &self.options)?;
        // A service has variables of its own, so none is missing here.
        let variables = config::process_environment();
        let there = config::load_supposing(files.places(), &variables, &config::no_values());
        let there = there.map_err(|error| {
            CommandFailure::failed(error.to_string())
                .undone("nothing was installed")
                .next("`mcpproxy config edit`")
        })?;
        self.options
            .check(&there.settings)
            .or_undone("nothing was installed")?;
        Ok((file, definition))
    }

    /// Writes the file and registers it. `is_served` says that a daemon will run in any case.
    async fn install(&self, files: &Files, is_served: bool) -> Done<InstallReport> {
        let (file, definition) = self.definition(files)?;
        let text = file.text(&definition);
        let path = file.path.display().to_string();
        let before = match file.read()? {
            Found::Foreign => return Err(file.foreign()),
            Found::Ours { text, .. } => Some(text),
            Found::Nothing => None,
        };
        let changed = before.as_ref() != Some(&text);
        if changed {
            write(&file, &text)?;
        }
        if file.kind == ServiceKind::Launchd {
            let folder = Path::new(&definition.log_folder);
            let made = storage::create_private_subfolder(folder);
            made.map_err(DiskFault::of("make the folder", folder))?;
        }
        let mut report = InstallReport {
            file: path,
            changed,
            was_there: before.is_some(),
            program: definition.command.program.clone(),
            config_file: files.config_file().display().to_string(),
            logs: logs(file.kind, &definition),
            ..InstallReport::default()
        };
        // Whoever started the daemon of the data folder.
        let other = DaemonClient::connect(files.data_dir()).await.ok();
        let other = other.and_then(|daemon| Some(daemon.status_report()?.pid));
        let others = (other, is_served || other.is_some());
        self.register(file.kind, others, &mut report).await?;
        report
            .next_steps
            .extend(hints(file.kind, &definition, files.config_file()));
        Ok(report)
    }

    fn wanted_start(&self) -> StartNow {
        if self.no_start {
            StartNow::No
        } else {
            StartNow::Now
        }
    }

    /// Has the service manager register the file, if it can be reached, and start the daemon, unless `other` is a process that serves
    /// this data folder already. `is_served` says that one does, or soon will.
    async fn register(
        &self,
        kind: ServiceKind,
        (other, is_served): (Option<u32>, bool),
        report: &mut InstallReport,
    ) -> Done {
        let state = ServiceState::ask(kind).await;
        if let Some(reason) = &state.unknown {
            let all = Step::begin(kind, &report.file, self.wanted_start());
            let what = format!("{} cannot be reached ({reason})", kind.name());
            let is_in_the_way = is_served && !self.no_start;
            let step = format!("in a login session, run `{}`", typed(&all, is_in_the_way));
            let left = format!("the service is not enabled: {what}; {step}");
            report.next_steps.push(left);
            report.unmanaged = Some(CommandFailure::failed(what).next(step));
            if !is_served && !self.no_start {
                let step = "without a service, `mcpproxy start` runs the daemon in the background";
                report.next_steps.push(step.to_owned());
            }
            report.state = state;
            return Ok(());
        }
        let runs = state.running == Some(true);
        let taken = other.filter(|pid| !runs && state.pid != Some(*pid));
        let start = match taken {
            _ if self.no_start || (runs && !report.changed) => StartNow::No,
            Some(pid) => {
                let all = Step::begin(kind, &report.file, StartNow::Now);
                let start = typed(&all, true);
                report.next_steps.push(format!(
                    "another daemon (process {pid}) uses the data folder, so the service was not started: `{start}`"
                ));
                StartNow::No
            }
            None if runs => StartNow::Anew,
            None => StartNow::Now,
        };
        for step in Step::begin(kind, &report.file, start) {
            step.run().await.map_err(|reason| {
                let what = format!("{} was written, but `{step}` failed: {reason}", report.file);
                CommandFailure::failed(what).next(LOOK)
            })?;
        }
        report.started = start != StartNow::No;
        report.state = ServiceState::ask(kind).await;
        if report.started && report.state.running == Some(false) {
            let state = report.state.state.clone().unwrap_or_default();
            let what = format!("the service was installed, but is not running: {state}");
            return Err(CommandFailure::failed(what).next(LOOK));
        }
        Ok(())
    }
}

/// The step that shows why a service does not run.
#[cfg(not(target_os = "macos"))]
pub(super) const LOOK: &str = "`journalctl --user --unit mcpproxy -n 20` says why";
#[cfg(target_os = "macos")]
pub(super) const LOOK: &str = "`mcpproxy logs` says why";

/// Installs the service with the usual options, and starts it. Where that cannot be, the caller starts a daemon.
pub(in crate::cli) async fn install(files: &Files) -> Done<InstallReport> {
    let usual = InstallService {
        options: DaemonOptions::default(),
        dry_run: false,
        no_start: false,
        manager: ServiceChoice { manager: None },
    };
    if let Err(failure) = ServiceFile::to_write(&usual.manager) {
        return Ok(InstallReport {
            next_steps: vec![failure.in_words()],
            unmanaged: Some(failure),
            ..InstallReport::default()
        });
    }
    usual.install(files, true).await
}

fn write(file: &ServiceFile, text: &str) -> Done {
    let folder = file.path.parent().unwrap_or(Path::new("/"));
    let written = fs::create_dir_all(folder)
        .and_then(|()| storage::write_atomically(&file.path, text.as_bytes()));
    Ok(written.map_err(DiskFault::of("write", &file.path))?)
}

fn dry_run(kind: ServiceKind, path: &str, text: &str, start: StartNow, out: Output) -> Done {
    let steps = Step::begin(kind, path, start);
    if out.is_json() {
        let commands: Vec<String> = steps.iter().map(Step::to_string).collect();
        let planned = json!({ "file": path, "content": text, "commands": commands });
        return output::print_value(&planned);
    }
    let steps = typed(&steps, false);
    out.note(&format!(
        "nothing done; would write {path} and run: {steps}"
    ));
    output::print_foreign_text(text)
}

/// Steps in one line for a shell, after the end of another daemon that is in the way.
fn typed(steps: &[Step], is_in_the_way: bool) -> String {
    let stop = is_in_the_way.then(|| "mcpproxy stop".to_owned());
    let steps = steps.iter().map(Step::to_string);
    stop.into_iter()
        .chain(steps)
        .collect::<Vec<_>>()
        .join(" && ")
}

/// How to see what the daemon logs.
pub(super) fn logs(kind: ServiceKind, definition: &ServiceDefinition) -> String {
    match kind {
        ServiceKind::Systemd => "journalctl --user --unit mcpproxy --follow".to_owned(),
        ServiceKind::Launchd => {
            let folder = &definition.log_folder;
            format!(
                "mcpproxy logs --follow, and {folder}/service.log for errors before logging begins"
            )
        }
    }
}

/// Steps that the person may have to take: variables for references, and a daemon that outlives the last login session.
fn hints(kind: ServiceKind, definition: &ServiceDefinition, config_file: &Path) -> Vec<String> {
    let mut hints = Vec::new();
    let config = config::read_text(config_file).unwrap_or_default();
    let mut references = config.split("${").skip(1);
    if references.any(|reference| !reference.starts_with("keyring:")) {
        let place = match kind {
            ServiceKind::Systemd => format!(
                "put NAME=VALUE lines into {}, readable by you alone (chmod 600), and restart the service",
                definition.environment_file
            ),
            ServiceKind::Launchd => "set them with `launchctl setenv NAME VALUE`, or store them with `mcpproxy secret set NAME` and refer to them as ${keyring:NAME}".to_owned(),
        };
        hints.push(format!(
            "a service does not have this shell's variables: {place}"
        ));
    }
    if kind == ServiceKind::Systemd && places::lingers() == Some(false) {
        hints.push(
            "the service stops when you log out; to keep it running: `loginctl enable-linger`"
                .to_owned(),
        );
    }
    hints
}

fn print(report: InstallReport, out: Output) -> Done {
    if out.is_json() {
        output::print_value(&report)?;
    } else {
        print_facts(&report, out)?;
    }
    match report.unmanaged {
        Some(failure) => Err(failure.undone("the service was not enabled").shown()),
        None => Ok(()),
    }
}

fn print_facts(report: &InstallReport, out: Output) -> Done {
    let did = match (report.changed, report.was_there) {
        (false, _) => "already installed and up to date",
        (true, true) => "the file was replaced",
        (true, false) => "the file was written",
    };
    let running = match (&report.state.state, report.started) {
        (Some(state), true) => format!("{state}, started now"),
        (Some(state), false) => state.clone(),
        (None, _) => "not known".to_owned(),
    };
    let facts = [
        ("service", did.to_owned()),
        ("file", report.file.clone()),
        ("state", running),
        ("program", report.program.clone()),
        ("configuration", report.config_file.clone()),
        ("log", report.logs.clone()),
    ];
    output::print_facts(facts)?;
    // Without a service manager, the first of them is that again.
    let others = report.next_steps.iter();
    for step in others.skip(usize::from(report.unmanaged.is_some())) {
        out.note(step);
    }
    Ok(())
}
