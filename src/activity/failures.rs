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

/// Why the file cannot be opened, written or read.
#[derive(Debug, thiserror::Error)]
pub(super) enum StoreError {
    /// Another process has it.
    #[error("another process has it open")]
    InUse,
    /// Its format is newer than this version.
    #[error("a newer mcpproxy wrote it (format {0})")]
    Newer(u64),
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

    /// What to do about this file.
    pub(super) fn step(&self, file: &Path) -> String {
        match self {
            Self::InUse => {
                let file = file.display();
                format!("end that process (`fuser {file}` shows it), then try again")
            }
            Self::Newer(_) => format!("update mcpproxy, or move {} away", file.display()),
            Self::Damaged(_) | Self::Removed => AFTER_DAMAGE.to_owned(),
            Self::Io(error) if error.kind() == io::ErrorKind::Other => CHECK_DISK.to_owned(),
            Self::Io(error) => disk_step(file, error),
        }
    }

    /// What to do about the file, which could be opened.
    pub(super) fn step_while_open(&self) -> &'static str {
        match self {
            Self::Io(_) => CHECK_DISK,
            _ => AFTER_DAMAGE,
        }
    }
}

/// Runs work on the file, and reports a panic as damage: redb may panic on damaged content.
pub(super) fn whole<T>(work: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
    let fault = "it failed with an internal fault";
    // Unwind safe, because after a panic the file is closed and set aside.
    let worked = panic::catch_unwind(AssertUnwindSafe(work));
    worked.unwrap_or_else(|_| Err(StoreError::Damaged(fault.to_owned())))
}
