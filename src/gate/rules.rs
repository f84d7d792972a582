//! The rules themselves: pure, over one state of settings and catalog. Usable without a daemon.

use super::{
    Admitted, Effect, Standing, Variant, effect, held, held_refusal, standing,
    standing::{holds_new, is_held},
};
use crate::{
    access::Caller,
    activity::{DecidedAccess, GateDecision},
    catalog::{ServerCatalog, Snapshot, Tool},
    config::{BrokenEntry, IssuedToken, ServerEntry, Settings, ToolChanges},
    failure::{Failure, Result},
    text::{names::ServerName, visible::letters},
    trust::approvals::{Hold, Pins, ThingKind},
    wire::{Raw, Target, Thing, TooLong},
};

/// What decides, over one state of settings and catalog. A list asks it once for each of its things.
#[derive(Clone, Copy)]
pub struct Rules<'a> {
    pub(super) settings: &'a Settings,
    pub(super) snapshot: &'a Snapshot,
}

/// The rules for one server, of which all is looked up once: a search asks them for thousands of its tools.
#[derive(Clone, Copy)]
pub struct ServerRules<'a, 's> {
    rules: Rules<'a>,
    server: &'s str,
    entry: Option<&'a ServerEntry>,
    known: Option<&'a ServerCatalog>,
    pins: Option<&'a Pins>,
}

