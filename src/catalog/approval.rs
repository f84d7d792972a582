//! A person's decisions about what a server lists: approvals of what was reviewed, and their withdrawal. Gives the ledger that results; the
//! catalog's task saves it and puts it in force, or these functions write it where no daemon runs.

use std::{io, path::Path};

use super::{ServerCatalog, pinning::with_listed};
use crate::{
    failure::{ErrorCode, Failure, NextStep, Result},
    storage::disk_remedy,
    text::names::{self, ServerName},
    trust::{
        approvals::{self, Approval, ApprovalStep, Ledger, Lock, ThingKind, Which},
        fingerprint::Fingerprint,
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

/// Approvals that a person takes back.
#[derive(Debug, Clone)]
pub struct ApprovalWithdrawal {
    /// What they changed of the ledger.
    pub step: ApprovalStep,
    /// Whether the server is quarantined with that: then nothing is learnt of what it lists meanwhile.
    pub is_quarantined: bool,
}

/// How many hexadecimal digits [`seen`] has.
pub const SEEN_LENGTH: usize = 32;

/// A digest of all that a person saw of a server: its configuration, all that is written in its entry, every definition that it lists,
/// held or not, and its instructions. It changes with each of these. Its 128 bits suffice even against a server, which chooses both the list
/// that is reviewed and the one that follows.
pub fn seen(entry: &str, as_written: &str, listed: Option<&ServerCatalog>) -> String {
    let listed = listed.filter(|listed| *listed.entry == *entry);
    let digests = listed.map(all_listed);
    let mut hex = Fingerprint::of_value(&Raw::author(&(entry, as_written, digests))).to_hex();
    hex.truncate(SEEN_LENGTH);
    hex
}

/// Everything that a server lists, by kind, name and digest of the whole definition: a review also shows the parts that the fingerprint of
/// a tool leaves out.
fn all_listed(server: &ServerCatalog) -> Vec<(&'static str, &str, String)> {
    let digest = |definition: &Raw| Fingerprint::of_value(definition).to_hex();
    let listed = server.definitions();
    let listed = listed.map(|one| (one.kind, one.name, digest(one.definition)));
    let instructions = server.raw_instructions();
    let instructions = instructions.map(|text| (ThingKind::Instructions, "", digest(&text)));
    let all = listed.chain(instructions);
    all.map(|(kind, name, digest)| (kind.as_str(), name, digest))
        .collect()
}

/// The ledger after an approval. Fails if the server lists something else than what the person saw, and if it listed nothing that they could
/// see, unless they approve it unseen.
pub(super) fn approved(
    request: &ApprovalRequest,
    listed: Option<&ServerCatalog>,
    ledger: &Ledger,
) -> Result<Ledger> {
    let name = &request.server;
    if seen(&request.entry, &request.as_written, listed) != request.seen {
        let error = format!(
            "this fingerprint does not match {name}, which may have changed since your review"
        );
        let failure = Failure::new(ErrorCode::ToolChanged, error, "Review it again.");
        return Err(failure.with_step(NextStep::Review).of_server(name));
    }
    let listed = listed.filter(|listed| *listed.entry == *request.entry);
    let is_unseen = listed.is_none_or(ServerCatalog::lists_nothing);
    if is_unseen && matches!(request.approval.which, Which::All) {
        let error = format!("{NOT_APPROVED}: the server {name:?} has listed nothing to review");
        let hint = "List its tools first, or send `unseen` as true.";
        let failure = Failure::new(ErrorCode::NotConfirmed, error, hint);
        return Err(failure.of_server(name));
    }
    let approved = match listed {
        Some(listed) => with_listed(listed, |listed| ledger.approve(listed, &request.approval)),
        None => ledger.approve(&[], &request.approval),
    };
    approved.map_err(|thing| {
        let error = if thing.is_empty() {
            format!("the instructions of the server {name:?} are not held")
        } else {
            format!("the server {name:?} has no definition {thing:?} to approve")
        };
        let known = listed.into_iter().flat_map(ServerCatalog::definitions);
        let known = known.map(|one| one.name).filter(|name| *name != thing);
        Failure::new(ErrorCode::UnknownTool, error, "Review what it lists.")
            .with_closest(names::closest(&thing, known))
            .with_step(NextStep::Review)
            .of_server(name)
            .of_tool(thing)
    })
}

/// Refuses every decision while a lock file is in force.
pub(super) fn check_unlocked(server: &ServerName, lock: Option<&Lock>) -> Result {
    let Some(lock) = lock else { return Ok(()) };
    let error = format!("the lock file {} is in force", lock.file().display());
    Err(Failure::new(ErrorCode::ToolHeld, error, lock.next_step()).of_server(server))
}

/// Approves what the last known lists have and writes it to the ledger's file, where no daemon runs. Blocks.
pub fn approve_in_files(
    data_dir: &Path,
    request: &ApprovalRequest,
    listed: Option<&ServerCatalog>,
    lock: Option<&Lock>,
) -> Result<ApprovalStep> {
    check_unlocked(&request.server, lock)?;
    let ledger = approvals::load(data_dir, &request.server);
    let next = approved(request, listed, &ledger)?;
    let saved = save(data_dir, &request.server, &next);
    saved.map_err(|failure| failure.with_outcome(NOT_APPROVED))?;
    Ok(ApprovalStep::between(&request.server, &ledger, &next))
}

fn save(data_dir: &Path, server: &ServerName, ledger: &Ledger) -> Result {
    let saved = approvals::save(data_dir, server, ledger);
    saved.map_err(|error| not_saved(server, &error))
}

/// What it means that an approval is not on disk.
pub(super) const NOT_APPROVED: &str = "nothing was approved";

/// What it means that a withdrawal is not on disk.
pub(super) const NOT_WITHDRAWN: &str = "the approvals stay";

/// What lets approvals be saved after this error.
pub(super) fn saving_step(server: &ServerName, error: &io::Error) -> String {
    let remedy = disk_remedy(Path::new(server.as_str()), error);
    remedy.unwrap_or_else(|| "let mcpproxy write to the data folder".to_owned())
}

/// The failure of an approval that is not on disk.
pub(super) fn not_saved(server: &ServerName, error: &io::Error) -> Failure {
    let mut step = saving_step(server, error);
    step.push_str(match error.kind() {
        // The daemon reads it only when it starts.
        io::ErrorKind::InvalidData => "; then `mcpproxy restart`",
        // The remedy says so.
        io::ErrorKind::FileTooLarge => "",
        _ => ", then try again",
    });
    let error = format!("failed to write {error}");
    let failure = Failure::new(ErrorCode::Internal, error, &step).of_server(server);
    failure.at_terminal(step)
}

/// Takes approvals back in the ledger's file, where no daemon runs. Blocks.
pub fn withdraw_in_files(
    data_dir: &Path,
    withdrawal: &ApprovalWithdrawal,
    lock: Option<&Lock>,
) -> Result {
    let server = withdrawal.step.server();
    check_unlocked(server, lock)?;
    let ledger = approvals::load(data_dir, server);
    let saved = save(data_dir, server, &withdrawn(withdrawal, &ledger)?);
    saved.map_err(|failure| failure.with_outcome(NOT_WITHDRAWN))
}

/// The ledger after approvals were taken back. Fails if the same definitions were decided about since.
pub(super) fn withdrawn(withdrawal: &ApprovalWithdrawal, ledger: &Ledger) -> Result<Ledger> {
    withdrawal.step.undone(ledger).ok_or_else(|| {
        let name = withdrawal.step.server();
        let error =
            format!("nothing was undone: the approvals of {name:?} have changed since then");
        let failure = Failure::new(ErrorCode::InvalidArguments, error, "Choose another change.");
        failure.with_step(NextStep::ShowChanges).of_server(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{catalog::Listing, wire::Revision};

    #[test]
    fn an_approval_that_is_not_saved_names_the_file_and_the_step() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = folder.path().join("approvals");
        std::fs::write(&place, "in the way").expect("ours");
        let server = ServerName::parse("s").expect("a name");
        let failure = save(folder.path(), &server, &Ledger::default()).expect_err("a file");
        let place = place.display();
        assert!(
            failure
                .error
                .ends_with(&format!("{place}: it is not a folder"))
        );
        let hint = format!("Move {place} away, then try again.");
        assert_eq!(failure.hint.for_people(), hint);
        let error = approvals::save(folder.path(), &server, &Ledger::default());
        let step = saving_step(&server, &error.expect_err("a file"));
        assert_eq!(step, format!("move {place} away"));
    }

    #[test]
    fn what_nobody_could_see_is_approved_only_on_purpose() {
        let name = ServerName::parse("s").expect("a name");
        let listed = |instructions: &str, tools: &[&str]| {
            let raw = |text: &str| Raw::parse_str(text).expect("JSON");
            let listing = Listing {
                initialize: Raw::author(&serde_json::json!({ "instructions": instructions })),
                revision: Revision::NEWEST_LEGACY,
                tools: tools.iter().map(|text| raw(text)).collect(),
                prompts: Vec::new(),
                resources: Vec::new(),
                templates: Vec::new(),
            };
            ServerCatalog::ingest(&name, "e", listing)
        };
        let approve = |listed: Option<&ServerCatalog>, which| {
            let approval = Approval {
                which,
                by: "me".to_owned(),
                at: 0,
            };
            let request = ApprovalRequest {
                server: name.clone(),
                entry: "e".to_owned(),
                as_written: String::new(),
                seen: seen("e", "", listed),
                approval,
            };
            let approved = approved(&request, listed, &Ledger::default());
            approved.map(drop).map_err(|failure| failure.code)
        };
        let (words, unreadable) = (listed("Be kind.", &[]), listed("", &["7"]));
        for unseen in [None, Some(&words), Some(&unreadable)] {
            assert_eq!(approve(unseen, Which::All), Err(ErrorCode::NotConfirmed));
            assert_eq!(approve(unseen, Which::Unseen), Ok(()));
        }
        let tool = listed("", &[r#"{"name":"t","inputSchema":{}}"#]);
        assert_eq!(approve(Some(&tool), Which::All), Ok(()));
    }

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
