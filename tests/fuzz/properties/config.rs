//! Configuration: no text upsets us, and an edit changes what it names and nothing else.

use std::path::Path;

use mcpproxy::config::{
    Change, ConfigError, EditError, FindingKind, Settings, Surroundings, edit, parse, written_entry,
};
use serde_json::{Map, Value, json};

use super::{jsonc::Document, ways::Ways};

/// Limit: servers of one text that are edited, for the sake of speed.
const SERVERS_TRIED: usize = 3;

/// Any bytes as the text of a configuration file.
pub fn check(input: &[u8]) {
    check_in(Ways::All, input);
}

/// With some of the edits.
pub fn check_in(ways: Ways, input: &[u8]) {
    let Ok(text) = str::from_utf8(input) else {
        return;
    };
    let settings = read(text);
    let Some(document) = Document::of(text) else {
        let broken = matches!(settings, Err(ConfigError::Syntax { .. }));
        assert!(broken, "it is no JSON");
        return;
    };
    let mut names = document.tree.server_names();
    names.truncate(SERVERS_TRIED);
    let names: Vec<&str> = names
        .iter()
        .map(String::as_str)
        .chain(["unknown"])
        .collect();
    for name in ways.among(&names) {
        for change in ways.beyond(names.len()).among(&changes(name)) {
            if let Ok(edited) = edit(text, change) {
                check_edit((text, &document), &settings, &edited, name, change);
            }
        }
    }
    if ways.seldom(4) {
        check_addition((text, &document), &settings);
    }
}

fn read(text: &str) -> Result<Settings, ConfigError> {
    // Some variables are set and some are not.
    let lookup = |name: &str| name.len().is_multiple_of(2).then(|| "4".to_owned());
    let surroundings = Surroundings {
        lookup: &lookup,
        folder: Path::new("/folder"),
    };
    parse(text, &surroundings)
}

/// Changes of a server that may be there.
fn changes(server: &str) -> Vec<Change> {
    let at = |path: &[&str], value: Option<Value>| {
        let mut change = Change::of_server(server, None);
        change.path.extend(path.iter().map(|key| (*key).to_owned()));
        Change { value, ..change }
    };
    let set = |path: &[&str], value: Value| at(path, Some(value));
    let remove = |path: &[&str]| at(path, None);
    vec![
        remove(&[]),
        set(&["enabled"], json!(false)),
        set(&["env", "TOKEN"], json!("a \"b\"\n")),
        set(&["args"], json!(["a", 1.5, null])),
        set(&["headers"], json!({"a": {"b": []}, "c": "d"})),
        remove(&["command"]),
        remove(&["cwd"]),
        remove(&["env", "TOKEN"]),
    ]
}

/// What holds after every edit that was made.
fn check_edit(
    (text, before): (&str, &Document<'_>),
    settings: &Result<Settings, ConfigError>,
    edited: &str,
    server: &str,
    change: &Change,
) {
    let after = Document::of(edited).unwrap_or_else(|| panic!("no JSON any more: {edited}"));
    assert_eq!(
        before.tree.without_server(server),
        after.tree.without_server(server),
        "{text}\nbecame\n{edited}"
    );
    assert_eq!(
        before.comments_outside(server),
        after.comments_outside(server),
        "{text}\nbecame\n{edited}"
    );
    same_but_for(settings, &read(edited), server);
    is_done(edited, change);
    let may_only_lose = change.value.is_none();
    assert!(
        !may_only_lose || is_subsequence(edited, text),
        "{text}\nbecame\n{edited}"
    );
}

/// The edit has its effect, and made again it has none.
fn is_done(edited: &str, change: &Change) {
    let again = edit(edited, change);
    let (server, path) = change.server().expect("only servers are changed here");
    match (path, &change.value) {
        ([], None) => assert_eq!(again, Err(EditError::UnknownServer(server.to_owned()))),
        ([], Some(entry)) => {
            let found = written_entry(edited, server).map(Value::Object);
            assert_eq!(found.as_ref(), Ok(entry), "{edited}");
            assert_eq!(again, Err(EditError::ServerExists(server.to_owned())));
        }
        (path, value) => {
            let entry = written_entry(edited, server).expect("an entry that was edited");
            assert_eq!(value_at(&entry, path), value.as_ref(), "{edited}");
            assert_eq!(again.as_deref(), Ok(edited));
        }
    }
}

fn value_at<'a>(entry: &'a Map<String, Value>, path: &[String]) -> Option<&'a Value> {
    let (first, inside) = path.split_first()?;
    inside
        .iter()
        .try_fold(entry.get(first)?, |value, key| value.get(key))
}

fn check_addition(
    (text, document): (&str, &Document<'_>),
    settings: &Result<Settings, ConfigError>,
) {
    let name = "added-by-us";
    let entry = json!({"command": "x", "env": {"A": "1"}, "args": []});
    let change = Change::of_server(name, entry.as_object().cloned());
    if let Ok(edited) = edit(text, &change) {
        check_edit((text, document), settings, &edited, name, &change);
        // A list of servers that is `null` gives way to one, and the blanks of an empty object to lines.
        let visible: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        let nothing_goes = is_subsequence(&visible, &edited) || text.contains("null");
        assert!(nothing_goes, "{text}\nbecame\n{edited}");
        let removal = Change::of_server(name, None);
        let without = edit(&edited, &removal).expect("it was just added");
        assert_eq!(
            Document::of(&without).map(|document| document.tree.without_server(name)),
            Document::of(&edited).map(|document| document.tree.without_server(name)),
        );
    }
}

/// Whether `text` is left when some characters of `longer` go.
fn is_subsequence(text: &str, longer: &str) -> bool {
    let mut longer = longer.chars();
    text.chars().all(|c| longer.any(|other| other == c))
}

/// Everything but one server reads as before.
fn same_but_for(
    before: &Result<Settings, ConfigError>,
    after: &Result<Settings, ConfigError>,
    server: &str,
) {
    match (before, after) {
        (Ok(before), Ok(after)) => {
            assert_eq!(without(before, server), without(after, server));
        }
        // An edit may move what is wrong elsewhere.
        (Err(before), Err(after)) if !before.findings().is_empty() => {
            assert_eq!(said(before), said(after));
        }
        (before, after) => assert_eq!(before, after),
    }
}

/// What is wrong, wherever it stands.
fn said(error: &ConfigError) -> Vec<(&str, &FindingKind)> {
    let findings = error.findings().iter();
    findings.map(|found| (&*found.key, &found.kind)).collect()
}

/// Entries that are broken because of the one that is edited, and warnings, may change with it.
fn without(settings: &Settings, server: &str) -> Settings {
    let mut rest = settings.clone();
    rest.servers
        .retain(|name, _| !name.as_str().eq_ignore_ascii_case(server));
    rest.broken.clear();
    rest.warnings.clear();
    rest
}
