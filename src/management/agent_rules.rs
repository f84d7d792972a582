//! The rules for agents that change a server's entry: some keys are free, some only a person may change, and every other change quarantines
//! the server until a person has reviewed it. Pure.

use serde_json::{Map, Value};

use crate::config::{Globs, PatchedEntry, differing};

/// The keys that an agent may change freely: they have no effect on what is run, contacted or filled in.
const FREE: [&str; 8] = [
    "enabled",
    "enabled_tools",
    "disabled_tools",
    "idle_timeout",
    "min_idle_timeout",
    "max_idle_timeout",
    "init_timeout",
    "call_tool_timeout",
];

/// What becomes of a change that an agent wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum AgentVerdict {
    /// It is made.
    Free,
    /// It is made, and the server is quarantined because of these places.
    Held(Vec<String>),
    /// It is not made: each key for which it is not, and why.
    Refused(Vec<(String, &'static str)>),
}

const ONLY_A_PERSON: &str = "only the user may change it";
const LIFTS: &str = "only the user can approve a server";
const WIDENS: &str = "only the user may offer more tools";

/// Judges a change of an existing entry.
pub(super) fn judge(patched: &PatchedEntry) -> AgentVerdict {
    let (before, after) = (&patched.before, &patched.after);
    let (mut held, mut refused) = (Vec::new(), Vec::new());
    for key in differing(before, after) {
        let (was, is) = (before.get(key), after.get(key));
        if let Some(why) = refusal(key, was, is) {
            refused.push((key.to_owned(), why));
        } else if !is_free(key, is) {
            held.extend(places(key, was, is));
        }
    }
    if !refused.is_empty() {
        AgentVerdict::Refused(refused)
    } else if held.is_empty() {
        AgentVerdict::Free
    } else {
        AgentVerdict::Held(held)
    }
}

/// Judges an entry that an agent wants to add: the refused keys, and why. The server is quarantined in any case.
pub(super) fn judge_new(entry: &Map<String, Value>) -> Vec<(String, &'static str)> {
    let of_a_person = ["tool_changes", "new_tools", "tool_acl", "changed_by"].into_iter();
    let of_a_person = of_a_person.filter(|key| entry.contains_key(*key));
    let mut refused: Vec<(String, &'static str)> = of_a_person
        .map(|key| (key.to_owned(), ONLY_A_PERSON))
        .collect();
    if !matches!(entry.get("quarantined"), None | Some(Value::Bool(true))) {
        refused.push(("quarantined".to_owned(), LIFTS));
    }
    refused
}

/// Why only a person may make this change.
fn refusal(key: &str, was: Option<&Value>, is: Option<&Value>) -> Option<&'static str> {
    match key {
        "quarantined" if is != Some(&Value::Bool(true)) => Some(LIFTS),
        "changed_by" | "tool_changes" | "new_tools" | "tool_acl" => Some(ONLY_A_PERSON),
        "enabled_tools" if !is_fewer_enabled(was, is) => Some(WIDENS),
        "disabled_tools" if !is_more_disabled(was, is) => Some(WIDENS),
        _ => None,
    }
}

/// Whether a change of a key needs no review. Quarantining the server is free; a value with a reference is not, because it may be anything.
fn is_free(key: &str, is: Option<&Value>) -> bool {
    let refers = is.is_some_and(|is| is.to_string().contains("${"));
    key == "quarantined" || FREE.contains(&key) && !refers
}

/// The changed places: of `env` and `headers` each name that differs.
fn places(key: &str, was: Option<&Value>, is: Option<&Value>) -> Vec<String> {
    if !matches!(key, "env" | "headers") {
        return vec![key.to_owned()];
    }
    let none = Map::new();
    let [was, is] = [was, is].map(|value| value.and_then(Value::as_object).unwrap_or(&none));
    let names = differing(was, is).into_iter();
    names.map(|name| format!("{key}.{name}")).collect()
}

/// Whether `enabled_tools` has only patterns that it had, and names that it let through.
fn is_fewer_enabled(was: Option<&Value>, is: Option<&Value>) -> bool {
    let Some(was) = was.map(patterns) else {
        return true;
    };
    let Some(is) = is.map(patterns) else {
        return false;
    };
    let globs = Globs::new(was.clone()).ok();
    let is_inside = |pattern: &String| {
        let is_name = !pattern.contains(['*', '?', '[', ']', '{', '}', '!', '\\', '$']);
        was.contains(pattern)
            || is_name && globs.as_ref().is_some_and(|globs| globs.matches(pattern))
    };
    is.iter().all(is_inside)
}

/// Whether `disabled_tools` still has everything that it had.
fn is_more_disabled(was: Option<&Value>, is: Option<&Value>) -> bool {
    let was = was.map(patterns).unwrap_or_default();
    let is = is.map(patterns).unwrap_or_default();
    let all = is.iter().any(|pattern| pattern == "*");
    all || was.iter().all(|pattern| is.contains(pattern))
}

fn patterns(value: &Value) -> Vec<String> {
    let elements = value.as_array().map_or(&[][..], Vec::as_slice);
    let texts = elements.iter().map(|element| match element {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    });
    texts.collect()
}

#[cfg(test)]
mod tests;
