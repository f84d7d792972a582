//! Servers of the revision without handshake, behind the daemon: what reaches them, and what of theirs reaches clients.

mod both_eras;
mod changes;
mod headers;
mod probing;

use crate::support::{prelude::*, record::Received};

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CLIENT: &str = "io.modelcontextprotocol/clientInfo";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

fn both() -> [FakeUpstream; 2] {
    [FakeUpstream::stdio(), FakeUpstream::http()].map(|up| up.speaking(modern::REVISION))
}

async fn daemon_with(upstream: &Upstream) -> TestDaemon {
    TestDaemon::builder().upstream("up", upstream).await
}

fn meta_of(received: &Received) -> Value {
    let frame: Value = serde_json::from_str(&received.body).expect("a frame");
    frame["params"]["_meta"].clone()
}

#[tokio::test]
async fn every_request_speaks_for_itself() {
    for upstream in both() {
        // Over pipes the handshake is offered first; over HTTP to see whether there are sessions for clients that shake hands.
        let upstream = upstream
            .tool("echo", echo())
            .prompt(r#"{"name":"p"}"#, reply(r#"{"messages":[]}"#))
            .await;
        let daemon = daemon_with(&upstream).await;
        let client = daemon.client_of("up__echo").await;
        let reply = client.call("up__echo", r#"{"n":1.10}"#).await;
        has!(reply.result(), r#"{"n":1.10}"#);
        client
            .request("prompts/get", r#"{"name":"up__p"}"#)
            .await
            .result();
        let everything = upstream.everything();
        let frames = everything.iter().filter(|one| one.how == How::Frame);
        assert_eq!(upstream.received("initialize").len(), 1);
        for received in frames.filter(|one| one.method() != "initialize") {
            let method = received.method();
            assert!(!method.starts_with("notifications/"), "{method}");
            let meta = meta_of(received);
            assert_eq!(meta[VERSION], modern::REVISION, "{method}");
            assert_eq!(meta[CLIENT]["name"], "mcpproxy", "{method}");
            assert!(meta[CAPABILITIES].is_object(), "{method}");
            assert_eq!(received.header("mcp-session-id"), None);
        }
        assert_eq!(upstream.received("server/discover").len(), 1);
    }
}

#[tokio::test]
async fn what_a_modern_client_says_of_itself_reaches_a_modern_server() {
    for upstream in both() {
        let result = r#"{"resultType":"complete","content":[],"structuredContent":1.10}"#;
        let upstream = upstream.tool("odd", reply(result)).await;
        let daemon = daemon_with(&upstream).await;
        let can = json!({"elicitation": {}, "extensions": {"x/y": {"n": 1}}});
        for (path, tool) in [("/mcp/all", "up__odd"), ("/mcp/server/up", "odd")] {
            let client = ModernClient::able_to(&daemon, path, &can);
            client.wait_for_tool(tool).await;
            let reply = client.call(tool, "{}").await;
            assert_eq!(reply.result(), result);
            let calls = upstream.wait_for_count("tools/call", 1).await;
            let meta = meta_of(calls.last().expect("a call"));
            assert_eq!(meta[CAPABILITIES], can);
            assert_eq!(meta[CLIENT]["name"], "test");
        }
    }
}

#[tokio::test]
async fn who_leaves_withdraws_the_call_in_the_way_of_the_transport() {
    for upstream in both() {
        let over_pipes = upstream.is_over_pipes();
        let upstream = upstream
            .tool("hang", progress(1).then(hang()))
            .tool("mute", hang())
            .await;
        let daemon = daemon_with(&upstream).await;
        let client = ModernClient::new(&daemon, "/mcp/all");
        client.wait_for_tool("up__hang").await;
        for tool in ["up__hang", "up__mute"] {
            let before = upstream.received("tools/call").len();
            let params =
                format!(r#"{{"name":"{tool}","arguments":{{}},"_meta":{{"progressToken":1}}}}"#);
            let left = client.start("tools/call", &params);
            let staying = async {
                left.await.next().await;
                std::future::pending::<()>().await;
            };
            tokio::select! {
                () = staying => (),
                _ = upstream.wait_for_count("tools/call", before + 1) => (),
            }
            let ended = if over_pipes {
                upstream
                    .wait_for_count("notifications/cancelled", before + 1)
                    .await;
                true
            } else {
                upstream.wait_for_abandoned(before + 1).await;
                upstream.received("notifications/cancelled").is_empty()
            };
            assert!(ended, "closing the stream says it all");
        }
    }
}

#[tokio::test]
async fn a_result_of_an_unknown_type_is_none() {
    for upstream in both() {
        let upstream = upstream
            .tool("riddle", reply(r#"{"resultType":"riddle","content":[]}"#))
            .tool("number", reply(r#"{"resultType":7,"content":[]}"#))
            .tool("odd", reply(r#"{"resultType":"input_required","inputRequests":{"k":{"method":"tools/call","params":{}}}}"#))
            .tool("plain", reply(r#"{"content":[]}"#))
            .await;
        let daemon = daemon_with(&upstream).await;
        let client = ModernClient::new(&daemon, "/mcp/all");
        client.wait_for_tool("up__plain").await;
        client.call("up__plain", "{}").await.result();
        let legacy = daemon.client("/mcp/all").await;
        let failure = legacy.call("up__odd", "{}").await.failure();
        assert_eq!(failure["code"], "bad_upstream_answer", "{failure}");
        for tool in ["up__riddle", "up__number", "up__odd"] {
            let failure = client.call(tool, "{}").await.failure();
            assert_eq!(failure["code"], "bad_upstream_answer", "{failure}");
        }
    }
}

#[tokio::test]
async fn a_server_that_asks_although_it_must_not_is_refused_or_not_heard() {
    for upstream in both() {
        let over_pipes = upstream.is_over_pipes();
        let asking = ask("roots/list", "{}").then(reply_with_answer());
        let not_waiting =
            notice(r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#).then(reply_text("on"));
        let upstream = upstream
            .tool("ask", asking)
            .tool("shout", not_waiting)
            .await;
        let daemon = daemon_with(&upstream).await;
        let client = daemon.client_of("up__ask").await;
        assert_eq!(client.call("up__shout", "{}").await.text(), "on");
        if over_pipes {
            let answer = client.call("up__ask", "{}").await.text();
            has!(answer, "-32600");
        }
    }
}

#[tokio::test]
async fn signs_of_life_are_descriptions() {
    let upstream = FakeUpstream::http()
        .speaking(modern::REVISION)
        .tool("echo", echo())
        .await;
    let daemon = TestDaemon::builder()
        .config(json!({"health_check_interval": "1s"}))
        .upstream_with("up", &upstream, json!({"start": "eager"}))
        .await;
    let client = daemon.client_of("up__echo").await;
    upstream.wait_for_count("server/discover", 3).await;
    assert!(upstream.received("ping").is_empty());
    // It becomes another while nobody looks: it is met anew.
    upstream.speak("2025-06-18").await;
    upstream.wait_for("notifications/initialized").await;
    client.call("up__echo", r#"{"n":1.10}"#).await.result();
}

#[tokio::test]
async fn tasks_of_many_servers_find_their_way_back() {
    let task = |id: &str| {
        reply(format!(
            r#"{{"resultType":"task","taskId":"{id}","status":"working","ttlMs":1.0}}"#
        ))
    };
    let tasks = r#"{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;
    let server = |id: &str| {
        FakeUpstream::stdio()
            .speaking(modern::REVISION)
            .capabilities(tasks)
            .tool("work", task(id))
            .on("tasks/get", task(id))
    };
    let (a, b) = (server("of-a").await, server("of-b").await);
    let daemon = TestDaemon::with_two(&a, &b).await;
    let able = json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } });
    let client = ModernClient::able_to(&daemon, "/mcp/all", &able);
    client.wait_for_tool("a__work").await;
    client.wait_for_tool("b__work").await;
    let discovered = client.request("server/discover", "{}").await.value();
    let extensions = &discovered["capabilities"]["extensions"];
    assert!(extensions["io.modelcontextprotocol/tasks"].is_object());
    for (tool, id) in [("b__work", "of-b"), ("a__work", "of-a")] {
        let made = client.call(tool, "{}").await;
        has!(made.result(), r#""ttlMs":1.0"#);
        let params = format!(r#"{{"taskId":"{id}"}}"#);
        let got = client.request("tasks/get", &params).await.value();
        assert_eq!(got["taskId"], id);
    }
    assert_eq!(a.received("tasks/get").len(), 1);
    assert_eq!(b.received("tasks/get").len(), 1);
    let unknown = client.request("tasks/get", r#"{"taskId":"x"}"#).await;
    assert_eq!(unknown.error_code(), -32602);
}

#[tokio::test]
async fn what_a_modern_server_asks_is_asked_of_a_legacy_client() {
    let asks = r#"{"resultType":"input_required","inputRequests":{"who":{"method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"d":1.10}}}},"requestState":"its own"}"#;
    for upstream in both() {
        let upstream = upstream.tool("ask", reply(asks)).await;
        // Each round has the place of the one before.
        let daemon = TestDaemon::builder()
            .upstream_with("up", &upstream, json!({ "max_concurrent_requests": 1 }))
            .await;
        let client = TestClient::speaking("2025-11-25")
            .declaring(r#"{"elicitation":{}}"#)
            .connect(&daemon, "/mcp/server/up")
            .await;
        let params = call_params("ask", r#"{"n":1.10}"#);
        let mut call = client.start("tools/call", &params).await;
        // It asks again and again, and its patience is not endless.
        let mut rounds = 0;
        let answered = loop {
            let frame = call.next().await.expect("a frame");
            let read: Value = serde_json::from_str(&frame).expect("JSON");
            if read["method"] != "elicitation/create" {
                break read;
            }
            has!(frame, r#"{"message":"Who?","requestedSchema":{"d":1.10}}"#);
            rounds += 1;
            let answer = r#"{"action":"accept","content":{"x":1.10}}"#;
            client.respond(&read["id"], answer).await;
        };
        assert_eq!(rounds, 16);
        let text = answered["result"]["content"][0]["text"].as_str();
        assert!(
            text.is_some_and(|text| text.contains("has had 16 rounds of questions")),
            "{answered}"
        );
        let calls = upstream.received("tools/call");
        assert_eq!(calls.len(), 17);
        has!(
            calls[1],
            r#""inputResponses":{"who":{"action":"accept","content":{"x":1.10}}}"#
        );
        has!(calls[1], r#""requestState":"its own""#);
        has!(calls[1], r#"{"n":1.10}"#);
        let call = r#"{"name":"up:ask","variant":"write"}"#;
        let refused = daemon.rest("POST", "/api/v1/call", call).await;
        let why =
            "up:ask did not finish: the server asked a question, but only a client can answer it";
        has!(refused.text(), why);
    }
}

#[tokio::test]
async fn what_a_modern_server_asks_passes_to_a_modern_client() {
    let asks = r#"{"resultType":"input_required","inputRequests":{"who":{"method":"elicitation/create","params":{"message":"Who?","d":1.10}}},"requestState":"its own"}"#;
    for upstream in both() {
        let upstream = upstream.tool("ask", reply(asks)).await;
        let daemon = daemon_with(&upstream).await;
        let able = json!({ "elicitation": {} });
        let native = ModernClient::able_to(&daemon, "/mcp/server/up", &able);
        assert_eq!(native.call("ask", "{}").await.result(), asks, "as it came");
        let shared = ModernClient::able_to(&daemon, "/mcp/all", &able);
        shared.wait_for_tool("up__ask").await;
        let signed = asks.replace("Who?", "[up] Who?");
        assert_eq!(shared.call("up__ask", "{}").await.result(), signed);
        let again = r#"{"name":"up__ask","arguments":{},"inputResponses":{"who":{"action":"accept"}},"requestState":"its own"}"#;
        shared.request("tools/call", again).await.result();
        let calls = upstream.received("tools/call");
        let parts = r#""inputResponses":{"who":{"action":"accept"}},"requestState":"its own""#;
        has!(calls[2], parts);
    }
}
