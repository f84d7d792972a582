//! Lock files: one that is read accepts what it names and nothing else, and is written as it was read.

use std::collections::BTreeSet;

use mcpproxy::trust::{
    approvals::{HoldReason, Lock, LockChanges},
    fingerprint::Fingerprint,
};
use serde_json::Value;

/// Any text as a lock file.
pub fn check(input: &[u8]) {
    let Ok(text) = str::from_utf8(input) else {
        return;
    };
    check_fingerprint(text.trim());
    let Ok(lock) = Lock::parse(text) else {
        return;
    };
    let written: Value = serde_json::from_str(text).expect("it was read");
    assert_eq!(written["version"], 1);
    let tools = written["tools"].as_array().expect("tools");
    assert_eq!(lock.len(), tools.len());
    assert_eq!(lock.is_empty(), tools.is_empty());
    let mut named = BTreeSet::new();
    for tool in tools {
        let text = |key: &str| tool[key].as_str().expect("a text");
        let (server, name) = (text("server"), text("tool"));
        let fingerprint = Fingerprint::parse(text("fingerprint")).expect("a fingerprint");
        assert_eq!(lock.hold_reason(server, name, fingerprint), None);
        let differs = lock.hold_reason(server, name, other_than(fingerprint));
        assert_eq!(differs, Some(HoldReason::LockDiffers));
        assert!(named.insert((server, name)), "{server}:{name} twice");
    }
    let odd = lock.hold_reason("", "\u{0}", other_than(zero()));
    assert!(odd == Some(HoldReason::NotLocked) || named.contains(&("", "\u{0}")));
    check_export(&lock);
    for server in named.iter().map(|(server, _)| *server).take(4) {
        check_without(&lock, server, &named);
    }
    if let Some(reviewers) = lock.reviewers() {
        assert!(lock.next_step().contains(&reviewers));
    }
}

fn zero() -> Fingerprint {
    Fingerprint::parse(&"0".repeat(64)).expect("a fingerprint")
}

fn other_than(fingerprint: Fingerprint) -> Fingerprint {
    let digit = if fingerprint.to_hex().starts_with('0') {
        "1"
    } else {
        "0"
    };
    Fingerprint::parse(&digit.repeat(64)).expect("a fingerprint")
}

/// A text is a fingerprint as it is written or none.
fn check_fingerprint(text: &str) {
    if let Some(fingerprint) = Fingerprint::parse(text) {
        assert_eq!(fingerprint.to_hex(), text.to_ascii_lowercase());
        assert_eq!(text.len(), 64);
    }
}

/// What is written says the same, and is the same each time.
fn check_export(lock: &Lock) {
    let text = lock.export(|_| true);
    let again = Lock::parse(&text).expect("what we wrote");
    assert_eq!(again.export(|_| true), text);
    assert_eq!(again.len(), lock.len());
    for (from, to) in [(lock, &again), (&again, lock)] {
        assert_eq!(from.changes_to(to), LockChanges::default());
    }
}

/// Without one server the rest is as it was, and what is gone is told.
fn check_without(lock: &Lock, server: &str, named: &BTreeSet<(&str, &str)>) {
    let rest = Lock::parse(&lock.export(|other| other != server)).expect("what we wrote");
    let lost = lock.changes_to(&rest);
    let mut found = lost.lost;
    found.sort_unstable();
    let gone = named.iter().filter(|(of, _)| *of == server);
    let mut expected: Vec<String> = gone.map(|(of, tool)| format!("{of}:{tool}")).collect();
    expected.sort_unstable();
    assert_eq!(found, expected);
    assert!(lost.changed.is_empty());
    assert_eq!(rest.changes_to(lock), LockChanges::default());
    assert_eq!(rest.len() + expected.len(), lock.len());
}
