//! `mcpproxy connect --all --undo`, and endpoints that only a daemon knows.

use std::fs;

use super::{Place, importing::put, serving::Serving};

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
