//! Compares what servers list with what was approved: asks the scanner about what is new, and says what is held. Owns the ledgers;
//! the catalog's task is their only writer.

use std::{
    cell::{OnceCell, RefCell},
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{ServerCatalog, Snapshot, Tool, suspicion::is_grave};
use crate::{
    activity::{Activity, TouchedThing},
    failure::{ErrorCode, Failure, NextStep, Result},
    text::names::{self, ServerName},
    trust::{
        approvals::{
            self, Approval, ApprovalStep, Knowledge, Ledger, Listed, Lock, PinPolicy, Pins,
            ThingKind, now,
        },
        fingerprint::Fingerprint,
        scanner::{self, Finding, Neighbours, Scanner},
    },
    wire::Raw,
};

/// A person's approval of what a server lists.
#[derive(Debug, Clone)]
pub struct ApprovalRequest {
    /// The server.
    pub server: ServerName,
    /// The fingerprint of its configuration.
    pub entry: String,
    /// What stands for the whole text of its entry.
    pub as_written: String,
    /// What the person saw: [`seen`] of that moment.
    pub seen: String,
    /// What is approved.
    pub approval: Approval,
}

/// The ledgers of the configured servers.
pub(super) struct Pinning {
    pub(super) data_dir: PathBuf,
    pub(super) policies: BTreeMap<ServerName, PinPolicy>,
    pub(super) ledgers: BTreeMap<ServerName, Arc<Ledger>>,
    pub(super) lock: Option<Arc<Lock>>,
    /// Servers that a person took out, whose files may still be there for a moment.
    pub(super) forgotten: BTreeSet<ServerName>,
}

impl Pinning {
    pub(super) fn policy(&self, server: &ServerName) -> PinPolicy {
        let policy = self.policies.get(server);
        policy.copied().unwrap_or(PinPolicy::Untrusted)
    }

    pub(super) fn ledger(&self, server: &ServerName) -> Arc<Ledger> {
        self.ledgers.get(server).cloned().unwrap_or_default()
    }

    /// Lets go what was approved of a server. Until it is configured again nothing is learnt of it.
    pub(super) fn forget(&mut self, server: &ServerName) {
        self.ledgers.remove(server);
        self.policies.remove(server);
        self.forgotten.insert(server.clone());
    }

    /// What is held of a listing. The ledger that comes with it is the one that counts from now on.
    pub(super) fn judge(&mut self, server: &ServerCatalog, beside: &Beside<'_>) -> Arc<Pins> {
        let ledger = self.ledger(&server.server);
        let policy = self.policy(&server.server);
        let pins = judge(server, beside, &ledger, policy, self.lock.as_deref());
        if self.policies.contains_key(&server.server) {
            let ledger = pins.ledger.clone();
            self.ledgers.insert(server.server.clone(), ledger);
        }
        Arc::new(pins)
    }

    /// The same of what only some clients see. Of the ledger it only adds what is approved.
    pub(super) fn judge_own(&mut self, server: &ServerCatalog, beside: &Beside<'_>) -> Arc<Pins> {
        let ledger = self.ledger(&server.server);
        let policy = self.policy(&server.server);
        let pins = judge(server, beside, &ledger, policy, self.lock.as_deref());
        if policy.holds_changes() && pins.ledger.approved != ledger.approved {
            let learnt = Ledger {
                approved: pins.ledger.approved.clone(),
                ..Ledger::clone(&ledger)
            };
            self.ledgers.insert(server.server.clone(), Arc::new(learnt));
        }
        Arc::new(pins)
    }
}

/// What is held of a listing.
pub(super) fn judge(
    server: &ServerCatalog,
    beside: &Beside<'_>,
    ledger: &Arc<Ledger>,
    policy: PinPolicy,
    lock: Option<&Lock>,
) -> Pins {
    let concerns_others = OnceCell::new();
    let concerns_others = || *concerns_others.get_or_init(|| beside.may_concern(server));
    let mut objects = |one: &Listed<'_>, known: Knowledge| {
        if known == Knowledge::Baseline && !concerns_others() {
            return false;
        }
        match one.kind {
            ThingKind::Tool => {
                let tool = server.tool(one.name);
                tool.is_some_and(|tool| {
                    let scanner = || beside.scanner.borrow_mut();
                    known == Knowledge::New && objects_to(&server.server, tool, &mut scanner())
                        || beside.imitates(server, tool, known)
                        || concerns_others() && beside.orders_about_others(server, tool)
                })
            }
            ThingKind::Instructions => {
                known == Knowledge::New && server.has_suspicious_instructions
                    || beside.objects_to_instructions(server)
            }
            // Of these nothing else is listed.
            ThingKind::Prompt | ThingKind::Resource | ThingKind::Template => true,
        }
    };
    let at = now();
    let mut pins = with_listed(server, |listed| {
        ledger.follow(&server.server, listed, policy, lock, &mut objects, at)
    });
    if policy != PinPolicy::Untrusted && lock.is_none() {
        let is_replaced = policy.takes_changes();
        pins.ledger = pins.ledger.seeing(texts(server), is_replaced, at);
    }
    pins
}

