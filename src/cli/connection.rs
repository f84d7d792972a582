//! Connects commands with the daemon of their configuration, also with one that still uses a former data folder, and notes a daemon of
//! another version. Which function a command calls depends on what it does without a daemon.

use std::time::{Duration, Instant};

use http::Method;
use tokio::time::sleep;

use super::{Done, OrUndone, Output};
use crate::{
    clients::real_path,
    daemon,
    daemon_client::{DaemonClient, DaemonError, encoded},
    management::{DaemonLocation, Files, StatusReport},
};

/// How long a daemon may take to answer after its start.
const ANSWERS_WITHIN: Duration = Duration::from_secs(20);

/// Between two attempts.
pub(super) const RETRY: Duration = Duration::from_millis(50);

/// Where a daemon listens and keeps its files; nothing where none runs.
pub(super) fn location_of(daemon: &DaemonClient) -> Option<DaemonLocation> {
    Some(daemon.status_report()?.location)
}

/// The REST path of a server. `rest` is what follows its name, such as `/inspect` or `?wait=20`.
pub(super) fn server_path(name: &str, rest: &str) -> String {
    format!("/api/v1/servers/{}{rest}", encoded(name))
}

/// Connects to the daemon of a configuration. Fails where none runs.
pub(super) async fn open(files: &Files, out: Output) -> Result<DaemonClient, DaemonError> {
    let connected = DaemonClient::connect(files.data_dir()).await;
    let daemon = match connected.and_then(|daemon| check_file(files, daemon)) {
        Err(absent) if absent.is_absence() => {
            let found = find_in_other_folder(files, out).await;
            let missing = files.missing_file().map(|missing| missing.to_string());
            found.ok_or_else(|| match (absent, missing) {
                (DaemonError::NotRunning(_), _) if daemon::is_taken(files.data_dir()) => {
                    DaemonError::Passing
                }
                (DaemonError::NotRunning(_), None) if !files.config_file().exists() => {
                    DaemonError::NotSetUp
                }
                (DaemonError::NotRunning(_), missing) => DaemonError::NotRunning(missing),
                (absent, _) => absent,
            })?
        }
        connected => connected?,
    };
    let folder = files.data_dir().display();
    out.detail(&format!(
        "connected to the daemon of the data folder {folder}"
    ));
    if let Some(note) = daemon.version_note() {
        out.note(&note);
    }
    Ok(daemon)
}

/// [`open`] for commands that only a daemon can do. `outcome` says what was not done without one.
pub(super) async fn open_to_act(files: &Files, out: Output, outcome: &str) -> Done<DaemonClient> {
    open(files, out).await.or_undone(outcome)
}

/// [`open`] for commands that start a daemon: nothing when none runs. Fails if a daemon with another configuration has the data folder.
pub(super) async fn open_unless_absent(
    files: &Files,
    out: Output,
) -> Result<Option<DaemonClient>, DaemonError> {
    let opened = open(files, out).await;
    if let Err(absent) = &opened
        && absent.is_not_running()
    {
        out.detail(&absent.to_string());
        return Ok(None);
    }
    opened.map(Some)
}

/// [`open`] for commands that can do without a daemon: nothing when none runs with this configuration.
pub(super) async fn open_if_running(
    files: &Files,
    out: Output,
) -> Result<Option<DaemonClient>, DaemonError> {
    let opened = open_unless_absent(files, out).await;
    if let Err(absent @ DaemonError::OtherConfiguration { .. }) = &opened {
        out.note(&absent.to_string());
        return Ok(None);
    }
    opened
}

/// [`open`] for commands that change files: where no daemon runs, the client works on the files. Fails if a daemon with another
/// configuration has the data folder.
pub(super) async fn open_or_files(files: &Files, out: Output) -> Result<DaemonClient, DaemonError> {
    let daemon = open_unless_absent(files, out).await?;
    Ok(daemon.unwrap_or_else(|| DaemonClient::over_files(files.clone())))
}

