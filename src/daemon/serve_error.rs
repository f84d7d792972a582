//! Why a daemon does not serve: what failed, and what to do about it.

use std::{error::Error, fmt};

/// Why the daemon does not run.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// A flag makes no sense.
    #[error("{0}")]
    Usage(Unserved),
    /// Another daemon has the data folder.
    #[error("{0}")]
    Taken(Unserved),
    /// Everything else.
    #[error("{0}")]
    Failed(Unserved),
}

/// What keeps a daemon from serving.
#[derive(Debug)]
pub struct Unserved {
    what: String,
    step: String,
}

impl fmt::Display for Unserved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl ServeError {
    /// The exit code of the command line.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            Self::Taken(_) | Self::Failed(_) => 1,
        }
    }

    /// What to do about it.
    pub fn next_step(&self) -> &str {
        match self {
            Self::Usage(why) | Self::Taken(why) | Self::Failed(why) => &why.step,
        }
    }

    /// A flag makes no sense, and what would.
    pub fn usage(what: impl Into<String>, step: impl Into<String>) -> Self {
        let (what, step) = (what.into(), step.into());
        Self::Usage(Unserved { what, step })
    }

    /// Another daemon has the data folder, and what can be done instead.
    pub fn taken(what: impl Into<String>, step: impl Into<String>) -> Self {
        let (what, step) = (what.into(), step.into());
        Self::Taken(Unserved { what, step })
    }

    /// What failed, and what to do about it.
    pub fn failed(what: impl Into<String>, step: impl Into<String>) -> Self {
        let (what, step) = (what.into(), step.into());
        Self::Failed(Unserved { what, step })
    }

    /// Something that has to be done with the data folder failed.
    pub(super) fn in_folder(doing: &str, error: &dyn Error) -> Self {
        let source = error.source();
        let source = source.map(|source| format!(": {source}"));
        Self::failed(
            format!("{doing}: {error}{}", source.unwrap_or_default()),
            "see who may write to it and whether the disk is full, or give another folder with --data-dir",
        )
    }
}
