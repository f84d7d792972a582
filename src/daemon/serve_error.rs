//! Why a daemon does not serve: what failed, and what to do about it.

use std::{error::Error, io, path::Path};

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
    pub(super) fn in_folder(doing: &str, path: &Path, error: &(dyn Error + 'static)) -> Self {
        let own = (!error.is::<io::Error>()).then(|| error.to_string());
        let system = match own {
            Some(_) => error.source(),
            None => Some(error),
        };
        let system = system.and_then(|error| error.downcast_ref());
        let remedy = system.map(|error| storage::disk_remedy(path, error));
        let step = match remedy {
            None => "try again, or choose another data folder with --data-dir".to_owned(),
            Some(Some(remedy)) => {
                format!("{remedy}, or choose another data folder with --data-dir")
            }
            Some(None) => {
                let place = storage::nearest(path).display();
                format!("choose a data folder outside of {place} with --data-dir")
            }
        };
        let words: Vec<String> = own
            .into_iter()
            .chain(system.map(|error| storage::in_words_beside(path, error)))
            .collect();
        Self::failed(format!("{doing}: {}", words.join(": ")), step)
    }
}
