//! Compares what servers list with what was approved: asks the scanner about what is new, and says what is held. Owns the ledgers;
//! the catalog's task is their only writer.

use std::{
    cell::{OnceCell, RefCell},
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{ServerCatalog, Snapshot, Tool, ingest::is_grave};
use crate::{
    activity::{Activity, TouchedThing},
    text::names::ServerName,
    trust::{
        approvals::{
            self, Knowledge, Ledger, Listed, ListingTerms, Lock, PinPolicy, Pins, ThingKind, now,
        },
        fingerprint::Fingerprint,
        scanner::{self, Neighbours, Scanner},
    },
    wire::Raw,
};

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

    /// What is held of a listing. The ledger that comes with it is in force from now on.
    pub(super) fn judge(&mut self, server: &ServerCatalog, all_lists: &AllLists<'_>) -> Arc<Pins> {
        let pins = self.compare(server, all_lists);
        if self.policies.contains_key(&server.server) {
            let ledger = pins.ledger.clone();
            self.ledgers.insert(server.server.clone(), ledger);
        }
        Arc::new(pins)
    }

    /// What is held of a listing that only some clients see. The ledger only learns what is approved of it.
    pub(super) fn judge_own(
        &mut self,
        server: &ServerCatalog,
        all_lists: &AllLists<'_>,
    ) -> Arc<Pins> {
        let pins = self.compare(server, all_lists);
        let ledger = self.ledger(&server.server);
        let holds_changes = self.policy(&server.server).holds_changes();
        if holds_changes && pins.ledger.approved != ledger.approved {
            let learnt = Ledger {
                approved: pins.ledger.approved.clone(),
                ..Ledger::clone(&ledger)
            };
            self.ledgers.insert(server.server.clone(), Arc::new(learnt));
        }
        Arc::new(pins)
    }

    fn compare(&self, server: &ServerCatalog, all_lists: &AllLists<'_>) -> Pins {
        let (ledger, policy) = (self.ledger(&server.server), self.policy(&server.server));
        judge(server, all_lists, &ledger, policy, self.lock.as_deref())
    }
}

/// What is held of a listing, and the ledger that results.
pub(super) fn judge(
    server: &ServerCatalog,
    all_lists: &AllLists<'_>,
    ledger: &Arc<Ledger>,
    policy: PinPolicy,
    lock: Option<&Lock>,
) -> Pins {
    let concerns_others = OnceCell::new();
    let concerns_others = || *concerns_others.get_or_init(|| all_lists.may_concern(server));
    let mut objects = |one: &Listed<'_>, known: Knowledge| {
        if known == Knowledge::Baseline && !concerns_others() {
            return false;
        }
        match one.kind {
            ThingKind::Tool => {
                let tool = server.tool(one.name);
                tool.is_some_and(|tool| {
                    let scanner = || all_lists.scanner.borrow_mut();
                    known == Knowledge::New && objects_to(&server.server, tool, &mut scanner())
                        || all_lists.imitates(server, tool, known)
                        || concerns_others() && all_lists.orders_about_others(server, tool)
                })
            }
            ThingKind::Instructions => {
                known == Knowledge::New && server.has_suspicious_instructions
                    || all_lists.objects_to_instructions(server)
            }
            // `with_listed` has no others of these than those to which the scanner objects.
            ThingKind::Prompt | ThingKind::Resource | ThingKind::Template => true,
        }
    };
    let terms = ListingTerms {
        server: &server.server,
        policy,
        lock,
        now: now(),
    };
    let mut pins = with_listed(server, |listed| ledger.follow(listed, terms, &mut objects));
    if policy != PinPolicy::Untrusted && lock.is_none() {
        let is_replaced = policy.takes_changes();
        pins.ledger = pins.ledger.seeing(texts(server), is_replaced, terms.now);
    }
    pins
}

