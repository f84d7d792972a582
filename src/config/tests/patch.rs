//! The smart patch, by the table of the seed and by what comes back from listings.

use serde_json::{Map, Value, json};

use crate::config::{ServerPatch, Surroundings, edit_all, parse, written_entry};

fn object(value: &Value) -> Map<String, Value> {
    value.as_object().expect("an object").clone()
}

/// A server that has something under each kind of key.
fn stored() -> Value {
    json!({
        "command": "npx",
        "args": ["-y", "server", "--token", "s3cret-token"],
        "env": { "API_TOKEN": "hunter2-hunter2", "MODE": "plain" },
        "headers": { "X-Key": "k1-secret", "X-Mode": "m" },
        "isolation": { "enabled": true, "image": "node:20", "extra_args": ["--cpus", "1"], "limits": { "memory": "1g", "cpu": 1 } },
        "oauth": { "client_id": "id", "client_secret": "oauth-secret", "extra_params": { "audience": "a" } },
        "working_dir": "/srv",
        "disabled": true,
        "idle_timeout": "2m",
        "custom": { "of": "somebody" },
    })
}

/// What the patch makes of the stored server under one key, and what it says has changed.
fn patched(patch: &Value) -> Result<(Map<String, Value>, Vec<String>), String> {
    let patch = ServerPatch::read(object(patch)).map_err(|error| error.to_string())?;
    let patched = patch.apply(&object(&stored()));
    let patched = patched.map_err(|error| error.to_string())?;
    Ok((patched.after.clone(), patched.changed()))
}

#[track_caller]
fn check(patch: &Value, key: &str, expected: &Value, changed: &[&str]) {
    let (after, found) = patched(patch).expect("a good patch");
    let value = after.get(key).cloned().unwrap_or(json!("(none)"));
    assert_eq!(
        (&value, &found[..]),
        (
            expected,
            &changed.iter().map(|c| (*c).to_owned()).collect::<Vec<_>>()[..]
        ),
        "{patch}"
    );
    // Nothing else is touched.
    let (before, _) = patched(&json!({})).expect("a good patch");
    for (other, value) in &before {
        assert!(
            other == key || after.get(other) == Some(value),
            "{patch}: {other}"
        );
    }
}

#[test]
fn the_table_of_the_seed() {
    let none = json!("(none)");
    // Scalars replace.
    check(
        &json!({ "enabled": true }),
        "enabled",
        &json!(true),
        &["enabled"],
    );
    check(
        &json!({ "idle_timeout": "5m" }),
        "idle_timeout",
        &json!("5m"),
        &["idle_timeout"],
    );
    check(
        &json!({ "command": "uvx" }),
        "command",
        &json!("uvx"),
        &["command"],
    );
    // Maps merge: new keys are added, known ones updated, null deletes one.
    check(
        &json!({ "env": { "NEW": "1", "MODE": "loud" } }),
        "env",
        &json!({ "API_TOKEN": "hunter2-hunter2", "MODE": "loud", "NEW": "1" }),
        &["env.MODE", "env.NEW"],
    );
    check(
        &json!({ "env": { "MODE": null } }),
        "env",
        &json!({ "API_TOKEN": "hunter2-hunter2" }),
        &["env.MODE"],
    );
    check(
        &json!({ "headers_json": "{\"X-Mode\": \"n\", \"X-Key\": null}" }),
        "headers",
        &json!({ "X-Mode": "n" }),
        &["headers.X-Mode", "headers.X-Key"],
    );
    // Arrays replace entirely.
    check(&json!({ "args": ["a"] }), "args", &json!(["a"]), &["args"]);
    check(&json!({ "args_json": "[]" }), "args", &json!([]), &["args"]);
    // Objects merge at every depth.
    check(
        &json!({ "isolation_json": "{\"image\": \"node:22\", \"limits\": {\"cpu\": 2}}" }),
        "isolation",
        &json!({ "enabled": true, "image": "node:22", "extra_args": ["--cpus", "1"], "limits": { "memory": "1g", "cpu": 2 } }),
        &["isolation.image", "isolation.limits"],
    );
    check(
        &json!({ "isolation": { "extra_args": [], "image": null } }),
        "isolation",
        &json!({ "enabled": true, "extra_args": [], "limits": { "memory": "1g", "cpu": 1 } }),
        &["isolation.extra_args", "isolation.image"],
    );
    check(
        &json!({ "oauth": { "scopes": ["x"], "extra_params": { "b": 1 } } }),
        "oauth",
        &json!({ "client_id": "id", "client_secret": "oauth-secret", "extra_params": { "audience": "a", "b": 1 }, "scopes": ["x"] }),
        &["oauth.extra_params", "oauth.scopes"],
    );
    // An explicit null removes, in each of its spellings.
    for null in [
        json!({ "isolation_json": "null" }),
        json!({ "isolation_json": null }),
        json!({ "isolation": "null" }),
        json!({ "isolation": null }),
    ] {
        check(&null, "isolation", &none, &["isolation"]);
    }
    check(
        &json!({ "idle_timeout": "null" }),
        "idle_timeout",
        &none,
        &["idle_timeout"],
    );
    check(&json!({ "env": null }), "env", &none, &["env"]);
    check(&json!({ "args_json": "null" }), "args", &none, &["args"]);
    check(&json!({ "enabled": null }), "enabled", &none, &["enabled"]);
    // What is not there need not be removed, and what is so already does not change.
    check(
        &json!({ "url": null, "enabled": false, "env": { "NONE": null } }),
        "url",
        &none,
        &[],
    );
}

