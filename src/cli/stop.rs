//! `mcpproxy stop`: ends the daemon.

use std::time::{Duration, Instant};

use clap::Args;
use serde_json::json;

use super::{CommandFailure, Done, Location, Output, connection, output, platform};
use crate::{
    daemon_client::{self, DaemonClient, DaemonError},
    management::StatusReport,
    process,
    storage::{DataFile, in_words},
    text::names::ServerName,
};

/// Stop the daemon and its servers
///
/// Waits until the daemon has stopped; running calls get 10 s to finish. A client that uses `mcpproxy stdio` starts a new daemon with its next request.
#[derive(Debug, Args)]
pub(super) struct StopCommand {}

/// How long the daemon may take to end: 10 s for running calls, and then the servers' time to exit.
pub(super) const ENDS_WITHIN: Duration = Duration::from_secs(30);

const POLL_INTERVAL: Duration = Duration::from_millis(50);

impl StopCommand {
    pub(super) async fn run(self, location: &Location, out: Output) -> Done {
        let files = location.files()?;
        let daemon = match connection::open(&files, out).await {
            Err(absent) if absent.is_not_running() && !matches!(absent, DaemonError::Passing) => {
                let ended = process::end_left_behind(files.data_dir(), Duration::ZERO);
                if !ended.is_empty() {
                    return say_ended(&ended.into_keys().collect::<Vec<_>>(), out);
                }
                let failure = CommandFailure::not_reachable(format!("nothing to stop: {absent}"));
                return Err(
                    failure.next("if one runs with another data folder, name that with --data-dir")
                );
            }
            opened => opened?,
        };
        let pid = end(daemon).await?;
        if out.is_json() {
            return output::print_value(&json!({ "stopped": true, "pid": pid }));
        }
        out.done(&format!("stopped the daemon (process {pid})"));
        Ok(())
    }
}

/// Says that servers of a killed daemon were ended.
fn say_ended(servers: &[ServerName], out: Output) -> Done {
    let names: Vec<&str> = servers.iter().map(ServerName::as_str).collect();
    if out.is_json() {
        return output::print_value(&json!({ "stopped": false, "left_servers_stopped": names }));
    }
    let names = names.join(", ");
    out.done(&format!(
        "no daemon is running; stopped the servers that a killed daemon left running: {names}"
    ));
    Ok(())
}

/// Ends a daemon, waits until it has ended, and gives its process id.
pub(super) async fn end(daemon: DaemonClient) -> Done<u32> {
    let status: StatusReport = daemon_client::read("GET /api/v1/status", daemon.status())?;
    // The daemon must not wait for this connection.
    drop(daemon);
    let pid = status.pid;
    platform::terminate(pid).map_err(|error| {
        let why = in_words(&error);
        CommandFailure::failed(format!("failed to stop the daemon (process {pid}): {why}"))
    })?;
    let socket = DataFile::Socket.within(&status.location.data_dir);
    let deadline = Instant::now() + ENDS_WITHIN;
    // The daemon removes its socket last of all, unless it is killed meanwhile.
    while socket.exists() && platform::is_alive(pid) {
        if Instant::now() > deadline {
            let waited = ENDS_WITHIN.as_secs();
            let what = format!("the daemon (process {pid}) has not stopped after {waited} s");
            let step = format!("`kill {pid}` stops it at once; `mcpproxy logs` shows its log");
            return Err(CommandFailure::failed(what).next(step));
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
    Ok(pid)
}
