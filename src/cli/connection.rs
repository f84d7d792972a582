//! The daemon that a command talks to. One of another version is pointed out, and one that still uses another data folder is found.

use std::time::{Duration, Instant};

use tokio::time::sleep;

use super::{Done, OrUndone, Output};
use crate::{
    clients::real_path,
    daemon_client::{DaemonClient, DaemonError, encoded},
    management::{DaemonLocation, Files},
};

/// How long a daemon that was started may take to answer.
const ANSWERS_WITHIN: Duration = Duration::from_secs(20);

/// How long to wait between two attempts.
const RETRY: Duration = Duration::from_millis(50);

/// Where a daemon listens and keeps its files; nothing where none runs.
pub(super) fn location_of(daemon: &DaemonClient) -> Option<DaemonLocation> {
    Some(daemon.status_report()?.location)
}

/// The REST path of a server. `rest` is what follows its name, such as `/inspect` or `?wait=20`.
pub(super) fn server_path(name: &str, rest: &str) -> String {
    format!("/api/v1/servers/{}{rest}", encoded(name))
}

/// Connects to the daemon of a configuration.
pub(super) async fn open(files: &Files, out: Output) -> Result<DaemonClient, DaemonError> {
    let connected = DaemonClient::connect(files.data_dir()).await;
    let daemon = match connected.and_then(|daemon| of_file(files, daemon)) {
        Err(absent) if absent.is_absence() => {
            let found = in_other_folder(files, out).await;
            found.ok_or_else(|| match (absent, files.missing_file()) {
                (DaemonError::NotRunning(_), missing) => DaemonError::NotRunning(missing),
                (absent, _) => absent,
            })?
        }
        connected => connected?,
    };
    out.detail(&format!(
        "connected to the daemon of the data folder {}",
        files.data_dir().display()
    ));
    if let Some(note) = daemon.version_note() {
        out.note(&note);
    }
    Ok(daemon)
}

/// [`open`] for what only a daemon does: where none can be asked, this is the outcome.
pub(super) async fn open_to_act(files: &Files, out: Output, outcome: &str) -> Done<DaemonClient> {
    open(files, out).await.or_undone(outcome)
}

/// [`open`] for commands that start a daemon: nothing when none runs. One with another configuration is in the way.
pub(super) async fn open_unless_absent(
    files: &Files,
    out: Output,
) -> Result<Option<DaemonClient>, DaemonError> {
    let opened = open(files, out).await;
    if let Err(absent @ DaemonError::NotRunning(_)) = &opened {
        out.detail(&absent.to_string());
        return Ok(None);
    }
    opened.map(Some)
}

/// [`open`] for commands that can also do without: nothing when no daemon runs with this configuration.
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

/// [`open`] for commands that need no daemon: where none runs, the same over the files. One with another configuration is in the way: the
/// data folder is its own.
pub(super) async fn open_or_files(files: &Files, out: Output) -> Result<DaemonClient, DaemonError> {
    let daemon = open_unless_absent(files, out).await?;
    Ok(daemon.unwrap_or_else(|| DaemonClient::over_files(files.clone())))
}

/// The same for commands that show how things are: without a daemon of this configuration only the files tell.
pub(super) async fn open_to_show(files: &Files, out: Output) -> Result<DaemonClient, DaemonError> {
    let daemon = open_if_running(files, out).await?;
    let daemon = daemon.unwrap_or_else(|| DaemonClient::over_files(files.clone()));
    if daemon.is_over_files() {
        let file = files.config_file().display();
        let stopped = format!("the daemon is not running; showing {file} and the tools last seen");
        out.note(&files.missing_file().unwrap_or(stopped));
    }
    Ok(daemon)
}

/// [`open`] for a daemon that was just started: it may take a moment until it answers.
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

/// Refuses a daemon that has the data folder and serves another file than the one that was named.
pub(super) async fn refuse_other(files: &Files) -> Result<(), DaemonError> {
    if files.places().requested_by().is_none() {
        return Ok(());
    }
    match DaemonClient::connect(files.data_dir()).await {
        Ok(daemon) => of_file(files, daemon).map(drop),
        // Whoever needs it will learn why.
        Err(_) => Ok(()),
    }
}

/// The process of the daemon that has the data folder, where that serves another file than the one that was named.
pub(super) async fn other_daemon(files: &Files) -> Option<u32> {
    let daemon = DaemonClient::connect(files.data_dir()).await.ok()?;
    let pid = daemon.status_report()?.pid;
    of_file(files, daemon).is_err().then_some(pid)
}

/// The daemon, unless a file was named that is not the one that it serves.
fn of_file(files: &Files, daemon: DaemonClient) -> Result<DaemonClient, DaemonError> {
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

/// A daemon of this configuration that was started when the file named another data folder.
async fn in_other_folder(files: &Files, out: Output) -> Option<DaemonClient> {
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
