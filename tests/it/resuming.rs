//! Streams that a client loses and takes up again.

use crate::support::{prelude::*, sse::Event};

const LINE: &str =
    r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}"#;

fn called(tool: &str) -> String {
    json!({"name": tool, "arguments": {}}).to_string()
}

async fn daemon() -> (Upstream, TestDaemon) {
    let work = notice(LINE)
        .then(gate("second"))
        .then(notice(LINE))
        .then(gate("end"))
        .then(reply_text("done"));
    let upstream = FakeUpstream::stdio()
        .tool("work", work)
        .tool("hang", notice(LINE).then(hang()))
        .await;
    let daemon = TestDaemon::with_upstream(&upstream).await;
    (upstream, daemon)
}

async fn speaking(daemon: &TestDaemon, revision: &str) -> TestClient {
    let client = TestClient::speaking(revision);
    let client = client.connect(daemon, "/mcp/all").await;
    client.wait_for_tool("up__work").await;
    client
}

async fn next(stream: &mut EventStream) -> Event {
    stream.next().await.expect("an open stream")
}

fn id(event: &Event) -> &str {
    event.id.as_deref().expect("an event with an id")
}

async fn resumed(client: &TestClient, last_event: &str) -> EventStream {
    let answer = client.resume(last_event).await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("content-type"), "text/event-stream");
    EventStream::new(answer)
}

#[tokio::test]
async fn a_client_that_lost_its_stream_gets_the_rest_and_the_answer() {
    for revision in ["2025-03-26", "2025-06-18", "2025-11-25"] {
        let (upstream, daemon) = daemon().await;
        let client = speaking(&daemon, revision).await;
        let mut stream = client.stream("tools/call", &called("up__work")).await;
        let mut seen = next(&mut stream).await;
        if revision == "2025-11-25" {
            assert_eq!(
                seen.data, "",
                "a priming event, which is enough to come back"
            );
            drop(stream);
            stream = resumed(&client, id(&seen)).await;
            seen = next(&mut stream).await;
        }
        assert_eq!(seen.data, LINE);
        drop(stream);
        upstream.open("second").await;
        let mut stream = resumed(&client, id(&seen)).await;
        let second = next(&mut stream).await;
        assert_eq!(second.data, LINE);
        assert_ne!(id(&second), id(&seen));
        drop(stream);
        // The answer comes while nobody is there.
        upstream.open("end").await;
        let mut stream = resumed(&client, id(&second)).await;
        let answer = next(&mut stream).await;
        has!(answer.data, "done");
        assert!(stream.next().await.is_none());
        // It may have been lost on the way; then it comes again, and everything after the first line with it.
        let mut stream = resumed(&client, id(&seen)).await;
        assert_eq!(next(&mut stream).await, second);
        assert_eq!(next(&mut stream).await, answer);
        assert!(stream.next().await.is_none());
        assert_eq!(upstream.received("tools/call").len(), 1);
        assert_eq!(upstream.received("notifications/cancelled"), [""; 0]);
    }
}

#[tokio::test]
async fn an_event_leads_to_its_own_stream_and_session_only() {
    let (_upstream, daemon) = daemon().await;
    let client = speaking(&daemon, "2025-06-18").await;
    let other = speaking(&daemon, "2025-06-18").await;
    let mut stream = client.stream("tools/call", &called("up__hang")).await;
    let seen = next(&mut stream).await;
    let (name, _) = id(&seen).rsplit_once('-').expect("an id of ours");
    let never_sent = format!("{name}-7");
    for (who, event) in [
        (&other, id(&seen)),
        (&client, &never_sent),
        (&client, "nonsense"),
    ] {
        let answer = who.resume(event).await;
        assert_eq!(answer.status, 400, "{event}");
        let error = answer.whole().await.json();
        assert_eq!(error["error"]["code"], -32600);
        let said = error["error"]["message"].to_string();
        assert!(said.contains("may have run"), "{said}");
    }
    // Who takes a stream up ends the connection that had it.
    let _again = resumed(&client, id(&seen)).await;
    assert!(stream.next().await.is_none());
}

#[tokio::test]
async fn what_happened_while_a_client_was_away_is_told_when_it_is_back() {
    for revision in ["2025-06-18", "2025-11-25"] {
        let (upstream, daemon) = daemon().await;
        let client = speaking(&daemon, revision).await;
        let mut stream = client.listen().await;
        if revision == "2025-11-25" {
            assert_eq!(next(&mut stream).await.data, "");
        }
        let names = ["work", "a", "b"];
        let tools = names.map(|name| (plain_tool(name), echo()));
        upstream.offer(&tools[..2]).await;
        let seen = next(&mut stream).await;
        has!(seen.data, "tools/list_changed");
        drop(stream);
        upstream.offer(&tools).await;
        client.wait_for_tool("up__b").await;
        let mut stream = resumed(&client, id(&seen)).await;
        let missed = next(&mut stream).await;
        has!(missed.data, "tools/list_changed");
        assert_ne!(id(&missed), id(&seen));
        upstream.offer(&tools[..1]).await;
        let later = next(&mut stream).await;
        assert!(id(&later) != id(&missed) && id(&later) != id(&seen));
    }
}

#[tokio::test]
async fn a_request_whose_stream_was_lost_can_be_withdrawn() {
    for by_name in [true, false] {
        let (upstream, daemon) = daemon().await;
        let client = speaking(&daemon, "2025-11-25").await;
        let mut stream = client.stream("tools/call", &called("up__hang")).await;
        next(&mut stream).await;
        drop(stream);
        if by_name {
            let params = format!(r#"{{"requestId":{}}}"#, client.last_id());
            client.notify("notifications/cancelled", &params).await;
        } else {
            client.delete().await;
        }
        upstream.wait_for("notifications/cancelled").await;
    }
}

#[tokio::test]
async fn only_sessions_that_know_how_get_ids() {
    let (upstream, daemon) = daemon().await;
    upstream.open("second").await;
    upstream.open("end").await;
    let old = speaking(&daemon, "2024-11-05").await;
    let mut stream = old.stream("tools/call", &called("up__work")).await;
    while let Some(event) = stream.next().await {
        assert_eq!(event.id, None);
    }
    let modern = ModernClient::new(&daemon, "/mcp/all");
    let mut stream = modern.listen(r#"{"toolsListChanged":true}"#).await;
    assert_eq!(next(&mut stream).await.id, None);
}
