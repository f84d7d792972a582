//! What a path leads to, and what is said where it fits several things.

use super::{call, info, with};
use crate::support::prelude::*;

/// A server that lists these resources, by URI and name, and says which one is read.
fn listing(name: &str, resources: &[(&str, &str)]) -> FakeUpstream {
    let mut server = FakeUpstream::stdio().tool("echo", echo());
    for (uri, called) in resources {
        let contents = format!(r#"{{"contents":[{{"uri":"{uri}","text":"{name} {uri}"}}]}}"#);
        let definition = json!({ "uri": uri, "name": called }).to_string();
        server = server.resource(&definition, reply(contents));
    }
    server
}

async fn read(client: &TestClient, path: &str) -> Result<Value, Value> {
    let arguments = json!({ "action": "call", "type": "resource", "path": path });
    let reply = client.call("proxy", &arguments).await;
    if reply.value()["isError"] == true {
        return Err(reply.failure());
    }
    Ok(reply.value()["content"][0]["resource"]["text"].take())
}

async fn three() -> (Vec<Upstream>, TestDaemon, TestClient) {
    let servers = [
        listing(
            "a",
            &[
                ("lib://x", "readme"),
                ("lib://a", "own of a"),
                ("lib://both", "x"),
            ],
        )
        .await,
        listing(
            "b",
            &[
                ("lib://x", "other"),
                ("lib://b", "readme"),
                ("lib://odd", "lib://a"),
            ],
        )
        .await,
        FakeUpstream::stdio()
            .tool("echo", echo())
            .template(r#"{"uriTemplate":"page://{n}{?size}","name":"page"}"#)
            .template(r#"{"uriTemplate":"all://{+path}","name":"all"}"#)
            .on(
                "resources/read",
                reply(r#"{"contents":[{"uri":"page://7","text":"a page"}]}"#),
            )
            .await,
    ];
    let daemon = TestDaemon::builder()
        .upstream("a", &servers[0])
        .upstream("b", &servers[1])
        .upstream("c", &servers[2])
        .await;
    let all = daemon.client("/mcp/all").await;
    for tool in ["a__echo", "b__echo", "c__echo"] {
        all.wait_for_tool(tool).await;
    }
    let client = daemon.client("/mcp/proxy").await;
    (servers.into(), daemon, client)
}

#[tokio::test]
async fn a_resource_is_found_by_its_uri_or_its_name() {
    let (_servers, _daemon, client) = three().await;
    for (path, text) in [
        ("lib://x", "a lib://x"),
        ("lib://b/x", "b lib://x"),
        ("b:lib://x", "b lib://x"),
        ("own of a", "a lib://a"),
        ("a:own of a", "a lib://a"),
        ("other", "b lib://x"),
        ("a:readme", "a lib://x"),
        ("b:readme", "b lib://b"),
        ("a:lib://a", "a lib://a"),
        ("b:lib://odd", "b lib://odd"),
    ] {
        assert_eq!(read(&client, path).await, Ok(json!(text)), "{path}");
    }
    // What is offered under another URI is read under that.
    let reply = call(&client, "resource", "other", json!({})).await;
    let item = reply.value()["content"][0].take();
    assert_eq!(item["resource"]["uri"], "lib://b/x");
    assert_eq!(item["annotations"]["proxyPath"], "lib://b/x");
}

#[tokio::test]
async fn a_path_that_fits_two_things_is_an_error_that_names_both() {
    let (servers, _daemon, client) = three().await;
    for (path, both) in [
        ("readme", ["a:lib://x", "b:lib://b"]),
        // The name of one is the URI of another.
        ("lib://a", ["a:lib://a", "b:lib://odd"]),
    ] {
        for action in ["info", "call"] {
            let arguments = json!({ "action": action, "type": "resource", "path": path });
            let failure = client.call("proxy", &arguments.to_string()).await.failure();
            assert_eq!(failure["code"], "invalid_arguments");
            let error = failure["error"].as_str().expect("an error");
            has!(error, "\"path\"");
            for one in both {
                has!(error, one);
                // Each can be had by what the error says.
                assert!(read(&client, one).await.is_ok(), "{one}");
            }
        }
    }
    let reads: usize = servers
        .iter()
        .map(|server| server.received("resources/read").len())
        .sum();
    assert_eq!(reads, 8, "nothing was read but what was named");
}

#[tokio::test]
async fn templates_are_filled_in() {
    let (servers, _daemon, client) = three().await;
    for (path, args, uri) in [
        ("page", json!({ "n": 7 }), "page://7"),
        ("c:page", json!({ "n": "a/b" }), "page://a%2Fb"),
        (
            "page://{n}{?size}",
            json!({ "n": "x", "size": 2 }),
            "page://x?size=2",
        ),
        ("c:page://{n}{?size}", json!({ "n": true }), "page://true"),
        ("page://9", json!({}), "page://9"),
        ("c:page://9", json!({}), "page://9"),
        ("all", json!({ "path": "etc/x" }), "all://etc/x"),
    ] {
        let before = servers[2].received("resources/read").len();
        let reply = call(&client, "resource", path, args).await;
        assert_eq!(
            reply.value()["content"][0]["annotations"]["proxyPath"],
            uri,
            "{path}"
        );
        let sent = &servers[2].received("resources/read")[before];
        has!(sent, format!(r#""uri":"{uri}""#), "{path}");
    }
    let before = servers[2].received("resources/read").len();
    for (path, args, wrong) in [
        ("page", json!({}), "args.n is missing"),
        ("page", json!({ "n": 1, "m": 2 }), "args.m"),
        ("page", json!({ "n": [1] }), "args.n"),
        ("page://9", json!({ "n": 1 }), "\"args\""),
        ("own of a", json!({ "n": 1 }), "\"args\""),
    ] {
        let failure = call(&client, "resource", path, args).await.failure();
        assert_eq!(failure["code"], "invalid_arguments", "{failure}");
        has!(failure["error"], wrong, "{path}: {failure}");
    }
    assert_eq!(servers[2].received("resources/read").len(), before);
    let described = info(&client, "resource", "page://9").await;
    has!(described.result(), "ResourceTemplate");
}

#[tokio::test]
async fn names_are_compared_as_texts_however_they_are_written() {
    let server = FakeUpstream::stdio().tool("echo", echo()).resource(
        r#"{"uri":"lib://z","name":"Zo\u00eb \"x\""}"#,
        reply(r#"{"contents":[{"uri":"lib://z","text":"z"}]}"#),
    );
    let (_upstream, _daemon, client) = with(server, "up__echo").await;
    assert_eq!(read(&client, "Zoë \"x\"").await, Ok(json!("z")));
}

#[tokio::test]
async fn a_server_that_is_named_like_a_scheme_takes_nothing_from_others() {
    let page = reply(r#"{"contents":[{"uri":"http://example/7","text":"other"}]}"#);
    let servers = [
        listing("http", &[("lib://a", "a")]).await,
        FakeUpstream::stdio()
            .tool("echo", echo())
            .template(r#"{"uriTemplate":"http://example/{n}","name":"page"}"#)
            .on("resources/read", page)
            .await,
    ];
    let daemon = TestDaemon::builder()
        .upstream("http", &servers[0])
        .upstream("other", &servers[1])
        .await;
    let all = daemon.client_of("http__echo").await;
    all.wait_for_tool("other__echo").await;
    let client = daemon.client("/mcp/proxy").await;
    for (path, text) in [
        ("http://example/7", "other"),
        ("other:http://example/7", "other"),
        ("http:lib://a", "http lib://a"),
        ("http:a", "http lib://a"),
    ] {
        assert_eq!(read(&client, path).await, Ok(json!(text)), "{path}");
    }
    let unknown = read(&client, "http://nowhere")
        .await
        .expect_err("a refusal");
    assert_eq!(unknown["code"], "unknown_resource");
}

/// What a caller may not see is in nobody's way.
#[tokio::test]
async fn hidden_things_make_no_path_ambiguous() {
    let servers = [
        listing("a", &[("lib://a", "readme")]).await,
        listing("b", &[("lib://b", "readme"), ("lib://secret", "only here")]).await,
    ];
    let acl = json!({ "default": "allow", "rules": [{ "resources": ["b__*"], "policy": "deny" }] });
    let daemon = TestDaemon::builder()
        .upstream("a", &servers[0])
        .upstream("b", &servers[1])
        .config(json!({ "serverAuth": { "acl": acl } }))
        .await;
    let all = daemon.client_of("a__echo").await;
    all.wait_for_tool("b__echo").await;
    let client = daemon.client("/mcp/proxy").await;
    assert_eq!(read(&client, "readme").await, Ok(json!("a lib://a")));
    let denied = read(&client, "only here").await.expect_err("a refusal");
    assert_eq!(denied["code"], "access_denied");
    lacks!(denied.to_string(), "lib://secret", "{denied}");
    for path in ["lib://secret", "b:lib://secret", "b:only here"] {
        let denied = read(&client, path).await.expect_err("a refusal");
        assert_eq!(denied["code"], "access_denied", "{path}");
    }
    assert!(servers[1].received("resources/read").is_empty());
}
