//! A daemon in the background. `serve --background=start` leaves the session of its caller, starts `serve --background=run`, waits until
//! that serves, and ends, so that the daemon has no terminal and its parent is init.

use std::{
    env,
    ffi::OsString,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use serde::{Deserialize, Serialize};
use tokio::time::timeout;

use super::{
    CommandFailure, Done, OrUndone, Output, connection, failure::own_program, output, platform,
};
use crate::{
    config::duration,
    daemon::ServeError,
    daemon_client::bridge::{AbsentDaemon, BridgeHost, Unserved},
    failure::ErrorCode,
    management::Files,
    process,
    storage::{DataFile, in_words},
};

/// How long a daemon may take until it serves.
const SERVES_WITHIN: Duration = Duration::from_secs(20);

const DOCTOR: &str = "`mcpproxy doctor`";

/// The two processes that start a daemon in the background.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Background {
    /// Starts the daemon
    Start,
    /// Is the daemon
    Run,
}

/// The JSON line in which either process reports on stdout whether there is a daemon now. Its keys are those of a failure with `-o json`.
#[derive(Default, Serialize, Deserialize)]
struct StartReport {
    /// Why there is no daemon.
    error: Option<String>,
    code: Option<String>,
    hint: Option<String>,
}

impl StartReport {
    fn of(started: Result<(), &ServeError>) -> Self {
        match started {
            // Another daemon that was faster will do.
            Err(error) if !error.is_taken() => Self {
                error: Some(error.what().replace('\n', " ")),
                code: Some(error.code().to_string()),
                hint: Some(error.next_step().to_owned()),
            },
            _ => Self::default(),
        }
    }

    /// The report in the output of a process; nothing where it ended without one.
    fn parse(stdout: &[u8]) -> Option<Self> {
        serde_json::from_slice(stdout).ok()
    }

    fn outcome(self) -> Done {
        let Some(error) = self.error else {
            return Ok(());
        };
        let failure = CommandFailure::failed(error).next(self.hint.unwrap_or(DOCTOR.to_owned()));
        Err(failure.of_code(self.code.as_deref().and_then(ErrorCode::parse)))
    }
}

/// The log of a daemon in the background.
pub(super) fn log_file(data_dir: &Path) -> PathBuf {
    DataFile::Logs.within(data_dir).join("daemon.log")
}

/// Starts the daemon with the arguments of this process, and returns when that daemon, or another one, has the data folder.
pub(super) fn start(data_dir: &Path) -> Done {
    platform::leave_session();
    let arguments = env::args_os().skip(1).map(|argument| {
        if argument == "--background=start" {
            "--background=run".into()
        } else {
            argument
        }
    });
    let mut daemon = Command::new(own_program(process::own_program())?)
        .args(arguments)
        // A daemon ends the children of its servers by this variable. The new daemon must outlive it.
        .env_remove("MCPPROXY_CHILD")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| failed(&in_words(&error)))?;
    let stdout = daemon.stdout.take().expect("stdout is piped");
    let (sender, first_line) = mpsc::channel();
    thread::spawn(move || {
        let mut line = String::new();
        // A pipe that breaks leaves an empty line.
        let _ = BufReader::new(stdout).read_line(&mut line);
        // Nobody waits any more.
        let _ = sender.send(line);
    });
    let what = match first_line.recv_timeout(SERVES_WITHIN) {
        Ok(line) => match StartReport::parse(line.as_bytes()) {
            Some(report) => return report.outcome(),
            None => "it exited on start".to_owned(),
        },
        Err(_) => format!("it was not ready within {} s", SERVES_WITHIN.as_secs()),
    };
    let what = format!("{what}; its log: {}", log_file(data_dir).display());
    Err(CommandFailure::failed(what))
}

/// Reports to the process that started this one whether the daemon serves.
pub(super) fn report(started: Result<(), &ServeError>) {
    let line = serde_json::to_string(&StartReport::of(started)).unwrap_or_default();
    // Nobody may be listening any more.
    let _ = output::print_line(&line);
}

/// Starts daemons in the background, for commands and for a client's bridge.
pub(super) struct Starter {
    files: Files,
    idle_exit: Option<Duration>,
    more: Vec<OsString>,
    out: Output,
}

impl Starter {
    /// A starter of daemons for this data folder, which end when they have had no client for `idle_exit`, if that is given.
    /// `more` are further arguments of `serve`.
    pub(super) fn new(
        files: Files,
        idle_exit: Option<Duration>,
        more: Vec<OsString>,
        out: Output,
    ) -> Self {
        Self {
            files,
            idle_exit,
            more,
            out,
        }
    }

