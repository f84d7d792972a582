//! `mcp.lock.json`: exported, and served.

use std::path::PathBuf;

use super::{held, saying};
use crate::support::prelude::*;

#[tokio::test]
async fn exactly_what_the_file_has_is_accepted() {
    let server = FakeUpstream::stdio()
        .capabilities(r#"{"tools":{"listChanged":true}}"#)
        .tool("echo", echo())
        .tool("wave", echo())
        .await;
    let daemon = TestDaemon::builder()
        .upstream_with("up", &server, json!({ "tool_changes": "allow" }))
        .await;
    daemon.wait_for_tool("up__wave").await;
    let lock = daemon.home().data_dir().join("mcp.lock.json");
    let file = lock.to_str().expect("text");
    let (code, _, said) = daemon.home().cli(&["upstream", "lock", file]).await;
    assert_eq!(code, 0, "{said}");
    has!(said, "2 tools of 1 server");
    has!(said, format!("serve --locked {file}"));
    let first = std::fs::read_to_string(&lock).expect("there");
    let written: Value = serde_json::from_str(&first).expect("JSON");
    let tools = written["tools"].as_array().expect("a list");
    let named: Vec<_> = tools.iter().map(|tool| tool["tool"].as_str()).collect();
    assert_eq!(named, [Some("echo"), Some("wave")]);
    let home = daemon.shutdown().await;
    let (_, again, _) = home.cli(&["upstream", "lock"]).await;
    assert_eq!(again, first, "without a daemon it says the same");
    let told = ["upstream", "lock", file, "-o", "json"];
    let (_, told, _) = home.cli(&told).await;
    let told: Value = serde_json::from_str(&told).expect("JSON");
    assert_eq!(
        told,
        json!({ "file": file, "tools": 2, "servers": 1, "lost": [], "changed": [] })
    );

    server
        .offer_silently(&[
            (saying("echo", "Other words"), echo()),
            (plain_tool("wave"), echo()),
            (plain_tool("late"), echo()),
        ])
        .await;
    let daemon = TestDaemon::start_locked(home, &lock).await;
    let client = daemon.client("/mcp/all").await;
    has!(client.call("up__wave", "{}").await.frame, "result");
    until_async("what is not in the file to be held", async || {
        (client.tool_names().await == ["up__wave"]).then_some(())
    })
    .await;
    for tool in ["up__echo", "up__late"] {
        let failure = client.call(tool, "{}").await.failure();
        assert_eq!(failure["code"], "tool_held", "{tool}");
        has!(failure["error"], "not in the lock file");
    }
    let unknown = client
        .call("call_tool_read", r#"{"name":"up:unheard"}"#)
        .await;
    assert_eq!(unknown.failure()["code"], "unknown_tool");
    let (code, _, said) = daemon
        .home()
        .cli(&["upstream", "approve", "up", "--all"])
        .await;
    assert_eq!(code, 4, "{said}");
    let asked = ["upstream", "approve", "up", "--all", "-o", "json"];
    let (_, told, _) = daemon.home().cli(&asked).await;
    has!(told, "\"tool_held\"");
    assert_eq!(held(&daemon, "up").await.len(), 2);
    let (_, said, _) = daemon.home().cli(&["upstream", "inspect", "up"]).await;
    lacks!(said, "upstream approve");
    has!(said, "nothing can be approved while the lock file");
    let (_, status, _) = daemon.home().cli(&["status"]).await;
    has!(status, "lock file");
    has!(status, file);
}

#[tokio::test]
async fn a_broken_one_refuses_to_start() {
    let server = FakeUpstream::stdio().tool("echo", echo()).await;
    let home = TestDaemon::builder().upstream("up", &server).home();
    let lock = home.data_dir().with_extension("lock.json");
    let file = lock.to_str().expect("text");
    for broken in ["", "{}", r#"{"version":9,"tools":[]}"#] {
        std::fs::write(&lock, broken).expect("written");
        let arguments = ["serve", "--listen", "127.0.0.1:0", "--locked", file];
        let (code, _, said) = home.cli(&arguments).await;
        assert_eq!(code, 1, "{said}");
        has!(said, "the lock file");
        has!(said, file);
    }
    std::fs::remove_file(&lock).expect("removed");
    let arguments = ["serve", "--listen", "127.0.0.1:0", "--locked", file];
    let (code, _, said) = home.cli(&arguments).await;
    assert_eq!(code, 1, "{said}");
    has!(said, "mcpproxy upstream lock");
    assert_eq!(server.spawn_count(), 0);
}

/// A home whose configuration names a lock file that has `echo` and `wave` of `up`.
async fn locked_home() -> (Upstream, Home, PathBuf) {
    let server = FakeUpstream::stdio()
        .tool("echo", echo())
        .tool("wave", echo())
        .await;
    let daemon = TestDaemon::with_upstream(&server).await;
    daemon.wait_for_tool("up__wave").await;
    let file = daemon.home().config_file().with_file_name("team.lock.json");
    let (code, _, said) = daemon.home().cli(&["upstream", "lock", path(&file)]).await;
    assert_eq!(code, 0, "{said}");
    let home = daemon.shutdown().await;
    name_lock_file(&home, "team.lock.json");
    (server, home, file)
}

fn path(file: &std::path::Path) -> &str {
    file.to_str().expect("text")
}

/// Relative to the folder of the configuration.
fn name_lock_file(home: &Home, name: &str) {
    let text = std::fs::read_to_string(home.config_file()).expect("the file");
    let mut settings: Value = serde_json::from_str(&text).expect("JSON");
    settings["lock_file"] = json!(name);
    home.write_config(&settings.to_string());
}

#[tokio::test]
async fn what_changed_before_a_restart_is_refused_in_the_same_words_from_the_first_call_on() {
    let (server, home, _) = locked_home().await;
    server
        .offer_silently(&[
            (saying("echo", "Other words"), echo()),
            (plain_tool("wave"), echo()),
        ])
        .await;
    let mut bridge = PipeClient::start(&home, &["stdio"]);
    bridge.open().await;
    let mut failures = Vec::new();
    for _ in 0..3 {
        let refused = bridge.call("call_tool_read", r#"{"name":"up:echo"}"#).await;
        let failure: Value = serde_json::from_str(&refused.text()).expect("JSON");
        failures.push([
            failure["code"].clone(),
            failure["error"].clone(),
            failure["hint"].clone(),
        ]);
    }
    assert_eq!(failures[0], failures[1]);
    assert_eq!(failures[1], failures[2]);
    assert_eq!(failures[0][0], "tool_held");
    has!(failures[0][1], "not in the lock file");
}

#[tokio::test]
async fn a_lock_file_of_the_configuration_holds_for_every_daemon_and_nothing_offers_to_approve() {
    let (server, home, file) = locked_home().await;
    server
        .offer_silently(&[(plain_tool("wave"), echo()), (plain_tool("late"), echo())])
        .await;
    // Without a daemon it is the same.
    let (_, said, _) = home.cli(&["access", "check", "operator", "up:echo"]).await;
    has!(said, "has its definition");
    let mut bridge = PipeClient::start(&home, &["stdio"]);
    bridge.open().await;
    let answer = bridge.call("call_tool_read", r#"{"name":"up:wave"}"#).await;
    has!(answer.result(), "content");
    let refused = bridge.call("call_tool_read", r#"{"name":"up:late"}"#).await;
    let failure: Value = serde_json::from_str(&refused.text()).expect("JSON");
    assert_eq!(failure["code"], "tool_held");
    let hint = failure["hint"].as_str().expect("a hint");
    has!(hint, "lock file");
    lacks!(hint, "approve");

    for command in [
        &["upstream", "list", "-o", "json"][..],
        &["status"],
        &["upstream", "inspect", "up"],
        &["call", "read", "up:late"],
    ] {
        let (_, out, err) = home.cli(command).await;
        let said = out + &err;
        has!(said, path(&file), "{command:?}");
        lacks!(said, "upstream approve", "{command:?}");
    }
    let (_, out, err) = home.cli(&["upstream", "approve", "up", "--all"]).await;
    has!(out + &err, path(&file));
    let (code, said, _) = home
        .cli(&["access", "check", "operator", "up:late", "-o", "json"])
        .await;
    let verdict: Value = serde_json::from_str(&said).expect("JSON");
    assert_eq!(
        (code, &verdict["decided_by"]),
        (4, &json!("lock_file")),
        "{said}"
    );
    has!(verdict["reason"], path(&file));

    name_lock_file(&home, "other.lock.json");
    until_async("the restart to be asked for", async || {
        let (_, said, _) = home.cli(&["status"]).await;
        said.contains("`lock_file` was changed").then_some(())
    })
    .await;
    assert!(bridge.leave().await.success());
    home.cli(&["stop"]).await;
    // What was named does not exist.
    let (code, _, said) = home.cli(&["serve", "--listen", "127.0.0.1:0"]).await;
    assert_eq!(code, 1, "{said}");
    has!(said, "other.lock.json");
    let (_, said, _) = home.cli(&["config", "check"]).await;
    has!(said, "lock_file");
}

#[tokio::test]
async fn a_reviewed_file_is_not_cut_short_unasked() {
    let (_server, home, file) = locked_home().await;
    let reviewed = std::fs::read_to_string(&file).expect("there");
    let daemon = TestDaemon::start_in(home).await;
    let home = daemon.home();
    // Under the lock its own entries are what is approved.
    let (code, _, said) = home.cli(&["upstream", "lock", path(&file)]).await;
    assert_eq!(code, 0, "{said}");
    assert_eq!(std::fs::read_to_string(&file).expect("there"), reviewed);

    let more = reviewed.replace("\"up\"", "\"gone\"");
    std::fs::write(&file, &more).expect("written");
    let (code, _, said) = home.cli(&["upstream", "lock", path(&file)]).await;
    assert_eq!(code, 4, "{said}");
    has!(said, "gone:echo, gone:wave");
    assert_eq!(std::fs::read_to_string(&file).expect("there"), more);
    std::fs::write(&file, "not a lock file").expect("written");
    let (code, _, said) = home.cli(&["upstream", "lock", path(&file)]).await;
    assert_eq!(code, 4, "{said}");
    let (code, _, said) = home
        .cli(&["upstream", "lock", path(&file), "--force"])
        .await;
    assert_eq!(code, 0, "{said}");
    assert_eq!(std::fs::read_to_string(&file).expect("there"), reviewed);
}
