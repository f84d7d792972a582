//! The review of a server before a person trusts it: its entry, its definitions, what is held and why, and what changed.

use std::{collections::BTreeMap, path::PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    Backing, EntryReview, Management, OperatorView, ServerRow, ServerState, ShownFinding,
    ShownParameter, WhatMatters,
    definition_diff::{diff, whole},
    entry_review::ShownIn,
    parameters::parameters,
    shown_finding::shown_findings,
    what_matters::what_matters,
};
use crate::{
    catalog::{self, ServerCatalog, without_values},
    config::{Author, ServerEntry},
    failure::Result,
    gate::Variant,
    text::Secrets,
    trust::{
        approvals::{HoldReason, Pins, ThingKind, utc},
        fingerprint::Fingerprint,
        scanner::{Finding, Scanner},
    },
    wire::Raw,
};

/// A server and its definitions.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Inspection {
    /// The state of the server.
    pub server: ServerRow,
    /// The entry as the file has it, with secrets as `***`.
    pub entry: Option<Value>,
    /// What agents changed since you last approved the entry, if that is known and keeps the server quarantined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry_review: Option<EntryReview>,
    /// The mark of this review; an approval repeats it.
    pub seen: String,
    /// Whether the lists have been read.
    pub inspected: bool,
    /// Whether there is nothing to review, because nothing was listed; an approval then needs `unseen`.
    #[serde(default)]
    pub unseen: bool,
    /// Whether mcpproxy has not contacted the server because an agent wrote its entry.
    #[serde(default)]
    pub awaits_contact: bool,
    /// Why the lists could not be read, and what to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contact_error: Option<String>,
    /// The lock file in use; with one, nothing can be approved here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock_file: Option<PathBuf>,
    /// The next step about held definitions, with a lock file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock_step: Option<String>,
    /// The scanner's findings in the entry.
    pub entry_findings: Vec<ShownFinding>,
    /// All listed definitions, held ones first, and the instructions.
    pub things: Vec<InspectedThing>,
}

/// A listed definition.
#[derive(Debug, Clone, Default, Serialize, Deserialize, schemars::JsonSchema)]
pub struct InspectedThing {
    /// `tool`, `prompt`, `resource`, `template` or `instructions`.
    #[schemars(with = "String")]
    pub kind: ThingKind,
    /// The server's own name for it.
    pub name: String,
    /// Whether it is held.
    pub held: bool,
    /// Whether the entry disables the tool.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub disabled: bool,
    /// Why it is held: `changed`, `suspicious`, `unapproved`, `new`, `alike`, `too_many`, `not_locked` or `lock_differs`; or `unreadable`,
    /// which cannot be approved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub reason: Option<ReviewReason>,
    /// The reason in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explanation: Option<String>,
    /// When it was first held.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_since: Option<String>,
    /// The call type of a tool: `read`, `write` or `destructive`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub call_with: Option<Variant>,
    /// The server's description of it, or its instructions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The parameters of a tool.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<ShownParameter>,
    /// The fingerprint of the listed definition of a tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// Who approved a definition of this name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved_by: Option<String>,
    /// When it was approved, or first seen on a trusted server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved_at: Option<String>,
    /// When the texts of a prompt, a resource or a template were first seen, if they have changed since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed_since: Option<String>,
    /// The scanner's findings.
    pub findings: Vec<ShownFinding>,
    /// The lines that changed since the approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// What matters in the change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub what_matters: Option<WhatMatters>,
    /// The whole definition as listed now, laid out as JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition: Option<String>,
}

/// Why clients do not get a definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReviewReason {
    /// It cannot be read, and so not be approved.
    Unreadable,
    /// It is held.
    #[serde(untagged)]
    Held(HoldReason),
}

impl Inspection {
    /// How many definitions are held.
    pub fn count_held(&self) -> usize {
        self.things.iter().filter(|thing| thing.held).count()
    }

