//! What the entry of a server says of its use: whether it is switched on, and whether a person has approved it. Outside the
//! configuration itself nobody else reads the two keys. Pure: needs no daemon.

use crate::config::ServerEntry;

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

/// What the entry says, to be shown.
pub fn switches(entry: &ServerEntry) -> Switches {
    Switches {
        enabled: entry.enabled,
        quarantined: entry.quarantined,
    }
}
