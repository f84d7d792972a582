//! Decides which listed definitions are held, and updates the ledger. Pure.

use std::{cell::OnceCell, collections::HashSet, sync::Arc};

use super::{Baseline, Held, Hold, HoldReason, Ledger, Listed, Lock, Pins, ThingKind};
use crate::text::{ServerName, visible::letters::folded_name};

/// Limit: tools of one server whose approvals are remembered, and bytes of their names. Further tools are held. No approval is forgotten instead:
/// a server could list many tools to have one forgotten that it wants to change.
const MOST: usize = 10_000;
const NAMES: usize = 4 << 20;

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

/// On what terms a listing is judged.
#[derive(Debug, Clone, Copy)]
pub struct ListingTerms<'a> {
    /// The server.
    pub server: &'a ServerName,
    /// How its definitions are treated.
    pub policy: PinPolicy,
    /// The lock file in force. Nothing is recorded then.
    pub lock: Option<&'a Lock>,
    /// The time, in seconds since 1970.
    pub now: u64,
}

impl Ledger {
    /// The ledger after a listing, and which definitions of it are held. `objects` is the scanner, for definitions that no person approved.
    pub fn follow(
        self: &Arc<Self>,
        listed: &[Listed<'_>],
        terms: ListingTerms<'_>,
        objects: &mut dyn FnMut(&Listed<'_>, Knowledge) -> bool,
    ) -> Pins {
        let is_untrusted = terms.policy == PinPolicy::Untrusted;
        let mut pins = Pins {
            is_untrusted,
            ..Pins::default()
        };
        let mut judging = Judging::before(self, listed, terms);
        for one in listed {
            if let Some(reason) = judging.reason(one, objects) {
                pins.add(one.kind, one.name, judging.hold(one, reason));
            } else {
                judging.record(one);
            }
        }
        let mut next = judging.next;
        if next.baseline == Baseline::None {
            next.baseline = Baseline::Taken;
        }
        let is_recorded = !is_untrusted && terms.lock.is_none() && next != **self;
        pins.ledger = if is_recorded {
            Arc::new(next)
        } else {
            self.clone()
        };
        pins
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
        self.tools().map(folded_name).collect()
    }

    /// The names of the approved tools.
    fn tools(&self) -> impl Iterator<Item = &str> {
        let tools = self.approved.keys();
        let tools = tools.filter(|(kind, _)| *kind == ThingKind::Tool);
        tools.map(|(_, name)| &**name)
    }
}

/// A listing of which some definitions are judged.
struct Judging<'a> {
    /// The ledger before it, with which all of it is compared.
    known: &'a Ledger,
    /// The ledger after what is judged.
    next: Ledger,
    terms: ListingTerms<'a>,
    budget: Budget,
    /// [`Ledger::letters`] of the ledger before it.
    letters: OnceCell<HashSet<String>>,
}

/// What is remembered of a server, as far as it is limited.
struct Budget {
    /// The number of remembered tools.
    tools: usize,
    /// The bytes of their names.
    names: usize,
    /// The bytes of texts that may still be kept.
    texts: usize,
}

impl<'a> Judging<'a> {
    fn before(known: &'a Ledger, listed: &[Listed<'_>], terms: ListingTerms<'a>) -> Self {
        let mut next = known.clone();
        next.held.clear();
        if terms.policy.takes_changes() {
            next.keep_tools(listed);
        }
        Self {
            known,
            budget: Budget {
                tools: next.tools().count(),
                names: next.tools().map(str::len).sum(),
                texts: next.room(),
            },
            next,
            terms,
            letters: OnceCell::new(),
        }
    }

