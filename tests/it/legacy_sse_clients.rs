//! Clients over HTTP+SSE (2024-11-05): where their streams are, what comes on them, and what is left when they go.

use futures_util::future::join_all;

use crate::support::{feed::Feed, prelude::*};

const EVENTS: (&str, &str) = ("accept", "text/event-stream");

async fn daemon() -> (Upstream, TestDaemon) {
    let upstream = FakeUpstream::stdio()
        .tool("echo", echo())
        .tool("late", gate("go").then(echo()))
        .tool("hang", hang())
        .await;
    let (daemon, client) = TestDaemon::before(&upstream, "echo").await;
    client.delete().await;
    (upstream, daemon)
}

async fn post(daemon: &TestDaemon, path: &str, body: &str) -> HttpAnswer {
    http::send(daemon.address(), "POST", path, &[JSON], body.to_owned()).await
}

async fn active_clients(daemon: &TestDaemon) -> u64 {
    let health = daemon.get("/health").await.json();
    health["active_clients"].as_u64().expect("a number")
}

async fn wait_for_clients(daemon: &TestDaemon, count: u64) {
    until!(active_clients(daemon).await == count, "{count} clients");
}

#[tokio::test]
async fn every_endpoint_has_a_stream() {
    let (_upstream, daemon) = daemon().await;
    for (path, endpoint) in [
        ("/sse", "/mcp"),
        ("/mcp/sse", "/mcp"),
        ("/mcp", "/mcp"),
        ("/mcp/all/sse", "/mcp/all"),
        ("/mcp/all", "/mcp/all"),
        ("/mcp/call/sse", "/mcp/call"),
        ("/mcp/server/up/sse", "/mcp/server/up"),
        ("/mcp/server/up", "/mcp/server/up"),
    ] {
        let feed = Feed::open(daemon.address(), path).await;
        let (post_path, session) = feed.address.split_once("?session_id=").expect("a session");
        assert_eq!(post_path, endpoint, "{path}");
        assert!(uuid::Uuid::parse_str(session).is_ok(), "{session}");
        let client = TestClient::speaking("2024-11-05").over_sse();
        let client = client.connect(&daemon, path).await;
        let opened: Value = serde_json::from_str(&client.initialized).expect("JSON");
        assert_eq!(opened["protocolVersion"], "2024-11-05", "{path}");
        let names = client.tool_names().await;
        let expected = match endpoint {
            "/mcp/all" => "up__echo",
            "/mcp/server/up" => "echo",
            _ => "retrieve_tools",
        };
        assert!(names.iter().any(|name| name == expected), "{names:?}");
    }
    // A client may post to where its stream is, too.
    let feed = Feed::open(daemon.address(), "/sse").await;
    let mut heard = feed.hear();
    let beside = feed.address.replace("/mcp?", "/sse?");
    assert_eq!(post(&daemon, &beside, PING).await.status, 202);
    assert_eq!(
        heard.next().await.as_deref(),
        Some(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#)
    );
}

#[tokio::test]
async fn a_stream_is_not_for_everybody() {
    let (_upstream, daemon) = daemon().await;
    let get = async |path: &'static str, headers: &[(&str, &str)]| {
        let answer = http::open(daemon.address(), "GET", path, headers, "").await;
        (answer.status, answer.header("content-type").to_owned())
    };
    let page = ("accept", "text/html,*/*;q=0.8");
    assert_eq!(get("/mcp/all", &[page]).await.0, 405);
    let revision = ("mcp-protocol-version", "2025-06-18");
    assert_eq!(get("/mcp/all", &[EVENTS, revision]).await.0, 405);
    let session = ("mcp-session-id", "x");
    assert_eq!(get("/mcp/all", &[EVENTS, session]).await.0, 404);
    assert_eq!(get("/mcp/server/absent/sse", &[EVENTS]).await.0, 404);
    assert_eq!(
        get("/sse", &[EVENTS, ("origin", "http://evil.example")])
            .await
            .0,
        403
    );
    for path in ["/mcp/all/sse", "/mcp/all"] {
        let plain = get(path, &[("accept", "*/*")]).await;
        assert_eq!(plain, (200, "text/event-stream".to_owned()), "{path}");
    }
    // Clients that try Streamable HTTP first go on when they see this.
    let answer = post(&daemon, "/sse", PING).await;
    assert_eq!((answer.status, answer.header("allow")), (405, "GET"));
    wait_for_clients(&daemon, 0).await;
}

