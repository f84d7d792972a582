//! What switches the entry of a server, and who has to look at it: read first, because it decides whether the rest is resolved.

use serde_json::{Map, Value};

use super::{
    fields::{BadField, ObjectFields},
    server_entry::Author,
};

/// What switches an entry, and who has to look at it.
#[derive(Clone, Copy)]
pub(super) struct EntrySwitches {
    pub(super) enabled: bool,
    pub(super) quarantined: bool,
    pub(super) changed_by: Author,
}

impl EntrySwitches {
    pub(super) fn read(entry: &Map<String, Value>) -> Result<Self, BadField> {
        let mut fields = ObjectFields::new(entry.clone(), None);
        let enabled = read_enabled(&mut fields)?;
        let quarantined = fields.flag("quarantined")?.unwrap_or(false);
        if fields.peek("changed_by").is_some_and(says_nothing) {
            return Err(fields.bad("changed_by", "must be \"person\" or \"agent\""));
        }
        let authors = [("person", Author::Person), ("agent", Author::Agent)];
        let changed_by = fields.choice("changed_by", &authors)?;
        Ok(Self {
            enabled,
            quarantined,
            changed_by: changed_by.unwrap_or(Author::Person),
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
        let switches = EntrySwitches::read(entry).ok()?;
        Some(match self {
            Self::Enabled => switches.enabled,
            Self::Quarantined => switches.quarantined,
        })
    }
}

/// Whether a value is one of those that count as absent.
fn says_nothing(value: &Value) -> bool {
    value.is_null() || value.as_str().is_some_and(str::is_empty)
}

fn read_enabled(fields: &mut ObjectFields<'_>) -> Result<bool, BadField> {
    match (fields.flag("enabled")?, fields.flag("disabled")?) {
        (Some(enabled), Some(disabled)) if enabled == disabled => {
            Err(fields.bad("disabled", "contradicts `enabled`"))
        }
        (Some(enabled), _) => Ok(enabled),
        (None, disabled) => Ok(!disabled.unwrap_or(false)),
    }
}
