//! Approvals are in the history of changes, and undoing one brings back what was held and what was pinned.

use super::{approve, held, inspected, saying};
use crate::support::prelude::*;

const LISTS: &str = r#"{"tools":{"listChanged":true}}"#;

async fn history(daemon: &TestDaemon) -> Vec<Value> {
    let answer = daemon.rest("GET", "/api/v1/config/history", "").await;
    let entries = answer.json()["entries"].clone();
    entries.as_array().expect("entries").clone()
}

async fn undo(daemon: &TestDaemon, body: Value) -> Value {
    let body = body.to_string();
    let undone = daemon.rest("POST", "/api/v1/config/undo", &body).await;
    undone.json()
}

/// What is decided about the server, as the data folder has it.
fn ledger(daemon: &TestDaemon) -> Value {
    let file = daemon.home().data_dir().join("approvals/up.json");
    let text = std::fs::read_to_string(file).expect("a ledger");
    serde_json::from_str(&text).expect("JSON")
}

#[tokio::test]
async fn the_approval_of_a_changed_tool_is_undone_to_what_was_held_and_pinned() {
    let server = FakeUpstream::stdio()
        .capabilities(LISTS)
        .tool("echo", echo())
        .tool("wave", echo())
        .await;
    let (daemon, client) = TestDaemon::before(&server, "echo").await;
    let offers = ["echo", "wave"].map(|name| (saying(name, "Another tool"), echo()));
    server.offer(&offers).await;
    let both = ["echo", "wave"].map(|name| (name.to_owned(), "changed".to_owned()));
    until!(held(&daemon, "up").await == both);
    let shown = inspected(&daemon, "up").await;
    let matters = &shown["things"][0]["what_matters"];
    is_like!(matters["changes"][0], { "kind": "description" });
    has!(
        matters["sentence"],
        "in its description. Nothing else changed"
    );
    let is_written = async || (ledger(&daemon)["held"].as_array()?.len() == 2).then_some(());
    until_async("what is held to be written", is_written).await;
    let before = ledger(&daemon);
    approve(&daemon, "up", &["echo"]).await;
    has!(client.call("up__echo", "{}").await.frame, "result");
    let entry = history(&daemon).await[0].clone();
    let path = json!(["approvals", "up", "echo"]);
    is_like!(entry, {
        "by": "operator", "way": "terminal", "needs": "nothing",
        "changes": [{ "path": path, "before": "changed", "after": "approved" }],
    });
    let (_, listed, _) = daemon.home().cli(&["config", "history"]).await;
    has!(listed, "approvals.up.echo");

    let dry = undo(&daemon, json!({ "id": entry["id"], "dry_run": true })).await;
    is_like!(dry, { "changes": [{ "path": path, "before": "approved", "after": "changed" }] });
    assert_eq!(held(&daemon, "up").await, both[1..]);
    let undone = undo(&daemon, json!({})).await;
    is_like!(undone, { "undoes": entry["id"], "changes": dry["changes"] });
    assert_eq!(held(&daemon, "up").await, both);
    assert_eq!(ledger(&daemon), before);
    let refused = client.call("up__echo", "{}").await.failure();
    assert_eq!(refused["code"], "tool_changed");
    assert_eq!(server.received("tools/call").len(), 1);

    // It takes a review to approve again.
    let again = undo(&daemon, json!({ "id": undone["id"] })).await;
    has!(again["error"], "review it again");
    let twice = undo(&daemon, json!({ "id": entry["id"] })).await;
    has!(twice["error"], "undone already");
    approve(&daemon, "up", &["echo"]).await;
    let first = history(&daemon).await[0]["id"].clone();
    let third = ["echo", "wave"].map(|name| (saying(name, "A third"), echo()));
    server.offer(&third).await;
    until!(held(&daemon, "up").await == both);
    approve(&daemon, "up", &["echo"]).await;
    let later = undo(&daemon, json!({ "id": first })).await;
    has!(later["error"], "changed again");
    assert_eq!(held(&daemon, "up").await, both[1..]);
}

