//! What a person asks before there is anything: whether a command is there, and for the demo.

use serde_json::{Value, json};

use super::{daemon, get};
use crate::support::daemon::TestDaemon;

#[tokio::test]
async fn a_command_is_looked_for_where_servers_are_started_and_nothing_is_started() {
    let daemon = TestDaemon::builder().start().await;
    let find = async |query: &str| get(&daemon, &format!("/api/v1/commands?{query}")).await;
    let found = find("command=sh").await;
    assert_eq!(found["found"], true, "{found}");
    let file = found["file"].as_str().expect("a file");
    assert!(file.starts_with('/') && file.ends_with("/sh"), "{found}");
    for (query, reason) in [
        ("command=no-such-program-4711", "is not on PATH"),
        ("command=/no/such/program", "there is no program at"),
        ("command=sh&cwd=/no/such/folder", "does not exist"),
        ("command=sh&path=/no/such/folder", "is not on PATH"),
    ] {
        let found = find(query).await;
        assert_eq!(found["found"], false, "{query}: {found}");
        let said = found["reason"].as_str().expect("a reason");
        assert!(
            said.contains(reason) && !said.contains("failed to start"),
            "{query}: {found}"
        );
        assert!(found["next_step"].is_string(), "{query}: {found}");
        assert_eq!(found["file"], Value::Null, "{query}: {found}");
    }
    let folder = daemon.home().config_file();
    let folder = folder.parent().expect("a folder");
    std::fs::write(folder.join("plain"), "no program").expect("it is written");
    let here = folder.display();
    for (query, reason, step) in [
        (
            format!("command={here}"),
            "is a folder, not a program",
            "the program in it",
        ),
        (
            format!("command=plain&path={here}"),
            "may not be executed",
            "chmod +x",
        ),
        (
            "command=plain&path=.".to_owned(),
            "is not on PATH",
            "install it",
        ),
        (
            "command=%22sh%22".to_owned(),
            "no shell takes the quotes away",
            "without quotes",
        ),
        (
            "command=~/sh".to_owned(),
            "no shell takes the ~ away",
            "${HOME}",
        ),
        (
            format!("command={here}/$%7BNO_SUCH_VARIABLE%7D"),
            "NO_SUCH_VARIABLE, which is not set",
            "add the server",
        ),
        (
            "command=sh&path=$%7Bkeyring:gh%7D".to_owned(),
            "the keyring entry",
            "add the server",
        ),
    ] {
        let found = find(&query).await;
        let said = |key: &str| found[key].as_str().expect("a text");
        assert!(said("reason").contains(reason), "{query}: {found}");
        assert!(said("next_step").contains(step), "{query}: {found}");
        assert_eq!(
            found["judged"],
            step != "add the server",
            "{query}: {found}"
        );
    }
    // As an entry's: variables are put in, and not shown; a folder counts from that of the file.
    let found = find("command=$%7BNO_SUCH_VARIABLE:-/bin/sh%7D").await;
    assert_eq!(found["found"], true, "{found}");
    assert_eq!(found["file"], "***", "{found}");
    let found = find("command=$%7BCARGO_MANIFEST_DIR%7D/no-such-program").await;
    assert!(
        found["reason"].to_string().contains("***/no-such-program"),
        "{found}"
    );
    let found = find("command=./plain&cwd=.").await;
    assert!(
        found["reason"].to_string().contains("may not be executed"),
        "{found}"
    );
    for wrong in ["", "?command=", "?name=sh"] {
        let answer = daemon
            .rest("GET", &format!("/api/v1/commands{wrong}"), "")
            .await;
        assert_eq!(answer.status, 400, "{wrong}");
    }
}

