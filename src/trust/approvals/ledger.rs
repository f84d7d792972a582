//! The ledger of one server: its approved and its held definitions, and how approvals change them. Pure.

use std::{collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Serialize};

use super::kinds::{HoldReason, ThingKind};
use crate::trust::fingerprint::Fingerprint;

/// Limit: bytes of an approved definition whose text is kept for comparison, larger ones being known by their fingerprints alone; and bytes of
/// all texts that are kept of a server.
const LARGEST_TEXT: usize = 64 << 10;
const TEXTS: usize = 16 << 20;

/// Limits: prompts, resources and templates whose first contents are remembered, and bytes of their names.
const FIRST_SEEN: usize = 5_000;
const FIRST_SEEN_NAMES: usize = 1 << 20;

/// What is known and decided about a server's definitions, by kind and name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ledger {
    /// Whether there are approved definitions to compare with.
    pub baseline: Baseline,
    /// The definitions that a person approved, or that a trusted server listed first.
    pub approved: BTreeMap<(ThingKind, Box<str>), Approved>,
    /// The held definitions of the last listing.
    pub held: BTreeMap<(ThingKind, Box<str>), Held>,
    /// The texts of prompts, resources and templates when a trusted server listed them first. For information: nothing is held by them.
    pub first_seen: BTreeMap<(ThingKind, Box<str>), FirstSeen>,
    /// Whether the file could not be read. Its content is unknown then, and it must not be overwritten.
    pub is_unread: bool,
}

/// Whether a ledger knows which definitions are new.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Baseline {
    /// No: the server has listed nothing since it is trusted. Its first listing counts as approved.
    #[default]
    None,
    /// Yes: the first listing was taken for approved, or a person approved one.
    Taken,
    /// No: the file is damaged. Nothing counts as approved until a person approves it.
    Lost,
}

/// An approved definition.
#[derive(Debug, Clone, PartialEq)]
pub struct Approved {
    /// Its fingerprint.
    pub fingerprint: Fingerprint,
    /// Its text, to show later changes; `None` if it was too large.
    pub definition: Option<Arc<str>>,
    /// The person who approved it; `None` if a trusted server listed it first.
    pub by: Option<Arc<str>>,
    /// The time of the approval, in seconds since 1970.
    pub at: u64,
}

/// The texts of a thing when it was listed first.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct FirstSeen {
    /// Their fingerprint.
    pub fingerprint: Fingerprint,
    /// The time, in seconds since 1970.
    pub at: u64,
}

/// A definition that is held.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Held {
    /// Its fingerprint.
    pub fingerprint: Fingerprint,
    /// Why it is held.
    pub reason: HoldReason,
    /// When it was held first, in seconds since 1970.
    pub since: u64,
}

/// A definition that a server lists.
#[derive(Debug, Clone, Copy)]
pub struct Listed<'a> {
    /// The kind of thing.
    pub kind: ThingKind,
    /// The server's own name for the thing.
    pub name: &'a str,
    /// The fingerprint of the definition.
    pub fingerprint: Fingerprint,
    /// The text of the definition.
    pub definition: &'a str,
}

impl Listed<'_> {
    /// Whether these are empty instructions.
    pub(super) fn says_nothing(&self) -> bool {
        self.kind == ThingKind::Instructions && self.definition == r#""""#
    }
}

/// A person's approval.
#[derive(Debug, Clone)]
pub struct Approval {
    /// The approved things.
    pub which: Which,
    /// The person.
    pub by: String,
    /// The time, in seconds since 1970.
    pub at: u64,
}

/// The things that a person approves.
#[derive(Debug, Clone)]
pub enum Which {
    /// All that is listed now, in place of all earlier approvals.
    All,
    /// The same, even if nothing was ever listed: then whatever the server lists first counts as approved.
    Unseen,
    /// The things with one of these names, of whatever kind.
    These(Vec<String>),
}

impl Ledger {
    /// The ledger in place of a damaged file.
    pub fn lost() -> Self {
        Self {
            baseline: Baseline::Lost,
            ..Self::default()
        }
    }

    /// The ledger in place of a file that cannot be read.
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

    /// The tools that count as approved: not those of the baseline to which the scanner objects now.
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

    /// The bytes of texts that may still be kept.
    pub(super) fn room(&self) -> usize {
        let kept = self.approved.values();
        let kept = kept.filter_map(|approved| approved.definition.as_ref());
        TEXTS.saturating_sub(kept.map(|text| text.len()).sum())
    }

    /// Notes that a definition is approved, by a person or because it was listed first. `room` is what [`Ledger::room`] gives, less what was kept
    /// since.
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

    /// The ledger after these texts were listed. Texts that were seen before stay as they were seen first, unless `is_replaced`.
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
            Which::All | Which::Unseen => {
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
