//! The answers that clients depend on before and beside any call: what they probe, and what they get wrong.

use serde_json::{Value, json};

use crate::support::{
    behaviours::*,
    client::TestClient,
    daemon::TestDaemon,
    fake_upstream::{FakeUpstream, Upstream},
    http::{self, HttpAnswer, Reachable},
};

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
const JSON: (&str, &str) = ("content-type", "application/json");
const BOTH: (&str, &str) = ("accept", "application/json, text/event-stream");

async fn daemon() -> (Upstream, TestDaemon) {
    let upstream = FakeUpstream::stdio().tool("echo", echo()).start().await;
    let daemon = TestDaemon::builder()
        .upstream("up", &upstream)
        .start()
        .await;
    (upstream, daemon)
}

async fn send(
    daemon: &TestDaemon,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> HttpAnswer {
    http::send(daemon.address(), method, path, headers, body.to_owned()).await
}

fn assert_rpc_error(answer: &HttpAnswer, status: u16, code: i64) -> Value {
    let body = answer.json();
    assert_eq!(answer.status, status, "{body}");
    assert_eq!(body["error"]["code"], code, "{body}");
    assert_eq!(body["jsonrpc"], "2.0");
    assert!(
        answer
            .header("content-type")
            .starts_with("application/json")
    );
    assert_eq!(answer.header("www-authenticate"), "");
    body
}

#[tokio::test]
async fn malformed_json_is_answered_with_details() {
    let (_upstream, daemon) = daemon().await;
    for body in [
        "{",
        "",
        "nonsense",
        r#"{"jsonrpc":"2.0","id":1,"method":"ping""#,
        "\u{0}",
    ] {
        let answer = send(&daemon, "POST", "/mcp/all", &[JSON, BOTH], body).await;
        let error = assert_rpc_error(&answer, 400, -32700);
        assert_eq!(error["id"], Value::Null);
        assert!(
            error["error"]["message"]
                .as_str()
                .is_some_and(|text| !text.is_empty())
        );
    }
    for body in [
        "7",
        "null",
        r#""text""#,
        r#"{"id":1}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":7}"#,
    ] {
        let answer = send(&daemon, "POST", "/mcp/all", &[JSON, BOTH], body).await;
        assert_rpc_error(&answer, 400, -32600);
    }
}

#[tokio::test]
async fn an_unknown_session_is_not_found() {
    let (_upstream, daemon) = daemon().await;
    for session in ["wrong", "550e8400-e29b-41d4-a716-446655440000", "", "a b"] {
        let headers = [JSON, BOTH, ("mcp-session-id", session)];
        let answer = send(&daemon, "POST", "/mcp/all", &headers, PING).await;
        assert_rpc_error(&answer, 404, -32001);
        let headers = [("accept", "text/event-stream"), ("mcp-session-id", session)];
        let answer = send(&daemon, "GET", "/mcp/all", &headers, "").await;
        assert_eq!(answer.status, 404);
        let headers = [("mcp-session-id", session)];
        let answer = send(&daemon, "DELETE", "/mcp/all", &headers, "").await;
        assert_eq!(answer.status, 404);
    }
}

#[tokio::test]
async fn a_session_belongs_to_its_endpoint() {
    let (_upstream, daemon) = daemon().await;
    let client = daemon.client("/mcp/all").await;
    let headers = [JSON, BOTH, ("mcp-session-id", client.session())];
    let answer = send(&daemon, "POST", "/mcp/server/up", &headers, PING).await;
    assert_rpc_error(&answer, 404, -32001);
}

#[tokio::test]
async fn a_deleted_session_is_gone() {
    let (_upstream, daemon) = daemon().await;
    let client = daemon.client("/mcp/all").await;
    assert_eq!(client.request("ping", "{}").await.result(), "{}");
    let mut stream = client.listen().await;
    assert!([200, 204].contains(&client.delete().await.status));
    assert_eq!(stream.next().await, None);
    let reply = client.request("ping", "{}").await;
    assert_eq!((reply.status, reply.error_code()), (404, -32001));
}

#[tokio::test]
async fn an_unknown_tool_is_named_with_the_closest_known_one() {
    let (_upstream, daemon) = daemon().await;
    let client = daemon.client("/mcp/all").await;
    client.wait_for_tool("up__echo").await;
    let reply = client.call("up__ehco", "{}").await;
    assert_eq!((reply.status, reply.error_code()), (200, -32602));
    assert!(reply.error().contains("up__ehco"), "{}", reply.error());
    assert!(reply.error().contains("up__echo"), "{}", reply.error());
}

#[tokio::test]
async fn wrong_parameters_are_named() {
    let (_upstream, daemon) = daemon().await;
    let client = daemon.client("/mcp/all").await;
    client.wait_for_tool("up__echo").await;
    for (params, named) in [
        ("{}", "name"),
        (r#"{"name":7}"#, "name"),
        (r#"{"arguments":{}}"#, "name"),
        (r#"{"name":"up__echo","arguments":[]}"#, "arguments"),
        (r#"{"name":"up__echo","arguments":"text"}"#, "arguments"),
        ("[]", "params"),
    ] {
        let reply = client.request("tools/call", params).await;
        assert_eq!(reply.error_code(), -32602, "{params}: {}", reply.frame);
        assert!(reply.error().contains(named), "{params}: {}", reply.error());
    }
    for (method, params) in [
        ("prompts/get", "{}"),
        ("resources/read", "{}"),
        ("resources/read", r#"{"uri":1}"#),
    ] {
        let reply = client.request(method, params).await;
        assert_eq!(
            reply.error_code(),
            -32602,
            "{method} {params}: {}",
            reply.frame
        );
    }
    // Arguments may be left out.
    let reply = client.request("tools/call", r#"{"name":"up__echo"}"#).await;
    reply.result();
}

#[tokio::test]
async fn an_unknown_method_is_refused_and_an_unknown_notification_is_not() {
    let (_upstream, daemon) = daemon().await;
    let client = daemon.client("/mcp/all").await;
    assert_eq!(client.request("no/such", "{}").await.error_code(), -32601);
    assert_eq!(
        client.notify("notifications/no/such", "{}").await.status,
        202
    );
    let answer = client.respond(&json!(99), "{}").await;
    assert_eq!((answer.status, answer.text()), (202, ""));
}

#[tokio::test]
async fn a_body_past_the_limit_is_refused() {
    let (_upstream, daemon) = daemon().await;
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"x":"{}"}}}}"#,
        "x".repeat(40 << 20)
    );
    let host = daemon.address();
    let head = format!(
        "POST /mcp/all HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\naccept: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    let answer = http::send_bytes(host, head + &body).await;
    assert!(
        answer.starts_with("HTTP/1.1 413 "),
        "{}",
        &answer.get(..200).unwrap_or(&answer)
    );
    let (_, body) = answer.split_once("\r\n\r\n").expect("a body");
    let body: Value = serde_json::from_str(body).expect("a JSON-RPC error");
    assert!(body["error"]["code"].is_i64(), "{body}");

    // A body of 30 MiB is fine.
    let client = daemon.client("/mcp/all").await;
    client.wait_for_tool("up__echo").await;
    let arguments = format!(r#"{{"x":"{}"}}"#, "x".repeat(10 << 20));
    let reply = client.call("up__echo", &arguments).await;
    assert!(reply.result().ends_with(&format!("{arguments}}}")));
}

#[tokio::test]
async fn strange_hosts_and_origins_are_refused() {
    let (_upstream, daemon) = daemon().await;
    let status = async |name: &str, value: &str| {
        send(
            &daemon,
            "POST",
            "/mcp/all",
            &[JSON, BOTH, (name, value)],
            PING,
        )
        .await
        .status
    };
    let port = daemon.address().port();
    for host in [
        "evil.example",
        "evil.example:8080",
        "127.0.0.1.evil.example",
        "192.168.1.1",
        "",
    ] {
        assert_eq!(status("host", host).await, 403, "host {host:?}");
    }
    for host in [
        format!("127.0.0.1:{port}"),
        format!("localhost:{port}"),
        "localhost".into(),
        format!("[::1]:{port}"),
    ] {
        assert_eq!(status("host", &host).await, 200, "host {host:?}");
    }
    for origin in [
        "http://evil.example",
        "https://localhost.evil.example",
        "null",
        "file://",
    ] {
        assert_eq!(status("origin", origin).await, 403, "origin {origin:?}");
    }
    for origin in [
        format!("http://127.0.0.1:{port}"),
        "http://localhost:3000".into(),
        format!("http://[::1]:{port}"),
    ] {
        assert_eq!(status("origin", &origin).await, 200, "origin {origin:?}");
    }
    for path in ["/health", "/healthz", "/readyz"] {
        let answer = send(&daemon, "GET", path, &[("host", "evil.example")], "").await;
        assert_eq!(answer.status, 200, "{path}");
    }
}

#[tokio::test]
async fn trusted_hosts_and_origins_are_welcome() {
    let daemon = TestDaemon::builder()
        .config(
            json!({"trusted_hosts": ["mcp.example"], "trusted_origins": ["https://app.example"]}),
        )
        .start()
        .await;
    let headers = [
        JSON,
        BOTH,
        ("host", "mcp.example"),
        ("origin", "https://app.example"),
    ];
    let answer = send(&daemon, "POST", "/mcp/all", &headers, PING).await;
    assert_eq!(answer.status, 200);
    assert_eq!(
        answer.header("access-control-allow-origin"),
        "https://app.example"
    );
    let exposed = answer
        .header("access-control-expose-headers")
        .to_lowercase();
    assert!(exposed.contains("mcp-session-id"), "{exposed}");
}

#[tokio::test]
async fn there_is_no_authorization_server_to_be_found() {
    let (_upstream, daemon) = daemon().await;
    let mut probes = vec![("POST", "/register".to_owned())];
    for document in [
        "oauth-protected-resource",
        "oauth-authorization-server",
        "openid-configuration",
    ] {
        for (before, after) in [
            ("", ""),
            ("", "/mcp"),
            ("/mcp", ""),
            ("", "/mcp/all"),
            ("/mcp/all", ""),
        ] {
            probes.push(("GET", format!("{before}/.well-known/{document}{after}")));
        }
    }
    for (method, path) in probes {
        let answer = send(&daemon, method, &path, &[JSON], "{}").await;
        assert_eq!(answer.status, 404, "{path}");
        assert_eq!(answer.header("content-type"), "application/json", "{path}");
        assert_eq!(answer.header("www-authenticate"), "");
        assert!(answer.json().is_object(), "{path}");
    }
}

#[tokio::test]
async fn methods_that_do_not_fit_are_told_what_does() {
    let (_upstream, daemon) = daemon().await;
    for path in ["/mcp", "/mcp/all", "/mcp/server/up"] {
        let headers = [
            ("accept", "text/event-stream"),
            ("mcp-protocol-version", "2025-06-18"),
        ];
        let answer = send(&daemon, "GET", path, &headers, "").await;
        assert_eq!(answer.status, 405, "GET {path} without a session");
        assert!(answer.header("allow").contains("POST"), "{path}");
        for method in ["PUT", "PATCH"] {
            let answer = send(&daemon, method, path, &[JSON], "{}").await;
            assert_eq!(answer.status, 405, "{method} {path}");
            assert!(answer.header("allow").contains("POST"), "{path}");
        }
        let answer = send(&daemon, "DELETE", path, &[], "").await;
        assert!(
            [400, 405].contains(&answer.status),
            "DELETE {path}: {}",
            answer.status
        );
    }
    let answer = send(&daemon, "POST", "/mcp/server/absent", &[JSON, BOTH], PING).await;
    assert_eq!(answer.status, 404);
    assert!(answer.text().contains("absent"), "{}", answer.text());
    assert_eq!(
        send(&daemon, "GET", "/no/such/page", &[], "").await.status,
        404
    );
}

#[tokio::test]
async fn a_request_without_a_session_is_answered_as_json() {
    let (_upstream, daemon) = daemon().await;
    daemon
        .client("/mcp/all")
        .await
        .wait_for_tool("up__echo")
        .await;
    for accept in [
        "application/json",
        "text/event-stream",
        "*/*",
        "application/json, text/event-stream",
        "text/html",
    ] {
        let body = r#"{"jsonrpc":"2.0","id":"a","method":"tools/list"}"#;
        let answer = send(
            &daemon,
            "POST",
            "/mcp/all",
            &[JSON, ("accept", accept)],
            body,
        )
        .await;
        assert_eq!(answer.status, 200, "accept {accept}");
        assert_eq!(
            answer.header("content-type"),
            "application/json",
            "accept {accept}"
        );
        assert_eq!(answer.json()["result"]["tools"][0]["name"], "up__echo");
        assert_eq!(answer.json()["id"], "a");
    }
    // curl says nothing of the kind unless told.
    let form = [
        ("content-type", "application/x-www-form-urlencoded"),
        ("accept", "*/*"),
    ];
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"up__echo","arguments":{"a":1.0}}}"#;
    let answer = send(&daemon, "POST", "/mcp/all", &form, body).await;
    assert!(answer.text().contains(r#"{"a":1.0}"#), "{}", answer.text());
}

#[tokio::test]
async fn every_legacy_revision_is_spoken_and_strange_ones_get_the_newest() {
    let (_upstream, daemon) = daemon().await;
    for (asked, given) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2025-01-01", "2025-11-25"),
        ("2099-01-01", "2025-11-25"),
        ("1.0", "2025-11-25"),
    ] {
        let client = TestClient::speaking(asked)
            .connect(&daemon, "/mcp/all")
            .await;
        let initialized: Value = serde_json::from_str(&client.initialized).expect("JSON");
        assert_eq!(initialized["protocolVersion"], given, "asked for {asked}");
        assert!(initialized["serverInfo"]["name"].is_string());
        assert_eq!(initialized["capabilities"]["tools"]["listChanged"], true);
    }
    // A date that nobody knows must not lock a client out.
    let client = daemon.client("/mcp/all").await;
    let headers = [
        JSON,
        BOTH,
        ("mcp-session-id", client.session()),
        ("mcp-protocol-version", "2025-07-07"),
    ];
    assert_eq!(client.raw_post(&headers, PING).await.status, 200);
    let answer = client.request("server/discover", "{}").await;
    assert_eq!(answer.error_code(), -32601);
}

#[tokio::test]
async fn batches_are_answered_where_the_revision_has_them() {
    let (_upstream, daemon) = daemon().await;
    let client = TestClient::speaking("2025-03-26")
        .connect(&daemon, "/mcp/all")
        .await;
    let headers = [
        JSON,
        ("accept", "application/json"),
        ("mcp-session-id", client.session()),
    ];
    let batch = format!(
        r#"[{PING},{{"jsonrpc":"2.0","method":"notifications/x"}},{}]"#,
        PING.replace("1,", "2,")
    );
    let answer = client.raw_post(&headers, &batch).await;
    let answers = answer.json();
    let ids: Vec<_> = answers
        .as_array()
        .expect("a batch")
        .iter()
        .map(|a| &a["id"])
        .collect();
    assert_eq!(ids.len(), 2, "{answers}");
}

#[tokio::test]
async fn health_tells_at_once_what_works() {
    let (_upstream, daemon) = daemon().await;
    daemon
        .client("/mcp/all")
        .await
        .wait_for_tool("up__echo")
        .await;
    let health = daemon.get("/health").await.json();
    assert_eq!(health["status"], "ok", "{health}");
    assert_eq!(health["backends_configured"], 1);
    assert_eq!(health["tools"], 1);
    assert!(health["version"].is_string());
    assert!(health["backends_connected"].is_u64());
    assert!(health["active_clients"].is_u64());
    assert_eq!(daemon.get("/healthz").await.status, 200);
    assert_eq!(daemon.get("/readyz").await.status, 200);
}
