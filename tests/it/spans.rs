//! Spans of calls: what a collector gets of them, what servers get of the trace, and that a collector which is away costs nothing else.

use std::collections::BTreeSet;

use axum::http::StatusCode;

use crate::support::{
    fake_collector::{Collecting, FakeCollector, SeenSpan},
    prelude::*,
};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00f067aa0ba902b7";

/// The span of a client, as it is sent.
fn sampled() -> String {
    format!("00-{TRACE}-{PARENT}-01")
}

/// A server with a tool that echoes, a daemon that exports spans, and a client of it.
async fn with_echo(collector: &FakeCollector) -> (Upstream, TestDaemon, TestClient) {
    let upstream = FakeUpstream::stdio().tool("echo", echo()).await;
    let daemon = TestDaemon::builder()
        .upstream("up", &upstream)
        .config(json!({ "otlp_endpoint": collector.url() }))
        .await;
    let client = daemon.client_of("up__echo").await;
    (upstream, daemon, client)
}

/// `_meta` of the last call that a server got.
async fn meta_of_last(upstream: &Upstream, count: usize) -> Value {
    let bodies = until("the call", || {
        let bodies = upstream.received("tools/call");
        (bodies.len() >= count).then_some(bodies)
    })
    .await;
    let last: Value = serde_json::from_str(&bodies[count - 1]).expect("JSON");
    last["params"]["_meta"].clone()
}

fn is_kind(kind: &'static str) -> impl Fn(&SeenSpan) -> bool {
    move |span| span.kind == kind
}

#[tokio::test]
async fn a_call_joins_the_trace_of_its_client_and_its_server_joins_the_call() {
    let collector = FakeCollector::start().await;
    let (upstream, daemon, client) = with_echo(&collector).await;
    let (parent, secret) = (sampled(), "arguments-are-nobodys-business");
    let params = format!(
        r#"{{"_meta":{{"x":1.10, "traceparent" : "{parent}","tracestate":"a=1,b=2"}},"name":"up__echo","arguments":{{"a":"{secret}"}}}}"#
    );
    client.request("tools/call", &params).await.result();
    let meta = meta_of_last(&upstream, 1).await;
    let _home = daemon.shutdown().await;

    let spans = collector.wait_for(2, |span| span.trace == TRACE).await;
    assert_eq!(spans.len(), 2, "{spans:#?}");
    let own = spans.iter().find(|span| span.kind == "server");
    let sent = spans.iter().find(|span| span.kind == "client");
    let (own, sent) = (own.expect("of the call"), sent.expect("of what is sent"));
    assert_eq!((&*own.parent, &sent.parent), (PARENT, &own.id));
    assert_eq!(meta["traceparent"], sent.traceparent());
    assert_eq!(meta["tracestate"], "a=1,b=2");
    assert_eq!(own.state, "a=1,b=2");
    assert!(own.from <= sent.from && sent.from <= sent.to && sent.to <= own.to);
    for span in [own, sent] {
        assert_eq!(span.name, "tools/call echo");
        assert!(!span.is_error, "{span:?}");
        for (key, value) in [
            ("mcp.method.name", "tools/call"),
            ("gen_ai.operation.name", "execute_tool"),
            ("gen_ai.tool.name", "echo"),
            ("mcpproxy.server", "up"),
        ] {
            assert_eq!(span.get(key), value, "{key} of {span:?}");
        }
        assert_eq!(span.resource["service.name"], "mcpproxy");
    }
    for (key, value) in [
        ("mcp.protocol.version", "2025-06-18"),
        ("mcpproxy.client", "test 1"),
        ("mcpproxy.endpoint", "/mcp/all"),
        ("mcpproxy.outcome", "ok"),
    ] {
        assert_eq!(own.get(key), value, "{key} of {own:?}");
    }
    assert!(own.get("mcpproxy.call.id").starts_with('c'), "{own:?}");
    assert!(!own.get("mcpproxy.caller").is_empty(), "{own:?}");
    assert!(!own.get("jsonrpc.request.id").is_empty(), "{own:?}");
    for post in collector.posts() {
        assert_eq!(post.path, "/v1/traces");
        assert_eq!(post.headers["content-type"], "application/x-protobuf");
        let text = String::from_utf8_lossy(&post.body);
        lacks!(text, secret);
        lacks!(text, client.session());
    }
}

