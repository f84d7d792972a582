//! The smart patch: what it names changes as RFC 7396 says and nothing else, a mask stands for what is stored or is refused, and the file
//! says afterwards what the patch said.
//!
//! An input is two lines of JSON: the entry as it is written, and the patch.

use std::path::Path;

use mcpproxy::{
    config::{PatchedEntry, ServerPatch, Surroundings, edit_all, parse, written_entry},
    text::secret::MASK,
};
use serde_json::{Map, Value, json};

use super::ways::Ways;

type Entry = Map<String, Value>;

/// The name of the server in our file.
const SERVER: &str = "s";

/// Keys of whose values listings mask something.
const MASKED: [&str; 10] = [
    "command",
    "args",
    "env",
    "headers",
    "cwd",
    "url",
    "ca_file",
    "client_cert",
    "oauth",
    "isolation",
];

/// Two lines.
pub fn check(input: &[u8]) {
    check_in(Ways::All, input);
}

/// In a search most inputs are looked at as patches only.
pub fn check_in(ways: Ways, input: &[u8]) {
    let Ok(text) = str::from_utf8(input) else {
        return;
    };
    let (entry, patch) = text.split_once('\n').unwrap_or((text, "{}"));
    let Ok(entry) = serde_json::from_str::<Entry>(entry) else {
        return;
    };
    if !reads_back(&entry) {
        return;
    }
    if ways.seldom(4) {
        check_empty(&entry);
        check_listing(&entry);
    }
    if let Ok(patch) = serde_json::from_str::<Entry>(patch)
        && reads_back(&patch)
    {
        check_patch(&entry, &patch);
    }
}

/// The library takes a number with many digits for one beside the nearest, and what that is written as for another one again.
fn reads_back(entry: &Entry) -> bool {
    let text = json!(entry).to_string();
    serde_json::from_str(&text).is_ok_and(|again: Entry| again == *entry)
}

fn apply(entry: &Entry, patch: &Entry) -> Option<Result<PatchedEntry, String>> {
    let patch = ServerPatch::read(patch.clone()).ok()?;
    Some(patch.apply(entry).map_err(|error| error.to_string()))
}

/// The entry with one spelling of each key.
fn proper(entry: &Entry) -> Entry {
    let patched = apply(entry, &Entry::new()).expect("a good patch");
    patched.expect("nothing is masked").before
}

fn check_empty(entry: &Entry) {
    let patched = apply(entry, &Entry::new()).expect("a good patch");
    let patched = patched.expect("nothing is masked");
    assert_eq!(patched.before, patched.after);
    assert!(patched.changed().is_empty() && patched.changes(SERVER).is_empty());
    assert_eq!(proper(&patched.before), patched.before);
}

fn check_patch(entry: &Entry, patch: &Entry) {
    let Some(patched) = apply(entry, patch) else {
        return;
    };
    let has_mask = patch.values().any(|value| value.to_string().contains(MASK));
    let patched = match patched {
        Ok(patched) => patched,
        Err(error) => {
            assert!(has_mask, "{error}: {patch:?} of {entry:?}");
            return;
        }
    };
    let (before, after) = (&patched.before, &patched.after);
    assert_eq!(before, &proper(entry));
    for (key, value) in before {
        let is_named = patch.keys().any(|other| meant(other) == key);
        assert!(
            is_named || after.get(key) == Some(value),
            "{key} of {after:?}"
        );
    }
    if !has_mask {
        assert_eq!(
            after,
            &merged_slowly(before, patch),
            "{patch:?} of {entry:?}"
        );
    }
    for key in MASKED {
        let (mut old, mut new) = (Vec::new(), Vec::new());
        masks(before.get(key), &mut old);
        masks(after.get(key), &mut new);
        let is_stored = new.iter().all(|text| old.contains(text));
        assert!(
            is_stored,
            "{key} of {after:?} has a mask in it that was not stored"
        );
    }
    let again = apply(after, patch).expect("it was read before");
    let again = again.expect("it was made before");
    assert_eq!(&again.after, after, "{patch:?} of {entry:?}, made twice");
    check_file(entry, &patched);
}

/// What is written into the file reads as what was meant.
fn check_file(entry: &Entry, patched: &PatchedEntry) {
    let text = json!({ "mcpServers": { SERVER: entry } }).to_string();
    let changes = patched.changes(SERVER);
    assert!(!changes.is_empty() || patched.changed().is_empty());
    assert_eq!(changes.is_empty(), patched.before == patched.after);
    let edited = edit_all(&text, &changes).expect("every key can be written");
    let written = written_entry(&edited, SERVER).expect("the entry is still there");
    assert_eq!(proper(&written), patched.after, "{text}\nbecame\n{edited}");
}

