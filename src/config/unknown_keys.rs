//! Unknown keys: which known key was probably meant.

use crate::text::names;

/// Names that other programs use for keys of ours.
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
    ("http_url", "url"),
    ("server_url", "url"),
    ("endpoint", "url"),
    ("uri", "url"),
    ("http_headers", "headers"),
    ("active", "enabled"),
    ("include_tools", "enabled_tools"),
    ("allowed_tools", "enabled_tools"),
    ("tools", "enabled_tools"),
    ("exclude_tools", "disabled_tools"),
    ("excluded_tools", "disabled_tools"),
    ("denied_tools", "disabled_tools"),
    ("disallowed_tools", "disabled_tools"),
    ("blocked_tools", "disabled_tools"),
    ("servers", "mcpServers"),
    ("address", "listen"),
    ("port", "listen"),
    ("mode", "routing_mode"),
    ("allowed_hosts", "trusted_hosts"),
    ("allowed_origins", "trusted_origins"),
    ("servers", "tools"),
    ("path", "set"),
    ("user", "subjects"),
    ("users", "subjects"),
    ("subject", "subjects"),
    ("group", "roles"),
    ("groups", "roles"),
    ("action", "policy"),
    ("effect", "policy"),
];

/// Keys of mcpproxy-go that are ignored.
const FOREIGN: &[&str] = &[
    "inherit_system_safe",
    "allowed_system_vars",
    "custom_vars",
    "enhance_path",
    "registry",
    "timeout",
    "log_driver",
    "log_max_size",
    "log_max_files",
];

/// The letters and digits of a key in lower case.
pub(super) fn letters(key: &str) -> String {
    let letters = key.chars().filter(char::is_ascii_alphanumeric);
    letters.map(|c| c.to_ascii_lowercase()).collect()
}

/// The key of `known` that was probably meant; none that is ignored.
pub(super) fn meant<'k>(key: &str, known: &[&'k str]) -> Option<&'k str> {
    let wanted = letters(key);
    let is_same = |word: &str| letters(word) == wanted;
    let known = || known.iter().copied().filter(|key| !FOREIGN.contains(key));
    let of_words = OTHER_WORDS.iter().filter(|(word, _)| is_same(word));
    let mut of_words = of_words.filter_map(|(_, ours)| known().find(|known| known == ours));
    let same = known().find(|known| is_same(known));
    let found = same.or_else(|| of_words.next());
    // A key of one or two letters is similar to nearly every key.
    let close = || names::closest(key, known()).filter(|_| wanted.len() > 2);
    found.or_else(close)
}

/// Lists keys, without other spellings and keys of mcpproxy-go.
pub(super) fn listed(known: &[&str]) -> String {
    let others = ["working_dir", "protocol", "transport", "disabled"];
    let is_proper = |key: &&&str| !others.contains(key) && !FOREIGN.contains(key);
    let proper = known.iter().filter(is_proper);
    let proper: Vec<String> = proper.map(|key| format!("`{key}`")).collect();
    proper.join(", ")
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
            ("c", None),
            ("ur", None),
        ] {
            assert_eq!(meant(key, &known), expected, "{key}");
        }
        let environment = ["inherit", "set", "enhance_path"];
        assert_eq!(meant("PATH", &environment), Some("set"));
        assert_eq!(meant("enhance_pat", &environment), None);
        let switches = ["enabled", "disabled", "enabled_tools", "disabled_tools"];
        for (key, expected) in [
            ("denied_tools", "disabled_tools"),
            ("blockedTools", "disabled_tools"),
            ("disabledTools", "disabled_tools"),
            ("allowed_tools", "enabled_tools"),
            ("Enabled-Tools", "enabled_tools"),
        ] {
            assert_eq!(meant(key, &switches), Some(expected), "{key}");
        }
    }
}
