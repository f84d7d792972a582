//! JSON-RPC over HTTP, whatever is asked: sessions, revisions, batches, and requests that are wrong.

use crate::support::prelude::*;

async fn daemon() -> (Upstream, TestDaemon) {
    let upstream = FakeUpstream::stdio().tool("echo", echo()).await;
    let daemon = TestDaemon::with_upstream(&upstream).await;
    (upstream, daemon)
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
        let answer = daemon.send("POST", "/mcp/all", &[JSON, BOTH], body).await;
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
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"up__echo","arguments":{"x":"\ud800"}}}"#,
    ] {
        let answer = daemon.send("POST", "/mcp/all", &[JSON, BOTH], body).await;
        assert_rpc_error(&answer, 400, -32600);
    }
}

#[tokio::test]
async fn params_are_an_object_whatever_is_requested_and_however() {
    let (_upstream, daemon) = daemon().await;
    let in_session = daemon.client("/mcp/all").await;
    let over_sse = daemon.sse_client("/mcp/all").await;
    let stateless = TestClient::stateless(&daemon, "/mcp/all");
    let mut pipe = PipeClient::start(daemon.home(), &["stdio"]);
    pipe.open().await;
    // Some clients write it for none.
    assert_eq!(in_session.request("ping", "null").await.result(), "{}");
    for params in ["\"x\"", "[]", "7"] {
        for method in ["ping", "tools/list", "tools/call", "logging/setLevel", "x"] {
            for client in [&in_session, &over_sse, &stateless] {
                let reply = client.request(method, params).await;
                assert_eq!(reply.error_code(), -32602, "{method} {}", reply.frame);
            }
            let reply = pipe.request(method, params).await;
            assert_eq!(reply.error_code(), -32602, "{method} {}", reply.frame);
        }
    }
}

#[tokio::test]
async fn a_deleted_session_is_gone() {
    let (_upstream, daemon) = daemon().await;
    let client = daemon.client("/mcp/all").await;
    assert_eq!(client.request("ping", "{}").await.result(), "{}");
    let mut stream = client.listen().await;
    assert_eq!(client.delete().await.status, 204);
    // Its server may have been listed for the first time meanwhile.
    while let Some(event) = stream.next().await {
        has!(event.data, "notifications/tools/list_changed");
    }
    let reply = client.request("ping", "{}").await;
    assert_eq!((reply.status, reply.error_code()), (404, -32001));
}

#[tokio::test]
async fn a_request_in_flight_is_told_that_its_session_was_deleted() {
    let upstream = FakeUpstream::http().tool("hang", hang()).await;
    let (_daemon, client) = TestDaemon::before(&upstream, "hang").await;
    let delete = async {
        upstream.wait_for("tools/call").await;
        assert_eq!(client.delete().await.status, 204);
    };
    let (reply, ()) = tokio::join!(client.call("up__hang", "{}"), delete);
    assert_eq!((reply.status, reply.error_code()), (404, -32001));
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
async fn a_request_without_a_session_is_answered_as_json() {
    let (_upstream, daemon) = daemon().await;
    daemon.wait_for_tool("up__echo").await;
    for accept in [
        "application/json",
        "text/event-stream",
        "*/*",
        "application/json, text/event-stream",
        "text/html",
    ] {
        let body = r#"{"jsonrpc":"2.0","id":"a","method":"tools/list"}"#;
        let answer = daemon
            .send("POST", "/mcp/all", &[JSON, ("accept", accept)], body)
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
}

#[tokio::test]
async fn a_body_that_says_to_be_no_json_is_refused() {
    let (_upstream, daemon) = daemon().await;
    let page = Some("http://localhost:3000");
    for (kind, origin, status) in [
        (Some("application/json; charset=utf-8"), None, 200),
        (Some("Application/JSON"), None, 200),
        (Some("application/vnd.mcp+json"), None, 200),
        (None, None, 200),
        (Some("text/plain;charset=UTF-8"), None, 415),
        (Some("application/x-www-form-urlencoded"), None, 415),
        (Some("multipart/form-data; boundary=x"), None, 415),
        (Some(""), None, 415),
        // What a browser sends for a page without asking us first.
        (None, page, 415),
        (Some("application/json"), page, 200),
    ] {
        let kind = kind.map(|kind| ("content-type", kind));
        let headers = kind.into_iter().chain(origin.map(|page| ("origin", page)));
        let headers: Vec<_> = headers.collect();
        let answer = daemon.send("POST", "/mcp/all", &headers, PING).await;
        assert_eq!(answer.status, status, "{headers:?}");
        if status == 415 {
            let error = assert_rpc_error(&answer, 415, -32600);
            has!(error["error"]["message"], "ran; send the message as JSON");
        }
    }
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
    // A date that nobody knows must not lock a client out; what cannot be a revision is refused.
    let client = daemon.client("/mcp/all").await;
    for (said, status) in [
        ("2025-07-07", 200),
        ("2024-10-07", 200),
        ("1999-01-01", 400),
        ("2025-13-45", 400),
        ("2025-02-30", 400),
        ("2026-13-45", 400),
        ("soon", 400),
    ] {
        let version = ("mcp-protocol-version", said);
        let session = ("mcp-session-id", client.session());
        for headers in [&[JSON, BOTH, session, version][..], &[JSON, BOTH, version]] {
            let answer = client.raw_post(headers, PING).await;
            assert_eq!(answer.status, status, "{said}");
            if status == 400 {
                let error = answer.json();
                assert_eq!(
                    (&error["error"]["code"], &error["id"]),
                    (&json!(-32600), &json!(1))
                );
                has!(error["error"]["message"], said);
                has!(error["error"]["message"], "2025-11-25");
            }
        }
    }
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
