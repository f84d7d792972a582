//! `mcpproxy config`: which configuration file counts, whether it is sound, what may stand in it, and changing it.

mod change;
mod get;
mod history;
mod set;
mod undo;
mod warnings;

use std::path::Path;

use clap::{Args, Subcommand};
use serde_json::json;

use self::{get::ConfigGet, history::ConfigHistoryList, set::ConfigSet, undo::ConfigUndo};
use super::{
    CommandFailure, Done, Location, Output, connection, output,
    table::{name, text},
};
use crate::{
    clients::real_path,
    config::{self, Warning},
    daemon_client::DaemonClient,
    failure::NextStep,
    management::{
        COUNTS_AFTER_RESTART, ConfigReport, DaemonLocation, Exposure, Files, ServerList,
        StatusReport, restart_warning,
    },
};

/// Find, check, show or change the configuration file
#[derive(Debug, Subcommand)]
pub(super) enum ConfigCommand {
    /// Print the path of the configuration file
    ///
    /// --config names the file, else `$MCPPROXY_CONFIG`, else `$MCP_CONFIG_PATH`. Without these, the file is `mcp_config.json` in the platform's
    /// configuration folder, or in `~/.mcpproxy` if only that one exists.
    Path,
    /// Open the configuration file in your editor, then check it
    ///
    /// The editor is `$VISUAL`, else `$EDITOR`, else `vi`.
    Edit,
    Check(ConfigCheck),
    /// Print the JSON Schema of the configuration file
    ///
    /// For editors: save it next to the configuration file, and add `"$schema": "./mcp_config.schema.json"` to that file.
    Schema,
    Get(ConfigGet),
    Set(ConfigSet),
    History(ConfigHistoryList),
    Undo(ConfigUndo),
}

/// Check the configuration file
///
/// Exits with code 0 if `serve` would start and every entry is usable, else with 1; warnings do not count. Variables are looked up in this
/// command's environment; a variable that only the running daemon has causes a warning.
#[derive(Debug, Args)]
pub(super) struct ConfigCheck {
    /// Check as for `serve --insecure`
    #[arg(long)]
    insecure: bool,
}

/// What to do where a daemon does not take the file as it stands.
pub(super) fn correct_the_file(file: &Path, files: &Files) -> String {
    if !file.exists() {
        "restore it from a backup, or create a new one: `mcpproxy stop`, then `mcpproxy setup`"
            .to_owned()
    } else if file == files.config_file() {
        "`mcpproxy config edit`".to_owned()
    } else {
        let file = output::shell_word(&file.to_string_lossy());
        format!("`mcpproxy --config {file} config edit`")
    }
}

/// Refuses to go on with a file that the daemon that runs cannot use, such as one that is gone: the daemon keeps the settings that it read
/// from it before, and those of a new file would replace them.
pub(super) fn refuse_unusable(files: &Files, status: Option<StatusReport>, outcome: &str) -> Done {
    let unusable = status.and_then(|status| Some((status.config_error?, status.config_file)));
    match unusable {
        None => Ok(()),
        Some((error, file)) => Err(CommandFailure::failed(error)
            .undone(outcome)
            .next(correct_the_file(&file, files))),
    }
}

impl ConfigCommand {
    pub(super) async fn run(self, location: &Location, out: Output) -> Done {
        let files = location.files()?;
        match self {
            Self::Path => print_path(&files, out),
            Self::Edit => edit(&files, out).await,
            Self::Check(check) => check.run(&files, out).await,
            Self::Schema => output::exactly(config::schema().trim_end()),
            Self::Get(get) => get.run(&files, out),
            Self::Set(set) => set.run(&files, out).await,
            Self::History(list) => list.run(&files, out).await,
            Self::Undo(undo) => undo.run(&files, out).await,
        }
    }
}

async fn edit(files: &Files, out: Output) -> Done {
    /// The code of a shell that does not find a command.
    const NOT_FOUND: i32 = 127;
    let file = files.config_file();
    if file.exists() && config::read_text(file).is_err() {
        return ConfigCheck { insecure: false }.run(files, out).await;
    }
    let named = |name| std::env::var(name).ok().filter(|text| !text.is_empty());
    let editor = named("VISUAL").or_else(|| named("EDITOR"));
    let editor = editor.unwrap_or_else(|| "vi".to_owned());
    // As git does it: an editor may have arguments, `code --wait`.
    let mut command = tokio::process::Command::new("sh");
    command.args(["-c", &format!("{editor} \"$1\""), "sh"]);
    let ended = command.arg(file).status().await;
    match ended {
        Ok(status) if status.success() => (),
        Ok(status) if status.code() != Some(NOT_FOUND) => {
            let failure = CommandFailure::failed(format!("the editor {editor:?} failed"));
            let failure = failure.undone("the file was not checked");
            return Err(failure.next("`mcpproxy config check`"));
        }
        _ => {
            let failure = CommandFailure::failed(format!("there is no editor {editor:?}"));
            let failure = failure.undone("nothing was changed");
            return Err(
                failure.next("name an installed editor: `VISUAL=nano mcpproxy config edit`")
            );
        }
    }
    ConfigCheck { insecure: false }.run(files, out).await
}

