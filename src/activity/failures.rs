//! Why the file of the log cannot be opened, written or read.

use std::{
    io,
    panic::{self, AssertUnwindSafe},
    path::Path,
};

use crate::storage::{disk_step, in_words};

/// The step for a damaged file: the next daemon puts it away.
const AFTER_DAMAGE: &str = "`mcpproxy restart` sets it aside and begins a new one";

/// The step after an error whose cause is not known.
pub(super) const CHECK_DISK: &str = "check the disk of the data folder, then `mcpproxy restart`";

/// Why the file cannot be opened.
#[derive(Debug, thiserror::Error)]
pub(super) enum FileError {
    /// Another process has it.
    #[error("another process has it open")]
    InUse,
    /// Its format is newer than this version.
    #[error("a newer mcpproxy wrote it (format {0})")]
    Newer(u64),
    /// Its content makes no sense.
    #[error("it is damaged: {0}")]
    Damaged(String),
    /// The system refuses.
    #[error("{}", in_words(.0))]
    Io(io::Error),
}

impl FileError {
    /// What to do about this file.
    pub(super) fn step(&self, file: &Path) -> String {
        match self {
            Self::InUse => "end that process, then try again".to_owned(),
            Self::Newer(_) => format!("update mcpproxy, or move {} away", file.display()),
            Self::Damaged(_) => AFTER_DAMAGE.to_owned(),
            Self::Io(error) if error.kind() == io::ErrorKind::Other => CHECK_DISK.to_owned(),
            Self::Io(error) => disk_step(file, error),
        }
    }
}

/// Why the open file cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub(super) enum StoreError {
    /// Its content makes no sense.
    #[error("it is damaged: {0}")]
    Damaged(String),
    /// The system refuses, or the disk is full.
    #[error("{}", in_words(.0))]
    Io(io::Error),
    /// It was removed, or another file is in its place.
    #[error("it was removed")]
    Removed,
}

impl StoreError {
    pub(super) fn of(error: impl Into<redb::Error>) -> Self {
        match error.into() {
            redb::Error::Corrupted(why) => Self::Damaged(why),
            redb::Error::TableTypeMismatch { table, .. } | redb::Error::TableIsMultimap(table) => {
                Self::Damaged(format!("the table {table:?} has the wrong type"))
            }
            redb::Error::Io(error) => Self::Io(error),
            other => Self::Io(io::Error::other(other.to_string())),
        }
    }

    /// What to do about the file, which could be opened.
    pub(super) fn step(&self) -> &'static str {
        match self {
            Self::Damaged(_) | Self::Removed => AFTER_DAMAGE,
            Self::Io(_) => CHECK_DISK,
        }
    }
}

/// Translates an error that came while the file was opened.
pub(super) fn opened(error: StoreError) -> FileError {
    match error {
        StoreError::Damaged(why) => FileError::Damaged(why),
        StoreError::Io(error) => FileError::Io(error),
        removed @ StoreError::Removed => FileError::Io(io::Error::other(removed.to_string())),
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
