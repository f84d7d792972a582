//! What of strangers' values is recorded: no secret that is known, only so much, and what the quick look finds harmless is what the
//! long way leaves as it is. No text takes much longer than others of its length.

use std::{
    sync::LazyLock,
    time::{Duration, Instant},
};

use bytes::Bytes;
use mcpproxy::{
    activity::Redaction,
    config::Kept,
    text::{
        redact::{TextKind, is_harmless_json, redacted},
        secret::Secrets,
    },
    wire::Raw,
};
use serde_json::Value;

use super::ways::Ways;

/// Secrets of the configuration, none of which is part of another.
const SECRETS: [&str; 2] = ["hunter2-hunter2", "424242"];

/// Limit: bytes of a value that is not bounded first.
const SMALL: usize = 512;

/// Limits of what is kept, with every byte of it escaped.
const LONGEST: [(Kept, usize); 2] = [
    (Kept::Redacted, 7 * (4 << 10)),
    (Kept::Full, 7 * (64 << 10)),
];

static REDACTION: LazyLock<Redaction> =
    LazyLock::new(|| Redaction::new(Secrets::new(SECRETS.map(str::to_owned))));

/// Any bytes.
pub fn check(input: &[u8]) {
    check_in(Ways::All, input);
}

/// As a text or as JSON, kept in some of the ways.
pub fn check_in(ways: Ways, input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let raw = Raw::parse(&Bytes::copy_from_slice(input)).ok();
    if raw.is_none() || ways.seldom(4) {
        check_shown(&REDACTION.name(&text), 256);
        check_shown(&REDACTION.sentence(&text), 1_024);
    }
    if ways.seldom(64) {
        check_time(&text);
    }
    if let Some(raw) = raw {
        check_harmless(&raw);
        for &(kept, longest) in ways.among(&LONGEST) {
            check_kept(&raw, kept, longest);
        }
    }
}

/// A text that many rows of the table have something to look at in.
const USUAL: &str =
    "use the password: hunter2, Authorization: Bearer abc, https://u:p@h/x?token=abc#f\n";

/// Over and over again, it takes no 30 times the time of the usual one. The fastest of some attempts counts, because the machine does
/// other things, too.
fn check_time(text: &str) {
    const LENGTH: usize = 32 << 10;
    const MOST: u32 = 30;
    if text.is_empty() {
        return;
    }
    let time = |text: &str| {
        let long = text.repeat(LENGTH / text.len() + 1);
        let start = Instant::now();
        redacted(&long, TextKind::Record);
        start.elapsed()
    };
    // What is needed for the first time is made ready.
    let _ = (time(USUAL), time(text));
    let usual = time(USUAL).max(Duration::from_millis(1));
    assert!(
        (0..5).any(|_| time(text) < MOST * usual),
        "{text:?} takes {:?}, the usual one {usual:?}",
        time(text)
    );
}

fn check_shown(shown: &str, longest: usize) {
    assert!(shown.len() <= longest + "…".len(), "{shown:?}");
    assert!(!has_secret(shown), "{shown:?}");
}

fn has_secret(text: &str) -> bool {
    SECRETS.iter().any(|secret| text.contains(secret))
}

/// The long way, which is taken where a flag stands beside the value, leaves it as it is.
fn check_harmless(raw: &Raw) {
    if raw.as_bytes().len() > SMALL || !is_harmless_json(raw.as_str()) || has_secret(raw.as_str()) {
        return;
    }
    let Ok(value) = raw.read::<Value>() else {
        return;
    };
    // A number may be a secret in another spelling.
    if has_secret(&value.to_string()) {
        return;
    }
    let beside = format!("[{},\"--token\"]", raw.as_str());
    assert!(!is_harmless_json(&beside), "{beside}");
    let beside = Raw::parse_str(&beside).expect("an array of JSON");
    let long_way = REDACTION.value(&beside, Kept::Redacted).expect("kept");
    let long_way: Value = long_way.read().expect("JSON");
    assert_eq!(long_way[0], value, "{}", raw.as_str());
    let quick = REDACTION.value(raw, Kept::Redacted).expect("kept");
    // The quick look may take letters for an exponent; what is read is written without blanks.
    let quick: Value = quick.read().expect("JSON");
    assert_eq!(quick, value, "{}", raw.as_str());
}

fn check_kept(raw: &Raw, kept: Kept, longest: usize) {
    let Some(shown) = REDACTION.value(raw, kept) else {
        // Numbers out of range and half characters are not read.
        assert!(raw.read::<Value>().is_err(), "{}", raw.as_str());
        return;
    };
    assert!(shown.as_bytes().len() <= longest, "{}", shown.as_str());
    assert!(
        !has_secret(&outside_of_texts(shown.as_str())),
        "{}",
        shown.as_str()
    );
    if let Ok(value) = shown.read::<Value>() {
        check_tree(&value);
    }
}

/// What of JSON stands in no text: its numbers, as they are written.
fn outside_of_texts(json: &str) -> String {
    let (mut is_inside, mut is_escaped) = (false, false);
    let is_outside = |c: &char| {
        let was_inside = is_inside;
        is_inside ^= *c == '"' && !is_escaped;
        is_escaped = was_inside && *c == '\\' && !is_escaped;
        !was_inside
    };
    json.chars().filter(is_outside).collect()
}

fn check_tree(value: &Value) {
    match value {
        Value::String(text) => assert!(!has_secret(text), "{text:?}"),
        Value::Array(elements) => elements.iter().for_each(check_tree),
        Value::Object(members) => {
            for (key, member) in members {
                assert!(!has_secret(key), "{key:?}");
                check_tree(member);
            }
        }
        // Numbers are looked at as they are written: the library reads them as others.
        Value::Null | Value::Bool(_) | Value::Number(_) => (),
    }
}