/// The fingerprints of the texts of prompts, resources and templates, none of which is pinned unless the scanner objects to it.
fn texts(server: &ServerCatalog) -> impl Iterator<Item = (ThingKind, &str, Fingerprint)> {
    let listed = server.definitions();
    listed.filter_map(|one| Some((one.kind, one.name, one.texts?)))
}

/// Whether the scanner objects to a tool, whatever other servers list. Reads each definition once.
fn objects_to(server: &ServerName, tool: &Tool, scanner: &mut Scanner) -> bool {
    let alone = Neighbours::default();
    let read = || is_grave(&scanner.tool(server.as_str(), &tool.definition, &alone));
    *tool.is_suspicious.get_or_init(read)
}

/// The lists of all servers, with which the list of one is compared.
pub(super) struct AllLists<'a> {
    servers: &'a BTreeMap<ServerName, Arc<ServerCatalog>>,
    names: OnceCell<Neighbours>,
    scanner: RefCell<Scanner>,
}

impl<'a> AllLists<'a> {
    pub(super) fn new(servers: &'a BTreeMap<ServerName, Arc<ServerCatalog>>) -> Self {
        Self {
            servers,
            names: OnceCell::new(),
            scanner: RefCell::default(),
        }
    }

    fn others_than(&self, one: &ServerCatalog) -> impl Iterator<Item = &'a ServerCatalog> {
        let all = self.servers.values().map(AsRef::as_ref);
        all.filter(|other: &&ServerCatalog| other.server != one.server)
    }

    /// Whether a server lists something that may be about another one.
    fn may_concern(&self, server: &ServerCatalog) -> bool {
        let mut others = self.others_than(server);
        others.any(|other| server.relations().may_be_about(other.relations()))
    }

    /// The other servers that list something that may be about this one.
    pub(super) fn may_be_about(
        &self,
        one: &ServerCatalog,
    ) -> impl Iterator<Item = &'a ServerCatalog> {
        let others = self.others_than(one);
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
        server.raw_instructions().is_some_and(|words| {
            let scanner = self.scanner.borrow();
            scanner.orders_about_others(server.server.as_str(), &words, self.names())
        })
    }

    fn names(&self) -> &Neighbours {
        self.names
            .get_or_init(|| neighbours(self.servers.values().map(AsRef::as_ref)))
    }
}

/// Scans the tools that nobody approved, so that the catalog's task, for which everybody waits, does not have to. Blocks.
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

/// The tools of these servers, by name.
pub(super) fn neighbours<'s>(servers: impl Iterator<Item = &'s ServerCatalog>) -> Neighbours {
    Neighbours::new(servers.flat_map(|server| {
        let tools = server.tools.iter();
        tools.map(|tool| (server.server.as_str(), &*tool.name))
    }))
}

/// Calls `then` with what can be approved of a server: its instructions, every tool, and of the rest what the scanner objects to.
pub(super) fn with_listed<T>(server: &ServerCatalog, then: impl FnOnce(&[Listed<'_>]) -> T) -> T {
    // No instructions are a baseline, too: instructions that come later are a change.
    let words = server.worded_instructions();
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

/// The snapshot with which a daemon would start: last known lists, and what is held of them. Reads the ledgers, and sets damaged ones
/// aside. Blocks.
pub fn with_pins_of_files(
    data_dir: &Path,
    servers: BTreeMap<ServerName, Arc<ServerCatalog>>,
    policy: impl Fn(&ServerName) -> PinPolicy,
    lock: Option<Arc<Lock>>,
) -> Snapshot {
    let all_lists = AllLists::new(&servers);
    let pins = servers.values().map(|server| {
        let ledger = Arc::new(approvals::load(data_dir, &server.server));
        let policy = policy(&server.server);
        let pins = judge(server, &all_lists, &ledger, policy, lock.as_deref());
        (server.server.clone(), Arc::new(pins))
    });
    let pins = pins.collect();
    Snapshot::judged(0, servers, pins, lock)
}

/// Held definitions of one listing that are logged one by one.
const SHOWN: usize = 10;

/// Tells the operator what is held now and was not before.
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
