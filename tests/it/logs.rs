//! Log lines of upstreams: who sees which, and what the upstreams are told of that.

use crate::support::prelude::*;

const SET_LEVEL: &str = "logging/setLevel";

fn line(level: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{"level":"{level}","data":{{"x":1.10}}}}}}"#
    )
}

fn talkative(upstream: FakeUpstream) -> FakeUpstream {
    let lines = ["debug", "warning", "error"].map(|level| notice(line(level)));
    let [debug, warning, error] = lines;
    let spoken = debug.then(warning).then(error).then(reply_text("done"));
    upstream.tool("echo", echo()).tool("talk", spoken)
}

async fn wish(client: &TestClient, level: &str) -> Reply {
    client.request(SET_LEVEL, json!({ "level": level })).await
}

/// The levels that the upstream was told, after `count` of them.
async fn told(upstream: &Upstream, count: usize) -> Vec<String> {
    let told = upstream.wait_for_count(SET_LEVEL, count).await;
    let level = |frame: &str| {
        let frame: Value = serde_json::from_str(frame).expect("JSON");
        frame["params"]["level"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    told.iter().map(|received| level(&received.body)).collect()
}

#[tokio::test]
async fn each_client_sees_lines_from_its_own_level_on() {
    let upstream = talkative(FakeUpstream::http().answering(HttpAnswers::Sse)).await;
    let daemon = TestDaemon::with_upstream(&upstream).await;
    let clients = [
        daemon.client("/mcp/all").await,
        daemon.client("/mcp/all").await,
        daemon.client("/mcp/all").await,
    ];
    clients[0].wait_for_tool("up__talk").await;
    let [grave, all, silent] = clients;
    assert_eq!(wish(&grave, "error").await.result(), "{}");
    assert_eq!(told(&upstream, 1).await, ["error"]);
    assert_eq!(wish(&all, "debug").await.result(), "{}");
    assert_eq!(told(&upstream, 2).await, ["error", "debug"]);
    check(&grave, &whole()[2..]).await;
    check(&all, &whole()).await;
    check(&silent, &whole()).await;
    wish(&grave, "warning").await.result();
    check(&grave, &whole()[1..]).await;
    // Others still want everything.
    all.delete().await;
    assert_eq!(told(&upstream, 3).await, ["error", "debug", "warning"]);
}

/// Nor do they on a pipe without a handshake.
#[tokio::test]
async fn clients_that_want_lines_of_a_server_without_a_handshake_have_a_connection_each() {
    let upstream = talkative(FakeUpstream::stdio().speaking(modern::REVISION)).await;
    let (daemon, first) = TestDaemon::before(&upstream, "talk").await;
    let second = daemon.client("/mcp/all").await;
    for client in [&first, &second] {
        wish(client, "debug").await.result();
    }
    for client in [&first, &second, &first] {
        check(client, &whole()).await;
    }
}

/// Where lines do not say which call they are of, one client calls, and others only want to hear more than it does.
#[tokio::test]
async fn a_client_alone_on_a_shared_connection_sees_lines_from_its_own_level_on() {
    for upstream in [FakeUpstream::stdio(), FakeUpstream::sse()] {
        let upstream = talkative(upstream).await;
        let (daemon, client) = TestDaemon::before(&upstream, "talk").await;
        check(&client, &whole()).await;
        assert_eq!(wish(&client, "error").await.result(), "{}");
        assert_eq!(told(&upstream, 1).await, ["error"]);
        let other = daemon.client("/mcp/all").await;
        assert_eq!(wish(&other, "debug").await.result(), "{}");
        assert_eq!(told(&upstream, 2).await, ["error", "debug"]);
        check(&client, &whole()[2..]).await;
        wish(&client, "warning").await.result();
        check(&client, &whole()[1..]).await;
        other.delete().await;
        assert_eq!(told(&upstream, 3).await, ["error", "debug", "warning"]);
    }
}

/// Where lines do not say which call they are of, whoever wants them has a connection of its own as soon as another client calls.
#[tokio::test]
async fn clients_that_want_lines_get_them_while_others_call() {
    for (upstream, first_wants) in [
        (FakeUpstream::stdio(), true),
        (FakeUpstream::stdio(), false),
        (FakeUpstream::sse(), true),
        (FakeUpstream::sse(), false),
    ] {
        let upstream = talkative(upstream).await;
        let (daemon, first) = TestDaemon::before(&upstream, "talk").await;
        let second = daemon.client("/mcp/all").await;
        let (wanting, other) = if first_wants {
            (&first, &second)
        } else {
            (&second, &first)
        };
        if first_wants {
            wish(wanting, "info").await.result();
            check(wanting, &whole()[1..]).await;
            other.call("up__talk", "{}").await.result();
        } else {
            other.call("up__talk", "{}").await.result();
            wish(wanting, "info").await.result();
        }
        for _ in 0..2 {
            let (lines, others) = (whole(), other.call("up__talk", "{}"));
            let ((), others) = tokio::join!(check(wanting, &lines[1..]), others);
            assert_eq!(others.text(), "done");
        }
        let modern = ModernClient::new(&daemon, "/mcp/all").logging_at("error");
        let reply = modern.call("up__talk", "{}").await;
        assert_eq!(reply.notices, &whole()[2..]);
    }
}

/// Every line that the tool writes.
fn whole() -> [String; 3] {
    ["debug", "warning", "error"].map(line)
}

/// Has a client call the tool, and compares what it sees of its lines.
async fn check(client: &TestClient, expected: &[String]) {
    let reply = client.call("up__talk", "{}").await;
    assert_eq!(reply.text(), "done");
    assert_eq!(reply.notices, expected);
}

#[tokio::test]
async fn a_server_that_connects_later_hears_the_level_too() {
    let upstream = talkative(FakeUpstream::stdio()).await;
    let mute = FakeUpstream::stdio()
        .capabilities(r#"{"tools":{}}"#)
        .tool("echo", echo())
        .await;
    let daemon = TestDaemon::builder()
        .upstream("up", &upstream)
        .upstream("mute", &mute)
        .await;
    let client = daemon.client("/mcp/server/up").await;
    client.wait_for_tool("talk").await;
    assert_eq!(wish(&client, "loud").await.error_code(), -32602);
    assert_eq!(client.request(SET_LEVEL, "{}").await.error_code(), -32602);
    wish(&client, "notice").await.result();
    assert_eq!(told(&upstream, 1).await, ["notice"]);
    upstream.crash().await;
    // The first call may find out that the connection is lost.
    until_async("a call on a new connection", async || {
        let reply = client.call("talk", "{}").await;
        reply.value()["isError"].is_null().then_some(())
    })
    .await;
    assert_eq!(told(&upstream, 2).await, ["notice", "notice"]);

    let stranger = daemon.client("/mcp/server/mute").await;
    stranger.wait_for_tool("echo").await;
    assert_eq!(wish(&stranger, "debug").await.error_code(), -32601);
    wish(&daemon.client("/mcp").await, "debug").await.result();
    assert_eq!(told(&upstream, 3).await[2], "debug");
    assert_eq!(mute.received(SET_LEVEL), [""; 0]);
}

#[tokio::test]
async fn a_level_is_forgotten_with_the_client_that_set_it() {
    let upstream = talkative(FakeUpstream::stdio()).await;
    let (daemon, grave) = TestDaemon::before(&upstream, "talk").await;
    wish(&grave, "error").await.result();
    assert_eq!(told(&upstream, 1).await, ["error"]);
    let other = daemon.client("/mcp/server/up").await;
    wish(&other, "alert").await.result();
    grave.delete().await;
    assert_eq!(told(&upstream, 2).await, ["error", "alert"]);
    // Nobody wants anything in particular: it writes everything again, as it did before it was told anything.
    other.delete().await;
    assert_eq!(told(&upstream, 3).await, ["error", "alert", "debug"]);
}

#[tokio::test]
async fn a_request_that_wants_more_than_the_server_was_told_is_sent_after_it_was_told_more() {
    let upstream = talkative(FakeUpstream::stdio()).await;
    let (daemon, grave) = TestDaemon::before(&upstream, "talk").await;
    wish(&grave, "error").await.result();
    assert_eq!(told(&upstream, 1).await, ["error"]);
    let modern = ModernClient::new(&daemon, "/mcp/all").logging_at("debug");
    let reply = modern.call("up__talk", "{}").await;
    assert_eq!(reply.notices, whole());
    // Then what the session wants holds again.
    assert_eq!(told(&upstream, 3).await, ["error", "debug", "error"]);
    let everything = upstream.everything();
    let position = |wanted: &str| {
        let found = everything.iter().position(|one| one.body.contains(wanted));
        found.unwrap_or_else(|| panic!("no {wanted}"))
    };
    assert!(position(r#""level":"debug""#) < position("tools/call"));
}

#[tokio::test]
async fn on_a_connection_of_its_own_a_client_decides_alone() {
    let upstream = talkative(FakeUpstream::stdio()).await;
    let entry = json!({ "session_scope": "client" });
    let builder = TestDaemon::builder().upstream_with("up", &upstream, entry);
    let daemon = builder.await;
    let (grave, all) = (
        daemon.client("/mcp/all").await,
        daemon.client("/mcp/all").await,
    );
    grave.wait_for_tool("up__talk").await;
    upstream.wait_for_children(0).await;
    wish(&grave, "error").await.result();
    wish(&all, "info").await.result();
    check(&grave, &whole()[2..]).await;
    assert_eq!(told(&upstream, 1).await, ["error"]);
    check(&all, &whole()[1..]).await;
    assert_eq!(told(&upstream, 2).await, ["error", "info"]);
}

#[tokio::test]
async fn lines_that_belong_to_no_call_stay_with_the_operator() {
    let upstream = talkative(FakeUpstream::stdio()).await;
    let daemon = TestDaemon::with_upstream(&upstream).await;
    let client = daemon.client("/mcp/server/up").await;
    client.wait_for_tool("talk").await;
    let mut stream = client.listen().await;
    upstream.push(&line("error")).await;
    upstream.offer(&[]).await;
    let first = stream.next().await.expect("an open stream");
    has!(first.data, "tools/list_changed");
}

/// Servers without a handshake write lines for who asks, and need not declare that they do.
#[tokio::test]
async fn a_modern_server_is_asked_for_the_lines_that_its_client_wants() {
    let upstream = talkative(FakeUpstream::http().answering(HttpAnswers::Sse))
        .speaking(modern::REVISION)
        .capabilities(r#"{"tools":{}}"#)
        .await;
    let daemon = TestDaemon::with_upstream(&upstream).await;
    let client = daemon.client("/mcp/server/up").await;
    client.wait_for_tool("talk").await;
    let asked_for = |number: usize| {
        let frame = upstream.received("tools/call").remove(number);
        let frame: Value = serde_json::from_str(&frame).expect("JSON");
        frame["params"]["_meta"]["io.modelcontextprotocol/logLevel"].clone()
    };
    client.call("talk", "{}").await.result();
    assert_eq!(asked_for(0), Value::Null);
    wish(&client, "error").await.result();
    let reply = client.call("talk", "{}").await;
    assert_eq!(reply.notices, &whole()[2..]);
    assert_eq!(asked_for(1), "error");
}
