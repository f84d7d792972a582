//! The keys of an entry that decide whether its server may be used: `enabled`, `disabled`, `quarantined` and `changed_by`. They are read
//! first, because the references of an entry that may not be used are not resolved.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::server_entry::{Author, ServerEntry};

/// The values of these keys.
#[derive(Clone, Copy)]
pub(super) struct EntrySwitches {
    pub(super) enabled: bool,
    pub(super) quarantined: bool,
    pub(super) changed_by: Author,
}

/// The keys as they are written.
#[derive(Deserialize)]
struct RawSwitches {
    enabled: Option<bool>,
    disabled: Option<bool>,
    quarantined: Option<bool>,
    changed_by: Option<Author>,
}

impl EntrySwitches {
    /// Reads the keys; nothing where one of them is wrong, or two contradict each other.
    pub(super) fn read(entry: &Map<String, Value>) -> Option<Self> {
        let raw = RawSwitches::deserialize(entry).ok()?;
        // An absent key is a person's entry; a null could hide that an agent wrote it.
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

    /// Whether the references of the entry are resolved, and its server may be started or contacted. A disabled server needs no variables
    /// and no secrets; what an agent added or changed must not get any before a person has approved it.
    pub(super) fn may_be_used(self) -> bool {
        self.enabled && !(self.quarantined && self.changed_by == Author::Agent)
    }
}

impl ServerEntry {
    /// Whether the server may be started or contacted at all, be it for listing only.
    pub fn may_be_contacted(&self) -> bool {
        let switches = EntrySwitches {
            enabled: self.enabled,
            quarantined: self.quarantined,
            changed_by: self.changed_by,
        };
        switches.may_be_used()
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

    /// Its value in an entry, or its default; nothing where one of the keys is wrong, or two contradict each other.
    pub fn written(self, entry: &Map<String, Value>) -> Option<bool> {
        let switches = EntrySwitches::read(entry)?;
        Some(match self {
            Self::Enabled => switches.enabled,
            Self::Quarantined => switches.quarantined,
        })
    }
}