#[tokio::test]
async fn a_post_says_by_its_status_what_is_wrong_with_it() {
    let (_upstream, daemon) = daemon().await;
    let feed = Feed::open(daemon.address(), "/mcp/all/sse").await;
    for (body, status, code) in [
        ("{", 400, -32700),
        ("", 400, -32700),
        ("7", 400, -32600),
        (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, 400, -32600),
        ("[]", 400, -32600),
    ] {
        let answer = post(&daemon, &feed.address, body).await;
        assert_eq!(answer.status, status, "{body}");
        assert_eq!(answer.json()["error"]["code"], code, "{body}");
    }
    for strange in [
        "/mcp/all?session_id=".to_owned(),
        "/mcp/all?session_id=550e8400-e29b-41d4-a716-446655440000".to_owned(),
        // A session belongs to its endpoint.
        feed.address.replace("/all", ""),
    ] {
        let answer = post(&daemon, &strange, PING).await;
        assert_eq!(answer.status, 404, "{strange}");
        assert_eq!(answer.json()["error"]["code"], -32001);
        has!(answer.text(), "Open a new stream with GET");
    }
    // Nor is it one of Streamable HTTP, or the other way round.
    let id = feed.address.rsplit('=').next().expect("an id");
    let client = TestClient::stateless(&daemon, "/mcp/all");
    let headers = [JSON, ("mcp-session-id", id)];
    assert_eq!(client.raw_post(&headers, PING).await.status, 404);
    let streamable = daemon.client("/mcp/all").await;
    let address = format!("/mcp/all?session_id={}", streamable.session());
    assert_eq!(post(&daemon, &address, PING).await.status, 404);
}

