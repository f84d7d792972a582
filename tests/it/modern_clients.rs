//! Clients of the revision without handshake over HTTP: each request speaks for itself.

mod listening;
mod refusals;

use crate::support::prelude::*;

const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

async fn daemon_with(upstream: &Upstream) -> TestDaemon {
    TestDaemon::builder().upstream("up", upstream).await
}

#[tokio::test]
async fn a_client_discovers_lists_and_calls() {
    let result = r#"{"content":[{"type":"text","text":"\u00e9"}],"n":1.10,"_meta":{"b":1}}"#;
    let upstream = FakeUpstream::stdio().tool("odd", reply(result)).await;
    let daemon = daemon_with(&upstream).await;
    let client = ModernClient::new(&daemon, "/mcp/all");
    let discovered = client.request("server/discover", "{}").await;
    assert_eq!(discovered.status, 200);
    assert_eq!(discovered.header("mcp-session-id"), "");
    let discovered = discovered.value();
    is_like!(discovered, { "resultType": "complete", "supportedVersions": ["2026-07-28"] });
    is_like!(discovered, { "ttlMs": 0, "cacheScope": "private" });
    assert_eq!(discovered["capabilities"]["tools"]["listChanged"], true);
    assert_eq!(discovered["_meta"][SERVER_INFO]["name"], "mcpproxy");
    assert!(discovered["instructions"].is_string());

    client.wait_for_tool("up__odd").await;
    let list = client.request("tools/list", "{}").await.value();
    is_like!(list, { "resultType": "complete", "ttlMs": 0, "cacheScope": "private" });

    let reply = client.call("up__odd", "{}").await;
    let same = result.replace(
        r#""_meta":{"b":1}}"#,
        r#""_meta":{"b":1,"io.modelcontextprotocol/serverInfo":"#,
    );
    assert!(reply.result().starts_with(&same), "{}", reply.result());
    assert_eq!(reply.value()["resultType"], "complete");
    assert_eq!(reply.value().get("ttlMs"), None);
    // What belongs to the client's side of us never reaches a legacy server.
    let received = upstream.received("tools/call");
    lacks!(received[0], "io.modelcontextprotocol", "{received:?}");
}

#[tokio::test]
async fn one_server_presents_itself() {
    let upstream = FakeUpstream::stdio()
        .instructions("Ask me.")
        .capabilities(r#"{"tools":{"listChanged":true},"vendor":{"x":1}}"#)
        .tool("echo", echo())
        .await;
    let daemon = daemon_with(&upstream).await;
    let client = ModernClient::new(&daemon, "/mcp/server/up");
    let discovered = client.request("server/discover", "{}").await.value();
    let capabilities = json!({"tools": {"listChanged": true}, "vendor": {"x": 1}});
    assert_eq!(discovered["capabilities"], capabilities);
    assert_eq!(discovered["instructions"], "Ask me.");
    assert_eq!(discovered["supportedVersions"], json!(["2026-07-28"]));
    assert_ne!(discovered["_meta"][SERVER_INFO]["name"], "mcpproxy");
    assert_eq!(discovered.get("protocolVersion"), None);
    assert_eq!(discovered.get("serverInfo"), None);
    let reply = client.call("echo", r#"{"a":1.0}"#).await;
    has!(reply.result(), r#"{"a":1.0}"#);
    // It is the daemon that answers.
    assert_eq!(upstream.received("server/discover"), [""; 0]);
}

#[tokio::test]
async fn a_modern_server_presents_itself_to_clients_of_either_era() {
    for upstream in [FakeUpstream::stdio(), FakeUpstream::http()] {
        let upstream = upstream
            .speaking(MODERN)
            .instructions("Ask me.")
            .capabilities(r#"{"tools":{},"extensions":{"x/y":{"n":1}}}"#)
            .tool("echo", echo())
            .await;
        let daemon = daemon_with(&upstream).await;
        let path = "/mcp/server/up";
        let client = ModernClient::new(&daemon, path);
        let discovered = client.request("server/discover", "{}").await.value();
        let name = &discovered["_meta"][SERVER_INFO]["name"];
        assert!(name.is_string() && name != "mcpproxy", "{discovered}");
        let legacy = daemon.client(path).await;
        let opened: Value = serde_json::from_str(&legacy.initialized).expect("JSON");
        for key in ["supportedVersions", "resultType", "ttlMs", "cacheScope"] {
            assert_eq!(opened.get(key), None);
            assert_ne!(discovered[key], Value::Null, "{key}");
        }
        assert_eq!(opened["protocolVersion"], "2025-06-18");
        assert_eq!(opened["serverInfo"]["name"], *name);
        for presented in [&discovered, &opened] {
            let capabilities = json!({"tools": {}, "extensions": {"x/y": {"n": 1}}});
            assert_eq!(presented["capabilities"], capabilities);
            assert_eq!(presented["instructions"], "Ask me.");
        }
        assert_eq!(upstream.received("server/discover").len(), 1);
    }
}

#[tokio::test]
async fn log_lines_come_to_whom_asks_for_them_with_the_request() {
    let line = |level: &str| {
        notice(format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{"level":"{level}","data":1.10}}}}"#
        ))
    };
    let talk = line("info").then(line("error")).then(reply_text("done"));
    for upstream in [
        FakeUpstream::stdio(),
        FakeUpstream::http().answering(HttpAnswers::Sse),
    ] {
        let upstream = upstream.tool("talk", talk.clone()).await;
        for (level, heard) in [
            (None, 0),
            (Some("debug"), 2),
            (Some("warning"), 1),
            (Some("alert"), 0),
        ] {
            // On a connection of its own: on one pipe the lines could be those of the call before.
            let daemon = daemon_with(&upstream).await;
            let mut client = ModernClient::new(&daemon, "/mcp/server/up");
            client.wait_for_tool("talk").await;
            if let Some(level) = level {
                client = client.logging_at(level);
            }
            let reply = client.call("talk", "{}").await;
            assert_eq!(reply.notices.len(), heard, "{level:?}");
        }
    }
}

