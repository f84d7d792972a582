//! Keys of the top level that guard something, and whatever was probably meant for one of them: a slip must not let everybody in, nor leave
//! a team without the file that says what is accepted.

use jsonc_parser::{ast, common::Ranged};

use super::{document::Document, finding::Finding, raw::file_keys, server_auth, unknown_keys};

/// The key of the lock file.
const LOCK_FILE: &str = "lock_file";

/// What else the lock file may be called by somebody who does not look it up, without case and separators.
const LOCK_WORDS: [&str; 4] = ["lock", "locked", "lockfile", "lockfilepath"];

/// Keys that are parts of `serverAuth`, without case and separators, with where they belong.
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

/// What other programs call access control.
const AUTH_WORDS: [&str; 4] = ["auth", "authentication", "authorization", "accesscontrol"];

/// What is wrong with such keys.
pub(super) fn findings(document: &Document<'_>) -> Vec<Finding> {
    let members = document.members();
    let mut findings = Vec::new();
    for (index, member) in members.iter().enumerate() {
        let key = member.name.as_str();
        let is_guard = key == LOCK_FILE || key == server_auth::KEY;
        let mut before = members.iter().take(index);
        let problem = match &member.value {
            _ if is_guard && before.any(|other| other.name.as_str() == key) => {
                Some("stands there twice".to_owned())
            }
            ast::Value::NullKeyword(_) if is_guard => {
                Some("is null: take it out to go without, or say what counts".to_owned())
            }
            ast::Value::StringLit(text) if key == LOCK_FILE && text.value.trim().is_empty() => {
                Some("is empty: take it out to go without a lock file, or name one".to_owned())
            }
            value => misspelt(key, matches!(value, ast::Value::NullKeyword(_))),
        };
        findings.extend(problem.map(|problem| Finding {
            at: Some(member.start()),
            ..Finding::new(key, problem)
        }));
    }
    findings
}

/// What is said of an unknown key that was meant to guard something. A null where access control was meant guards nothing.
fn misspelt(key: &str, is_null: bool) -> Option<String> {
    let known = file_keys();
    if known.contains(&key) {
        return None;
    }
    let letters: String = key.chars().filter(char::is_ascii_alphanumeric).collect();
    let letters = letters.to_ascii_lowercase();
    let meant = unknown_keys::meant(key, known);
    if LOCK_WORDS.contains(&&*letters) || meant == Some(LOCK_FILE) {
        return Some(format!(
            "is unknown; the lock file is named with `{LOCK_FILE}`"
        ));
    }
    if is_null {
        return None;
    }
    if let Some((_, place)) = PARTS.iter().find(|(part, _)| *part == letters) {
        return Some(format!("belongs under `{}{place}`", server_auth::KEY));
    }
    let is_auth = letters == server_auth::KEY.to_ascii_lowercase()
        || AUTH_WORDS.contains(&&*letters)
        || meant == Some(server_auth::KEY);
    is_auth.then(|| {
        format!(
            "is unknown; access control is called `{}`",
            server_auth::KEY
        )
    })
}
