//! Agents that manage servers with `upstream_servers`, and people who change entries by the same patch: what an agent may do, what it
//! sees, what holds a server, and that nothing is lost when several write.

mod answers;
mod attacks;
mod concurrent;
#[cfg(unix)]
mod ourselves;
mod refusals;

use crate::support::prelude::*;

/// The answer to a call that agents make in its turn: they change the file a few times a second.
async fn in_turn(client: &TestClient, arguments: &str) -> Reply {
    until_async("room for a change", async || {
        let reply = client.call("upstream_servers", arguments).await;
        (!reply.frame.contains("too many changes by agents")).then_some(reply)
    })
    .await
}

/// What the tool answers to a call that it does.
async fn done(client: &TestClient, arguments: &Value) -> Value {
    let reply = in_turn(client, &arguments.to_string()).await;
    let answer = reply.value();
    assert_ne!(answer["isError"], true, "{arguments}: {}", reply.frame);
    let text: Value = serde_json::from_str(&reply.text()).expect("JSON");
    assert_eq!(text, answer["structuredContent"], "{arguments}");
    text
}

/// What it answers to one that it does not.
async fn refused(client: &TestClient, arguments: &Value) -> Value {
    let reply = in_turn(client, &arguments.to_string()).await;
    let failure = reply.failure();
    let hint = failure["hint"].as_str().expect("a hint");
    let has_command = ["`", "mcpproxy upstream", "mcpproxy serve"]
        .iter()
        .any(|word| hint.contains(word));
    assert!(!has_command, "{arguments}: {hint}");
    failure
}

async fn server() -> Upstream {
    let server = FakeUpstream::stdio().tool("echo", echo());
    server.await
}

/// A daemon with a trusted server "up", whose entry says more.
async fn house(more: Value) -> (Upstream, TestDaemon, TestClient) {
    let server = server().await;
    let daemon = TestDaemon::builder()
        .upstream_with("up", &server, more)
        .await;
    let client = daemon.client("/mcp").await;
    until_async("it to be listed", async || {
        let listed = done(&client, &json!({ "operation": "list" })).await;
        (listed["servers"][0]["tools"] == 1).then_some(())
    })
    .await;
    (server, daemon, client)
}

/// The text of the configuration.
fn written(daemon: &TestDaemon) -> String {
    std::fs::read_to_string(daemon.home().config_file()).expect("the file")
}

/// The entry of a server, as it is written.
fn entry(daemon: &TestDaemon, server: &str) -> Value {
    let entry = mcpproxy::config::written_entry(&written(daemon), server);
    entry.map_or(Value::Null, Value::Object)
}
