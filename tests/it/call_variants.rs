//! `call_tool_read`, `call_tool_write`, `call_tool_destructive` and `call_tool`: arguments, intent, results, and where they are listed.

use crate::support::prelude::*;

const ODD: &str =
    r#"{"content":[{"type":"video","x":1.10}],"z":12345678901234567890123,"isError":false}"#;

fn annotated(name: &str, annotations: &str) -> String {
    format!(r#"{{"name":"{name}","inputSchema":{{"type":"object"}},"annotations":{annotations}}}"#)
}

async fn with_tools() -> (Upstream, TestDaemon, TestClient) {
    let upstream = FakeUpstream::stdio()
        .raw_tool(annotated("look", r#"{"readOnlyHint":true}"#), reply(ODD))
        .raw_tool(annotated("change", r#"{"readOnlyHint":false}"#), reply(ODD))
        .raw_tool(
            annotated("wreck", r#"{"destructiveHint":true}"#),
            reply(ODD),
        )
        .tool("delete_repo", reply(ODD))
        .tool("create_issue", reply(ODD))
        .tool("frobnicate", echo())
        .await;
    let daemon = TestDaemon::with_upstream(&upstream).await;
    daemon.wait_for_tool("up__look").await;
    let client = daemon.client("/mcp/call").await;
    (upstream, daemon, client)
}

#[tokio::test]
async fn arguments_and_results_pass_as_they_are() {
    let (upstream, _daemon, client) = with_tools().await;
    let reply = client
        .call(
            "call_tool_read",
            r#"{"name":"up:look","args":{"b": 1.10,"a":1e400}}"#,
        )
        .await;
    assert_eq!(reply.result(), ODD);
    let sent = upstream.received("tools/call");
    has!(sent[0], r#""arguments":{"b": 1.10,"a":1e400}"#);
    let arguments = json!({"name": "up:look", "args_json": r#"{"n":12345678901234567890123}"#});
    client.call("call_tool_read", &arguments.to_string()).await;
    let sent = upstream.received("tools/call");
    has!(sent[1], r#""arguments":{"n":12345678901234567890123}"#);
    lacks!(sent[1], "args_json");
    lacks!(sent[1], "call_tool_read");
    client.call("call_tool_read", r#"{"name":"up:look"}"#).await;
    let sent = upstream.received("tools/call");
    // Servers that hold arguments against a schema want an object.
    has!(sent[2], r#""arguments":{}"#);
}

#[tokio::test]
async fn progress_and_vendor_metadata_belong_to_the_inner_call() {
    let upstream = FakeUpstream::stdio()
        .tool("work", progress(3).then(reply(ODD)))
        .await;
    let daemon = TestDaemon::with_upstream(&upstream).await;
    let client = daemon.client("/mcp/call").await;
    let params = r#"{"name":"call_tool_write","arguments":{"name":"up:work"},"_meta":{"progressToken":"mine","x-trace":7}}"#;
    let reply = client.request("tools/call", params).await;
    assert_eq!(reply.result(), ODD);
    assert_eq!(reply.notices.len(), 3, "{:?}", reply.notices);
    assert!(
        reply
            .notices
            .iter()
            .all(|notice| notice.contains(r#""progressToken":"mine""#)),
        "{:?}",
        reply.notices
    );
    has!(upstream.received("tools/call")[0], r#""x-trace":7"#);
}

/// A tool that does more the less it is told.
async fn trimming() -> (Upstream, TestDaemon, TestClient) {
    let tool = annotated("trim_logs", r#"{"readOnlyHint":false}"#);
    let upstream = FakeUpstream::stdio().raw_tool(&tool, reply(ODD)).await;
    let (daemon, _all) = TestDaemon::before(&upstream, "trim_logs").await;
    let client = daemon.client("/mcp/call").await;
    (upstream, daemon, client)
}

/// A call of it through the variant for writing, `call_tool` or `proxy`.
fn naming(built_in: &str, more: &str) -> String {
    match built_in {
        "call_tool" => format!(r#"{{"server":"up","tool":"trim_logs"{more}}}"#),
        "proxy" => {
            format!(r#"{{"action":"call","type":"tool","path":"up__trim_logs"{more}}}"#)
        }
        _ => format!(r#"{{"name":"up:trim_logs"{more}}}"#),
    }
}

const DAY: &str = r#"{"day": "2026-01-01"}"#;

#[tokio::test]
async fn arguments_are_taken_under_every_name_that_says_what_they_are() {
    let (upstream, _daemon, client) = trimming().await;
    let text = json!(DAY);
    for built_in in ["call_tool_write", "call_tool", "proxy"] {
        for more in [
            format!(r#","args":{DAY}"#),
            format!(r#","arguments":{DAY}"#),
            format!(r#","args_json":{text}"#),
            format!(r#","args":{text}"#),
            format!(r#","arguments":{text}"#),
            format!(r#","args":null,"args_json":{text},"arguments":null"#),
        ] {
            let reply = client.call(built_in, &naming(built_in, &more)).await;
            // `proxy` says with the result what it is of.
            let says_more = built_in == "proxy" && reply.result().contains("proxyPath");
            assert!(says_more || reply.result() == ODD, "{built_in} {more}");
            let sent = upstream.received("tools/call");
            let last = sent.last().expect("it was called");
            let expected = format!(r#""arguments":{DAY}"#);
            assert!(last.contains(&expected), "{built_in} {more}: {last}");
        }
    }
}

#[tokio::test]
async fn a_tool_is_not_called_where_it_cannot_be_told_with_what() {
    let (upstream, _daemon, client) = trimming().await;
    for built_in in ["call_tool_write", "call_tool"] {
        for (more, word) in [
            (r#","day":"2026-01-01""#, "\"day\""),
            (r#","params":{"day":"2026-01-01"}"#, "\"params\""),
            (r#","arg":{"day":"2026-01-01"}"#, "\"arg\""),
            (r#","args":null"#, "\"args\""),
            (r#","arguments":null"#, "\"arguments\""),
            (r#","args_json":"""#, "\"args_json\""),
            (r#","args":" ""#, "\"args\""),
            (r#","args":"[1]""#, "\"args\""),
            (r#","args":7"#, "\"args\""),
            (r#","args_json":{"day":1}"#, "\"args\""),
            (r#","args":{"day":1},"args":{}"#, "\"args\""),
            (r#","args":{},"ar\u0067s":{"day":1}"#, "\"args\""),
            (r#","args":{},"arguments":{"day":1}"#, "\"arguments\""),
            (r#","arguments":{},"args_json":"{}""#, "\"args_json\""),
            (r#","tool":"trim_logs","tool":"other""#, "\"tool\""),
            (r#","name":"up:other""#, "\"name\""),
        ] {
            let reply = client.call(built_in, &naming(built_in, more)).await;
            let failure = reply.failure();
            assert_eq!(failure["code"], "invalid_arguments", "{built_in} {more}");
            has!(failure["error"], word, "{built_in} {more}");
            has!(
                failure["hint"],
                "Nothing ran. Correct the arguments and call again"
            );
        }
    }
    let intent = r#","intent":{"operation_type":"write","resaon":"x"}"#;
    let arguments = naming("call_tool_write", intent);
    let failure = client.call("call_tool_write", &arguments).await.failure();
    has!(failure["error"], "\"resaon\"");
    has!(failure["error"], "\"reason\"");
    assert_eq!(upstream.received("tools/call"), [""; 0]);
}

#[tokio::test]
async fn a_fitting_intent_is_accepted_in_both_spellings() {
    let (_upstream, _daemon, client) = with_tools().await;
    for arguments in [
        json!({"name": "up:look", "intent": {"operation_type": "read", "data_sensitivity": "private", "reason": "because"}}),
        json!({"name": "up:look", "intent_data_sensitivity": "public", "intent_reason": "because"}),
        json!({"name": "up__look"}),
    ] {
        let reply = client.call("call_tool_read", &arguments.to_string()).await;
        assert_eq!(reply.result(), ODD, "{arguments}");
    }
    let long = json!({"name": "up:look", "intent_reason": "x".repeat(1001)});
    let failure = client.call("call_tool_read", &long).await.failure();
    has!(failure["error"], "reason");
}

#[tokio::test]
async fn modes_choose_what_is_listed_and_every_name_answers_in_each() {
    let (_upstream, daemon, search) = with_tools().await;
    let direct = daemon.client("/mcp/all").await;
    let configured = daemon.client("/mcp").await;
    let ours = search.tool_names().await;
    for name in [
        "retrieve_tools",
        "call_tool_read",
        "call_tool_write",
        "call_tool_destructive",
    ] {
        assert!(ours.iter().any(|n| n == name), "{name}: {ours:?}");
    }
    assert!(
        !ours
            .iter()
            .any(|name| name == "call_tool" || name.contains("__")),
        "{ours:?}"
    );
    assert_eq!(configured.tool_names().await, ours);
    assert!(
        direct
            .tool_names()
            .await
            .iter()
            .all(|name| name.contains("__"))
    );
    for client in [&direct, &search, &configured] {
        assert_eq!(client.call("up__look", "{}").await.result(), ODD);
        assert_eq!(
            client
                .call("call_tool_read", r#"{"name":"up:look"}"#)
                .await
                .result(),
            ODD
        );
    }
}

#[tokio::test]
async fn the_variants_can_be_told_apart_by_clients() {
    let (_upstream, _daemon, client) = with_tools().await;
    let listed: Value =
        serde_json::from_str(client.request("tools/list", "{}").await.result()).expect("JSON");
    let tool = |name: &str| {
        let tools = listed["tools"].as_array().expect("a list");
        tools
            .iter()
            .find(|tool| tool["name"] == name)
            .cloned()
            .expect("listed")
    };
    assert_eq!(tool("call_tool_read")["annotations"]["readOnlyHint"], true);
    assert_eq!(
        tool("call_tool_write")["annotations"]["destructiveHint"],
        false
    );
    assert_eq!(
        tool("call_tool_destructive")["annotations"]["destructiveHint"],
        true
    );
    assert_eq!(
        tool("call_tool_destructive")["_meta"]["anthropic/requiresUserInteraction"],
        true
    );
    for name in [
        "retrieve_tools",
        "call_tool_read",
        "call_tool_write",
        "call_tool_destructive",
    ] {
        assert_eq!(tool(name)["_meta"]["anthropic/alwaysLoad"], true, "{name}");
    }
}
