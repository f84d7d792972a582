//! Servers as they are: every legacy revision, with and without sessions and streams, and chatty.

use futures_util::future::join_all;

use crate::support::prelude::*;

#[tokio::test]
async fn servers_of_every_legacy_revision_work() {
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        for upstream in [FakeUpstream::stdio(), FakeUpstream::http()] {
            let upstream = upstream.speaking(revision).tool("echo", echo()).await;
            let (_daemon, client) = TestDaemon::before(&upstream, "echo").await;
            client.call("up__echo", "{}").await.result();
            upstream.wait_for("notifications/initialized").await;
        }
    }
}

#[tokio::test]
async fn a_flood_of_questions_that_are_refused_is_one_line_in_the_log() {
    const QUESTIONS: usize = 40;

    let upstream = FakeUpstream::stdio().tool("echo", echo()).await;
    let daemon = DaemonProcess::with_upstream(&upstream).await;
    let _client = daemon.client_of("up__echo").await;
    for number in 0..QUESTIONS {
        // Roots are refused by another part than what is a client's to answer.
        let (method, params) = match number % 2 {
            0 => ("elicitation/create", r#"{"message":"?"}"#),
            _ => ("roots/list", "{}"),
        };
        let question = format!(
            r#"{{"jsonrpc":"2.0","id":"q{number}","method":"{method}","params":{params}}}"#
        );
        upstream.push(&question).await;
    }
    until("every refusal", || {
        let everything = upstream.everything();
        let refusals = everything
            .iter()
            .filter(|one| one.body.contains(r#""id":"q"#) && one.body.contains(r#""error""#));
        (refusals.count() == QUESTIONS).then_some(())
    })
    .await;
    let log = daemon.log();
    let lines = log.matches("question of the server refused").count();
    assert_eq!(lines, 1, "{log}");
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
    let closed = upstream.wait_for_event(How::Delete).await;
    assert_eq!(closed.header("mcp-session-id"), Some("fake-session-1"));
}
