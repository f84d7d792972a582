//! Which HTTP requests are taken at all: hosts and origins, the size of a body, paths and methods; and health.

use crate::support::prelude::*;

async fn daemon() -> (Upstream, TestDaemon) {
    let upstream = FakeUpstream::stdio().tool("echo", echo()).await;
    let daemon = TestDaemon::with_upstream(&upstream).await;
    (upstream, daemon)
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

    // One that does not say how large it is, of an operator.
    let key = std::fs::read_to_string(daemon.home().data_dir().join("api_key")).expect("a key");
    let key = key.trim();
    let head = format!(
        "POST /api/v1/call HTTP/1.1\r\nhost: {host}\r\nx-api-key: {key}\r\ncontent-type: application/json\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n",
        40 << 20
    );
    let chunk = "x".repeat(40 << 20);
    let answer = http::send_bytes(host, format!("{head}{chunk}\r\n0\r\n\r\n")).await;
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer:.300}");
    let (_, body) = answer.split_once("\r\n\r\n").expect("a body");
    let body: Value = serde_json::from_str(body).expect("a failure");
    assert_eq!(body["code"], "invalid_arguments", "{body}");

    // A body of 30 MiB is fine.
    let client = daemon.client_of("up__echo").await;
    let arguments = format!(r#"{{"x":"{}"}}"#, "x".repeat(10 << 20));
    let reply = client.call("up__echo", &arguments).await;
    assert!(reply.result().ends_with(&format!("{arguments}}}")));
}

#[tokio::test]
async fn a_body_that_says_it_is_too_large_is_refused_before_it_comes() {
    let (_upstream, daemon) = daemon().await;
    let host = daemon.address();
    for path in [
        "/mcp",
        "/mcp/all",
        "/mcp/call",
        "/mcp/server/up",
        "/mcp/p/none",
        "/sse",
        "/register",
        "/health",
        "/nowhere",
    ] {
        for expects in ["", "expect: 100-continue\r\n"] {
            // Nothing of the body follows, so whoever waits for it does not answer at once.
            let head = format!(
                "POST {path} HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\n\
                 {expects}content-length: {}\r\n\r\n",
                40 << 20
            );
            let answer = http::send_bytes(host, head).await;
            assert!(answer.starts_with("HTTP/1.1 413 "), "{path}: {answer}");
            has!(answer, "connection: close", "{path}");
            has!(answer.to_lowercase(), "nothing ", "{path}");
            has!(answer, "larger than 32 MiB", "{path}");
        }
    }
}

#[tokio::test]
async fn strange_hosts_and_origins_are_refused() {
    let (_upstream, daemon) = daemon().await;
    let status = async |name: &str, value: &str| {
        let headers = [JSON, BOTH, (name, value)];
        let answer = daemon.send("POST", "/mcp/all", &headers, PING).await;
        if answer.status == 403 {
            let why = answer.json()["error"].clone();
            assert_eq!(why, format!("the {name} {value:?} is not trusted"));
            let helps = answer.text().contains(&format!("trusted_{name}s"));
            assert!(helps, "{name} {value}");
        }
        answer.status
    };
    let port = daemon.address().port();
    for host in ["evil.example", "192.168.1.1", ""] {
        assert_eq!(status("host", host).await, 403, "host {host:?}");
    }
    for host in [format!("[::1]:{port}"), "localhost".into()] {
        assert_eq!(status("host", &host).await, 200, "host {host:?}");
    }
    for origin in ["http://evil.example", "null", "file://"] {
        assert_eq!(status("origin", origin).await, 403, "origin {origin:?}");
    }
    for origin in ["http://localhost:3000", "http://127.0.0.1:8080"] {
        assert_eq!(status("origin", origin).await, 200, "origin {origin:?}");
        let preflight = [("origin", origin), ("access-control-request-method", "GET")];
        let answer = daemon.send("OPTIONS", "/mcp", &preflight, "").await;
        assert_eq!(answer.status, 403, "the page could not read an answer");
        has!(answer.text(), "trusted_origins");
    }
    for path in ["/health", "/healthz", "/readyz"] {
        let answer = daemon
            .send("GET", path, &[("host", "evil.example")], "")
            .await;
        assert_eq!(answer.status, 200, "{path}");
    }
}

