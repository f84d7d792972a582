//! Child processes of stdio upstreams: started in a group of their own, watched, and ended with everything they started.
//!
//! Knows nothing of MCP: stdin and stdout go to the caller as they are, stderr into a log, and when to start again is the
//! caller's decision.

mod container;
mod descriptors;
mod environment;
mod last_words;
mod launch;
mod ledger;
mod line_cutter;
mod log_file;
mod log_line;
mod login_path;
#[cfg(unix)]
mod login_shell;
mod members;
mod memory;
mod own_program;
mod process_table;
mod stderr_log;
mod stop_steps;
mod sweep;

#[cfg(unix)]
#[path = "unix.rs"]
mod group;
#[cfg(windows)]
#[path = "windows.rs"]
mod group;

#[cfg(all(test, unix))]
mod tests;

use std::{fmt, time::Duration};

use tokio::{
    process::{ChildStderr, ChildStdin, ChildStdout},
    sync::watch,
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

use self::{container::ServerContainer, group::Group};
pub use self::{
    descriptors::raise_descriptor_limit,
    environment::BaseEnvironment,
    last_words::engine_is_down,
    launch::{Launch, SpawnError, closest_program, find_program, is_command_line},
    ledger::{ChildLedger, own_mark},
    log_line::own_words,
    login_path::LoginPath,
    memory::{memory_of_server, own_memory},
    own_program::{own_program, own_program_on_path},
    stderr_log::{StderrLog, remove_server_logs, server_log_file},
    sweep::{end_left_behind, left_behind},
};
use crate::text::{names::ServerName, secret::Secrets};

/// How long the stderr of a dead child is read on: a process that left the group may hold it open.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// How long after its pipes have broken the end of a child may become known.
const EXIT_NOTICED: Duration = Duration::from_millis(500);

/// How long [`Process::stop`] waits beyond its grace until the killed processes are gone. Only one that is stuck in the kernel needs it.
const REAPING: Duration = Duration::from_secs(5);

/// The exit code of `docker run` and `podman run` if the engine itself failed.
const NO_CONTAINER: i32 = 125;

/// How a child ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// It ended by itself with this code.
    Code(i32),
    /// This signal ended it.
    Signal(i32),
    /// It is gone, and nobody can say how.
    Unknown,
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exited with code {code}"),
            Self::Signal(signal) => write!(f, "killed by signal {signal}"),
            Self::Unknown => f.write_str("exited"),
        }
    }
}

/// How much time a child gets to end by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grace {
    /// From the end of its input to SIGTERM.
    pub after_eof: Duration,
    /// From SIGTERM to SIGKILL.
    pub after_term: Duration,
}

impl Grace {
    /// No time at all.
    pub const NONE: Self = Self {
        after_eof: Duration::ZERO,
        after_term: Duration::ZERO,
    };
}

impl Default for Grace {
    fn default() -> Self {
        Self {
            after_eof: Duration::from_secs(2),
            after_term: Duration::from_secs(3),
        }
    }
}

/// A running child and everything that it started, also in groups and sessions of their own. Dropping it kills all of them at once;
/// [`Process::stop`] asks first.
///
/// A task of its own waits for the child, so it never stays as a zombie.
pub struct Process {
    pid: u32,
    /// The grace to stop with; dropped, it means "kill now".
    stop_request: watch::Sender<Option<Grace>>,
    exit: watch::Receiver<Option<Exit>>,
    task: JoinHandle<()>,
    /// How long removing its container may take.
    removal: Duration,
}

