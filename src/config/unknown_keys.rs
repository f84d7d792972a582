//! Keys that mean nothing to us, each with the key that was meant where that can be told.

use crate::names;

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
];

/// The key of `known` that was meant.
pub(super) fn meant<'k>(key: &str, known: &[&'k str]) -> Option<&'k str> {
    let by_word = OTHER_WORDS
        .iter()
        .find(|(word, _)| word.eq_ignore_ascii_case(key))
        .and_then(|(_, ours)| known.iter().find(|known| *known == ours));
    by_word
        .copied()
        .or_else(|| names::closest(key, known.iter().copied()))
}

/// What is said of a key that is ignored.
pub(super) fn ignored(path: &str, key: &str, known: &[&str]) -> String {
    match meant(key, known) {
        Some(close) => format!("`{path}` is unknown and ignored; did you mean `{close}`?"),
        None => format!("`{path}` is unknown and ignored"),
    }
}

/// What is said of the unknown keys of an entry that cannot be used: one of them may be what is missing.
pub(super) fn in_broken_entry<'a>(
    keys: impl Iterator<Item = &'a String>,
    known: &[&str],
) -> String {
    let unknown = keys.filter(|key| !known.contains(&key.as_str()));
    unknown
        .map(|key| match meant(key, known) {
            Some(close) => format!("; `{key}` is unknown, did you mean `{close}`?"),
            None => format!("; `{key}` is unknown"),
        })
        .collect()
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
}