/// Why something may not be had. Cheap: most refusals are never shown to anybody.
pub(super) enum Refusal<'a> {
    /// No such server, or its entry is broken.
    NoEntry(Option<&'a BrokenEntry>),
    /// The access rules keep this from the caller.
    Denied(Thing<'a>),
    /// The caller's token allows no call of this type.
    BeyondToken(Thing<'a>, &'a IssuedToken),
    Disabled,
    Quarantined(&'a Thing<'a>),
    /// The configuration of the server switches the tool off.
    ToolOff(&'a str),
    UnknownTool(&'a str),
    UnknownPrompt(&'a str),
    /// Nobody has approved its definition.
    Held(&'a Thing<'a>, ThingKind, Hold),
    /// Its name is longer than any that is looked for.
    TooLong(TooLong),
}

impl<'a> Rules<'a> {
    /// The rules of this state.
    pub fn new(settings: &'a Settings, snapshot: &'a Snapshot) -> Self {
        Self { settings, snapshot }
    }

    /// Those for a server. `server` is text: callers write what they like.
    pub fn of_server<'s>(self, server: &'s str) -> ServerRules<'a, 's> {
        ServerRules {
            rules: self,
            server,
            entry: self.find(server).ok(),
            known: self.snapshot.servers.get(server).map(AsRef::as_ref),
            pins: self.snapshot.pins.get(server).map(AsRef::as_ref),
        }
    }

    /// Whether `caller` may have what it wants of `server`, and why not.
    pub fn decide(self, caller: &Caller, server: &str, target: &Target<'_>) -> Result {
        self.of_server(server).decide(caller, target)
    }

    /// The same without the reason.
    pub fn allows(self, caller: &Caller, server: &str, target: &Target<'_>) -> bool {
        self.of_server(server).judge(caller, target).is_ok()
    }

    /// A server's instructions where many servers speak: while a change of them is held, the approved ones.
    pub fn instructions(self, server: &str) -> Option<String> {
        if self.held_instructions(server).is_none() {
            return self.snapshot.servers.get(server)?.instructions();
        }
        let approved = &self.snapshot.pins.get(server)?.ledger.approved;
        let approved = approved.get(&(ThingKind::Instructions, "".into()))?;
        Raw::parse_str(approved.definition.as_deref()?)
            .ok()?
            .string()
    }

    /// Whether not even the server's own address has its instructions: they are held, and the scanner objects to them.
    pub fn withholds_instructions(self, server: &str) -> bool {
        let known = self.snapshot.servers.get(server);
        let is_suspicious = known.is_some_and(|known| known.has_suspicious_instructions);
        is_suspicious && self.held_instructions(server).is_some()
    }

    /// Why a server's instructions are held, if they are.
    pub fn refusal_of_instructions(self, server: &str) -> Option<Failure> {
        let hold = self.held_instructions(server)?;
        Some(held_refusal::refusal_of_instructions(server, hold).of_server(server))
    }

    fn held_instructions(self, server: &str) -> Option<Hold> {
        let hold = self.snapshot.hold(server, ThingKind::Instructions, "")?;
        let entry = self.settings.servers.get(server)?;
        (entry.tool_changes == ToolChanges::Hold).then_some(*hold)
    }

    /// The entry of a server, usable or not, or why there is none for this caller and what it wants.
    pub fn entry(
        self,
        caller: &Caller,
        server: &str,
        target: &Target<'_>,
    ) -> Result<&'a ServerEntry> {
        let permitted = self.permit(caller, server, target);
        let entry = permitted.and_then(|_| self.find_for(server, target));
        entry.map_err(|refusal| self.explained(caller, server, &refusal))
    }

    /// The variant to call a tool of this server with. Never milder than what is known; reading only where the server itself says so, and
    /// its words do not say otherwise.
    pub fn call_with(self, server: &str, tool: &Tool) -> Variant {
        let is_destructive = tool.hints.destructive == Some(true);
        match effect(self.find(server).ok(), tool) {
            _ if is_destructive => Variant::Destructive,
            Effect::Deletes => Variant::Destructive,
            Effect::Reads | Effect::Unsure if tool.hints.read_only == Some(true) => Variant::Read,
            _ => Variant::Write,
        }
    }

    /// Whether a server lists it in a way that cannot be read: nobody knows what it says.
    fn leaves_out(self, entry: &ServerEntry, kind: ThingKind, name: &str) -> bool {
        let known = self.snapshot.servers.get(&entry.name);
        known.is_some_and(|known| known.leaves_out(kind, name))
    }

    /// Whether a server lists prompts but not this one, and changes of it are held: what is in no list nobody has looked at.
    fn is_unlisted_prompt(self, entry: &ServerEntry, prompt: &str) -> bool {
        let known = self.snapshot.servers.get(&entry.name);
        entry.tool_changes == ToolChanges::Hold
            && known
                .is_some_and(|known| !known.prompts.is_empty() && known.prompt(prompt).is_none())
    }

    /// Why what one connection lists of the admitted thing may not be had.
    pub(super) fn check_listed(self, admitted: &Admitted, listed: &ServerCatalog) -> Result {
        let (server, thing) = (admitted.server().as_str(), admitted.target().thing());
        let Ok(entry) = self.find(server) else {
            return Ok(());
        };
        match held::hold_of_listed(self.snapshot, entry, listed, thing) {
            Some((kind, hold)) => {
                Err(held_refusal::refusal(server, thing, kind, hold).of_server(server))
            }
            None => Ok(()),
        }
    }

    /// Whether a server that is lenient about spelling could take a name that it does not list for that of a tool which is switched
    /// off.
    fn may_be_off(self, entry: &ServerEntry, tool: &str) -> bool {
        let known = self.snapshot.servers.get(&entry.name);
        let letters = letters::folded_name(tool);
        let mut alike = known
            .iter()
            .flat_map(|known| known.tools_of_letters(&letters));
        let is_any_off = entry.tools.enabled.is_some() || !entry.tools.disabled.is_empty();
        entry.tools.disabled.matches_loosely(tool)
            || (is_any_off && letters::leads_elsewhere(tool))
            || alike.any(|other| !entry.tools.allows(&other.name))
    }

    /// The server's own name and what was decided, where the target may be had.
    pub(super) fn admit(
        self,
        caller: &Caller,
        server: &str,
        target: &Target<'_>,
    ) -> Result<(&'a ServerName, GateDecision)> {
        let judged = self.of_server(server).judge(caller, target);
        let (entry, access) = judged.map_err(|refusal| self.explained(caller, server, &refusal))?;
        let known = match target.thing() {
            Thing::Tool(tool) => self.snapshot.tool(server, tool),
            _ => None,
        };
        let bound = known.filter(|_| held::binds(self.snapshot, entry));
        let decision = GateDecision {
            access,
            definition: bound.map(|tool| tool.fingerprint),
            call_with: known.map(|tool| self.call_with(server, tool).as_str()),
        };
        Ok((&entry.name, decision))
    }

    /// Whether a tool may be called as this variant: no milder than what is known of it, unless the settings leave that to the
    /// caller.
    pub(super) fn check_variant(self, variant: Variant, server: &str, tool: &str) -> Result {
        let Some(known) = self.snapshot.tool(server, tool) else {
            return Ok(());
        };
        let declared = super::variant::declared(variant, self.find(server).ok(), known);
        let Err((needed, why)) = declared else {
            return Ok(());
        };
        if self.settings.strict_server_validation {
            return Err(super::variant::too_mild((needed, why), server, tool));
        }
        tracing::warn!(
            server,
            tool,
            declared = variant.as_str(),
            needed = needed.as_str(),
            why,
            "call made with wrong call type"
        );
        Ok(())
    }

    /// The entry of a server of which this is wanted. That one cannot be used which waits for approval is nothing for callers, who could
    /// not use it anyway.
    fn find_for<'t>(
        self,
        server: &str,
        target: &'t Target<'_>,
    ) -> Result<&'a ServerEntry, Refusal<'t>>
    where
        'a: 't,
    {
        self.find(server).map_err(|refusal| match refusal {
            Refusal::NoEntry(Some(broken)) if is_held(broken) => {
                Refusal::Quarantined(target.thing())
            }
            refusal => refusal,
        })
    }

    fn find(self, server: &str) -> Result<&'a ServerEntry, Refusal<'a>> {
        let broken = || self.settings.broken_entry(server);
        let entry = self.settings.servers.get(server);
        entry
            .map(AsRef::as_ref)
            .ok_or_else(|| Refusal::NoEntry(broken()))
    }
}

impl<'a> ServerRules<'a, '_> {
    /// [`Rules::decide`] for it.
    pub fn decide(self, caller: &Caller, target: &Target<'_>) -> Result {
        let judged = self.judge(caller, target).map(drop);
        judged.map_err(|refusal| self.rules.explained(caller, self.server, &refusal))
    }

    /// The entry of the server that the target may be had of, and what of the access rules lets it.
    fn judge<'t>(
        self,
        caller: &Caller,
        target: &'t Target<'_>,
    ) -> Result<(&'a ServerEntry, DecidedAccess), Refusal<'t>>
    where
        'a: 't,
    {
        let (rules, server) = (self.rules, self.server);
        let access = rules.permit(caller, server, target)?;
        let find = || rules.find_for(server, target);
        let entry = self.entry.map_or_else(find, Ok)?;
        match standing(entry) {
            Standing::Usable => (),
            Standing::Disabled => return Err(Refusal::Disabled),
            Standing::Quarantined => return Err(Refusal::Quarantined(target.thing())),
        }
        if let Thing::Tool(tool) = target.thing()
            && !entry.tools.allows(tool)
        {
            return Err(Refusal::ToolOff(tool));
        }
        let hold = |pins| held::hold_of(rules.snapshot, entry, pins, target.thing());
        if let Some((kind, hold)) = self.pins.and_then(hold) {
            return Err(Refusal::Held(target.thing(), kind, hold));
        }
        let tool = match target.thing() {
            Thing::Tool(tool) => tool,
            Thing::Prompt(prompt)
                if rules.is_unlisted_prompt(entry, prompt)
                    || rules.leaves_out(entry, ThingKind::Prompt, prompt) =>
            {
                return Err(Refusal::UnknownPrompt(prompt));
            }
            _ => return Ok((entry, access)),
        };
        if self.known.is_some_and(|known| known.tool(tool).is_some()) {
            return Ok((entry, access));
        }
        let is_unread = rules.leaves_out(entry, ThingKind::Tool, tool);
        if entry.tool_changes != ToolChanges::Allow
            || holds_new(rules.settings, entry)
            || rules.snapshot.is_locked()
            || is_unread
        {
            return Err(Refusal::UnknownTool(tool));
        }
        if rules.may_be_off(entry, tool) {
            return Err(Refusal::ToolOff(tool));
        }
        Ok((entry, access))
    }
}

