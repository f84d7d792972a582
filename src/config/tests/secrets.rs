//! References to secrets by name.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    sync::Arc,
};

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::{
    config::{
        Keeper, KeyringLookup, NoSecret, OurAddress, Overrides, ServerEntry, Settings,
        Surroundings, document, entry_fault, resolve::parse_with_secrets,
    },
    failure::NextStep,
    runtime::sync::Guarded,
    text::{names::ServerName, secret::Secret},
};

/// A keyring in which this is.
fn keyring(values: &[(&str, &str)]) -> KeyringLookup {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), Secret::new(*value));
    let values: BTreeMap<String, Secret> = values.iter().map(owned).collect();
    Arc::new(move |_, names: &BTreeSet<String>| {
        let value = |name: &String| {
            let value = values.get(name).cloned();
            value.ok_or(NoSecret::Missing)
        };
        names
            .iter()
            .map(|name| (name.clone(), value(name)))
            .collect()
    })
}

fn read(text: &str, values: &[(&str, &str)]) -> Result<Settings, String> {
    let surroundings = Surroundings {
        lookup: &|_| None,
        folder: std::path::Path::new("/"),
    };
    document::read(text)
        .and_then(|read| parse_with_secrets(&read, &surroundings, &keyring(values)))
        .map_err(|error| error.to_string())
}

#[track_caller]
fn entry(entry: &str, value: &str) -> Arc<ServerEntry> {
    let text = format!(
        r#"{{"environment": {{"set": {{"SET": "${{keyring:shared}}"}}}}, "mcpServers": {{"s": {entry}}}}}"#
    );
    let settings = read(&text, &[("a", value), ("shared", value)]).expect("good JSON");
    let entry = settings.servers.get("s").cloned();
    entry.unwrap_or_else(|| panic!("{:?}", settings.broken))
}

#[test]
fn a_secret_may_stand_in_any_string_and_is_redacted_and_no_new_value_replaces_a_connection() {
    for text in [
        r#"{"command": "${keyring:a}"}"#,
        r#"{"command": "x", "args": ["--token", "T${keyring:a}"]}"#,
        r#"{"command": "x", "env": {"T": "${keyring:a}"}, "cwd": "/${keyring:a}"}"#,
        r#"{"url": "https://h/${keyring:a}?k=${keyring:a}"}"#,
        r#"{"url": "https://h/", "headers": {"Authorization": "Bearer ${keyring:a}"}}"#,
        r#"{"url": "https://h/", "oauth": {"client_id": "i", "client_secret": "${keyring:a}"}}"#,
    ] {
        let (first, second) = (entry(text, "first-value"), entry(text, "other-value"));
        assert!(first.uses_secrets, "{text}");
        assert_eq!(first.fingerprint, second.fingerprint, "{text}");
        assert_ne!(first.transport, second.transport, "{text}");
        let shown = first.shown().to_string();
        assert!(!shown.contains("first-value"), "{shown}");
        let said = format!("it was first-value; {first:?}");
        assert!(
            !first.secrets.redacted(&said).contains("first-value"),
            "{text}"
        );
    }
    assert!(!entry(r#"{"command": "x"}"#, "first-value").uses_secrets);
}

#[test]
fn what_is_missing_is_named_with_the_next_step_and_breaks_its_server_only() {
    let text = r#"{"mcpServers": {"s": {"command": "x", "env": {"T": "${keyring:a/b}", "U": "${keyring:c}"}}, "t": {"command": "y"}}}"#;
    let settings = read(text, &[]).expect("good JSON");
    assert!(settings.lacks_secrets);
    let reason = "`env.T` needs the secret a/b; `env.U` needs the secret c";
    assert_eq!(settings.broken[0].reason, reason);
    let step = NextStep::SetSecret {
        name: "a/b".into(),
        also: vec!["c".into()],
    };
    assert_eq!(settings.broken[0].step(), step);
    let steps = "`mcpproxy secret set a/b`, `mcpproxy secret set c`";
    assert_eq!(step.at_terminal("s"), steps);
    let requests = "PUT /api/v1/secrets/a%2Fb stores it, PUT /api/v1/secrets/c stores it.";
    assert_eq!(step.over_rest("s").as_deref(), Some(requests));
    assert!(settings.servers.contains_key("t"));
    let error = read(r#"{"api_key": "${keyring:k}"}"#, &[]).expect_err("it is missing");
    assert!(error.contains("`api_key` needs the secret k"), "{error}");
    let settings = read(text, &[("a/b", "value"), ("c", "value")]).expect("good JSON");
    assert!(!settings.lacks_secrets && settings.broken.is_empty());
}

#[test]
fn a_secret_cannot_say_where_secrets_are() {
    let error = read(r#"{"data_dir": "${keyring:a}"}"#, &[("a", "/x")]).expect_err("no folder");
    assert!(error.contains("`data_dir`"), "{error}");
}

#[tokio::test]
async fn the_value_before_stays_redacted_while_it_may_be_in_use() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("mcp.json");
    let text = r#"{"mcpServers": {"s": {"command": "x", "env": {"T": "${keyring:a}"}}}}"#;
    fs::write(&file, text).expect("a file");
    let value = Arc::new(Guarded::new("first-value"));
    let current = Arc::clone(&value);
    let lookup: KeyringLookup = Arc::new(move |place, names| {
        let value = *current.lock();
        keyring(&[("a", value)])(place, names)
    });
    let opened = Keeper::open(&file, Overrides::default(), Arc::new(|_| None), lookup);
    let (keeper, task) = opened.expect("a good configuration");
    let shutdown = CancellationToken::new();
    let task = tokio::spawn(task.run(shutdown.clone()));
    let redacted = |text: &str| keeper.settings().secrets().redacted(text).into_owned();
    assert_eq!(redacted("first-value other-value"), "*** other-value");
    *value.lock() = "other-value";
    for _ in 0..2 {
        keeper.reload_now().await.expect("a good configuration");
        assert_eq!(redacted("first-value other-value"), "*** ***");
    }
    shutdown.cancel();
    task.await.expect("no panic");
}

#[test]
fn a_reference_hides_no_fault_of_its_entry() {
    let name = ServerName::parse("s").expect("a name");
    let fault = |entry: Value| {
        let entry = entry.as_object().expect("an object");
        let fault = entry_fault(&name, entry, &OurAddress::default());
        fault.map_or_else(String::new, |fault| fault.text)
    };
    let env = json!({ "A": "${X}" });
    for (entry, expected) in [
        (
            json!({ "command": "x", "enabled": "false" }),
            "`enabled` must be true or false",
        ),
        (json!({ "command": "x", "disabled": 1 }), "`disabled`"),
        (
            json!({ "command": "x", "quarantined": "true" }),
            "`quarantined` must be true or false",
        ),
        (
            json!({ "command": "${X}", "enabled": "false" }),
            "`enabled`",
        ),
        (
            json!({ "url": "nonsense", "headers": { "A": "${X}" } }),
            "`url`",
        ),
        (
            json!({ "url": "https://${X}/", "enabled": "no" }),
            "`enabled`",
        ),
        (
            json!({ "command": "x", "enabled": true, "disabled": false }),
            "",
        ),
        (
            json!({ "command": "${X}", "args": ["${Y}"], "cwd": "${Z}" }),
            "",
        ),
        (json!({ "url": "${X}" }), ""),
    ] {
        let mut entry = entry;
        if entry.get("command").is_some() {
            entry["env"] = env.clone();
        }
        let found = fault(entry.clone());
        assert!(
            found.contains(expected) && found.is_empty() == expected.is_empty(),
            "{entry}: {found}"
        );
    }
}
