//! What a modern request must say, and what it hears when it does not.

use super::{code, daemon_with};
use crate::support::{
    modern_client::{meta_of, stamped},
    prelude::*,
};

async fn daemon() -> (Upstream, TestDaemon) {
    let upstream = FakeUpstream::stdio().tool("echo", echo()).await;
    let daemon = daemon_with(&upstream).await;
    ModernClient::new(&daemon, "/mcp/all")
        .wait_for_tool("up__echo")
        .await;
    (upstream, daemon)
}

/// Posts a request as it is. Gives the status and the error's code; its id must be that of the request.
async fn post(
    client: &ModernClient,
    method: &str,
    params: &str,
    headers: &[(&str, &str)],
) -> (u16, i64, Value) {
    let frame = format!(r#"{{"jsonrpc":"2.0","id":"a","method":"{method}","params":{params}}}"#);
    let answer = client.raw_post(headers, &frame).await;
    let body = answer.json();
    assert_eq!(body["id"], "a", "{body}");
    (answer.status, code(&body), body["error"]["data"].clone())
}

fn without(key: &str) -> String {
    let mut meta = meta_of(&json!({}));
    let meta = meta.as_object_mut().expect("an object");
    meta.remove(&format!("io.modelcontextprotocol/{key}"));
    stamped("{}", &json!(meta))
}

fn of_revision(revision: &str) -> String {
    stamped("{}", &meta_of(&json!({}))).replace(MODERN, revision)
}

#[tokio::test]
async fn metadata_must_be_there() {
    let (_upstream, daemon) = daemon().await;
    let client = ModernClient::new(&daemon, "/mcp/all");
    for method in ["server/discover", "tools/list", "subscriptions/listen"] {
        let headers = [("mcp-protocol-version", MODERN), ("mcp-method", method)];
        for params in [
            "{}".to_owned(),
            r#"{"_meta":{}}"#.to_owned(),
            without("protocolVersion"),
            without("clientCapabilities"),
        ] {
            let (status, code, _) = post(&client, method, &params, &headers).await;
            assert_eq!((status, code), (400, -32602), "{method} {params}");
        }
    }
    // Only a modern client asks for these, whatever else it forgets.
    let (status, code, _) = post(&client, "server/discover", "{}", &[]).await;
    assert_eq!((status, code), (400, -32602));
    let headers = [
        ("mcp-protocol-version", MODERN),
        ("mcp-method", "server/discover"),
    ];
    let frame = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{}}}"#,
        without("clientInfo")
    );
    assert_eq!(client.raw_post(&headers, &frame).await.status, 200);
}

#[tokio::test]
async fn a_revision_that_nobody_serves_is_refused_with_those_that_are() {
    let (_upstream, daemon) = daemon().await;
    let client = ModernClient::new(&daemon, "/mcp/all");
    for revision in ["v999.0.0", "2031-01-01", "2025-11-25"] {
        let params = of_revision(revision);
        let headers = [
            ("mcp-protocol-version", revision),
            ("mcp-method", "server/discover"),
        ];
        let (status, code, data) = post(&client, "server/discover", &params, &headers).await;
        assert_eq!((status, code), (400, -32022), "{revision}");
        assert_eq!(data, json!({"supported": [MODERN], "requested": revision}));
        // A request at odds with itself hears of that first.
        let headers = [
            ("mcp-protocol-version", MODERN),
            ("mcp-method", "server/discover"),
        ];
        let (status, code, _) = post(&client, "server/discover", &params, &headers).await;
        assert_eq!((status, code), (400, -32020), "{revision}");
    }
}