    /// Why an attempt to list the server for this review read nothing, if it is quarantined; it may also be under way.
    pub(super) fn missed(&self) -> Option<String> {
        let (row, late) = (&self.server, || "it listed nothing in time".to_owned());
        let is_down = matches!(row.state, ServerState::Error | ServerState::Authenticating);
        match row.state {
            _ if !row.awaits_approval() => None,
            ServerState::Connecting => Some(late()),
            _ if is_down || row.is_disabled() => failed_contact(row),
            _ => (!self.inspected).then(late),
        }
    }
}

impl InspectedThing {
    /// Whether its definition cannot be read, so that no client gets it.
    pub fn is_unreadable(&self) -> bool {
        self.reason == Some(ReviewReason::Unreadable)
    }
}

impl<B: Backing> Management<B> {
    /// The review of a server by what is known. Contacts nothing.
    pub fn inspect(&self, name: &str) -> Result<Inspection> {
        let row = self.server(name)?;
        let view = self.view()?;
        let (settings, lock) = (&view.settings, view.lists.lock.as_ref());
        let entry = settings.readable_entry(name);
        let print = entry.map_or("", |entry| &entry.fingerprint);
        let as_written = entry.map_or("", |entry| &entry.as_written);
        let listed = view.listed(name, entry.map(AsRef::as_ref));
        let findings = entry.map(|entry| Scanner::default().entry(entry));
        let secrets = entry.map_or_else(Secrets::default, |entry| entry.secrets.clone());
        let (shown_entry, entry_review) = self.reviewed_entry(settings, name, ShownIn::Review);
        let broken = settings.broken_entry(name);
        let broken = broken.filter(|_| row.awaits_approval());
        let contact_error = broken.map(Self::why_not_listed);
        let contact_error = contact_error.or_else(|| failed_contact(&row));
        let contact_error = contact_error.filter(|_| listed.is_none());
        Ok(Inspection {
            server: row,
            entry: shown_entry,
            entry_review,
            contact_error,
            seen: catalog::seen(print, as_written, listed),
            inspected: listed.is_some(),
            unseen: listed.is_none_or(ServerCatalog::lists_nothing),
            awaits_contact: entry.is_some_and(|entry| awaits_contact(entry)),
            entry_findings: shown_findings(&secrets, findings.unwrap_or_default()),
            lock_file: lock.map(|lock| lock.file().to_owned()),
            lock_step: lock.map(|lock| lock.next_step()),
            things: listed.map_or_else(Vec::new, |listed| things(listed, &secrets, &view)),
        })
    }
}

/// Whether a server is not contacted because an agent wrote its entry.
pub(super) fn awaits_contact(entry: &ServerEntry) -> bool {
    entry.changed_by == Author::Agent && !entry.may_be_contacted()
}

/// Why a quarantined server could not be listed, and what to do about it; nothing while it is tried.
fn failed_contact(row: &ServerRow) -> Option<String> {
    let is_over = row.awaits_approval() && row.state != ServerState::Connecting;
    let off = row.is_disabled().then_some("it is disabled");
    let why = off.or(row.last_error.as_deref()).filter(|_| is_over)?;
    let step = row.next_step.as_ref();
    Some(step.map_or_else(|| why.to_owned(), |step| format!("{why}; {step}")))
}

/// Every definition of a server for its review, held ones first.
fn things(listed: &ServerCatalog, secrets: &Secrets, view: &OperatorView) -> Vec<InspectedThing> {
    let none = Pins::default();
    let pins = view.lists.pins.get(&listed.server);
    let pins = pins.map_or(&none, |pins| &**pins);
    let definitions = definitions(listed);
    let all = catalog::findings(listed, &view.lists).into_iter();
    let things = all.map(|one| {
        let (kind, name, findings) = (one.kind, one.name, one.findings);
        let definition = definitions.get(&(kind, &*name));
        let mut thing = thing(listed, secrets, pins, (kind, &name), definition, findings);
        if kind == ThingKind::Tool {
            thing.call_with = view.call_variant(listed.server.as_str(), &name);
            let entry = view.settings.servers.get(&listed.server);
            thing.disabled = entry.is_some_and(|entry| !entry.tools.allows(&name));
        }
        thing
    });
    let mut things: Vec<InspectedThing> = things.collect();
    things.extend(unreadable(listed, secrets));
    things.sort_by_key(|thing| !thing.held);
    things
}

