//! Where `code_execution` is listed, and what its description says of the tools that scripts can call.

use super::{builder, ready};
use crate::support::prelude::*;

const TYPED: &str = r#"{"name":"create_issue","description":"Creates","inputSchema":{"type":"object","properties":{"title":{"type":"string"},"labels":{"type":"array","items":{"type":"string"}}},"required":["title"]},"outputSchema":{"type":"object","properties":{"number":{"type":"integer"}},"required":["number"]}}"#;

async fn description(client: &TestClient) -> String {
    let list = client.request("tools/list", "{}").await;
    let tools = entries(list.result(), "tools");
    let tools = tools
        .iter()
        .map(|tool| serde_json::from_str::<Value>(tool).expect("JSON"));
    let mut tools = tools.filter(|tool| tool["name"] == "code_execution");
    let tool = tools.next().expect("it is listed");
    tool["description"].as_str().expect("text").to_owned()
}

#[tokio::test]
async fn the_mode_for_scripts_lists_it_with_what_can_be_called() {
    let upstream = FakeUpstream::stdio()
        .raw_tool(TYPED, echo())
        .tool("delete_repo", echo())
        .tool("hidden", echo())
        .await;
    let held = FakeUpstream::stdio().tool("unseen", echo()).await;
    let daemon = builder()
        .upstream_with("up", &upstream, json!({ "disabled_tools": ["hidden"] }))
        .upstream_with("held", &held, json!({ "quarantined": true }))
        .await;
    let client = ready(&daemon, "up__create_issue").await;
    assert_eq!(
        client.tool_names().await,
        ["code_execution", "retrieve_tools", "describe_tool"]
    );
    let said = description(&client).await;
    has!(
        said,
        "\nup:\n  create_issue(title: string, labels?: string[]) → {number: integer}"
    );
    has!(said, "\n  delete_repo() [destructive]");
    lacks!(said, "hidden");
    lacks!(said, "unseen");
    lacks!(said, "held");
    has!(client.initialized, "code_execution");
}

#[tokio::test]
async fn the_description_follows_what_servers_offer_and_is_bounded() {
    let upstream = FakeUpstream::stdio().tool("first", echo()).await;
    let daemon = builder().upstream("up", &upstream).await;
    let client = ready(&daemon, "up__first").await;
    has!(description(&client).await, "\n  first()");
    let mut events = client.listen().await;
    let many: Vec<_> = (0..2000)
        .map(|n| (plain_tool(&format!("tool_{n}")), echo()))
        .collect();
    upstream.offer(&many).await;
    events.next_frame("notifications/tools/list_changed").await;
    let said = until_async("the new tools", async || {
        let said = description(&client).await;
        said.contains("tool_0()").then_some(said)
    })
    .await;
    assert!(
        said.len() < 10_000 && said.contains(" more: use retrieve_tools"),
        "{}",
        said.len()
    );
}

#[tokio::test]
async fn other_modes_list_it_where_it_is_switched_on() {
    let upstream = FakeUpstream::stdio().tool("echo", echo()).await;
    for on in [true, false] {
        let daemon = TestDaemon::builder()
            .upstream("up", &upstream)
            .config(json!({ "enable_code_execution": on, "routing_mode": "code_execution" }))
            .await;
        let all = daemon.client_of("up__echo").await;
        assert!(
            !all.tool_names()
                .await
                .contains(&"code_execution".to_owned())
        );
        let names = daemon.client("/mcp/call").await.tool_names().await;
        assert_eq!(names.contains(&"code_execution".to_owned()), on);
        let scripts = daemon.client("/mcp").await;
        assert_eq!(scripts.tool_names().await[0], "code_execution");
        assert_eq!(description(&scripts).await.contains("is disabled"), !on);
    }
}