#[cfg(test)]
mod tests {
    use std::{path::Path, sync::Arc};

    use serde_json::{Value, json};

    use super::*;
    use crate::{
        catalog::Listing,
        config::{self, Surroundings},
        failure::ErrorCode,
        trust::approvals::{Ledger, Listed, ListingTerms, Lock, PinPolicy},
        wire::{Raw, Revision},
    };

    /// A server "s" whose entry also has these members, and which lists the tool "a".
    fn state(entry: &Value) -> (Settings, Snapshot) {
        let mut entry = entry.clone();
        entry["command"] = "c".into();
        let text = json!({ "mcpServers": { "s": entry, "bad name!": {} } }).to_string();
        let surroundings = Surroundings {
            lookup: &|_| None,
            folder: Path::new("/"),
        };
        let settings = config::parse(&text, &surroundings).expect("a configuration");
        let known = Arc::new(listing(&json!({ "name": "a", "inputSchema": {} })));
        let servers = [(known.server.clone(), known)].into();
        (settings, Snapshot::new(1, servers))
    }

    /// What the server "s" offers: this tool.
    fn listing(tool: &Value) -> ServerCatalog {
        let listing = Listing {
            initialize: Raw::empty_object(),
            revision: Revision::NEWEST_LEGACY,
            tools: vec![Raw::author(tool)],
            prompts: vec![],
            resources: vec![],
            templates: vec![],
        };
        let name = ServerName::parse("s").expect("a name");
        ServerCatalog::ingest(&name, "e", listing)
    }

