//! Whatever is forwarded arrives byte for byte: results, errors, arguments, definitions.

use proptest::prelude::*;

use crate::support::{
    prelude::*,
    script::{Behaviour, Step},
};

/// Results that a proxy which parses and prints again would change.
const RESULTS: &[(&str, &str)] = &[
    (
        "image",
        r#"{"content":[{"type":"image","data":"iVBORw0KGgo=","mimeType":"image/png","annotations":{"priority":0.10,"audience":["user"]}}]}"#,
    ),
    (
        "audio",
        r#"{"content":[{"mimeType":"audio/wav","data":"UklGRg==","type":"audio"}],"isError":false}"#,
    ),
    (
        "embedded",
        r#"{"content":[{"type":"resource","resource":{"uri":"file:///a%20b","mimeType":"text/plain","text":"hi","_meta":{"x":1}}},{"type":"resource","resource":{"uri":"x://y","blob":"AAEC"}}]}"#,
    ),
    (
        "link",
        r#"{"content":[{"type":"resource_link","uri":"file:///x","name":"x","size":9007199254740993,"icons":[{"src":"data:,"}]}]}"#,
    ),
    (
        "structured",
        r#"{"content":[],"structuredContent":{"z":1.10,"a":[1.0,-0,1e400,1E+2,0.1e-7],"n":12345678901234567890123},"_meta":{"vendor/key":null,"a.b/c":[{}]}}"#,
    ),
    (
        "unknown",
        r#"{"resultKind":"odd","content":[{"type":"hologram","depth":1.50}],"messages":[],"task":{"taskId":"t"},"extra":{"b":1,"a":2,"b":3}}"#,
    ),
    (
        "escapes",
        r#"{"content":[{"type":"text","text":"\u00e9 é \/ / \ud83d\ude00 😀 \ud800 \u2028 \u0000 \\\" data: {\"id\":1}"}],"\u0061b":"\t\r\n"}"#,
    ),
    (
        "blanks",
        r#"{ "content" : [ ] ,	"x" : { "deep" : [ [ [ 1 , 2 ] ] ] } , "result" : { "id" : 7 } }"#,
    ),
    (
        "failed",
        r#"{"content":[{"type":"text","text":"no"}],"isError":true,"hint":1.0}"#,
    ),
    ("empty", "{}"),
];

const ODD_ERROR: &str =
    r#"{"code":-32042,"message":"go to \u002f","data":{"elicitations":[{"n":1.10}]},"more":1e400}"#;

/// Definitions as rich as they come; each is told apart by its name.
const DEFINITION: &str = r##"{"title":"Odd","name":"odd","x-vendor":{"b":1.10,"a":12345678901234567890123},"description":"Does \u00e9 \"things\".","inputSchema":{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"p":{"$ref":"#/$defs/p"}},"$defs":{"p":{"type":["string","null"],"default":1e400}},"additionalProperties":false},"outputSchema":{"type":"object"},"annotations":{"readOnlyHint":true,"customHint":0.0},"execution":{"taskSupport":"optional"},"icons":[{"src":"data:image/png;base64,AA==","sizes":["48x48"]}],"_meta":{"ui":{"resourceUri":"ui://x"}}}"##;

fn every_transport() -> Vec<(&'static str, FakeUpstream)> {
    let http = |answers| FakeUpstream::http().answering(answers);
    vec![
        (
            "stdio",
            FakeUpstream::stdio().banner("hello").noise("noise"),
        ),
        ("json", http(HttpAnswers::Json)),
        ("sse", http(HttpAnswers::Sse)),
        ("sse in single bytes", http(HttpAnswers::SseInPieces(1))),
        ("sse in sevens", http(HttpAnswers::SseInPieces(7))),
        (
            "stdio, without handshake",
            FakeUpstream::stdio().speaking(modern::REVISION),
        ),
        (
            "json, without handshake",
            http(HttpAnswers::Json).speaking(modern::REVISION),
        ),
        (
            "sse in sevens, without handshake",
            http(HttpAnswers::SseInPieces(7)).speaking(modern::REVISION),
        ),
        ("legacy sse", FakeUpstream::sse()),
        (
            "legacy sse in sevens",
            FakeUpstream::sse().answering(HttpAnswers::SseInPieces(7)),
        ),
    ]
}

