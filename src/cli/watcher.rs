//! The process that watches a daemon: if the daemon is killed, it ends the servers that are left, as the next daemon would. It waits for the
//! end of a pipe, whose other end only the daemon has.

use std::{
    env, io,
    os::{fd::IntoRawFd, unix::process::parent_id},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use super::platform;
use crate::{
    process::{self, Grace},
    storage,
};

/// The argument that starts a watcher.
pub(super) const ARGUMENT: &str = "watch-daemon";

/// Between two checks whether the daemon has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Starts the watcher of this process, which is the daemon of this data folder.
pub(super) fn start(data_dir: &Path) {
    let started = process::own_program().and_then(|program| {
        Command::new(program)
            .args([ARGUMENT, &std::process::id().to_string()])
            .arg(data_dir)
            // A daemon ends the children of its servers by this variable. The watcher must outlive it.
            .env_remove("MCPPROXY_CHILD")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
    });
    match started {
        Ok(watcher) => {
            // The pipe is never closed, so that it ends with this process.
            let _ = watcher.stdin.map(IntoRawFd::into_raw_fd);
        }
        Err(error) => {
            tracing::warn!(error = %storage::in_words(&error), "no process watches the daemon; if it is killed, its servers may stay until the next start");
        }
    }
}

/// Waits until the daemon has ended, and then ends the servers that it left. After a normal end there are none.
pub(super) fn run() -> io::Result<()> {
    platform::leave_session();
    let mut arguments = env::args_os().skip(2);
    let daemon = arguments
        .next()
        .and_then(|pid| pid.to_str()?.parse::<u32>().ok());
    let data_dir = PathBuf::from(arguments.next().unwrap_or_default());
    io::copy(&mut io::stdin(), &mut io::sink())?;
    // The pipe ends a moment before the process.
    while daemon == Some(parent_id()) {
        thread::sleep(POLL_INTERVAL);
    }
    // Most servers end by themselves at the end of their input.
    process::end_left_behind(&data_dir, Grace::default().after_eof);
    Ok(())
}
