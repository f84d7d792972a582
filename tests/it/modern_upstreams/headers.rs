//! What the headers of requests repeat of their bodies, over HTTP.

use super::daemon_with;
use crate::support::prelude::*;

const WHERE: &str = r#"{"name":"where","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}}"#;

#[tokio::test]
async fn headers_say_what_the_upstream_gets() {
    let upstream = FakeUpstream::http()
        .speaking(modern::REVISION)
        .raw_tool(WHERE, echo())
        .resource(
            r#"{"uri":"file:///a b","name":"r"}"#,
            reply(r#"{"contents":[]}"#),
        )
        .await;
    let daemon = daemon_with(&upstream).await;
    let client = daemon.client_of("up__where").await;
    let params = call_params("up__where", r#"{"region":"grün"}"#);
    client.request("tools/call", &params).await.result();
    let seen = upstream.wait_for("tools/call").await;
    for (name, value) in [
        ("mcp-protocol-version", modern::REVISION),
        ("mcp-method", "tools/call"),
        ("mcp-name", "where"),
        ("mcp-param-region", "=?base64?Z3LDvG4=?="),
        ("accept", "application/json, text/event-stream"),
    ] {
        assert_eq!(seen.header(name), Some(value), "{name}");
    }
    assert_eq!(seen.header("mcp-session-id"), None);
    let read = r#"{"uri":"file:///a b"}"#;
    client.request("resources/read", read).await.result();
    let seen = upstream.wait_for("resources/read").await;
    assert_eq!(seen.header("mcp-name"), Some("file:///a b"));
}

#[tokio::test]
async fn a_tool_that_no_header_can_serve_is_left_out_where_there_are_headers() {
    let bad = r#"{"name":"bad","inputSchema":{"type":"object","properties":{"x":{"type":"number","x-mcp-header":"X"}}}}"#;
    for (upstream, expected) in [
        (FakeUpstream::http(), vec!["up__good"]),
        (FakeUpstream::stdio(), vec!["up__bad", "up__good"]),
    ] {
        let upstream = upstream
            .speaking(modern::REVISION)
            .raw_tool(bad, echo())
            .tool("good", echo())
            .await;
        let daemon = daemon_with(&upstream).await;
        let client = daemon.client_of("up__good").await;
        assert_eq!(client.tool_names().await, expected);
    }
}

/// Approved definitions are called as they were approved; who allows changes is served by a second try.
#[tokio::test]
async fn a_definition_that_wants_another_header_now_is_read_again() {
    for (policy, works) in [("allow", true), ("hold", false)] {
        let upstream = FakeUpstream::http()
            .speaking(modern::REVISION)
            .raw_tool(plain_tool("where"), echo())
            .await;
        let daemon = TestDaemon::builder()
            .upstream_with("up", &upstream, json!({"tool_changes": policy}))
            .await;
        let client = daemon.client_of("up__where").await;
        upstream.offer_silently(&[(WHERE.to_owned(), echo())]).await;
        let reply = client.call("up__where", r#"{"region":"north"}"#).await;
        if works {
            has!(reply.result(), "north");
            assert_eq!(upstream.received("tools/call").len(), 2);
        } else {
            assert_eq!(reply.failure()["code"], "tool_changed");
            let reply = client.call("up__where", r#"{"region":"north"}"#).await;
            assert_eq!(
                reply.failure()["code"],
                "tool_changed",
                "until it is approved"
            );
        }
    }
}

#[tokio::test]
async fn a_server_that_refuses_headers_twice_is_quoted_to_the_operator_only() {
    let refusal = r#"{"code":-32020,"message":"Mcp-Name is odd"}"#;
    let upstream = FakeUpstream::http()
        .speaking(modern::REVISION)
        .tool("odd", error(refusal))
        .await;
    let daemon = daemon_with(&upstream).await;
    let client = daemon.client_of("up__odd").await;
    let failure = client.call("up__odd", "{}").await.failure();
    let hint = "Nothing ran. Look the tool up once more; if it is refused again, tell the user.";
    assert_eq!(failure["hint"], hint);
    assert_eq!(upstream.received("tools/call").len(), 2);
    lacks!(failure.to_string(), "is odd");
    let body = json!({ "variant": "destructive", "name": "up:odd" });
    let answer = daemon.rest("POST", "/api/v1/call", &body).await;
    has!(answer.text(), "refused the request twice, with");
    has!(answer.text(), "Mcp-Name is odd");
}
