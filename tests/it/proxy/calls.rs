//! Sections 3.2, 4.2, 5.2 and 10: what `call` answers, and what reaches servers.

use super::{call, with};
use crate::support::prelude::*;

#[tokio::test]
async fn the_example_of_a_call_of_a_tool() {
    let server = FakeUpstream::stdio().tool("calculator_add", reply_text("8"));
    let (upstream, _daemon, client) = with(server, "up__calculator_add").await;
    let reply = call(
        &client,
        "tool",
        "up__calculator_add",
        json!({ "a": 5, "b": 3 }),
    )
    .await;
    let expected = r#"{"content":[{"type":"text","text":"8","annotations":{"proxyType":"tool","proxyAction":"call","proxyPath":"up__calculator_add"}}]}"#;
    assert_eq!(reply.result(), expected);
    let sent = &upstream.received("tools/call")[0];
    has!(sent, r#""arguments":{"a":5,"b":3}"#);
    let bare = r#"{"action":"call","type":"tool","path":"up:calculator_add"}"#;
    let reply = client.call("proxy", bare).await;
    assert_eq!(reply.result(), expected.replace("up__", "up:"));
    // Servers that hold arguments against a schema want an object.
    let sent = &upstream.received("tools/call")[1];
    has!(sent, r#""arguments":{}"#);
    lacks!(sent, "action");
}

#[tokio::test]
async fn text_that_is_json_is_objectified_and_leads_back_to_its_uri() {
    const PART: &str =
        r#"{"uri":"doc://a","mimeType":"text/plain","text":"{ \"key\" : \"va lue\" }"}"#;
    const ITEM: &str = r#"{"type":"resource","resource":{"uri":"doc://a","mimeType":"application/json","text":"{\"key\":\"va lue\"}","contentType":"text/plain"},"annotations":{"proxyType":"resource","proxyAction":"call","proxyPath":"doc://a"}}"#;
    let contents = format!(r#"{{"contents":[{PART},{PART}],"_meta":{{"y":1.10}}}}"#);
    let server = FakeUpstream::stdio()
        .tool("echo", echo())
        .resource(r#"{"uri":"doc://a","name":"r"}"#, reply(contents));
    let (upstream, _daemon, client) = with(server, "up__echo").await;
    for path in ["doc://a", "r", "up:r", "up:doc://a"] {
        let arguments = json!({ "action": "call", "type": "resource", "path": path });
        let reply = client.call("proxy", &arguments.to_string()).await;
        let expected = format!(r#"{{"_meta":{{"y":1.10}},"content":[{ITEM},{ITEM}]}}"#);
        assert_eq!(reply.result(), expected, "{path}");
    }
    let sent = &upstream.received("resources/read")[0];
    has!(sent, r#""params":{"uri":"doc://a""#);
    lacks!(sent, "arguments");
    lacks!(sent, "proxy");
}

#[tokio::test]
async fn a_prompt_is_wrapped_whole() {
    const GREETING: &str = r#"{"description":"d","messages":[{"role":"user","content":{"type":"text","text":"hi"}}],"_meta":{"n":1.10}}"#;
    let server = FakeUpstream::stdio()
        .tool("echo", echo())
        .prompt(r#"{"name":"greet"}"#, reply(GREETING));
    let (upstream, _daemon, client) = with(server, "up__echo").await;
    let text = Value::from(GREETING);
    for path in ["up__greet", "up:greet"] {
        let reply = call(&client, "prompt", path, json!({ "who": "é" })).await;
        let expected = format!(
            r#"{{"content":[{{"type":"resource","resource":{{"uri":"proxy:call/prompt/{path}","mimeType":"application/json","text":{text}}},"annotations":{{"proxyType":"prompt","proxyAction":"call","proxyPath":"{path}","pythonType":"GetPromptResult"}}}}]}}"#
        );
        assert_eq!(reply.result(), expected);
    }
    let sent = &upstream.received("prompts/get")[0];
    has!(sent, r#""name":"greet""#);
    has!(sent, r#""arguments":{"who":"é"}"#);
    lacks!(sent, "action");
}

#[tokio::test]
async fn arguments_of_prompts_are_texts() {
    let server = FakeUpstream::stdio()
        .tool("echo", echo())
        .prompt(r#"{"name":"greet"}"#, reply(r#"{"messages":[]}"#));
    let (upstream, _daemon, client) = with(server, "up__echo").await;
    let args = json!({ "n": 1.5, "yes": true, "none": null, "text": "7" });
    call(&client, "prompt", "up__greet", args).await.result();
    let wrong = call(&client, "prompt", "up__greet", json!({ "list": [1] })).await;
    has!(wrong.result(), "`args.list`", "{}", wrong.frame);
    let sent = upstream.received("prompts/get");
    assert_eq!(sent.len(), 1, "{sent:?}");
    let expected = r#""arguments":{"n":"1.5","yes":"true","text":"7"}"#;
    has!(sent[0], expected);
}

#[tokio::test]
async fn errors_of_servers_pass_as_they_are() {
    const NO: &str = r#"{"code":-32050,"message":"not today","data":{"n":1.10}}"#;
    let server = FakeUpstream::stdio()
        .tool("refuse", error(NO))
        .prompt(r#"{"name":"refuse"}"#, error(NO))
        .resource(r#"{"uri":"doc://no","name":"r"}"#, error(NO));
    let (_upstream, _daemon, client) = with(server, "up__refuse").await;
    for (kind, path) in [
        ("tool", "up__refuse"),
        ("prompt", "up__refuse"),
        ("resource", "doc://no"),
    ] {
        let arguments = json!({ "action": "call", "type": kind, "path": path });
        let reply = client.call("proxy", &arguments).await;
        assert_eq!(reply.error(), NO, "{kind}");
    }
}

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
async fn requests_are_recorded_under_the_call_that_made_them() {
    let server = FakeUpstream::stdio()
        .tool("echo", echo())
        .prompt(r#"{"name":"greet"}"#, reply(r#"{"messages":[]}"#))
        .resource(
            r#"{"uri":"doc://a","name":"a"}"#,
            reply(r#"{"contents":[]}"#),
        );
    let (_upstream, daemon, client) = with(server, "up__echo").await;
    call(&client, "tool", "up__echo", json!({})).await.result();
    call(&client, "prompt", "up__greet", json!({}))
        .await
        .result();
    call(&client, "resource", "doc://a", json!({}))
        .await
        .result();
    let records = daemon.home().activity("kind=call&limit=100").await;
    let outer = records.iter().filter(|record| record["tool"] == "proxy");
    assert_eq!(outer.count(), 3, "{records:?}");
    for (method, named) in [
        ("tools/call", "echo"),
        ("prompts/get", "greet"),
        ("resources/read", "doc://a"),
    ] {
        let is_it = |record: &&Value| record["method"] == method && record["server"] == "up";
        let inner: Vec<&Value> = records.iter().filter(is_it).collect();
        assert_eq!(inner.len(), 1, "{method}: {records:?}");
        has!(inner[0].to_string(), named, "{inner:?}");
        let parent = records
            .iter()
            .find(|record| record["call"] == inner[0]["parent"]);
        assert_eq!(parent.expect("a parent")["tool"], "proxy");
        assert_eq!(inner[0]["outcome"], "ok");
    }
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
