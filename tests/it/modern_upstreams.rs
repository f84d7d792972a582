//! Servers of the revision without handshake, behind the daemon: what reaches them, and what of theirs reaches clients.

mod changes;
mod headers;
mod probing;

use serde_json::{Value, json};

use crate::support::{
    behaviours::*,
    client::call_params,
    daemon::TestDaemon,
    fake_upstream::{FakeUpstream, Upstream},
    modern,
    modern_client::ModernClient,
    record::{How, Received},
};

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CLIENT: &str = "io.modelcontextprotocol/clientInfo";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

fn both() -> [FakeUpstream; 2] {
    [FakeUpstream::stdio(), FakeUpstream::http()].map(|up| up.speaking(modern::REVISION))
}

async fn daemon_with(upstream: &Upstream) -> TestDaemon {
    TestDaemon::builder().upstream("up", upstream).start().await
}

fn meta_of(received: &Received) -> Value {
    let frame: Value = serde_json::from_str(&received.body).expect("a frame");
    frame["params"]["_meta"].clone()
}

#[tokio::test]
async fn every_request_speaks_for_itself() {
    for upstream in both() {
        let upstream = upstream
            .tool("echo", echo())
            .prompt(r#"{"name":"p"}"#, reply(r#"{"messages":[]}"#))
            .start()
            .await;
        let daemon = daemon_with(&upstream).await;
        let client = daemon.client("/mcp/all").await;
        client.wait_for_tool("up__echo").await;
        let reply = client.call("up__echo", r#"{"n":1.10}"#).await;
        assert!(reply.result().contains(r#"{"n":1.10}"#));
        client
            .request("prompts/get", r#"{"name":"up__p"}"#)
            .await
            .result();
        let everything = upstream.everything();
        let frames = everything.iter().filter(|one| one.how == How::Frame);
        for received in frames {
            let method = received.method();
            assert_ne!(method, "initialize");
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
        let upstream = upstream.tool("odd", reply(result)).start().await;
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
            .start()
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
            .tool("plain", reply(r#"{"content":[]}"#))
            .start()
            .await;
        let daemon = daemon_with(&upstream).await;
        let client = ModernClient::new(&daemon, "/mcp/all");
        client.wait_for_tool("up__plain").await;
        client.call("up__plain", "{}").await.result();
        for tool in ["up__riddle", "up__number"] {
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
            .start()
            .await;
        let daemon = daemon_with(&upstream).await;
        let client = daemon.client("/mcp/all").await;
        client.wait_for_tool("up__ask").await;
        assert_eq!(client.call("up__shout", "{}").await.text(), "on");
        if over_pipes {
            let answer = client.call("up__ask", "{}").await.text();
            assert!(answer.contains("-32600"), "{answer}");
        }
    }
}

#[tokio::test]
async fn tasks_are_asked_for_by_name() {
    let task =
        r#"{"resultType":"complete","taskId":"t 1","status":"working","ttlMs":1,"createdAt":"x"}"#;
    let upstream = FakeUpstream::http()
        .speaking(modern::REVISION)
        .tool(
            "long",
            reply(r#"{"resultType":"task","taskId":"t 1","status":"working"}"#),
        )
        .on("tasks/get", reply(task))
        .start()
        .await;
    let daemon = daemon_with(&upstream).await;
    let client = ModernClient::new(&daemon, "/mcp/server/up");
    client.wait_for_tool("long").await;
    let begun = client
        .request("tools/call", &call_params("long", "{}"))
        .await;
    assert_eq!(begun.value()["taskId"], "t 1");
    let headers = [("mcp-name", "t 1")];
    let asked = client
        .start_with("tasks/get", r#"{"taskId":"t 1"}"#, &headers)
        .await;
    assert_eq!(asked.finish().await.result(), task);
    let seen = upstream.wait_for("tasks/get").await;
    assert_eq!(seen.header("mcp-name"), Some("t 1"));
}

#[tokio::test]
async fn signs_of_life_are_descriptions() {
    let upstream = FakeUpstream::http()
        .speaking(modern::REVISION)
        .tool("echo", echo())
        .start()
        .await;
    let daemon = TestDaemon::builder()
        .config(json!({"health_check_interval": "1s"}))
        .upstream_with("up", &upstream, json!({"start": "eager"}))
        .start()
        .await;
    let client = daemon.client("/mcp/all").await;
    client.wait_for_tool("up__echo").await;
    upstream.wait_for_count("server/discover", 3).await;
    assert!(upstream.received("ping").is_empty());
    // It becomes another while nobody looks: it is met anew.
    upstream.speak("2025-06-18").await;
    upstream.wait_for("notifications/initialized").await;
    client.call("up__echo", r#"{"n":1.10}"#).await.result();
}