#[tokio::test]
async fn requests_run_at_once_and_a_post_waits_for_none() {
    let (upstream, daemon) = daemon().await;
    let client = daemon.sse_client("/mcp/all/sse").await;
    let late = client
        .start("tools/call", r#"{"name":"up__late","arguments":{"n":1}}"#)
        .await;
    upstream.wait_for("tools/call").await;
    let quick = client.call("up__echo", r#"{"n":2}"#).await;
    assert_eq!(quick.value()["structuredContent"]["n"], 2);
    upstream.open("go").await;
    let late = late.finish().await;
    assert_eq!(late.value()["structuredContent"]["n"], 1);
}

#[tokio::test]
async fn a_client_that_leaves_cancels_its_requests_and_is_forgotten() {
    let (upstream, daemon) = daemon().await;
    let client = daemon.sse_client("/mcp/all/sse").await;
    let address = client.path().to_owned();
    assert_eq!(active_clients(&daemon).await, 1);
    let params = r#"{"name":"up__hang","arguments":{}}"#;
    for _ in 0..3 {
        client.start("tools/call", params).await;
    }
    upstream.wait_for_count("tools/call", 3).await;
    drop(client);
    upstream.wait_for_count("notifications/cancelled", 3).await;
    wait_for_clients(&daemon, 0).await;
    assert_eq!(post(&daemon, &address, PING).await.status, 404);
}

#[tokio::test]
async fn a_client_that_never_waits_is_told_to() {
    let (upstream, daemon) = daemon().await;
    let client = daemon.sse_client("/mcp/all/sse").await;
    let params = r#"{"name":"up__hang","arguments":{}}"#;
    let post_all = (0..256).map(|_| client.start("tools/call", params));
    let hanging = join_all(post_all).await;
    upstream.wait_for_count("tools/call", 256).await;
    let refused = client.request("ping", "{}").await;
    assert_eq!(refused.error_code(), -32603);
    has!(refused.error(), "overloaded", "{}", refused.frame);
    // What frees a place still comes through.
    let cancel = client.notify("notifications/cancelled", r#"{"requestId":2}"#);
    assert_eq!(cancel.await.status, 202);
    upstream.wait_for("notifications/cancelled").await;
    until_async("a place", async || {
        let reply = client.request("ping", "{}").await;
        reply.frame.contains("result").then_some(())
    })
    .await;
    drop(hanging);
}

#[tokio::test]
async fn a_client_that_does_not_read_is_given_up() {
    let upstream = FakeUpstream::stdio()
        .tool("large", oversized(8 << 20))
        .await;
    let (daemon, client) = TestDaemon::before(&upstream, "large").await;
    // Opened and never read: what the sockets do not hold waits in the daemon.
    let mut silent = http::open(daemon.address(), "GET", "/mcp/all/sse", &[EVENTS], "").await;
    let first = silent.next().await.expect("an event");
    let first = String::from_utf8_lossy(&first).into_owned();
    let address = first.trim().rsplit("data: ").next().expect("an address");
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"up__large","arguments":{}}}"#;
    let refused = until_async("the session to end", async || {
        let answer = post(&daemon, address, call).await;
        (answer.status != 202).then_some(answer)
    })
    .await;
    assert_eq!(refused.status, 404);
    // Others are not concerned.
    client.call("up__large", "{}").await.result();
}

#[tokio::test]
async fn batches_are_answered_member_by_member() {
    let (_upstream, daemon) = daemon().await;
    let batch = r#"[{"jsonrpc":"2.0","id":"a","method":"ping"},{"jsonrpc":"2.0","method":"notifications/x"},7,{"jsonrpc":"2.0","id":"b","method":"ping"}]"#;
    let client = TestClient::speaking("2025-03-26").over_sse();
    let client = client.connect(&daemon, "/mcp/all/sse").await;
    let mut heard = client.hear();
    assert_eq!(post(&daemon, client.path(), batch).await.status, 202);
    let mut answers = Vec::new();
    for _ in 0..3 {
        answers.push(heard.next().await.expect("an answer"));
    }
    answers.sort();
    has!(answers[0], r#""id":"a""#, "{answers:?}");
    has!(answers[1], r#""id":"b""#, "{answers:?}");
    has!(answers[2], "-32600", "{answers:?}");
    let client = daemon.sse_client("/mcp/all/sse").await;
    assert_eq!(post(&daemon, client.path(), batch).await.status, 400);
}

#[tokio::test]
async fn at_the_end_unanswered_requests_are_answered_and_the_streams_end() {
    let (upstream, daemon) = daemon().await;
    let idle = daemon.sse_client("/mcp/all/sse").await;
    let busy = daemon.sse_client("/mcp/all/sse").await;
    let (mut idle, mut heard) = (idle.hear(), busy.hear());
    let params = r#"{"name":"up__late","arguments":{"n":1}}"#;
    let late = busy.start("tools/call", params).await;
    upstream.wait_for("tools/call").await;
    let ending = daemon.shutdown();
    let watching = async {
        assert_eq!(idle.next().await, None);
        upstream.open("go").await;
        assert!(late.finish().await.text().contains('1'));
        assert!(heard.next().await.is_some());
        assert_eq!(heard.next().await, None);
    };
    tokio::join!(ending, watching);
}

#[tokio::test]
async fn hundreds_of_clients_that_vanish_leave_nothing() {
    let (_upstream, daemon) = daemon().await;
    let n_tasks = || {
        tokio::runtime::Handle::current()
            .metrics()
            .num_alive_tasks()
    };
    let settled = async || {
        wait_for_clients(&daemon, 0).await;
        let (mut least, mut same) = (n_tasks(), 0);
        // Connections of this test end a moment after their answers.
        until("the tasks to settle", || {
            same = if n_tasks() == least { same + 1 } else { 0 };
            least = n_tasks();
            (same == 20).then_some(least)
        })
        .await
    };
    let base = settled().await;
    for _ in 0..2 {
        let connect = (0..300).map(|n| {
            let daemon = &daemon;
            async move {
                let client = daemon.sse_client("/mcp/all/sse").await;
                if n % 2 == 0 {
                    let params = r#"{"name":"up__hang","arguments":{}}"#;
                    client.start("tools/call", params).await;
                }
                client
            }
        });
        let clients = join_all(connect).await;
        assert_eq!(active_clients(&daemon).await, 300);
        assert!(n_tasks() >= base + 300);
        drop(clients);
        assert!(settled().await <= base, "tasks are left");
    }
    daemon.shutdown().await;
}