#[tokio::test]
async fn the_demo_is_there_until_it_is_removed_and_stands_in_no_file() {
    let (_upstream, daemon) = daemon().await;
    let file = daemon.home().config_file();
    let before = std::fs::read_to_string(&file).expect("it is there");
    let names = async || {
        let list = get(&daemon, "/api/v1/servers").await;
        let rows = list["servers"].as_array().expect("a list").iter();
        let names: Vec<Value> = rows.map(|row| row["name"].clone()).collect();
        Value::Array(names)
    };
    for _ in 0..2 {
        let started = daemon.rest("POST", "/api/v1/demo", "").await;
        assert_eq!(started.status, 200, "{}", started.text());
        assert_eq!(names().await, json!(["demo", "up"]));
        let again = daemon.rest("POST", "/api/v1/demo", "").await;
        assert_eq!(again.status, 409, "{}", again.text());
        let reloaded = daemon.rest("POST", "/api/v1/config/reload", "").await;
        assert_eq!(reloaded.status, 200);
        assert_eq!(names().await, json!(["demo", "up"]), "it stays");
        let demo = get(&daemon, "/api/v1/servers/demo").await;
        assert_eq!(demo["server"]["demo"], "request", "{demo}");
        has_no_entry(&daemon, "started on the page", "upstream remove demo").await;
        let removed = daemon.rest("DELETE", "/api/v1/servers/demo", "").await;
        assert_eq!(removed.status, 200, "{}", removed.text());
        assert_eq!(names().await, json!(["up"]));
    }
    let after = std::fs::read_to_string(&file).expect("it is there");
    assert_eq!(after, before, "nothing was written");
    let changes = daemon.home().activity("kind=change&server=demo").await;
    let done = changes.iter().filter(|record| record["outcome"] == "ok");
    let actions: Vec<&Value> = done.map(|record| &record["action"]).collect();
    assert_eq!(actions, ["remove", "add", "remove", "add"], "{changes:?}");
    assert_eq!(
        daemon
            .rest("DELETE", "/api/v1/servers/demo", "")
            .await
            .status,
        404
    );
}