#[tokio::test]
async fn both_eras_meet_on_one_endpoint() {
    let upstream = FakeUpstream::stdio().tool("echo", echo()).await;
    let daemon = daemon_with(&upstream).await;
    let legacy = daemon.client_of("up__echo").await;
    let modern = ModernClient::new(&daemon, "/mcp/all");
    // A session is of no concern to a request that speaks for itself, whether it is there or not.
    for session in [legacy.session(), "no-such-session"] {
        let call = call_params("up__echo", "{}");
        let session = [("mcp-session-id", session)];
        let reply = modern.start_with("tools/call", &call, &session).await;
        let reply = reply.finish().await;
        assert_eq!(reply.value()["resultType"], "complete");
        assert_eq!(reply.header("mcp-session-id"), "");
    }
    let reply = legacy.call("up__echo", "{}").await;
    assert_eq!(reply.value().get("resultType"), None);
    assert_eq!(legacy.request("ping", "{}").await.result(), "{}");
    assert_eq!(upstream.spawn_count(), 1);
}

#[tokio::test]
async fn progress_comes_on_the_stream_of_its_request() {
    let upstream = FakeUpstream::stdio()
        .tool("work", progress(3).then(reply_text("done")))
        .await;
    let daemon = daemon_with(&upstream).await;
    let client = ModernClient::new(&daemon, "/mcp/server/up");
    let params = r#"{"name":"work","arguments":{},"_meta":{"progressToken":"t"}}"#;
    let reply = client.request("tools/call", params).await;
    assert!(reply.streamed);
    assert_eq!(reply.header("x-accel-buffering"), "no");
    assert_eq!(reply.notices.len(), 3, "{:?}", reply.notices);
    has!(reply.notices[2], r#""progressToken":"t","progress":3"#);
    assert_eq!(reply.text(), "done");
    // Without a token there is nothing to stream.
    let reply = client.call("work", "{}").await;
    assert!(!reply.streamed && reply.notices.is_empty());
}

/// Over HTTP closing the answer is the withdrawal, also before anything of it came.
#[tokio::test]
async fn a_client_that_closes_its_answer_withdraws_the_request() {
    let upstream = FakeUpstream::stdio()
        .tool("streams", progress(1).then(hang()))
        .tool("silent", hang())
        .await;
    let daemon = daemon_with(&upstream).await;
    let client = ModernClient::new(&daemon, "/mcp/server/up");
    let params = r#"{"name":"streams","arguments":{},"_meta":{"progressToken":1}}"#;
    let mut exchange = client.start("tools/call", params).await;
    exchange.next().await.expect("progress");
    drop(exchange);
    upstream.wait_for_count("notifications/cancelled", 1).await;
    let call = call_params("silent", "{}");
    let waiting = client.start("tools/call", &call);
    tokio::select! {
        _ = waiting => panic!("nothing answers"),
        _ = upstream.wait_for_count("tools/call", 2) => (),
    }
    upstream.wait_for_count("notifications/cancelled", 2).await;
}

#[tokio::test]
async fn a_missing_resource_has_the_modern_code() {
    let upstream = FakeUpstream::http()
        .resource(
            r#"{"uri":"x://here","name":"here"}"#,
            error(r#"{"code":-32002,"message":"gone","data":{"uri":"x://here"}}"#),
        )
        .await;
    let daemon = daemon_with(&upstream).await;
    for (path, uri) in [
        ("/mcp/server/up", "x://here"),
        ("/mcp/all", "x://here"),
        ("/mcp/all", "x://nowhere"),
    ] {
        let client = ModernClient::new(&daemon, path);
        client.request("resources/list", "{}").await.result();
        let params = format!(r#"{{"uri":"{uri}"}}"#);
        let reply = client.request("resources/read", &params).await;
        assert_eq!(
            (reply.status, reply.error_code()),
            (200, -32602),
            "{path} {uri}"
        );
    }
}

fn code(answer: &Value) -> i64 {
    answer["error"]["code"].as_i64().expect("an error")
}
