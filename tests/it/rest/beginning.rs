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
        let removed = daemon.rest("DELETE", "/api/v1/servers/demo", "").await;
        assert_eq!(removed.status, 200, "{}", removed.text());
        assert_eq!(names().await, json!(["up"]));
    }
    let after = std::fs::read_to_string(&file).expect("it is there");
    assert_eq!(after, before, "nothing was written");
    let changes = daemon.home().activity("kind=change&server=demo").await;
    let actions: Vec<&Value> = changes.iter().map(|record| &record["action"]).collect();
    assert_eq!(actions, ["remove", "add", "remove", "add"], "{changes:?}");
    assert_eq!(
        daemon
            .rest("DELETE", "/api/v1/servers/demo", "")
            .await
            .status,
        404
    );
}
