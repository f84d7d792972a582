//! The kinds of definitions, and the reasons for which one is held. Pure.

use serde::{Deserialize, Serialize};

use crate::{text::spelt, trust::fingerprint::Fingerprint};

spelt! {
    /// The kind of thing that a definition describes.
    #[derive(
        Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
    )]
    #[serde(rename_all = "lowercase")]
    pub enum ThingKind {
        /// A tool.
        #[default]
        Tool = "tool",
        /// A prompt.
        Prompt = "prompt",
        /// A resource, by its URI.
        Resource = "resource",
        /// A resource template, by its URI template.
        Template = "template",
        /// The server's instructions. Their name is empty.
        Instructions = "instructions",
    }
}

impl ThingKind {
    /// Whether a changed definition of this kind is held. Of the other kinds only those are held to which the scanner objects.
    pub(super) fn is_pinned(self) -> bool {
        matches!(self, Self::Tool | Self::Instructions)
    }
}

spelt! {
    /// Why something is held.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum HoldReason {
        /// Its definition differs from the approved one.
        Changed = "changed",
        /// The scanner objects to it, and no person has approved it.
        #[serde(rename = "suspicious")]
        Objected = "suspicious",
        /// The server's approvals are lost.
        Unapproved = "unapproved",
        /// It is new, and new tools of its server are held.
        New = "new",
        /// It is new, and its name differs from that of an approved tool by case or separators only.
        Alike = "alike",
        /// The server lists more tools than are remembered.
        TooMany = "too_many",
        /// The lock file in force lacks it.
        NotLocked = "not_locked",
        /// The lock file in force has another definition of it.
        LockDiffers = "lock_differs",
    }
}

impl HoldReason {
    /// Whether the lock file holds it, so that nobody can approve it here.
    pub fn is_of_lock(self) -> bool {
        matches!(self, Self::NotLocked | Self::LockDiffers)
    }

    /// The reason in words that follow "it is held: ".
    pub fn explained(self, kind: ThingKind) -> &'static str {
        match self {
            Self::Changed if kind == ThingKind::Instructions => {
                "its instructions changed since they were approved"
            }
            Self::Changed => "its definition changed since it was approved",
            Self::Objected => "its definition looks dangerous and was never approved",
            Self::Unapproved => "its approval was lost",
            Self::New => "it is new and was never approved",
            Self::Alike => "it is new and has almost the name of an approved tool",
            Self::TooMany => "its server lists more tools than mcpproxy can remember",
            Self::NotLocked => "it is not in the lock file",
            Self::LockDiffers => "its definition differs from the one in the lock file",
        }
    }
}

/// The hold of a definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hold {
    /// The reason.
    pub reason: HoldReason,
    /// The fingerprint of the held definition.
    pub fingerprint: Fingerprint,
}