#[test]
fn every_spelling_of_a_key_is_the_same_key() {
    check(&json!({ "cwd": "/a" }), "cwd", &json!("/a"), &["cwd"]);
    check(
        &json!({ "working_dir": "/a" }),
        "cwd",
        &json!("/a"),
        &["cwd"],
    );
    check(
        &json!({ "disabled": false }),
        "enabled",
        &json!(true),
        &["enabled"],
    );
    check(&json!({ "disabled": true }), "enabled", &json!(false), &[]);
    check(
        &json!({ "protocol": "stdio" }),
        "type",
        &json!("stdio"),
        &["type"],
    );
    check(
        &json!({ "transport": "stdio" }),
        "type",
        &json!("stdio"),
        &["type"],
    );
}

#[test]
fn a_redacted_value_stands_for_the_stored_one() {
    let env = json!({ "API_TOKEN": "hunter2-hunter2", "MODE": "x" });
    check(
        &json!({ "env": { "API_TOKEN": "***", "MODE": "x" } }),
        "env",
        &env,
        &["env.MODE"],
    );
    check(
        &json!({ "headers_json": "{\"X-Key\":\"***\"}" }),
        "headers",
        &stored()["headers"],
        &[],
    );
    check(
        &json!({ "oauth": { "client_secret": "***" } }),
        "oauth",
        &stored()["oauth"],
        &[],
    );
    check(
        &json!({ "args": ["-y", "server@2", "--token", "***"] }),
        "args",
        &json!(["-y", "server@2", "--token", "s3cret-token"]),
        &["args"],
    );
}

#[test]
fn arguments_can_be_written_back_as_they_are_listed() {
    let surroundings = Surroundings {
        lookup: &|name| (!name.starts_with("MCPPROXY_")).then(|| format!("value-of-{name}")),
        folder: std::path::Path::new("/"),
    };
    for args in [
        json!(["--token=s3cret", "--key", "hunter2"]),
        json!(["--key=s3cret", "${A} ${B}", "x"]),
        json!(["--key${K}", "$${A} ${B}"]),
        json!(["ghp_0123456789", "ghp_9876543210"]),
        json!([
            "--header",
            "Authorization: Bearer abc",
            "--pat",
            "x",
            "--pat",
            "y"
        ]),
        json!(["$${A}", "$$${B}", "a $${ b"]),
    ] {
        let entry = json!({ "command": "x", "args": args });
        let text = json!({ "mcpServers": { "s": entry } }).to_string();
        let settings = parse(&text, &surroundings).expect("a configuration");
        let shown = settings.servers["s"].shown();
        let patch = json!({ "args": shown["args"] });
        let patch = ServerPatch::read(object(&patch)).expect("a good patch");
        let patched = patch.apply(&object(&entry)).expect("applied");
        assert_eq!(patched.changed(), [""; 0], "{shown}");
    }
}

#[test]
fn a_key_that_means_nothing_can_be_taken_out() {
    for null in [Value::Null, json!("null")] {
        check(
            &json!({ "custom": &null }),
            "custom",
            &json!("(none)"),
            &["custom"],
        );
    }
}

