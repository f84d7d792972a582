//! Why the settings cannot be read from a file, and the next step.

use std::{
    collections::BTreeSet,
    io,
    path::{Path, PathBuf},
};

use super::{ConfigError, ConfigFinding};
use crate::{
    failure::{Failure, NextStep},
    storage::{disk_remedy, in_words},
};

/// The step where the file has lost its text.
pub const RESTORE: &str =
    "restore it from a backup, or write `{}` into it to continue without servers";

/// Why the settings cannot be read from a file.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// It cannot be read.
    #[error("failed to read the configuration {}: {}", file.display(), in_words(reason))]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// The error of the system.
        reason: io::Error,
    },
    /// It has mistakes.
    #[error("{}", unusable(file, reason))]
    Unusable {
        /// The file.
        file: PathBuf,
        /// The mistakes.
        reason: ConfigError,
    },
    /// A file that was named does not exist. Defaults would be dangerous: it may have had access control.
    #[error("there is no file {}, which {by} names", file.display())]
    Missing {
        /// The file.
        file: PathBuf,
        /// What names it, `$MCPPROXY_CONFIG` for example.
        by: &'static str,
    },
    /// It is blank now, and was not before.
    #[error("{}", lost(.0))]
    Gone(PathBuf),
    /// The same at a start, after a daemon with `serverAuth`: a blank file would let every client in.
    #[error("{}, and the last daemon with this data folder had `serverAuth`", lost(.0))]
    WithoutServerAuth(PathBuf),
}

impl LoadError {
    /// The missing variables without which the file as a whole cannot be used.
    pub fn missing_variables(&self) -> impl Iterator<Item = &str> {
        let findings: &[ConfigFinding] = match self {
            Self::Unusable { reason, .. } => reason.findings(),
            _ => &[],
        };
        findings.iter().filter_map(ConfigFinding::missing_variable)
    }

    /// The next step.
    pub fn next_step(&self) -> NextStep {
        match self {
            Self::Unreadable { file, reason } => {
                let mendable = [io::ErrorKind::InvalidData, io::ErrorKind::PermissionDenied];
                let remedy = mendable.contains(&reason.kind());
                let remedy = remedy.then(|| disk_remedy(file, reason)).flatten();
                let remedy = remedy
                    .unwrap_or_else(|| "name a file that you can read with --config".to_owned());
                NextStep::act(remedy).for_all()
            }
            Self::Unusable { reason, .. } if reason.is_of_own_variable() => {
                NextStep::act("correct the variable, or unset it").for_all()
            }
            // Nothing else is wrong; a wrong syntax has no findings.
            Self::Unusable { reason, .. }
                if self.missing_variables().count() == reason.findings().len().max(1) =>
            {
                let missing: BTreeSet<&str> = self.missing_variables().collect();
                let names = missing.iter().copied().collect::<Vec<_>>().join(", ");
                let request =
                    format!("Set {names} in the daemon's environment, then restart the daemon.");
                NextStep::act(NextStep::set_variables(missing)).or_request(request)
            }
            Self::Unusable { .. } => NextStep::CheckConfig,
            Self::Missing { .. } => {
                NextStep::act("correct the name, or create the file: `mcpproxy setup`")
                    .or_request("Correct the name, or create the file.")
            }
            Self::Gone(_) => NextStep::act(RESTORE).for_all(),
            Self::WithoutServerAuth(_) => {
                let how = "put the file back, or write `{}` into it to allow every client";
                NextStep::act(how).for_all()
            }
        }
    }

    /// The failure of what needs the file.
    pub fn failure(&self) -> Failure {
        Failure::of_config(self.to_string()).with_step(self.next_step())
    }
}

/// Says of a file that it has lost its text.
pub(super) fn lost(file: &Path) -> String {
    let what = if file.exists() { "empty" } else { "gone" };
    format!("the configuration {} is {what}", file.display())
}

fn unusable(file: &Path, reason: &ConfigError) -> String {
    if reason.is_of_own_variable() {
        return reason.to_string();
    }
    let file = file.display();
    format!("the configuration {file} cannot be used: {reason}")
}