/// [`open`] for commands that show something: where no daemon runs with this configuration, the client reads the files.
pub(super) async fn open_to_show(files: &Files, out: Output) -> Result<DaemonClient, DaemonError> {
    let stopped = match open_unless_absent(files, out).await {
        Ok(Some(daemon)) => return Ok(daemon),
        Ok(None) if !files.config_file().exists() => {
            Some(format!("{}: `mcpproxy setup`", DaemonError::NotSetUp))
        }
        // Else nothing is shown: the failure says why.
        Ok(None) if files.supposed_settings().is_ok() => {
            let file = files.config_file().display();
            Some(format!(
                "the daemon is not running; servers are from {file}, tools from its last run: `mcpproxy start`"
            ))
        }
        Ok(None) => None,
        Err(other @ DaemonError::OtherConfiguration { .. }) => {
            out.note(&other.to_string());
            None
        }
        Err(failure) => return Err(failure),
    };
    let missing = files.missing_file().map(|missing| missing.to_string());
    if let Some(note) = missing.or(stopped) {
        out.note(&note);
    }
    Ok(DaemonClient::over_files(files.clone()))
}

/// [`open`] for a daemon that was just started, with some patience.
pub(super) async fn open_soon(files: &Files, out: Output) -> Result<DaemonClient, DaemonError> {
    let deadline = Instant::now() + ANSWERS_WITHIN;
    loop {
        match open(files, out).await {
            Err(absent) if absent.is_absence() && Instant::now() < deadline => {
                sleep(RETRY).await;
            }
            opened => return opened,
        }
    }
}

/// Fails if the daemon of the data folder serves another file than the command line names.
pub(super) async fn refuse_other(files: &Files) -> Result<(), DaemonError> {
    if files.places().requested_by().is_none() {
        return Ok(());
    }
    // Where there is none, a later connection fails with the reason.
    let daemon = DaemonClient::connect(files.data_dir()).await;
    daemon.map_or(Ok(()), |daemon| check_file(files, daemon).map(drop))
}

/// Has a daemon read its files again.
pub(super) const RELOAD: &str = "/api/v1/config/reload";

/// The status of a daemon after it has read its files again: they may have changed a moment ago.
pub(super) async fn status_now(daemon: &mut DaemonClient) -> Result<StatusReport, DaemonError> {
    let _ = daemon.ask(Method::POST, RELOAD, "").await;
    daemon.fetch("/api/v1/status").await
}

/// The process id of the daemon of the data folder, if it serves another file than the command line names.
pub(super) async fn pid_of_other(files: &Files) -> Option<u32> {
    let daemon = DaemonClient::connect(files.data_dir()).await.ok()?;
    let pid = daemon.status_report()?.pid;
    check_file(files, daemon).is_err().then_some(pid)
}

/// The daemon, unless the command line names another file than it serves.
fn check_file(files: &Files, daemon: DaemonClient) -> Result<DaemonClient, DaemonError> {
    let status = daemon.status_report();
    let Some(status) = status.filter(|_| files.places().requested_by().is_some()) else {
        return Ok(daemon);
    };
    let requested = files.config_file();
    if real_path(requested) == real_path(&status.config_file) {
        return Ok(daemon);
    }
    Err(DaemonError::OtherConfiguration {
        data_dir: files.data_dir().to_owned(),
        served: status.config_file.display().to_string(),
        requested: requested.to_owned(),
    })
}

/// The daemon of this configuration that was started when the file named another data folder.
async fn find_in_other_folder(files: &Files, out: Output) -> Option<DaemonClient> {
    for folder in files.places().other_data_folders() {
        if folder == files.data_dir() {
            continue;
        }
        let Ok(daemon) = DaemonClient::connect(&folder).await else {
            continue;
        };
        let status = daemon.status_report();
        if status.is_some_and(|status| status.config_file == files.config_file()) {
            let folder = folder.display();
            out.note(&match files.settings_without_secrets() {
                Ok(_) => format!(
                    "the running daemon uses the data folder {folder}, not the one that the configuration names now"
                ),
                Err(_) => format!(
                    "the configuration file cannot be read; the running daemon uses the data folder {folder}"
                ),
            });
            return Some(daemon);
        }
    }
    None
}
