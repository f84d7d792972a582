//! Which secrets a configuration refers to, and where; and which variables an entry does.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::{
    ConfigError, Document, document,
    entry_switches::EntrySwitches,
    references::{secret_names, variable_names},
    safe_variables::is_safe_variable,
};

/// The secrets that a configuration refers to, each with the servers, disabled ones too, and the top-level keys that use it.
pub fn secret_uses(text: &str) -> Result<BTreeMap<String, Vec<String>>, ConfigError> {
    let document = document::read(text)?;
    let mut uses: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut note = |value: &Value, user: &str| {
        each_name(value, &mut |name| {
            let noted = uses.entry(name).or_default();
            if noted.iter().all(|known| known != user) {
                noted.push(user.to_owned());
            }
        });
    };
    for server in &document.servers {
        let name = server.name.as_deref();
        note(&server.entry, name.unwrap_or("a server without a name"));
    }
    for (key, value) in &document.settings {
        note(value, &format!("`{key}`"));
    }
    Ok(uses)
}

/// The secrets that an entry refers to.
pub fn secrets_of(entry: &Map<String, Value>) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for value in entry.values() {
        each_name(value, &mut |name| names.extend([name]));
    }
    names
}

/// The variables whose values an entry gives to its server, without those that a process inherits anyway.
pub fn variables_of(entry: &Map<String, Value>) -> BTreeSet<String> {
    let is_remote = entry.contains_key("url");
    let mut names = BTreeSet::new();
    for value in entry.values() {
        each_text(value, &mut |text| {
            let given = variable_names(text).filter(|name| is_remote || !is_safe_variable(name));
            names.extend(given.map(str::to_owned));
        });
    }
    names
}

/// The secrets to look up: those of the top level, and of servers that may be used.
pub(super) fn wanted(document: &Document<'_>) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let is_used = |entry: &Value| {
        let entry = entry.as_object();
        let switches = entry.and_then(EntrySwitches::read);
        switches.is_some_and(EntrySwitches::may_be_used)
    };
    let servers = document.servers.iter().map(|server| &server.entry);
    for value in document
        .settings
        .values()
        .chain(servers.filter(|entry| is_used(entry)))
    {
        each_name(value, &mut |name| names.extend([name]));
    }
    names
}

fn each_name(value: &Value, note: &mut dyn FnMut(String)) {
    each_text(value, &mut |text| {
        secret_names(text).map(str::to_owned).for_each(&mut *note);
    });
}

fn each_text(value: &Value, note: &mut dyn FnMut(&str)) {
    match value {
        Value::String(text) => note(text),
        Value::Array(elements) => elements.iter().for_each(|value| each_text(value, note)),
        // Keys, too: the tokens of `serverAuth` are keys.
        Value::Object(members) => {
            for (key, value) in members {
                note(key);
                each_text(value, note);
            }
        }
        _ => (),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const TEXT: &str = r#"{
        // Not in comments: ${keyring:comment}
        "api_key": "${keyring:ours}",
        "serverAuth": {"bearer": {"tokens": {"${keyring:team}": "ada"}}},
        "mcpServers": {
            "a": {"command": "x", "env": {"T": "Bearer ${keyring:gh} ${keyring:gh}"}},
            "b": {"url": "http://h/${keyring:gh}", "enabled": false, "headers": {"A": "$${keyring:literal} ${keyring:off}"}},
            "c": {"command": "x", "args": ["${keyring:agents}"], "quarantined": true, "changed_by": "agent"},
            "d": {"command": "x", "args": ["${keyring:held}"], "quarantined": true},
            "e": 7
        }
    }"#;

    #[test]
    fn uses_are_found_wherever_a_string_is() {
        let uses = secret_uses(TEXT).expect("good JSON");
        let uses: Vec<(&str, String)> = uses
            .iter()
            .map(|(name, users)| (name.as_str(), users.join(",")))
            .collect();
        let expected = [
            ("agents", "c"),
            ("gh", "a,b"),
            ("held", "d"),
            ("off", "b"),
            ("ours", "`api_key`"),
            ("team", "`serverAuth`"),
        ];
        assert_eq!(uses, expected.map(|(name, users)| (name, users.to_owned())));
    }

    #[test]
    fn variables_are_found_with_and_without_a_default() {
        let check = |entry: Value, expected: &str| {
            let names = variables_of(entry.as_object().expect("an entry"));
            assert_eq!(Vec::from_iter(names).join(" "), expected, "{entry}");
        };
        let value = "${A} ${env:B} ${C:-${x} $${D} ${keyring:e} ${HOME}";
        check(json!({ "command": "x", "args": [value] }), "A B C");
        let headers = json!({ "url": "http://h", "headers": { "X": value } });
        check(headers, "A B C HOME");
    }

    #[test]
    fn nothing_is_looked_up_for_servers_that_are_off_or_an_agents() {
        let names = wanted(&document::read(TEXT).expect("good JSON"));
        assert_eq!(Vec::from_iter(names), ["gh", "held", "ours", "team"]);
    }
}
