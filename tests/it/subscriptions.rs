//! Subscriptions to resources: one at the server however many clients have it, and updates for those clients only.

use crate::support::prelude::*;

const SUBSCRIBE: &str = "resources/subscribe";
const UNSUBSCRIBE: &str = "resources/unsubscribe";
const UPDATED: &str = "notifications/resources/updated";
const NOTE: &str = r#"{"uri":"lib://note"}"#;

fn described(upstream: FakeUpstream) -> FakeUpstream {
    let contents = reply(r#"{"contents":[]}"#);
    upstream
        .tool("echo", echo())
        .resource(r#"{"uri":"lib://note","name":"n"}"#, contents.clone())
        .resource(r#"{"uri":"lib://other","name":"o"}"#, contents)
        .template(r#"{"uriTemplate":"page://{number}","name":"p"}"#)
}

fn update(uri: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"{UPDATED}","params":{{"title":"é\u00e9","uri":"{uri}","x":1.10}}}}"#
    )
}

fn one(upstream: &Upstream) -> Builder {
    TestDaemon::builder().upstream("up", upstream)
}

async fn ready(daemon: &TestDaemon, path: &str) -> (TestClient, EventStream) {
    let client = daemon.client(path).await;
    let tool = match path {
        "/mcp/all" => "up__echo",
        _ => "echo",
    };
    client.wait_for_tool(tool).await;
    let stream = client.listen().await;
    (client, stream)
}

async fn subscribe(client: &TestClient, uri: &str) {
    let reply = client.request(SUBSCRIBE, json!({ "uri": uri })).await;
    assert_eq!(reply.result(), "{}");
}

#[tokio::test]
async fn many_subscribers_are_one_at_the_server() {
    for upstream in FakeUpstream::of_each_transport() {
        let upstream = described(upstream).await;
        let daemon = one(&upstream).await;
        let (a, mut to_a) = ready(&daemon, "/mcp/all").await;
        let (b, mut to_b) = ready(&daemon, "/mcp/server/up").await;
        let (c, mut to_c) = ready(&daemon, "/mcp/all").await;
        tokio::join!(subscribe(&a, "lib://note"), subscribe(&b, "lib://note"));
        subscribe(&a, "lib://note").await;
        subscribe(&c, "lib://other").await;
        assert_eq!(upstream.received(SUBSCRIBE).len(), 2);
        upstream.push(&update("lib://note")).await;
        upstream.push(&update("lib://other")).await;
        for stream in [&mut to_a, &mut to_b] {
            assert_eq!(stream.next_frame(UPDATED).await, update("lib://note"));
        }
        // The first that it hears of: the other was not for it.
        assert_eq!(to_c.next_frame(UPDATED).await, update("lib://other"));
        assert_eq!(a.request(UNSUBSCRIBE, NOTE).await.result(), "{}");
        upstream.push(&update("lib://note")).await;
        assert_eq!(to_b.next_frame(UPDATED).await, update("lib://note"));
        assert_eq!(upstream.received(UNSUBSCRIBE).len(), 0);
        b.delete().await;
        let ended = upstream.wait_for(UNSUBSCRIBE).await;
        has!(ended.body, NOTE);
        // Nobody is subscribed any more, and that is no error.
        assert_eq!(a.request(UNSUBSCRIBE, NOTE).await.result(), "{}");
    }
}

#[tokio::test]
async fn an_update_names_the_uri_that_the_client_knows() {
    let (a, b) = (
        described(FakeUpstream::stdio()).await,
        described(FakeUpstream::stdio()).await,
    );
    let daemon = TestDaemon::with_two(&a, &b).await;
    let client = daemon.client_of("a__echo").await;
    client.wait_for_tool("b__echo").await;
    let mut stream = client.listen().await;
    subscribe(&client, "lib://b/note").await;
    has!(b.received(SUBSCRIBE)[0], r#""uri":"lib://note""#);
    assert_eq!(a.received(SUBSCRIBE), [""; 0]);
    b.push(&update("lib://note")).await;
    assert_eq!(stream.next_frame(UPDATED).await, update("lib://b/note"));
    // A part of it that nobody listed.
    b.push(&update("lib://note/part")).await;
    assert_eq!(stream.next_frame(UPDATED).await, update("lib://note/part"));
    subscribe(&client, "page://7").await;
    a.push(&update("page://7")).await;
    assert_eq!(stream.next_frame(UPDATED).await, update("page://7"));
}

#[tokio::test]
async fn a_refusal_of_the_server_is_the_clients_own_error() {
    let error_object = r#"{"code":-32050,"message":"no","data":{"x":1.10}}"#;
    let upstream = described(FakeUpstream::stdio())
        .on(SUBSCRIBE, error(error_object))
        .await;
    let daemon = one(&upstream).await;
    for path in ["/mcp/all", "/mcp/server/up"] {
        let (client, _stream) = ready(&daemon, path).await;
        let reply = client.request(SUBSCRIBE, NOTE).await;
        assert_eq!(reply.error(), error_object);
    }
    assert_eq!(upstream.received(SUBSCRIBE).len(), 2, "asked anew");
    assert_eq!(upstream.received(UNSUBSCRIBE), [""; 0]);
    let (client, _stream) = ready(&daemon, "/mcp/all").await;
    let unknown = client.request(SUBSCRIBE, r#"{"uri":"no://such"}"#).await;
    assert_eq!(unknown.error_code(), -32002);
    assert_eq!(client.request(SUBSCRIBE, "{}").await.error_code(), -32602);
    let stateless = TestClient::stateless(&daemon, "/mcp/all");
    let reply = stateless.request(SUBSCRIBE, NOTE).await;
    assert_eq!(reply.error_code(), -32600);
}

#[tokio::test]
async fn a_subscription_outlives_connections_of_its_server() {
    let upstream = described(FakeUpstream::stdio()).await;
    let daemon = one(&upstream).await;
    let (client, mut stream) = ready(&daemon, "/mcp/all").await;
    subscribe(&client, "lib://note").await;
    upstream.crash().await;
    // Nobody calls: it is connected again for the subscription's sake.
    upstream.wait_for_count(SUBSCRIBE, 2).await;
    upstream.push(&update("lib://note")).await;
    stream.next_frame(UPDATED).await;
    let edited = TestDaemon::builder().upstream_with("up", &upstream, json!({"env": {"A": "1"}}));
    daemon.home().write_config(edited.text());
    upstream.wait_for_count(SUBSCRIBE, 3).await;
    upstream.push(&update("lib://note")).await;
    stream.next_frame(UPDATED).await;
}

#[tokio::test]
async fn a_renewed_session_is_told_again() {
    let upstream = described(FakeUpstream::http()).await;
    let daemon = one(&upstream).await;
    let (client, mut stream) = ready(&daemon, "/mcp/all").await;
    subscribe(&client, "lib://note").await;
    upstream.forget_sessions(404);
    client.call("up__echo", "{}").await.result();
    upstream.wait_for_count(SUBSCRIBE, 2).await;
    let heard = async { stream.next_frame(UPDATED).await };
    let pushed = async {
        // The server's own stream may not be open again yet.
        loop {
            upstream.push(&update("lib://note")).await;
            tokio::time::sleep(crate::support::patience::LOOK_AGAIN).await;
        }
    };
    tokio::select! {
        _ = heard => (),
        () = pushed => (),
    }
}

#[tokio::test]
async fn a_server_with_a_subscription_does_not_sleep() {
    let (watched, other) = (
        described(FakeUpstream::stdio()).await,
        described(FakeUpstream::stdio()).await,
    );
    let nervous = json!({"idle_timeout": "1s"});
    let daemon = TestDaemon::builder()
        .config(json!({"idle_check_interval": "1s"}))
        .upstream_with("up", &watched, nervous.clone())
        .upstream_with("zz", &other, nervous)
        .await;
    let (client, mut stream) = ready(&daemon, "/mcp/all").await;
    subscribe(&client, "lib://note").await;
    client.wait_for_tool("zz__echo").await;
    client.call("zz__echo", "{}").await.result();
    other.wait_for_children(0).await;
    watched.push(&update("lib://note")).await;
    stream.next_frame(UPDATED).await;
    assert_eq!(watched.alive().len(), 1);
    client.delete().await;
    watched.wait_for_children(0).await;
}

#[tokio::test]
async fn a_sleeping_server_is_woken_for_a_subscription() {
    let upstream = described(FakeUpstream::stdio()).await;
    let daemon = one(&upstream).await;
    drop(ready(&daemon, "/mcp/all").await);
    let home = daemon.shutdown().await;
    let daemon = TestDaemon::start_in(home).await;
    assert_eq!(upstream.alive().len(), 0);
    let (client, _stream) = ready(&daemon, "/mcp/server/up").await;
    subscribe(&client, "lib://note").await;
    until!(upstream.alive().len() == 1);
}

#[tokio::test]
async fn an_update_on_the_stream_of_a_call_reaches_its_subscribers() {
    let upstream = described(FakeUpstream::http())
        .tool(
            "write",
            notice(update("lib://note")).then(reply_text("written")),
        )
        .await;
    let daemon = one(&upstream).await;
    let (client, mut stream) = ready(&daemon, "/mcp/all").await;
    subscribe(&client, "lib://note").await;
    let stranger = daemon.client("/mcp/all").await;
    let reply = stranger.call("up__write", "{}").await;
    assert_eq!(reply.notices, [""; 0]);
    assert_eq!(stream.next_frame(UPDATED).await, update("lib://note"));
}

#[tokio::test]
async fn clients_on_one_stream_hear_of_updates_there() {
    let upstream = described(FakeUpstream::stdio()).await;
    let daemon = one(&upstream).await;
    let client = daemon.sse_client("/mcp/all").await;
    client.wait_for_tool("up__echo").await;
    let mut heard = client.hear();
    subscribe(&client, "lib://note").await;
    upstream.push(&update("lib://note")).await;
    while heard.next().await.expect("an open stream") != update("lib://note") {}
    drop(daemon);

    let home = one(&upstream)
        .config(json!({"listen": "127.0.0.1:0"}))
        .home();
    let mut client = PipeClient::start(&home, &["serve", "--stdio", "--mode", "direct"]);
    client.open().await;
    client.wait_for_tool("up__echo").await;
    client.request(SUBSCRIBE, NOTE).await.result();
    upstream.push(&update("lib://note")).await;
    assert_eq!(client.notice(UPDATED).await, update("lib://note"));
}

#[tokio::test]
async fn a_question_before_the_answer_holds_no_subscription_up() {
    let upstream = described(FakeUpstream::http().answering(HttpAnswers::Sse))
        .on(SUBSCRIBE, ask("ping", "{}").then(reply("{}")))
        .await;
    let daemon = one(&upstream).await;
    let (client, mut stream) = ready(&daemon, "/mcp/server/up").await;
    subscribe(&client, "lib://note").await;
    upstream.push(&update("lib://note")).await;
    assert_eq!(stream.next_frame(UPDATED).await, update("lib://note"));
}
