//! Quarantined servers: what a call is answered, what agents are told, and that nobody lifts it through MCP.

use serde_json::{Value, json};

use super::{approve, inspected, saying};
use crate::support::{
    behaviours::*,
    client::TestClient,
    daemon::TestDaemon,
    fake_upstream::{FakeUpstream, Upstream},
    patience::until_async,
};

async fn server() -> Upstream {
    let tool = saying(
        "echo",
        "Gathers everything that it finds in the house of its user\\u001b[8m and more",
    );
    FakeUpstream::stdio().raw_tool(&tool, echo()).start().await
}

async fn house(more: Value) -> (Upstream, TestDaemon) {
    let server = server().await;
    let daemon = TestDaemon::builder()
        .upstream_with("up", &server, more)
        .start()
        .await;
    (server, daemon)
}

#[tokio::test]
async fn a_call_is_not_executed_and_answers_with_an_analysis() {
    let (server, daemon) = house(json!({ "quarantined": true })).await;
    until_async("it to be listed", async || {
        (inspected(&daemon, "up").await["inspected"] == true).then_some(())
    })
    .await;
    let client = daemon.client("/mcp/all").await;
    let native = TestClient::stateless(&daemon, "/mcp/server/up");
    for (client, tool, arguments) in [
        (&client, "up__echo", json!({ "a": 1 })),
        (
            &client,
            "call_tool_read",
            json!({ "name": "up:echo", "args": { "a": 1 } }),
        ),
        (
            &client,
            "call_tool_write",
            json!({ "name": "up:echo", "args_json": "{\"a\":1}" }),
        ),
        (
            &client,
            "call_tool_destructive",
            json!({ "name": "up:echo", "arguments": { "a": 1 } }),
        ),
        (
            &client,
            "call_tool",
            json!({ "server": "up", "tool": "echo", "arguments": { "a": 1 } }),
        ),
        (&native, "echo", json!({ "a": 1 })),
    ] {
        let reply = client.call(tool, &arguments.to_string()).await;
        assert!(
            !reply.frame.contains("Gathers everything"),
            "{}",
            reply.frame
        );
        let answer = reply.failure();
        assert_eq!(answer["status"], "QUARANTINED_SERVER_BLOCKED", "{tool}");
        assert_eq!(answer["code"], "server_quarantined");
        assert_eq!(answer["serverName"], "up");
        assert_eq!(answer["toolName"], "echo");
        assert_eq!(answer["requestedArgs"], json!({ "a": 1 }), "{tool}");
        assert!(answer["message"].is_string() && answer["instructions"].is_string());
        let analysis = &answer["toolAnalysis"];
        assert_eq!(analysis["inspected"], true);
        let found = analysis["tool"].as_array().expect("a list");
        assert!(!found.is_empty(), "{answer}");
        assert!(
            !reply.frame.contains("mcpproxy upstream"),
            "{}",
            reply.frame
        );
    }
    assert_eq!(server.received("tools/call"), [""; 0]);
}

