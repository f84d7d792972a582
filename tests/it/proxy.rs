//! `proxy`: the one tool of seed 001, section by section of its specification.

mod calls;
mod meanwhile;
mod paths;
mod queries;

use crate::support::prelude::*;

/// This server as `up`, and a client of the endpoint that lists `proxy`, when its tool is known.
async fn with(upstream: FakeUpstream, tool: &str) -> (Upstream, TestDaemon, TestClient) {
    let upstream = upstream.await;
    let daemon = TestDaemon::with_upstream(&upstream).await;
    let client = ready(&daemon, tool).await;
    (upstream, daemon, client)
}

async fn ready(daemon: &TestDaemon, tool: &str) -> TestClient {
    daemon.client("/mcp/all").await.wait_for_tool(tool).await;
    daemon.client("/mcp/proxy").await
}

async fn list(client: &TestClient, kind: &str) -> Reply {
    let arguments = json!({ "action": "list", "type": kind });
    client.call("proxy", &arguments).await
}

async fn info(client: &TestClient, kind: &str, path: &str) -> Reply {
    let arguments = json!({ "action": "info", "type": kind, "path": path });
    client.call("proxy", &arguments).await
}

async fn call(client: &TestClient, kind: &str, path: &str, args: Value) -> Reply {
    let arguments = json!({ "action": "call", "type": kind, "path": path, "args": args });
    client.call("proxy", &arguments.to_string()).await
}

/// What `list` and `info` answer with: the JSON in the one embedded resource, which is all there is.
#[track_caller]
fn embedded(reply: &Reply) -> Value {
    let result = reply.value();
    assert_eq!(result.as_object().expect("a result").len(), 1, "{result}");
    let content = result["content"].as_array().expect("content");
    assert_eq!(content.len(), 1, "{result}");
    assert_eq!(content[0]["type"], "resource");
    assert_eq!(content[0]["resource"]["mimeType"], "application/json");
    let text = content[0]["resource"]["text"].as_str().expect("a text");
    serde_json::from_str(text).expect("the text is JSON")
}

/// The names or URIs in a list.
fn named(list: &Value, key: &str) -> Vec<String> {
    let entries = list.as_array().expect("a list").iter();
    let named = entries.filter_map(|entry| entry[key].as_str().map(str::to_owned));
    named.collect()
}
