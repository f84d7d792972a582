//! What upstreams and their processes get to see: credentials of their own, a clean environment, and nothing of a client's.

use serde_json::json;

use crate::support::{
    behaviours::*,
    daemon::TestDaemon,
    fake_upstream::FakeUpstream,
    http::{self, Reachable},
};

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
