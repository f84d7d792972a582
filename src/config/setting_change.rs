//! Changes of single values by their paths, checked before they are written: new mistakes and warnings of the file are reported. Pure.

use std::cell::LazyCell;

use serde_json::{Map, Value};

use super::{
    Change, ConfigError, ConfigFinding, Document, EditError, EditedFile, IssuedTokens, Settings,
    Surroundings, Warning,
    document::{self, SERVERS},
    edit, edit_all,
    masks::{OnUnknown, restore},
    raw::{File, RawEntry},
    resolve::{file_fault, parse_document},
    spanned,
};

/// A value of the file to set.
#[derive(Debug, Clone, PartialEq)]
pub struct SettingEdit {
    /// The keys that lead to it.
    pub path: Vec<String>,
    /// The new value.
    pub value: WantedValue,
}

/// The value to set.
#[derive(Debug, Clone, PartialEq)]
pub enum WantedValue {
    /// This value; null removes the key.
    Json(Value),
    /// A text from a command line: read as JSON if the key accepts the result, else taken as a string.
    Typed(String),
}

/// Splits a path at its dots. `text` is that of the file: its servers and profiles may have dots in their names.
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

/// The text with all of these edits.
pub fn with_edits(
    before: &Document<'_>,
    edits: &[SettingEdit],
    surroundings: &Surroundings<'_>,
) -> Result<String, EditError> {
    let none = IssuedTokens::default();
    let known = LazyCell::new(|| JudgedText::without(edits, before, surroundings, &none));
    let is_right = |text: &str| {
        document::read(text).is_ok_and(|read| {
            let problems = JudgedText::of(&read, surroundings, &none).problems;
            problems.iter().all(|one| known.problems.contains(one))
        })
    };
    let mut edited = before.written.to_owned();
    for SettingEdit { path, value } in edits {
        let set = |value: &Value| set(before, &edited, path, value);
        let made = match value {
            WantedValue::Json(value) => set(value)?,
            WantedValue::Typed(typed) => typed_in(typed, set, is_right)?,
        };
        edited = without_emptied(made, path, is_right)?;
    }
    Ok(edited)
}

/// The problems and warnings of a text that these edits cause: those that the text without them does not have.
pub fn judged(made: &EditedFile<'_>, edits: &[SettingEdit], issued: &IssuedTokens) -> JudgedText {
    let mut judged = JudgedText::of(made.after, made.surroundings, issued);
    if !judged.problems.is_empty() || !judged.warnings.is_empty() {
        let known = JudgedText::without(edits, made.before, made.surroundings, issued);
        judged.problems.retain(|one| !known.problems.contains(one));
        judged.warnings.retain(|one| !known.warnings.contains(one));
    }
    judged
}

/// Removes the setting around a removed key if that leaves it empty and an empty one is a mistake, so that it can be set and removed again.
fn without_emptied(
    text: String,
    path: &[String],
    is_right: impl Fn(&str) -> bool,
) -> Result<String, EditError> {
    let [top, _] = path else {
        return Ok(text);
    };
    let is_emptied = top != SERVERS && {
        let read = document::read(&text)?;
        let object = read.settings.get(top).and_then(Value::as_object);
        object.is_some_and(Map::is_empty)
    };
    if !is_emptied || is_right(&text) {
        return Ok(text);
    }
    let path = vec![top.clone()];
    edit(&text, &Change { path, value: None })
}

/// Sets a typed text: as JSON, unless only a string is right. `null` removes the key.
fn typed_in(
    typed: &str,
    set: impl Fn(&Value) -> Result<String, EditError>,
    is_right: impl Fn(&str) -> bool,
) -> Result<String, EditError> {
    let as_text = || set(&typed.into());
    let Ok(value) = serde_json::from_str(typed) else {
        return as_text();
    };
    let as_json = set(&value)?;
    if value.is_string() || value.is_null() || is_right(&as_json) {
        return Ok(as_json);
    }
    // Setting a server's entry to a string is an error.
    let as_text = as_text().ok().filter(|text| is_right(text));
    Ok(as_text.unwrap_or(as_json))
}

