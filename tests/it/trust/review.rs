//! What a review does not show, and what outlives an entry. The rest of a review is in `cli/transcripts/review.txt`.

use super::saying;
use crate::support::prelude::*;

async fn house() -> (Upstream, TestDaemon) {
    let server = FakeUpstream::stdio()
        .capabilities(r#"{"tools":{"listChanged":true}}"#)
        .tool("echo", echo())
        .await;
    let (daemon, _client) = TestDaemon::before(&server, "echo").await;
    (server, daemon)
}

#[tokio::test]
async fn a_server_that_a_person_adds_again_begins_anew_and_one_that_only_vanished_does_not() {
    let (server, daemon) = house().await;
    let config = daemon.home().config_file();
    let text = std::fs::read_to_string(&config).expect("the file");
    let home = daemon.shutdown().await;
    home.write_config("{}");
    let daemon = TestDaemon::start_in(home).await;
    let home = daemon.shutdown().await;
    home.write_config(&text);
    server
        .offer_silently(&[
            (saying("echo", "Other words"), echo()),
            (plain_tool("new"), echo()),
        ])
        .await;
    let daemon = TestDaemon::start_in(home).await;
    let client = daemon.client("/mcp/all").await;
    // It sleeps, and the call that wakes it is compared with what was approved before.
    let failure = client.call("up__echo", "{}").await.failure();
    assert_eq!(failure["code"], "tool_changed");
    client.wait_for_tool("up__new").await;
    assert_eq!(client.tool_names().await, ["up__new"]);
    let run = async |words: &[&str]| {
        let (code, out, errors) = daemon.home().cli(words).await;
        assert_eq!(code, 0, "{errors}");
        out
    };
    // Whoever undoes a removal, an agent's for example, gets back what was held.
    run(&["upstream", "remove", "up"]).await;
    run(&["config", "undo"]).await;
    let failure = client.call("up__echo", "{}").await.failure();
    assert_eq!(failure["code"], "tool_changed");
    client.wait_for_tool("up__new").await;
    assert_eq!(client.tool_names().await, ["up__new"]);
    let entry = run(&["config", "get", "mcpServers.up", "-o", "json"]).await;
    run(&["upstream", "remove", "up"]).await;
    run(&["upstream", "add", "up", "--json", &entry]).await;
    client.wait_for_tool("up__echo").await;
}

#[tokio::test]
async fn what_a_server_repeats_of_its_references_is_not_shown_to_its_reviewer() {
    const VALUE: &str = "Hz7-value-of-a-reference";
    let tool = json!({
        "name": "echo",
        "description": format!("Sends {VALUE} \u{1b}[8m to the model"),
        "inputSchema": {
            "type": "object",
            "properties": { "a": { "type": "string", "description": format!("like {VALUE}"), "default": VALUE } },
        },
    });
    let server = FakeUpstream::stdio()
        .raw_tool(tool.to_string(), echo())
        .await;
    let entry = json!({ "quarantined": true, "env": { "PLACE": "${MCPPROXY_TEST_VALUE}" } });
    let daemon = TestDaemon::builder()
        .upstream_with("up", &server, entry)
        .spawn_with_env("MCPPROXY_TEST_VALUE", VALUE)
        .await;
    let home = daemon.home();
    let review = until_async("it to be listed", async || {
        let review = home.rest("GET", "/api/v1/servers/up/inspect", "").await?;
        (review.json()["inspected"] == true).then(|| review.text().to_owned())
    })
    .await;
    let agent = daemon.client("/mcp").await;
    let inspect = r#"{"operation":"inspect","name":"up"}"#;
    let inspected = agent.call("quarantine_security", inspect).await;
    let called = agent.call("call_tool_read", r#"{"name":"up:echo"}"#).await;
    let mut shown = vec![review, inspected.frame, called.frame];
    for asked in [
        &["upstream", "inspect", "up"][..],
        &["upstream", "inspect", "up", "-o", "json"],
        &["tools", "list"],
        &["tools", "list", "-o", "json"],
        &["tools", "show", "up:echo"],
    ] {
        let (code, said, beside) = home.cli(asked).await;
        assert_eq!(code, 0, "{asked:?}: {beside}");
        has!(said, "echo", "{asked:?}");
        shown.push(said + &beside);
    }
    for text in &shown {
        lacks!(text, VALUE);
    }
    has!(shown[0], "Sends ***");
}
