//! The key `activity`: what the log of calls and changes keeps, and for how long.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the activity log keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActivitySettings {
    /// Records older than this are removed.
    pub max_age: Duration,
    /// More records than these are not kept; with none nothing is written to disk.
    pub max_records: usize,
    /// About how large its file may be, in megabytes.
    pub max_size_mb: usize,
    /// How the arguments of calls are recorded.
    pub arguments: Kept,
    /// How the results of calls are recorded.
    pub results: Kept,
}

impl ActivitySettings {
    /// Whether records are kept at all.
    pub fn is_wanted(&self) -> bool {
        self.max_records > 0
    }
}

/// How much of a call's arguments or result the activity log keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Kept {
    /// Only their size.
    Off,
    /// The values; what looks like a credential is masked, and long values are cut.
    #[default]
    Redacted,
    /// The values up to a limit; only secrets of the configuration are masked.
    Full,
}
