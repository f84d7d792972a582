//! An approval as a step that can be undone: the changes that it made in a ledger. Pure.

use serde::{Deserialize, Serialize};

use super::{Approved, Baseline, Ledger, ThingKind, file};
use crate::{text::ServerName, trust::fingerprint::Fingerprint, wire::Raw};

/// The changes of a ledger by one approval: the entries of the changed things before and after it.
#[derive(Debug, Clone, PartialEq)]
pub struct ApprovalStep {
    server: ServerName,
    before: Ledger,
    after: Ledger,
}

/// The change of one thing by an approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SteppedThing<'a> {
    /// Its kind.
    pub kind: ThingKind,
    /// The server's own name for it.
    pub name: &'a str,
    /// The word of its [`HoldReason`](super::HoldReason) before, or `approved`; `None` if it was neither held nor approved.
    pub was: Option<&'static str>,
    /// `approved` if it was afterwards.
    pub is: Option<&'static str>,
}

const APPROVED: &str = "approved";

#[derive(Serialize, Deserialize)]
struct Stored {
    before: Raw,
    after: Raw,
}

impl ApprovalStep {
    /// The differences between two ledgers of a server.
    pub fn between(server: &ServerName, before: &Ledger, after: &Ledger) -> Self {
        let mut was = before.clone();
        let mut is = after.clone();
        was.approved
            .retain(|key, one| after.approved.get(key) != Some(one));
        was.held.retain(|key, one| after.held.get(key) != Some(one));
        was.first_seen
            .retain(|key, one| after.first_seen.get(key) != Some(one));
        is.approved
            .retain(|key, one| before.approved.get(key) != Some(one));
        is.held.clear();
        is.first_seen.clear();
        for (key, one) in &mut is.approved {
            // The fingerprint is enough, and a text that the ledger still has is not kept twice.
            one.definition = None;
            if let Some(was) = was.approved.get_mut(key)
                && was.fingerprint == one.fingerprint
            {
                was.definition = None;
            }
        }
        Self {
            server: server.clone(),
            before: was,
            after: is,
        }
    }

    /// The server.
    pub fn server(&self) -> &ServerName {
        &self.server
    }

    /// The same without some texts, of which only the fingerprints remain.
    #[must_use]
    pub fn without_texts(mut self, is_left_out: impl Fn(&str) -> bool) -> Self {
        for one in self.before.approved.values_mut() {
            one.definition = one.definition.take().filter(|text| !is_left_out(text));
        }
        self
    }

    /// The ledger with this step undone: the approvals of before are in force again. `None` if a later approval is about the same things.
    pub fn undone(&self, ledger: &Ledger) -> Option<Ledger> {
        let mut next = ledger.clone();
        if self.after.baseline == Baseline::None && ledger.baseline == Baseline::Taken {
            // The server had listed nothing when it was approved: what it listed first since counts as approved by this step alone.
            next.approved.retain(|_, one| one.by.is_some());
            next.first_seen.clear();
            next.baseline = Baseline::None;
        }
        let decision = |one: &Approved| (one.fingerprint, one.by.clone(), one.at);
        let mut keys = self
            .before
            .approved
            .keys()
            .chain(self.after.approved.keys());
        let is_as_left = keys.all(|key| {
            let left = self.after.approved.get(key).map(decision);
            next.approved.get(key).map(decision) == left
        });
        if ledger.is_unread || !is_as_left {
            return None;
        }
        for key in self.after.approved.keys() {
            next.approved.remove(key);
        }
        for (key, was) in &self.before.approved {
            let mut was = was.clone();
            let same = ledger.approved.get(key);
            let same = same.filter(|same| same.fingerprint == was.fingerprint);
            was.definition = was
                .definition
                .or_else(|| same.and_then(|same| same.definition.clone()));
            next.approved.insert(key.clone(), was);
        }
        let (held, first_seen) = (self.before.held.clone(), self.before.first_seen.clone());
        next.held.extend(held);
        next.first_seen.extend(first_seen);
        if next.baseline == self.after.baseline {
            next.baseline = self.before.baseline;
        }
        Some(next)
    }

