//! Servers over HTTP+SSE (2024-11-05): finding out what a server speaks, and what happens when its stream ends.

use crate::support::{prelude::*, script::HttpTrouble};

#[tokio::test]
async fn configured_headers_go_with_every_request() {
    let upstream = FakeUpstream::sse().tool("echo", echo()).await;
    let daemon = TestDaemon::builder()
        .upstream_with(
            "up",
            &upstream,
            json!({"headers": {"X-Key": "hunter2-hunter2"}}),
        )
        .await;
    let client = daemon.client_of("up__echo").await;
    client.call("up__echo", "{}").await.result();
    for seen in upstream.everything() {
        assert_eq!(seen.header("x-key"), Some("hunter2-hunter2"), "{seen:?}");
        assert_eq!(seen.header("mcp-session-id"), None);
        if seen.how == How::Get {
            assert_eq!(seen.header("accept"), Some("text/event-stream"));
        }
    }
    assert_eq!(daemon.row("up").await["state"], "Ready");
}

#[tokio::test]
async fn an_unknown_transport_is_found_out() {
    let old = FakeUpstream::sse().tool("echo", echo()).await;
    let new = FakeUpstream::http().tool("echo", echo()).await;
    let auto = json!({"type": "auto"});
    let daemon = TestDaemon::builder()
        .upstream_with("old", &old, auto.clone())
        .upstream_with("new", &new, auto)
        // By its address it may speak either.
        .entry("shape", json!({"url": old.url()}))
        .await;
    let client = daemon.client_of("old__echo").await;
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
    let upstream = FakeUpstream::http().await;
    let absent = format!("http://{}/absent", upstream.address());
    let web_page = format!("http://{}/absent", upstream.address());
    let daemon = TestDaemon::builder()
        .entry("neither", json!({"url": absent, "type": "auto"}))
        .entry("older", json!({"url": web_page, "type": "sse"}))
        .await;
    let error = async |name: &'static str| {
        until_async("the error", async || {
            let row = daemon.row(name).await;
            row["last_error"].as_str().map(str::to_owned)
        })
        .await
    };
    let neither = error("neither").await;
    for part in ["Streamable HTTP", "HTTP+SSE", "404"] {
        has!(neither, part, "{part}");
    }
    assert_eq!(neither.matches("404").count(), 2, "{neither}");
    let older = error("older").await;
    has!(older, "404");
    lacks!(older, "Streamable");
}

#[tokio::test]
async fn one_that_opens_the_stream_and_takes_no_message_is_told_by_that_alone() {
    let upstream = FakeUpstream::sse().await;
    let refuse = HttpTrouble::Refused(404);
    upstream
        .change(|script| script.http.trouble = Some(refuse))
        .await;
    let auto = json!({"type": "auto"});
    let daemon = TestDaemon::builder()
        .upstream_with("up", &upstream, auto)
        .await;
    let row = until_async("the error", async || {
        let row = daemon.row("up").await;
        row["reason"].is_string().then_some(row)
    })
    .await;
    let reason = r#"session lost: the server answered HTTP 404: "trouble""#;
    assert_eq!(row["reason"], reason);
    has!(row["next_step"], "read the log on its host");
}