#[test]
fn what_cannot_be_meant_is_refused_by_its_name() {
    let check = |patch: Value, expected: &str| {
        let error = patched(&patch).expect_err("a bad patch");
        assert!(error.contains(expected), "{patch}: {error}");
    };
    check(
        json!({ "env": { "OTHER": "***" } }),
        "`env.OTHER` is masked, but no stored value matches it",
    );
    check(
        json!({ "oauth": { "client_id": { "a": "***" } } }),
        "`oauth.client_id.a` is masked",
    );
    check(
        json!({ "ENABLED": true }),
        "`ENABLED` is unknown; did you mean `enabled`",
    );
    check(
        json!({ "Command": "x" }),
        "`Command` is unknown; did you mean `command`",
    );
    check(json!({ "mood": 1 }), "`mood` is unknown");
    check(json!({ "name": "x" }), "`name` cannot be changed");
    check(json!({ "mood": null }), "`mood` is unknown");
    check(
        json!({ "enabled_json": "true" }),
        "`enabled_json` is unknown",
    );
    check(json!({ "env": [] }), "`env` must be an object");
    check(json!({ "env": "text" }), "`env` must be an object");
    check(json!({ "args": "text" }), "`args` must be a list such as [");
    check(json!({ "args": "[text" }), "`args` must be JSON");
    check(json!({ "env": "{text" }), "`env` must be JSON");
    check(
        json!({ "env_json": "\"{\\\"A\\\":1}\"" }),
        "`env` must be an object",
    );
    check(
        json!({ "env_json": "{\"A\":\"1\",\"A\":\"2\"}" }),
        "`A` appears twice",
    );
    check(json!({ "env_json": "{" }), "`env_json` must be JSON");
    check(
        json!({ "env": { "A": { "B": 1 } } }),
        "`env.A` must be a string",
    );
    check(json!({ "args": { "0": "x" } }), "`args` must be a list");
    check(json!({ "args_json": "{}" }), "`args` must be a list");
    check(
        json!({ "command": ["x"] }),
        "`command` must be a single value",
    );
    check(
        json!({ "isolation": true }),
        "`isolation` must be an object",
    );
    check(
        json!({ "env": {}, "env_json": "{}" }),
        "`env_json` and `env` are both given",
    );
    check(
        json!({ "cwd": "/a", "working_dir": "/a" }),
        "`working_dir` and `cwd` are both given",
    );
    check(
        json!({ "enabled": true, "disabled": false }),
        "`disabled` and `enabled` are both given",
    );
    let deep = format!("{}{}", "{\"a\":".repeat(500), "}".repeat(500));
    check(json!({ "oauth_json": deep }), "`oauth_json` must be JSON");
}

#[test]
fn the_file_keeps_what_the_patch_does_not_name() {
    let text = r#"{
  // the first
  "mcpServers": {
    "s": {
      "command": "npx", // how
      "working_dir": "/srv",
      "disabled": true,
      "env": {
        // the key
        "A": "1",
        "B": "2",
      },
      "mood": "kept",
    },
  },
}
"#;
    let patch = json!({ "env": { "B": "3", "C": "4" }, "cwd": "/b", "enabled": true, "type": "stdio", "args": null });
    let patch = ServerPatch::read(object(&patch)).expect("a good patch");
    let patched = patch
        .apply(&written_entry(text, "s").expect("an entry"))
        .expect("applied");
    let edited = edit_all(text, &patched.changes("s")).expect("edited");
    let expected = text
        .replace("\"B\": \"2\",", "\"B\": \"3\",\n        \"C\": \"4\",")
        .replace("\"/srv\"", "\"/b\"")
        .replace("      \"disabled\": true,\n", "")
        .replace(
            "      \"mood\": \"kept\",\n",
            "      \"mood\": \"kept\",\n      \"enabled\": true,\n      \"type\": \"stdio\",\n",
        );
    let without = |text: &str| text.split_whitespace().collect::<String>();
    assert_eq!(without(&edited).len(), without(&expected).len(), "{edited}");
    for kept in [
        "// the first",
        "// how",
        "// the key",
        "\"mood\": \"kept\"",
        "\"working_dir\": \"/b\"",
    ] {
        assert!(edited.contains(kept), "{kept}: {edited}");
    }
    let surroundings = Surroundings {
        lookup: &|_| None,
        folder: std::path::Path::new("/"),
    };
    let settings = parse(&edited, &surroundings).expect("a configuration");
    assert!(
        settings.broken.is_empty() && settings.servers["s"].enabled,
        "{edited}"
    );
    // Removing the switch removes either spelling.
    let patch = ServerPatch::read(object(&json!({ "enabled": "null" }))).expect("a good patch");
    let patched = patch
        .apply(&written_entry(text, "s").expect("an entry"))
        .expect("applied");
    let edited = edit_all(text, &patched.changes("s")).expect("edited");
    assert!(!edited.contains("disabled"), "{edited}");
}
