//! Servers over HTTP that speak both eras: each client is served in its own where the server gives sessions.

use super::*;

const FORM: &str = r#"{"message":"Who?","requestedSchema":{}}"#;
const ABLE: &str = r#"{"elicitation":{"form":{}}}"#;
const NOTE: &str = r#"{"uri":"lib://note","name":"n"}"#;

fn of_both_eras() -> FakeUpstream {
    FakeUpstream::http()
        .speaking_both()
        .answering(HttpAnswers::Sse)
        .tool("echo", echo())
        .tool(
            "form",
            ask("elicitation/create", FORM).then(reply_with_answer()),
        )
        .resource(NOTE, reply(r#"{"contents":[]}"#))
}

async fn legacy(daemon: &TestDaemon, path: &str) -> TestClient {
    TestClient::speaking("2025-11-25")
        .declaring(ABLE)
        .connect(daemon, path)
        .await
}

/// Whether the latest call came in a session.
async fn last_call_had_a_session(upstream: &Upstream) -> bool {
    let calls = upstream.wait_for_count("tools/call", 1).await;
    let last = calls.last().expect("a call");
    last.header("mcp-session-id").is_some()
}

#[tokio::test]
async fn each_client_is_served_in_its_own_era() {
    let upstream = of_both_eras().await;
    let daemon = daemon_with(&upstream).await;
    let modern = ModernClient::able_to(&daemon, "/mcp/server/up", &json!({ "elicitation": {} }));
    modern.wait_for_tool("echo").await;
    assert!(upstream.received("initialize").is_empty(), "no need of it");
    for (path, prefix) in [("/mcp/server/up", ""), ("/mcp/all", "up__")] {
        let client = legacy(&daemon, path).await;
        let named = |name: &str| format!("{prefix}{name}");
        client.wait_for_tool(&named("form")).await;
        // Questions.
        let params = call_params(&named("form"), "{}");
        let mut call = client.start("tools/call", &params).await;
        let asked = call.next().await.expect("a question");
        let asked: Value = serde_json::from_str(&asked).expect("JSON");
        assert_eq!(asked["method"], "elicitation/create");
        client
            .respond(&asked["id"], r#"{"action":"decline"}"#)
            .await;
        has!(call.finish().await.text(), "decline");
        assert!(last_call_had_a_session(&upstream).await);
        // What changes.
        let mut news = client.listen().await;
        let subscribe = r#"{"uri":"lib://note"}"#;
        let subscribed = client.request("resources/subscribe", subscribe).await;
        assert_eq!(subscribed.result(), "{}");
        upstream
            .push(r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"lib://note"}}"#)
            .await;
        news.next_frame("notifications/resources/updated").await;
        let extra = format!("extra{}", path.len());
        let form = ask("elicitation/create", FORM).then(reply_with_answer());
        let tools = [
            ("echo", echo()),
            ("form", form),
            (&extra, reply_text("added")),
        ];
        let tools = tools.map(|(name, does)| (plain_tool(name), does));
        upstream.offer(&tools).await;
        news.next_frame("notifications/tools/list_changed").await;
        client.wait_for_tool(&named(&extra)).await;
        let added = client.call(&named(&extra), "{}").await;
        assert_eq!(added.text(), "added");
        // All the while the other era is as it was.
        has!(modern.call("echo", r#"{"n":1.10}"#).await.result(), "1.10");
        assert!(!last_call_had_a_session(&upstream).await);
        client.delete().await;
    }
}

#[tokio::test]
async fn what_was_found_out_is_kept_with_the_configuration() {
    let upstream = of_both_eras().await;
    let daemon = daemon_with(&upstream).await;
    let client = legacy(&daemon, "/mcp/server/up").await;
    client.wait_for_tool("echo").await;
    let home = daemon.shutdown().await;
    let known = std::fs::read_to_string(home.data_dir().join("catalog/up.habits"));
    has!(known.expect("what is known of the server"), "both-eras");
    let daemon = TestDaemon::start_in(home).await;
    let client = legacy(&daemon, "/mcp/server/up").await;
    has!(client.call("echo", "{}").await.result(), "content");
    assert!(last_call_had_a_session(&upstream).await);
}

#[tokio::test]
async fn where_it_gives_no_session_all_clients_are_served_without_a_handshake() {
    let upstream = of_both_eras().without_sessions().await;
    let daemon = daemon_with(&upstream).await;
    for _ in 0..2 {
        let client = legacy(&daemon, "/mcp/server/up").await;
        has!(client.call("echo", "{}").await.result(), "content");
        let calls = upstream.wait_for_count("tools/call", 1).await;
        assert_eq!(
            meta_of(calls.last().expect("a call"))[VERSION],
            modern::REVISION
        );
    }
    assert_eq!(upstream.received("initialize").len(), 1, "tried once");
}