#[tokio::test]
async fn the_approval_of_a_server_is_undone_with_the_entry_that_holds_it() {
    let server = FakeUpstream::stdio().tool("echo", echo()).await;
    let builder = TestDaemon::builder();
    let quarantined = json!({ "quarantined": true });
    let daemon = builder.upstream_with("up", &server, quarantined).await;
    let file = daemon.home().config_file();
    let before = std::fs::read_to_string(&file).expect("a file");
    until_async("it to be listed", async || {
        let shown = inspected(&daemon, "up").await;
        (shown["inspected"] == true).then_some(())
    })
    .await;
    approve(&daemon, "up", &[]).await;
    let client = daemon.client_of("up__echo").await;
    has!(client.call("up__echo", "{}").await.frame, "result");
    let entry = history(&daemon).await[0].clone();
    let paths = entry["changes"].as_array().expect("changes").iter();
    let paths: Vec<Value> = paths.map(|one| one["path"].clone()).collect();
    assert_eq!(
        paths,
        [
            json!(["mcpServers", "up", "quarantined"]),
            json!(["approvals", "up", "echo"])
        ]
    );

    let (code, shown, told) = daemon.home().cli(&["config", "undo"]).await;
    assert_eq!(code, 0, "{told}");
    has!(shown, "approvals.up.echo");
    assert_eq!(std::fs::read_to_string(&file).expect("a file"), before);
    assert_eq!(ledger(&daemon)["approved"], json!([]));
    assert_eq!(ledger(&daemon)["baseline"], "none");
    let refused = client
        .call("call_tool_read", r#"{"name":"up:echo"}"#)
        .await
        .failure();
    assert_eq!(refused["code"], "server_quarantined");
    assert_eq!(server.received("tools/call").len(), 1);
    // That it is no way round a review holds for undoing this, too.
    let again = undo(&daemon, json!({ "id": history(&daemon).await[0]["id"] })).await;
    has!(again["error"], "review it again");
    approve(&daemon, "up", &[]).await;
    has!(client.call("up__echo", "{}").await.frame, "result");
}

#[tokio::test]
async fn the_approval_of_a_server_that_was_never_listed_is_undone_too() {
    let gone = json!({ "command": "/nonexistent/server", "quarantined": true });
    let daemon = TestDaemon::builder().entry("up", gone).await;
    let file = daemon.home().config_file();
    let before = std::fs::read_to_string(&file).expect("a file");
    approve(&daemon, "up", &[]).await;
    let row = async || daemon.rest("GET", "/api/v1/servers/up", "").await.json()["server"].clone();
    assert_eq!(row().await["quarantined"], false);
    let undone = undo(&daemon, json!({})).await;
    assert!(undone["id"].is_u64(), "{undone}");
    assert_eq!(row().await["quarantined"], true);
    assert_eq!(std::fs::read_to_string(&file).expect("a file"), before);
}

#[tokio::test]
async fn what_an_unlisted_server_was_first_seen_with_is_not_pinned_once_its_approval_is_undone() {
    let server = FakeUpstream::stdio().tool("echo", echo()).await;
    let builder = TestDaemon::builder();
    let quarantined = json!({ "quarantined": true, "changed_by": "agent" });
    let daemon = builder.upstream_with("up", &server, quarantined).await;
    assert_eq!(inspected(&daemon, "up").await["inspected"], false);
    approve(&daemon, "up", &[]).await;
    let client = daemon.client_of("up__echo").await;
    has!(client.call("up__echo", "{}").await.frame, "result");
    until_async("it to be pinned", async || {
        let file = daemon.home().data_dir().join("approvals/up.json");
        (file.exists() && ledger(&daemon)["baseline"] == "taken").then_some(())
    })
    .await;
    let undone = undo(&daemon, json!({})).await;
    assert!(undone["id"].is_u64(), "{undone}");
    assert_eq!(ledger(&daemon)["approved"], json!([]));
    assert_eq!(ledger(&daemon)["baseline"], "none");
}

#[tokio::test]
async fn what_an_agent_changed_is_compared_again_once_its_approval_is_undone() {
    let server = FakeUpstream::stdio().tool("echo", echo()).await;
    let daemon = TestDaemon::builder().upstream("up", &server).await;
    let agent = daemon.client("/mcp").await;
    let patch = r#"{"operation":"patch","name":"up","cwd":"/"}"#;
    has!(
        agent.call("upstream_servers", patch).await.text(),
        "held_for"
    );
    let review = inspected(&daemon, "up").await["entry_review"].clone();
    is_like!(review, { "held_for": ["cwd"], "is_new": false });
    approve(&daemon, "up", &[]).await;
    assert_eq!(inspected(&daemon, "up").await["entry_review"], Value::Null);
    let undone = undo(&daemon, json!({})).await;
    assert!(undone["id"].is_u64(), "{undone}");
    assert_eq!(inspected(&daemon, "up").await["entry_review"], review);
}