/// A client of the aggregated endpoint, and one of the native endpoint.
struct Pair {
    over: &'static str,
    direct: TestClient,
    native: TestClient,
}

async fn native_and_direct(upstream: &Upstream) -> (TestDaemon, TestClient, TestClient) {
    // Numbers that few parsers take make the scanner hold a definition, which is not what is asked here.
    let daemon = TestDaemon::builder()
        .upstream_with("up", upstream, json!({ "tool_changes": "allow" }))
        .await;
    let direct = daemon.client("/mcp/all").await;
    let native = daemon.client("/mcp/server/up").await;
    (daemon, direct, native)
}

/// Clients over every transport, once the tool is there.
async fn every_client(upstream: &Upstream, tool: &str) -> (TestDaemon, [Pair; 2]) {
    let (daemon, direct, native) = native_and_direct(upstream).await;
    direct.wait_for_tool(tool).await;
    let legacy = Pair {
        over: "legacy sse",
        direct: daemon.sse_client("/mcp/all/sse").await,
        native: daemon.sse_client("/mcp/server/up/sse").await,
    };
    let http = Pair {
        over: "http",
        direct,
        native,
    };
    (daemon, [http, legacy])
}

#[tokio::test]
async fn results_arrive_byte_for_byte() {
    for (transport, mut upstream) in every_transport() {
        for (name, result) in RESULTS {
            upstream = upstream.tool(name, reply(*result));
        }
        let upstream = upstream.await;
        let (_daemon, clients) = every_client(&upstream, "up__image").await;
        for client in clients {
            let way = format!("{transport} to {}", client.over);
            for (name, result) in RESULTS {
                let reply = client.direct.call(&format!("up__{name}"), "{}").await;
                assert_eq!(reply.result(), *result, "{name} over {way}");
                let reply = client.native.call(name, "{}").await;
                assert_eq!(reply.result(), *result, "{name} over {way}, natively");
            }
        }
    }
}

#[tokio::test]
async fn errors_of_an_upstream_arrive_byte_for_byte() {
    for (transport, upstream) in every_transport() {
        let upstream = upstream.tool("bad", error(ODD_ERROR)).await;
        let (_daemon, clients) = every_client(&upstream, "up__bad").await;
        for client in clients {
            for reply in [
                client.direct.call("up__bad", "{}").await,
                client.native.call("bad", "{}").await,
            ] {
                let way = format!("{transport} to {}", client.over);
                assert_eq!(reply.error(), ODD_ERROR, "over {way}");
            }
        }
    }
}

