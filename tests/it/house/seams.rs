//! What only one room may do: making callers, judging servers, knowing revisions; and tasks that somebody waits for.

use super::source::{assert_none_but, found_in_code, is_word};

/// Who says whose request it is.
const CALLERS: &[(&str, &str)] = &[
    ("access/mod.rs", "the one maker of callers"),
    ("access/caller.rs", "what a caller is"),
];

/// Who looks whether a server is switched off or held, besides the gate, which decides, and `config`, which reads and writes it.
const SHOWN: &[(&str, &str)] = &[("management/servers.rs", "a row shows both to the operator")];

/// Where tasks are started, and who ends and waits for them.
const SPAWNS: &[(&str, &str)] = &[];

#[test]
#[ignore = "the sources do not hold it yet"]
fn callers_are_made_in_one_place() {
    let found = found_in_code(|_, line| has_word(line, "anonymous"));
    assert_none_but(&found, CALLERS, "ask `access` who calls");
}

#[test]
#[ignore = "the sources do not hold it yet"]
fn only_the_gate_judges_servers() {
    let reads = |line: &str, field: &str| {
        line.match_indices(field).any(|(start, _)| {
            let (_, rest) = line.split_at(start + field.len());
            !rest.starts_with(|c: char| is_word(c) || c == '(')
        })
    };
    let found = found_in_code(|file, line| {
        !file.is_below("gate")
            && !file.is_below("config")
            && (reads(line, ".quarantined") || reads(line, ".enabled"))
    });
    assert_none_but(&found, SHOWN, "ask the gate instead of the entry");
}

#[test]
fn only_wire_names_revisions() {
    let found = found_in_code(|file, line| !file.is_below("wire") && line.contains("Revision::V"));
    assert_none_but(
        &found,
        &[],
        "ask a method of `Revision` instead of comparing",
    );
}

#[test]
#[ignore = "the sources do not hold it yet"]
fn only_wire_knows_that_revisions_differ() {
    let compares = |line: &str| {
        let about = line.contains("Revision::") || has_word(line, "revision");
        let operators = [" == ", " != ", " < ", " <= ", " > ", " >= "];
        about && operators.iter().any(|operator| line.contains(operator))
    };
    let keys = [
        "inputRequests",
        "inputResponses",
        "requestState",
        "resultType",
    ];
    let names_a_key = |line: &str| keys.iter().any(|key| line.contains(&format!("\"{key}\"")));
    let found =
        found_in_code(|file, line| !file.is_below("wire") && (compares(line) || names_a_key(line)));
    let rule = "ask a method of `Revision`, or have `wire` read and write what differs";
    assert_none_but(&found, &[], rule);
}

#[test]
#[ignore = "the sources do not hold it yet"]
fn every_task_is_waited_for() {
    let calls = [
        "tokio::spawn(",
        "task::spawn(",
        "spawn_blocking(",
        "thread::spawn(",
        "thread::Builder",
    ];
    let found = found_in_code(|_, line| calls.iter().any(|call| line.contains(call)));
    let rule = "start tasks in a tracker or keep their handles, and say here who waits for them";
    assert_none_but(&found, SPAWNS, rule);
}

fn has_word(line: &str, word: &str) -> bool {
    line.split(|c: char| !is_word(c)).any(|found| found == word)
}
