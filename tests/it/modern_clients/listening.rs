//! `subscriptions/listen`: streams of news.

use super::daemon_with;
use crate::support::prelude::*;

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
        .await;
    let daemon = daemon_with(&upstream).await;
    let client = ModernClient::new(&daemon, "/mcp/all");
    client.wait_for_tool("up__echo").await;
    let last = client.last_id();
    let id = |n: i64| last + n;
    let mut tools = client.listen(r#"{"toolsListChanged":true}"#).await;
    let mut prompts = client
        .listen(
            r#"{"promptsListChanged":true,"toolsListChanged":false,"vendor":true,"taskIds":["t"]}"#,
        )
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
    is_like!(frame, { "id": 1 });
    assert_eq!(frame["result"]["resultType"], "complete");
    assert_eq!(search.next().await, None);
}

#[tokio::test]
async fn wishes_must_be_said() {
    let upstream = FakeUpstream::stdio().await;
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

fn update(uri: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{{"uri":"{uri}","x":1.10,"_meta":{{"k":1}}}}}}"#
    )
}

fn with_notes(upstream: FakeUpstream) -> FakeUpstream {
    let contents = reply(r#"{"contents":[]}"#);
    upstream
        .tool("echo", echo())
        .resource(r#"{"uri":"lib://note","name":"n"}"#, contents.clone())
        .resource(r#"{"uri":"lib://other","name":"o"}"#, contents)
}

#[tokio::test]
async fn a_stream_follows_the_resources_that_can_be_followed() {
    let (a, b) = (
        with_notes(FakeUpstream::stdio()).await,
        with_notes(FakeUpstream::http()).await,
    );
    let daemon = TestDaemon::with_two(&a, &b).await;
    let client = ModernClient::new(&daemon, "/mcp/all");
    client.wait_for_tool("a__echo").await;
    client.wait_for_tool("b__echo").await;
    let filter =
        r#"{"resourceSubscriptions":["lib://note","lib://b/note","lib://nowhere","lib://note"]}"#;
    let mut stream = client.listen(filter).await;
    let id = client.last_id();
    assert_eq!(
        acknowledged(&mut stream, id).await,
        json!({"resourceSubscriptions": ["lib://b/note", "lib://note"]})
    );
    for (upstream, uri, known) in [
        (&b, "lib://note", "lib://b/note"),
        (&a, "lib://note", "lib://note"),
    ] {
        assert_eq!(upstream.received("resources/subscribe").len(), 1);
        upstream.push(&update("lib://other")).await;
        upstream.push(&update(uri)).await;
        let event = stream.next().await.expect("an update");
        let tagged = update(known).replace(r#""k":1"#, &format!(r#""k":1,"{TAG}":{id}"#));
        assert_eq!(event.data, tagged);
    }
    drop(stream);
    for upstream in [&a, &b] {
        upstream.wait_for("resources/unsubscribe").await;
    }
}

#[tokio::test]
async fn what_a_server_refuses_is_left_out() {
    let upstream = with_notes(FakeUpstream::stdio())
        .on(
            "resources/subscribe",
            error(r#"{"code":-32601,"message":"no"}"#),
        )
        .await;
    let daemon = daemon_with(&upstream).await;
    let client = ModernClient::new(&daemon, "/mcp/server/up");
    let filter = r#"{"toolsListChanged":true,"resourceSubscriptions":["lib://note"]}"#;
    let mut stream = client.listen(filter).await;
    assert_eq!(
        acknowledged(&mut stream, 1).await,
        json!({"toolsListChanged": true})
    );
}