    /// Why a definition is held, if it is. The first of these rules that is about it decides:
    ///
    /// 1. With a lock file, a tool is held unless its definition is in the file.
    /// 2. Where changes are taken, only rule 11 counts.
    /// 3. Empty instructions are not held.
    /// 4. What is unchanged and was approved by a person is not held. The baseline is, if the scanner objects to it now, or did before and
    ///    nobody has looked since.
    /// 5. What is not pinned is held if the scanner objects to it.
    /// 6. What was changed since it was approved is held,
    /// 7. and all that is not approved if the approvals are lost,
    /// 8. and what the scanner objects to, or did before,
    /// 9. and a new tool with almost the name of an approved one,
    /// 10. and what cannot be remembered,
    /// 11. and every new tool where the policy holds these.
    fn reason(
        &self,
        one: &Listed<'_>,
        objects: &mut dyn FnMut(&Listed<'_>, Knowledge) -> bool,
    ) -> Option<HoldReason> {
        let (known, terms) = (self.known, self.terms);
        let is_tool = one.kind == ThingKind::Tool;
        if let Some(lock) = terms.lock.filter(|_| is_tool) {
            return lock.hold_reason(terms.server.as_str(), one.name, one.fingerprint);
        }
        let approved = known.entry(one);
        let is_new = is_tool && approved.is_none() && known.baseline == Baseline::Taken;
        let is_held_as_new = is_new && terms.policy.holds_new();
        if terms.policy.takes_changes() {
            return is_held_as_new.then_some(HoldReason::New);
        }
        if one.says_nothing() {
            return None;
        }
        let was_objected = known.was_objected(one);
        if let Some(approved) = approved.filter(|it| it.fingerprint == one.fingerprint) {
            let is_scanned = approved.by.is_none() && one.kind.is_pinned();
            let is_bad = is_scanned && (was_objected || objects(one, Knowledge::Baseline));
            return is_bad.then_some(HoldReason::Objected);
        }
        if !one.kind.is_pinned() {
            return objects(one, Knowledge::New).then_some(HoldReason::Objected);
        }
        if approved.is_some() {
            return Some(HoldReason::Changed);
        }
        if known.baseline == Baseline::Lost {
            return Some(HoldReason::Unapproved);
        }
        if was_objected || objects(one, Knowledge::New) {
            return Some(HoldReason::Objected);
        }
        let letters = || self.letters.get_or_init(|| known.letters());
        if is_new && letters().contains(&folded_name(one.name)) {
            return Some(HoldReason::Alike);
        }
        if !self.has_room(one) {
            return Some(HoldReason::TooMany);
        }
        is_held_as_new.then_some(HoldReason::New)
    }

    /// Whether the limits allow to remember this definition. Only tools are limited.
    fn has_room(&self, one: &Listed<'_>) -> bool {
        let Budget { tools, names, .. } = self.budget;
        one.kind != ThingKind::Tool || tools < MOST && names + one.name.len() <= NAMES
    }

    /// Notes that a definition is held, since when it was for this reason.
    fn hold(&mut self, one: &Listed<'_>, reason: HoldReason) -> Hold {
        let (key, fingerprint) = ((one.kind, Box::<str>::from(one.name)), one.fingerprint);
        let known = self.known.held.get(&key);
        let known = known.filter(|held| held.fingerprint == fingerprint && held.reason == reason);
        let held = Held {
            fingerprint,
            reason,
            since: known.map_or(self.terms.now, |held| held.since),
        };
        self.next.held.insert(key, held);
        Hold {
            reason,
            fingerprint,
        }
    }

    /// Notes a definition that is not held, if later ones are compared with it.
    fn record(&mut self, one: &Listed<'_>) {
        let is_known = self.known.entry(one).is_some();
        // If instructions become empty, the former ones are kept, to be compared with later ones.
        let is_kept = is_known && one.says_nothing();
        let has_room = is_known || self.has_room(one);
        if !one.kind.is_pinned() || is_kept || !has_room {
            return;
        }
        if !is_known && one.kind == ThingKind::Tool {
            self.budget.tools += 1;
            self.budget.names += one.name.len();
        }
        let now = self.terms.now;
        self.next.note(one, None, now, &mut self.budget.texts);
    }
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
            let terms = ListingTerms {
                server: &server,
                policy: self.policy,
                lock: self.lock.as_ref(),
                now: 7,
            };
            let listed = listed(&definitions);
            let pins = self.ledger.follow(&listed, terms, &mut objects);
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
            let terms = ListingTerms {
                server: &server,
                policy,
                lock: None,
                now: 7,
            };
            let pins = ledger.follow(&[one], terms, &mut objects);
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
                held("a", "lock_differs")
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