    #[track_caller]
    fn check(entry: &Value, server: &str, target: &Target<'_>, expected: Result<(), ErrorCode>) {
        let (settings, snapshot) = state(entry);
        let (rules, caller) = (Rules::new(&settings, &snapshot), Caller::named("anyone"));
        let decided = rules.decide(&caller, server, target);
        assert_eq!(rules.allows(&caller, server, target), decided.is_ok());
        let admitted = rules.admit(&caller, server, target).map(drop);
        assert_eq!(admitted, decided, "the same is admitted");
        let code = decided.map_err(|failure| {
            assert_eq!(failure.server.as_deref(), Some(server));
            failure.code
        });
        assert_eq!(code, expected, "{entry} {server} {target:?}");
    }

    #[test]
    fn what_is_usable_may_be_had() {
        for target in [
            Target::tool("a"),
            Target::prompt("p"),
            Target::resource("a://b"),
            Target::subscription("a://b"),
            Target::method_alone("vendor/do"),
        ] {
            check(&json!({}), "s", &target, Ok(()));
            let disabled = Err(ErrorCode::ServerDisabled);
            check(&json!({"enabled": false}), "s", &target, disabled);
            let both = json!({"enabled": false, "quarantined": true});
            check(&both, "s", &target, disabled);
            let quarantined = Err(ErrorCode::ServerQuarantined);
            check(&json!({"quarantined": true}), "s", &target, quarantined);
            check(&json!({}), "t", &target, Err(ErrorCode::UnknownServer));
            let broken = Err(ErrorCode::ServerMisconfigured);
            check(&json!({}), "bad name!", &target, broken);
        }
    }

    #[test]
    fn of_tools_only_those_that_are_on_and_listed() {
        let off = json!({"disabled_tools": ["a", "b"], "tool_changes": "allow"});
        check(&off, "s", &Target::tool("a"), Err(ErrorCode::ToolDisabled));
        let unknown = Err(ErrorCode::UnknownTool);
        check(&json!({}), "s", &Target::tool("b"), unknown);
        let changing = json!({"tool_changes": "allow"});
        check(&changing, "s", &Target::tool("b"), Ok(()));
    }

    #[test]
    fn no_spelling_of_a_tool_that_is_off_passes_for_a_new_one() {
        let off = json!({"disabled_tools": ["del_*"], "enabled_tools": ["*b", "*B", "*A*"], "tool_changes": "allow"});
        for (tool, expected) in [
            ("A", Err(ErrorCode::ToolDisabled)),
            ("-A ", Err(ErrorCode::ToolDisabled)),
            ("DEL_b", Err(ErrorCode::ToolDisabled)),
            ("del-b", Err(ErrorCode::ToolDisabled)),
            ("%41", Err(ErrorCode::ToolDisabled)),
            ("Ａ", Err(ErrorCode::ToolDisabled)),
            ("\u{410}", Err(ErrorCode::ToolDisabled)),
            ("a\u{200b}", Err(ErrorCode::ToolDisabled)),
            ("d%65l_b", Err(ErrorCode::ToolDisabled)),
            ("d\u{435}l_b", Err(ErrorCode::ToolDisabled)),
            ("x/../del_b", Err(ErrorCode::ToolDisabled)),
            ("x/../b", Err(ErrorCode::ToolDisabled)),
            ("delb", Ok(())),
            ("B", Ok(())),
        ] {
            check(&off, "s", &Target::tool(tool), expected);
        }
    }

