//! What may pass, and what must not: hidden tools, quarantined servers, credentials, questions of servers.

use serde_json::json;

use crate::support::{
    behaviours::*,
    client::TestClient,
    daemon::TestDaemon,
    fake_upstream::{FakeUpstream, Upstream},
    http::{self, Reachable},
};

async fn with_hidden_tool() -> (Upstream, TestDaemon) {
    let upstream = FakeUpstream::stdio()
        .tool("open", echo())
        .tool("hidden", echo())
        .start()
        .await;
    let daemon = TestDaemon::builder()
        .upstream_with("up", &upstream, json!({"disabled_tools": ["hid*"]}))
        .start()
        .await;
    daemon
        .client("/mcp/all")
        .await
        .wait_for_tool("up__open")
        .await;
    (upstream, daemon)
}

#[tokio::test]
async fn no_spelling_reaches_a_hidden_tool() {
    let (upstream, daemon) = with_hidden_tool().await;
    let direct = daemon.client("/mcp/all").await;
    let native = daemon.client("/mcp/server/up").await;
    for (open, hidden, client) in [
        ("up__open", "up__hidden", &direct),
        ("open", "hidden", &native),
        ("up__open", "hidden", &direct),
    ] {
        for params in [
            format!(r#"{{"name":"{hidden}"}}"#),
            format!(r#"{{"name":"{open}","name":"{hidden}"}}"#),
            format!(r#"{{"name":"{hidden}","name":"{open}"}}"#),
            format!(r#"{{"name":"{open}","n\u0061me":"{hidden}"}}"#),
            format!(r#"{{"n\u0061me":"{hidden}","name":"{open}"}}"#),
        ] {
            client.request("tools/call", &params).await;
        }
    }
    for method in ["tools\\/call", "t\\u006fols/call"] {
        for (client, name) in [(&direct, "up__hidden"), (&native, "hidden")] {
            client
                .request(method, &json!({"name": name}).to_string())
                .await;
        }
    }
    for frame in upstream.received("tools/call") {
        assert!(!frame.contains("hidden"), "{frame}");
    }
}

#[tokio::test]
async fn a_quarantined_server_is_neither_listed_nor_called() {
    let held = FakeUpstream::stdio().tool("echo", echo()).start().await;
    let free = FakeUpstream::stdio().tool("echo", echo()).start().await;
    let daemon = TestDaemon::builder()
        .upstream_with("held", &held, json!({"quarantined": true}))
        .upstream("free", &free)
        .start()
        .await;
    let client = daemon.client("/mcp/all").await;
    client.wait_for_tool("free__echo").await;
    assert_eq!(client.tool_names().await, ["free__echo"]);
    let reply = client.call("held__echo", "{}").await;
    assert!(reply.frame.contains("rror"), "{}", reply.frame);
    let native = TestClient::stateless(&daemon, "/mcp/server/held");
    let reply = native.call("echo", "{}").await;
    assert!(reply.frame.contains("rror"), "{}", reply.frame);
    let names = native.request("tools/list", "{}").await;
    assert!(!names.frame.contains("echo"), "{}", names.frame);
    assert_eq!(held.received("tools/call"), [""; 0]);
}

#[tokio::test]
async fn the_upstream_sees_its_own_credentials_and_never_the_clients() {
    let upstream = FakeUpstream::http().tool("echo", echo()).start().await;
    let daemon = TestDaemon::builder()
        .upstream_with(
            "up",
            &upstream,
            json!({"headers": {"Authorization": "Bearer ours", "X-Team": "blue"}}),
        )
        .start()
        .await;
    daemon
        .client("/mcp/all")
        .await
        .wait_for_tool("up__echo")
        .await;
    let headers = [
        ("content-type", "application/json"),
        ("authorization", "Bearer theirs"),
        ("cookie", "a=b"),
        ("mcp-name", "spoof"),
    ];
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"up__echo"}}"#;
    let answer = http::send(daemon.address(), "POST", "/mcp/all", &headers, body).await;
    assert_eq!(answer.status, 200);
    let seen = upstream.wait_for("tools/call").await;
    assert_eq!(seen.header("authorization"), Some("Bearer ours"));
    assert_eq!(seen.header("x-team"), Some("blue"));
    assert_eq!(seen.header("cookie"), None);
    assert_eq!(seen.header("mcp-protocol-version"), Some("2025-06-18"));
    assert!(seen.header("mcp-session-id").is_some());
    assert_ne!(seen.header("mcp-name"), Some("spoof"));
    for row in [
        daemon.rest("GET", "/api/v1/servers", "").await,
        daemon.rest("GET", "/api/v1/status", "").await,
        daemon.get("/health").await,
    ] {
        assert!(!row.text().contains("ours"), "{}", row.text());
    }
}

#[tokio::test]
async fn children_get_a_clean_environment() {
    let upstream = FakeUpstream::stdio()
        .tool("env", environment())
        .start()
        .await;
    let daemon = TestDaemon::builder()
        .upstream_with("up", &upstream, json!({"env": {"OWN": "value"}}))
        .spawn_with_env("MCPPROXY_TEST_SECRET", "daemon-only")
        .await;
    let client = daemon.client("/mcp/all").await;
    client.wait_for_tool("up__env").await;
    let text = client.call("up__env", "{}").await.text();
    assert!(text.contains("OWN=value"), "{text}");
    assert!(text.contains("PATH="), "{text}");
    assert!(!text.contains("daemon-only"), "{text}");
}