#[tokio::test]
async fn without_a_trace_of_the_client_a_new_one_begins() {
    let collector = FakeCollector::start().await;
    let (upstream, daemon, client) = with_echo(&collector).await;
    let mut seen = Vec::new();
    for (number, meta) in [
        "",
        r#""_meta":{"x":1},"#,
        r#""_meta":{"traceparent":"00-1","tracestate":"a=1"},"#,
        r#""_meta":{"traceparent":7},"#,
    ]
    .into_iter()
    .enumerate()
    {
        let params = format!(r#"{{{meta}"name":"up__echo","arguments":{{}}}}"#);
        client.request("tools/call", &params).await.result();
        let meta = meta_of_last(&upstream, number + 1).await;
        assert_eq!(meta["tracestate"], Value::Null, "{meta}");
        seen.push(meta["traceparent"].as_str().expect("a span").to_owned());
    }
    let called = r#"{"variant":"destructive","name":"up:echo"}"#;
    let answer = daemon.rest("POST", "/api/v1/call", called).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let meta = meta_of_last(&upstream, 5).await;
    seen.push(meta["traceparent"].as_str().expect("a span").to_owned());

    let sent = collector.wait_for(5, is_kind("client")).await;
    let own = collector.wait_for(5, is_kind("server")).await;
    let sent: BTreeSet<String> = sent.iter().map(SeenSpan::traceparent).collect();
    assert_eq!(sent, seen.into_iter().collect());
    let traces: BTreeSet<&str> = own.iter().map(|span| &*span.trace).collect();
    assert_eq!(traces.len(), 5, "each is one of its own");
    assert!(own.iter().all(|span| span.parent.is_empty()), "{own:#?}");
}

#[tokio::test]
async fn what_a_client_does_not_record_is_not_exported_and_goes_on_as_it_is() {
    let collector = FakeCollector::start().await;
    let (upstream, daemon, client) = with_echo(&collector).await;
    let meta = format!(r#""_meta":{{"traceparent":"00-{TRACE}-{PARENT}-00", "tracestate":"a=1"}}"#);
    let params = format!(r#"{{{meta},"name":"up__echo","arguments":{{}}}}"#);
    client.request("tools/call", &params).await.result();
    let body = upstream.wait_for("tools/call").await.body;
    assert!(body.contains(&meta), "{body}");
    let _home = daemon.shutdown().await;
    assert!(collector.spans().is_empty(), "{:#?}", collector.spans());
}

#[tokio::test]
async fn headers_name_the_trace_where_the_request_does_not() {
    let collector = FakeCollector::start().await;
    let (upstream, daemon, _) = with_echo(&collector).await;
    let other = "5cf92f3577b34da6a3ce929d0e0e4736";
    let client = TestClient::speaking("2025-06-18")
        .showing("traceparent", &sampled())
        .showing("tracestate", "a=1")
        .connect(&daemon, "/mcp/all")
        .await;
    client.call("up__echo", "{}").await.result();
    let meta = meta_of_last(&upstream, 1).await;
    assert_eq!(meta["tracestate"], "a=1");
    let params = format!(
        r#"{{"_meta":{{"traceparent":"00-{other}-{PARENT}-01"}},"name":"up__echo","arguments":{{}}}}"#
    );
    client.request("tools/call", &params).await.result();
    let meta = meta_of_last(&upstream, 2).await;
    assert_eq!(meta["tracestate"], Value::Null, "that is of another trace");
    let own = collector.wait_for(2, is_kind("server")).await;
    let traces: BTreeSet<&str> = own.iter().map(|span| &*span.trace).collect();
    assert_eq!(traces, [TRACE, other].into());
    assert!(own.iter().all(|span| span.parent == PARENT), "{own:#?}");
}

#[tokio::test]
async fn what_failed_says_so_and_what_is_secret_stays_so() {
    let collector = FakeCollector::start().await;
    let refusing = r#"{"code":-32050,"message":"no entry with s3cret-of-the-file"}"#;
    let upstream = FakeUpstream::http()
        .tool(
            "fails",
            reply(r#"{"content":[{"type":"text","text":"a result of a server"}],"isError":true}"#),
        )
        .tool("refuses", error(refusing))
        .resource(
            r#"{"uri":"mem://a?token=abcdefgh","name":"a"}"#,
            reply(r#"{"contents":[]}"#),
        )
        .await;
    let config = json!({ "otlp_endpoint": collector.url(), "api_key": "s3cret-of-the-file" });
    let daemon = TestDaemon::builder()
        .upstream("up", &upstream)
        .config(config)
        .await;
    let client = daemon.client_of("up__fails").await;
    for tool in ["up__fails", "up__refuses", "up__made_up"] {
        client.call(tool, "{}").await;
    }
    let native = daemon.client("/mcp/server/up").await;
    let params = r#"{"uri":"mem://a?token=abcdefgh"}"#;
    native.request("resources/read", params).await.result();
    let _home = daemon.shutdown().await;

    let own = collector.wait_for(4, is_kind("server")).await;
    let of = |outcome: &str| {
        let mut found = own
            .iter()
            .filter(|span| span.get("mcpproxy.outcome") == outcome);
        found
            .next()
            .unwrap_or_else(|| panic!("{outcome}: {own:#?}"))
    };
    let check = |span: &SeenSpan, kind: &str, code: &str| {
        assert!(span.is_error, "{span:?}");
        assert_eq!(span.get("error.type"), kind, "{span:?}");
        assert_eq!(span.get("rpc.response.status_code"), code, "{span:?}");
    };
    check(of("tool_error"), "tool_error", "");
    check(of("rpc_error"), "-32050", "-32050");
    assert_eq!(of("rpc_error").message, "no entry with ***");
    check(of("invalid"), "-32602", "-32602");
    let read = of("ok");
    assert!(!read.is_error, "{read:?}");
    assert_eq!(read.name, "resources/read", "an address is no part of it");
    assert_eq!(read.get("mcp.resource.uri"), "mem://a?token=***");
    let sent = collector.wait_for(3, is_kind("client")).await;
    assert_eq!(
        sent.len(),
        3,
        "nothing is sent for what is unknown: {sent:#?}"
    );
    assert_eq!(sent.iter().filter(|span| span.is_error).count(), 2);
    for post in collector.posts() {
        let text = String::from_utf8_lossy(&post.body);
        for secret in ["s3cret", "abcdefgh", "a result of a server"] {
            lacks!(text, secret, "{secret} in {text}");
        }
    }
}

#[cfg(unix)]
#[tokio::test]
async fn calls_of_a_script_are_part_of_the_call_that_runs_it() {
    let collector = FakeCollector::start().await;
    let upstream = FakeUpstream::stdio().tool("echo", echo()).await;
    let config = json!({ "otlp_endpoint": collector.url(), "enable_code_execution": true });
    let daemon = TestDaemon::builder()
        .upstream("up", &upstream)
        .config(config)
        .await;
    daemon.wait_for_tool("up__echo").await;
    let client = daemon.client("/mcp/code").await;
    let code = "call_tool('up', 'echo', {n: 1}); call_tool('up', 'echo', {n: 2}); 3";
    let params = json!({
        "name": "code_execution", "arguments": { "code": code },
        "_meta": { "traceparent": sampled() },
    });
    let ran = client.request("tools/call", &params.to_string()).await;
    has!(ran.result(), "\"ok\":true");
    let spans = collector.wait_for(5, |span| span.trace == TRACE).await;
    let of = |kind: &'static str| spans.iter().filter(move |span| span.kind == kind);
    let outer = of("server").next().expect("of the script");
    assert_eq!(outer.name, "tools/call code_execution");
    assert_eq!(outer.parent, PARENT);
    let inner: BTreeSet<&str> = of("internal").map(|span| &*span.id).collect();
    assert_eq!(inner.len(), 2, "{spans:#?}");
    assert!(
        of("internal").all(|span| span.parent == outer.id),
        "{spans:#?}"
    );
    let parents: BTreeSet<&str> = of("client").map(|span| &*span.parent).collect();
    assert_eq!(parents, inner, "{spans:#?}");
    let sent: BTreeSet<String> = of("client").map(SeenSpan::traceparent).collect();
    let first = meta_of_last(&upstream, 1).await;
    let second = meta_of_last(&upstream, 2).await;
    let received =
        [first, second].map(|meta| meta["traceparent"].as_str().expect("a span").to_owned());
    assert_eq!(sent, received.into());
}

#[tokio::test]
async fn without_a_collector_traces_pass_byte_for_byte() {
    let upstream = FakeUpstream::http().tool("echo", echo()).await;
    let daemon = TestDaemon::with_upstream(&upstream).await;
    let client = daemon.client("/mcp/server/up").await;
    client.wait_for_tool("echo").await;
    let parent = sampled();
    let params = format!(
        r#"{{ "_meta" : {{"traceparent":"{parent}" , "tracestate":"a=1","traceparent":"x"}},"name":"echo", "arguments":{{}} }}"#
    );
    client.request("tools/call", &params).await.result();
    let body = upstream.wait_for("tools/call").await.body;
    assert!(body.contains(&params), "{body}");
    let bare = r#"{"name":"echo","arguments":{}}"#;
    client.request("tools/call", bare).await.result();
    let bodies = upstream.received("tools/call");
    has!(bodies[1], bare);
}

#[tokio::test]
async fn an_edit_turns_it_on_and_off() {
    let collector = FakeCollector::start().await;
    let upstream = FakeUpstream::stdio().tool("echo", echo()).await;
    let without = || TestDaemon::builder().upstream("up", &upstream);
    let daemon = without().await;
    let client = daemon.client_of("up__echo").await;
    client.call("up__echo", "{}").await.result();
    assert_eq!(meta_of_last(&upstream, 1).await, Value::Null);

    let is_traced = async || {
        client.call("up__echo", "{}").await.result();
        let count = upstream.received("tools/call").len();
        meta_of_last(&upstream, count).await != Value::Null
    };
    let with = without().config(json!({ "otlp_endpoint": collector.url() }));
    daemon.home().write_config(with.text());
    until!(is_traced().await);
    collector.wait_for(1, is_kind("client")).await;
    daemon.home().write_config(without().text());
    until!(!is_traced().await);
}

#[tokio::test]
async fn a_bad_address_is_refused_without_its_password() {
    let daemon = TestDaemon::builder().await;
    let bad = json!({ "otlp_endpoint": "grpc://me:hunter2222@h:4317", "mcpServers": {} });
    daemon.home().write_config(bad.to_string());
    let said = until_async("the edit to be refused", async || {
        let status = daemon.rest("GET", "/api/v1/status", "").await;
        let text = status.text().to_owned();
        text.contains("otlp_endpoint").then_some(text)
    })
    .await;
    has!(said, "neither http:// nor https://");
    lacks!(said, "hunter");
}

#[cfg(unix)]
#[tokio::test]
async fn what_the_collector_wants_to_see_is_shown_to_it_alone() {
    let collector = FakeCollector::start().await;
    let upstream = FakeUpstream::stdio().tool("echo", echo()).await;
    let url = collector.url().replace("http://", "http://me:hunter2222@");
    let daemon = TestDaemon::builder()
        .upstream("up", &upstream)
        .config(json!({ "otlp_endpoint": url + "/otlp" }))
        .spawn_with_env("OTEL_EXPORTER_OTLP_HEADERS", "x-team=hunter3333")
        .await;
    let client = daemon.client_of("up__echo").await;
    client.call("up__echo", "{}").await.result();
    collector.wait_for(2, |_| true).await;
    let post = collector.posts().remove(0);
    assert_eq!(post.path, "/otlp/v1/traces");
    assert_eq!(post.headers["authorization"], "Basic bWU6aHVudGVyMjIyMg==");
    assert_eq!(post.headers["x-team"], "hunter3333");
    let config = daemon.home().rest("GET", "/api/v1/config", "").await;
    let config = config.expect("it serves").text().to_owned();
    has!(config, "***@127.0.0.1");
    let log = daemon.log();
    has!(log, "span export began");
    for text in [config, log] {
        lacks!(text, "hunter");
        lacks!(text, "aHVudGVy");
    }
}

/// Calls work, the daemon ends in order, and the log says it once.
#[cfg(unix)]
async fn check_in_vain(url: &str, why: &str) {
    let upstream = FakeUpstream::stdio().tool("echo", echo()).await;
    let mut daemon = TestDaemon::builder()
        .upstream("up", &upstream)
        .config(json!({ "otlp_endpoint": url }))
        .spawn()
        .await;
    let client = daemon.client_of("up__echo").await;
    client.call("up__echo", "{}").await.result();
    if !why.is_empty() {
        until!(daemon.log().contains(why));
    }
    for _ in 0..20 {
        client.call("up__echo", "{}").await.result();
    }
    daemon.terminate();
    let status = daemon.wait().await;
    assert!(status.success(), "{status}: {}", daemon.log());
    let log = daemon.log();
    let said = log.matches("spans cannot be exported").count();
    assert!(said <= 1 && (said == 1 || why.is_empty()), "{log}");
    lacks!(log, "panicked");
}

#[cfg(unix)]
#[tokio::test]
async fn a_collector_that_is_away_refuses_or_never_answers_costs_nothing_but_the_spans() {
    let nobody = format!("http://{}", http::free_address());
    check_in_vain(&nobody, "spans cannot be exported").await;
    let refusing = Collecting::Refuses(StatusCode::UNAUTHORIZED);
    let collector = FakeCollector::that(refusing).await;
    check_in_vain(&collector.url(), "HTTP 401").await;
    let collector = FakeCollector::that(Collecting::NeverAnswers).await;
    check_in_vain(&collector.url(), "").await;
    assert!(!collector.posts().is_empty(), "it was asked");
}