    /// Returns when the daemon, or another one, has the data folder.
    pub(super) async fn begin(&self) -> Done {
        // The process would say that --config names it.
        if let Some(missing) = self.files.missing_file() {
            return Err(missing.failure()).or_undone("the daemon was not started");
        }
        let mut command = tokio::process::Command::new(own_program(process::own_program())?);
        command
            .args(["-o", "json", "--config"])
            .arg(self.files.config_file())
            .arg("--data-dir")
            .arg(self.files.data_dir())
            .args(["serve", "--background=start"])
            .args(
                self.idle_exit
                    .map(|idle| format!("--idle-exit={}", duration::show(idle))),
            )
            .args(&self.more)
            // The daemon has no client's token, and must not keep the client's folder busy.
            .env_remove("MCPPROXY_TOKEN")
            .current_dir(
                env::home_dir()
                    .filter(|home| home.is_dir())
                    .unwrap_or_else(|| "/".into()),
            )
            .stdin(Stdio::null())
            .kill_on_drop(true);
        // The process waits for the daemon itself; this is against one that hangs.
        match timeout(2 * SERVES_WITHIN, command.output()).await {
            Ok(Ok(done)) if done.status.success() => Ok(()),
            Ok(Ok(done)) => Err(why(&done.stdout)),
            Ok(Err(error)) => Err(failed(&in_words(&error))),
            Err(_) => Err(failed("it took too long")),
        }
    }
}

impl BridgeHost for Starter {
    async fn check_daemon(&self) -> Result<(), AbsentDaemon> {
        let checked = connection::refuse_other(&self.files).await;
        checked.map_err(|error| {
            absent(CommandFailure {
                outcome: None,
                ..error.into()
            })
        })
    }

    async fn start_daemon(&self) -> Result<(), AbsentDaemon> {
        self.begin().await.map_err(absent)
    }

    fn fail(&self, why: &str, step: &str) {
        let failure = CommandFailure::failed(why).undone("the client is not served");
        self.out.failure(&failure.next(step));
    }

    async fn output_closed(&self) {
        platform::stdout_closed().await;
    }

    fn note(&self, text: &str) {
        self.out.note(text);
    }
}

fn absent(failure: CommandFailure) -> AbsentDaemon {
    AbsentDaemon {
        why: failure.in_words(),
        code: failure.code.unwrap_or(ErrorCode::Internal),
        step: failure.next_step.unwrap_or_default(),
        unserved: Unserved::NoDaemon,
    }
}

fn failed(why: &str) -> CommandFailure {
    let failure = CommandFailure::failed(why).next(DOCTOR);
    failure.undone("the daemon was not started")
}

/// Why the process that was to start a daemon failed.
fn why(stdout: &[u8]) -> CommandFailure {
    let outcome = StartReport::parse(stdout).map(StartReport::outcome);
    match outcome {
        Some(Err(failure)) => failure.undone("the daemon was not started"),
        _ => failed("it exited without a message"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_daemon_says_in_one_line_why_it_does_not_serve() {
        let error = ServeError::failed("no\nfolder\t".to_owned(), "make one");
        let line = serde_json::to_string(&StartReport::of(Err(&error))).expect("it is JSON");
        assert!(!line.contains('\n'), "{line}");
        let report = StartReport::parse(line.as_bytes()).expect("a report");
        let failure = report.outcome().expect_err("it failed");
        assert_eq!(failure.what, "no folder\t");
        assert_eq!(failure.next_step.as_deref(), Some("make one"));
        assert_eq!(failure.code, Some(ErrorCode::Internal));
        let served = StartReport::of(Ok(())).outcome();
        assert!(served.is_ok() && StartReport::parse(b"").is_none());
    }

    #[test]
    fn the_reason_of_a_failed_start_is_passed_on_with_its_step() {
        let check = |stdout: &str, what: &str, step: &str| {
            let failure = why(stdout.as_bytes());
            let said = format!("the daemon was not started: {what}");
            assert_eq!(failure.in_words(), said);
            assert_eq!(failure.next_step.as_deref(), Some(step));
        };
        check(r#"{"error": "no", "hint": "try"}"#, "no", "try");
        check(r#"{"error": "no"}"#, "no", "`mcpproxy doctor`");
        check("", "it exited without a message", "`mcpproxy doctor`");
    }
}