/// What the things say that are not pinned.
fn texts(server: &ServerCatalog) -> impl Iterator<Item = (ThingKind, &str, Fingerprint)> {
    let listed = server.definitions();
    listed.filter_map(|one| Some((one.kind, one.name, one.texts?)))
}

/// Whether the scanner objects to a tool, whatever others list: each definition is read once.
fn objects_to(server: &ServerName, tool: &Tool, scanner: &mut Scanner) -> bool {
    let alone = Neighbours::default();
    let read = || is_grave(&scanner.tool(server.as_str(), &tool.definition, &alone));
    *tool.is_suspicious.get_or_init(read)
}

/// What all servers list, with which a listing is compared.
pub(super) struct Beside<'a> {
    servers: &'a BTreeMap<ServerName, Arc<ServerCatalog>>,
    names: OnceCell<Neighbours>,
    scanner: RefCell<Scanner>,
}

impl<'a> Beside<'a> {
    pub(super) fn new(servers: &'a BTreeMap<ServerName, Arc<ServerCatalog>>) -> Self {
        Self {
            servers,
            names: OnceCell::new(),
            scanner: RefCell::default(),
        }
    }

    /// Whether what a server lists may be about another one at all.
    fn may_concern(&self, server: &ServerCatalog) -> bool {
        let others = self.servers.values();
        let mut others = others.filter(|other| other.server != server.server);
        others.any(|other| server.relations().may_be_about(other.relations()))
    }

    /// The other servers that list something that may be about this one.
    pub(super) fn may_be_about(
        &self,
        one: &ServerCatalog,
    ) -> impl Iterator<Item = &'a ServerCatalog> {
        let others = self.servers.values().map(AsRef::as_ref);
        let others = others.filter(|other: &&ServerCatalog| other.server != one.server);
        others.filter(|other| other.relations().may_be_about(one.relations()))
    }

    fn imitates(&self, server: &ServerCatalog, tool: &Tool, known: Knowledge) -> bool {
        let name = (server.server.as_str(), &*tool.name);
        scanner::imitates(name, self.names(), known)
    }

    fn orders_about_others(&self, server: &ServerCatalog, tool: &Tool) -> bool {
        let scanner = self.scanner.borrow();
        scanner.orders_about_others(server.server.as_str(), &tool.definition, self.names())
    }

    fn objects_to_instructions(&self, server: &ServerCatalog) -> bool {
        let words = server.listing.initialize.get("instructions");
        words.is_some_and(|words| {
            let scanner = self.scanner.borrow();
            scanner.orders_about_others(server.server.as_str(), &words, self.names())
        })
    }

    fn names(&self) -> &Neighbours {
        self.names
            .get_or_init(|| neighbours(self.servers.values().map(AsRef::as_ref)))
    }
}

/// Asks the scanner about what nobody approved, so that the catalog's task, for which everybody waits, does not have to. Blocks.
pub(super) fn scan_what_is_new(server: &ServerCatalog, known: &Snapshot) {
    server.relations();
    let pins = known.pins.get(&server.server);
    let is_approved = |tool: &&Tool| {
        let approved = pins.and_then(|pins| {
            let key = (ThingKind::Tool, tool.name.clone());
            pins.ledger.approved.get(&key)
        });
        approved.is_some_and(|approved| approved.fingerprint == tool.fingerprint)
    };
    let mut scanner = Scanner::default();
    for tool in server.tools.iter().filter(|tool| !is_approved(tool)) {
        objects_to(&server.server, tool, &mut scanner);
    }
}