/// What would change an entry says that there is none, how the server came, and what ends it.
async fn has_no_entry(daemon: &TestDaemon, came: &str, ends: &str) {
    for (method, path, body) in [
        ("PATCH", "", r#"{"enabled":false}"#),
        ("POST", "/enable", ""),
        ("POST", "/disable", ""),
        ("POST", "/quarantine", ""),
    ] {
        let path = format!("/api/v1/servers/demo{path}");
        let answer = daemon.rest(method, &path, body).await;
        let failure = answer.json();
        let said = |key: &str| failure[key].as_str().expect("a text");
        assert_eq!(
            (answer.status, said("code")),
            (409, "not_in_file"),
            "{failure}"
        );
        assert!(
            said("error").contains("has no entry in") && said("error").contains(came),
            "{failure}"
        );
        assert!(said("hint").contains(ends), "{failure}");
    }
}

#[tokio::test]
async fn what_serve_added_cannot_be_removed_and_keeps_its_name() {
    let daemon = TestDaemon::builder().start_with_demo().await;
    let demo = get(&daemon, "/api/v1/servers/demo").await;
    assert_eq!(demo["server"]["demo"], "command_line", "{demo}");
    has_no_entry(&daemon, "serve --demo", "without --demo").await;
    let removed = daemon.rest("DELETE", "/api/v1/servers/demo", "").await;
    assert_eq!(
        (removed.status, &removed.json()["code"]),
        (409, &json!("not_in_file"))
    );
    let own = json!({ "name": "demo", "command": "nothing-here", "enabled": false });
    let added = daemon
        .rest("POST", "/api/v1/servers", &own.to_string())
        .await;
    assert_eq!(
        (added.status, &added.json()["code"]),
        (409, &json!("server_exists"))
    );
    let demo = get(&daemon, "/api/v1/servers/demo").await;
    assert_eq!(demo["server"]["demo"], "command_line", "{demo}");
}

#[tokio::test]
async fn the_demo_is_started_once_and_gives_way_to_an_entry_of_its_name() {
    let (_upstream, daemon) = daemon().await;
    let start = async || daemon.rest("POST", "/api/v1/demo", "").await;
    let all = tokio::join!(start(), start(), start(), start(), start(), start());
    let all = [all.0, all.1, all.2, all.3, all.4, all.5];
    let mut statuses: Vec<u16> = all.iter().map(|answer| answer.status).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 409, 409, 409, 409, 409]);

    // An agent is told what a person is, without commands.
    let agent = daemon.client("/mcp").await;
    for operation in ["patch", "remove", "disable"] {
        let mut asked = json!({ "operation": operation, "name": "demo" });
        if operation == "patch" {
            asked["idle_timeout"] = "5m".into();
        }
        let answer = agent.call("upstream_servers", &asked.to_string()).await;
        let failure = answer.failure();
        assert_eq!(failure["code"], "not_in_file", "{failure}");
        assert!(
            !failure.to_string().contains("mcpproxy upstream"),
            "{failure}"
        );
    }
    let (_, list, _) = daemon.home().cli(&["upstream", "list"]).await;
    assert!(list.contains("demo server"), "{list}");
    let (_, shown, _) = daemon.home().cli(&["upstream", "show", "demo"]).await;
    assert!(
        shown.contains("no, it is the bundled demo server"),
        "{shown}"
    );
    let (_, status, _) = daemon.home().cli(&["status"]).await;
    assert!(
        status.contains("1 in the configuration and the demo server"),
        "{status}"
    );

    // Whatever its case, an entry of the name takes its place, for good.
    let named = r#"{"name":"Demo","command":"true","enabled":false}"#;
    let file = daemon.home().config_file();
    let text = std::fs::read_to_string(&file).expect("it is there");
    let with = text.replacen(
        "\"mcpServers\":{",
        "\"mcpServers\":{\"Demo\":{\"command\":\"true\",\"enabled\":false},",
        1,
    );
    assert_ne!(with, text, "{text}");
    std::fs::write(&file, with).expect("it is written");
    let reload = async || daemon.rest("POST", "/api/v1/config/reload", "").await;
    let demo = async || daemon.rest("GET", "/api/v1/servers/demo", "").await.status;
    assert_eq!((reload().await.status, demo().await), (200, 404));
    let refused = start().await;
    assert_eq!(refused.status, 409, "{}", refused.text());
    assert_eq!(refused.json()["code"], "server_exists");
    assert!(
        refused.json()["error"]
            .as_str()
            .is_some_and(|error| error.contains("\"Demo\""))
    );
    let removed = daemon.rest("DELETE", "/api/v1/servers/Demo", "").await;
    assert_eq!(removed.status, 200, "{}", removed.text());
    assert_eq!(
        (reload().await.status, demo().await),
        (200, 404),
        "nothing comes back"
    );
    let added = daemon.rest("POST", "/api/v1/servers", named).await;
    assert_eq!(added.status, 200, "{}", added.text());
    let broken = r#"{"mcpServers":{"demo":{"command":7}}}"#;
    std::fs::write(&file, broken).expect("it is written");
    reload().await;
    assert_eq!(start().await.json()["code"], "server_exists");
}

#[tokio::test]
async fn a_demo_that_cannot_be_started_is_not_there_later_either() {
    let (_upstream, daemon) = daemon().await;
    let file = daemon.home().config_file();
    let text = std::fs::read_to_string(&file).expect("it is there");
    std::fs::write(&file, "{").expect("it is written");
    let refused = daemon.rest("POST", "/api/v1/demo", "").await;
    assert_eq!(
        refused.json()["code"],
        "config_unusable",
        "{}",
        refused.text()
    );
    std::fs::write(&file, text).expect("it is written");
    daemon.rest("POST", "/api/v1/config/reload", "").await;
    let demo = daemon.rest("GET", "/api/v1/servers/demo", "").await;
    assert_eq!(demo.status, 404);
}
