//! `mcpproxy start` and `mcpproxy restart`: start the daemon in the background.

use std::time::Instant;

use clap::Args;
use serde_json::json;
use tokio::time::sleep;

use super::{
    CommandFailure, Done, Location, OrUndone, Output, background::Starter, client_warnings,
    connection, output, service, stop, unusable_file::refuse_unusable,
};
use crate::{
    config, daemon,
    daemon_client::DaemonClient,
    doctor,
    management::{DaemonLocation, Files, Management, StatusReport},
};

/// Start the daemon in the background
///
/// The daemon runs until `mcpproxy stop`, or until the machine shuts down; on some machines, only until you log out. `mcpproxy logs` shows
/// its log. To start it at every login, use `mcpproxy service install`.
#[derive(Debug, Args)]
pub(super) struct StartCommand {}

/// Restart the daemon
///
/// Running calls get 10 s to finish, and sessions continue. If the daemon is a service, its service manager restarts it. If not, the new
/// daemon runs in the background, with the `serve` options of the old one.
#[derive(Debug, Args)]
pub(super) struct RestartCommand {}

impl StartCommand {
    pub(super) async fn run(self, location: &Location, out: Output) -> Done {
        let files = location.files().or_undone("the daemon was not started")?;
        let is_configured = files.config_file().exists();
        let (daemon, done, is_new) = match running(&files, out).await? {
            Some(daemon) => (daemon, "already running", false),
            None => (start(&files, &[], out).await?, "started", true),
        };
        say(&files, &daemon, done, is_new, out).await?;
        if is_new && !is_configured {
            out.note("there is no configuration file yet; `mcpproxy setup` creates it");
        }
        Ok(())
    }
}

impl RestartCommand {
    pub(super) async fn run(self, location: &Location, out: Output) -> Done {
        let files = location.files()?;
        let mut running = running(&files, out).await?;
        let status = running.as_ref().and_then(DaemonClient::status_report);
        if let Some(daemon) = &mut running {
            // A running daemon keeps its last good settings. With a faulty file a new one would not start.
            const RUNS_ON: &str = "the daemon was not restarted and is still running";
            let settings = files.supposed_settings().or_undone(RUNS_ON)?;
            let now = connection::status_now(daemon).await?;
            if now.config_error.is_some() && !would_start(&files, now.pid).await {
                return refuse_unusable(&files, Some(now), RUNS_ON);
            }
            let options = &now.location.serve_options;
            let is_named = options.iter().any(|option| option == "--locked");
            let named = now.location.lock_file.filter(|_| is_named);
            if let Some(file) = named.or(settings.settings.lock_file) {
                daemon::load_lock(&file, is_named).or_undone(RUNS_ON)?;
            }
        }
        let is_service = match &status {
            Some(status) => service::restart(status.pid).await?,
            None => false,
        };
        let location = status.map(|status| status.location).unwrap_or_default();
        let done = running.as_ref().map_or("started", |_| "restarted");
        let mut done = done.to_owned();
        let daemon = if is_service {
            connection::open_soon(&files, out).await?
        } else {
            if let Some(daemon) = running {
                stop::end(daemon).await?;
                if location.log_file.is_none() {
                    done += " in the background";
                }
            }
            let options = &location.serve_options;
            if !options.is_empty() {
                done.extend([" with ", &options.join(" ")]);
            }
            start(&files, options, out).await?
        };
        if let Some(after) = connection::location_of(&daemon) {
            client_warnings::warn_of_old_address(&files, Some(&location), Some(&after), out);
        }
        say(&files, &daemon, &done, true, out).await
    }
}

/// Whether a new daemon could use the file that this one rejects: it may have variables that this one lacks.
async fn would_start(files: &Files, pid: u32) -> bool {
    let text = config::read_text(files.config_file()).ok();
    let variables = service::variables(pid, files.config_file()).await;
    let variables = variables.unwrap_or_else(config::process_environment);
    let new = Management::over_files(files.places().clone(), variables);
    !config::is_blank(text.as_deref()) && new.settings_without_secrets().is_ok()
}

async fn running(files: &Files, out: Output) -> Done<Option<DaemonClient>> {
    let opened = connection::open_unless_absent(files, out).await;
    opened.or_undone("the daemon was not started")
}

/// Starts a daemon in the background with these options of `serve`.
pub(super) async fn start(files: &Files, options: &[String], out: Output) -> Done<DaemonClient> {
    out.progress("starting the daemon");
    let more = options.iter().map(Into::into).collect();
    let starter = Starter::new(files.clone(), None, more, out);
    let deadline = Instant::now() + stop::ENDS_WITHIN;
    loop {
        // This also ends well where another daemon has the data folder, which may be about to end.
        starter.begin().await?;
        match connection::open(files, out).await {
            Err(absent) if absent.is_not_running() && Instant::now() < deadline => {
                sleep(connection::RETRY).await;
            }
            opened => return Ok(opened?),
        }
    }
}

async fn say(files: &Files, daemon: &DaemonClient, done: &str, started: bool, out: Output) -> Done {
    let Some(StatusReport { pid, location, .. }) = daemon.status_report() else {
        return Ok(());
    };
    let url = location.url.as_deref();
    if out.is_json() {
        output::print_value(&json!({ "started": started, "pid": pid, "url": url }))?;
    } else if let Some(url) = url {
        out.done(&format!("{done}: {url}"));
    }
    if url.is_some() {
        return Ok(());
    }
    let done = format!("{done}, but no client can connect over HTTP");
    Err(unheard(files, &location, &done).await?)
}

/// The failure of a daemon that does not listen at its address. `outcome` says what was not done because of that.
pub(super) async fn unheard(
    files: &Files,
    location: &DaemonLocation,
    outcome: &str,
) -> Done<CommandFailure> {
    let listen = files.supposed_settings()?.settings.listen;
    let (why, step) = doctor::why_unheard(listen, location, files.places()).await;
    Ok(CommandFailure::failed(why).undone(outcome).next(step))
}
