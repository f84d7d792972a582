//! Sections 3.1, 4.1 and 6: what `list` and `info` answer.

use super::{embedded, list, named, ready, with};
use crate::support::prelude::*;

/// A server with one of each, whose definitions have numbers and fields of their own.
fn library() -> FakeUpstream {
    FakeUpstream::stdio()
        .raw_tool(
            r#"{"name":"add","description":"Add two numbers","inputSchema":{"type":"object","x":1.10},"annotations":{"readOnlyHint":true}}"#,
            reply_text("8"),
        )
        .prompt(r#"{"name":"greet","x":1.10}"#, reply(r#"{"messages":[]}"#))
        .resource(
            r#"{"uri":"lib://up","name":"book","mimeType":"text/plain","x":1.10}"#,
            reply(r#"{"contents":[]}"#),
        )
        .template(r#"{"uriTemplate":"page://up/{n}","name":"page","x":1.10}"#)
}

/// The text of the embedded resource.
fn text(reply: &Reply) -> String {
    let result = reply.value();
    let text = result["content"][0]["resource"]["text"].as_str();
    text.expect("a text").to_owned()
}

#[tokio::test]
async fn the_lists_are_one_embedded_resource_each() {
    let (_upstream, daemon, client) = with(library(), "up__add").await;
    for (kind, python_type, definitions) in [
        (
            "resource",
            "Resource|ResourceTemplate",
            &[
                r#"{"uri":"lib://up","name":"book","mimeType":"text/plain","x":1.10}"#,
                r#"{"uriTemplate":"page://up/{n}","name":"page","x":1.10}"#,
            ][..],
        ),
        ("prompt", "Prompt", &[r#"{"name":"up__greet","x":1.10}"#]),
    ] {
        let said = Value::from(format!("[{}]", definitions.join(",")));
        let expected = format!(
            r#"{{"content":[{{"type":"resource","resource":{{"uri":"proxy:list/{kind}","mimeType":"application/json","text":{said}}},"annotations":{{"proxyAction":"list","proxyType":"{kind}","pythonType":"{python_type}","many":true}}}}]}}"#
        );
        assert_eq!(list(&client, kind).await.result(), expected);
    }
    let tools = list(&client, "tool").await;
    let listed = embedded(&tools);
    let content = &tools.value()["content"][0];
    assert_eq!(content["resource"]["uri"], "proxy:list/tool");
    let annotations =
        json!({ "proxyAction": "list", "proxyType": "tool", "pythonType": "Tool", "many": true });
    assert_eq!(content["annotations"], annotations);
    assert_eq!(listed[0]["name"], "up__add");
    assert_eq!(listed[0]["description"], "[up] Add two numbers");
    // Every definition stands there as the list of its endpoint has it.
    let all = daemon
        .client("/mcp/all")
        .await
        .request("tools/list", "{}")
        .await;
    let ours = daemon
        .client("/mcp/call")
        .await
        .request("tools/list", "{}")
        .await;
    let expected: Vec<String> = entries(all.result(), "tools")
        .into_iter()
        .chain(entries(ours.result(), "tools"))
        .collect();
    assert_eq!(text(&tools), format!("[{}]", expected.join(",")));
    let names = named(&listed, "name");
    assert!(names.contains(&"retrieve_tools".to_owned()), "{names:?}");
    for barred in ["proxy", "code_execution"] {
        assert!(!names.contains(&barred.to_owned()), "{names:?}");
    }
}

#[tokio::test]
async fn the_mode_lists_the_one_tool_and_the_endpoint_is_always_there() {
    let upstream = library().await;
    let daemon = TestDaemon::builder()
        .upstream("up", &upstream)
        .config(json!({ "routing_mode": "proxy" }))
        .await;
    let client = ready(&daemon, "up__add").await;
    let configured = daemon.client("/mcp").await;
    let modern = ModernClient::new(&daemon, "/mcp");
    let sse = daemon.sse_client("/mcp/proxy/sse").await;
    for names in [
        client.tool_names().await,
        configured.tool_names().await,
        modern.tool_names().await,
        sse.tool_names().await,
    ] {
        assert_eq!(names, ["proxy"]);
    }
    let definition = configured.request("tools/list", "{}").await.value()["tools"][0].take();
    let parameters = definition["inputSchema"]["properties"]
        .as_object()
        .expect("a schema");
    let names: Vec<&str> = parameters.keys().map(String::as_str).collect();
    assert_eq!(names, ["action", "type", "path", "args"]);
    assert_eq!(
        parameters["action"]["enum"],
        json!(["list", "info", "call"])
    );
    assert_eq!(
        parameters["type"]["enum"],
        json!(["tool", "resource", "prompt"])
    );
    assert_eq!(parameters["args"]["type"], "object");
    assert_eq!(
        definition["inputSchema"]["required"],
        json!(["action", "type"])
    );
    has!(definition["description"], "proxy");
    assert_eq!(definition["annotations"]["destructiveHint"], true);
    let told: Value = serde_json::from_str(&configured.initialized).expect("JSON");
    has!(told["instructions"], "the tool proxy");
    // Where it is not listed it answers all the same; prompts and resources are listed as ever.
    let elsewhere = daemon.client("/mcp/call").await;
    assert!(!elsewhere.tool_names().await.contains(&"proxy".to_owned()));
    embedded(&list(&elsewhere, "tool").await);
    let prompts = configured.request("prompts/list", "{}").await;
    has!(prompts.result(), "up__greet");
    let listed = modern
        .call("proxy", r#"{"action":"list","type":"prompt"}"#)
        .await
        .value();
    assert_eq!(listed["resultType"], "complete");
    assert_eq!(listed["content"][0]["resource"]["uri"], "proxy:list/prompt");
}

/// A large list is put together off the workers; a neighbour's calls are answered meanwhile.
#[tokio::test]
async fn a_list_of_two_thousand_tools_is_whole_and_in_nobodys_way() {
    let mut upstream = FakeUpstream::stdio();
    for n in 0..2_000 {
        upstream = upstream.raw_tool(plain_tool(&format!("tool_{n:04}")), echo());
    }
    let (_upstream, daemon, client) = with(upstream, "up__tool_1999").await;
    let neighbour = daemon.client("/mcp/all").await;
    let listing = async {
        for _ in 0..3 {
            let listed = embedded(&list(&client, "tool").await);
            let names = named(&listed, "name");
            let of_server = names.iter().filter(|name| name.starts_with("up__"));
            assert_eq!(of_server.count(), 2_000);
        }
    };
    let calling = async {
        for _ in 0..20 {
            neighbour.call("up__tool_0000", "{}").await.result();
        }
    };
    tokio::join!(listing, calling);
}
