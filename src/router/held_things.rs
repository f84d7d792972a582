//! The answers of `quarantine_security`: what is held, which rules of the scanner object to it, and where. They never repeat a server's text.

use std::collections::{BTreeMap, HashSet};

use serde_json::{Value, json};

use crate::{
    access::Caller,
    catalog::{self, ServerCatalog},
    config::ServerEntry,
    failure::{ErrorCode, Result},
    gate::Moment,
    trust::{
        approvals::ThingKind,
        scanner::{self, Finding, Scanner, Severity},
    },
    wire::{Target, method},
};

/// How many things of one server are shown.
const SHOWN_MAX: usize = 100;

/// The note on a server that mcpproxy has not contacted.
const NOT_INSPECTED: &str = "An agent added or changed this server, and mcpproxy has not contacted it since: only its entry was checked, not its tools.";

const NOT_LISTED: &str =
    "The server has not listed its tools with its current entry: only the entry was checked.";

/// The answer to `list`: everything held that this caller could have otherwise.
pub(super) fn all_held(now: &Moment, caller: &Caller) -> Value {
    let servers = now.settings().servers.keys();
    let held: Vec<Value> = servers
        .filter_map(|name| held_of(now, caller, name.as_str()))
        .collect();
    json!({ "held": held })
}

fn held_of(now: &Moment, caller: &Caller, server: &str) -> Option<Value> {
    let target = Target::method_alone(method::TOOLS_LIST);
    match now.rules().decide(caller, server, &target) {
        Err(failure) if failure.code == ErrorCode::ServerQuarantined => {
            let entry = now.rules().entry(caller, server, &target).ok()?;
            let listed = listed(now, entry);
            let found = listed.map(|listed| catalog::findings(listed, now.snapshot()));
            let of_things = found.iter().flatten().flat_map(|thing| &thing.findings);
            let of_entry = Scanner::default().entry(entry);
            Some(json!({
                "server": server,
                "what": "server",
                "code": failure.code.as_str(),
                "reason": failure.error,
                "hint": failure.hint.advice(),
                "inspected": listed.is_ok(),
                "note": listed.err(),
                "findings": in_short(of_entry.iter().chain(of_things)),
            }))
        }
        Err(_) => None,
        Ok(()) => {
            let things = held_things(now, caller, server);
            (!things.is_empty())
                .then(|| json!({ "server": server, "what": "definitions", "things": things }))
        }
    }
}

/// The held things of a server that may be used.
fn held_things(now: &Moment, caller: &Caller, server: &str) -> Vec<Value> {
    let Some(known) = now.snapshot().servers.get(server) else {
        return Vec::new();
    };
    let things = held_targets(known, now, server);
    if things.is_empty() {
        return Vec::new();
    }
    let held = things.into_iter().filter_map(|(kind, name, target)| {
        let failure = match target {
            Some(target) => now.rules().decide(caller, server, &target).err()?,
            None => now.rules().refusal_of_instructions(server)?,
        };
        let is_held = matches!(failure.code, ErrorCode::ToolChanged | ErrorCode::ToolHeld);
        is_held.then_some((kind, name, failure))
    });
    let held: Vec<_> = held.take(SHOWN_MAX).collect();
    // Scanning takes longest, so only the shown definitions are scanned.
    let names: HashSet<(ThingKind, &str)> =
        held.iter().map(|(kind, name, _)| (*kind, *name)).collect();
    let found = catalog::findings_of(known, now.snapshot(), |kind, name| {
        names.contains(&(kind, name))
    });
    let findings_of = |kind: ThingKind, name: &str| {
        let mut found = found.iter();
        let thing = found.find(|thing| thing.kind == kind && *thing.name == *name);
        in_short(thing.into_iter().flat_map(|thing| &thing.findings))
    };
    let shown = held.iter().map(|(kind, name, failure)| {
        json!({
            "code": failure.code.as_str(),
            "kind": kind.as_str(),
            "tool": failure.tool,
            "place": place_of(known, *kind, name),
            "reason": failure.error,
            "hint": failure.hint.advice(),
            "findings": findings_of(*kind, name),
        })
    });
    shown.collect()
}

/// The held things in a server's lists, each with the target of a request for it. No request is for instructions.
fn held_targets<'a>(
    known: &'a ServerCatalog,
    now: &Moment,
    server: &str,
) -> Vec<(ThingKind, &'a str, Option<Target<'a>>)> {
    let listed = known.definitions();
    let listed = listed.map(|one| (one.kind, one.name, Some(one.target())));
    let all = listed.chain([(ThingKind::Instructions, "", None)]);
    let is_held = |kind, name| now.snapshot().hold(server, kind, name).is_some();
    all.filter(|(kind, name, _)| is_held(*kind, name)).collect()
}

