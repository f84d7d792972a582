//! Which of the lists a new snapshot changed, for those who tell clients.

use std::ops::BitOr;

use super::{Listing, ServerCatalog};
use crate::{link::ClientKey, text::names::ServerName, wire::Raw};

/// What a new snapshot changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Difference {
    /// The tools are others.
    pub tools: bool,
    /// The prompts are others.
    pub prompts: bool,
    /// Resources or templates are others.
    pub resources: bool,
}

/// What changed of what a server lists to one client alone, over a connection of its own.
#[derive(Debug, Clone)]
pub struct OwnDifference {
    /// The server.
    pub server: ServerName,
    /// The client.
    pub client: ClientKey,
    /// What changed.
    pub difference: Difference,
}

impl BitOr for Difference {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self {
            tools: self.tools || other.tools,
            prompts: self.prompts || other.prompts,
            resources: self.resources || other.resources,
        }
    }
}

impl Difference {
    /// Nothing changed.
    pub fn is_empty(self) -> bool {
        self == Self::default()
    }

    /// What is held is another: any list may show something else.
    pub(super) const WHATEVER: Self = Self {
        tools: true,
        prompts: true,
        resources: true,
    };

    pub(super) fn between(old: Option<&ServerCatalog>, new: Option<&ServerCatalog>) -> Self {
        let differ = |list: fn(&Listing) -> &[Raw]| {
            let [old, new] = [old, new].map(|s| s.map_or(&[][..], |s| list(&s.listing)));
            old != new
        };
        Self {
            tools: differ(|l| &l.tools),
            prompts: differ(|l| &l.prompts),
            resources: differ(|l| &l.resources) || differ(|l| &l.templates),
        }
    }
}