/// The proper name of a key in a patch.
fn meant(key: &str) -> &str {
    match key.strip_suffix("_json").unwrap_or(key) {
        "working_dir" => "cwd",
        "protocol" | "transport" => "type",
        "disabled" => "enabled",
        key => key,
    }
}

/// A merge patch (RFC 7396) of what the patch says without our own spellings.
fn merged_slowly(before: &Entry, patch: &Entry) -> Entry {
    let plain = patch.iter().map(|(key, value)| {
        let name = meant(key);
        let is_composed = ["args", "env", "headers", "isolation", "oauth"].contains(&name)
            || ["roots", "enabled_tools", "disabled_tools", "tool_acl"].contains(&name);
        let value = match value {
            Value::String(text) if text == "null" => Value::Null,
            Value::String(text) if is_composed => {
                serde_json::from_str(text).expect("it was read before")
            }
            Value::Bool(disabled) if key == "disabled" => Value::Bool(!disabled),
            value => value.clone(),
        };
        (name.to_owned(), value)
    });
    let plain = Value::Object(plain.collect());
    match merge_patch(Value::Object(before.clone()), &plain) {
        Value::Object(after) => after,
        other => panic!("{other} is no object"),
    }
}

/// The algorithm of RFC 7396, section 2.
fn merge_patch(target: Value, patch: &Value) -> Value {
    let Value::Object(patch) = patch else {
        return patch.clone();
    };
    let mut target = match target {
        Value::Object(members) => members,
        _ => Entry::new(),
    };
    for (name, value) in patch {
        let old = target.shift_remove(name);
        if !value.is_null() {
            let new = merge_patch(old.unwrap_or_default(), value);
            target.insert(name.clone(), new);
        }
    }
    Value::Object(target)
}

/// The texts with a mask in them that a patch could have brought: lists are looked into once.
fn masks<'a>(value: Option<&'a Value>, found: &mut Vec<&'a str>) {
    let mut add = |value: &'a Value| found.extend(value.as_str().filter(|t| t.contains(MASK)));
    match value {
        Some(Value::Object(members)) => {
            for member in members.values() {
                masks(Some(member), found);
            }
        }
        Some(Value::Array(elements)) => elements.iter().for_each(add),
        Some(value) => add(value),
        None => (),
    }
}

/// What a listing shows can be written back: what is stored stays.
fn check_listing(entry: &Entry) {
    let text = json!({ "mcpServers": { SERVER: entry } }).to_string();
    let surroundings = Surroundings {
        lookup: &|name| (!name.starts_with("MCPPROXY_")).then(|| format!("value-of-{name}")),
        folder: Path::new("/folder"),
    };
    let Ok(settings) = parse(&text, &surroundings) else {
        return;
    };
    let Some((_, server)) = settings.servers.first_key_value() else {
        return;
    };
    let shown = server.shown();
    let before = proper(entry);
    for key in ["command", "args", "env", "cwd", "url", "headers"] {
        let (Some(shown), Some(stored)) = (shown.get(key), before.get(key)) else {
            continue;
        };
        // This text takes a key out, whatever is stored.
        if shown == "null" {
            continue;
        }
        let patch = Entry::from_iter([(key.to_owned(), shown.clone())]);
        let patched = apply(entry, &patch).expect("a listing is a good patch");
        let patched = patched.unwrap_or_else(|error| panic!("{error}: {shown} of {stored}"));
        check_kept(stored, shown, patched.after.get(key));
    }
}

fn check_kept(stored: &Value, shown: &Value, after: Option<&Value>) {
    match shown {
        Value::String(text) if text.contains(MASK) || is_written_so(stored) => {
            assert_eq!(after, Some(stored), "shown as {shown}");
        }
        Value::Array(elements) => {
            for (place, element) in elements.iter().enumerate() {
                let after = after.and_then(|after| after.get(place));
                check_kept(&stored[place], element, after);
            }
        }
        Value::Object(members) => {
            for (name, member) in members {
                let after = after.and_then(|after| after.get(name));
                check_kept(&stored[name], member, after);
            }
        }
        _ => (),
    }
}

/// Numbers are shown as texts, and addresses without their fragments.
fn is_written_so(stored: &Value) -> bool {
    stored.as_str().is_some_and(|text| !text.contains('#'))
}
