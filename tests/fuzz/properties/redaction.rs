//! What of strangers' values is recorded: no secret that is known, only so much, and what the quick look finds harmless is what the
//! long way leaves as it is.

use std::sync::LazyLock;

use bytes::Bytes;
use mcpproxy::{
    activity::Redaction,
    config::{Kept, is_harmless, is_harmless_json, mask_text_for_records, mask_value_for_records},
    text::secret::Secrets,
    wire::Raw,
};
use serde_json::Value;

use super::ways::Ways;

/// Secrets of the configuration, none of which is part of another.
const SECRETS: [&str; 2] = ["hunter2-hunter2", "424242"];

/// Limit: bytes of a value that is not bounded first.
const SMALL: usize = 1_000;

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
    let (name, rest) = text.split_once('\n').unwrap_or((&text, ""));
    let raw = Raw::parse(&Bytes::copy_from_slice(input)).ok();
    if raw.is_none() || ways.seldom(4) {
        check_text(name, rest);
        check_shown(&REDACTION.name(&text), 256);
        check_shown(&REDACTION.sentence(&text), 1_024);
    }
    if let Some(raw) = raw {
        check_harmless(&raw);
        for &(kept, longest) in ways.among(&LONGEST) {
            check_kept(&raw, kept, longest);
        }
    }
}

/// What is harmless is not masked.
fn check_text(name: &str, text: &str) {
    if is_harmless(name) {
        assert_eq!(mask_text_for_records(name), name);
    }
    if is_harmless(text) {
        assert_eq!(mask_text_for_records(text), text);
        if is_harmless(name) {
            assert_eq!(mask_value_for_records(name, text), text, "{name:?}");
        }
    }
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
    // Of variables and headers every value is masked.
    let has_holder = ["env", "headers"]
        .iter()
        .any(|name| raw.as_str().contains(name));
    if raw.as_bytes().len() > SMALL
        || has_holder
        || !is_harmless_json(raw.as_bytes())
        || has_secret(raw.as_str())
    {
        return;
    }
    let Ok(value) = raw.read::<Value>() else {
        return;
    };
    let beside = format!("[{},\"--x\"]", raw.as_str());
    assert!(!is_harmless_json(beside.as_bytes()), "{beside}");
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
        // Nothing is found in what was masked, unless it was cut.
        let again = REDACTION.value(&shown, kept).expect("it was read");
        let again: Value = again.read().expect("JSON");
        assert!(
            shown.as_str().contains('…') || again == value || !reads_back(shown.as_str(), &value),
            "{value}\n{again}"
        );
    }
}

/// The library takes a number with many digits for one beside the nearest, and what that is written as for another one again, also in a
/// text that is JSON.
fn reads_back(text: &str, value: &Value) -> bool {
    text == format!("{value}") && inner_texts_read_back(value)
}

fn inner_texts_read_back(value: &Value) -> bool {
    match value {
        Value::String(text) => serde_json::from_str(text).map_or(true, |inner: Value| {
            inner.is_string() || format!("{inner}") == *text
        }),
        Value::Array(elements) => elements.iter().all(inner_texts_read_back),
        Value::Object(members) => members.values().all(inner_texts_read_back),
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
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
