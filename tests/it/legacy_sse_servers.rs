//! Servers over HTTP+SSE (2024-11-05): finding out what a server speaks, and what happens when its stream ends.

use serde_json::{Value, json};

use crate::support::{
    behaviours::*,
    client::TestClient,
    daemon::TestDaemon,
    fake_upstream::{FakeUpstream, plain_tool},
    patience::until_async,
    record::How,
};

async fn listed(daemon: &TestDaemon, tool: &str) -> TestClient {
    let client = daemon.client("/mcp/all").await;
    client.wait_for_tool(tool).await;
    client
}

async fn row(daemon: &TestDaemon, name: &str) -> Value {
    let rows = daemon.rest("GET", "/api/v1/servers", "").await.json();
    let rows = rows["servers"].as_array().expect("rows");
    let row = rows.iter().find(|row| row["name"] == name);
    row.cloned().expect("a row")
}

#[tokio::test]
async fn configured_headers_go_with_every_request() {
    let upstream = FakeUpstream::sse().tool("echo", echo()).start().await;
    let daemon = TestDaemon::builder()
        .upstream_with(
            "up",
            &upstream,
            json!({"headers": {"X-Key": "hunter2-hunter2"}}),
        )
        .start()
        .await;
    let client = listed(&daemon, "up__echo").await;
    client.call("up__echo", "{}").await.result();
    for seen in upstream.everything() {
        assert_eq!(seen.header("x-key"), Some("hunter2-hunter2"), "{seen:?}");
        assert_eq!(seen.header("mcp-session-id"), None);
        if seen.how == How::Get {
            assert_eq!(seen.header("accept"), Some("text/event-stream"));
        }
    }
    assert_eq!(row(&daemon, "up").await["state"], "Ready");
}

#[tokio::test]
async fn an_unknown_transport_is_found_out() {
    let old = FakeUpstream::sse().tool("echo", echo()).start().await;
    let new = FakeUpstream::http().tool("echo", echo()).start().await;
    let auto = json!({"type": "auto"});
    let daemon = TestDaemon::builder()
        .upstream_with("old", &old, auto.clone())
        .upstream_with("new", &new, auto)
        // By its address it may speak either.
        .entry("shape", json!({"url": old.url()}))
        .start()
        .await;
    let client = listed(&daemon, "old__echo").await;
    for tool in ["old__echo", "new__echo", "shape__echo"] {
        client.wait_for_tool(tool).await;
        client.call(tool, r#"{"n":1.0}"#).await.result();
    }
    // Nothing is tried on a server that speaks the newer one.
    let gets = new.everything().into_iter().filter(|e| e.how == How::Get);
    for get in gets {
        assert!(get.header("mcp-session-id").is_some(), "{get:?}");
    }
}

#[tokio::test]
async fn a_server_that_speaks_neither_is_told_both_failures() {
    let upstream = FakeUpstream::http().start().await;
    let absent = format!("http://{}/absent", upstream.address());
    let web_page = format!("http://{}/absent", upstream.address());
    let daemon = TestDaemon::builder()
        .entry("neither", json!({"url": absent, "type": "auto"}))
        .entry("older", json!({"url": web_page, "type": "sse"}))
        .start()
        .await;
    let error = async |name: &'static str| {
        until_async("the error", async || {
            let row = row(&daemon, name).await;
            row["last_error"].as_str().map(str::to_owned)
        })
        .await
    };
    let neither = error("neither").await;
    for part in ["Streamable HTTP", "HTTP+SSE", "404"] {
        assert!(neither.contains(part), "{part}: {neither}");
    }
    assert_eq!(neither.matches("404").count(), 2, "{neither}");
    let older = error("older").await;
    assert!(
        older.contains("404") && !older.contains("Streamable"),
        "{older}"
    );
}

#[tokio::test]
async fn a_lost_stream_fails_its_calls_and_the_next_call_works_in_a_new_session() {
    let upstream = FakeUpstream::sse()
        .tool("hang", hang())
        .tool("die", exit())
        .tool("fine", reply_text("fine"))
        .start()
        .await;
    let daemon = TestDaemon::builder()
        .upstream("frail", &upstream)
        .start()
        .await;
    let client = listed(&daemon, "frail__fine").await;
    let bystander = client.call("frail__hang", "{}");
    let culprit = async {
        upstream.wait_for("tools/call").await;
        client.call("frail__die", "{}").await
    };
    let (bystander, culprit) = tokio::join!(bystander, culprit);
    for reply in [bystander, culprit] {
        let failure = reply.failure();
        assert_eq!(failure["code"], "connection_lost", "{failure}");
        assert_eq!(failure["server"], "frail");
    }
    assert_eq!(client.call("frail__fine", "{}").await.text(), "fine");
    let calls = upstream.received("tools/call");
    assert_eq!(calls.len(), 3, "nothing is sent twice: {calls:?}");
    assert_eq!(upstream.received("initialize").len(), 2);
}