#[tokio::test]
async fn trusted_hosts_and_origins_are_welcome() {
    let daemon = TestDaemon::builder()
        .config(
            json!({"trusted_hosts": ["mcp.example"], "trusted_origins": ["https://app.example"]}),
        )
        .await;
    let headers = [
        JSON,
        BOTH,
        ("host", "mcp.example"),
        ("origin", "https://app.example"),
    ];
    let answer = daemon.send("POST", "/mcp/all", &headers, PING).await;
    assert_eq!(answer.status, 200);
    assert_eq!(
        answer.header("access-control-allow-origin"),
        "https://app.example"
    );
    let exposed = answer
        .header("access-control-expose-headers")
        .to_lowercase();
    has!(exposed, "mcp-session-id");
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
        let answer = daemon.send(method, &path, &[JSON], "{}").await;
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
        let answer = daemon.send("GET", path, &headers, "").await;
        assert_eq!(answer.status, 405, "GET {path} without a session");
        has!(answer.header("allow"), "POST", "{path}");
        for method in ["PUT", "PATCH"] {
            let answer = daemon.send(method, path, &[JSON], "{}").await;
            assert_eq!(answer.status, 405, "{method} {path}");
            has!(answer.header("allow"), "POST", "{path}");
        }
        let answer = daemon.send("DELETE", path, &[], "").await;
        assert_eq!(answer.status, 405, "DELETE {path} without a session");
    }
    let answer = daemon
        .send("POST", "/mcp/server/absent", &[JSON, BOTH], PING)
        .await;
    assert_eq!(answer.status, 404);
    has!(answer.text(), "absent");
    assert_eq!(
        daemon.send("GET", "/no/such/page", &[], "").await.status,
        404
    );
}

#[tokio::test]
async fn health_tells_at_once_what_works() {
    let (_upstream, daemon) = daemon().await;
    daemon.wait_for_tool("up__echo").await;
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

#[tokio::test]
async fn a_header_that_decides_stands_there_once() {
    let (_upstream, daemon) = daemon().await;
    for name in [
        "origin",
        "mcp-session-id",
        "mcp-protocol-version",
        "authorization",
    ] {
        let headers = [
            JSON,
            BOTH,
            (name, "http://localhost"),
            (name, "http://localhost"),
        ];
        let answer = daemon.send("POST", "/mcp/all", &headers, PING).await;
        assert_eq!(answer.status, 400, "{name}");
        has!(answer.text(), name);
    }
    // Lists may be given in parts.
    let accepted = [
        JSON,
        ("accept", "application/json"),
        ("accept", "text/event-stream"),
    ];
    let answer = daemon.send("POST", "/mcp/all", &accepted, PING).await;
    assert_eq!(answer.status, 200);
}

#[tokio::test]
async fn a_browser_is_told_where_it_is() {
    let (_upstream, daemon) = daemon().await;
    let text = daemon.get("/").await;
    assert_eq!(text.status, 200);
    assert_eq!(text.header("content-type"), "text/plain; charset=utf-8");
    has!(text.text(), "mcpproxy");
    has!(text.text(), "/mcp");
    assert_eq!(text.text().lines().count(), 1);
    let accept = ("accept", "text/html,application/xhtml+xml,*/*;q=0.8");
    let page = daemon.send("GET", "/", &[accept], "").await;
    assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
    assert!(
        page.text().starts_with("<!doctype html>"),
        "{}",
        page.text()
    );
    let stranger = daemon
        .send("GET", "/", &[("host", "evil.example")], "")
        .await;
    assert_eq!(stranger.status, 403);
}
