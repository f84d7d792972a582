//! How strictly the keys of the top level are read: a typing error must not disable a key that protects something.

use super::document::{SERVER_AUTH, SERVERS};

/// The key of the lock file.
pub(super) const LOCK_FILE: &str = "lock_file";

/// The keys that protect something, and `mcpServers`, because the servers of two such keys would be mixed.
pub(super) const TOP_LEVEL_GUARDS: &[&str] = &[
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

/// How strictly a value is read.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Care {
    /// A null and an empty text count as an absent key, and of repeated keys the last one counts.
    Lenient,
    /// A null, an empty text and a repeated key are mistakes.
    Guard,
    /// As `Guard`, and unknown keys are not shown, because they may be secrets.
    Secret,
}

impl Care {
    /// For the value of this key of the top level.
    pub(super) fn of(key: &str) -> Self {
        match key {
            SERVER_AUTH => Self::Secret,
            key if TOP_LEVEL_GUARDS.contains(&key) => Self::Guard,
            _ => Self::Lenient,
        }
    }
}