/// The rules and severities of findings, each pair once with its count, the worst first. `inspect` gives the places too.
fn in_short<'a>(findings: impl Iterator<Item = &'a Finding>) -> Vec<Value> {
    let mut counted: BTreeMap<(bool, &'static str), usize> = BTreeMap::new();
    for finding in findings {
        let is_remark = finding.severity == Severity::Remark;
        *counted.entry((is_remark, finding.rule)).or_default() += 1;
    }
    let shown = counted.into_iter().map(|((is_remark, rule), count)| {
        let severity = if is_remark { "remark" } else { "hold" };
        json!({ "rule": rule, "severity": severity, "meaning": scanner::in_words(rule), "count": count })
    });
    shown.collect()
}

/// The answer to `inspect`: the scanner's findings on one server.
pub(super) fn inspected(now: &Moment, caller: &Caller, server: &str) -> Result<Value> {
    let target = Target::method_alone(method::TOOLS_LIST);
    let refused = now.rules().decide(caller, server, &target).err();
    let is_quarantined = match refused {
        None => false,
        Some(failure) if failure.code == ErrorCode::ServerQuarantined => true,
        Some(failure) => return Err(failure),
    };
    let entry = now.rules().entry(caller, server, &target)?;
    let listed = listed(now, entry);
    let is_shown = |kind: ThingKind, name: &str| {
        is_quarantined || now.snapshot().hold(server, kind, name).is_some()
    };
    let found = listed.map(|listed| catalog::findings_of(listed, now.snapshot(), is_shown));
    let found = found.into_iter().flatten();
    let found = found.filter(|thing| !thing.findings.is_empty());
    let things: Vec<Value> = found
        .take(SHOWN_MAX)
        .map(|thing| {
            let name = &*thing.name;
            json!({
                "kind": thing.kind.as_str(),
                "name": scanner::is_only_a_name(name).then_some(name),
                "place": listed.ok().and_then(|listed| place_of(listed, thing.kind, name)),
                "findings": public_findings(&thing.findings),
            })
        })
        .collect();
    Ok(json!({
        "server": server,
        "quarantined": is_quarantined,
        "inspected": listed.is_ok(),
        "note": listed.err(),
        "held": held_things(now, caller, server),
        "entry": public_findings(&Scanner::default().entry(entry)),
        "findings": things,
    }))
}

/// Findings as agents see them: without the words to which a rule objects, which may be an order to the model.
pub(super) fn public_findings(findings: &[Finding]) -> Vec<Value> {
    let public = findings.iter().map(|finding| {
        json!({
            "rule": finding.rule,
            "severity": finding.severity,
            "meaning": scanner::in_words(finding.rule),
            "place": public_place(&finding.place),
        })
    });
    public.collect()
}

/// A place in a definition without those of its keys that are more than names: the server chose them.
fn public_place(place: &str) -> String {
    let first = place.split('/').nth(1).unwrap_or_default();
    if scanner::is_only_a_name(place) {
        place.to_owned()
    } else if scanner::is_only_a_name(first) {
        format!("/{first}/…")
    } else {
        "/…".to_owned()
    }
}

/// The place of a thing in its list, from 0: `tools[3]`.
fn place_of(listed: &ServerCatalog, kind: ThingKind, name: &str) -> Option<String> {
    let list = match kind {
        ThingKind::Tool => "tools",
        ThingKind::Prompt => "prompts",
        ThingKind::Resource => "resources",
        ThingKind::Template => "templates",
        ThingKind::Instructions => return Some("instructions".to_owned()),
    };
    let mut same = listed.definitions().filter(|one| one.kind == kind);
    let place = same.position(|one| one.name == name)?;
    Some(format!("{list}[{place}]"))
}

/// The lists of a server under its current configuration, or a note on why there are none.
pub(super) fn listed<'a>(
    now: &'a Moment,
    entry: &ServerEntry,
) -> Result<&'a ServerCatalog, &'static str> {
    if !entry.may_be_contacted() {
        return Err(NOT_INSPECTED);
    }
    let listed = now.snapshot().servers.get(&entry.name);
    let listed = listed.filter(|listed| *listed.entry == *entry.fingerprint);
    listed.map(AsRef::as_ref).ok_or(NOT_LISTED)
}
