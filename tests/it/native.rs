//! `/mcp/server/NAME`: what nobody here knows passes, whichever era speaks on either side.

use crate::support::prelude::*;

const ODD: &str = r#"{"z":1.10,"a":[1e400,-0],"vendor":{"x":null}}"#;

const CAPABILITIES: &str =
    r#"{"tools":{"vendor":1.10},"vendor/thing":{"x":[1.0]},"experimental":{"y":{}}}"#;

fn servers() -> Vec<FakeUpstream> {
    let legacy = [
        FakeUpstream::stdio(),
        FakeUpstream::sse(),
        FakeUpstream::http().answering(HttpAnswers::Sse),
        FakeUpstream::http(),
    ];
    let modern = [FakeUpstream::stdio(), FakeUpstream::http()];
    let modern = modern.map(|server| server.speaking(modern::REVISION));
    legacy.into_iter().chain(modern).collect()
}

async fn daemon_before(upstream: &Upstream, more: Value) -> TestDaemon {
    TestDaemon::builder()
        .upstream_with("up", upstream, more)
        .await
}

#[tokio::test]
async fn methods_that_nobody_knows_pass_both_ways() {
    for server in servers() {
        let upstream = server
            .tool("echo", echo())
            .on("vendor/do", reply(ODD))
            .await;
        let daemon = daemon_before(&upstream, json!({})).await;
        let legacy = daemon.client("/mcp/server/up").await;
        let modern = ModernClient::new(&daemon, "/mcp/server/up");
        let params = r#"{"n":1.10,"deep":{"b":2.0,"a":1}}"#;
        for (reply, dressed) in [
            (legacy.request("vendor/do", params).await, false),
            (modern.request("vendor/do", params).await, true),
        ] {
            let inner = ODD.strip_suffix('}').expect("an object");
            assert!(reply.result().starts_with(inner), "{}", reply.result());
            if !dressed {
                assert_eq!(reply.result(), ODD);
            }
        }
        for seen in upstream.received("vendor/do") {
            has!(seen, r#""n":1.10,"deep":{"b":2.0,"a":1}"#);
        }
        legacy
            .notify("notifications/vendor/x", r#"{"n":1.10}"#)
            .await;
        let seen = upstream.wait_for("notifications/vendor/x").await;
        has!(seen.body, r#""n":1.10"#);
    }
}

#[tokio::test]
async fn capabilities_that_nobody_knows_are_shown() {
    for server in servers() {
        let upstream = server
            .capabilities(CAPABILITIES)
            .instructions("Mind the gap.")
            .tool("echo", echo())
            .await;
        let daemon = daemon_before(&upstream, json!({})).await;
        let legacy = daemon.client("/mcp/server/up").await;
        has!(legacy.initialized, CAPABILITIES);
        has!(legacy.initialized, "Mind the gap.");
        let modern = ModernClient::new(&daemon, "/mcp/server/up");
        let discovered = modern.request("server/discover", "{}").await;
        has!(discovered.result(), CAPABILITIES);
        has!(discovered.result(), "Mind the gap.");
    }
}

#[tokio::test]
async fn a_tool_that_the_list_lacks_is_called_where_changes_are_allowed() {
    for server in servers() {
        let upstream = server
            .tool("echo", echo())
            .on("tools/call", reply(ODD))
            .await;
        let daemon = daemon_before(&upstream, json!({ "tool_changes": "allow" })).await;
        let legacy = daemon.client("/mcp/server/up").await;
        let reply = legacy.call("unlisted", r#"{"n":1.10}"#).await;
        assert_eq!(reply.result(), ODD);
        let calls = upstream.received("tools/call");
        has!(calls[0], r#""unlisted""#, "{calls:?}");
        has!(calls[0], "1.10", "{calls:?}");
    }
    // Where they are held, nobody has seen what it does.
    let upstream = FakeUpstream::stdio().tool("echo", echo()).await;
    let daemon = daemon_before(&upstream, json!({})).await;
    let client: TestClient = daemon.client("/mcp/server/up").await;
    let reply = client
        .request("tools/call", &call_params("unlisted", "{}"))
        .await;
    assert_eq!(reply.error_code(), -32602);
    assert_eq!(upstream.received("tools/call"), [""; 0]);
}

const REQUESTS: [&str; 5] = [
    "tools/call",
    "initialize",
    "logging/setLevel",
    "server/discover",
    "tools/list",
];

#[tokio::test]
async fn a_request_without_an_id_reaches_nobody() {
    for server in servers() {
        let upstream = server.tool("open", echo()).await;
        let daemon = daemon_before(&upstream, json!({})).await;
        let client = daemon.client("/mcp/server/up").await;
        client.call("open", "{}").await;
        let received = || REQUESTS.map(|method| upstream.received(method).len());
        let before = received();
        // Servers do what such a message says, which nothing here would count or record.
        for method in REQUESTS {
            let answer = client.notify(method, r#"{"name":"open"}"#).await;
            let error = answer.json();
            assert_eq!(
                (answer.status, &error["error"]["code"]),
                (400, &json!(-32600)),
                "{error}"
            );
            has!(
                error["error"]["message"].as_str().expect("a text"),
                r#""id" is missing"#
            );
        }
        // They go one after the other, so when this has arrived they would have.
        client.notify("notifications/vendor/x", "{}").await;
        upstream.wait_for("notifications/vendor/x").await;
        assert_eq!(received(), before, "{REQUESTS:?}");
    }
}

#[tokio::test]
async fn a_request_that_does_not_say_what_it_wants_is_refused() {
    let upstream = FakeUpstream::stdio().tool("echo", echo()).await;
    let daemon = daemon_before(&upstream, json!({})).await;
    for endpoint in ["/mcp/server/up", "/mcp/all"] {
        let client = daemon.client(endpoint).await;
        for [method, params, why] in rows(
            r#"
            tools/call | {} | "name" is missing
            tools/call | {"name":7} | "name" is not a string
            tools/call | {"name":"echo","name":"up__echo"} | "name" appears twice
            tools/call | {"name":"echo","arguments":{},"arguments":{}} | "arguments" appears twice
            prompts/get | {"name":"x","arguments":[]} | "arguments" is not an object
        tools/call | {"name":"echo","arguments":"text"} | "arguments" is not an object
        resources/read | {"uri":1} | "uri" is not a string
            resources/read | {} | "uri" is missing
            resources/subscribe | {"uri":1} | "uri" is not a string
            completion/complete | {} | "ref" is missing
            completion/complete | {"ref":{"type":"ref/prompt"}} | "ref.name" is missing
        "#,
        ) {
            let reply = client.request(method, params).await;
            assert_eq!(reply.error_code(), -32602, "{method} {params}");
            let expected = json!(format!(
                "{method} did not run: {why}. Correct that and send it again."
            ))
            .to_string();
            assert!(reply.frame.contains(&expected), "{}", reply.frame);
        }
    }
    for method in ["tools/call", "prompts/get", "resources/read"] {
        assert_eq!(upstream.received(method), [""; 0]);
    }
}
