//! Why the file of the log cannot be opened, written or read.

use std::panic::{self, AssertUnwindSafe};

/// Why the file cannot be opened.
#[derive(Debug, thiserror::Error)]
pub(super) enum FileError {
    /// Another process has it.
    #[error("another process has it open")]
    InUse,
    /// Its format is newer than this version.
    #[error("a newer mcpproxy wrote it (format {0}); update, or move the file away")]
    Newer(u64),
    /// Its content makes no sense.
    #[error("it is damaged: {0}")]
    Damaged(String),
    /// The system refuses.
    #[error("{0}")]
    Io(String),
}

/// Why the open file cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub(super) enum StoreError {
    /// Its content makes no sense.
    #[error("it is damaged: {0}")]
    Damaged(String),
    /// The system refuses, or the disk is full.
    #[error("{0}")]
    Io(String),
    /// It was removed, or another file is in its place.
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

/// Translates an error that came while the file was opened.
pub(super) fn opened(error: StoreError) -> FileError {
    match error {
        StoreError::Damaged(why) => FileError::Damaged(why),
        StoreError::Io(why) => FileError::Io(why),
        removed @ StoreError::Removed => FileError::Io(removed.to_string()),
    }
}

/// Runs work on the file, and reports a panic as damage: redb may panic on damaged content.
pub(super) fn whole<T, E>(
    work: impl FnOnce() -> Result<T, E>,
    damaged: impl FnOnce(String) -> E,
) -> Result<T, E> {
    let fault = "it failed with an internal fault";
    // Unwind safe, because after a panic the file is closed and set aside.
    let worked = panic::catch_unwind(AssertUnwindSafe(work));
    worked.unwrap_or_else(|_| Err(damaged(fault.to_owned())))
}
