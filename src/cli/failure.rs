//! The failure of a command: what went wrong, what to do next, and the exit code. The errors of all rooms become one here.

use std::{env, io, path::PathBuf};

use serde::Serialize;

use super::{pretty_json, typed::as_typed};
use crate::{
    daemon::ServeError,
    daemon_client::DaemonError,
    failure::{ErrorCode, Failure, as_step},
    storage::{DiskFault, in_words},
};

/// Why a command failed.
#[derive(Debug)]
pub(super) struct CommandFailure {
    /// What was not done, if `what` does not say it.
    pub(super) outcome: Option<String>,
    /// What failed, and the thing with which it failed.
    pub(super) what: String,
    pub(super) next_step: Option<String>,
    pub(super) exit_code: u8,
    /// The code of an error from the daemon or from `management`. Other failures get one from their exit code.
    pub(super) code: Option<ErrorCode>,
    /// Whether the printed data contain the failure, so that it is not printed as JSON again.
    pub(super) is_shown: bool,
}

/// The result of a command, or of a part of one.
pub(super) type Done<T = ()> = Result<T, CommandFailure>;

/// The step where the daemon seems to have another version.
pub(super) const ONE_VERSION: &str =
    "`mcpproxy restart`, so that the daemon and this command have the same version";

/// What was not done, where nothing more precise is known.
const UNDONE: &str = "nothing was done";

pub(super) const FAILED: u8 = 1;
pub(super) const USAGE: u8 = 2;
const NOT_REACHABLE: u8 = 3;
const REFUSED: u8 = 4;

impl CommandFailure {
    /// The failure of a command that was understood.
    pub(super) fn failed(what: impl Into<String>) -> Self {
        Self::with_code(what, FAILED)
    }

    /// The failure of a command that was not understood.
    pub(super) fn usage(what: impl Into<String>) -> Self {
        Self::with_code(what, USAGE).undone(UNDONE)
    }

    /// The failure of a command that needs a daemon, where none answers.
    pub(super) fn not_reachable(what: impl Into<String>) -> Self {
        Self::with_code(what, NOT_REACHABLE)
    }

    /// The failure of a command that needs a person's consent, or that a policy denies.
    pub(super) fn refused(what: impl Into<String>) -> Self {
        Self::with_code(what, REFUSED)
    }

    /// A failure with this exit code.
    pub(super) fn with_code(what: impl Into<String>, exit_code: u8) -> Self {
        Self {
            outcome: None,
            what: what.into(),
            next_step: None,
            exit_code,
            code: None,
            is_shown: false,
        }
    }

    /// The same, contained in the printed data.
    pub(super) fn shown(mut self) -> Self {
        self.is_shown = true;
        self
    }

    /// The same with this code.
    pub(super) fn of_code(self, code: Option<ErrorCode>) -> Self {
        Self { code, ..self }
    }

    /// The same with what was not done.
    pub(super) fn undone(mut self, outcome: &str) -> Self {
        self.outcome = Some(outcome.to_owned());
        self
    }

    /// What was not done, and why.
    pub(super) fn in_words(&self) -> String {
        match &self.outcome {
            Some(outcome) => format!("{outcome}: {}", self.what),
            None => self.what.clone(),
        }
    }

    /// The next step for programs, with the options of this command line. The process that starts a daemon in the background leaves them
    /// out: the command that started it adds its own.
    pub(super) fn hint(&self) -> Option<String> {
        let is_own = env::args_os().any(|argument| argument == "--background=start");
        let step = self.next_step.as_deref()?;
        Some(if is_own {
            step.to_owned()
        } else {
            as_typed(step)
        })
    }

    /// The JSON for programs.
    pub(super) fn as_json(&self) -> String {
        #[derive(Serialize)]
        struct Shown<'a> {
            error: &'a str,
            code: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            hint: Option<String>,
            exit_code: u8,
        }
        let of_exit = match self.exit_code {
            USAGE => ErrorCode::InvalidArguments,
            NOT_REACHABLE => ErrorCode::DaemonUnreachable,
            REFUSED => ErrorCode::NotConfirmed,
            _ => ErrorCode::CommandFailed,
        };
        let shown = Shown {
            error: &self.in_words(),
            code: self.code.unwrap_or(of_exit).as_str(),
            hint: self.hint(),
            exit_code: self.exit_code,
        };
        let json = serde_json::to_string(&shown).unwrap_or_default();
        format!("{}\n", pretty_json::pretty(&json))
    }

    /// The same with what the person can do about it.
    pub(super) fn next(mut self, step: impl Into<String>) -> Self {
        self.next_step = Some(as_step(&step.into()));
        self
    }

    /// The same with this step, if there is one.
    pub(super) fn next_if(self, step: Option<String>) -> Self {
        match step {
            Some(step) => self.next(step),
            None => self,
        }
    }

    /// The same with this step, if it has none.
    pub(super) fn or_next(self, step: &str) -> Self {
        match self.next_step {
            Some(_) => self,
            None => self.next(step),
        }
    }
}

/// Says of an error what was not done because of it.
pub(super) trait OrUndone<T> {
    fn or_undone(self, outcome: &str) -> Done<T>;
}

