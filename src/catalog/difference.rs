//! Which lists a new snapshot changed, for notifications to clients.

use std::ops::BitOr;

use super::{Listing, ServerCatalog};
use crate::{link::ClientKey, text::names::ServerName, wire::Raw};

/// The lists that a new snapshot changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Difference {
    /// Tools.
    pub tools: bool,
    /// Prompts.
    pub prompts: bool,
    /// Resources or resource templates.
    pub resources: bool,
}

/// The lists that changed on a client's own connection to a server.
#[derive(Debug, Clone)]
pub struct OwnDifference {
    /// The server.
    pub server: ServerName,
    /// The client.
    pub client: ClientKey,
    /// The lists that changed.
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

    /// Any list: what is held changed.
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
