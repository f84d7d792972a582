//! Decides which listed definitions are held, and updates the ledger. Pure.

use std::{cell::OnceCell, collections::HashSet, sync::Arc};

use super::{Baseline, Held, Hold, HoldReason, Ledger, Listed, Lock, Pins, ThingKind};
use crate::text::{ServerName, visible::letters::folded_name};

/// Limit: tools of one server whose approvals are remembered, and bytes of their names. Further tools are held. No approval is forgotten instead:
/// a server could list many tools to have one forgotten that it wants to change.
const MOST: usize = 10_000;
const NAMES: usize = 4 << 20;

/// The number of a server's remembered tools, and the bytes of their names.
#[derive(Clone, Copy)]
struct Remembered {
    count: usize,
    names: usize,
}

impl Remembered {
    fn of(ledger: &Ledger) -> Self {
        let tools = ledger.approved.keys();
        let tools = tools.filter(|(kind, _)| *kind == ThingKind::Tool);
        tools.fold(Self { count: 0, names: 0 }, |sum, (_, name)| Self {
            count: sum.count + 1,
            names: sum.names + name.len(),
        })
    }

    /// Whether the limits allow to remember this definition. Only tools are limited.
    fn has_room(self, one: &Listed<'_>) -> bool {
        one.kind != ThingKind::Tool || self.count < MOST && self.names + one.name.len() <= NAMES
    }

    fn add(&mut self, one: &Listed<'_>) {
        if one.kind == ThingKind::Tool {
            self.count += 1;
            self.names += one.name.len();
        }
    }
}

/// How the definitions of a server are treated, by its settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PinPolicy {
    /// The server is not trusted: nothing that it lists is taken for approved.
    Untrusted,
    /// Changed definitions are held.
    Hold,
    /// Changed definitions and new tools are held.
    HoldNew,
    /// Nothing is held.
    Allow,
    /// New tools are held, changed definitions are not.
    AllowChanges,
}

impl PinPolicy {
    /// Whether changed definitions are held.
    pub fn holds_changes(self) -> bool {
        matches!(self, Self::Hold | Self::HoldNew)
    }

    /// Whether changed definitions are taken without approval.
    pub fn takes_changes(self) -> bool {
        matches!(self, Self::Allow | Self::AllowChanges)
    }

    fn holds_new(self) -> bool {
        matches!(self, Self::HoldNew | Self::AllowChanges)
    }
}

/// Since when a definition is known that no person approved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Knowledge {
    /// It is new.
    New,
    /// It is in the baseline: it was fine when it was taken in, but other servers may list other tools since.
    Baseline,
}

