//! The watcher: a small process beside a daemon, which outlives it. Where the daemon was killed, it ends the servers that stay, as the next
//! daemon would. It waits for nothing but the end of a pipe, whose other end nobody has but the daemon.

use std::{
    env, io,
    os::{fd::IntoRawFd, unix::process::parent_id},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use super::platform;
use crate::process::{self, Grace};

/// The argument that makes a process of this program one.
pub(super) const ARGUMENT: &str = "watch-daemon";

/// How long to wait before looking again.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// Starts it for this process, the daemon of this data folder.
pub(super) fn start(data_dir: &Path) {
    let started = process::own_program().and_then(|program| {
        Command::new(program)
            .args([ARGUMENT, &std::process::id().to_string()])
            .arg(data_dir)
            // Where another daemon's server starts us, it is not to end with us.
            .env_remove("MCPPROXY_CHILD")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
    });
    match started {
        Ok(watcher) => {
            // Never closed: the pipe ends with this process, however that ends.
            let _ = watcher.stdin.map(IntoRawFd::into_raw_fd);
        }
        Err(error) => {
            tracing::warn!(%error, "no process watches the daemon; if it is killed, its servers may stay until the next start");
        }
    }
}

/// Watches until the daemon is gone. One that ended in order has left nothing.
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
        thread::sleep(LOOK_AGAIN);
    }
    // They see the end of their input, and most end by themselves.
    process::end_left_behind(&data_dir, Grace::default().after_eof);
    Ok(())
}