impl<T, E: Into<CommandFailure>> OrUndone<T> for Result<T, E> {
    fn or_undone(self, outcome: &str) -> Done<T> {
        self.map_err(|error| error.into().undone(outcome))
    }
}

/// The path of this program, to start it again.
pub(super) fn own_program(found: io::Result<PathBuf>) -> Done<PathBuf> {
    found.map_err(|error| {
        let why = in_words(&error);
        CommandFailure::failed(format!("failed to find mcpproxy's own program: {why}"))
    })
}

impl From<DaemonError> for CommandFailure {
    fn from(error: DaemonError) -> Self {
        let what = &*error.to_string();
        let undone = |failure: Self, step: &str| failure.undone(UNDONE).next(step);
        let unreachable = |step: &str| undone(Self::not_reachable(what), step);
        match error {
            DaemonError::NotRunning(None) => Self::not_reachable(what).next("`mcpproxy start`"),
            DaemonError::NotSetUp => Self::not_reachable(what).next("`mcpproxy setup`"),
            DaemonError::Passing => Self::not_reachable(what).next("try again in a few seconds"),
            DaemonError::NotRunning(Some(_)) => Self::not_reachable(what)
                .next("correct the name, or create the file: `mcpproxy setup`"),
            DaemonError::OtherConfiguration { .. } => {
                let variable = env::var_os("MCPPROXY_CONFIG");
                let variable = variable.map_or("", |_| " (and $MCPPROXY_CONFIG)");
                unreachable(&format!(
                    "leave out --config{variable}, or name another data folder with --data-dir"
                ))
            }
            DaemonError::NoFolder(_) => undone(Self::failed(what), "name a folder with --data-dir"),
            DaemonError::TooLong(_) => undone(
                Self::failed(what),
                "choose a --data-dir with a shorter path",
            ),
            DaemonError::ClosedFolder(_) | DaemonError::OtherUser(_) => {
                unreachable("run this as its owner, or name a folder of your own with --data-dir")
            }
            DaemonError::Silent { pid: Some(pid), .. }
            | DaemonError::Unreachable { pid: Some(pid), .. } => unreachable(&format!(
                "try again; if it fails again, `kill -9 {pid}` ends that process"
            )),
            DaemonError::Silent { pid: None, .. } | DaemonError::Unreachable { pid: None, .. } => {
                unreachable("look at `mcpproxy logs`, then try again")
            }
            DaemonError::Refused(refusal) if refusal.code == Some(ErrorCode::UnknownPath) => {
                Self::failed(what).next(ONE_VERSION)
            }
            DaemonError::Refused(refusal) => Self {
                next_step: refusal.hint.as_deref().map(as_step),
                code: refusal.code,
                ..Self::with_code(what, refusal.code.map_or(FAILED, ErrorCode::exit_code))
            },
            DaemonError::TimedOut { .. } | DaemonError::Lost { .. } => {
                Self::failed(what).next("look at `mcpproxy logs`, then try again")
            }
            DaemonError::BadAnswer { .. } => Self::failed(what).next(ONE_VERSION),
        }
    }
}

impl From<ServeError> for CommandFailure {
    fn from(error: ServeError) -> Self {
        Self::failed(error.what()).next(error.next_step())
    }
}

impl From<DiskFault> for CommandFailure {
    fn from(fault: DiskFault) -> Self {
        Self::failed(fault.to_string()).next(fault.step())
    }
}

impl From<Failure> for CommandFailure {
    fn from(failure: Failure) -> Self {
        Self {
            next_step: Some(as_step(&failure.terminal_step())),
            code: Some(failure.code),
            ..Self::with_code(failure.error, failure.code.exit_code())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::CommandFailure;
    use crate::{
        daemon_client::DaemonError,
        failure::{ErrorCode, Failure, as_step},
    };

    #[test]
    fn a_next_step_begins_alike_whoever_wrote_it() {
        for (written, shown) in [
            (
                "Correct it; nothing was written.",
                "correct it; nothing was written",
            ),
            ("create the folder", "create the folder"),
            (
                "Nothing was removed. Take it out.",
                "nothing was removed. Take it out.",
            ),
            ("`mcpproxy doctor` says why.", "`mcpproxy doctor` says why"),
            (
                "GET /api/v1/servers lists them",
                "GET /api/v1/servers lists them",
            ),
            ("", ""),
        ] {
            assert_eq!(as_step(written), shown);
        }
        let failure = Failure::new(ErrorCode::Internal, "x", "set $HOME, or name the files");
        assert_eq!(failure.hint.for_people(), "Set $HOME, or name the files.");
        for (pid, step) in [
            (None, "look at `mcpproxy logs`, then try again"),
            (
                Some(7),
                "try again; if it fails again, `kill -9 7` ends that process",
            ),
        ] {
            let silent = CommandFailure::from(DaemonError::Silent { pid, seconds: 5 });
            assert_eq!(silent.next_step.as_deref(), Some(step));
        }
        let failure = CommandFailure::from(failure);
        assert_eq!(
            failure.next_step.as_deref(),
            Some("set $HOME, or name the files")
        );
    }
}