#[tokio::test]
async fn arguments_reach_the_upstream_byte_for_byte() {
    let arguments =
        r#"{ "b" : 1.10, "a":12345678901234567890123 ,"e":"\u00e9\/é","big":1e400, "b":[ ] }"#;
    for (transport, upstream) in every_transport() {
        let upstream = upstream.tool("echo", echo()).await;
        let (_daemon, clients) = every_client(&upstream, "up__echo").await;
        for client in clients {
            let reply = client.direct.call("up__echo", arguments).await;
            let expected = format!(r#""structuredContent":{arguments}}}"#);
            assert!(
                reply.result().ends_with(&expected),
                "{transport} to {}: {}",
                client.over,
                reply.result()
            );
        }
    }
}

#[tokio::test]
async fn vendor_keys_of_a_request_reach_the_upstream() {
    let upstream = FakeUpstream::stdio().tool("echo", echo()).await;
    let (_daemon, direct, _native) = native_and_direct(&upstream).await;
    direct.wait_for_tool("up__echo").await;
    let params = r#"{"_meta":{"traceparent":"00-1","vendor/x":1.10},"name":"up__echo","vendor/y":{"ttl":1.0},"arguments":{}}"#;
    direct.request("tools/call", params).await.result();
    let seen = upstream.wait_for("tools/call").await.body;
    for part in [
        r#""traceparent":"00-1""#,
        r#""vendor/x":1.10"#,
        r#""vendor/y":{"ttl":1.0}"#,
    ] {
        has!(seen, part, "{part} is lost in {seen}");
    }
}

#[tokio::test]
async fn an_answer_over_many_lines_keeps_them() {
    let pretty = "{\n  \"content\": [\n    { \"type\": \"text\", \"text\": \"a\" }\n  ],\n\n  \"n\": 1.10\n}";
    for (transport, upstream) in every_transport() {
        // A frame on a pipe is one line.
        if transport.starts_with("stdio") {
            continue;
        }
        let upstream = upstream
            .tool("pretty", Behaviour(vec![Step::Reply(pretty.to_owned())]))
            .await;
        let (_daemon, clients) = every_client(&upstream, "up__pretty").await;
        for client in clients {
            let reply = client.direct.call("up__pretty", "{}").await;
            assert_eq!(reply.result(), pretty, "{transport} to {}", client.over);
        }
    }
}

#[tokio::test]
async fn large_results_pass_whole() {
    let upstreams = [
        ("stdio", FakeUpstream::stdio()),
        ("json", FakeUpstream::http()),
        ("sse", FakeUpstream::http().answering(HttpAnswers::Sse)),
        (
            "sse in pieces",
            FakeUpstream::http().answering(HttpAnswers::SseInPieces(4099)),
        ),
        ("legacy sse", FakeUpstream::sse()),
    ];
    for (transport, upstream) in upstreams {
        let upstream = upstream.tool("large", oversized(2 << 20)).await;
        let (_daemon, clients) = every_client(&upstream, "up__large").await;
        for client in clients {
            let reply = client.direct.call("up__large", "{}").await;
            let way = format!("{transport} to {}", client.over);
            assert_eq!(reply.text().len(), 2 << 20, "over {way}");
        }
    }
}

#[tokio::test]
async fn definitions_differ_in_name_and_prefix_only() {
    for (transport, upstream) in every_transport() {
        let upstream = upstream.raw_tool(DEFINITION, echo()).await;
        let (_daemon, clients) = every_client(&upstream, "up__odd").await;
        let expected = DEFINITION
            .replace(r#""name":"odd""#, r#""name":"up__odd""#)
            .replace(r#""description":"Does"#, r#""description":"[up] Does"#);
        for client in clients {
            let way = format!("{transport} to {}", client.over);
            let list = client.direct.request("tools/list", "{}").await;
            let listed = entries(list.result(), "tools");
            assert_eq!(listed, [expected.as_str()], "over {way}");
            let list = client.native.request("tools/list", "{}").await;
            let listed = entries(list.result(), "tools");
            assert_eq!(listed, [DEFINITION], "over {way}");
        }
    }
}

#[tokio::test]
async fn a_native_endpoint_shows_the_server_as_it_is() {
    let capabilities =
        r#"{"tools":{},"prompts":{},"resources":{},"experimental":{"x":{"n":1.10}}}"#;
    let prompt = r#"{"name":"greet","arguments":[{"name":"who","required":true}],"x":1.10}"#;
    let resource = r#"{"uri":"demo://a b","name":"a","size":1.0,"x":null}"#;
    let template = r#"{"uriTemplate":"demo://{x}","name":"t","x":1e400}"#;
    let prompt_result =
        r#"{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}],"x":1.10}"#;
    let resource_result = r#"{"contents":[{"uri":"demo://a b","text":"a"}],"x":1.10}"#;
    let upstream = FakeUpstream::stdio()
        .instructions("Be \"kind\".")
        .capabilities(capabilities)
        .tool("echo", echo())
        .prompt(prompt, reply(prompt_result))
        .resource(resource, reply(resource_result))
        .template(template)
        .await;
    let (daemon, direct, native) = native_and_direct(&upstream).await;
    direct.wait_for_tool("up__echo").await;

    let native_again = daemon.client("/mcp/server/up").await;
    let expected = format!(r#""capabilities":{capabilities}"#);
    let opened = &native_again.initialized;
    assert!(opened.contains(&expected), "{opened}");
    has!(opened, r#""instructions":"Be \"kind\".""#);

    let list = native.request("prompts/list", "{}").await;
    assert_eq!(entries(list.result(), "prompts"), [prompt]);
    let list = native.request("resources/list", "{}").await;
    assert_eq!(entries(list.result(), "resources"), [resource]);
    let list = native.request("resources/templates/list", "{}").await;
    assert_eq!(entries(list.result(), "resourceTemplates"), [template]);
    let got = native.request("prompts/get", r#"{"name":"greet"}"#).await;
    assert_eq!(got.result(), prompt_result);
    let read = native
        .request("resources/read", r#"{"uri":"demo://a b"}"#)
        .await;
    assert_eq!(read.result(), resource_result);
}

/// Any JSON text of one line that a client may send, with numbers and strings spelled in every way.
fn json_text() -> impl Strategy<Value = String> {
    let number = r"-?(0|[1-9][0-9]{0,25})(\.[0-9]{1,5})?([eE][+-]?[0-9]{1,3})?";
    let bmp = r"\\u([0-9abcefABCEF][0-9a-fA-F]{3}|[dD][0-7][0-9a-fA-F]{2})";
    let pair = r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}";
    let string = format!(r#""([a-zé漢😀 /{{}}\[\]:,]|\\["\\/bfnrt]|{bmp}|{pair}){{0,12}}""#);
    let string: &'static str = string.leak();
    let leaf = prop_oneof![
        number.prop_map(String::from),
        string.prop_map(String::from),
        Just("null".to_owned()),
        Just("true".to_owned()),
        Just("false".to_owned()),
    ];
    leaf.prop_recursive(4, 32, 5, move |inner| {
        let blank = " {0,2}";
        let member = (string, blank, inner.clone()).prop_map(|(k, b, v)| format!("{k}:{b}{v}"));
        prop_oneof![
            (blank, prop::collection::vec(inner, 0..5))
                .prop_map(|(b, items)| format!("[{b}{}]", items.join(&format!("{b},")))),
            prop::collection::vec(member, 0..5)
                .prop_map(|members| format!("{{{}}}", members.join(","))),
        ]
    })
}

#[test]
fn any_result_arrives_byte_for_byte() {
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        cases: 64,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let (stdio, http, sse, daemon, clients) = runtime.block_on(async {
        // Of two servers with one URI the results of the second are looked at.
        let shared = |server: FakeUpstream| {
            let server = server.resource(r#"{"uri":"lib://shared","name":"s"}"#, reply("{}"));
            server.tool("any", echo())
        };
        let stdio = shared(FakeUpstream::stdio()).await;
        let http = shared(FakeUpstream::http())
            .answering(HttpAnswers::SseInPieces(5))
            .await;
        let sse = FakeUpstream::sse()
            .tool("any", echo())
            .answering(HttpAnswers::SseInPieces(5))
            .await;
        let builder = TestDaemon::builder().upstream("stdio", &stdio);
        let builder = builder.upstream("http", &http).upstream("sse", &sse);
        let daemon = builder.await;
        let client = daemon.client("/mcp/all").await;
        for tool in ["stdio__any", "http__any", "sse__any"] {
            client.wait_for_tool(tool).await;
        }
        let legacy = daemon.sse_client("/mcp/all/sse").await;
        (stdio, http, sse, daemon, [client, legacy])
    });
    let texts = prop::collection::vec(json_text(), 1..8);
    let outcome = runner.run(&texts, |texts| {
        let arguments = format!(r#"{{"all":[{}]}}"#, texts.join(","));
        let ending = format!(r#""structuredContent":{arguments}}}"#);
        for tool in ["stdio__any", "http__any", "sse__any"] {
            for client in &clients {
                let reply = runtime.block_on(client.call(tool, &arguments));
                prop_assert!(reply.result().ends_with(&ending), "{}", reply.result());
            }
        }
        Ok(())
    });
    runtime.block_on(daemon.shutdown());
    drop((stdio, http, sse));
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
}

#[tokio::test]
async fn arguments_from_a_terminal_arrive_as_they_were_typed() {
    let upstream = FakeUpstream::stdio().tool("echo", echo()).await;
    let daemon = TestDaemon::with_upstream(&upstream).await;
    let odd = r#"{"z":1.10,"a":123456789012345678901234567890,"e":1E400}"#;
    let body = format!(r#"{{"name":"up:echo","variant":"write","args":{odd}}}"#);
    let answer = daemon.rest("POST", "/api/v1/call", &body).await;
    has!(answer.text(), odd);
}
