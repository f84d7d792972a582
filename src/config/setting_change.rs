//! A change of single values, as a person names them, held against what a daemon would say of the file. Pure.

use serde_json::Value;

use super::{
    document::{self, SERVERS, split_mark},
    edit::{Change, EditError, edit_all},
    guards,
    raw::File,
    resolve::{file_fault, parse},
    settings::Settings,
    spanned,
    surroundings::Surroundings,
    unmask,
};
use crate::text::names::ServerName;

/// A value of the file that is to become another one.
#[derive(Debug, Clone, PartialEq)]
pub struct SettingEdit {
    /// The keys that lead to it.
    pub path: Vec<String>,
    /// The new value.
    pub value: WantedValue,
}

/// What a value is to become.
#[derive(Debug, Clone, PartialEq)]
pub enum WantedValue {
    /// This.
    Json(Value),
    /// What somebody typed: JSON where the key takes that, else the text itself.
    Typed(String),
    /// It goes.
    Absent,
}

/// What edits come to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedText {
    /// The text of the file after them.
    pub text: String,
    /// Why it cannot be written: what a daemon would not take, or would ignore, and took before.
    pub problems: Vec<String>,
    /// What a daemon would say of it, and did not say before.
    pub warnings: Vec<String>,
}

/// The keys of a path that somebody wrote with dots. Names of servers and profiles may have dots themselves.
pub fn keys_of_path(written: &str, text: &str) -> Vec<String> {
    let mut keys: Vec<String> = written.split('.').map(str::to_owned).collect();
    let Ok(document) = document::read(text) else {
        return keys;
    };
    let names: Vec<String> = match keys.first().map(String::as_str) {
        Some(SERVERS) => {
            let servers = document.servers.into_iter();
            servers.filter_map(|server| server.name).collect()
        }
        Some("profiles") => match document.settings.get("profiles") {
            Some(Value::Object(profiles)) => profiles.keys().cloned().collect(),
            _ => Vec::new(),
        },
        _ => return keys,
    };
    let rest = keys.get(1..).unwrap_or_default();
    let longest = (1..=rest.len()).rev().find(|n| {
        let name = rest.get(..*n).unwrap_or_default().join(".");
        names.contains(&name)
    });
    if let Some(n) = longest {
        let name: Vec<String> = keys.drain(1..=n).collect();
        keys.insert(1, name.join("."));
    }
    keys
}

/// The text with these edits, all of them, and what is wrong with it.
pub fn plan_edits(
    text: &str,
    edits: &[SettingEdit],
    surroundings: &Surroundings<'_>,
) -> Result<PlannedText, EditError> {
    let before = Judged::of(text, surroundings);
    let mut edited = text.to_owned();
    for edit in edits {
        edited = match &edit.value {
            WantedValue::Json(value) => set(&edited, &edit.path, value)?,
            WantedValue::Absent => edit_all(&edited, &[removal(&edit.path)?])?,
            WantedValue::Typed(typed) => {
                let is_right = |text: &str| {
                    let problems = Judged::of(text, surroundings).problems;
                    new_in(&problems, &before.problems).is_empty()
                };
                typed_in(&edited, &edit.path, typed, is_right)?
            }
        };
    }
    let after = Judged::of(&edited, surroundings);
    Ok(PlannedText {
        text: edited,
        problems: new_in(&after.problems, &before.problems),
        warnings: new_in(&after.warnings, &before.warnings),
    })
}

fn new_in(after: &[String], before: &[String]) -> Vec<String> {
    let new = after.iter().filter(|one| !before.contains(one));
    new.cloned().collect()
}

/// What was typed, as what the key takes: as JSON, unless only the text itself is right. `null` takes the key away.
fn typed_in(
    text: &str,
    path: &[String],
    typed: &str,
    is_right: impl Fn(&str) -> bool,
) -> Result<String, EditError> {
    let as_text = || set(text, path, &typed.into());
    let Ok(value) = serde_json::from_str(typed) else {
        return as_text();
    };
    let as_json = set(text, path, &value)?;
    if value.is_string() || value.is_null() || is_right(&as_json) {
        return Ok(as_json);
    }
    // A server's entry cannot be a text at all.
    let as_text = as_text().ok().filter(|text| is_right(text));
    Ok(as_text.unwrap_or(as_json))
}

