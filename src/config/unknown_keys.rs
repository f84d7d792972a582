//! Keys that mean nothing to us, each with the key that was meant where that can be told.

use serde_json::{Map, Value};

use super::finding::{Finding, FindingKind};
use crate::text::names;

/// What other programs, and people, call keys of ours.
const OTHER_WORDS: &[(&str, &str)] = &[
    ("timeout", "call_tool_timeout"),
    ("call_timeout", "call_tool_timeout"),
    ("tool_timeout", "call_tool_timeout"),
    ("tool_timeout_sec", "call_tool_timeout"),
    ("request_timeout", "call_tool_timeout"),
    ("connect_timeout", "init_timeout"),
    ("startup_timeout", "init_timeout"),
    ("startup_timeout_sec", "init_timeout"),
    ("startup_timeout_ms", "init_timeout"),
    ("cmd", "command"),
    ("arguments", "args"),
    ("environment", "env"),
    ("envs", "env"),
    ("workdir", "cwd"),
    ("httpUrl", "url"),
    ("serverUrl", "url"),
    ("server_url", "url"),
    ("endpoint", "url"),
    ("uri", "url"),
    ("http_headers", "headers"),
    ("active", "enabled"),
    ("includeTools", "enabled_tools"),
    ("excludeTools", "disabled_tools"),
    ("tools", "enabled_tools"),
    ("servers", "mcpServers"),
    ("mcp_servers", "mcpServers"),
    ("address", "listen"),
    ("port", "listen"),
    ("mode", "routing_mode"),
    ("allowed_hosts", "trusted_hosts"),
    ("allowed_origins", "trusted_origins"),
    ("servers", "tools"),
    ("user", "subjects"),
    ("users", "subjects"),
    ("subject", "subjects"),
    ("group", "roles"),
    ("groups", "roles"),
    ("action", "policy"),
    ("effect", "policy"),
];

/// The key of `known` that was meant.
pub(super) fn meant<'k>(key: &str, known: &[&'k str]) -> Option<&'k str> {
    let words = OTHER_WORDS
        .iter()
        .filter(|(word, _)| word.eq_ignore_ascii_case(key));
    let mut ours = words.filter_map(|(_, ours)| known.iter().find(|known| *known == ours));
    let by_word = ours.next();
    by_word
        .copied()
        .or_else(|| names::closest(key, known.iter().copied()))
}

/// What is said of a key that is ignored.
pub(super) fn ignored(finding: &Finding) -> String {
    let meant = match finding.kind {
        FindingKind::Unknown {
            meant: Some(meant), ..
        } => format!("; did you mean `{meant}`?"),
        _ => String::new(),
    };
    format!("`{}` is unknown and ignored{meant}", finding.key)
}

/// Keys one by one, those that only spell another one differently left out.
pub(super) fn listed(known: &[&str]) -> String {
    let other_spellings = ["working_dir", "protocol", "transport", "disabled"];
    let proper = known.iter().filter(|key| !other_spellings.contains(key));
    let proper: Vec<String> = proper.map(|key| format!("`{key}`")).collect();
    proper.join(", ")
}

/// Keys of an entry that keep something from being used.
const GUARDS: &[&str] = &[
    "quarantined",
    "changed_by",
    "enabled",
    "disabled",
    "enabled_tools",
    "disabled_tools",
    "tool_changes",
    "tool_acl",
    "isolation",
];

/// Whether a key of an entry was probably meant for one that guards it, with a value that guards something.
pub(super) fn is_misspelt_guard(finding: &Finding, entry: &Map<String, Value>) -> bool {
    let FindingKind::Unknown {
        meant: Some(meant), ..
    } = finding.kind
    else {
        return false;
    };
    let value = entry.get(&finding.key);
    GUARDS.contains(&meant) && value.is_some_and(|value| !is_open(meant, value))
}

/// What is said of an entry in which a key that guards it stands twice, or one inside of it: which of the two was meant nobody can tell.
pub(super) fn repeated_guard(repeated: &[String]) -> Option<String> {
    let guards = |path: &&String| GUARDS.contains(&path.split(['.', '[']).next().unwrap_or(path));
    let twice = repeated.iter().find(guards)?;
    Some(format!(
        "`{twice}` stands twice, and the server would be guarded by the last one only; take one out"
    ))
}

/// Whether a guard with this value keeps nothing from being used.
fn is_open(guard: &str, value: &Value) -> bool {
    match guard {
        "enabled" => *value == Value::Bool(true),
        "changed_by" => *value == Value::String("person".to_owned()),
        "quarantined" | "disabled" => *value == Value::Bool(false),
        "enabled_tools" => *value == serde_json::json!(["*"]),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_meant_is_told_by_letters_and_by_words_of_other_programs() {
        let known = [
            "command",
            "args",
            "url",
            "init_timeout",
            "idle_timeout",
            "call_tool_timeout",
        ];
        for (key, expected) in [
            ("comand", Some("command")),
            ("argz", Some("args")),
            ("timeout", Some("call_tool_timeout")),
            ("serverurl", Some("url")),
            ("idle_timout", Some("idle_timeout")),
            ("headers", None),
            ("mode", None),
        ] {
            assert_eq!(meant(key, &known), expected, "{key}");
        }
    }

    #[test]
    fn a_misspelt_guard_is_found_unless_it_would_guard_nothing() {
        let known = crate::config::raw::entry_keys();
        for (key, value, expected) in [
            ("quarantin", "true", Some("quarantined")),
            ("quarantin", "false", None),
            ("changedBy", "\"agent\"", Some("changed_by")),
            ("changed-by", "\"agent\"", Some("changed_by")),
            ("CHANGED_BY", "\"agent\"", Some("changed_by")),
            ("changedBy", "\"person\"", None),
            ("disable", "true", Some("disabled")),
            ("enable", "false", Some("enabled")),
            ("active", "true", None),
            ("active", "false", Some("enabled")),
            ("enabled_tool", "[\"x\"]", Some("enabled_tools")),
            ("tools", "[\"*\"]", None),
            ("excludeTools", "[\"x\"]", Some("disabled_tools")),
            ("toolChanges", "\"hold\"", Some("tool_changes")),
            ("acl", "{}", Some("tool_acl")),
            ("argz", "[]", None),
            ("timeout", "5", None),
            ("autoApprove", "[]", None),
            ("description", "\"x\"", None),
            ("trust", "true", None),
            ("alwaysAllow", "[]", None),
            ("isActive", "true", None),
            ("name", "\"x\"", None),
            ("disabled", "true", None),
        ] {
            let value: Value = serde_json::from_str(value).expect(key);
            let entry = Map::from_iter([(key.to_owned(), value)]);
            let meant = meant(key, known).filter(|_| !known.contains(&key));
            let finding = Finding {
                key: key.to_owned(),
                ..Finding::of(FindingKind::Unknown { meant, known })
            };
            let found = meant.filter(|_| is_misspelt_guard(&finding, &entry));
            assert_eq!(found, expected, "{key}");
        }
    }
}
