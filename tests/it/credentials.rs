//! What upstreams and their processes get to see: credentials of their own, a clean environment, and nothing of a client's.

use std::{fs, net::SocketAddr};

use axum::http::{HeaderMap, StatusCode, Uri};

use crate::support::prelude::*;

#[tokio::test]
async fn the_upstream_sees_its_own_credentials_and_never_the_clients() {
    let upstream = FakeUpstream::http().tool("echo", echo()).await;
    let daemon = TestDaemon::builder()
        .upstream_with(
            "up",
            &upstream,
            json!({"headers": {"Authorization": "Bearer ours", "X-Team": "blue"}}),
        )
        .await;
    daemon
        .client("/mcp/all")
        .await
        .wait_for_tool("up__echo")
        .await;
    let body = r#"{"name":"theirs","calls":"all"}"#;
    let issued = daemon.rest("POST", "/api/v1/tokens", body).await.json();
    let theirs = format!("Bearer {}", issued["token"].as_str().expect("a token"));
    let headers = [
        ("content-type", "application/json"),
        ("authorization", &*theirs),
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
        lacks!(row.text(), "ours");
    }
}

#[tokio::test]
async fn children_get_a_clean_environment() {
    let upstream = FakeUpstream::stdio().tool("env", environment()).await;
    let daemon = TestDaemon::builder()
        .upstream_with("up", &upstream, json!({"env": {"OWN": "value"}}))
        .spawn_with_env("MCPPROXY_TEST_SECRET", "daemon-only")
        .await;
    let client = daemon.client_of("up__env").await;
    let text = client.call("up__env", "{}").await.text();
    has!(text, "OWN=value");
    has!(text, "PATH=");
    lacks!(text, "daemon-only");
}

/// A server that refuses everything and repeats where it was asked.
async fn repeating() -> SocketAddr {
    let refuse = |uri: Uri, headers: HeaderMap| async move {
        let said = headers.get("authorization").map(|value| value.to_str());
        (StatusCode::FORBIDDEN, format!("no: {uri} {said:?}"))
    };
    http::serve(axum::Router::new().fallback(refuse)).await
}

/// A server that works, but for its prompts: it repeats what it was asked with, and says much.
async fn talkative() -> SocketAddr {
    let answer = |headers: HeaderMap, body: String| async move {
        let asked: Value = serde_json::from_str(&body).unwrap_or_default();
        let said = headers.get("authorization").map(|value| value.to_str());
        let result = match asked["method"].as_str() {
            Some("initialize") => json!({
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {}, "prompts": {}},
                "serverInfo": {"name": "talkative", "version": "1"},
            }),
            Some("tools/list") => json!({"tools": []}),
            Some("prompts/list") => {
                let message = format!("no prompts for {said:?} {}", "ab ".repeat(1 << 20));
                let error = json!({"code": -32000, "message": message});
                let answer = json!({"jsonrpc": "2.0", "id": asked["id"], "error": error});
                return (StatusCode::OK, [JSON], answer.to_string());
            }
            _ => return (StatusCode::ACCEPTED, [JSON], String::new()),
        };
        let answer = json!({"jsonrpc": "2.0", "id": asked["id"], "result": result});
        (StatusCode::OK, [JSON], answer.to_string())
    };
    http::serve(axum::Router::new().fallback(answer)).await
}

#[tokio::test]
async fn what_a_server_says_of_a_list_is_masked_and_cut() {
    let address = talkative().await;
    let daemon = TestDaemon::builder()
        .entry(
            "up",
            json!({"url": format!("http://{address}/mcp"), "headers": {"Authorization": "Bearer sk-live-hunter2hunter2"}}),
        )
        .await;
    let listed = until_async("the reason", async || {
        let servers = daemon.rest("GET", "/api/v1/servers", "").await;
        let text = servers.text().to_owned();
        text.contains("no prompts for").then_some(text)
    });
    let mut texts = vec![listed.await];
    for path in ["servers/up", "servers/up/inspect", "status"] {
        let answer = daemon.rest("GET", &format!("/api/v1/{path}"), "").await;
        texts.push(answer.text().to_owned());
    }
    for text in texts {
        lacks!(text, "hunter2", "{text:.500}");
        assert!(text.len() < 20_000, "{}", text.len());
    }
}

/// What an operator can read of the servers, once each has said why it is refused or written to its log.
async fn readable(daemon: &DaemonProcess) -> Vec<String> {
    let rest = async |path: &str| {
        let answer = daemon.home().rest("GET", path, "").await;
        answer.map(|answer| answer.text().to_owned())
    };
    let listed = until_async("the refusals", async || {
        let servers = rest("/api/v1/servers").await?;
        let parsed: Value = serde_json::from_str(&servers).ok()?;
        let rows = parsed["servers"].as_array()?.iter();
        let reasons = rows.filter_map(|row| row["last_error"].as_str());
        let refused = reasons.filter(|reason| reason.contains("no: /mcp"));
        (refused.count() == 3).then_some(servers)
    });
    let mut texts = vec![listed.await];
    let file = daemon.home().data_dir().join("logs/server-up.log");
    let logged = until_async("the line of stderr on the disk", async || {
        let text = fs::read_to_string(&file).ok()?;
        text.contains("the key is").then_some(text)
    });
    texts.push(logged.await);
    for path in ["/api/v1/status", "/api/v1/servers/up/logs", "/health"] {
        texts.extend(rest(path).await);
    }
    texts.push(daemon.log());
    texts
}

#[tokio::test]
async fn secrets_are_masked_wherever_servers_repeat_them() {
    let refusing = repeating().await;
    let upstream = FakeUpstream::stdio()
        .complaint(
            "the key is REFSECRET99, the token LITERAL-77, and ghp_0123456789abcdef a stranger's",
        )
        .await;
    let env = json!({ "env": { "NAME": "${UP_SECRET}", "MY_TOKEN": "LITERAL-77" } });
    let daemon = TestDaemon::builder()
        .upstream_with("up", &upstream, env)
        .entry(
            "referring",
            json!({ "url": format!("http://{refusing}/mcp?x=${{UP_SECRET}}") }),
        )
        .entry(
            "user",
            json!({ "url": format!("http://ada:${{UP_SECRET}}@{refusing}/mcp") }),
        )
        .entry(
            "written",
            json!({ "url": format!("http://{refusing}/mcp?api_key=LITERAL-78") }),
        )
        .spawn_with_env("UP_SECRET", "REFSECRET99")
        .await;
    for text in readable(&daemon).await {
        for secret in [
            "REFSECRET99",
            "LITERAL-77",
            "LITERAL-78",
            "YWRhOlJFRlNFQ1JFVDk5",
        ] {
            lacks!(text, secret);
        }
    }
    let log = daemon.log();
    has!(log, "no: /mcp?x=***");
    has!(log, "no: /mcp?api_key=***");
}
