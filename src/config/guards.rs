//! Misspelt keys that were probably meant for one that protects something, at the top level and in entries: ignoring such a key could let
//! every client in, or accept every tool.

use jsonc_parser::{ast, common::Ranged};
use serde_json::{Map, Value};

use super::{
    ConfigFinding, Document, FindingKind, Warning,
    care::{self, LOCK_FILE},
    document::{SERVER_AUTH, SERVERS},
    raw::file_keys,
    unknown_keys,
};
use crate::text::names;

/// Wrong names of `lock_file` that people may try, without case and separators.
const LOCK_WORDS: [&str; 4] = ["lock", "locked", "lockfile", "lockfilepath"];

/// Keys inside `serverAuth`, without case and separators, with the path below it.
const PARTS: &[(&str, &str)] = &[
    ("acl", ""),
    ("provider", ""),
    ("providers", ""),
    ("bearer", ""),
    ("forwarded", ""),
    ("token", ".bearer.tokens"),
    ("tokens", ".bearer"),
    ("rules", ".acl"),
    ("trustedproxies", ".forwarded"),
    ("groupsheader", ".forwarded"),
];

/// Names of other programs for access control.
const AUTH_WORDS: [&str; 4] = ["auth", "authentication", "authorization", "accesscontrol"];

/// The misspelt keys of the top level.
pub(super) fn findings(document: &Document<'_>) -> Vec<ConfigFinding> {
    let members = document.members().iter();
    let misspelt = members.filter_map(|member| {
        let key = member.name.as_str();
        let problem = misspelt(key, matches!(member.value, ast::Value::NullKeyword(_)))?;
        Some(ConfigFinding {
            at: Some(member.start()),
            ..ConfigFinding::new(key, problem)
        })
    });
    misspelt.collect()
}

/// The problem of a key of the top level that was meant to protect something. A null in place of access control would protect nothing.
fn misspelt(key: &str, is_null: bool) -> Option<String> {
    let known = file_keys();
    if known.contains(&key) {
        return None;
    }
    let letters = unknown_keys::letters(key);
    let meant = unknown_keys::meant(key, known);
    if LOCK_WORDS.contains(&&*letters) || meant == Some(LOCK_FILE) {
        return Some(format!("is unknown; `{LOCK_FILE}` names the lock file"));
    }
    if let Some(guard) = care::TOP_LEVEL_GUARDS
        .iter()
        .find(|guard| is_slip(&letters, guard))
    {
        return Some(format!("is unknown; did you mean `{guard}`?"));
    }
    if is_null {
        return None;
    }
    if let Some((_, place)) = PARTS.iter().find(|(part, _)| *part == letters) {
        return Some(format!("belongs under `{SERVER_AUTH}{place}`"));
    }
    let is_auth = letters == SERVER_AUTH.to_ascii_lowercase()
        || AUTH_WORDS.contains(&&*letters)
        || meant == Some(SERVER_AUTH);
    is_auth.then(|| format!("is unknown; access control is called `{SERVER_AUTH}`"))
}

/// Whether at most two letters differ.
fn is_slip(letters: &str, key: &str) -> bool {
    *key != *SERVERS && names::edits(letters, &unknown_keys::letters(key)) <= 2
}

/// The warning of an unknown key that is ignored.
pub(super) fn ignored(finding: &ConfigFinding) -> Warning {
    let meant = match finding.kind {
        FindingKind::Unknown { meant, .. } => meant,
        _ => None,
    };
    let mut what = "is unknown and ignored".to_owned();
    what.extend(meant.map(|meant| format!("; did you mean `{meant}`?")));
    Warning {
        unknown: true,
        closest: meant.map(str::to_owned),
        ..Warning::of_key(finding.key.as_str(), what)
    }
}

/// Keys of an entry that restrict its use.
const ENTRY_GUARDS: &[&str] = &[
    "quarantined",
    "changed_by",
    "enabled",
    "disabled",
    "enabled_tools",
    "disabled_tools",
    "tool_changes",
    "new_tools",
    "tool_acl",
    "isolation",
];

/// Whether a key of an entry was probably meant for one of [`ENTRY_GUARDS`], and its value would restrict something.
pub(super) fn is_misspelt_guard(finding: &ConfigFinding, entry: &Map<String, Value>) -> bool {
    let FindingKind::Unknown {
        meant: Some(meant), ..
    } = finding.kind
    else {
        return false;
    };
    let value = entry.get(&finding.key);
    ENTRY_GUARDS.contains(&meant) && value.is_some_and(|value| !is_open(meant, value))
}

/// The mistake of an entry in which one of [`ENTRY_GUARDS`], or a key inside it, appears twice: nobody knows which one was meant.
pub(super) fn repeated_guard(repeated: &[String]) -> Option<ConfigFinding> {
    let guards =
        |path: &&String| ENTRY_GUARDS.contains(&path.split(['.', '[']).next().unwrap_or(path));
    let twice = repeated.iter().find(guards)?;
    let problem = "appears again, and only this last value would count; remove one";
    Some(ConfigFinding::new(twice, problem))
}

/// Whether a guard with this value restricts nothing.
fn is_open(guard: &str, value: &Value) -> bool {
    match guard {
        "enabled" => *value == Value::Bool(true),
        "changed_by" => *value == Value::String("person".to_owned()),
        "quarantined" | "disabled" => *value == Value::Bool(false),
        "new_tools" => *value == Value::String("allow".to_owned()),
        "enabled_tools" => *value == serde_json::json!(["*"]),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            ("newTools", "\"hold\"", Some("new_tools")),
            ("newTools", "\"allow\"", None),
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
            let meant = unknown_keys::meant(key, known).filter(|_| !known.contains(&key));
            let finding = ConfigFinding {
                key: key.to_owned(),
                ..ConfigFinding::of(FindingKind::Unknown { meant, known })
            };
            let found = meant.filter(|_| is_misspelt_guard(&finding, &entry));
            assert_eq!(found, expected, "{key}");
        }
    }
}
