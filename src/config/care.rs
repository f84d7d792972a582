//! How carefully a key of the top level is read: what guards something must not be lost by a slip.

use super::document::{SERVER_AUTH, SERVERS};

/// The key of the lock file.
pub(super) const LOCK_FILE: &str = "lock_file";

/// The keys that guard something, and that of the servers, of which two would be mixed.
pub(super) const GUARDS: &[&str] = &[
    LOCK_FILE,
    SERVERS,
    "profiles",
    "docker_isolation",
    "management",
    "read_only_mode",
    "disable_management",
    "rate_limit",
    "environment",
    "require_mcp_auth",
];

/// How a value is read.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Care {
    /// A null and an empty text are absent keys, and of doubled keys the last one counts.
    Lenient,
    /// Each of them is a fault.
    Guard,
    /// Keys that are unknown may be secrets, too.
    Secret,
}

impl Care {
    /// For what stands at this key of the top level.
    pub(super) fn of(key: &str) -> Self {
        match key {
            SERVER_AUTH => Self::Secret,
            key if GUARDS.contains(&key) => Self::Guard,
            _ => Self::Lenient,
        }
    }
}
