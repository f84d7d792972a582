//! Why a daemon does not serve: what failed, and what to do about it.

use std::{error::Error, fmt, io};

use crate::storage;

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
    pub(super) fn in_folder(doing: &str, error: &(dyn Error + 'static)) -> Self {
        let own = (!error.is::<io::Error>()).then(|| error.to_string());
        let system = match own {
            Some(_) => error.source(),
            None => Some(error),
        };
        let system = system.and_then(|error| error.downcast_ref());
        let step = system
            .map_or("try again", storage::disk_step)
            .trim_end_matches(", then try again");
        let words: Vec<String> = own
            .into_iter()
            .chain(system.map(storage::in_words))
            .collect();
        Self::failed(
            format!("{doing}: {}", words.join(": ")),
            format!("{step}, or choose another with --data-dir"),
        )
    }
}