/// Starts the child in a process group of its own, enters it in the ledger and begins to read its stderr.
///
/// Must be called within a tokio runtime. The child's stdin and stdout go to the caller; dropping stdin is the signal for a child
/// to end.
pub fn spawn(
    launch: &Launch,
    base_env: &BaseEnvironment,
    ledger: &ChildLedger,
    stderr: &StderrLog,
) -> Result<(Process, ChildStdin, ChildStdout), SpawnError> {
    let (mut command, runtime) = launch.command(base_env)?;
    let mut entry = ledger.announce(&launch.server, runtime.as_deref());
    let container = runtime.map(|runtime| {
        command.args(launch.run_arguments(base_env, entry.mark()));
        ServerContainer {
            runtime,
            mark: entry.mark().to_owned(),
            environment: Some(launch::environment_of(&command)),
        }
    });
    command.env(ledger::MARK, entry.mark());
    let exit = watch::Sender::new(None);
    let watched = exit.subscribe();
    let mut group = match Group::spawn(command, Some(entry.mark()), exit) {
        Ok(group) => group,
        Err(source) => {
            entry.clear();
            return Err(launch.refused(base_env, source));
        }
    };
    let pid = group.pid();
    descriptors::give_back(pid);
    entry.record(pid);
    let leader = group.leader();
    let piped = "the stream is set to be piped and taken once";
    let stdin = leader.stdin.take().expect(piped);
    let stdout = leader.stdout.take().expect(piped);
    let errors = leader.stderr.take().expect(piped);
    tracing::debug!(server = %launch.server, pid, "child process started");

    let stop_request = watch::Sender::new(None);
    let stop_requests = stop_request.subscribe();
    let (log, secrets) = (stderr.clone(), launch.secrets.clone());
    let server = launch.server.clone();
    let removal = container
        .as_ref()
        .map_or(Duration::ZERO, |_| container::REMOVAL);
    let task = tokio::spawn(async move {
        let gone = CancellationToken::new();
        tokio::join!(
            async {
                let exit = stop_steps::follow(&mut group, stop_requests).await;
                if remove(container, exit, &server).await {
                    entry.clear();
                }
                tracing::debug!(%server, pid, %exit, "child process ended");
                gone.cancel();
            },
            read_errors(&log, errors, &secrets, &gone),
        );
    });
    let process = Process {
        pid,
        stop_request,
        exit: watched,
        task,
        removal,
    };
    Ok((process, stdin, stdout))
}

/// Removes the container of a program that has ended. Gives whether nothing is left; otherwise the ledger keeps its entry, and the next
/// daemon tries again.
async fn remove(container: Option<ServerContainer>, exit: Exit, server: &ServerName) -> bool {
    let Some(container) = container else {
        return true;
    };
    let settled = match exit {
        Exit::Code(_) => Duration::ZERO,
        Exit::Signal(_) | Exit::Unknown => container::LATE,
    };
    match container.removed(settled).await {
        Ok(()) => true,
        // The engine failed before it had a container, which is the failure of the start.
        Err(_) if exit == Exit::Code(NO_CONTAINER) => false,
        Err(reason) => {
            tracing::warn!(%server, %reason, "the server's container could not be removed; the next start of the daemon tries again");
            false
        }
    }
}

/// Reads stderr to its end, or until a moment after the end of the group: a process that left the group may hold it open for ever.
async fn read_errors(
    log: &StderrLog,
    errors: ChildStderr,
    secrets: &Secrets,
    gone: &CancellationToken,
) {
    let too_long = async {
        gone.cancelled().await;
        tokio::time::sleep(LAST_WORDS).await;
    };
    tokio::select! {
        () = log.follow(errors, secrets) => {}
        () = too_long => {}
    }
}

impl Process {
    /// The process id of the child, which is also the id of its group.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Resolves when the child itself has ended, however that came. What else it started is killed then.
    pub fn exited(&self) -> impl Future<Output = Exit> + Send + 'static + use<> {
        let mut exit = self.exit.clone();
        async move {
            let ended = exit.wait_for(Option::is_some).await;
            ended.ok().and_then(|exit| *exit).unwrap_or(Exit::Unknown)
        }
    }

    /// How the child ended, where its pipes have broken: that is noticed a moment before its end. Nothing if it still runs.
    pub async fn just_exited(&self) -> Option<Exit> {
        tokio::time::timeout(EXIT_NOTICED, self.exited()).await.ok()
    }

    /// Ends the child with all that it started and returns when nothing of it is left: waits for the child to end by itself, for
    /// which the caller drops its stdin first; then SIGTERM to all; then SIGKILL.
    ///
    /// A caller that drops this future has all of them killed at once.
    pub async fn stop(mut self, grace: Grace) {
        self.stop_request.send_replace(Some(grace));
        let longest = grace.after_eof + grace.after_term + REAPING + self.removal;
        if tokio::time::timeout(longest, &mut self.task).await.is_err() {
            tracing::warn!(
                pid = self.pid,
                "child process is stuck in the kernel; it was killed and no longer waited for"
            );
        }
    }
}