fn set(
    before: &Document<'_>,
    text: &str,
    path: &[String],
    value: &Value,
) -> Result<String, EditError> {
    let stored = stored_at(before, path);
    // Listings mask values of any key of an entry, but of few other keys: a value of these may contain stars of its own.
    let on_unknown = if path.first().is_some_and(|key| key == SERVERS) {
        OnUnknown::Refuse
    } else {
        OnUnknown::KeepUnlessWhole
    };
    let value = match value {
        Value::Null => None,
        value => Some(restore(&path.join("."), value, stored, on_unknown)?),
    };
    let path = path.to_vec();
    edit(text, &Change { path, value })
}

/// The value at a path.
fn stored_at<'d>(document: &'d Document<'_>, path: &[String]) -> Option<&'d Value> {
    let (found, rest) = match path {
        [servers, name, rest @ ..] if servers == SERVERS => {
            let mut servers = document.servers.iter();
            let server = servers.find(|server| server.name.as_ref() == Some(name));
            (server.map(|server| &server.entry), rest)
        }
        [key, rest @ ..] => (document.settings.get(key), rest),
        [] => return None,
    };
    found.and_then(|found| rest.iter().try_fold(found, |at, key| at.get(key)))
}

/// The problems and warnings that a daemon would have with a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JudgedText {
    /// Mistakes, broken entries and unknown keys.
    pub problems: Vec<String>,
    /// Warnings of the settings.
    pub warnings: Vec<Warning>,
}

impl JudgedText {
    /// Judges the text without the settings that these edits set: a wrong value that is set again counts as a new problem. A right text has
    /// no problems, whatever it lacks without them.
    fn without(
        edits: &[SettingEdit],
        before: &Document<'_>,
        surroundings: &Surroundings<'_>,
        issued: &IssuedTokens,
    ) -> Self {
        let paths = edits.iter().map(|edit| edit.path.clone());
        let paths = paths.filter(|path| path.first().is_some_and(|key| key != SERVERS));
        let gone: Vec<Change> = paths.map(|path| Change { path, value: None }).collect();
        let rest = edit_all(before.written, &gone);
        let rest = rest.as_deref().unwrap_or(before.written);
        let rest = document::read(rest).unwrap_or_default();
        let mut known = Self::of(&rest, surroundings, issued);
        if Self::of(before, surroundings, issued).problems.is_empty() {
            known.problems.clear();
        }
        known
    }

    fn of(document: &Document<'_>, surroundings: &Surroundings<'_>, issued: &IssuedTokens) -> Self {
        let (mut settings, fault) = match parse_document(document, surroundings) {
            Ok(settings) => (settings, None),
            Err(error) => (Settings::default(), file_fault(error)),
        };
        settings.issued = issued.clone();
        let root = document.root.as_ref();
        let ignored = root.map(|root| spanned::read::<File>(root, None).ignored);
        let mut ignored = ignored.unwrap_or_default();
        // A misspelt key that protects something is a fault already.
        let faults = fault.as_ref().map_or(&[][..], ConfigError::findings);
        ignored.retain(|one| faults.iter().all(|fault| fault.key != one.key));
        let ignored = ignored.iter().map(ToString::to_string);
        let problems = fault.map_or_else(Vec::new, |fault| match fault {
            // Without places, because these are in a text that is not written yet.
            ConfigError::Findings(findings) => {
                let unplaced = |one| ConfigFinding { place: None, ..one };
                findings
                    .into_iter()
                    .map(|one| unplaced(one).to_string())
                    .collect()
            }
            syntax @ ConfigError::Syntax { .. } => vec![syntax.to_string()],
        });
        let problems = problems.into_iter().chain(ignored);
        let problems = problems.chain(broken_entries(&settings));
        Self {
            problems: problems.chain(unknown_keys(document, &settings)).collect(),
            warnings: settings.all_warnings(),
        }
    }
}

/// Entries that cannot be used, except those that only lack a variable or a secret, which the daemon may have.
fn broken_entries(settings: &Settings) -> impl Iterator<Item = String> {
    let broken = settings.broken.iter();
    let broken = broken.filter(|broken| {
        let mut findings = broken.findings.iter();
        !findings.any(ConfigFinding::lacks_value)
    });
    broken.map(|broken| format!("the server {:?}: {}", broken.name, broken.reason))
}

