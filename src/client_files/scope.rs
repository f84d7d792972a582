//! Whom a file of a client is for.

use std::path::PathBuf;

/// Whom a file is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// The person.
    User,
    /// The project in this folder.
    Project(PathBuf),
}
