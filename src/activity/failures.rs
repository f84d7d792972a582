//! Why the file of the log cannot be opened, written or read.

use std::panic::{self, AssertUnwindSafe};

/// Why there is no file to write to.
#[derive(Debug, thiserror::Error)]
pub(super) enum FileError {
    /// Another process has it.
    #[error("another process has it open")]
    InUse,
    /// It is of a version that we do not know.
    #[error("a newer mcpproxy wrote it (format {0}); update, or move the file away")]
    Newer(u64),
    /// Its content makes no sense.
    #[error("it is damaged: {0}")]
    Damaged(String),
    /// The disk said no.
    #[error("{0}")]
    Io(String),
}

/// Why nothing was written or read.
#[derive(Debug, thiserror::Error)]
pub(super) enum StoreError {
    /// Its content makes no sense.
    #[error("it is damaged: {0}")]
    Damaged(String),
    /// The disk said no, or is full.
    #[error("{0}")]
    Io(String),
    /// Somebody removed it or put another one in its place.
    #[error("it was removed")]
    Removed,
}

impl StoreError {
    pub(super) fn of(error: impl Into<redb::Error>) -> Self {
        match error.into() {
            redb::Error::Corrupted(why) => Self::Damaged(why),
            redb::Error::TableTypeMismatch { table, .. } | redb::Error::TableIsMultimap(table) => {
                Self::Damaged(format!("the table {table:?} is of another type"))
            }
            other => Self::Io(other.to_string()),
        }
    }
}

/// The same where the file was being opened.
pub(super) fn opened(error: StoreError) -> FileError {
    match error {
        StoreError::Damaged(why) => FileError::Damaged(why),
        StoreError::Io(why) => FileError::Io(why),
        removed @ StoreError::Removed => FileError::Io(removed.to_string()),
    }
}

/// Works on the file. Content that makes no sense may end in a fault of the library.
pub(super) fn whole<T, E>(
    work: impl FnOnce() -> Result<T, E>,
    damaged: impl FnOnce(String) -> E,
) -> Result<T, E> {
    let fault = "it failed with an internal fault";
    // What is worked on is let go then: the file is closed, and records that wait are written to another one.
    let worked = panic::catch_unwind(AssertUnwindSafe(work));
    worked.unwrap_or_else(|_| Err(damaged(fault.to_owned())))
}
