//! What switches the entry of a server, and who has to look at it: read first, because it decides whether the rest is resolved.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::server_entry::Author;

/// What switches an entry, and who has to look at it.
#[derive(Clone, Copy)]
pub(super) struct EntrySwitches {
    pub(super) enabled: bool,
    pub(super) quarantined: bool,
    pub(super) changed_by: Author,
}

/// The same as it is written.
#[derive(Deserialize)]
struct RawSwitches {
    enabled: Option<bool>,
    disabled: Option<bool>,
    quarantined: Option<bool>,
    changed_by: Option<Author>,
}

impl EntrySwitches {
    /// Nothing where one of them cannot be read.
    pub(super) fn read(entry: &Map<String, Value>) -> Option<Self> {
        let raw = RawSwitches::deserialize(entry).ok()?;
        // Who wrote it is not left open by half.
        if entry.get("changed_by").is_some_and(Value::is_null) {
            return None;
        }
        let enabled = match (raw.enabled, raw.disabled) {
            (Some(enabled), Some(disabled)) if enabled == disabled => return None,
            (Some(enabled), _) => enabled,
            (None, disabled) => !disabled.unwrap_or(false),
        };
        Some(Self {
            enabled,
            quarantined: raw.quarantined.unwrap_or(false),
            changed_by: raw.changed_by.unwrap_or_default(),
        })
    }

    /// An entry that will not be used is not resolved: a disabled server needs no variables and no secrets, and what an agent wrote
    /// must not reach for them before a person has agreed.
    pub(super) fn let_it_be_used(self) -> bool {
        self.enabled && !(self.quarantined && self.changed_by == Author::Agent)
    }
}

/// A key that switches an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryFlag {
    /// `enabled`.
    Enabled,
    /// `quarantined`.
    Quarantined,
}

impl EntryFlag {
    /// The key.
    pub fn key(self) -> &'static str {
        match self {
            Self::Enabled => "enabled",
            Self::Quarantined => "quarantined",
        }
    }

    /// What an entry says, or leaves to the default; nothing where it cannot be read.
    pub fn written(self, entry: &Map<String, Value>) -> Option<bool> {
        let switches = EntrySwitches::read(entry)?;
        Some(match self {
            Self::Enabled => switches.enabled,
            Self::Quarantined => switches.quarantined,
        })
    }
}
