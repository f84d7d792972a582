//! What the scanner finds in the definitions of `tests/scanner`: poisoned ones, and ordinary ones that it has to leave alone.

use std::{fs, path::Path};

use mcpproxy::{
    trust::scanner::{Finding, Neighbours, Scanner, Severity, gravest},
    wire::Raw,
};

use crate::support::prelude::*;

/// A definition of a file, and what was found in it.
struct Scanned {
    name: String,
    findings: Vec<Finding>,
}

fn scanned(file: &str) -> Vec<Scanned> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/scanner")
        .join(file);
    let text = fs::read_to_string(path).expect("a file of the repository");
    text.lines().map(scan).collect()
}

fn scan(line: &str) -> Scanned {
    let line: Value = serde_json::from_str(line).expect("a JSON object");
    let server = line["server"].as_str().expect("a name");
    let others = line["others"].as_array().expect("names");
    let pairs = others
        .iter()
        .filter_map(|name| name.as_str()?.split_once(':'));
    let neighbours = Neighbours::new(pairs);
    let definition = Raw::author(&line["definition"]);
    Scanned {
        name: format!("{server}:{}", line["definition"]["name"]),
        findings: Scanner::default().tool(server, &definition, &neighbours),
    }
}

/// At least so many are held, and at least so many are found at all: what was measured when the rules were last changed.
#[track_caller]
fn check(file: &str, held: usize, found: usize) {
    let scanned = scanned(file);
    for finding in scanned.iter().flat_map(|one| &one.findings) {
        can_be_shown(finding);
    }
    let count = |wanted: fn(Option<Severity>) -> bool| {
        let met = scanned.iter().filter(|one| wanted(gravest(&one.findings)));
        met.count()
    };
    let n_held = count(|gravest| gravest == Some(Severity::Hold));
    let n_found = count(|gravest| gravest.is_some());
    let missed = scanned.iter().filter(|one| one.findings.is_empty());
    let missed: Vec<&str> = missed.map(|one| one.name.as_str()).collect();
    assert!(
        n_held >= held && n_found >= found,
        "{file}: {n_held} of {} are held, {n_found} found; not found: {missed:?}",
        scanned.len(),
    );
}

/// To anybody, on a page and in a terminal.
#[track_caller]
fn can_be_shown(finding: &Finding) {
    let (excerpt, place) = (&finding.excerpt, &finding.place);
    assert!(excerpt.len() < 1200, "{excerpt}");
    let mut shown = excerpt.chars().chain(place.chars());
    assert!(
        shown.all(|c| !c.is_control() && c != '<'),
        "{place}: {excerpt}"
    );
}

#[test]
fn poisoned_definitions_are_found_and_can_be_shown_to_anybody() {
    for (file, held, found) in [
        ("poisoned/tool_poisoning.jsonl", 22, 22),
        ("poisoned/shadowing.jsonl", 17, 18),
        ("poisoned/preference_manipulation.jsonl", 18, 18),
        ("poisoned/name_overlap.jsonl", 10, 16),
        ("poisoned/out_of_scope_parameters.jsonl", 12, 20),
        ("poisoned/line_jumping.jsonl", 18, 18),
        ("poisoned/full_schema_poisoning.jsonl", 17, 18),
        ("poisoned/ansi_and_unicode.jsonl", 21, 22),
        ("poisoned/written_without_the_rules.jsonl", 82, 109),
    ] {
        check(file, held, found);
    }
}

#[test]
fn ordinary_definitions_are_not_held() {
    let scanned = scanned("benign.jsonl");
    assert!(scanned.len() >= 100, "{}", scanned.len());
    let known = self::scanned("benign_known_servers.jsonl");
    let held = scanned
        .iter()
        .chain(&known)
        .filter(|one| gravest(&one.findings) == Some(Severity::Hold));
    let held: Vec<_> = held.map(|one| (&one.name, &one.findings)).collect();
    assert!(held.is_empty(), "{held:#?}");
    let remarked = scanned.iter().filter(|one| !one.findings.is_empty());
    assert!(remarked.count() * 100 <= scanned.len() * 5);
}

/// Definitions that speak of what poison speaks of: few are held.
#[test]
fn definitions_that_come_near_are_seldom_held() {
    let scanned = scanned("benign_written_without_the_rules.jsonl");
    let held = scanned
        .iter()
        .filter(|one| gravest(&one.findings) == Some(Severity::Hold));
    let held: Vec<_> = held.map(|one| (&one.name, &one.findings)).collect();
    assert!(held.len() <= 2, "{held:#?}");
}

/// Of all files of a folder whose name begins so: how many definitions there are, are held, and are found at all. Of those that judge nothing
/// but this is read.
fn counts(folder: &str, beginning: &str) -> (usize, usize, usize) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scanner");
    let files = fs::read_dir(path.join(folder)).expect("a folder of the repository");
    let names = files.map(|file| file.expect("a file").file_name());
    let names = names.filter_map(|name| name.into_string().ok());
    let names = names.filter(|name| name.starts_with(beginning));
    names.fold((0, 0, 0), |(all, held, found), name| {
        let scanned = scanned(&format!("{folder}/{name}"));
        let grave = scanned
            .iter()
            .filter(|one| gravest(&one.findings) == Some(Severity::Hold));
        let noted = scanned.iter().filter(|one| !one.findings.is_empty());
        (
            all + scanned.len(),
            held + grave.count(),
            found + noted.count(),
        )
    })
}

/// What was measured when the rules were last changed: of poison at least so much is held and found, of what comes near at most so much is held.
#[test]
fn as_much_is_found_of_what_others_wrote_as_before() {
    for (folder, written, held, found) in [("rules", 412, 329, 393), ("judge", 239, 125, 181)] {
        let (all, n_held, n_found) = counts(folder, "poisoned_");
        assert_eq!(all, written, "{folder}");
        assert!(
            n_held >= held && n_found >= found,
            "{folder}: {n_held} of {all} are held, {n_found} found"
        );
    }
    for (folder, written, held) in [("rules", 396, 5), ("judge", 240, 7)] {
        let (all, n_held, _) = counts(folder, "benign_");
        assert_eq!(all, written, "{folder}");
        assert!(n_held <= held, "{folder}: {n_held} of {all} are held");
    }
}
