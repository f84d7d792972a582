//! What the daemon writes into its own log: who came, and what was refused.

use crate::support::prelude::*;

/// Waits until one line of the log has all of this.
async fn line(daemon: &DaemonProcess, parts: &[&str]) -> String {
    until(&format!("a line with {parts:?}"), || {
        let log = daemon.log();
        let mut lines = log.lines();
        let found = lines.find(|line| parts.iter().all(|part| line.contains(part)));
        found.map(str::to_owned)
    })
    .await
}

#[tokio::test]
async fn the_operator_sees_who_came_and_what_was_refused() {
    let upstream = FakeUpstream::stdio().tool("echo", echo()).await;
    let hidden = json!({ "disabled_tools": ["echo"] });
    let daemon = TestDaemon::builder()
        .upstream("up", &upstream)
        .upstream_with("off", &upstream, hidden)
        .spawn_with_args(&["--log-level", "debug"])
        .await;
    let client = TestClient::speaking("2025-06-18")
        .connect(&daemon, "/mcp/call")
        .await;
    line(
        &daemon,
        &[
            "INFO",
            "session opened",
            "test 1",
            "2025-06-18",
            "endpoint=/mcp/call",
        ],
    )
    .await;
    client.wait_for_tool("call_tool_read").await;
    line(
        &daemon,
        &["DEBUG", "method=\"tools/list\"", "request answered"],
    )
    .await;
    let call = r#"{"name":"off:echo","args":{}}"#;
    client.call("call_tool_destructive", call).await;
    line(
        &daemon,
        &["INFO", "request refused", "server=\"off\"", "code="],
    )
    .await;
    let params = r#"{"uri":"lib://nowhere/x?code=Secret"}"#;
    client.request("resources/read", params).await;
    let parts = ["a call ended", "resource=\"lib://nowhere/x?code=***\""];
    let said = line(&daemon, &parts).await;
    has!(said, "endpoint=\"/mcp/call\"");
    has!(said, "client=\"test 1\"");
    let params = r#"{"name":"nobody"}"#;
    client.request("prompts/get", params).await;
    line(&daemon, &["a call ended", "prompt=\"nobody\"", "invalid"]).await;

    let send = async |headers: &[(&str, &str)], body: &str| {
        let headers = [&[JSON, BOTH], headers].concat();
        http::send(daemon.address(), "POST", "/mcp", &headers, body.to_owned()).await
    };
    let evil = format!("evil.example{}", "x".repeat(500));
    assert_eq!(send(&[("host", &evil)], PING).await.status, 403);
    let named = line(
        &daemon,
        &["INFO", "host is not trusted", "rejected=\"evil.example"],
    )
    .await;
    assert!(named.len() < 500, "{named}");
    for origin in ["http://evil.example", "http://other.example"] {
        assert_eq!(send(&[("origin", origin)], PING).await.status, 403);
        line(&daemon, &["INFO", "origin is not trusted", origin]).await;
    }
    for _ in 0..5 {
        let (id, agent) = (
            ("mcp-session-id", client.session()),
            ("user-agent", "odd/1"),
        );
        let (headers, body) = ([JSON, BOTH, id, agent], "{no".to_owned());
        let posted = http::send(daemon.address(), "POST", "/mcp/call", &headers, body);
        assert_eq!(posted.await.status, 400);
    }
    let who = [
        "client=\"test 1\"",
        "caller=\"anonymous\" endpoint=/mcp/call ",
    ];
    line(&daemon, &["client sent an invalid message", who[0], who[1]]).await;
    let log = daemon.log();
    let lines = log.matches("client sent an invalid message").count();
    assert_eq!(lines, 1, "clients do not fill the log: {log}");
    std::fs::write(daemon.home().data_dir().join("tokens.json"), "{ no").expect("ours");
    for _ in 0..2 {
        let path = "/api/v1/config/reload";
        daemon.home().rest("POST", path, "").await.expect("it runs");
    }
    let refused = line(&daemon, &["ERROR", "token file unusable", "tokens refused"]).await;
    has!(refused, "next=\"correct ");
    assert_eq!(daemon.log().matches("token file unusable").count(), 1);
    daemon.home().write_config("{");
    let parts = [
        "ERROR",
        "configuration not loaded",
        "next=\"`mcpproxy config edit`",
    ];
    line(&daemon, &parts).await;
}

#[tokio::test]
async fn no_part_of_a_secret_is_left_where_a_name_is_cut() {
    const SECRET: &str = "b3ta-Hidden-Passw0rd-zz91";
    let daemon = TestDaemon::builder()
        .entry(
            "up",
            json!({ "command": "true", "env": { "A_TOKEN": SECRET } }),
        )
        .spawn()
        .await;
    for before in 0..64 {
        let client = TestClient::stateless(&daemon, "/mcp");
        let params = json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": { "name": "n".repeat(before), "version": SECRET },
        });
        client.request("initialize", &params.to_string()).await;
    }
    line(&daemon, &["session opened", &"n".repeat(63)]).await;
    lacks!(daemon.log(), "b3ta");
}
