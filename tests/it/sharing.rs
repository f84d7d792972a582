//! Many clients, one process per server.

use futures_util::future::join_all;

use crate::support::{behaviours::*, daemon::TestDaemon, fake_upstream::FakeUpstream};

#[tokio::test]
async fn ten_clients_share_one_child() {
    let upstream = FakeUpstream::stdio().tool("echo", echo()).await;
    let daemon = TestDaemon::with_upstream(&upstream).await;
    daemon.wait_for_tool("up__echo").await;
    let clients = join_all((0..10).map(|_| daemon.client("/mcp/all"))).await;
    let calls = clients
        .iter()
        .map(|client| client.call("up__echo", r#"{"n":1.0}"#));
    for reply in join_all(calls).await {
        assert!(reply.result().contains(r#"{"n":1.0}"#));
    }
    let natives = join_all((0..10).map(|_| daemon.client("/mcp/server/up"))).await;
    for reply in join_all(natives.iter().map(|client| client.call("echo", "{}"))).await {
        reply.result();
    }
    assert_eq!(upstream.spawn_count(), 1);
    assert_eq!(upstream.received("initialize").len(), 1);
}

#[tokio::test]
async fn many_first_calls_wake_a_sleeping_server_once() {
    let upstream = FakeUpstream::stdio().tool("echo", echo()).await;
    let daemon = TestDaemon::with_upstream(&upstream).await;
    daemon.wait_for_tool("up__echo").await;
    let home = daemon.shutdown().await;
    upstream.wait_for_children(0).await;

    let daemon = TestDaemon::start_in(home).await;
    let client = daemon.client("/mcp/all").await;
    assert_eq!(client.tool_names().await, ["up__echo"]);
    assert_eq!(upstream.spawn_count(), 1, "listing starts nothing");

    let calls = (0..200).map(|n| {
        let client = &client;
        async move { client.call("up__echo", &format!(r#"{{"n":{n}}}"#)).await }
    });
    for (n, reply) in join_all(calls).await.iter().enumerate() {
        assert_eq!(
            reply.value()["structuredContent"]["n"],
            n,
            "{}",
            reply.frame
        );
    }
    assert_eq!(upstream.spawn_count(), 2);
}

#[tokio::test]
async fn calls_of_different_clients_do_not_cross() {
    let upstream = FakeUpstream::stdio()
        .tool("echo", echo())
        .tool("late", gate("go").then(echo()))
        .await;
    let daemon = TestDaemon::with_upstream(&upstream).await;
    let (a, b) = (
        daemon.client("/mcp/all").await,
        daemon.client("/mcp/all").await,
    );
    a.wait_for_tool("up__echo").await;
    let late = a.call("up__late", r#"{"who":"a"}"#);
    let quick = async {
        upstream.wait_for("tools/call").await;
        // Both clients number their requests alike.
        let reply = b.call("up__echo", r#"{"who":"b"}"#).await;
        upstream.open("go").await;
        reply
    };
    let (late, quick) = tokio::join!(late, quick);
    assert_eq!(late.value()["structuredContent"]["who"], "a");
    assert_eq!(quick.value()["structuredContent"]["who"], "b");
}

#[tokio::test]
async fn servers_over_http_are_opened_once_and_closed_politely() {
    let upstream = FakeUpstream::http().tool("echo", echo()).await;
    let daemon = TestDaemon::with_upstream(&upstream).await;
    let clients = join_all((0..10).map(|_| daemon.client("/mcp/all"))).await;
    clients[0].wait_for_tool("up__echo").await;
    for reply in join_all(clients.iter().map(|client| client.call("up__echo", "{}"))).await {
        reply.result();
    }
    assert_eq!(upstream.received("initialize").len(), 1);
    daemon.shutdown().await;
    let closed = upstream
        .wait_for_event(crate::support::record::How::Delete)
        .await;
    assert_eq!(closed.header("mcp-session-id"), Some("fake-session-1"));
}
