//! `mcpproxy import`: a file that somebody else wrote reaches no secret of another server, and what a person has to know is said.

use std::{fs, os::unix::fs::PermissionsExt};

use super::{
    Place,
    importing::{entries, outcomes, put, report},
};

/// A place in which another server has a secret, and a secret is stored to which nothing refers.
fn with_secrets() -> Place {
    let place = Place::new();
    fs::write(
        place.config_file(),
        r#"{ "keyring": "file", "mcpServers": {
            "github": { "command": "x", "env": { "TOKEN": "${keyring:github-TOKEN}" } } } }"#,
    )
    .expect("ours");
    for name in ["github-TOKEN", "left-T"] {
        let stored = place.run_with_input(&["secret", "set", name], "a secret\n");
        stored.ended(0);
    }
    place
}

/// That what was written refers to no secret that is stored.
#[track_caller]
fn refers_to_none(place: &Place) {
    let mut entries = entries(place);
    entries.remove("github");
    let written = serde_json::to_string(&entries).expect("JSON");
    let written = written.replace("$${", "");
    for name in ["github-TOKEN", "left-T"] {
        let reference = format!("${{keyring:{name}}}");
        assert!(!written.contains(&reference), "{written}");
    }
}

#[test]
fn only_names_of_variables_become_references() {
    let place = with_secrets();
    put(
        place.folder(),
        ".codex/config.toml",
        r#"
[mcp_servers.token]
url = "http://127.0.0.1:1/mcp"
bearer_token_env_var = "keyring:github-TOKEN"
[mcp_servers.header]
url = "http://127.0.0.1:2/mcp"
env_http_headers = { A = "HOME}${keyring:github-TOKEN" }
[mcp_servers.passed]
command = "x"
env_vars = ["keyring:github-TOKEN"]
[mcp_servers.tools]
command = "y"
enabled_tools = ["${keyring:github-TOKEN}"]
[mcp_servers.good]
command = "z"
env_vars = ["HOME", { name = "_A1" }]
"#,
    );
    put(
        place.folder(),
        ".config/goose/config.yaml",
        "extensions:\n  keys:\n    type: stdio\n    cmd: k\n    env_keys: ['A}${keyring:github-TOKEN']\n",
    );
    put(
        place.folder(),
        ".config/opencode/opencode.json",
        r#"{ "mcp": { "login": { "type": "remote", "url": "https://a.example/mcp",
            "oauth": { "clientId": "a", "clientSecret": "${keyring:github-TOKEN} {env:" } } } }"#,
    );
    let took = report(&place, &["--all"]);
    let said = outcomes(&took);
    for refused in ["token", "header", "passed", "keys", "login"] {
        let row = format!("{refused}: unusable -");
        assert!(said.contains(&row), "{refused}: {said:?}");
    }
    let why = took["servers"][0]["reason"].as_str().expect("a reason");
    assert_eq!(
        why,
        "its `bearer_token_env_var` has something that is no name of an environment variable"
    );
    refers_to_none(&place);
    let entries = entries(&place);
    assert_eq!(entries["good"]["env"]["_A1"], "${_A1}");
    assert_eq!(
        entries["tools"]["enabled_tools"][0],
        "$${keyring:github-TOKEN}"
    );
}

#[test]
fn pieces_that_meet_make_no_reference() {
    let place = with_secrets();
    let project = place.folder().join("p$");
    put(
        &project,
        ".vscode/mcp.json",
        r#"{ "inputs": [{ "id": "e", "type": "promptString", "default": "$" }], "servers": { "seam": {
            "command": "x",
            "args": ["${input:e}{keyring:github-TOKEN}"],
            "env": {
                "A": "${workspaceFolder}{keyring:github-TOKEN}",
                "B": "${workspaceFolderBasename}{keyring:github-TOKEN}",
                "C": "${input:e}{keyring:github-TOKEN}" } } } }"#,
    );
    let odd = place.folder().join("${keyring:github-TOKEN}");
    put(
        &odd,
        ".mcp.json",
        r#"{ "mcpServers": {
            "program": { "command": "./x", "cwd": "y" },
            "file": { "command": "x", "args": [".mcp.json"] } } }"#,
    );
    for file in [project.join(".vscode/mcp.json"), odd.join(".mcp.json")] {
        report(&place, &[file.to_str().expect("a path"), "--all"]);
    }
    refers_to_none(&place);
    let entries = entries(&place);
    let seam = &entries["seam"];
    assert_eq!(seam["env"]["B"], "p$${keyring:github-TOKEN}");
    assert_eq!(seam["env"]["C"], "$${keyring:github-TOKEN}");
    assert_eq!(seam["args"][0], "$${keyring:github-TOKEN}");
    for (name, key) in [("program", "command"), ("program", "cwd"), ("file", "cwd")] {
        let path = entries[name][key].as_str().expect("a path");
        assert!(path.contains("/$${keyring:github-TOKEN}"), "{path}");
    }
}

