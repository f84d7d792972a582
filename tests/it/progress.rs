//! What flows beside a call: progress, cancellation.

use std::convert::Infallible;

use crate::support::prelude::*;

#[tokio::test]
async fn progress_reaches_its_caller_with_its_own_token() {
    let upstreams = [
        FakeUpstream::stdio(),
        FakeUpstream::http().answering(HttpAnswers::Sse),
        FakeUpstream::http().answering(HttpAnswers::SseInPieces(3)),
    ];
    for upstream in upstreams {
        let upstream = upstream
            .tool(
                "work",
                progress(3).then(gate("go")).then(reply_text("done")),
            )
            .await;
        let daemon = TestDaemon::with_upstream(&upstream).await;
        let (a, b) = (
            daemon.client("/mcp/all").await,
            daemon.client("/mcp/all").await,
        );
        a.wait_for_tool("up__work").await;
        let work = async |client: &TestClient, token: &str| {
            let reply = client.call_with_progress("up__work", "{}", token).await;
            assert_eq!(reply.text(), "done");
            let heard: Vec<String> = reply.notices;
            assert_eq!(heard.len(), 3, "{heard:?}");
            for (n, frame) in heard.iter().enumerate() {
                let n = n + 1;
                let params = format!(
                    r#""params":{{"progressToken":{token},"progress":{n},"total":3,"vendor":1.10}}"#
                );
                assert!(frame.contains(&params), "{frame}");
            }
        };
        let open = async {
            upstream.wait_for_count("tools/call", 3).await;
            upstream.open("go").await;
        };
        // The same token from two clients, and a number beside texts.
        tokio::join!(work(&a, r#""t""#), work(&b, r#""t""#), work(&b, "17"), open);
    }
}

#[tokio::test]
async fn who_asked_for_progress_keeps_its_call_alive_also_where_it_cannot_be_told() {
    let upstream = FakeUpstream::stdio()
        .tool("work", progress(3).then(reply_text("done")))
        .await;
    let (daemon, client) = TestDaemon::before(&upstream, "work").await;
    let alone = TestClient::stateless(&daemon, "/mcp/all");
    let reply = alone.call_with_progress("up__work", "{}", "7").await;
    assert_eq!(reply.text(), "done");
    assert_eq!(reply.notices, [""; 0]);
    let body = r#"{"name":"up:work","variant":"write","args":{}}"#;
    let answer = daemon.rest("POST", "/api/v1/call", body).await;
    has!(answer.text(), "done");
    // Without a token nothing is streamed.
    let reply = client.call("up__work", "{}").await;
    assert_eq!((reply.text().as_str(), reply.notices.len()), ("done", 0));
    let calls = upstream.received("tools/call");
    let asked = calls
        .iter()
        .map(|call| call.contains(r#""progressToken":"p"#));
    assert_eq!(asked.collect::<Vec<_>>(), [true, true, false]);
}

#[tokio::test]
async fn a_client_that_leaves_cancels_its_call_upstream() {
    for (upstream, has_stream_of_its_own) in [
        (FakeUpstream::stdio(), false),
        (FakeUpstream::sse(), false),
        (FakeUpstream::http(), true),
    ] {
        let upstream = upstream.tool("hang", hang()).tool("fine", echo()).await;
        let (_daemon, client) = TestDaemon::before(&upstream, "hang").await;
        let params = call_params("up__hang", "{}");
        tokio::select! {
            reply = client.request("tools/call", &params) => panic!("{reply:?}"),
            _ = upstream.wait_for("tools/call") => (),
        }
        if has_stream_of_its_own {
            upstream.wait_for_event(How::Abandoned).await;
        }
        let cancelled = upstream.wait_for("notifications/cancelled").await;
        assert_eq!(
            request_id(&cancelled.body),
            call_id(&upstream.received("tools/call")[0])
        );
        client.call("up__fine", "{}").await.result();
        assert_eq!(upstream.received("initialize").len(), 1);
    }
}

#[tokio::test]
async fn a_cancelled_call_is_cancelled_upstream() {
    for upstream in [FakeUpstream::stdio(), FakeUpstream::http()] {
        let upstream = upstream.tool("hang", hang()).tool("fine", echo()).await;
        let (_daemon, client) = TestDaemon::before(&upstream, "hang").await;
        let params = call_params("up__hang", "{}");
        let cancel = async {
            upstream.wait_for("tools/call").await;
            let params = format!(r#"{{"requestId":{},"reason":"enough"}}"#, client.last_id());
            assert_eq!(
                client
                    .notify("notifications/cancelled", &params)
                    .await
                    .status,
                202
            );
            upstream.wait_for("notifications/cancelled").await
        };
        let cancelled = tokio::select! {
            cancelled = cancel => cancelled,
            never = send_and_forget(&client, &params) => match never {},
        };
        assert_eq!(
            request_id(&cancelled.body),
            call_id(&upstream.received("tools/call")[0])
        );
        client.call("up__fine", "{}").await.result();
    }
}

/// Sends a call whose answer may come, or never.
async fn send_and_forget(client: &TestClient, params: &str) -> Infallible {
    let _ = client.start("tools/call", params).await.next().await;
    std::future::pending().await
}

fn call_id(frame: &str) -> Value {
    let frame: Value = serde_json::from_str(frame).expect("a frame");
    frame["id"].clone()
}

fn request_id(frame: &str) -> Value {
    let frame: Value = serde_json::from_str(frame).expect("a frame");
    frame["params"]["requestId"].clone()
}

#[tokio::test]
async fn notifications_that_nobody_knows_reach_the_only_caller() {
    let vendor = r#"{"jsonrpc":"2.0","method":"notifications/vendor/news","params":{"n":1.10}}"#;
    for upstream in FakeUpstream::of_each_stream() {
        let upstream = upstream
            .tool("tell", notice(vendor).then(reply_text("done")))
            .await;
        let daemon = TestDaemon::with_upstream(&upstream).await;
        let client = daemon.client("/mcp/server/up").await;
        let reply = client.call("tell", "{}").await;
        assert_eq!(reply.notices, [vendor]);
        assert_eq!(reply.text(), "done");
    }
}
