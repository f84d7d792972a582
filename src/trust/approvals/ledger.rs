//! The ledger of one server: what was approved of its definitions, and how approvals change it. Pure.

use std::{collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Serialize};

use super::kinds::{HoldReason, ThingKind};
use crate::trust::fingerprint::Fingerprint;

/// Limit: bytes of a definition that is kept to be compared. A larger one is held and approved by its fingerprint
/// alone. And bytes of all that are kept of a server.
const LARGEST_TEXT: usize = 64 << 10;
const TEXTS: usize = 16 << 20;

/// Limits: prompts, resources and templates whose first contents are remembered, and bytes of their names.
const FIRST_SEEN: usize = 5_000;
const FIRST_SEEN_NAMES: usize = 1 << 20;

/// What is known of a server's definitions and was decided about them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ledger {
    /// Whether there are approved ones to compare with.
    pub baseline: Baseline,
    /// The definitions that were approved, or seen first on a trusted server.
    pub approved: BTreeMap<(ThingKind, Box<str>), Approved>,
    /// The ones that were held in the last listing.
    pub held: BTreeMap<(ThingKind, Box<str>), Held>,
    /// The contents of prompts, resources and templates when they were seen first on a trusted server. Nothing is held for it.
    pub first_seen: BTreeMap<(ThingKind, Box<str>), FirstSeen>,
    /// Whether the file could not be read: what it says is unknown, and it must not be written over.
    pub is_unread: bool,
}

/// Whether a ledger can say what is new.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Baseline {
    /// The server was not listed yet while it was trusted: what it lists first counts as approved.
    #[default]
    None,
    /// It was.
    Taken,
    /// It may have been, but its file is damaged: nothing counts as approved until a person says so.
    Lost,
}

/// An approved definition.
#[derive(Debug, Clone, PartialEq)]
pub struct Approved {
    /// Which one.
    pub fingerprint: Fingerprint,
    /// Its text, to show what changed since; none where it was too large.
    pub definition: Option<Arc<str>>,
    /// Who approved it; nobody if it was seen first on a trusted server.
    pub by: Option<Arc<str>>,
    /// When, in seconds since 1970.
    pub at: u64,
}

/// The texts of a thing as they were once.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct FirstSeen {
    /// Which ones.
    pub fingerprint: Fingerprint,
    /// When, in seconds since 1970.
    pub at: u64,
}

/// A definition that is held.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Held {
    /// Which one.
    pub fingerprint: Fingerprint,
    /// Why.
    pub reason: HoldReason,
    /// Since when, in seconds since 1970.
    pub since: u64,
}

/// A definition that a server lists.
#[derive(Debug, Clone, Copy)]
pub struct Listed<'a> {
    /// What it is of.
    pub kind: ThingKind,
    /// The server's own name for that.
    pub name: &'a str,
    /// Which definition.
    pub fingerprint: Fingerprint,
    /// Its text.
    pub definition: &'a str,
}

impl Listed<'_> {
    /// Whether it stands for a server that says nothing of itself.
    pub(super) fn says_nothing(&self) -> bool {
        self.kind == ThingKind::Instructions && self.definition == r#""""#
    }
}

/// What a person approves.
#[derive(Debug, Clone)]
pub struct Approval {
    /// Which things.
    pub which: Which,
    /// Who.
    pub by: String,
    /// When, in seconds since 1970.
    pub at: u64,
}

/// Which things a person approves.
#[derive(Debug, Clone)]
pub enum Which {
    /// Everything that is listed now, and nothing else from now on.
    All,
    /// What bears one of these names, of whatever kind.
    These(Vec<String>),
}

impl Ledger {
    /// A ledger whose file was damaged.
    pub fn lost() -> Self {
        Self {
            baseline: Baseline::Lost,
            ..Self::default()
        }
    }

    /// A ledger whose file cannot be read.
    pub fn unread() -> Self {
        Self {
            is_unread: true,
            ..Self::lost()
        }
    }

    pub(super) fn entry(&self, one: &Listed<'_>) -> Option<&Approved> {
        self.approved.get(&(one.kind, one.name.into()))
    }

