//! The key `activity`: what the log of calls and changes keeps, and for how long.

use std::time::Duration;

use super::fields::{BadField, ObjectFields};

/// What the activity log keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActivitySettings {
    /// Records older than this are removed.
    pub max_age: Duration,
    /// More records than these are not kept; with none nothing is written to disk.
    pub max_records: usize,
    /// About how large its file may be, in megabytes.
    pub max_size_mb: usize,
    /// What is kept of the arguments of calls.
    pub arguments: Kept,
    /// What is kept of their results.
    pub results: Kept,
}

impl ActivitySettings {
    /// Whether records are kept at all.
    pub fn is_wanted(&self) -> bool {
        self.max_records > 0
    }
}

/// What the activity log keeps of what was sent or answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// Nothing but its size.
    Off,
    /// Values without what looks like a credential, long ones cut.
    Redacted,
    /// Values as they are, but for the secrets of the configuration, up to a limit.
    Full,
}

const KEYS: &[&str] = &[
    "max_age",
    "max_records",
    "max_size_mb",
    "arguments",
    "results",
];

const WORDS: [(&str, Kept); 3] = [
    ("off", Kept::Off),
    ("redacted", Kept::Redacted),
    ("full", Kept::Full),
];

/// Limit: a shorter age is somebody's mistake.
const SHORTEST: Duration = Duration::from_mins(1);

/// Limit: with more records a search through them takes too long.
const MOST_RECORDS: usize = 10_000_000;

/// Limit: an empty file takes a part of the smallest size.
const SIZES: std::ops::RangeInclusive<usize> = 8..=100_000;

impl Default for ActivitySettings {
    fn default() -> Self {
        Self {
            max_age: Duration::from_hours(90 * 24),
            max_records: 100_000,
            max_size_mb: 256,
            arguments: Kept::Redacted,
            results: Kept::Off,
        }
    }
}

/// Reads the object; warnings about keys that it does not have go to `warnings`.
pub(super) fn read(
    fields: &mut ObjectFields<'_>,
    warnings: &mut Vec<String>,
) -> Result<ActivitySettings, BadField> {
    let mut settings = ActivitySettings::default();
    if let Some(age) = fields.duration("max_age", SHORTEST)? {
        settings.max_age = age;
    }
    if let Some(count) = fields.count("max_records", 0..=MOST_RECORDS)? {
        settings.max_records = count;
    }
    if let Some(size) = fields.count("max_size_mb", SIZES)? {
        settings.max_size_mb = size;
    }
    if let Some(kept) = fields.choice("arguments", &WORDS)? {
        settings.arguments = kept;
    }
    if let Some(kept) = fields.choice("results", &WORDS)? {
        settings.results = kept;
    }
    warnings.extend(fields.unknown(KEYS));
    Ok(settings)
}
