//! Why the settings cannot be read from a file, and the next step.

use std::{
    collections::BTreeSet,
    io,
    path::{Path, PathBuf},
};

use super::{ConfigError, ConfigFinding};
use crate::{
    failure::NextStep,
    storage::{disk_remedy, in_words},
};

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
    #[error("the configuration {} is gone or empty", .0.display())]
    Gone(PathBuf),
    /// The same at a start, after a daemon with `serverAuth`: a blank file would let every client in.
    #[error("the configuration {} is gone or empty, and the last daemon with this data folder had `serverAuth`", .0.display())]
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
    pub fn next_step(&self) -> String {
        match self {
            Self::Unreadable { file, reason } => {
                let mendable = [io::ErrorKind::InvalidData, io::ErrorKind::PermissionDenied];
                let remedy = mendable.contains(&reason.kind());
                let remedy = remedy.then(|| disk_remedy(file, reason)).flatten();
                remedy.unwrap_or_else(|| "name a file that you can read with --config".to_owned())
            }
            Self::Unusable { .. } if self.missing_variables().next().is_some() => {
                let missing: BTreeSet<&str> = self.missing_variables().collect();
                NextStep::set_variables(missing)
            }
            Self::Unusable { reason, .. } if reason.is_of_own_variable() => {
                "correct the variable, or unset it".to_owned()
            }
            Self::Unusable { .. } => "correct the file: `mcpproxy config edit`".to_owned(),
            Self::Missing { .. } => {
                "correct the name, or create the file: `mcpproxy setup`".to_owned()
            }
            Self::Gone(_) => "put the file back".to_owned(),
            Self::WithoutServerAuth(_) => {
                "put the file back, or write `{}` into it to allow every client".to_owned()
            }
        }
    }
}

fn unusable(file: &Path, reason: &ConfigError) -> String {
    if reason.is_of_own_variable() {
        return reason.to_string();
    }
    let file = file.display();
    format!("the configuration {file} cannot be used: {reason}")
}