#[tokio::test]
async fn arguments_that_travel_as_headers_are_compared() {
    let definition = r#"{"name":"sql","inputSchema":{"type":"object","properties":{
        "region":{"type":"string","x-mcp-header":"Region"},"n":{"type":"integer","x-mcp-header":"N"}}}}"#
        .replace('\n', " ");
    let upstream = FakeUpstream::stdio().raw_tool(&definition, echo()).await;
    let daemon = daemon_with(&upstream).await;
    for (path, tool) in [("/mcp/server/up", "sql"), ("/mcp/all", "up__sql")] {
        let client = ModernClient::new(&daemon, path);
        client.wait_for_tool(tool).await;
        let check = async |arguments: &str, headers: &[(&str, &str)], good: bool| {
            let params = call_params(tool, arguments);
            let reply = client.start_with("tools/call", &params, headers).await;
            let reply = reply.finish().await;
            if good {
                reply.result();
            } else {
                assert_eq!(
                    (reply.status, reply.error_code()),
                    (400, -32020),
                    "{arguments}"
                );
            }
        };
        let (eu, seven) = (("mcp-param-region", "eu"), ("mcp-param-n", "7"));
        check(r#"{"region":"eu","n":7}"#, &[eu, seven], true).await;
        check(r#"{"region":"eu","n":7.0}"#, &[eu, seven], true).await;
        let marked = ("mcp-param-region", "=?base64?ZXU=?=");
        check(r#"{"region":"eu"}"#, &[marked], true).await;
        check(r#"{"region":null}"#, &[], true).await;
        check("{}", &[], true).await;
        check(r#"{"region":"eu"}"#, &[], false).await;
        check(r#"{"region":"us"}"#, &[eu], false).await;
        check("{}", &[eu], false).await;
        check(r#"{"region":null}"#, &[eu], false).await;
        check(r#"{"n":8}"#, &[seven], false).await;
        check(
            r#"{"region":"eu"}"#,
            &[("mcp-param-region", "=?base64?%%?=")],
            false,
        )
        .await;
    }
    // Where the tool is not listed, nobody can know.
    let client = ModernClient::new(&daemon, "/mcp/call");
    client.call("up__sql", r#"{"region":"eu"}"#).await.result();
}

#[tokio::test]
async fn an_argument_that_travels_as_a_header_must_stand_once() {
    let definition = r#"{"name":"sql","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}}"#;
    let upstream = FakeUpstream::stdio().raw_tool(definition, echo()).await;
    let daemon = daemon_with(&upstream).await;
    let twice = r#"{"region":"eu","r\u0065gion":"us"}"#;
    let failed = |reply: Reply| {
        let failure = reply.failure();
        assert_eq!(failure["code"], "invalid_arguments");
        has!(failure["error"], "\"region\"");
    };
    for (path, tool) in [("/mcp/server/up", "sql"), ("/mcp/all", "up__sql")] {
        let client = ModernClient::new(&daemon, path);
        client.wait_for_tool(tool).await;
        let headers = [("mcp-param-region", "eu")];
        let params = call_params(tool, twice);
        let exchange = client.start_with("tools/call", &params, &headers).await;
        failed(exchange.finish().await);
        failed(daemon.client(path).await.call(tool, twice).await);
    }
    let client = daemon.client("/mcp/call").await;
    let arguments = format!(r#"{{"name":"up:sql","args":{twice}}}"#);
    failed(client.call("call_tool_write", &arguments).await);
    assert_eq!(upstream.received("tools/call"), [""; 0]);
}

#[tokio::test]
async fn methods_that_are_not_there_are_not_found() {
    let (_upstream, daemon) = daemon().await;
    let client = ModernClient::new(&daemon, "/mcp/all");
    for method in [
        "initialize",
        "ping",
        "logging/setLevel",
        "resources/subscribe",
        "resources/unsubscribe",
        "no/such",
    ] {
        let reply = client.request(method, "{}").await;
        assert_eq!(
            (reply.status, reply.error_code()),
            (404, -32601),
            "{method}"
        );
        assert_eq!(reply.header("mcp-session-id"), "");
    }
    let one = ModernClient::new(&daemon, "/mcp/server/up");
    for method in ["initialize", "ping", "no/such"] {
        let reply = one.request(method, "{}").await;
        assert_eq!(
            (reply.status, reply.error_code()),
            (404, -32601),
            "{method}"
        );
    }
    // About the thing that was asked for, not about the asking.
    let reply = client.call("up__ehco", "{}").await;
    assert_eq!((reply.status, reply.error_code()), (200, -32602));
}

#[tokio::test]
async fn there_is_nothing_but_single_requests_and_notifications() {
    let (_upstream, daemon) = daemon().await;
    let client = ModernClient::new(&daemon, "/mcp/all");
    let headers = [("mcp-protocol-version", MODERN)];
    let params = stamped("{}", &meta_of(&json!({})));
    let list = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{params}}}"#);
    for body in [
        format!("[{list}]"),
        r#"{"jsonrpc":"2.0","id":1,"result":{}}"#.to_owned(),
    ] {
        let answer = client.raw_post(&headers, &body).await;
        assert_eq!(
            (answer.status, code(&answer.json())),
            (400, -32600),
            "{body}"
        );
    }
    // In a batch of the revision that has them, it fails alone.
    let ping = r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#;
    let answer = client.raw_post(&[], &format!("[{list},{ping}]")).await;
    let answers = answer.json();
    assert_eq!(answers[0]["error"]["code"], -32600);
    assert_eq!(answers[1]["result"], json!({}));
    let note = r#"{"jsonrpc":"2.0","method":"notifications/x"}"#;
    let answer = client.raw_post(&headers, note).await;
    assert_eq!((answer.status, answer.text()), (202, ""));
    let later = [("mcp-protocol-version", "2031-01-01")];
    let answer = client.raw_post(&later, note).await;
    assert_eq!((answer.status, code(&answer.json())), (400, -32022));
}

#[tokio::test]
async fn there_are_no_streams_and_no_sessions_to_end() {
    let (_upstream, daemon) = daemon().await;
    for method in ["GET", "DELETE"] {
        for more in [None, Some(("mcp-session-id", "550e8400"))] {
            let mut headers = vec![
                ("mcp-protocol-version", MODERN),
                ("accept", "text/event-stream"),
            ];
            headers.extend(more);
            let answer = http::send(daemon.address(), method, "/mcp/all", &headers, "").await;
            assert_eq!(answer.status, 405, "{method} {more:?}");
            assert_eq!(answer.header("allow"), "POST");
        }
    }
}

/// Such a client has agreed on less than it hoped for, and goes on saying so.
#[tokio::test]
async fn a_session_outlives_a_header_that_hopes_for_more() {
    let (_upstream, daemon) = daemon().await;
    let legacy = daemon.client("/mcp/all").await;
    let headers = [
        ("mcp-protocol-version", MODERN),
        ("mcp-session-id", legacy.session()),
    ];
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    assert_eq!(legacy.raw_post(&headers, ping).await.status, 200);
    let open = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2026-07-28","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}"#;
    let answer = legacy.raw_post(&[headers[0]], open).await;
    assert_eq!(answer.json()["result"]["protocolVersion"], "2025-11-25");
    assert_ne!(answer.header("mcp-session-id"), "");
    let discovered = legacy.request("server/discover", "{}").await;
    assert_eq!(discovered.error_code(), -32601);
}

#[tokio::test]
async fn requests_that_speak_for_themselves_are_no_part_of_http_and_sse() {
    let (_upstream, daemon) = daemon().await;
    let client = daemon.sse_client("/mcp/all/sse").await;
    let params = stamped("{}", &meta_of(&json!({})));
    let reply = client.request("tools/list", &params).await;
    assert_eq!(reply.error_code(), -32600);
}
