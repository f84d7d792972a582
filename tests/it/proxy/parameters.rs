//! Sections 2.2, 2.3 and 5.1: every parameter is checked, and every error names the parameter.

use serde_json::json;

use super::{call, with};
use crate::support::{behaviours::*, fake_upstream::FakeUpstream};

#[tokio::test]
async fn every_error_names_the_parameter_and_nothing_is_called() {
    let (upstream, _daemon, client) =
        with(FakeUpstream::stdio().tool("echo", echo()), "up__echo").await;
    let deep = format!("{}1{}", r#"{"a":"#.repeat(520), "}".repeat(520));
    let too_deep = json!({ "action": "call", "type": "tool", "path": "up__echo", "args": deep });
    for (arguments, parameter) in [
        (json!({}), "action"),
        (json!({ "type": "tool" }), "action"),
        (json!({ "action": "batch", "type": "tool" }), "action"),
        (json!({ "action": 1, "type": "tool" }), "action"),
        (json!({ "action": "list" }), "type"),
        (json!({ "action": "list", "type": "tools" }), "type"),
        (json!({ "action": "list", "type": null }), "type"),
        (
            json!({ "action": "list", "type": "tool", "path": "up__echo" }),
            "path",
        ),
        (
            json!({ "action": "list", "type": "tool", "args": {} }),
            "args",
        ),
        (json!({ "action": "info", "type": "tool" }), "path"),
        (
            json!({ "action": "info", "type": "tool", "path": "" }),
            "path",
        ),
        (
            json!({ "action": "info", "type": "tool", "path": ["up__echo"] }),
            "path",
        ),
        (
            json!({ "action": "info", "type": "tool", "path": "up__echo", "args": {} }),
            "args",
        ),
        (json!({ "action": "call", "type": "tool" }), "path"),
        (
            json!({ "action": "call", "type": "tool", "args": { "a": 1 } }),
            "path",
        ),
        (
            json!({ "action": "call", "type": "tool", "path": "up__echo", "args": 1 }),
            "args",
        ),
        (
            json!({ "action": "call", "type": "tool", "path": "up__echo", "args": null }),
            "args",
        ),
        (
            json!({ "action": "call", "type": "tool", "path": "up__echo", "args": "{" }),
            "args",
        ),
        (too_deep, "args"),
        (
            json!({ "action": "call", "type": "tool", "path": "up__echo", "args": {}, "arguments": {} }),
            "args",
        ),
        (
            json!({ "action": "call", "type": "tool", "path": "up__echo", "filter": {} }),
            "filter",
        ),
        (
            json!({ "action": "list", "type": "tool", "limit": 5 }),
            "limit",
        ),
        (
            json!({ "action": "call", "type": "tool", "path": "proxy", "args": {} }),
            "path",
        ),
        (
            json!({ "action": "info", "type": "tool", "path": "proxy" }),
            "path",
        ),
        (
            json!({ "action": "call", "type": "tool", "path": "code_execution", "args": { "code": "1" } }),
            "path",
        ),
    ] {
        let failure = client.call("proxy", &arguments.to_string()).await.failure();
        assert_eq!(
            failure["code"], "invalid_arguments",
            "{arguments}: {failure}"
        );
        let error = failure["error"].as_str().expect("an error");
        assert!(error.starts_with("proxy: "), "{arguments}: {error}");
        assert!(
            error.contains(&format!("`{parameter}`")),
            "{arguments}: {error}"
        );
        let hint = failure["hint"].as_str().expect("a hint");
        assert!(hint.contains("\"action\""), "{hint}");
    }
    let twice = r#"{"action":"list","action":"call","type":"tool","path":"up__echo"}"#;
    let failure = client.call("proxy", twice).await.failure();
    assert!(
        failure["error"]
            .as_str()
            .expect("an error")
            .contains("`action`")
    );
    assert!(upstream.received("tools/call").is_empty());
}

#[tokio::test]
async fn arguments_reach_the_tool_under_every_name_that_says_what_they_are() {
    let (upstream, _daemon, client) =
        with(FakeUpstream::stdio().tool("echo", echo()), "up__echo").await;
    for args in [
        r#""args":{"n":1.10}"#,
        r#""arguments":{"n":1.10}"#,
        r#""args":"{\"n\":1.10}""#,
        r#""args_json":"{\"n\":1.10}""#,
    ] {
        let arguments = format!(r#"{{"action":"call","type":"tool","path":"up__echo",{args}}}"#);
        client.call("proxy", &arguments).await.result();
    }
    for call in upstream.received("tools/call") {
        assert!(call.contains(r#""name":"echo""#), "{call}");
        assert!(call.contains(r#""arguments":{"n":1.10}"#), "{call}");
    }
    // Without arguments there are none: servers that hold them against a schema want an object.
    let bare = r#"{"action":"call","type":"tool","path":"up__echo"}"#;
    client.call("proxy", bare).await.result();
    let calls = upstream.received("tools/call");
    assert_eq!(calls.len(), 5);
    assert!(
        calls[4].contains(r#""arguments":{}"#) && !calls[4].contains("action"),
        "{}",
        calls[4]
    );
    let reply = call(&client, "tool", "up__echo", json!({})).await;
    assert_eq!(reply.value()["structuredContent"], json!({}));
}
