//! `mcpproxy import`: servers out of the file of every client that is known, in a home folder of its own.

use std::{collections::BTreeMap, fs, path::Path};

use super::Place;
use crate::support::prelude::*;

/// Rows of a client, where its file lies in a home folder, and a file of it.
macro_rules! files {
    ($($client:literal $path:literal $file:literal)*) => {
        [$(($client, $path, include_str!(concat!("client_files/", $file)))),*]
    };
}

pub(super) const FILES: [(&str, &str, &str); 23] = files! {
    "claude-code" ".claude.json" "claude-code.json"
    "claude-desktop" ".config/Claude/claude_desktop_config.json" "claude-desktop.json"
    "cursor" ".cursor/mcp.json" "cursor.json"
    "vscode" ".config/Code/User/mcp.json" "vscode.json"
    "windsurf" ".codeium/windsurf/mcp_config.json" "windsurf.json"
    "codex" ".codex/config.toml" "codex.toml"
    "gemini-cli" ".gemini/settings.json" "gemini-cli.json"
    "zed" ".config/zed/settings.json" "zed.json"
    "goose" ".config/goose/config.yaml" "goose.yaml"
    "opencode" ".config/opencode/opencode.json" "opencode.json"
    "mcpproxy-go" ".mcpproxy/mcp_config.json" "mcpproxy-go.json"
    "servers-json" ".config/mcp/servers.json" "servers-json.json"
    "magg" ".magg/config.json" "magg.json"
    "cline" ".config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json" "cline.json"
    "roo-code" ".config/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json" "roo-code.json"
    "continue" ".continue/mcpServers/mcp.json" "continue.json"
    "lm-studio" ".lmstudio/mcp.json" "lm-studio.json"
    "copilot-cli" ".copilot/mcp-config.json" "copilot-cli.json"
    "kiro" ".kiro/settings/mcp.json" "kiro.json"
    "junie" ".junie/mcp/mcp.json" "junie.json"
    "warp" ".warp/.mcp.json" "warp.json"
    "amp" ".config/amp/settings.json" "amp.json"
    "qwen-code" ".qwen/settings.json" "qwen-code.json"
};

/// A home folder with the files of these clients, and a program for the servers that they name.
pub(super) fn furnished(clients: &[&str]) -> Place {
    let place = Place::new();
    fs::create_dir(place.folder().join("bin")).expect("ours");
    let program = place.folder().join("bin/notes");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_mcpproxy"), program).expect("ours");
    for (client, path, text) in FILES {
        if clients.contains(&client) {
            put(place.folder(), path, text);
        }
    }
    place
}

pub(super) fn put(home: &Path, path: &str, text: &str) {
    let file = home.join(path);
    fs::create_dir_all(file.parent().expect("a folder")).expect("ours");
    let text = text
        .replace("@HOME@", &home.display().to_string())
        .replace("@PORT@", "8080");
    fs::write(file, text).expect("ours");
}

pub(super) fn report(place: &Place, arguments: &[&str]) -> Value {
    let arguments = [&["import", "-o", "json"], arguments].concat();
    place.run(&arguments).ended(0).json()
}

/// The entries of our file, by name.
pub(super) fn entries(place: &Place) -> BTreeMap<String, Value> {
    let config: Value = serde_json::from_str(&place.written()).expect("JSON");
    let servers = config["mcpServers"].as_object().expect("a map").clone();
    servers.into_iter().collect()
}

/// What the file of one client becomes stands in `client_files/imported.json`.
#[track_caller]
fn check(client: &str, expected: &Value) {
    let place = furnished(&[client]);
    let report = report(&place, &["--all"]);
    let home = place.folder().display().to_string();
    let found = serde_json::to_string(&entries(&place)).expect("JSON");
    let found: Value = serde_json::from_str(&found.replace(&home, "~")).expect("JSON");
    assert_eq!(&found, expected, "{client}: {report:#}");
    // The file of the other is as it was.
    let (_, path, text) = FILES.iter().find(|file| file.0 == client).expect("a file");
    let now = fs::read_to_string(place.folder().join(path)).expect("it is there");
    assert_eq!(now, text.replace("@HOME@", &home).replace("@PORT@", "8080"));
    // A second time everything is here.
    let again = place
        .run(&["import", "--all", "-o", "json"])
        .ended(0)
        .json();
    assert_eq!(again["imported"], 0, "{again:#}");
}

#[test]
fn every_client_is_understood() {
    let all: BTreeMap<String, Value> =
        serde_json::from_str(include_str!("client_files/imported.json")).expect("JSON");
    assert_eq!(all.len(), FILES.len());
    for (client, expected) in &all {
        check(client, expected);
    }
}

#[test]
fn a_list_of_continue_is_read_with_the_secrets_that_it_keeps() {
    let place = furnished(&[]);
    put(
        place.folder(),
        ".continue/config.yaml",
        "name: mine\nmcpServers:\n  - name: docs\n    type: streamable-http\n    url: https://docs.example/mcp\n    requestOptions:\n      headers:\n        X-Key: ${{ secrets.DOCS_KEY }}\n  - name: files\n    command: npx\n    args: [-y, files]\n    env:\n      TOKEN: ${{ secrets.FILES_TOKEN }}\n",
    );
    report(&place, &["continue", "--all"]);
    let found = entries(&place);
    let expected = json!({ "command": "npx", "args": ["-y", "files"], "env": { "TOKEN": "${keyring:files-FILES_TOKEN}" } });
    assert_eq!(found["files"], expected);
    is_like!(found["docs"], { "type": "http", "url": "https://docs.example/mcp" });
}

#[test]
fn without_arguments_all_files_are_looked_at_and_nothing_is_taken() {
    let clients: Vec<&str> = FILES.iter().map(|file| file.0).collect();
    let place = furnished(&clients);
    put(
        place.folder(),
        ".mcp.json",
        r#"{ "mcpServers": { "of-project": { "command": "x" } } }"#,
    );
    put(
        place.folder(),
        ".gemini/settings.json",
        "{\n  \"mcpServers\": {\n",
    );
    let ran = place.run(&["import"]).ended(0);
    let ran = ran.says(&[
        "~/.gemini/settings.json is left out: line 2",
        "correct line 2 of",
        "`mcpproxy import --all` imports",
        "github: `env.GITHUB_PERSONAL_ACCESS_TOKEN` contains a secret in plain text; --secrets keyring stores it outside the configuration file",
        "needs the secret docs-key (The key of the docs)",
        "needs the variable SENTRY_TOKEN",
        "left out headersHelper",
    ]);
    assert!(!place.config_file().exists());
    let all = format!("{}{}", ran.stdout, ran.stderr);
    lacks!(all, "ghp_01234");
    ran.shows(&[
        "is mcpproxy itself",
        "of-project",
        "which only Zed can start",
        "built into Goose",
        "refers to the open folder",
    ]);
    let report = report(&place, &["--dry-run"]);
    assert_eq!(report["imported"], 0);
    assert_eq!(report["faults"][0]["line"], 2, "{report:#}");
    lacks!(report.to_string(), "ghp_01234");
    assert!(!place.config_file().exists());
}
