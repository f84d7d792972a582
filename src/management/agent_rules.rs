//! What an agent may change of a server's entry by itself, what holds the server until a person has looked at it, and what only a
//! person may change. Pure: entries in, a verdict out.

use serde_json::{Map, Value};

use super::{
    glob_cover::covers, loader_variables::changes_what_is_loaded, pointing_values::says_where,
};
use crate::config::{Globs, PatchedEntry, differing};

/// What follows from a change that an agent wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum AgentVerdict {
    /// It is made.
    Free,
    /// It is made, and the server is held: the places that ask for it.
    Held(Vec<String>),
    /// It is not made: each key for which it is not, and why.
    Refused(Vec<(String, &'static str)>),
}

/// What follows from the change of one key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeyVerdict {
    Free,
    Held,
    Refused(&'static str),
}

const ONLY_A_PERSON: &str = "only the user may change it";
const LIFTS: &str = "only the user can approve a server";
const WIDENS: &str =
    "it would offer more tools than the user has allowed, which only the user may do";

/// Judges a change of an entry that is there.
pub(super) fn judge(patched: &PatchedEntry) -> AgentVerdict {
    let (before, after) = (&patched.before, &patched.after);
    let (mut held, mut refused) = (Vec::new(), Vec::new());
    for key in differing(before, after) {
        match (before.get(key), after.get(key)) {
            (was, is) if matches!(key, "env" | "headers") => {
                let none = Map::new();
                let members = |value: Option<&Value>| {
                    value.and_then(Value::as_object).unwrap_or(&none).clone()
                };
                let (was, is) = (members(was), members(is));
                for name in differing(&was, &is) {
                    if holds_member(key, name, was.get(name), is.get(name)) {
                        held.push(format!("{key}.{name}"));
                    }
                }
            }
            (was, is) => match judge_key(key, was, is) {
                KeyVerdict::Free => (),
                KeyVerdict::Held => held.push(key.to_owned()),
                KeyVerdict::Refused(why) => refused.push((key.to_owned(), why)),
            },
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

/// Judges an entry that an agent wants to add. Such a server is held whatever it says.
/// Gives what is refused of it, and why.
pub(super) fn judge_new(entry: &Map<String, Value>) -> Vec<(String, &'static str)> {
    let of_a_person = ["tool_changes", "tool_acl", "changed_by"].into_iter();
    let of_a_person = of_a_person.filter(|key| entry.contains_key(*key));
    let mut refused: Vec<(String, &'static str)> = of_a_person
        .map(|key| (key.to_owned(), ONLY_A_PERSON))
        .collect();
    if !matches!(entry.get("quarantined"), None | Some(Value::Bool(true))) {
        refused.push(("quarantined".to_owned(), LIFTS));
    }
    refused
}

fn judge_key(key: &str, was: Option<&Value>, is: Option<&Value>) -> KeyVerdict {
    match key {
        "quarantined" if is == Some(&Value::Bool(true)) => KeyVerdict::Free,
        "quarantined" => KeyVerdict::Refused(LIFTS),
        "changed_by" | "tool_changes" | "tool_acl" => KeyVerdict::Refused(ONLY_A_PERSON),
        "enabled_tools" if !is_fewer_enabled(was, is) => KeyVerdict::Refused(WIDENS),
        "disabled_tools" if !is_more_disabled(was, is) => KeyVerdict::Refused(WIDENS),
        _ if has_new_reference(was, is) => KeyVerdict::Held,
        "enabled"
        | "enabled_tools"
        | "disabled_tools"
        | "idle_timeout"
        | "min_idle_timeout"
        | "max_idle_timeout"
        | "init_timeout"
        | "call_tool_timeout"
        | "start"
        | "max_concurrent_requests" => KeyVerdict::Free,
        // What is run, where it is, what it is told, how it is shared, and whatever is added to entries later.
        _ => KeyVerdict::Held,
    }
}

/// Whether a variable or a header makes another server of it.
fn holds_member(key: &str, name: &str, was: Option<&Value>, is: Option<&Value>) -> bool {
    if has_new_reference(was, is) {
        return true;
    }
    if key == "headers" {
        return name.eq_ignore_ascii_case("host");
    }
    // Another place than it was, too, and none instead of one.
    let points = |value: Option<&Value>| value.is_some_and(|value| says_where(&text_of(value)));
    points(was) || points(is) || changes_what_is_loaded(name)
}

/// Whether a value has a reference that was not at this place. Escaped ones count too.
fn has_new_reference(was: Option<&Value>, is: Option<&Value>) -> bool {
    let Some(is) = is.map(text_of) else {
        return false;
    };
    let was = was.map(text_of).unwrap_or_default();
    let known: Vec<&str> = references(&was).collect();
    references(&is).any(|reference| !known.contains(&reference))
}

/// What stands between `${` and `}`, or the end.
fn references(text: &str) -> impl Iterator<Item = &str> {
    let inside = text.split("${").skip(1);
    inside.map(|rest| rest.split('}').next().unwrap_or_default())
}

fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Whether every pattern lets through only what was let through before, as far as that can be told for certain.
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
        was.iter().any(|old| covers(old, pattern))
            || is_name && globs.as_ref().is_some_and(|globs| globs.matches(pattern))
    };
    is.iter().all(is_inside)
}

/// Whether what was switched off stays so.
fn is_more_disabled(was: Option<&Value>, is: Option<&Value>) -> bool {
    let was = was.map(patterns).unwrap_or_default();
    let is = is.map(patterns).unwrap_or_default();
    let all = is.iter().any(|pattern| pattern == "*");
    all || was.iter().all(|pattern| is.contains(pattern))
}

fn patterns(value: &Value) -> Vec<String> {
    let elements = value.as_array().map_or(&[][..], Vec::as_slice);
    elements.iter().map(text_of).collect()
}

#[cfg(test)]
mod tests;
