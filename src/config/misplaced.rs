//! Keys of access control that stand where they have no effect, each with the place where it belongs. Pure.

use crate::config::unknown_keys;

/// The key of access control.
pub(super) const KEY: &str = "serverAuth";

/// Keys that are parts of `serverAuth`, and what other programs call access control, with what to do about them.
const PARTS: &[(&str, &str)] = &[
    ("acl", "belongs under `serverAuth`"),
    ("provider", "belongs under `serverAuth`"),
    ("providers", "belongs under `serverAuth`"),
    ("bearer", "belongs under `serverAuth`"),
    ("forwarded", "belongs under `serverAuth`"),
    ("token", "belongs under `serverAuth.bearer`, as `tokens`"),
    ("tokens", "belongs under `serverAuth.bearer`"),
    ("rules", "belongs under `serverAuth.acl`"),
    ("trustedproxies", "belongs under `serverAuth.forwarded`"),
    ("groupsheader", "belongs under `serverAuth.forwarded`"),
    ("auth", "is unknown; access control is called `serverAuth`"),
    (
        "authentication",
        "is unknown; access control is called `serverAuth`",
    ),
    (
        "authorization",
        "is unknown; access control is called `serverAuth`",
    ),
    (
        "accesscontrol",
        "is unknown; access control is called `serverAuth`",
    ),
];

/// Where keys belong that stand at a wrong place below `serverAuth`: what the path of the object ends with, the key, and the answer.
const BELOW: &[(&str, &[&str], &str)] = &[
    (KEY, &["token", "tokens"], "belongs under `bearer`"),
    (KEY, &["rules", "default"], "belongs under `acl`"),
    (
        KEY,
        &["header", "groups_header", "trusted_proxies"],
        "belongs under `forwarded`",
    ),
    (
        KEY,
        &["rate_limit", "profile", "profiles", "trusted_hosts"],
        "belongs at the top level, beside `serverAuth`",
    ),
    (
        "acl",
        &["subjects", "roles", "tools", "policy"],
        "belongs into a rule: `rules: [{…}]`",
    ),
    (
        "]",
        &["server", "servers"],
        "is unknown; write `tools: [\"SERVER__*\"]`",
    ),
    (
        "]",
        &["user", "users", "subject"],
        "is unknown; did you mean `subjects`?",
    ),
    (
        "]",
        &["group", "groups"],
        "is unknown; did you mean `roles`?",
    ),
    (
        "]",
        &["action", "effect", "allow", "deny"],
        "is unknown; did you mean `policy`?",
    ),
];

/// What is wrong with a key of the top level that was meant to guard something, and does not where it stands. `known` are the keys
/// of the top level.
pub(super) fn at_top_level(key: &str, known: &[&str]) -> Option<String> {
    if known.contains(&key) {
        return None;
    }
    let letters: String = key.chars().filter(char::is_ascii_alphanumeric).collect();
    let letters = letters.to_ascii_lowercase();
    let part = PARTS.iter().find(|(part, _)| *part == letters);
    if let Some((_, answer)) = part {
        return Some((*answer).to_owned());
    }
    let is_meant = letters == KEY.to_ascii_lowercase()
        || unknown_keys::meant(key, known).is_some_and(|meant| meant == KEY);
    is_meant.then(|| format!("is unknown; access control is called `{KEY}`"))
}

/// Where a key belongs that is unknown in the object of this path.
pub(super) fn below(path: &str, key: &str) -> Option<&'static str> {
    let is_rule = path.contains(".rules[");
    let found = BELOW.iter().find(|(end, keys, _)| {
        path.ends_with(end) && (*end != "]" || is_rule) && keys.contains(&key)
    });
    found.map(|(.., answer)| *answer)
}