fn set(text: &str, path: &[String], value: &Value) -> Result<String, EditError> {
    if value.is_null() {
        return edit_all(text, &[removal(path)?]);
    }
    let stored = stored_at(text, path)?;
    let value = unmask::restored_at(path, value, stored.as_ref()).map_err(EditError::Masked)?;
    let path = path.to_vec();
    let change = match &path[..] {
        [servers] if servers == SERVERS => return Err(EditError::NoKey),
        [servers, name] if servers == SERVERS => {
            let Value::Object(entry) = value else {
                return Err(EditError::NotAnEntry(name.clone()));
            };
            let name = ServerName::parse(name)?;
            Change::AddServer { name, entry }
        }
        [servers, name, rest @ ..] if servers == SERVERS => Change::SetKey {
            server: name.clone(),
            path: rest.to_vec(),
            value,
        },
        _ => Change::SetSetting { path, value },
    };
    edit_all(text, &[change])
}

/// What the file has at a place.
fn stored_at(text: &str, path: &[String]) -> Result<Option<Value>, EditError> {
    let document = document::read(split_mark(text).1)?;
    let (found, rest) = match path {
        [servers, name, rest @ ..] if servers == SERVERS => {
            let mut servers = document.servers.iter();
            let server = servers.find(|server| server.name.as_ref() == Some(name));
            (server.map(|server| &server.entry), rest)
        }
        [key, rest @ ..] => (document.settings.get(key), rest),
        [] => return Ok(None),
    };
    let found = found.and_then(|found| rest.iter().try_fold(found, |at, key| at.get(key)));
    Ok(found.cloned())
}

fn removal(path: &[String]) -> Result<Change, EditError> {
    Ok(match path {
        [servers] if servers == SERVERS => return Err(EditError::NoKey),
        [servers, name] if servers == SERVERS => Change::RemoveServer { name: name.clone() },
        [servers, name, rest @ ..] if servers == SERVERS => Change::RemoveKey {
            server: name.clone(),
            path: rest.to_vec(),
        },
        path => Change::RemoveSetting {
            path: path.to_vec(),
        },
    })
}

/// What a daemon would say of a text.
struct Judged {
    problems: Vec<String>,
    warnings: Vec<String>,
}

impl Judged {
    fn of(text: &str, surroundings: &Surroundings<'_>) -> Self {
        let fault = file_fault(text, surroundings);
        let mut problems: Vec<String> = fault.iter().map(ToString::to_string).collect();
        problems.extend(ignored_keys(text));
        let settings = parse(text, surroundings).unwrap_or_default();
        problems.extend(broken_entries(&settings));
        Self {
            problems,
            warnings: settings.warnings,
        }
    }
}

/// Keys outside of the servers that mean nothing.
fn ignored_keys(text: &str) -> Vec<String> {
    let Ok(document) = document::read(text) else {
        return Vec::new();
    };
    let ignored = document.root.as_ref();
    let ignored = ignored.map(|root| spanned::read::<File>(root, None).ignored);
    ignored.iter().flatten().map(guards::ignored).collect()
}