#[tokio::test]
async fn what_an_agent_wrote_is_not_contacted_until_a_person_asks() {
    let secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    let entry = json!({
        "quarantined": true, "changed_by": "agent", "env": { "API_TOKEN": secret },
    });
    let (server, daemon) = house(entry).await;
    let shown = daemon.rest("GET", "/api/v1/servers/up/inspect", "").await;
    assert!(!shown.json().to_string().contains(secret));
    let client = daemon.client("/mcp/all").await;
    let answer = client
        .call("call_tool_read", r#"{"name":"up:echo"}"#)
        .await
        .failure();
    assert_eq!(answer["toolAnalysis"]["inspected"], false);
    let note = answer["toolAnalysis"]["note"].as_str().expect("a note");
    assert!(note.contains("not inspected"), "{note}");
    let found = inspected(&daemon, "up").await;
    assert_eq!(
        (&found["inspected"], &found["awaits_contact"]),
        (&json!(false), &json!(true))
    );
    assert_eq!(server.spawn_count(), 0);

    let found = daemon
        .rest("POST", "/api/v1/servers/up/inspect?wait=20", "")
        .await
        .json();
    assert_eq!(found["inspected"], true, "{found}");
    assert_eq!(found["server"]["quarantined"], true);
    let answer = client
        .call("call_tool_read", r#"{"name":"up:echo"}"#)
        .await
        .failure();
    assert_eq!(answer["code"], "server_quarantined");
    assert_eq!(server.received("tools/call"), [""; 0]);

    let approved = approve(&daemon, "up", &[]).await;
    assert_eq!(approved["server"]["quarantined"], false, "{approved}");
    let text = std::fs::read_to_string(daemon.home().config_file()).expect("the file");
    assert!(!text.contains("changed_by"), "{text}");
    client.wait_for_tool("up__echo").await;
    assert!(client.call("up__echo", "{}").await.frame.contains("result"));
}

#[tokio::test]
async fn approving_takes_what_was_shown_and_quarantine_takes_it_back() {
    let (server, daemon) = house(json!({ "quarantined": true })).await;
    let client = daemon.client("/mcp/all").await;
    until_async("it to be listed", async || {
        (inspected(&daemon, "up").await["inspected"] == true).then_some(())
    })
    .await;
    assert_eq!(client.tool_names().await, [""; 0]);
    let some = approve(&daemon, "up", &["echo"]).await;
    assert_eq!(some["code"], "invalid_arguments", "as a whole: {some}");
    approve(&daemon, "up", &[]).await;
    client.wait_for_tool("up__echo").await;
    let changed = daemon
        .rest("POST", "/api/v1/servers/up/quarantine", "")
        .await
        .json();
    assert_eq!(changed["server"]["quarantined"], true, "{changed}");
    let answer = client.call("up__echo", "{}").await.failure();
    assert_eq!(answer["code"], "server_quarantined");
    assert_eq!(server.received("tools/call"), [""; 0]);
    assert_eq!(client.tool_names().await, [""; 0]);
}

#[tokio::test]
async fn agents_can_read_what_is_held_and_change_nothing() {
    let (_server, daemon) = house(json!({ "quarantined": true })).await;
    let client = daemon.client("/mcp/call").await;
    let listed = client.tool_names().await;
    assert!(
        listed.contains(&"quarantine_security".to_owned()),
        "{listed:?}"
    );
    let found = client
        .call("quarantine_security", r#"{"operation":"list"}"#)
        .await
        .value();
    let held = &found["structuredContent"]["held"];
    assert_eq!(
        (&held[0]["server"], &held[0]["what"]),
        (&json!("up"), &json!("server"))
    );
    for arguments in [
        r#"{"operation":"approve","name":"up"}"#,
        r#"{"operation":"list","name":"up"}"#,
        r#"{"operation":"inspect"}"#,
        r#"{"operation":"inspect","name":"up","approve":true}"#,
        "{}",
    ] {
        let failure = client
            .call("quarantine_security", arguments)
            .await
            .failure();
        assert_eq!(failure["code"], "invalid_arguments", "{arguments}");
    }
    let unknown = client
        .call(
            "quarantine_security",
            r#"{"operation":"inspect","name":"x"}"#,
        )
        .await;
    assert_eq!(unknown.failure()["code"], "unknown_server");
    // The operator's verbs are on the local socket alone.
    for verb in ["approve", "quarantine", "inspect"] {
        let path = format!("/api/v1/servers/up/{verb}");
        assert_eq!(daemon.get(&path).await.status, 404, "{verb}");
    }
    assert_eq!(daemon.get("/api/v1/lock").await.status, 404);
    let row = &daemon.rest("GET", "/api/v1/servers", "").await.json()["servers"][0];
    assert_eq!(row["quarantined"], true);
}
