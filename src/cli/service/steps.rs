//! The commands for a service manager (`systemctl`, `launchctl`), run with a deadline or shown to be typed.

use std::{fmt, io, process::Stdio, time::Duration};

use tokio::process::Command;

use super::{launchd, places::ServiceKind, systemd};
use crate::cli::{output::shell_word, platform};

/// `systemctl enable --now` waits for the daemon, which has a minute.
const DEADLINE: Duration = Duration::from_secs(90);

/// One command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Step {
    program: &'static str,
    arguments: Vec<String>,
}

/// The command as it is typed.
impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.program)?;
        let mut arguments = self.arguments.iter();
        arguments.try_for_each(|argument| write!(f, " {}", shell_word(argument)))
    }
}

impl Step {
    fn systemctl(arguments: &[&str]) -> Self {
        Self::new("systemctl", &[&["--user"], arguments].concat())
    }

    fn launchctl(arguments: &[&str]) -> Self {
        Self::new("launchctl", arguments)
    }

    fn new(program: &'static str, arguments: &[&str]) -> Self {
        Self {
            program,
            arguments: arguments.iter().map(|&text| text.to_owned()).collect(),
        }
    }

    /// Asks whether the service manager can be reached.
    pub(super) fn reach(kind: ServiceKind) -> Self {
        match kind {
            ServiceKind::Systemd => Self::systemctl(&["show-environment"]),
            ServiceKind::Launchd => Self::launchctl(&["print", &domain()]),
        }
    }

    /// Asks for the state of the service.
    pub(super) fn look(kind: ServiceKind) -> Self {
        const PROPERTIES: &str = "--property=ActiveState,SubState,Result,MainPID,NRestarts,UnitFileState,NeedDaemonReload";
        match kind {
            ServiceKind::Systemd => Self::systemctl(&["show", systemd::UNIT, PROPERTIES]),
            ServiceKind::Launchd => Self::launchctl(&["print", &service()]),
        }
    }

    /// The commands that have the service run from the next login on, and now if that is wanted.
    pub(super) fn begin(kind: ServiceKind, file: &str, start: StartNow) -> Vec<Self> {
        match kind {
            ServiceKind::Systemd => {
                let reload = Self::systemctl(&["daemon-reload"]);
                let enable = match start {
                    StartNow::Now => Self::systemctl(&["enable", "--now", systemd::UNIT]),
                    StartNow::No | StartNow::Anew => Self::systemctl(&["enable", systemd::UNIT]),
                };
                let again = (start == StartNow::Anew).then(|| Self::again(kind));
                [reload, enable].into_iter().chain(again).collect()
            }
            ServiceKind::Launchd => {
                let stop = Self::launchctl(&["bootout", &service()]);
                let enable = Self::launchctl(&["enable", &service()]);
                let load = Self::launchctl(&["bootstrap", &domain(), file]);
                match start {
                    StartNow::No => vec![enable],
                    StartNow::Now => vec![enable, load],
                    StartNow::Anew => vec![stop, enable, load],
                }
            }
        }
    }

    /// Restarts the service.
    pub(super) fn again(kind: ServiceKind) -> Self {
        match kind {
            ServiceKind::Systemd => Self::systemctl(&["restart", systemd::UNIT]),
            ServiceKind::Launchd => Self::launchctl(&["kickstart", "-k", &service()]),
        }
    }

    /// Stops the service, and does not start it at the next login.
    pub(super) fn end(kind: ServiceKind) -> Self {
        match kind {
            ServiceKind::Systemd => Self::systemctl(&["disable", "--now", systemd::UNIT]),
            ServiceKind::Launchd => Self::launchctl(&["bootout", &service()]),
        }
    }

    /// Has the manager notice that the file is gone.
    pub(super) fn forget(kind: ServiceKind) -> Option<Self> {
        match kind {
            ServiceKind::Systemd => Some(Self::systemctl(&["daemon-reload"])),
            ServiceKind::Launchd => None,
        }
    }

    /// Runs the command to its end, and gives its stdout, or the reason why it failed.
    pub(super) async fn run(&self) -> Result<String, String> {
        let mut command = Command::new(self.program);
        command
            .args(&self.arguments)
            .stdin(Stdio::null())
            .kill_on_drop(true);
        match tokio::time::timeout(DEADLINE, command.output()).await {
            Err(_) => Err(format!("no answer within {} s", DEADLINE.as_secs())),
            Ok(Err(error)) if error.kind() == io::ErrorKind::NotFound => {
                Err(format!("{} is not on PATH", self.program))
            }
            Ok(Err(error)) => Err(error.to_string()),
            Ok(Ok(ended)) if ended.status.success() => {
                Ok(String::from_utf8_lossy(&ended.stdout).into_owned())
            }
            Ok(Ok(ended)) => {
                let stderr = String::from_utf8_lossy(&ended.stderr);
                let last = stderr.lines().map(str::trim).rfind(|line| !line.is_empty());
                Err(last.map_or_else(|| ended.status.to_string(), str::to_owned))
            }
        }
    }
}

/// Whether the service starts now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StartNow {
    No,
    Now,
    /// It runs already, with another service file, and is restarted.
    Anew,
}

/// The domain of the user who is logged in.
fn domain() -> String {
    format!("gui/{}", platform::user_id())
}

fn service() -> String {
    format!("{}/{}", domain(), launchd::LABEL)
}

#[cfg(test)]
mod tests {
    use super::Step;

    #[test]
    fn a_step_is_shown_as_it_is_typed() {
        let step = Step::new("launchctl", &["bootstrap", "gui/501", "/Users/a b/it's"]);
        assert_eq!(
            step.to_string(),
            r"launchctl bootstrap gui/501 '/Users/a b/it'\''s'"
        );
    }
}
