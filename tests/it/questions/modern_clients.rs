//! Clients of the revision without handshake: they are asked by a result, and carry the call on with another request.

use super::{ACCEPTED, FORM, asker, askers};
use crate::support::prelude::*;

fn able(daemon: &TestDaemon, path: &str) -> ModernClient {
    ModernClient::able_to(daemon, path, &json!({ "elicitation": {}, "sampling": {} }))
}

fn params(tool: &str, responses: &str, state: &str) -> String {
    format!(
        r#"{{"name":"{tool}","arguments":{{"a":1}},"inputResponses":{responses},"requestState":"{state}"}}"#
    )
}

async fn begin(client: &ModernClient, tool: &str) -> Value {
    asked(&client.call(tool, r#"{"a":1}"#).await)
}

/// A result that asks.
fn asked(reply: &Reply) -> Value {
    let result = reply.value();
    assert_eq!(result["resultType"], "input_required", "{result}");
    assert_eq!(
        result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"],
        "mcpproxy"
    );
    result
}

fn state_of(result: &Value) -> &str {
    result["requestState"].as_str().expect("a state")
}

/// Carries on with a call that asked for the user's name.
async fn accept(client: &ModernClient, tool: &str, result: &Value) -> Reply {
    let responses = format!(r#"{{"user_name":{ACCEPTED}}}"#);
    let again = params(tool, &responses, state_of(result));
    client.request("tools/call", &again).await
}

#[tokio::test]
async fn a_legacy_question_becomes_a_result_that_asks() {
    for upstream in askers() {
        let upstream = upstream.await;
        // The next request takes the place of the one before.
        let daemon = TestDaemon::builder()
            .upstream_with("up", &upstream, json!({ "max_concurrent_requests": 1 }))
            .await;
        let client = able(&daemon, "/mcp/server/up");
        let reply = client.call("form", r#"{"a":1}"#).await;
        let result = asked(&reply);
        has!(reply.result(), FORM, "as it came");
        assert_eq!(
            result["inputRequests"]["user_name"]["method"],
            "elicitation/create"
        );
        let reply = accept(&client, "form", &result).await;
        assert_eq!(reply.value()["resultType"], "complete");
        has!(reply.text(), ACCEPTED, "as it was sent");
        assert_eq!(upstream.received("tools/call").len(), 1, "one call");
    }
}

#[tokio::test]
async fn every_question_has_its_round() {
    let (_upstream, daemon) = asker().await;
    let client = able(&daemon, "/mcp/server/up");
    let first = begin(&client, "two").await;
    let second = asked(&accept(&client, "two", &first).await);
    assert_eq!(
        second["inputRequests"]["sampling"]["method"],
        "sampling/createMessage"
    );
    assert_ne!(state_of(&first), state_of(&second));
    let said = r#"{"role":"assistant","content":{"type":"text","text":"hi"},"model":"m"}"#;
    let responses = format!(r#"{{"sampling":{said}}}"#);
    let again = params("two", &responses, state_of(&second));
    let reply = client.request("tools/call", &again).await;
    has!(reply.text(), said);
}

#[tokio::test]
async fn what_is_missing_or_does_not_fit_is_asked_again() {
    let (_upstream, daemon) = asker().await;
    let client = able(&daemon, "/mcp/server/up");
    let mut result = begin(&client, "form").await;
    for responses in [
        "{}",
        r#"{"other":{"action":"accept"}}"#,
        r#"{"user_name":7}"#,
        "null",
    ] {
        let again = params("form", responses, state_of(&result));
        result = asked(&client.request("tools/call", &again).await);
        assert!(
            result["inputRequests"]["user_name"].is_object(),
            "{responses}: {result}"
        );
    }
    let responses = format!(r#"{{"user_name":{ACCEPTED},"unknown":1}}"#);
    let again = params("form", &responses, state_of(&result));
    let reply = client.request("tools/call", &again).await;
    has!(reply.text(), ACCEPTED);
}

#[tokio::test]
async fn a_state_works_once_and_for_its_request_only() {
    // Two calls, whose questions only HTTP tells apart.
    let [.., upstream] = askers();
    let upstream = upstream.await;
    let daemon = TestDaemon::with_upstream(&upstream).await;
    let client = able(&daemon, "/mcp/server/up");
    let responses = format!(r#"{{"user_name":{ACCEPTED}}}"#);
    let refused = async |params: &str| {
        let reply = client.request("tools/call", params).await;
        assert_eq!(reply.error_code(), -32602, "{params}");
    };
    // Tampered with: unknown.
    let result = begin(&client, "form").await;
    let tampered = format!("{}-TAMPERED", state_of(&result));
    refused(&params("form", &responses, &tampered)).await;
    let good = params("form", &responses, state_of(&result));
    // Of another request, which uses nothing up.
    refused(&good.replace(r#"{"a":1}"#, r#"{"a":2}"#)).await;
    daemon.wait_for_tool("up__form").await;
    let elsewhere = able(&daemon, "/mcp/all");
    let there = good.replace(r#""form""#, r#""up__form""#);
    let reply = elsewhere.request("tools/call", &there).await;
    assert_eq!(reply.error_code(), -32602, "at another endpoint");
    client.request("tools/call", &good).await.result();
    // Used.
    refused(&good).await;
    // Endpoints that offer the same are endpoints of their own.
    let result = begin(&elsewhere, "up__form").await;
    let good = params("up__form", &responses, state_of(&result));
    for path in ["/mcp", "/mcp/call", "/mcp/server/up"] {
        let other = able(&daemon, path);
        let reply = other.request("tools/call", &good).await;
        assert_eq!(reply.error_code(), -32602, "{path}");
    }
    elsewhere.request("tools/call", &good).await.result();
    assert_eq!(
        upstream.received("tools/call").len(),
        2,
        "nothing is started anew"
    );
}

#[tokio::test]
async fn a_state_that_nobody_gave_and_answers_to_nothing_start_no_call() {
    let (upstream, daemon) = asker().await;
    let ways = [
        ("/mcp/server/up", r#""name":"form","arguments":{"a":1}"#),
        ("/mcp/all", r#""name":"up__form","arguments":{"a":1}"#),
        (
            "/mcp/call",
            r#""name":"call_tool_write","arguments":{"name":"up:form","args":{"a":1}}"#,
        ),
    ];
    let answers = format!(r#""inputResponses":{{"user_name":{ACCEPTED}}}"#);
    let unknown = "ran nothing: \\\"requestState\\\" is unknown";
    let wrong = [
        (r#""inputResponses":{},"requestState":"garbage""#, unknown),
        (r#""inputResponses":{},"requestState":7"#, unknown),
        (
            r#""inputResponses":{},"requestState":"mcpproxy-0""#,
            unknown,
        ),
        (answers.as_str(), "answers no open question"),
    ];
    daemon.wait_for_tool("up__form").await;
    for (path, call) in ways {
        let (modern, legacy) = (able(&daemon, path), daemon.client(path).await);
        for (more, said) in wrong {
            let params = format!("{{{call},{more}}}");
            for reply in [
                modern.request("tools/call", &params).await,
                legacy.request("tools/call", &params).await,
            ] {
                let frame = &reply.frame;
                has!(frame, said, "{path} {more}");
                assert_eq!(reply.error_code(), -32602, "{frame}");
            }
        }
    }
    assert_eq!(upstream.received("tools/call"), [""; 0]);
}

#[tokio::test]
async fn the_clock_of_a_call_stands_still_while_its_client_is_asked() {
    let [upstream, ..] = askers();
    let upstream = upstream
        .tool(
            "slow",
            ask("elicitation/create", FORM)
                .then(gate("go"))
                .then(reply_text("done")),
        )
        .tool("hang", hang())
        .await;
    let daemon = TestDaemon::builder()
        .upstream_with("up", &upstream, json!({ "call_tool_timeout": "1s" }))
        .await;
    let client = able(&daemon, "/mcp/server/up");
    let result = begin(&client, "slow").await;
    // Longer than a call may take: others run into their deadline meanwhile.
    for _ in 0..2 {
        let overdue = client.call("hang", "{}").await.failure();
        assert_eq!(overdue["code"], "timed_out");
    }
    upstream.open("go").await;
    let reply = accept(&client, "slow", &result).await;
    assert_eq!(reply.text(), "done");
}

#[tokio::test]
async fn through_the_variants_answers_belong_to_the_inner_call() {
    let (_upstream, daemon) = asker().await;
    let client = able(&daemon, "/mcp/all");
    client.wait_for_tool("up__form").await;
    let call = |more: &str| {
        format!(
            r#"{{"name":"call_tool_destructive","arguments":{{"name":"up:form","args":{{"a":1}}}}{more}}}"#
        )
    };
    let result = asked(&client.request("tools/call", &call("")).await);
    let message = &result["inputRequests"]["user_name"]["params"]["message"];
    assert_eq!(message, "[up] Your name?", "the user sees who asks");
    let more = format!(
        r#","inputResponses":{{"user_name":{ACCEPTED}}},"requestState":"{}""#,
        state_of(&result)
    );
    let reply = client.request("tools/call", &call(&more)).await;
    has!(reply.text(), ACCEPTED);
}

#[tokio::test]
async fn a_client_that_did_not_say_it_can_is_not_asked() {
    let (_upstream, daemon) = asker().await;
    let client = ModernClient::able_to(&daemon, "/mcp/server/up", &json!({ "sampling": {} }));
    let text = client.call("form", "{}").await.text();
    has!(text, "-32601");
    has!(text, "elicitation");
}

fn pages() -> [FakeUpstream; 4] {
    let error = r#"{"code":-32042,"message":"open","data":{"elicitations":[{"mode":"url","elicitationId":"e","url":"about:blank","message":"Open it"}]}}"#;
    [
        FakeUpstream::stdio(),
        FakeUpstream::sse(),
        FakeUpstream::http(),
        FakeUpstream::stdio().speaking_both(),
    ]
    .map(|upstream| upstream.tool("page", crate::support::behaviours::error(error)))
}

#[tokio::test]
async fn a_page_that_a_server_wants_opened_first_is_a_question() {
    for upstream in pages() {
        is_a_question(&upstream.await).await;
    }
}

async fn is_a_question(upstream: &Upstream) {
    let daemon = TestDaemon::with_upstream(upstream).await;
    let able = json!({ "elicitation": { "url": {} } });
    let client = |path| ModernClient::able_to(&daemon, path, &able);
    let of_all = client("/mcp/all");
    of_all.wait_for_tool("up__page").await;
    let result = begin(&of_all, "up__page").await;
    let message = &result["inputRequests"]["elicitation"]["params"]["message"];
    assert_eq!(message, "[up] Open it", "the user sees who asks");
    let client = client("/mcp/server/up");
    let result = begin(&client, "page").await;
    let page = &result["inputRequests"]["elicitation"]["params"];
    assert_eq!(
        *page,
        json!({ "mode": "url", "url": "about:blank", "message": "Open it" })
    );
    // When it was opened the call is made again. The answers are not the server's to see.
    let responses = r#"{"elicitation":{"action":"accept"}}"#;
    let again = params("page", responses, state_of(&result));
    asked(&client.request("tools/call", &again).await);
    let calls = upstream.received("tools/call");
    assert_eq!(calls.len(), 3);
    lacks!(calls[2], "inputResponses");
    lacks!(calls[2], "requestState");
    // Once, and for the same call.
    let used = client.request("tools/call", &again).await;
    assert_eq!(used.error_code(), -32602, "{}", used.frame);
    assert_eq!(upstream.received("tools/call").len(), 3);
}

#[tokio::test]
async fn a_client_that_cannot_open_pages_hears_what_the_call_takes() {
    for upstream in pages() {
        let upstream = upstream.await;
        let daemon = TestDaemon::with_upstream(&upstream).await;
        let refused = able(&daemon, "/mcp/server/up").call("page", "{}").await;
        assert_eq!(refused.error_code(), -32021, "{}", refused.frame);
        has!(
            refused.error(),
            r#""elicitation":{"url":{}}"#,
            "{}",
            refused.frame
        );
    }
}

#[tokio::test]
async fn a_refused_retry_ends_its_call() {
    let (upstream, daemon) = asker().await;
    let client = able(&daemon, "/mcp/server/up");
    let result = begin(&client, "form").await;
    let mut config: Value = serde_json::from_str(
        &std::fs::read_to_string(daemon.home().config_file()).expect("a file"),
    )
    .expect("JSON");
    config["mcpServers"]["up"]["disabled_tools"] = json!(["form"]);
    daemon.home().write_config(config.to_string());
    until!(client.tool_names().await.iter().all(|name| name != "form"));
    let reply = accept(&client, "form", &result).await;
    assert_eq!(reply.failure()["code"], "tool_disabled");
    upstream.wait_for("notifications/cancelled").await;
}
