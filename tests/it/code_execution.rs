//! `code_execution`: scripts that call tools, what they may take, what they cannot reach, and how they end.

mod calls;
mod ends;
mod escapes;
mod limits;
mod listing;

use crate::support::prelude::*;

/// A daemon that runs scripts.
fn builder() -> Builder {
    TestDaemon::builder().config(json!({ "enable_code_execution": true }))
}

/// A server with a tool that echoes, on one that runs scripts, and a client of the endpoint for scripts.
async fn with_echo() -> (Upstream, TestDaemon, TestClient) {
    let upstream = FakeUpstream::stdio().tool("echo", echo()).await;
    let daemon = builder().upstream("up", &upstream).await;
    let client = ready(&daemon, "up__echo").await;
    (upstream, daemon, client)
}

/// A client of the endpoint for scripts, when this tool is known.
async fn ready(daemon: &TestDaemon, tool: &str) -> TestClient {
    let all = daemon.client("/mcp/all").await;
    all.wait_for_tool(tool).await;
    daemon.client("/mcp/code").await
}

/// Runs a script with these options.
async fn run_with(client: &TestClient, code: &str, options: Value) -> Reply {
    let arguments = json!({ "code": code, "options": options });
    client.call("code_execution", &arguments).await
}

/// The answer, which is the same as text and structured.
fn answer(reply: &Reply) -> Value {
    let result = reply.value();
    let text: Value = serde_json::from_str(&reply.text()).expect("the text is JSON");
    assert_eq!(result["structuredContent"], text, "{result}");
    assert_eq!(result["isError"] == true, text["ok"] == false, "{result}");
    text
}

/// What a script ends with.
async fn value(client: &TestClient, code: &str) -> Value {
    let mut answer = answer(&run_with(client, code, json!({})).await);
    assert_eq!(answer["ok"], true, "{code}: {answer}");
    answer["value"].take()
}

/// How a script fails: its error.
async fn failure(client: &TestClient, code: &str, options: Value) -> Value {
    let mut answer = answer(&run_with(client, code, options).await);
    assert_eq!(answer["ok"], false, "{code}: {answer}");
    answer["error"].take()
}
