//! Why a daemon does not serve: what failed, and what to do about it.

use std::{io, path::Path};

use crate::{failure::ErrorCode, storage};

/// Why the daemon does not run.
#[derive(Debug, thiserror::Error)]
#[error("{}{what}", self.outcome())]
pub struct ServeError {
    kind: ServeErrorKind,
    what: String,
    step: String,
}

/// Why a daemon does not serve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ServeErrorKind {
    /// A flag makes no sense.
    Usage,
    /// Another daemon has the data folder.
    Taken,
    /// The configuration cannot be used.
    Config,
    /// Everything else that keeps it from starting.
    Failed,
    /// It served, and serves no more.
    Ended,
}

impl ServeError {
    /// The exit code of the command line.
    pub fn exit_code(&self) -> u8 {
        if self.kind == ServeErrorKind::Usage {
            2
        } else {
            1
        }
    }

    /// The code of the failure.
    pub fn code(&self) -> ErrorCode {
        match self.kind {
            ServeErrorKind::Config => ErrorCode::ConfigUnusable,
            _ => ErrorCode::Internal,
        }
    }

    /// Whether another daemon has the data folder.
    pub fn is_taken(&self) -> bool {
        self.kind == ServeErrorKind::Taken
    }

    /// What failed, without what became of the daemon.
    pub fn what(&self) -> &str {
        &self.what
    }

    /// The next step.
    pub fn next_step(&self) -> &str {
        &self.step
    }

    fn outcome(&self) -> &'static str {
        match self.kind {
            ServeErrorKind::Ended => "",
            _ => "the daemon was not started: ",
        }
    }

    /// An error of this kind: what failed, and what to do about it.
    pub(super) fn new(
        kind: ServeErrorKind,
        what: impl Into<String>,
        step: impl Into<String>,
    ) -> Self {
        let (what, step) = (what.into(), step.into());
        Self { kind, what, step }
    }

    /// A flag makes no sense, and what would.
    pub fn usage(what: impl Into<String>, step: impl Into<String>) -> Self {
        Self::new(ServeErrorKind::Usage, what, step)
    }

    /// What failed, and what to do about it.
    pub fn failed(what: impl Into<String>, step: impl Into<String>) -> Self {
        Self::new(ServeErrorKind::Failed, what, step)
    }

    /// Something that has to be done with the data folder, at this path, failed.
    pub(super) fn in_folder(doing: &str, path: &Path, error: &io::Error) -> Self {
        let step = if let Some(remedy) = storage::disk_remedy(path, error) {
            format!("{remedy}, or choose another data folder with --data-dir")
        } else {
            let place = storage::nearest(path).display();
            format!("choose a data folder outside of {place} with --data-dir")
        };
        let why = storage::in_words_beside(path, error);
        Self::failed(format!("{doing}: {why}"), step)
    }
}
