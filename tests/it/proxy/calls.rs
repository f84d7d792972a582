//! Sections 3.2, 4.2, 5.2 and 10: what `call` answers, and what reaches servers.

use super::{call, with};
use crate::support::prelude::*;

#[tokio::test]
async fn tools_of_ours_are_called_like_any_other() {
    let (upstream, daemon, client) =
        with(FakeUpstream::stdio().tool("echo", echo()), "up__echo").await;
    let described = call(
        &client,
        "tool",
        "describe_tool",
        json!({ "names": ["up:echo"] }),
    )
    .await;
    let result = described.value();
    assert_eq!(result["structuredContent"]["tools"][0]["name"], "up:echo");
    assert_eq!(
        result["content"][0]["annotations"]["proxyPath"],
        "describe_tool"
    );
    let inner = json!({ "name": "up:echo", "args": { "n": 1 } });
    let called = call(&client, "tool", "call_tool_read", inner).await;
    assert_eq!(called.value()["structuredContent"], json!({ "n": 1 }));
    assert_eq!(upstream.received("tools/call").len(), 1);
    // Wrong arguments are refused in the words of the tool that is called.
    let failure = call(&client, "tool", "describe_tool", json!({ "name": "x" }))
        .await
        .failure();
    assert!(
        failure["error"]
            .as_str()
            .expect("an error")
            .starts_with("describe_tool: "),
        "{failure}"
    );
    // Each has a record, the inner ones under the outer one.
    let records = daemon.home().activity("kind=call&limit=100").await;
    let of = |tool: &str| {
        records
            .iter()
            .find(|record| record["tool"] == tool)
            .expect(tool)
    };
    let (inner, middle) = (of("echo"), of("call_tool_read"));
    assert_eq!(inner["parent"], middle["call"], "{records:?}");
    let outer = records
        .iter()
        .find(|record| record["call"] == middle["parent"]);
    assert_eq!(outer.expect("a parent")["tool"], "proxy");
}

#[tokio::test]
async fn results_reach_modern_clients_with_what_such_results_have() {
    let server = FakeUpstream::stdio().tool("echo", echo()).resource(
        r#"{"uri":"doc://a","name":"a"}"#,
        reply(r#"{"contents":[{"uri":"doc://a","text":"x"}]}"#),
    );
    let (_upstream, daemon, _client) = with(server, "up__echo").await;
    let client = ModernClient::new(&daemon, "/mcp/proxy");
    for (kind, path) in [("tool", "up__echo"), ("resource", "doc://a")] {
        let arguments = json!({ "action": "call", "type": kind, "path": path });
        let result = client.call("proxy", &arguments).await.value();
        assert_eq!(result["resultType"], "complete", "{result}");
        assert_eq!(result["content"][0]["annotations"]["proxyPath"], path);
    }
}

/// Neither what a server writes about itself nor how it is started.
#[tokio::test]
async fn errors_say_nothing_of_the_inside() {
    let server = FakeUpstream::stdio()
        .tool("echo", echo())
        .prompt(r#"{"name":"greet"}"#, exit())
        .resource(r#"{"uri":"doc://a","name":"a"}"#, exit())
        .tool("die", exit())
        .complaint("the password is hunter2");
    let (upstream, _daemon, client) = with(server, "up__die").await;
    let (program, arguments) = upstream.command_line();
    for (kind, path) in [
        ("tool", "up__die"),
        ("prompt", "up__greet"),
        ("resource", "doc://a"),
    ] {
        let reply = call(&client, kind, path, json!({})).await;
        let failure = reply.failure();
        assert_eq!(failure["code"], "connection_lost", "{failure}");
        for inside in [
            "hunter2",
            &*program.to_string_lossy(),
            &*arguments[0].to_string_lossy(),
        ] {
            lacks!(reply.frame, inside);
        }
    }
}

/// A large answer is annotated like a small one.
#[tokio::test]
async fn large_answers_are_annotated_too() {
    let (_upstream, _daemon, client) = with(
        FakeUpstream::stdio().tool("large", oversized(3 << 20)),
        "up__large",
    )
    .await;
    let reply = call(&client, "tool", "up__large", json!({})).await;
    let item = reply.value()["content"][0].take();
    assert_eq!(item["text"].as_str().map(str::len), Some(3 << 20));
    assert_eq!(item["annotations"]["proxyPath"], "up__large");
}

#[tokio::test]
async fn what_may_destroy_something_is_called_as_by_its_own_name() {
    const WRECK: &str = r#"{"name":"wreck","inputSchema":{"type":"object"},"annotations":{"destructiveHint":true}}"#;
    let (_upstream, daemon, client) =
        with(FakeUpstream::stdio().raw_tool(WRECK, echo()), "up__wreck").await;
    let listed = super::list(&client, "tool").await;
    has!(listed.result(), r#"\"destructiveHint\":true"#);
    call(&client, "tool", "up__wreck", json!({})).await.result();
    daemon
        .client("/mcp/all")
        .await
        .call("up__wreck", "{}")
        .await
        .result();
}