#[tokio::test]
async fn a_server_that_forgot_its_sessions_is_opened_again_without_notice() {
    let upstream = FakeUpstream::sse().tool("echo", echo()).start().await;
    let daemon = TestDaemon::with_upstream(&upstream).await;
    let client = listed(&daemon, "up__echo").await;
    client.call("up__echo", "{}").await.result();
    upstream.forget_sessions(404);
    // The stream has ended, too; a request that was under way just then would be lost with it.
    upstream.wait_for_count("initialize", 2).await;
    let again = client.call("up__echo", r#"{"again":1}"#).await;
    let result = again.result();
    assert!(!result.contains(r#""isError":true"#), "{result}");
}

#[tokio::test]
async fn a_server_that_is_down_is_named_and_comes_back() {
    let upstream = FakeUpstream::sse().tool("echo", echo()).start().await;
    let daemon = TestDaemon::with_upstream(&upstream).await;
    let client = listed(&daemon, "up__echo").await;
    upstream.refuse_connections(true);
    let failure = until_async("the failure", async || {
        let reply = client.call("up__echo", "{}").await;
        (reply.value()["isError"] == true).then(|| reply.failure())
    })
    .await;
    assert_eq!(failure["server"], "up", "{failure}");
    upstream.refuse_connections(false);
    until_async("the server to be back", async || {
        let reply = client.call("up__echo", "{}").await;
        (reply.value()["isError"] != true).then_some(())
    })
    .await;
}

#[tokio::test]
async fn what_a_server_says_of_its_own_accord_is_heard() {
    let upstream = FakeUpstream::sse().tool("old", echo()).start().await;
    let daemon = TestDaemon::with_upstream(&upstream).await;
    let client = listed(&daemon, "up__old").await;
    upstream
        .push(r#"{"jsonrpc":"2.0","id":"q1","method":"ping"}"#)
        .await;
    until_async("the answer to the server's ping", async || {
        let everything = upstream.everything();
        let answer = r#"{"jsonrpc":"2.0","id":"q1","result":{}}"#;
        everything
            .iter()
            .any(|seen| seen.body == answer)
            .then_some(())
    })
    .await;
    upstream.offer(&[(plain_tool("new"), echo())]).await;
    client.wait_for_tool("up__new").await;
}

#[tokio::test]
async fn a_client_that_leaves_cancels_its_call_upstream() {
    let upstream = FakeUpstream::sse().tool("hang", hang()).start().await;
    let daemon = TestDaemon::with_upstream(&upstream).await;
    let client = listed(&daemon, "up__hang").await;
    let mut call = Box::pin(client.call("up__hang", "{}"));
    tokio::select! {
        reply = &mut call => panic!("answered: {}", reply.frame),
        _ = upstream.wait_for("tools/call") => (),
    }
    drop(call);
    let cancelled = upstream.wait_for("notifications/cancelled").await;
    let call = upstream.received("tools/call").remove(0);
    let id = call
        .split_once(r#""id":"#)
        .and_then(|(_, rest)| rest.split(',').next())
        .expect("an id");
    let named = format!(r#""requestId":{id}"#);
    assert!(cancelled.body.contains(&named), "{} {call}", cancelled.body);
}

#[tokio::test]
async fn one_broken_answer_fails_its_call_only() {
    let upstream = FakeUpstream::sse()
        .tool("broken", malformed())
        .tool("huge", oversized(65 << 20))
        .tool("late", gate("go").then(reply_text("late")))
        .start()
        .await;
    let daemon = TestDaemon::builder()
        .upstream("odd", &upstream)
        .start()
        .await;
    let client = listed(&daemon, "odd__late").await;
    let late = client.call("odd__late", "{}");
    let others = async {
        upstream.wait_for("tools/call").await;
        for tool in ["odd__broken", "odd__huge"] {
            let failure = client.call(tool, "{}").await.failure();
            assert_eq!(failure["code"], "bad_upstream_answer", "{failure}");
        }
        upstream.open("go").await;
    };
    let (late, ()) = tokio::join!(late, others);
    assert_eq!(late.text(), "late");
    assert_eq!(upstream.received("initialize").len(), 1);
}
