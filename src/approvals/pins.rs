//! What is held of one server now, as decisions read it: a table for each kind of thing.

use std::{collections::HashMap, sync::Arc};

use super::Ledger;
use crate::fingerprint::Fingerprint;

/// What a definition is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A tool.
    Tool,
    /// A prompt.
    Prompt,
    /// A resource, by its URI.
    Resource,
    /// A resource template, by its URI template.
    Template,
    /// What the server says of itself. There is one, without a name.
    Instructions,
}

impl Kind {
    /// Every kind there is.
    pub const ALL: [Self; 5] = [
        Self::Tool,
        Self::Prompt,
        Self::Resource,
        Self::Template,
        Self::Instructions,
    ];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Prompt => "prompt",
            Self::Resource => "resource",
            Self::Template => "template",
            Self::Instructions => "instructions",
        }
    }

    /// Reads [`Kind::as_str`] back.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }
}

/// Why something is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HoldReason {
    /// Its definition is another than the approved one.
    Changed,
    /// The scanner objects, and nobody has approved it.
    Objected,
    /// Which definitions were approved is lost.
    Unapproved,
    /// It is new, and its name differs from that of an approved tool by case or separators only.
    Alike,
    /// The server lists more tools than are remembered.
    TooMany,
    /// The lock file in force does not have this definition.
    NotLocked,
}

impl HoldReason {
    /// Every reason there is.
    pub const ALL: [Self; 6] = [
        Self::Changed,
        Self::Objected,
        Self::Unapproved,
        Self::Alike,
        Self::TooMany,
        Self::NotLocked,
    ];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::Objected => "suspicious",
            Self::Unapproved => "unapproved",
            Self::Alike => "alike",
            Self::TooMany => "too_many",
            Self::NotLocked => "not_locked",
        }
    }

    /// Reads [`HoldReason::as_str`] back.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.as_str() == text)
    }

    /// The reason in words that follow "it is held: ".
    pub fn explained(self) -> &'static str {
        match self {
            Self::Changed => "its definition changed since it was approved",
            Self::Objected => "its definition looks dangerous, and nobody has approved it",
            Self::Unapproved => {
                "the record of what was approved is lost, and nobody has approved it anew"
            }
            Self::Alike => "it is new and has almost the name of an approved tool",
            Self::TooMany => "its server lists more tools than are remembered",
            Self::NotLocked => "its definition is not in the lock file",
        }
    }
}

/// Something that is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hold {
    /// Why.
    pub reason: HoldReason,
    /// The definition that is held.
    pub fingerprint: Fingerprint,
}

/// What is held of one server, and the ledger that says so. Immutable.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Pins {
    pub(super) held: [HashMap<Box<str>, Hold>; Kind::ALL.len()],
    /// What was approved, and since when what is held.
    pub ledger: Arc<Ledger>,
    /// Whether nothing of the server is executed now, so that none of its texts is searched.
    pub is_untrusted: bool,
}

impl Pins {
    /// Why something is held; `None` if it is not.
    pub fn hold(&self, kind: Kind, name: &str) -> Option<&Hold> {
        self.held.get(kind as usize)?.get(name)
    }

    /// How many tools are held.
    pub fn held_tools(&self) -> usize {
        self.held.first().map_or(0, HashMap::len)
    }

    /// How many things are held, tools among them.
    pub fn held_things(&self) -> usize {
        self.held.iter().map(HashMap::len).sum()
    }

    pub(super) fn add(&mut self, kind: Kind, name: &str, hold: Hold) {
        if let Some(held) = self.held.get_mut(kind as usize) {
            held.insert(name.into(), hold);
        }
    }
}
