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
    let servers = document.servers.iter().map(|server| {
        let name = server.name.as_deref();
        let name = name.unwrap_or("a server without a name");
        (name.to_owned(), &server.entry)
    });
    let settings = document.settings.iter();
    let settings = settings.map(|(key, value)| (format!("`{key}`"), value));
    let mut uses: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (user, value) in servers.chain(settings) {
        for name in texts_in(value).into_iter().flat_map(secret_names) {
            let noted = uses.entry(name.to_owned()).or_default();
            if !noted.contains(&user) {
                noted.push(user.clone());
            }
        }
    }
    Ok(uses)
}

/// The secrets that an entry refers to.
pub fn secrets_of(entry: &Map<String, Value>) -> BTreeSet<String> {
    let names = entry.values().flat_map(texts_in).flat_map(secret_names);
    names.map(str::to_owned).collect()
}

/// The variables whose values an entry gives to its server, without those that a process inherits anyway.
pub fn variables_of(entry: &Map<String, Value>) -> BTreeSet<String> {
    let is_remote = entry.contains_key("url");
    let names = entry.values().flat_map(texts_in).flat_map(variable_names);
    let given = names.filter(|name| is_remote || !is_safe_variable(name));
    given.map(str::to_owned).collect()
}

/// The secrets to look up: those of the top level, and of servers that may be used.
pub(super) fn wanted(document: &Document<'_>) -> BTreeSet<String> {
    let is_used = |entry: &&Value| {
        let entry = entry.as_object();
        let switches = entry.and_then(EntrySwitches::read);
        switches.is_some_and(EntrySwitches::may_be_used)
    };
    let servers = document.servers.iter().map(|server| &server.entry);
    let values = document.settings.values().chain(servers.filter(is_used));
    let names = values.flat_map(texts_in).flat_map(secret_names);
    names.map(str::to_owned).collect()
}

/// The strings in a value, and the names in it: the tokens of `serverAuth` are names.
fn texts_in(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text.as_str()],
        Value::Array(elements) => elements.iter().flat_map(texts_in).collect(),
        Value::Object(members) => {
            let names = members.keys().map(String::as_str);
            names.chain(members.values().flat_map(texts_in)).collect()
        }
        _ => Vec::new(),
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