/// Entries that cannot be used, but for those that lack something which the daemon may have.
fn broken_entries(settings: &Settings) -> impl Iterator<Item = String> {
    let broken = settings.broken.iter();
    let broken = broken.filter(|broken| {
        let mut findings = broken.findings.iter();
        !findings.any(super::finding::ConfigFinding::lacks_value)
    });
    broken.map(|broken| format!("the server {:?}: {}", broken.name, broken.reason))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::json;

    use super::*;

    fn plan(text: &str, path: &str, value: WantedValue) -> Result<PlannedText, EditError> {
        let surroundings = Surroundings {
            lookup: &|_| None,
            folder: Path::new("/"),
        };
        let path = keys_of_path(path, text);
        plan_edits(text, &[SettingEdit { path, value }], &surroundings)
    }

    #[track_caller]
    fn check(text: &str, path: &str, typed: &str, expected: &str) {
        let planned = plan(text, path, WantedValue::Typed(typed.to_owned()));
        let planned = planned.expect("it can be edited");
        assert_eq!(planned.text, expected);
        assert_eq!(planned.problems, [""; 0]);
    }

    #[test]
    fn values_are_typed_as_their_keys_take_them() {
        check(r#"{"top_k": 5}"#, "top_k", "7", r#"{"top_k": 7}"#);
        let text = r#"{"activity": {"max_age": "1d"}}"#;
        check(text, "activity.max_age", "30d", &text.replace("1d", "30d"));
        let text = r#"{"api_key": "abcdefghijkl"}"#;
        check(
            text,
            "api_key",
            "123456789012",
            &text.replace("abcdefghijkl", "123456789012"),
        );
        check(r#"{"top_k": 5}"#, "top_k", "null", "{}");
        let text = r#"{"mcpServers": {"a.b": {"command": "x"}}}"#;
        check(
            text,
            "mcpServers.a.b.command",
            "y",
            &text.replace("\"x\"", "\"y\""),
        );
        check(text, "mcpServers.a.b", "null", r#"{"mcpServers": {}}"#);
        let path = "mcpServers.a.b.command";
        let planned = plan(text, path, WantedValue::Typed("null".to_owned()));
        let planned = planned.expect("it can be edited");
        assert!(!planned.text.contains("command"), "{}", planned.text);
        assert_eq!(planned.problems.len(), 1, "it has no command any more");
        let entry = WantedValue::Typed(r#"{"command": "x"}"#.to_owned());
        let bad = plan(text, "mcpServers.a__b", entry);
        assert!(matches!(bad, Err(EditError::BadName(_))), "{bad:?}");
    }

    #[test]
    fn what_is_typed_is_taken_the_same_beside_an_older_mistake() {
        let text = r#"{"odd": 1, "api_key": "abcdefghijkl", "mcpServers": {}}"#;
        let typed = "123456789012";
        check(text, "api_key", typed, &text.replace("abcdefghijkl", typed));
        let entry = r#"{"command":"python3"}"#;
        let planned = plan(text, "mcpServers.a", WantedValue::Typed(entry.to_owned()));
        let planned = planned.expect("it can be edited");
        assert_eq!(planned.problems, [""; 0]);
        let written = crate::config::written_entry(&planned.text, "a").expect("an entry");
        assert_eq!(Value::Object(written), json!({ "command": "python3" }));
        // One that cannot be used is refused for what is wrong with it.
        let planned = plan(text, "mcpServers.a", WantedValue::Typed("{}".to_owned()));
        assert_eq!(planned.expect("it can be edited").problems.len(), 1);
        let text_alone = plan(
            text,
            "mcpServers.a",
            WantedValue::Typed("python3".to_owned()),
        );
        assert_eq!(text_alone, Err(EditError::NotAnEntry("a".to_owned())));
    }

    #[test]
    fn a_mask_stands_for_what_is_stored_where_it_was_shown_and_for_nothing_else() {
        let text = r#"{"api_key": "abcdefghijkl", "data_dir": "a", "mcpServers": {"a": {"command": "x", "env": {"KEY": "s3cret", "N": "1"}}}}"#;
        check(text, "api_key", "***", text);
        check(text, "mcpServers.a.env.KEY", "***", text);
        let echoed = r#"{"KEY":"***","N":"2"}"#;
        let kept = text.replace(r#""1""#, r#""2""#);
        check(text, "mcpServers.a.env", echoed, &kept);
        let stars = text.replace(r#""a","#, r#""with *** stars","#);
        check(text, "data_dir", "with *** stars", &stars);
        for (path, typed) in [
            ("mcpServers.a.env.OTHER", "***"),
            ("mcpServers.a.env", r#"{"OTHER":"***"}"#),
            ("mcpServers.a.headers.Authorization", "Bearer ***"),
            ("tokenizer", "***"),
            ("serverAuth.bearer.tokens", r#"{"*** 1":"ada"}"#),
        ] {
            let refused = plan(text, path, WantedValue::Typed(typed.to_owned()));
            let refused = refused.expect_err("nothing is stored there");
            assert!(matches!(refused, EditError::Masked(_)), "{path}: {refused}");
        }
    }

    #[test]
    fn what_a_daemon_would_not_take_is_a_problem_and_what_was_wrong_before_is_none() {
        for (text, path, value) in [
            ("{}", "top_kk", json!(1)),
            ("{}", "top_k", json!(-1)),
            ("{}", "listen", json!(5)),
            ("{}", "activity.max_ag", json!("1d")),
            ("{}", "mcpServers.a", json!({})),
            ("{}", "serverAuth.x", json!(1)),
        ] {
            let planned = plan(text, path, WantedValue::Json(value)).expect("it can be edited");
            assert_eq!(planned.problems.len(), 1, "{path} {:?}", planned.problems);
        }
        let text = r#"{"unknown": 1, "mcpServers": {"a": {}}}"#;
        let planned = plan(text, "top_k", WantedValue::Json(json!(7))).expect("it can be edited");
        assert!(planned.problems.is_empty(), "{:?}", planned.problems);
        plan(text, "mcpServers", WantedValue::Absent).expect_err("all of them at once");
    }
}
