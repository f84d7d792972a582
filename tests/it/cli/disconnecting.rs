//! `mcpproxy connect --undo`, files that cannot be changed, and endpoints that only a daemon knows.

use std::{fs, path::Path};

use super::{
    Place,
    importing::{furnished, put},
    serving::Serving,
};

#[test]
fn a_server_that_only_the_daemon_has_is_an_endpoint() {
    let place = Place::new();
    let _daemon = Serving::start(&place);
    place
        .run(&["connect", "windsurf", "--endpoint", "/mcp/server/demo"])
        .ended(0);
}

#[test]
fn all_that_is_connected_is_taken_out_of_a_project_and_of_clients_that_were_never_connected_nothing()
 {
    let place = Place::new();
    // Signs of these, and none of the clients that are connected.
    put(place.folder(), ".cursor/mcp.json", "{}");
    put(place.folder(), ".config/goose/config.yaml", "a: 1\n");
    let undo = || place.run(&["connect", "--project", "--all", "--undo"]);
    undo().ended(0).says(&["nothing to take out"]);
    place
        .run(&["connect", "--project", "claude-code", "vscode", "opencode"])
        .ended(0);
    let files = [".mcp.json", ".vscode/mcp.json", "opencode.json"];
    let there = || {
        let names = files.iter().filter(|name| {
            let path = place.folder().join(name);
            path.exists()
                && fs::read_to_string(&path)
                    .expect("text")
                    .contains("mcpproxy")
        });
        names.count()
    };
    assert_eq!(there(), 3);
    undo().ended(0);
    assert_eq!(there(), 0);
    place
        .run(&["connect", "--project", "claude-code", "vscode"])
        .ended(0);
    // What can be taken out is, and the rest is said.
    put(place.folder(), ".vscode/mcp.json", "{ \"servers\": {");
    undo().ended(1).says(&[
        "was taken out of",
        "the file of VS Code was left as it is",
        "correct line",
    ]);
    assert_eq!(there(), 0);
    for option in ["--undo", "--dry-run"] {
        place
            .run(&["connect", option])
            .ended(2)
            .says(&["without a client", "or give --all"]);
    }
    // For the person: Goose was never connected.
    place.run(&["connect", "cursor"]).ended(0);
    place
        .run(&["connect", "--all", "--undo"])
        .ended(0)
        .does_not_say(&["Goose"]);
}

/// The names beside a file, its own too.
fn beside(file: &Path) -> Vec<String> {
    let folder = fs::read_dir(file.parent().expect("a folder")).expect("it is there");
    let names = folder.flatten().map(|entry| entry.file_name());
    names
        .map(|name| name.to_string_lossy().into_owned())
        .collect()
}

#[test]
fn an_entry_that_connect_corrected_is_put_back() {
    let place = Place::configured(r#"{ "listen": "127.0.0.1:18080" }"#);
    let before = r#"{"mcpServers": {"mcpproxy": {"url": "http://127.0.0.1:9999/mcp", "x": 1}}}"#;
    put(place.folder(), ".cursor/mcp.json", before);
    let file = place.folder().join(".cursor/mcp.json");
    let read = || fs::read_to_string(&file).expect("it is there");
    place.run(&["connect", "cursor"]).ended(0);
    assert!(read().contains("18080"), "{}", read());
    place
        .run(&["connect", "cursor", "--undo"])
        .ended(0)
        .says(&["is as it was before mcpproxy was connected"]);
    assert_eq!(
        (read().as_str(), beside(&file)),
        (before, vec!["mcp.json".to_owned()])
    );
    // It is nobody's who is here, and may go, too.
    place.run(&["connect", "cursor", "--undo"]).ended(0);
    assert!(!read().contains("9999"), "{}", read());
    // What `connect` wrote last is no state before it.
    put(place.folder(), ".cursor/mcp.json", "{}");
    for endpoint in ["/mcp", "/mcp/all"] {
        place
            .run(&["connect", "cursor", "--endpoint", endpoint])
            .ended(0);
    }
    place.run(&["connect", "cursor", "--undo"]).ended(0);
    assert_eq!(read(), "{}");
    // Nor is what it wrote when we were elsewhere.
    for port in ["18080", "18081"] {
        let listen = format!(r#"{{ "listen": "127.0.0.1:{port}" }}"#);
        fs::write(place.config_file(), listen).expect("ours");
        place.run(&["connect", "cursor"]).ended(0);
        assert!(read().contains(port), "{}", read());
    }
    place.run(&["connect", "cursor", "--undo"]).ended(0);
    assert_eq!(read(), "{}");
}

#[test]
fn of_a_file_that_was_changed_since_nothing_of_ours_stays_but_one_copy() {
    let place = Place::configured(r#"{ "listen": "127.0.0.1:18080" }"#);
    put(place.folder(), ".cursor/mcp.json", "{\n}\n");
    let file = place.folder().join(".cursor/mcp.json");
    let read = || fs::read_to_string(&file).expect("it is there");
    place.run(&["connect", "cursor"]).ended(0);
    fs::write(&file, read().replacen('{', "{\n  \"mine\": 1,", 1)).expect("ours");
    place.run(&["connect", "cursor", "--undo"]).ended(0);
    let now: serde_json::Value = serde_json::from_str(&read()).expect("JSON");
    assert_eq!(now, serde_json::json!({ "mine": 1 }));
    assert_eq!(beside(&file).len(), 2, "{:?}", beside(&file));
}

#[test]
fn a_file_that_cannot_be_changed_says_why_and_what_helps() {
    let place = furnished(&["cursor", "goose", "gemini-cli"]);
    let file = |path: &str| place.folder().join(path);
    put(
        place.folder(),
        ".cursor/mcp.json",
        "{ \"mcpServers\": null }",
    );
    put(
        place.folder(),
        ".config/goose/config.yaml",
        "x: 1\nextensions: [a]\n",
    );
    let settings = file(".gemini/settings.json");
    fs::remove_file(&settings).expect("ours");
    fs::create_dir(&settings).expect("ours");
    for (client, why, step) in [
        (
            "cursor",
            "`mcpServers` in it is null and no map of servers",
            "write the entry by hand",
        ),
        (
            "goose",
            "`extensions` in it is a list and no map of servers",
            "write the entry by hand",
        ),
        (
            "gemini-cli",
            "it is not a regular file",
            "write the entry by hand",
        ),
    ] {
        place.run(&["connect", client]).ended(1).says(&[why, step]);
    }
    let listed = place.run(&["connect", "-o", "json"]).ended(0).json();
    let rows = listed["clients"].as_array().expect("rows");
    let gemini = rows.iter().find(|row| row["client"] == "gemini-cli");
    let step = gemini.expect("a row")["next_step"].as_str();
    assert!(
        step.is_some_and(|step| step.contains("by hand")),
        "{listed}"
    );
    let shown = place.run(&["connect"]).ended(0).stdout;
    assert!(!shown.contains("mcpproxy connect gemini-cli"), "{shown}");
}