/// Unknown keys in entries that can be used.
fn unknown_keys(document: &Document<'_>, settings: &Settings) -> Vec<String> {
    let servers = document.servers_in_tree();
    let named = servers.filter_map(|(server, written)| Some((server.name.as_deref()?, written)));
    let usable = named.filter(|(name, _)| settings.servers.contains_key(*name));
    let of_entry = usable.flat_map(|(name, written)| {
        let ignored = spanned::read::<RawEntry>(written, None).ignored;
        let said = ignored.into_iter();
        said.map(move |key| format!("the server {name:?}: {key}"))
    });
    of_entry.collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::json;

    use super::*;

    #[derive(Debug, PartialEq)]
    struct Planned {
        text: String,
        problems: Vec<String>,
    }

    fn plan(text: &str, path: &str, value: WantedValue) -> Result<Planned, EditError> {
        let surroundings = Surroundings {
            lookup: &|_| None,
            folder: Path::new("/"),
        };
        let path = keys_of_path(path, text);
        let before = document::read(text)?;
        let edits = [SettingEdit { path, value }];
        let text = with_edits(&before, &edits, &surroundings)?;
        let outcome = EditedFile {
            before: &before,
            after: &document::read(&text)?,
            changes: &[],
            surroundings: &surroundings,
        };
        let problems = judged(&outcome, &edits, &IssuedTokens::default()).problems;
        Ok(Planned { text, problems })
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
    fn a_removed_key_takes_along_an_object_that_would_be_wrong_without_it() {
        let with = |key: &str| format!(r#"{{"top_k": 5, {key}}}"#);
        let without = r#"{"top_k": 5}"#;
        let auth = with(r#""serverAuth": {"required": true}"#);
        check(&auth, "serverAuth.required", "null", without);
        let limit = with(r#""rate_limit": {"per_caller": "60/m"}"#);
        check(&limit, "rate_limit.per_caller", "null", without);
        let activity = with(r#""activity": {"max_age": "1d"}"#);
        let emptied = with(r#""activity": {}"#);
        check(&activity, "activity.max_age", "null", &emptied);
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
        let entry = r#"{"mcpServers": {"a": {"command": "x", "odd": 1}}}"#;
        for (text, path, value) in [
            ("{}", "top_kk", json!(1)),
            ("{}", "top_k", json!(-1)),
            ("{}", "listen", json!(5)),
            ("{}", "activity.max_ag", json!("1d")),
            ("{}", "mcpServers.a", json!({})),
            ("{}", "serverAuth.x", json!(1)),
            ("{}", "lockFile", json!("x")),
            ("{}", "acl", json!({})),
            (entry, "mcpServers.a.comand", json!("x")),
            (entry, "mcpServers.a.isolation.imag", json!("x")),
        ] {
            let planned = plan(text, path, WantedValue::Json(value)).expect("it can be edited");
            assert_eq!(planned.problems.len(), 1, "{path} {:?}", planned.problems);
        }
        let auth = r#"{"serverAuth": {"acl": {"default": "deny"}}}"#;
        for (text, path) in [
            (auth, "serverAuth.acl.default"),
            (
                r#"{"rate_limit": {"per_caller": "60/m", "burst": 5}}"#,
                "rate_limit.per_caller",
            ),
        ] {
            let planned = plan(text, path, WantedValue::Json(Value::Null));
            let problems = planned.expect("it can be edited").problems;
            assert_eq!(problems.len(), 1, "{path} {problems:?}");
        }
        let planned = plan(entry, "mcpServers.a.env.ANY", WantedValue::Json(json!("x")));
        let problems = planned.expect("it can be edited").problems;
        assert_eq!(problems, [""; 0], "variables have any name");
        let text = r#"{"top_k": "x", "listen": 5}"#;
        let wrong = |path: &str, typed: &str| {
            let planned = plan(text, path, WantedValue::Typed(typed.to_owned()));
            planned.expect("it can be edited").problems.len()
        };
        assert_eq!(wrong("top_k", "x"), 1, "it is as wrong as before");
        assert_eq!(wrong("top_k", "y"), 1, "and so is another value");
        assert_eq!(wrong("top_k", "7") + wrong("top_k", "null"), 0);
        let text = r#"{"unknown": 1, "mcpServers": {"a": {}}}"#;
        let planned = plan(text, "top_k", WantedValue::Json(json!(7))).expect("it can be edited");
        assert!(planned.problems.is_empty(), "{:?}", planned.problems);
        plan(text, "mcpServers", WantedValue::Json(Value::Null)).expect_err("all of them at once");
    }
}