    /// The things that the approval changed.
    pub fn things(&self) -> Vec<SteppedThing<'_>> {
        let (before, after) = (&self.before, &self.after);
        let keys = before.held.keys().chain(before.approved.keys());
        let mut keys: Vec<_> = keys.chain(after.approved.keys()).collect();
        keys.sort();
        keys.dedup();
        let things = keys.into_iter().map(|key| {
            let was = before.held.get(key).map(|held| held.reason.as_str());
            let approved = before.approved.get(key);
            let is_same = after.approved.get(key).zip(approved);
            let is_same = is_same.is_some_and(|(a, b)| a.fingerprint == b.fingerprint);
            let thing = SteppedThing {
                kind: key.0,
                name: &key.1,
                was: was.or(approved.map(|_| APPROVED)),
                is: after.approved.get(key).map(|_| APPROVED),
            };
            (thing, was.is_none() && is_same)
        });
        let says_nothing = Fingerprint::of_value(&Raw::author(&""));
        let is_silent = |thing: &SteppedThing<'_>| {
            let key = (thing.kind, thing.name.into());
            let approved = after.approved.get(&key);
            thing.kind == ThingKind::Instructions
                && thing.was.is_none()
                && approved.is_some_and(|approved| approved.fingerprint == says_nothing)
        };
        let things = things.filter(|(thing, is_same)| !is_same && !is_silent(thing));
        things.map(|(thing, _)| thing).collect()
    }

    /// The step as JSON; `None` if it cannot be written.
    pub fn to_text(&self) -> Option<String> {
        let raw = |ledger| {
            let text = file::text_of(&self.server, ledger).ok()?;
            Raw::parse(&text.into()).ok()
        };
        let stored = Stored {
            before: raw(&self.before)?,
            after: raw(&self.after)?,
        };
        serde_json::to_string(&stored).ok()
    }

    /// Parses what [`ApprovalStep::to_text`] writes.
    pub fn parse(server: &ServerName, text: &str) -> Option<Self> {
        let stored: Stored = serde_json::from_str(text).ok()?;
        let ledger = |raw: &Raw| file::parse(raw.as_bytes(), server).ok();
        Some(Self {
            server: server.clone(),
            before: ledger(&stored.before)?,
            after: ledger(&stored.after)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trust::approvals::{Approval, Held, HoldReason, Listed, Which};

    fn server() -> ServerName {
        ServerName::parse("s").expect("a name")
    }

    fn tool(name: &str, words: &str) -> String {
        format!(r#"{{"name":"{name}","description":"{words}"}}"#)
    }

    fn approve(ledger: &Ledger, tools: &[(&str, &str)], which: Which, at: u64) -> Ledger {
        let made: Vec<_> = tools
            .iter()
            .map(|(name, words)| (*name, tool(name, words)))
            .collect();
        let listed = made.iter().map(|(name, definition)| Listed {
            kind: ThingKind::Tool,
            name,
            fingerprint: Fingerprint::of_tool(&Raw::parse_str(definition).expect("JSON")),
            definition,
        });
        let listed: Vec<_> = listed.collect();
        let by = "me".to_owned();
        let approved = ledger.approve(&listed, &Approval { which, by, at });
        approved.expect("approved")
    }

    fn kept(before: &Ledger, after: &Ledger) -> ApprovalStep {
        let step = ApprovalStep::between(&server(), before, after);
        let text = step.to_text().expect("a text");
        let read = ApprovalStep::parse(&server(), &text).expect("reads back");
        assert_eq!(read, step);
        read
    }

    #[test]
    fn an_approval_is_taken_back_to_what_was_pinned_and_held() {
        let mut before = approve(
            &Ledger::default(),
            &[("a", "one"), ("b", "one")],
            Which::All,
            1,
        );
        let held = Held {
            fingerprint: Fingerprint::of_tool(&Raw::parse_str(&tool("a", "two")).expect("JSON")),
            reason: HoldReason::Changed,
            since: 2,
        };
        before.held.insert((ThingKind::Tool, "a".into()), held);
        let these = Which::These(vec!["a".to_owned()]);
        let after = approve(&before, &[("a", "two"), ("b", "one")], these, 3);
        let step = kept(&before, &after);
        let thing = SteppedThing {
            kind: ThingKind::Tool,
            name: "a",
            was: Some("changed"),
            is: Some("approved"),
        };
        assert_eq!(step.things(), [thing]);
        assert_eq!(step.undone(&after).as_ref(), Some(&before));
        // What was decided meanwhile of another tool stays.
        let these = Which::These(vec!["b".to_owned()]);
        let later = approve(&after, &[("b", "two")], these, 4);
        let undone = step.undone(&later).expect("still there");
        let key = |name: &str| (ThingKind::Tool, Box::from(name));
        assert_eq!(undone.approved[&key("a")], before.approved[&key("a")]);
        assert_eq!(undone.approved[&key("b")], later.approved[&key("b")]);
        // A later decision about the same is not undone with it.
        let these = Which::These(vec!["a".to_owned()]);
        let again = approve(&after, &[("a", "three")], these, 5);
        assert_eq!(step.undone(&again), None);
    }

    #[test]
    fn a_server_that_was_never_approved_is_so_again() {
        let after = approve(&Ledger::default(), &[("a", "one")], Which::All, 1);
        let step = kept(&Ledger::default(), &after);
        let undone = step.undone(&after).expect("undone");
        assert_eq!(undone, Ledger::default());
        assert_eq!(undone.baseline, Baseline::None);
        // And one that was is what it was, with the texts.
        let again = approve(&after, &[("a", "one")], Which::All, 2);
        let step = kept(&after, &again);
        assert_eq!(step.things(), []);
        assert_eq!(step.undone(&again), Some(after));
    }

    #[test]
    fn what_an_unlisted_server_was_first_seen_with_goes_with_its_approval() {
        let never = approve(&Ledger::default(), &[], Which::All, 1);
        let pinned = approve(&Ledger::default(), &[("a", "one")], Which::All, 1);
        for before in [Ledger::default(), pinned] {
            let step = kept(&before, &approve(&before, &[], Which::All, 2));
            let mut listed = approve(&never, &[("a", "one"), ("b", "one")], Which::All, 3);
            for one in listed.approved.values_mut() {
                one.by = None;
            }
            assert_eq!(step.undone(&listed).as_ref(), Some(&before));
        }
    }
}