fn print_path(files: &Files, out: Output) -> Done {
    let config_file = files.config_file();
    if !out.is_json() {
        return output::exactly(&config_file.to_string_lossy());
    }
    let (data_dir, exists) = (files.data_dir(), config_file.exists());
    let paths = json!({ "config_file": config_file, "data_dir": data_dir, "exists": exists });
    output::json(paths.to_string().as_bytes())
}

impl ConfigCheck {
    async fn run(self, files: &Files, out: Output) -> Done {
        let exposure = if self.insecure {
            Exposure::Anywhere
        } else {
            Exposure::ThisMachine
        };
        let mut report = files.check(exposure);
        if (report.error.is_none() || !report.missing_variables.is_empty())
            && let Some((status, mut daemon)) = running(files, out).await
        {
            trust_daemon(&mut report, &status, &mut daemon).await;
            report.warnings.extend(restart_warnings(files, &status));
            if let Some(error) = status.config_error {
                report.ok = false;
                report
                    .faults
                    .push(format!("the running daemon rejects the file: {error}"));
            }
        }
        if out.is_json() {
            output::json(&output::as_json(&report)?)?;
        } else {
            show(&report, out)?;
        }
        verdict(report).map_err(CommandFailure::shown)
    }
}

/// What of the file counts only after a restart of the daemon. It may not have read the file again yet, and does not say which data
/// folders are meant.
fn restart_warnings(files: &Files, status: &StatusReport) -> Vec<Warning> {
    let data_dir = data_dir_warning(files, &status.location);
    let keys = status.needs_restart.iter();
    let others = keys.filter(|key| data_dir.is_none() || *key != "data_dir");
    others
        .map(|key| restart_warning(key))
        .chain(data_dir.clone())
        .collect()
}

/// That the file names another data folder than the daemon uses, if it does.
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

/// The daemon that runs on the file, and how it is.
async fn running(files: &Files, out: Output) -> Option<(StatusReport, DaemonClient)> {
    // A daemon that does not answer has no objections.
    let daemon = connection::open(files, out).await.ok()?;
    let status = daemon.status_report()?;
    (status.config_file == files.config_file()).then_some((status, daemon))
}

/// Takes back what the daemon that runs on this file knows better: it may have variables that this command lacks.
pub(super) async fn trust_daemon(
    report: &mut ConfigReport,
    status: &StatusReport,
    daemon: &mut DaemonClient,
) {
    let lacks_nothing = report.broken.is_empty() && report.missing_variables.is_empty();
    if lacks_nothing || status.config_error.is_some() {
        return;
    }
    if let Ok(list) = daemon.fetch::<ServerList>("/api/v1/servers").await {
        report.beside_daemon(&list.servers);
    }
}

/// Limit: steps that are named at once. The table has every finding.
const STEPS: usize = 3;

fn verdict(report: ConfigReport) -> Done {
    if let Some(error) = report.error.clone() {
        return Err(CommandFailure::failed(error).next(report.error_step()));
    }
    let fix = report.fix();
    if let Some(fault) = report.faults.into_iter().next() {
        return Err(CommandFailure::failed(fault).next(fix));
    }
    let mut steps: Vec<String> = Vec::new();
    for entry in &report.broken {
        let step = match entry.step() {
            NextStep::FixEntry { how: None, .. } => "`mcpproxy config edit`".to_owned(),
            _ => entry.step_at_terminal(),
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
    // The error says one alone.
    let faults = report.faults.iter().filter(|_| report.faults.len() > 1);
    let faults = faults.map(|fault| finding("fault", "-", fault));
    let broken = report
        .broken
        .iter()
        .map(|entry| finding("broken server", &entry.name, &entry.reason));
    let warnings = report.warnings.iter().map(|warning| {
        finding(
            "warning",
            warning.server.as_deref().unwrap_or("-"),
            &warning.text,
        )
    });
    let findings: Vec<[String; 3]> = faults.chain(broken).chain(warnings).collect();
    if !findings.is_empty() {
        let columns = [name("FINDING"), name("SERVER"), text("WHAT", usize::MAX)];
        output::table(columns, findings)?;
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
