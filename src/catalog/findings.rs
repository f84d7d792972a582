//! The scanner's findings on what a server lists, for people and for agents that inform them.

use super::{ServerCatalog, Snapshot, pinning::neighbours};
use crate::trust::{
    approvals::ThingKind,
    scanner::{Finding, Neighbours, Scanner},
};

/// The findings on one thing of a server.
pub struct ThingFindings {
    /// The kind of the thing.
    pub kind: ThingKind,
    /// Its name, URI or URI template; empty for instructions.
    pub name: Box<str>,
    /// What the scanner found.
    pub findings: Vec<Finding>,
}

/// The findings on everything that a server lists.
pub fn findings(server: &ServerCatalog, snapshot: &Snapshot) -> Vec<ThingFindings> {
    findings_of(server, snapshot, |_, _| true)
}

/// The findings on those things of a server for which `is_wanted` holds.
pub fn findings_of(
    server: &ServerCatalog,
    snapshot: &Snapshot,
    is_wanted: impl Fn(ThingKind, &str) -> bool,
) -> Vec<ThingFindings> {
    let neighbours = neighbours_of(server, snapshot);
    let name = server.server.as_str();
    let listed = server.definitions();
    let listed = listed.filter(|one| is_wanted(one.kind, one.name));
    let mut scanner = Scanner::default();
    let listed = listed.map(|one| ThingFindings {
        kind: one.kind,
        name: one.name.into(),
        findings: match one.kind {
            ThingKind::Tool => scanner.tool(name, one.definition, &neighbours),
            _ => scanner.thing(one.definition),
        },
    });
    let mut found: Vec<_> = listed.collect();
    let instructions = server.raw_instructions();
    let instructions = instructions.filter(|_| is_wanted(ThingKind::Instructions, ""));
    let instructions = instructions.map(|text| ThingFindings {
        kind: ThingKind::Instructions,
        name: "".into(),
        findings: scanner.instructions(name, &text, &neighbours),
    });
    found.extend(instructions);
    found
}

/// The findings on one tool of a server.
pub fn findings_of_tool(server: &ServerCatalog, tool: &str, snapshot: &Snapshot) -> Vec<Finding> {
    let Some(tool) = server.tool(tool) else {
        return Vec::new();
    };
    let neighbours = neighbours_of(server, snapshot);
    Scanner::default().tool(server.server.as_str(), &tool.definition, &neighbours)
}

/// The tools of all servers, those of `server` as it lists them: a client of its own may see others than the snapshot has.
fn neighbours_of(server: &ServerCatalog, snapshot: &Snapshot) -> Neighbours {
    let others = snapshot.servers.values().map(AsRef::as_ref);
    let others = others.filter(|other| other.server != server.server);
    neighbours(others.chain([server]))
}