impl Ledger {
    /// The ledger after a listing, and which definitions of it are held. `objects` is the scanner, for definitions that no person approved.
    pub fn follow(
        self: &Arc<Self>,
        server: &ServerName,
        listed: &[Listed<'_>],
        policy: PinPolicy,
        lock: Option<&Lock>,
        objects: &mut dyn FnMut(&Listed<'_>, Knowledge) -> bool,
        now: u64,
    ) -> Pins {
        let mut pins = Pins {
            is_untrusted: policy == PinPolicy::Untrusted,
            ..Pins::default()
        };
        let mut next = self.as_ref().clone();
        next.held.clear();
        let records = policy != PinPolicy::Untrusted && lock.is_none();
        if records && policy.takes_changes() {
            next.keep_tools(listed);
        }
        let mut remembered = Remembered::of(&next);
        let mut room = next.room();
        let known_letters = OnceCell::new();
        for one in listed {
            let is_remembered = self.entry(one).is_some();
            let verdict = match lock {
                Some(lock) if one.kind == ThingKind::Tool => locked(lock, server, one),
                _ if policy.takes_changes() => None,
                _ => self.verdict(one, remembered, &known_letters, objects),
            };
            let is_new = || {
                lock.is_none()
                    && policy.holds_new()
                    && self.baseline == Baseline::Taken
                    && one.kind == ThingKind::Tool
                    && !is_remembered
            };
            let verdict = verdict.or_else(|| is_new().then_some(HoldReason::New));
            if let Some(reason) = verdict {
                let fingerprint = one.fingerprint;
                let known = self.held.get(&(one.kind, one.name.into()));
                let known =
                    known.filter(|held| held.fingerprint == fingerprint && held.reason == reason);
                let held = Held {
                    fingerprint,
                    reason,
                    since: known.map_or(now, |held| held.since),
                };
                next.held.insert((one.kind, one.name.into()), held);
                pins.add(
                    one.kind,
                    one.name,
                    Hold {
                        reason,
                        fingerprint,
                    },
                );
            } else if one.kind.is_pinned()
                // If instructions become empty, the former ones are kept, to be compared with later ones.
                && !(is_remembered && one.says_nothing())
                && (is_remembered || remembered.has_room(one))
            {
                if !is_remembered {
                    remembered.add(one);
                }
                next.note(one, None, now, &mut room);
            }
        }
        if records && next.baseline == Baseline::None {
            next.baseline = Baseline::Taken;
        }
        pins.ledger = if !records || next == **self {
            self.clone()
        } else {
            Arc::new(next)
        };
        pins
    }

    fn verdict(
        &self,
        one: &Listed<'_>,
        remembered: Remembered,
        known_letters: &OnceCell<HashSet<String>>,
        objects: &mut dyn FnMut(&Listed<'_>, Knowledge) -> bool,
    ) -> Option<HoldReason> {
        let approved = self.entry(one);
        let is_same = approved.is_some_and(|approved| approved.fingerprint == one.fingerprint);
        if one.says_nothing() {
            return None;
        }
        let was_objected = self.was_objected(one);
        if is_same {
            let is_baseline = approved.is_some_and(|approved| approved.by.is_none());
            let is_scanned = is_baseline && one.kind.is_pinned();
            let objects = is_scanned && (was_objected || objects(one, Knowledge::Baseline));
            return objects.then_some(HoldReason::Objected);
        }
        if !one.kind.is_pinned() {
            return objects(one, Knowledge::New).then_some(HoldReason::Objected);
        }
        if approved.is_some() {
            return Some(HoldReason::Changed);
        }
        if self.baseline == Baseline::Lost {
            return Some(HoldReason::Unapproved);
        }
        if was_objected || objects(one, Knowledge::New) {
            return Some(HoldReason::Objected);
        }
        let is_alike = || {
            known_letters
                .get_or_init(|| self.letters())
                .contains(&folded_name(one.name))
        };
        let is_tool = one.kind == ThingKind::Tool;
        if is_tool && self.baseline == Baseline::Taken && is_alike() {
            return Some(HoldReason::Alike);
        }
        (!remembered.has_room(one)).then_some(HoldReason::TooMany)
    }

    /// Forgets the tools that are not listed. If changes are allowed, only the last listing counts.
    fn keep_tools(&mut self, listed: &[Listed<'_>]) {
        let tools = listed.iter().filter(|one| one.kind == ThingKind::Tool);
        let names: HashSet<&str> = tools.map(|one| one.name).collect();
        self.approved
            .retain(|(kind, name), _| *kind != ThingKind::Tool || names.contains(&**name));
    }

    /// The folded names of the approved tools, in which names that look alike are equal.
    fn letters(&self) -> HashSet<String> {
        let tools = self.approved.keys();
        let tools = tools.filter(|(kind, _)| *kind == ThingKind::Tool);
        tools.map(|(_, name)| folded_name(name)).collect()
    }
}

fn locked(lock: &Lock, server: &ServerName, one: &Listed<'_>) -> Option<HoldReason> {
    let is_locked = lock.accepts(server.as_str(), one.name, one.fingerprint);
    (!is_locked).then_some(HoldReason::NotLocked)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        trust::{
            approvals::{Approval, Which, export},
            fingerprint::Fingerprint,
        },
        wire::Raw,
    };

    struct House {
        ledger: Arc<Ledger>,
        policy: PinPolicy,
        lock: Option<Lock>,
        /// What is objected to in a baseline, for what others list.
        compared: &'static str,
    }

    fn house() -> House {
        House {
            ledger: Arc::default(),
            policy: PinPolicy::Hold,
            lock: None,
            compared: "like another",
        }
    }

    fn definitions(tools: &[(&str, &str)]) -> Vec<(String, Raw)> {
        let define = |(name, description): &(&str, &str)| {
            let definition =
                serde_json::json!({"name": name, "description": description, "inputSchema": {}});
            ((*name).to_owned(), Raw::author(&definition))
        };
        tools.iter().map(define).collect()
    }

    fn listed(definitions: &[(String, Raw)]) -> Vec<Listed<'_>> {
        let made = definitions.iter().map(|(name, definition)| Listed {
            kind: ThingKind::Tool,
            name,
            fingerprint: Fingerprint::of_tool(definition),
            definition: definition.as_str(),
        });
        made.collect()
    }

    impl House {
        /// Lists these tools; which of them are held, and why. One whose description says "bad" is objected to.
        fn list(&mut self, tools: &[(&str, &str)]) -> Vec<(String, &'static str)> {
            let definitions = definitions(tools);
            let server = ServerName::parse("s").expect("a name");
            let mut objects = |one: &Listed<'_>, known| {
                let wrong = if known == Knowledge::New {
                    "bad"
                } else {
                    self.compared
                };
                one.definition.contains(wrong)
            };
            let pins = self.ledger.follow(
                &server,
                &listed(&definitions),
                self.policy,
                self.lock.as_ref(),
                &mut objects,
                7,
            );
            self.ledger = pins.ledger.clone();
            let mut held: Vec<_> = pins.held[0]
                .iter()
                .map(|(name, hold)| (name.to_string(), hold.reason.as_str()))
                .collect();
            held.sort();
            held
        }

        fn approve(&mut self, tools: &[(&str, &str)], which: Which) {
            let definitions = definitions(tools);
            let approval = Approval {
                which,
                by: "me".to_owned(),
                at: 9,
            };
            let approved = self.ledger.approve(&listed(&definitions), &approval);
            self.ledger = Arc::new(approved.expect("approved"));
        }
    }

    fn held(name: &str, reason: &'static str) -> Vec<(String, &'static str)> {
        vec![(name.to_owned(), reason)]
    }

    #[test]
    fn what_is_seen_first_is_the_baseline_and_what_changes_is_held_until_it_is_approved_or_reverted()
     {
        let mut house = house();
        assert_eq!(house.list(&[("a", "1"), ("b", "1")]), []);
        assert_eq!(house.list(&[("a", "2"), ("b", "1")]), held("a", "changed"));
        assert_eq!(house.list(&[("a", "1"), ("b", "1")]), [], "reverted");
        assert_eq!(house.list(&[("a", "2"), ("b", "1")]), held("a", "changed"));
        house.approve(
            &[("a", "2"), ("b", "1")],
            Which::These(vec!["a".to_owned()]),
        );
        assert_eq!(house.list(&[("a", "2"), ("b", "1")]), []);
        assert_eq!(house.list(&[("a", "1"), ("b", "1")]), held("a", "changed"));
    }

    #[test]
    fn what_a_server_says_of_itself_is_compared_like_a_tool() {
        let mut ledger = Arc::<Ledger>::default();
        let server = ServerName::parse("s").expect("a name");
        for (policy, words, expected) in [
            (PinPolicy::Untrusted, "anything", None),
            (PinPolicy::Hold, "bad", Some("suspicious")),
            (PinPolicy::Hold, "", None),
            (PinPolicy::Hold, "Be kind.", Some("changed")),
            (PinPolicy::Allow, "Be kind.", None),
            (PinPolicy::Hold, "Be quick.", Some("changed")),
            (PinPolicy::Hold, "", None),
            (PinPolicy::Hold, "Be quick.", Some("changed")),
            (PinPolicy::Hold, "Be kind.", None),
        ] {
            let text = Raw::author(&words);
            let one = Listed {
                kind: ThingKind::Instructions,
                name: "",
                fingerprint: Fingerprint::of_value(&text),
                definition: text.as_str(),
            };
            let mut objects = |one: &Listed<'_>, _| one.definition.contains("bad");
            let pins = ledger.follow(&server, &[one], policy, None, &mut objects, 7);
            let hold = pins.hold(ThingKind::Instructions, "");
            assert_eq!(hold.map(|hold| hold.reason.as_str()), expected, "{words}");
            ledger = pins.ledger;
        }
    }

    #[test]
    fn a_tool_that_was_away_is_compared_when_it_comes_back() {
        let mut house = house();
        assert_eq!(house.list(&[("a", "1")]), []);
        assert_eq!(house.list(&[]), []);
        assert_eq!(house.list(&[("a", "2")]), held("a", "changed"));
    }

    #[test]
    fn a_new_tool_is_usable_at_once_unless_it_is_objected_to() {
        let mut house = house();
        assert_eq!(
            house.list(&[("a", "1"), ("x", "bad")]),
            held("x", "suspicious")
        );
        assert_eq!(
            house.list(&[("a", "1"), ("b", "1"), ("x", "bad")]),
            held("x", "suspicious")
        );
        assert_eq!(
            house.list(&[("a", "1"), ("x", "good")]),
            [],
            "it was never approved"
        );
        assert_eq!(
            house.list(&[("a", "1"), ("x", "bad")]),
            held("x", "changed")
        );
        house.approve(&[("a", "1"), ("x", "bad")], Which::All);
        assert_eq!(house.list(&[("a", "1"), ("x", "bad")]), []);
    }

    #[test]
    fn where_new_tools_are_held_what_was_listed_before_stays_usable() {
        for (policy, taken) in [
            (PinPolicy::HoldNew, PinPolicy::Hold),
            (PinPolicy::AllowChanges, PinPolicy::Allow),
        ] {
            let mut house = house();
            house.policy = policy;
            assert_eq!(house.list(&[("a", "1")]), [], "the baseline");
            let more = [("a", "1"), ("b", "1")];
            assert_eq!(house.list(&more), held("b", "new"));
            assert_eq!(house.list(&more), held("b", "new"), "not by waiting");
            house.policy = taken;
            assert_eq!(house.list(&more), [], "{taken:?} takes it");
            house.policy = policy;
            assert_eq!(house.list(&more), [], "it was taken");
            house.approve(&[("a", "1"), ("c", "1")], Which::All);
            assert_eq!(house.list(&[("a", "1"), ("c", "1")]), []);
        }
        let mut house = house();
        house.policy = PinPolicy::AllowChanges;
        assert_eq!(house.list(&[("a", "1")]), []);
        assert_eq!(house.list(&[("a", "2")]), [], "a change is taken");
    }

    #[test]
    fn what_is_objected_to_for_what_others_list_is_no_baseline_any_more() {
        let mut house = house();
        let tools = [("a", "a like another"), ("b", "1")];
        house.compared = "for now nothing";
        assert_eq!(house.list(&tools), []);
        house.compared = "like another";
        assert_eq!(house.list(&tools), held("a", "suspicious"));
        let exported = export([("s", &*house.ledger)].into_iter());
        assert!(
            !exported.contains(r#""a""#) && exported.contains(r#""b""#),
            "{exported}"
        );
        let changed = [("a", "2"), ("b", "1")];
        assert_eq!(house.list(&changed), held("a", "changed"));
        assert_eq!(house.list(&tools), held("a", "suspicious"));
        house.compared = "for now nothing";
        assert_eq!(
            house.list(&tools),
            held("a", "suspicious"),
            "until a person looks"
        );
        house.approve(&tools, Which::These(vec!["a".to_owned()]));
        house.compared = "like another";
        assert_eq!(house.list(&tools), [], "a person approved it");
    }

    #[test]
    fn a_new_tool_with_almost_the_name_of_an_approved_one_is_held() {
        let mut house = house();
        assert_eq!(
            house.list(&[("get_x", "1"), ("Get_X", "1")]),
            [],
            "both are the baseline"
        );
        assert_eq!(house.list(&[("GETX", "1")]), held("GETX", "alike"));
        assert_eq!(house.list(&[("get_xy", "1")]), []);
    }

    #[test]
    fn nothing_is_taken_for_approved_where_the_record_is_lost() {
        let mut house = house();
        house.ledger = Arc::new(Ledger::lost());
        assert_eq!(house.list(&[("a", "1")]), held("a", "unapproved"));
        assert_eq!(house.list(&[("a", "1")]), held("a", "unapproved"));
        house.approve(&[("a", "1")], Which::All);
        assert_eq!(house.list(&[("a", "1"), ("b", "1")]), []);
    }

    #[test]
    fn what_an_untrusted_server_lists_is_no_baseline() {
        let mut house = house();
        house.policy = PinPolicy::Untrusted;
        assert_eq!(house.list(&[("a", "1")]), []);
        assert_eq!(*house.ledger, Ledger::default());
        house.policy = PinPolicy::Hold;
        assert_eq!(house.list(&[("a", "2")]), []);
        assert_eq!(house.list(&[("a", "1")]), held("a", "changed"));
    }

    #[test]
    fn where_changes_are_allowed_each_listing_is_the_baseline() {
        let mut house = house();
        house.policy = PinPolicy::Allow;
        assert_eq!(house.list(&[("a", "1"), ("b", "bad")]), []);
        assert_eq!(house.list(&[("a", "2"), ("b", "bad")]), []);
        house.policy = PinPolicy::Hold;
        assert_eq!(house.list(&[("a", "2"), ("b", "bad")]), []);
        assert_eq!(
            house.list(&[("a", "1"), ("b", "bad")]),
            held("a", "changed")
        );
    }

    #[test]
    fn a_lock_file_accepts_exactly_what_it_has_whatever_the_policy() {
        let mut house = house();
        assert_eq!(house.list(&[("a", "1"), ("b", "1")]), []);
        let before = house.ledger.clone();
        let exported = export([("s", &*house.ledger)].into_iter());
        house.lock = Some(Lock::parse(&exported).expect("a lock file"));
        for policy in [PinPolicy::Hold, PinPolicy::Allow] {
            house.policy = policy;
            assert_eq!(house.list(&[("a", "1"), ("b", "1")]), []);
            assert_eq!(
                house.list(&[("a", "2"), ("b", "1")]),
                held("a", "not_locked")
            );
            assert_eq!(
                house.list(&[("a", "1"), ("c", "1")]),
                held("c", "not_locked")
            );
        }
        assert_eq!(house.ledger, before, "nothing is recorded");
    }

    #[test]
    fn a_server_cannot_make_us_forget_what_was_approved() {
        let mut house = house();
        assert_eq!(house.list(&[("a", "1")]), []);
        let names: Vec<String> = (0..MOST).map(|n| format!("t{n}")).collect();
        let many: Vec<(&str, &str)> = names.iter().map(|name| (&**name, "1")).collect();
        assert_eq!(house.list(&many).len(), 1, "one too many");
        assert_eq!(house.list(&[("a", "2")]), held("a", "changed"));
    }

    #[test]
    fn where_changes_are_allowed_only_what_is_listed_is_remembered() {
        let mut house = house();
        house.policy = PinPolicy::Allow;
        let names = |from: usize, count: usize| -> Vec<String> {
            (from..from + count).map(|n| format!("tool_{n}")).collect()
        };
        let mut list = |names: &[String]| {
            let tools: Vec<(&str, &str)> = names.iter().map(|name| (&**name, "1")).collect();
            let held = house.list(&tools).len();
            let names = house.ledger.approved.keys().map(|(_, name)| name.len());
            (held, house.ledger.approved.len(), names.sum::<usize>())
        };
        for round in 0..4 {
            let (held, remembered, _) = list(&names(round * 500, 600));
            assert_eq!((held, remembered), (0, 600), "round {round}");
        }
        let (held, remembered, _) = list(&names(0, MOST + 20));
        assert_eq!((held, remembered), (0, MOST));
        let long: Vec<String> = (0..1100)
            .map(|n| format!("{n:04}{}", "x".repeat(4092)))
            .collect();
        let (held, remembered, bytes) = list(&long);
        assert_eq!((held, remembered, bytes), (0, 1024, NAMES));
        // What is held later is what was listed last and is another now.
        let (_, remembered, _) = list(&names(0, 2));
        assert_eq!(remembered, 2);
        house.policy = PinPolicy::Hold;
        let now = [("tool_0", "2"), ("tool_1", "1")];
        let expected = self::held("tool_0", "changed");
        assert_eq!(house.list(&now), expected);
    }

    #[test]
    fn names_that_are_remembered_have_room_for_so_many_bytes() {
        let mut house = house();
        let long: Vec<String> = (0..1030)
            .map(|n| format!("{n:04}{}", "x".repeat(4092)))
            .collect();
        let tools: Vec<(&str, &str)> = long.iter().map(|name| (&**name, "1")).collect();
        let held = house.list(&tools);
        assert_eq!(held.len(), 6);
        assert!(held.iter().all(|(_, reason)| *reason == "too_many"));
    }
}
