//! Prompts, resources, templates and completions of several servers under one roof.

use crate::support::prelude::*;

const GREETING: &str =
    r#"{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}],"x":1.10}"#;

/// A server with a prompt, two resources and a template; the first resource is everybody's.
async fn library(name: &str) -> Upstream {
    let contents =
        |uri: &str| format!(r#"{{"contents":[{{"uri":"{uri}","text":"{name}","n":1.10}}]}}"#);
    let own = format!("lib://{name}/own");
    FakeUpstream::stdio()
        .tool("echo", echo())
        .prompt(r#"{"name":"greet","x":1.10}"#, reply(GREETING))
        .resource(
            r#"{"uri":"lib://common","name":"c","x":1e400}"#,
            reply(contents("lib://common")),
        )
        .resource(
            format!(r#"{{"uri":"{own}","name":"o"}}"#),
            reply(contents(&own)),
        )
        .template(format!(
            r#"{{"uriTemplate":"tpl://{name}/{{id}}","name":"t","x":1.0}}"#
        ))
        .on(
            "completion/complete",
            reply(r#"{"completion":{"values":["a"],"x":1.10}}"#),
        )
        .await
}

async fn two_libraries() -> (Upstream, Upstream, TestDaemon, TestClient) {
    let (a, b) = (library("a").await, library("b").await);
    // Numbers that few parsers take make the scanner hold a definition, which is not what is asked here.
    let allow = json!({ "tool_changes": "allow" });
    let daemon = TestDaemon::builder()
        .upstream_with("a", &a, allow.clone())
        .upstream_with("b", &b, allow)
        .await;
    let client = daemon.client_of("a__echo").await;
    client.wait_for_tool("b__echo").await;
    (a, b, daemon, client)
}

#[tokio::test]
async fn prompts_are_offered_by_server_and_reach_it() {
    let (a, b, _daemon, client) = two_libraries().await;
    let list = client.request("prompts/list", "{}").await;
    let expected = [
        r#"{"name":"a__greet","x":1.10}"#,
        r#"{"name":"b__greet","x":1.10}"#,
    ];
    assert_eq!(entries(list.result(), "prompts"), expected);
    let got = client
        .request(
            "prompts/get",
            r#"{"name":"b__greet","arguments":{"who":"é\u00e9"}}"#,
        )
        .await;
    assert_eq!(got.result(), GREETING);
    has!(
        b.received("prompts/get")[0],
        r#""arguments":{"who":"é\u00e9"}"#
    );
    assert_eq!(a.received("prompts/get"), [""; 0]);
    let reply = client.request("prompts/get", r#"{"name":"a__gret"}"#).await;
    assert_eq!(reply.error_code(), -32602);
    has!(reply.error(), "a__greet");
}

#[tokio::test]
async fn resources_keep_their_uris_unless_two_servers_share_one() {
    let (_a, _b, _daemon, client) = two_libraries().await;
    let list = client.request("resources/list", "{}").await;
    let mut listed = entries(list.result(), "resources");
    listed.sort();
    let expected = [
        r#"{"uri":"lib://a/own","name":"o"}"#,
        r#"{"uri":"lib://b/common","name":"c","x":1e400}"#,
        r#"{"uri":"lib://b/own","name":"o"}"#,
        r#"{"uri":"lib://common","name":"c","x":1e400}"#,
    ];
    assert_eq!(listed, expected);
    for (uri, text) in [
        ("lib://common", "a"),
        ("lib://b/common", "b"),
        ("lib://b/own", "b"),
    ] {
        let read = client.request("resources/read", json!({"uri": uri})).await;
        assert_eq!(read.value()["contents"][0]["text"], text, "{uri}");
    }
    // What is offered under another URI is read under that; the rest stays as it came.
    let read = client
        .request("resources/read", r#"{"uri":"lib://b/common"}"#)
        .await;
    let whole = r#"{"contents":[{"uri":"lib://b/common","text":"b","n":1.10}]}"#;
    assert_eq!(read.result(), whole);
    let read = client
        .request("resources/read", r#"{"uri":"lib://a/own"}"#)
        .await;
    let whole = r#"{"contents":[{"uri":"lib://a/own","text":"a","n":1.10}]}"#;
    assert_eq!(read.result(), whole);
    let reply = client
        .request("resources/read", r#"{"uri":"lib://nobody/knows"}"#)
        .await;
    assert_eq!(reply.error_code(), -32002);
}

#[tokio::test]
async fn completions_work_in_either_era_and_say_what_is_unknown() {
    let (a, b, daemon, client) = two_libraries().await;
    let modern = ModernClient::new(&daemon, "/mcp");
    let params = |reference: &str| {
        let context = r#""context":{"arguments":{"y":"1.10"}}"#;
        format!(r#"{{"ref":{reference},"argument":{{"name":"x","value":"é"}},{context}}}"#)
    };
    let prompt = r#"{"type":"ref/prompt","name":"b__greet","title":"T"}"#;
    let template = r#"{"type":"ref/resource","uri":"tpl://b/{id}"}"#;
    let resource = r#"{"type":"ref/resource","uri":"lib://b/common"}"#;
    for reference in [prompt, template, resource] {
        let reply = modern
            .request("completion/complete", &params(reference))
            .await;
        let result = reply.value();
        assert_eq!(result["completion"]["values"], json!(["a"]), "{reference}");
        assert_eq!(result["resultType"], "complete");
        let params = params(reference);
        let legacy = client.request("completion/complete", &params).await;
        has!(legacy.result(), r#""x":1.10"#);
    }
    let seen = b.received("completion/complete");
    has!(
        seen[0],
        r#"{"type":"ref/prompt","name":"greet","title":"T"}"#
    );
    has!(seen[4], r#""uri":"lib://common""#);
    assert!(seen.iter().all(|frame| frame.contains(r#""y":"1.10""#)));
    assert_eq!(a.received("completion/complete"), [""; 0]);
    for (reference, code) in [
        (r#"{"type":"ref/prompt","name":"b__nobody"}"#, -32602),
        (r#"{"type":"ref/resource","uri":"no://such"}"#, -32002),
        (r#"{"type":"ref/other"}"#, -32602),
    ] {
        let params = params(reference);
        let reply = client.request("completion/complete", &params).await;
        assert_eq!(reply.error_code(), code, "{reference}");
    }
}

#[tokio::test]
async fn a_cursor_that_nobody_gave_is_refused() {
    let (_a, _b, daemon, client) = two_libraries().await;
    let own = daemon.client("/mcp/server/a").await;
    for list in [
        "tools/list",
        "prompts/list",
        "resources/list",
        "resources/templates/list",
    ] {
        for client in [&client, &own] {
            let reply = client.request(list, r#"{"cursor":"1"}"#).await;
            assert_eq!(reply.error_code(), -32602, "{list}");
            for first in [r#"{"cursor":null}"#, r#"{"cursor":""}"#, "{}"] {
                let page = client.request(list, first).await;
                lacks!(page.result(), "nextCursor", "{list}");
            }
        }
    }
}

#[tokio::test]
async fn icons_titles_and_schemas_stay_as_they_are() {
    let rest = r#""title":"T\u00e9","icons":[{"src":"data:,x","mimeType":"image/png","sizes":["48x48"],"theme":"dark"}],"x":1.10"#;
    let tool = format!(
        r#"{{"name":"t","description":"d","inputSchema":{{"type":"object"}},"outputSchema":{{"type":"array","items":{{"const":1.0}}}},{rest}}}"#
    );
    let upstream = FakeUpstream::stdio()
        .raw_tool(&tool, echo())
        .prompt(format!(r#"{{"name":"p",{rest}}}"#), reply(GREETING))
        .resource(format!(r#"{{"uri":"lib://r",{rest}}}"#), reply("{}"))
        .template(format!(r#"{{"uriTemplate":"lib://{{t}}",{rest}}}"#))
        .await;
    let (_daemon, client) = TestDaemon::before(&upstream, "t").await;
    for (list, key) in [
        ("tools/list", "tools"),
        ("prompts/list", "prompts"),
        ("resources/list", "resources"),
        ("resources/templates/list", "resourceTemplates"),
    ] {
        let listed = client.request(list, "{}").await;
        let entry = entries(listed.result(), key).remove(0);
        assert!(entry.ends_with(&format!("{rest}}}")), "{entry}");
    }
    let tools = client.request("tools/list", "{}").await;
    let kept = r#""outputSchema":{"type":"array","items":{"const":1.0}}"#;
    has!(tools.result(), kept);
}

/// Two servers made of the same program: both are reached, each under its own template.
#[tokio::test]
async fn equal_templates_of_two_servers_lead_to_both() {
    let server = |name: &str| {
        let text = format!(
            r#"{{"contents":[{{"uri":"doc://7","text":"{name}","n":1.10}},{{"uri":"doc://7/part","text":""}}]}}"#
        );
        FakeUpstream::stdio()
            .tool("echo", echo())
            .template(r#"{"uriTemplate":"doc://{id}","name":"t","x":1.0}"#)
            .on("resources/read", reply(text))
            .on(
                "completion/complete",
                reply(r#"{"completion":{"values":[]}}"#),
            )
    };
    let (a, b) = (server("a").await, server("b").await);
    let daemon = TestDaemon::with_two(&a, &b).await;
    let client = daemon.client_of("a__echo").await;
    client.wait_for_tool("b__echo").await;
    let list = client.request("resources/templates/list", "{}").await;
    let expected = [
        r#"{"uriTemplate":"doc://b/{id}","name":"t","x":1.0}"#,
        r#"{"uriTemplate":"doc://{id}","name":"t","x":1.0}"#,
    ];
    assert_eq!(entries(list.result(), "resourceTemplates"), expected);
    let read = async |uri: &str| {
        let params = json!({ "uri": uri });
        let read = client.request("resources/read", &params).await;
        read.result().to_owned()
    };
    assert_eq!(
        read("doc://7").await,
        r#"{"contents":[{"uri":"doc://7","text":"a","n":1.10},{"uri":"doc://7/part","text":""}]}"#
    );
    assert_eq!(
        read("doc://b/7").await,
        r#"{"contents":[{"uri":"doc://b/7","text":"b","n":1.10},{"uri":"doc://b/7/part","text":""}]}"#
    );
    has!(b.received("resources/read")[0], r#""uri":"doc://7""#);
    let params = r#"{"ref":{"type":"ref/resource","uri":"doc://b/{id}"},"argument":{"name":"id","value":""}}"#;
    client.request("completion/complete", params).await.result();
    has!(
        b.received("completion/complete")[0],
        r#""uri":"doc://{id}""#
    );
    assert_eq!(a.received("completion/complete"), [""; 0]);
}

#[tokio::test]
async fn an_alias_cannot_be_taken_over_by_listing_it() {
    let of = async |name: &str, uris: &[&str]| {
        let mut server = FakeUpstream::stdio();
        for uri in uris {
            let read = format!(r#"{{"contents":[{{"uri":"{uri}","text":"{name}"}}]}}"#);
            server = server.resource(format!(r#"{{"uri":"{uri}","name":"r"}}"#), reply(read));
        }
        server.await
    };
    let (a, b) = (of("a", &["lib://x"]).await, of("b", &["lib://x"]).await);
    // It calls its own what is the alias of `b`.
    let c = of("c", &["lib://b/x"]).await;
    let daemon = TestDaemon::builder()
        .upstream("a", &a)
        .upstream("b", &b)
        .upstream("c", &c)
        .await;
    let client = daemon.client("/mcp/all").await;
    let uris = until_async("all three to be listed", async || {
        let listed = client.request("resources/list", "{}").await;
        let listed: Value = serde_json::from_str(listed.result()).expect("JSON");
        let listed = listed["resources"].as_array().expect("a list").iter();
        let mut uris: Vec<String> = listed
            .filter_map(|one| one["uri"].as_str().map(str::to_owned))
            .collect();
        uris.sort();
        (uris.len() == 3).then_some(uris)
    })
    .await;
    assert_eq!(uris, ["lib://b/x", "lib://c/b/x", "lib://x"]);
    for (uri, owner) in [("lib://x", "a"), ("lib://b/x", "b"), ("lib://c/b/x", "c")] {
        let params = json!({ "uri": uri });
        let read = client.request("resources/read", &params).await;
        let read: Value = serde_json::from_str(read.result()).expect("JSON");
        assert_eq!(read["contents"][0]["text"], owner, "{uri}");
        assert_eq!(read["contents"][0]["uri"], uri);
    }
}