    /// Whether this definition was held in the last listing because the scanner objected.
    pub(super) fn was_objected(&self, one: &Listed<'_>) -> bool {
        let held = self.held.get(&(one.kind, one.name.into()));
        held.is_some_and(|held| {
            held.reason == HoldReason::Objected && held.fingerprint == one.fingerprint
        })
    }

    /// The tools that count as approved. One that was seen first and is objected to now does not.
    pub(super) fn approved_tools(&self) -> impl Iterator<Item = (&str, &Approved)> {
        let tools = self.approved.iter();
        let tools = tools.filter(|((kind, _), _)| *kind == ThingKind::Tool);
        let counting = tools.filter(|(key, approved)| {
            let held = self.held.get(*key);
            let held = held.filter(|held| held.reason == HoldReason::Objected);
            held.is_none_or(|held| held.fingerprint != approved.fingerprint)
        });
        counting.map(|((_, name), approved)| (&**name, approved))
    }

    /// How many bytes of definitions may be added.
    pub(super) fn room(&self) -> usize {
        let kept = self.approved.values();
        let kept = kept.filter_map(|approved| approved.definition.as_ref());
        TEXTS.saturating_sub(kept.map(|text| text.len()).sum())
    }

    /// Notes that a definition is approved, by somebody or because it was seen first.
    pub(super) fn note(
        &mut self,
        one: &Listed<'_>,
        by: Option<&Arc<str>>,
        at: u64,
        room: &mut usize,
    ) {
        let known = self.entry(one);
        let is_same = known.is_some_and(|known| known.fingerprint == one.fingerprint);
        if is_same && by.is_none() {
            return;
        }
        let length = one.definition.len();
        let is_small = length <= LARGEST_TEXT.min(*room);
        if is_small {
            *room -= length;
        }
        let approved = Approved {
            fingerprint: one.fingerprint,
            definition: is_small.then(|| one.definition.into()),
            by: by.cloned(),
            at,
        };
        self.approved.insert((one.kind, one.name.into()), approved);
    }

    /// The ledger after these texts were listed. Keeps their first contents, unless `is_replaced`.
    #[must_use]
    pub fn seeing<'t>(
        self: &Arc<Self>,
        texts: impl Iterator<Item = (ThingKind, &'t str, Fingerprint)>,
        is_replaced: bool,
        at: u64,
    ) -> Arc<Self> {
        let mut next = self.clone();
        let mut names: usize = self.first_seen.keys().map(|(_, name)| name.len()).sum();
        for (kind, name, fingerprint) in texts {
            let key = (kind, Box::from(name));
            let known = self.first_seen.get(&key);
            let is_kept = known.is_some_and(|k| !is_replaced || k.fingerprint == fingerprint);
            let added = known.map_or(name.len(), |_| 0);
            let has_room = known.is_some() || next.first_seen.len() < FIRST_SEEN;
            if !is_kept && has_room && names + added <= FIRST_SEEN_NAMES {
                names += added;
                let first = FirstSeen { fingerprint, at };
                Arc::make_mut(&mut next).first_seen.insert(key, first);
            }
        }
        next
    }

    /// The ledger after a person approved something of what is listed now.
    ///
    /// # Errors
    ///
    /// A name of which nothing is listed.
    pub fn approve(&self, listed: &[Listed<'_>], approval: &Approval) -> Result<Self, String> {
        let by: Arc<str> = approval.by.as_str().into();
        let mut next = self.clone();
        match &approval.which {
            Which::All => {
                next.approved.clear();
                next.held.clear();
                next.first_seen.clear();
                let mut room = next.room();
                for one in listed {
                    next.note(one, Some(&by), approval.at, &mut room);
                }
                next.baseline = if listed.iter().all(Listed::says_nothing) {
                    Baseline::None
                } else {
                    Baseline::Taken
                };
            }
            Which::These(names) => {
                let mut room = next.room();
                for name in names {
                    let found = listed.iter().filter(|one| one.name == name);
                    let mut found = found.filter(|one| !one.says_nothing()).peekable();
                    if found.peek().is_none() {
                        return Err(name.clone());
                    }
                    for one in found {
                        next.held.remove(&(one.kind, one.name.into()));
                        next.first_seen.remove(&(one.kind, one.name.into()));
                        next.note(one, Some(&by), approval.at, &mut room);
                    }
                }
            }
        }
        Ok(next)
    }
}