#[test]
fn a_secret_that_is_left_over_goes_to_no_server_of_a_file() {
    let place = with_secrets();
    put(
        place.folder(),
        "theirs/servers.json",
        r#"{ "mcpServers": { "left": { "command": "x", "env": { "T": "${keyring:left-T}" } } } }"#,
    );
    let file = place.folder().join("theirs/servers.json");
    let file = file.to_str().expect("a path");
    let took = report(&place, &[file, "--all"]);
    let need = &took["servers"][0]["needs"][0];
    assert_eq!(
        (&need["name"], &need["not_given"]),
        (&"left-T-2".into(), &"left-T".into())
    );
    refers_to_none(&place);
    assert_eq!(entries(&place)["left"]["env"]["T"], "${keyring:left-T-2}");
    // The number makes no other server of it.
    let again = report(&place, &[file, "--all"]);
    assert_eq!(outcomes(&again), ["left: same left"]);
    place
        .run(&["import", file, "--server", "left"])
        .ended(0)
        .says(&["nothing to take over"]);
}

#[test]
fn files_of_other_names_are_told_by_their_keys() {
    let place = Place::new();
    put(
        place.folder(),
        "windsurf.json",
        r#"{ "mcpServers": { "w": { "serverUrl": "https://w.example/mcp" } } }"#,
    );
    put(
        place.folder(),
        "gemini-settings.json",
        r#"{ "mcpServers": { "g": { "httpUrl": "https://g.example/mcp" } } }"#,
    );
    let took = report(
        &place,
        &["./windsurf.json", "./gemini-settings.json", "--all"],
    );
    assert_eq!(outcomes(&took), ["w: new w", "g: new g"]);
    assert_eq!(took["servers"][0]["client"], "windsurf");
    assert_eq!(took["servers"][1]["client"], "gemini-cli");
}

#[test]
fn what_comes_switched_off_or_held_is_said_before() {
    let place = Place::new();
    put(
        place.folder(),
        ".mcpproxy/mcp_config.json",
        r#"{ "mcpServers": [
            { "name": "held", "command": "x", "quarantined": true },
            { "name": "off", "command": "y", "enabled": false } ] }"#,
    );
    place.run(&["import"]).ended(0).shows(&[
        "new, quarantined as it is there",
        "new, switched off as it is there",
    ]);
    let report = report(&place, &[]);
    let said = |at: usize, key: &str| report["servers"][at][key].as_bool();
    assert_eq!(
        (said(0, "quarantined"), said(0, "disabled")),
        (Some(true), Some(false))
    );
    assert_eq!(
        (said(1, "quarantined"), said(1, "disabled")),
        (Some(false), Some(true))
    );
}

#[test]
fn a_named_file_is_spoken_of_once() {
    let place = Place::new();
    put(place.folder(), "none.json", r#"{ "x": 1 }"#);
    put(place.folder(), "broken.json", "{\n");
    place
        .run(&["import", "./none.json"])
        .ended(0)
        .says(&["none.json has no list of servers"]);
    let ran = place.run(&["import", "./broken.json"]).ended(1);
    let said = ran.stderr.matches("line 2").count();
    assert!(
        said <= 2 && ran.stderr.matches("was not read").count() == 1,
        "{}",
        ran.stderr
    );
    assert!(!ran.stderr.contains("the other files"), "{}", ran.stderr);
}

#[test]
fn secrets_in_a_file_that_others_can_read_are_warned_of() {
    let place = Place::new();
    let file = place.config_file();
    fs::write(&file, "{}").expect("ours");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).expect("ours");
    put(
        place.folder(),
        ".cursor/mcp.json",
        r#"{ "mcpServers": {
            "plain": { "command": "x" },
            "lit": { "command": "y", "args": ["--token", "ghp_0123456789abcdefghijABCDEFGHIJ012345"] } } }"#,
    );
    let plain = place.run(&["import", "--server", "plain"]).ended(0);
    assert!(!plain.stderr.contains("other users"), "{}", plain.stderr);
    let lit = place.run(&["import", "--server", "lit"]).ended(0).says(&[
        "other users can read",
        "chmod 600",
        "arguments can be read by all users of the machine",
    ]);
    assert!(!lit.stderr.contains("in its place"), "{}", lit.stderr);
}