    #[test]
    fn a_call_is_bound_to_the_definition_that_is_known() {
        let bound = |entry: &Value, target: &Target<'_>| {
            let (settings, snapshot) = state(entry);
            let rules = Rules::new(&settings, &snapshot);
            let admitted = rules.admit(&Caller::named("anyone"), "s", target);
            let (server, decision) = admitted.expect("admitted");
            let fingerprint = decision.definition;
            assert_eq!(server.as_str(), "s");
            let known = snapshot.tool("s", "a").expect("known").fingerprint;
            fingerprint.map(|fingerprint| fingerprint == known)
        };
        assert_eq!(bound(&json!({}), &Target::tool("a")), Some(true));
        assert_eq!(bound(&json!({}), &Target::prompt("a")), None);
        let changing = json!({"tool_changes": "allow"});
        assert_eq!(bound(&changing, &Target::tool("a")), None);
        assert_eq!(bound(&changing, &Target::tool("b")), None);
    }

    #[test]
    fn what_is_held_may_not_be_had_unless_changes_are_allowed() {
        let decided = |entry: &Value, lock: Option<&str>| {
            let (settings, snapshot) = state(entry);
            let server = ServerName::parse("s").expect("a name");
            let definition = json!({ "name": "a", "description": "d", "inputSchema": {} });
            let listed = [Listed {
                kind: ThingKind::Tool,
                name: "a",
                fingerprint: crate::trust::fingerprint::Fingerprint::of_tool(&Raw::author(
                    &definition,
                )),
                definition: "",
            }];
            let ledger = Arc::new(Ledger::lost());
            let lock = lock.map(|text| Lock::parse(text).expect("a lock file"));
            let terms = ListingTerms {
                server: &server,
                policy: PinPolicy::Hold,
                lock: lock.as_ref(),
                now: 7,
            };
            let pins = ledger.follow(&listed, terms, &mut |_, _| false);
            let pins = [(server, Arc::new(pins))].into();
            let snapshot = Snapshot::judged(1, snapshot.servers, pins, lock.map(Arc::new));
            let rules = Rules::new(&settings, &snapshot);
            let asked = |tool| rules.decide(&Caller::named("anyone"), "s", &Target::tool(tool));
            [asked("a"), asked("b")].map(|decided| decided.map_err(|failure| failure.code))
        };
        let (held, unknown) = (Err(ErrorCode::ToolHeld), Err(ErrorCode::UnknownTool));
        let allow = json!({ "tool_changes": "allow" });
        let empty = r#"{"version":1,"tools":[]}"#;
        assert_eq!(decided(&json!({}), None), [held, unknown]);
        assert_eq!(decided(&allow, None), [Ok(()), Ok(())]);
        assert_eq!(decided(&json!({}), Some(empty)), [held, unknown]);
        assert_eq!(decided(&allow, Some(empty)), [held, unknown]);
        let waits = json!({ "tool_changes": "allow", "new_tools": "hold" });
        assert_eq!(decided(&waits, None), [Ok(()), unknown]);
        let off = json!({ "disabled_tools": ["a"] });
        assert_eq!(decided(&off, None), [Err(ErrorCode::ToolDisabled), unknown]);
    }

    #[test]
    fn a_tool_is_called_with_what_is_known_of_it_and_never_as_reading_on_a_guess() {
        let (settings, snapshot) = state(&json!({}));
        let rules = Rules::new(&settings, &snapshot);
        let check = |name: &str, annotations: Value, expected| {
            let tool = json!({ "name": name, "inputSchema": {}, "annotations": annotations });
            let found = rules.call_with("s", &listing(&tool).tools[0]);
            assert_eq!(found, expected, "{tool}");
        };
        check("x", json!({}), Variant::Write);
        check("get_x", json!({}), Variant::Write);
        check("delete_x", json!({}), Variant::Destructive);
        let read_only = |is| json!({ "readOnlyHint": is });
        check("x", read_only(true), Variant::Read);
        check("delete_x", read_only(true), Variant::Destructive);
        check("transfer_x", read_only(true), Variant::Write);
        check("execute_x", read_only(true), Variant::Write);
        check("get_x", read_only(true), Variant::Read);
        check("x", read_only(false), Variant::Write);
        let destructive = |is| json!({ "destructiveHint": is });
        check("x", destructive(true), Variant::Destructive);
        check("delete_x", destructive(false), Variant::Destructive);
        let both = json!({ "destructiveHint": true, "readOnlyHint": true });
        check("x", both, Variant::Destructive);
    }
}
