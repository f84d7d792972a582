//! `mcpproxy import`: names of secrets that stay apart, and names that stand twice.

use std::fs;

use serde_json::Value;

use super::{
    Place,
    importing::{entries, outcomes, put, report},
};

#[test]
fn secrets_of_one_name_stay_apart_and_what_is_stored_is_known() {
    let place = Place::new();
    let run = |arguments: &[&str], input: &str| place.run_with_input(arguments, input).ended(0);
    fs::write(place.config_file(), r#"{ "keyring": "file" }"#).expect("ours");
    run(&["secret", "set", "linear-token"], "another's\n");
    put(
        place.folder(),
        ".config/Code/User/mcp.json",
        r#"{ "inputs": [{ "id": "token", "type": "promptString", "password": true }], "servers": {
            "gh": { "url": "https://gh.example/mcp", "headers": { "X-Key": "${input:token}" } },
            "linear": { "url": "https://linear.example/mcp", "headers": { "X-Key": "${input:token}" } } } }"#,
    );
    put(
        place.folder(),
        ".cursor/mcp.json",
        r#"{ "mcpServers": {
            "shop": { "command": "x", "env": { "TOKEN": "ghp_0123456789abcdefghijABCDEFGHIJ012345" } } } }"#,
    );
    let ran = run(&["import", "--all"], "");
    ran.says(&[
        "gh needs the secret \"gh-token\"; next step: `mcpproxy secret set gh-token`",
        "linear needs the secret \"linear-token-2\"; \"linear-token\" is stored already, but nothing refers to it, so it is not given to this server; next step: `mcpproxy secret set linear-token-2`, or, if \"linear-token\" is meant",
        "next step: `mcpproxy secret set shop-TOKEN`, then `mcpproxy upstream patch shop 'env.TOKEN=${keyring:shop-TOKEN}'`",
    ]);
    let entries = entries(&place);
    for (name, secret) in [("gh", "gh-token"), ("linear", "linear-token-2")] {
        let expected = format!("${{keyring:{secret}}}");
        assert_eq!(entries[name]["headers"]["X-Key"], expected);
    }
    // A second look knows them again.
    let again = report(&place, &["--dry-run"]);
    let same = outcomes(&again);
    assert!(same.iter().all(|said| said.contains(": same ")), "{same:?}");
    assert_eq!(again["servers"][0].get("differing"), None, "{again:#}");
    // What is stored already need not be stored again, and what is another's is not stored over.
    for name in ["gh", "linear", "shop"] {
        run(&["upstream", "remove", name], "");
    }
    let steps = || {
        let report = report(&place, &["cursor", "--dry-run"]);
        report["servers"][0]["secret_steps"][0]
            .as_str()
            .expect("a step")
            .to_owned()
    };
    run(
        &["secret", "set", "shop-TOKEN"],
        "ghp_0123456789abcdefghijABCDEFGHIJ012345",
    );
    let step = steps();
    assert!(
        step.starts_with(
            "it is stored already; `mcpproxy upstream patch shop 'env.TOKEN=${keyring:shop-TOKEN}'"
        ),
        "{step}"
    );
    run(&["secret", "set", "shop-TOKEN"], "of something else")
        .says(&["in place of the value that was there"]);
    let step = steps();
    assert!(
        step.starts_with("`mcpproxy secret set shop-TOKEN-2`"),
        "{step}"
    );
}

#[test]
fn a_server_that_stands_twice_in_a_file_is_named() {
    let place = Place::new();
    put(
        place.folder(),
        ".cursor/mcp.json",
        r#"{ "mcpServers": { "a": { "command": "x" }, "a": { "command": "y", "env": { "E": "1", "E": "2" } } }, "other": 1, "other": 2 }"#,
    );
    place.run(&["import"]).ended(0).says(&[
        "~/.cursor/mcp.json: `mcpServers.a` stands twice, and only the last one counts",
        "`mcpServers.a.env.E` stands twice",
        "give one of them another name",
    ]);
    let report = report(&place, &["--dry-run"]);
    let keys: Vec<&Value> = report["repeated"]
        .as_array()
        .expect("rows")
        .iter()
        .collect();
    assert_eq!(keys.len(), 2, "{report:#}");
    assert_eq!(report["servers"][0]["starts"], "y");
}