fn neighbours_of(
    server: &ServerCatalog,
    others: &BTreeMap<ServerName, Arc<ServerCatalog>>,
) -> Neighbours {
    let others = others.values().map(AsRef::as_ref);
    let others = others.filter(|other| other.server != server.server);
    neighbours(others.chain([server]))
}

fn neighbours<'s>(servers: impl Iterator<Item = &'s ServerCatalog>) -> Neighbours {
    Neighbours::new(servers.flat_map(|server| {
        let tools = server.tools.iter();
        tools.map(|tool| (server.server.as_str(), &*tool.name))
    }))
}

/// The subjects of approvals: the server's instructions, every tool, and of the rest what the scanner objects to.
fn with_listed<T>(server: &ServerCatalog, then: impl FnOnce(&[Listed<'_>]) -> T) -> T {
    let words = server.listing.initialize.get("instructions");
    // What cannot be read says something.
    let is_text = |words: &Raw| words.as_bytes().starts_with(b"\"");
    let words = words.filter(|words| match words.string() {
        Some(text) => !text.trim().is_empty(),
        None => is_text(words),
    });
    // To say nothing is a baseline, too.
    let words = words.unwrap_or_else(|| Raw::author(&""));
    let mut listed = vec![of_value(ThingKind::Instructions, "", &words)];
    listed.extend(server.tools.iter().map(|tool| Listed {
        kind: ThingKind::Tool,
        name: &tool.name,
        fingerprint: tool.fingerprint,
        definition: tool.definition.as_str(),
    }));
    let suspicious = server.definitions().filter(|one| one.is_suspicious);
    listed.extend(suspicious.map(|one| of_value(one.kind, one.name, one.definition)));
    then(&listed)
}

fn of_value<'a>(kind: ThingKind, name: &'a str, definition: &'a Raw) -> Listed<'a> {
    Listed {
        kind,
        name,
        fingerprint: Fingerprint::of_value(definition),
        definition: definition.as_str(),
    }
}

/// How many hexadecimal digits [`seen`] has.
pub const SEEN_LENGTH: usize = 32;

/// A digest of all that a person saw of a server: its configuration, all that is written in its entry, every definition that it lists,
/// held or not, and its instructions. Another one of these is another text. A server chooses all that it lists, before and after: even
/// so it cannot find two lists of which a person would see the same (128 bits).
pub fn seen(entry: &str, as_written: &str, listed: Option<&ServerCatalog>) -> String {
    let listed = listed.filter(|listed| *listed.entry == *entry);
    let digests = listed.map(all_listed);
    let mut hex = Fingerprint::of_value(&Raw::author(&(entry, as_written, digests))).to_hex();
    hex.truncate(SEEN_LENGTH);
    hex
}

/// Everything that a server lists, by kind, name and digest of the whole: a review shows also what no fingerprint of a tool counts.
fn all_listed(server: &ServerCatalog) -> Vec<(&'static str, &str, String)> {
    let digest = |definition: &Raw| Fingerprint::of_value(definition).to_hex();
    let listed = server.definitions();
    let listed = listed.map(|one| (one.kind, one.name, digest(one.definition)));
    let instructions = server.listing.initialize.get("instructions");
    let instructions = instructions.map(|text| (ThingKind::Instructions, "", digest(&text)));
    let all = listed.chain(instructions);
    all.map(|(kind, name, digest)| (kind.as_str(), name, digest))
        .collect()
}

/// The ledger after an approval, if what was seen is what is listed now.
pub(super) fn approved(
    request: &ApprovalRequest,
    listed: Option<&ServerCatalog>,
    ledger: &Ledger,
) -> Result<Ledger> {
    let name = &request.server;
    if seen(&request.entry, &request.as_written, listed) != request.seen {
        let error = format!(
            "the fingerprint is not the current one of {name:?}, which may have changed since your review"
        );
        let failure = Failure::new(ErrorCode::ToolChanged, error, "Review it again.");
        return Err(failure.with_step(NextStep::Review).of_server(name));
    }
    let listed = listed.filter(|listed| *listed.entry == *request.entry);
    let approved = match listed {
        Some(listed) => with_listed(listed, |listed| ledger.approve(listed, &request.approval)),
        None => ledger.approve(&[], &request.approval),
    };
    approved.map_err(|thing| {
        let error = if thing.is_empty() {
            format!("the instructions of the server {name:?} are not held")
        } else {
            format!("the server {name:?} has nothing named {thing:?} that can be approved")
        };
        let known = listed.into_iter().flat_map(ServerCatalog::definitions);
        let known = known.map(|one| one.name).filter(|name| *name != thing);
        Failure::new(ErrorCode::UnknownTool, error, "Look at what it lists.")
            .with_closest(names::closest(&thing, known))
            .with_step(NextStep::Review)
            .of_server(name)
            .of_tool(thing)
    })
}

/// Why nothing can be approved while a lock file is in force.
fn locked(server: &ServerName, lock: &Lock) -> Failure {
    let file = lock.file().display();
    let error = format!("the lock file {file} is in force");
    Failure::new(ErrorCode::ToolHeld, error, lock.next_step()).of_server(server)
}

/// Nothing can be approved while a lock file is in force.
pub(super) fn check_unlocked(server: &ServerName, lock: Option<&Lock>) -> Result {
    lock.map_or(Ok(()), |lock| Err(locked(server, lock)))
}

/// An approval without a daemon: over the last known lists, and at once in the file. Blocks.
pub fn approve_in_files(
    data_dir: &Path,
    request: &ApprovalRequest,
    listed: Option<&ServerCatalog>,
    lock: Option<&Lock>,
) -> Result<ApprovalStep> {
    check_unlocked(&request.server, lock)?;
    let ledger = approvals::load(data_dir, &request.server);
    let next = approved(request, listed, &ledger)?;
    save(data_dir, &request.server, &next)?;
    Ok(ApprovalStep::between(&request.server, &ledger, &next))
}

pub(super) fn save(data_dir: &Path, server: &ServerName, ledger: &Ledger) -> Result {
    let saved = approvals::save(data_dir, server, ledger);
    saved.map_err(|error| not_saved(server, &error.to_string()))
}

pub(super) fn not_saved(server: &ServerName, why: &str) -> Failure {
    let error = format!("the approval could not be saved: {why}");
    let hint = "Check that the data folder may be written, then approve again.";
    Failure::new(ErrorCode::Internal, error, hint).of_server(server)
}

/// A snapshot of last known lists with what is held of them, as a daemon would start with it. Reads the ledgers, and sets
/// damaged ones aside as the daemon does. Blocks.
pub fn with_pins_of_files(
    data_dir: &Path,
    servers: BTreeMap<ServerName, Arc<ServerCatalog>>,
    policy: impl Fn(&ServerName) -> PinPolicy,
    lock: Option<Arc<Lock>>,
) -> Snapshot {
    let beside = Beside::new(&servers);
    let pins = servers.values().map(|server| {
        let ledger = Arc::new(approvals::load(data_dir, &server.server));
        let policy = policy(&server.server);
        let pins = judge(server, &beside, &ledger, policy, lock.as_deref());
        (server.server.clone(), Arc::new(pins))
    });
    let pins = pins.collect();
    Snapshot::judged(0, servers, pins, lock)
}

/// The scanner's findings on everything that a server lists, for people and for those who ask on their behalf.
pub fn findings(
    server: &ServerCatalog,
    snapshot: &Snapshot,
) -> Vec<(ThingKind, Box<str>, Vec<Finding>)> {
    findings_of(server, snapshot, |_, _| true)
}

/// The same of those things that are wanted.
pub fn findings_of(
    server: &ServerCatalog,
    snapshot: &Snapshot,
    is_wanted: impl Fn(ThingKind, &str) -> bool,
) -> Vec<(ThingKind, Box<str>, Vec<Finding>)> {
    let neighbours = neighbours_of(server, &snapshot.servers);
    let name = server.server.as_str();
    let listed = server.definitions();
    let listed = listed.filter(|one| is_wanted(one.kind, one.name));
    let mut scanner = Scanner::default();
    let listed = listed.map(|one| {
        let found = match one.kind {
            ThingKind::Tool => scanner.tool(name, one.definition, &neighbours),
            _ => scanner.thing(one.definition),
        };
        (one.kind, one.name.into(), found)
    });
    let mut found: Vec<_> = listed.collect();
    let instructions = server.listing.initialize.get("instructions");
    let instructions = instructions.filter(|_| is_wanted(ThingKind::Instructions, ""));
    let instructions = instructions.map(|text| {
        let found = scanner.instructions(name, &text, &neighbours);
        (ThingKind::Instructions, "".into(), found)
    });
    found.extend(instructions);
    found
}

/// The scanner's findings on one tool of a server.
pub fn findings_of_tool(server: &ServerCatalog, tool: &str, snapshot: &Snapshot) -> Vec<Finding> {
    let Some(tool) = server.tool(tool) else {
        return Vec::new();
    };
    let neighbours = neighbours_of(server, &snapshot.servers);
    Scanner::default().tool(server.server.as_str(), &tool.definition, &neighbours)
}

/// Held definitions of one listing that are logged one by one.
const SHOWN: usize = 10;

/// Tells the operator what is held now and was not before. What strangers named is shown by the log as text.
pub(super) fn note_held(
    server: &ServerName,
    before: Option<&Pins>,
    now: &Pins,
    activity: &Activity,
) {
    let held = now.ledger.held.iter();
    let new = held.filter(|((kind, name), held)| {
        let known = before.and_then(|before| before.hold(*kind, name));
        let is_known = known.is_some_and(|known| {
            known.reason == held.reason && known.fingerprint == held.fingerprint
        });
        now.hold(*kind, name).is_some() && !is_known
    });
    for ((kind, name), held) in new.clone().take(SHOWN) {
        let (kind, why) = (kind.as_str(), held.reason.explained(*kind));
        tracing::warn!(%server, kind, name = &**name, why, "definition held until you approve it");
    }
    if let Some(more @ 1..) = new.clone().count().checked_sub(SHOWN) {
        tracing::warn!(%server, more, "further definitions are held");
    }
    let things = new.map(|((kind, name), held)| TouchedThing {
        kind: kind.as_str(),
        name: name.clone(),
        fingerprint: Some(held.fingerprint),
        why: Some(held.reason.explained(*kind)),
    });
    activity.note_held(server.as_str(), things);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{catalog::Listing, wire::Revision};

    #[test]
    fn another_word_of_anything_that_is_shown_is_another_thing_that_was_seen() {
        let listing = |changed: &str| {
            let word = |part: &str| if part == changed { "other" } else { "same" };
            let raw = |text: String| Raw::parse_str(&text).expect("JSON");
            Listing {
                initialize: raw(format!(r#"{{"instructions":"{}"}}"#, word("instructions"))),
                revision: Revision::NEWEST_LEGACY,
                tools: vec![raw(format!(
                    r#"{{"name":"t","title":"{}","_meta":{{"x":"{}"}},"inputSchema":{{"type":"object"}}}}"#,
                    word("tool"),
                    word("meta")
                ))],
                prompts: vec![raw(format!(
                    r#"{{"name":"p","description":"{}"}}"#,
                    word("prompt")
                ))],
                resources: vec![raw(format!(
                    r#"{{"uri":"r://x","name":"{}"}}"#,
                    word("resource")
                ))],
                templates: vec![raw(format!(
                    r#"{{"uriTemplate":"r://{{n}}","name":"{}"}}"#,
                    word("template")
                ))],
            }
        };
        let name = ServerName::parse("s").expect("a name");
        let seen_of = |changed: &str| {
            let listed = ServerCatalog::ingest(&name, "e", listing(changed));
            seen("e", "as written", Some(&listed))
        };
        let reviewed = seen_of("");
        // Whoever chooses both lists must not find two of the same.
        assert_eq!(reviewed.len(), 128 / 4);
        assert_eq!(reviewed, seen_of("nothing"));
        for part in [
            "instructions",
            "tool",
            "meta",
            "prompt",
            "resource",
            "template",
        ] {
            assert_ne!(reviewed, seen_of(part), "{part}");
        }
        let listed = ServerCatalog::ingest(&name, "e", listing(""));
        assert_ne!(reviewed, seen("e", "written anew", Some(&listed)));
    }
}
