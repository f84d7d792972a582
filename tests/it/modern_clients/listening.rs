//! `subscriptions/listen`: streams of news.

use serde_json::{Value, json};

use super::daemon_with;
use crate::support::{
    behaviours::*,
    client::EventStream,
    daemon::TestDaemon,
    fake_upstream::{FakeUpstream, plain_tool},
    modern_client::ModernClient,
};

const TAG: &str = "io.modelcontextprotocol/subscriptionId";

/// The next frame. Every one of a stream bears its id.
async fn next(stream: &mut EventStream, id: i64) -> Value {
    let event = stream.next().await.expect("an event");
    let frame: Value = serde_json::from_str(&event.data).expect("JSON");
    let bearer = frame.get("params").unwrap_or(&frame["result"]);
    assert_eq!(bearer["_meta"][TAG], id, "{frame}");
    frame
}

async fn acknowledged(stream: &mut EventStream, id: i64) -> Value {
    let frame = next(stream, id).await;
    assert_eq!(frame["method"], "notifications/subscriptions/acknowledged");
    frame["params"]["notifications"].clone()
}

#[tokio::test]
async fn a_stream_brings_what_its_client_asked_for_and_nothing_else() {
    let upstream = FakeUpstream::stdio()
        .tool("echo", echo())
        .prompt(r#"{"name":"p"}"#, reply("{}"))
        .start()
        .await;
    let daemon = daemon_with(&upstream).await;
    let client = ModernClient::new(&daemon, "/mcp/all");
    client.wait_for_tool("up__echo").await;
    let last = client.last_id();
    let id = |n: i64| last + n;
    let mut tools = client.listen(r#"{"toolsListChanged":true}"#).await;
    let mut prompts = client
        .listen(r#"{"promptsListChanged":true,"toolsListChanged":false,"vendor":true}"#)
        .await;
    assert_eq!(
        acknowledged(&mut tools, id(1)).await,
        json!({"toolsListChanged": true})
    );
    assert_eq!(
        acknowledged(&mut prompts, id(2)).await,
        json!({"promptsListChanged": true})
    );
    upstream.offer(&[(plain_tool("more"), echo())]).await;
    let frame = next(&mut tools, id(1)).await;
    assert_eq!(frame["method"], "notifications/tools/list_changed");
    assert_eq!(client.tool_names().await, ["up__more"]);
    upstream.offer_more("prompts", r#"{"name":"q"}"#).await;
    let frame = next(&mut prompts, id(2)).await;
    assert_eq!(frame["method"], "notifications/prompts/list_changed");
}

#[tokio::test]
async fn an_endpoint_tells_of_what_it_shows() {
    let tools = FakeUpstream::stdio()
        .capabilities(r#"{"tools":{"listChanged":true}}"#)
        .tool("a", echo())
        .start()
        .await;
    let daemon = daemon_with(&tools).await;
    let everything =
        r#"{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true}"#;
    let one = ModernClient::new(&daemon, "/mcp/server/up");
    one.wait_for_tool("a").await;
    let mut stream = one.listen(everything).await;
    // A server without prompts and resources has no changes of them.
    let id = one.last_id();
    assert_eq!(
        acknowledged(&mut stream, id).await,
        json!({"toolsListChanged": true})
    );
    let found = ModernClient::new(&daemon, "/mcp/call");
    let mut search = found.listen(everything).await;
    assert_eq!(
        acknowledged(&mut search, 1).await,
        json!({"toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true})
    );
    tools.offer(&[(plain_tool("b"), echo())]).await;
    let frame = next(&mut stream, id).await;
    assert_eq!(frame["method"], "notifications/tools/list_changed");
    // The tools that find others are the same as before, so the next that comes is the end.
    let (frame, _) = tokio::join!(next(&mut search, 1), daemon.shutdown());
    assert_eq!(frame["result"]["resultType"], "complete");
}

#[tokio::test]
async fn streams_end_with_a_result_when_the_daemon_ends() {
    let upstream = FakeUpstream::stdio().tool("echo", echo()).start().await;
    let daemon = daemon_with(&upstream).await;
    let client = ModernClient::new(&daemon, "/mcp/all");
    let mut stream = client.listen(r#"{"toolsListChanged":true}"#).await;
    acknowledged(&mut stream, 1).await;
    let end = async {
        let frame = loop {
            // The first lists may still come in.
            let frame = next(&mut stream, 1).await;
            if frame.get("result").is_some() {
                break frame;
            }
        };
        assert_eq!(frame["id"], 1);
        assert_eq!(frame["result"]["resultType"], "complete");
        assert_eq!(stream.next().await, None);
    };
    tokio::join!(end, daemon.shutdown());
}

#[tokio::test]
async fn wishes_must_be_said() {
    let upstream = FakeUpstream::stdio().start().await;
    let daemon: TestDaemon = daemon_with(&upstream).await;
    let client = ModernClient::new(&daemon, "/mcp/all");
    for params in [
        "{}",
        r#"{"notifications":7}"#,
        r#"{"notifications":{"toolsListChanged":"yes"}}"#,
    ] {
        let reply = client.request("subscriptions/listen", params).await;
        assert_eq!(reply.error_code(), -32602, "{params}");
    }
    let mut stream = client.listen("{}").await;
    assert_eq!(acknowledged(&mut stream, 4).await, json!({}));
}
