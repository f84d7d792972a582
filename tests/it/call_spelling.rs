//! Calls that say something else than they mean: arguments under another name, names with letters that nobody sees.

use crate::support::prelude::*;

async fn with_tool() -> (Upstream, TestDaemon, TestClient) {
    let upstream = FakeUpstream::stdio().tool("frobnicate", echo()).await;
    let (daemon, _all) = TestDaemon::before(&upstream, "frobnicate").await;
    let client = daemon.client("/mcp/call").await;
    (upstream, daemon, client)
}

#[tokio::test]
async fn a_call_whose_arguments_have_another_name_is_refused_and_one_for_one_server_passes() {
    let (upstream, daemon, _client) = with_tool().await;
    let refused = [
        (r#"{"name":"up__frobnicate","args":{"n":1}}"#, r#"\"args\""#),
        (
            r#"{"name":"up__frobnicate","args":{"n":1},"arguments":null}"#,
            r#"\"args\""#,
        ),
        (
            r#"{"name":"up__frobnicate","\u0061rgs_json":"{}"}"#,
            r#"\"args_json\""#,
        ),
        (
            r#"{"name":"call_tool_read","args":{"name":"up:look"}}"#,
            r#"\"args\""#,
        ),
    ];
    for path in ["/mcp", "/mcp/all", "/mcp/call"] {
        let client = daemon.client(path).await;
        for (params, says) in refused {
            let reply = client.request("tools/call", params).await;
            assert_eq!(reply.error_code(), -32602, "{path} {params}");
            let error = reply.error();
            has!(error, says);
            has!(error, r#"\"arguments\""#);
        }
        let both = r#"{"name":"up__frobnicate","args":{"n":1},"arguments":{"n":2}}"#;
        let reply = client.request("tools/call", both).await;
        has!(reply.result(), r#"{\"n\":2}"#, "{}", reply.frame);
    }
    assert_eq!(upstream.received("tools/call").len(), 3);
    let one = daemon.client("/mcp/server/up").await;
    one.request("tools/call", r#"{"name":"frobnicate","args":{"n": 1}}"#)
        .await
        .result();
    let sent = upstream.received("tools/call");
    has!(sent[3], r#"{"name":"frobnicate","args":{"n": 1}"#);
}

#[tokio::test]
async fn tools_of_mcpproxy_are_called_directly() {
    let (_upstream, _daemon, client) = with_tool().await;
    let arguments = r#"{"name":"retrieve_tools","args":{}}"#;
    let failure = client.call("call_tool_read", arguments).await.failure();
    assert_eq!(failure["code"], "unknown_tool");
    assert_eq!(
        failure["hint"],
        "Nothing ran. Call retrieve_tools directly."
    );
}

#[tokio::test]
async fn letters_that_nobody_sees_are_escaped_in_what_is_refused() {
    let (_upstream, _daemon, client) = with_tool().await;
    let name = "up:fr\u{200b}ob\u{202e}x";
    let reply = client.call("call_tool_read", json!({ "name": name })).await;
    let failure = reply.failure();
    assert_eq!(failure["tool"], "fr\u{200b}ob\u{202e}x", "{failure}");
    let text = reply.text();
    has!(text, r"fr\u200bob\u202ex");
    assert!(!text.contains(['\u{200b}', '\u{202e}']), "{text:?}");
}
