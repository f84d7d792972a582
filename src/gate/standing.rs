//! The standing of a server by its entry: whether it is switched on, and whether a person has approved it. Outside the
//! configuration itself nobody else reads the two keys. Pure: needs no daemon.

use crate::{
    config::{BrokenEntry, NewTools, ServerEntry, Settings, ToolChanges},
    text::names::ServerName,
    trust::approvals::PinPolicy,
};

/// Whether a server may be used at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It may.
    Usable,
    /// It is switched off.
    Disabled,
    /// It waits for a person's approval: nothing of it is executed.
    Quarantined,
}

impl Standing {
    /// Whether it may be used.
    pub fn is_usable(self) -> bool {
        self == Self::Usable
    }
}

/// What an entry says under both keys, for listings. Nobody decides by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Switches {
    /// Whether the entry is switched on.
    pub enabled: bool,
    /// Whether it waits for approval.
    pub quarantined: bool,
}

/// Whether the server of this entry may be used.
pub fn standing(entry: &ServerEntry) -> Standing {
    match switches(entry) {
        Switches { enabled: false, .. } => Standing::Disabled,
        Switches {
            quarantined: true, ..
        } => Standing::Quarantined,
        _ => Standing::Usable,
    }
}

/// How the definitions of this entry's server are treated: what a server lists that may not be used is no baseline.
pub fn policy(settings: &Settings, entry: &ServerEntry) -> PinPolicy {
    if !standing(entry).is_usable() {
        return PinPolicy::Untrusted;
    }
    match (entry.tool_changes, holds_new(settings, entry)) {
        (ToolChanges::Hold, false) => PinPolicy::Hold,
        (ToolChanges::Hold, true) => PinPolicy::HoldNew,
        (ToolChanges::Allow, false) => PinPolicy::Allow,
        (ToolChanges::Allow, true) => PinPolicy::AllowChanges,
    }
}

/// Whether a tool that the server did not list before waits for a person.
pub(super) fn holds_new(settings: &Settings, entry: &ServerEntry) -> bool {
    entry.new_tools.unwrap_or(settings.new_tools) == NewTools::Hold
}

/// The same for each of these servers. One whose entry is broken may not be used.
pub fn policies(settings: &Settings, servers: &[ServerName]) -> Vec<(ServerName, PinPolicy)> {
    let policy = |name: &ServerName| {
        let entry = settings.servers.get(name);
        entry.map_or(PinPolicy::Untrusted, |entry| policy(settings, entry))
    };
    servers
        .iter()
        .map(|name| (name.clone(), policy(name)))
        .collect()
}

/// Whether the entry waits for approval, switched on or not.
pub fn awaits_approval(entry: &ServerEntry) -> bool {
    entry.quarantined
}

/// Whether the server of this name waits for approval, also where its entry cannot be used.
pub fn is_quarantined(settings: &Settings, name: &str) -> bool {
    match settings.servers.get(name) {
        Some(entry) => awaits_approval(entry),
        None => settings.broken_entry(name).is_some_and(is_held),
    }
}

/// Whether an entry that cannot be used waits for approval.
pub(super) fn is_held(broken: &BrokenEntry) -> bool {
    broken.quarantined
}

/// What the entry says, to be shown.
pub fn switches(entry: &ServerEntry) -> Switches {
    Switches {
        enabled: entry.enabled,
        quarantined: entry.quarantined,
    }
}