/// How many unreadable definitions a review shows. The log has more.
const UNREADABLE_SHOWN: usize = 100;

/// The definitions that are in no list because they cannot be read, and why.
fn unreadable<'a>(
    listed: &'a ServerCatalog,
    secrets: &'a Secrets,
) -> impl Iterator<Item = InspectedThing> + 'a {
    let problems = listed.problems.iter().filter(|problem| problem.is_left_out);
    let named = problems.filter_map(|problem| Some((problem, problem.name.as_deref()?)));
    let unreadable = named.filter(|(problem, name)| !listed.keeps(problem.kind, name));
    unreadable
        .take(UNREADABLE_SHOWN)
        .map(|(problem, name)| InspectedThing {
            reason: Some(ReviewReason::Unreadable),
            explanation: Some(format!("left out: {}", secrets.redacted(&problem.why))),
            kind: problem.kind,
            name: name.to_owned(),
            ..InspectedThing::default()
        })
}

/// A definition for the review, with what changed since its approval.
fn thing(
    listed: &ServerCatalog,
    secrets: &Secrets,
    pins: &Pins,
    (kind, name): (ThingKind, &str),
    definition: Option<&Raw>,
    findings: Vec<Finding>,
) -> InspectedThing {
    let key = (kind, name.into());
    let hold = pins.hold(kind, name);
    let approved = pins.ledger.approved.get(&key);
    let since = pins.ledger.held.get(&key).map(|held| utc(held.since));
    let before = approved.and_then(|approved| approved.definition.as_deref());
    let before = before.filter(|_| hold.is_some());
    let findings = shown_findings(secrets, findings);
    let changed = before.zip(definition).map(|(before, now)| {
        let [before, now] = [before, now.as_str()]
            .map(|text| without_values::definition(secrets, text).into_owned());
        (diff(&before, &now), what_matters(&before, &now, &findings))
    });
    let (diff, matters) = changed.unzip();
    let tool = listed.tool(name).filter(|_| kind == ThingKind::Tool);
    let first = pins.ledger.first_seen.get(&key);
    let texts = definition.map(Fingerprint::of_texts);
    let first = first.filter(|first| texts.is_some_and(|texts| texts != first.fingerprint));
    InspectedThing {
        held: hold.is_some(),
        reason: hold.map(|hold| ReviewReason::Held(hold.reason)),
        explanation: hold.map(|hold| hold.reason.explained(kind).to_owned()),
        held_since: since,
        description: definition.and_then(|definition| {
            let text = definition
                .get("description")
                .or_else(|| (kind == ThingKind::Instructions).then(|| definition.clone()));
            Some(without_values::text(secrets, &text?.string()?))
        }),
        parameters: tool.map_or_else(Vec::new, |tool| {
            let definition = without_values::definition(secrets, tool.definition.as_str());
            parameters(&definition)
        }),
        fingerprint: tool.map(|tool| tool.fingerprint.to_hex()),
        approved_by: approved.and_then(|approved| approved.by.as_deref().map(str::to_owned)),
        approved_at: approved.map(|approved| utc(approved.at)),
        changed_since: first.map(|first| utc(first.at)),
        findings,
        diff,
        what_matters: matters,
        definition: definition.map(|definition| whole(secrets, definition)),
        kind,
        name: name.to_owned(),
        ..InspectedThing::default()
    }
}

/// Every definition that a server lists, and its instructions.
fn definitions(listed: &ServerCatalog) -> BTreeMap<(ThingKind, &str), Raw> {
    let all = listed.definitions();
    let all = all.map(|one| ((one.kind, one.name), one.definition.clone()));
    let instructions = listed.listing.initialize.get("instructions");
    let instructions = instructions.map(|text| ((ThingKind::Instructions, ""), text));
    all.chain(instructions).collect()
}
