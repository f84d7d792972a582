//! How it is found out what a server speaks, once.

use super::daemon_with;
use crate::support::prelude::*;

/// A daemon that has listed and called this server, which is then put aside.
async fn used(upstream: &Upstream) -> TestDaemon {
    let daemon = daemon_with(upstream).await;
    call(&daemon).await;
    daemon
}

async fn call(daemon: &TestDaemon) {
    let client = daemon.client_of("up__echo").await;
    client.call("up__echo", r#"{"n":1.10}"#).await.result();
}

#[tokio::test]
async fn servers_with_a_handshake_are_asked_once_and_remembered() {
    for (fate, upstreams) in [
        (
            UnknownMethods::Refused,
            vec![FakeUpstream::stdio(), FakeUpstream::http()],
        ),
        (
            UnknownMethods::Ignored,
            vec![FakeUpstream::stdio(), FakeUpstream::http()],
        ),
        (UnknownMethods::Fatal, vec![FakeUpstream::stdio()]),
    ] {
        for upstream in upstreams {
            // Over pipes nobody asks: the handshake comes first.
            let questions = usize::from(!upstream.is_over_pipes());
            let upstream = upstream
                .unknown_methods(fate)
                .tool("echo", echo())
                .without_sessions()
                .without_stream()
                .await;
            let home = used(&upstream).await.shutdown().await;
            let called = upstream.wait_for("tools/call").await;
            assert_eq!(called.header("mcp-session-id"), None);
            assert_eq!(upstream.received("server/discover").len(), questions);
            assert_eq!(upstream.received("initialize").len(), 1);
            call(&TestDaemon::start_in(home).await).await;
            assert_eq!(upstream.received("server/discover").len(), questions);
            assert_eq!(upstream.received("initialize").len(), 2);
            assert!(upstream.received("notifications/cancelled").is_empty());
        }
    }
}

#[tokio::test]
async fn a_program_that_was_without_a_handshake_and_dies_of_the_question_gets_one_now() {
    let upstream = FakeUpstream::stdio()
        .speaking(modern::REVISION)
        .unknown_methods(UnknownMethods::Fatal)
        .tool("echo", echo())
        .await;
    let home = used(&upstream).await.shutdown().await;
    assert_eq!(upstream.spawn_count(), 1);
    upstream.speak("2025-11-25").await;
    call(&TestDaemon::start_in(home).await).await;
    assert_eq!(upstream.spawn_count(), 3);
    assert_eq!(upstream.received("server/discover").len(), 2);
}

/// Most servers of both eras can ask and tell their clients less without a handshake, and a process speaks one era.
#[tokio::test]
async fn a_program_that_speaks_both_is_opened_with_a_handshake() {
    let upstream = FakeUpstream::stdio().speaking_both();
    let upstream = upstream.tool("echo", echo()).await;
    let home = used(&upstream).await.shutdown().await;
    call(&TestDaemon::start_in(home).await).await;
    assert_eq!(upstream.received("server/discover"), [""; 0]);
}

#[tokio::test]
async fn the_configuration_says_how_a_server_that_speaks_both_is_opened() {
    for (era, other) in [("legacy", "server/discover"), ("modern", "initialize")] {
        for upstream in [FakeUpstream::stdio(), FakeUpstream::http()] {
            let upstream = upstream.speaking_both().tool("echo", echo()).await;
            let daemon = TestDaemon::builder()
                .upstream_with("up", &upstream, json!({"protocol_era": era}))
                .await;
            call(&daemon).await;
            assert_eq!(upstream.received(other), [""; 0], "{era}");
        }
    }
}

#[tokio::test]
async fn a_server_that_cannot_be_opened_as_configured_is_not_opened_otherwise() {
    for upstream in [FakeUpstream::stdio(), FakeUpstream::http()] {
        let upstream = upstream.tool("echo", echo()).await;
        let daemon = TestDaemon::builder()
            .upstream_with("up", &upstream, json!({"protocol_era": "modern"}))
            .await;
        let reason = reason_of(&daemon, "protocol_era").await;
        has!(reason, "it needs a handshake");
        assert_eq!(upstream.received("initialize"), [""; 0]);
    }
}

/// It refuses the handshake, and is asked what it wants instead without being started again.
#[tokio::test]
async fn a_program_without_a_handshake_is_started_once_and_remembered() {
    let upstream = FakeUpstream::stdio()
        .speaking(modern::REVISION)
        .tool("echo", echo())
        .await;
    let home = used(&upstream).await.shutdown().await;
    assert_eq!(upstream.spawn_count(), 1);
    assert_eq!(upstream.received("initialize").len(), 1);
    call(&TestDaemon::start_in(home).await).await;
    assert_eq!(upstream.spawn_count(), 2);
    assert_eq!(upstream.received("initialize").len(), 1);
}

#[tokio::test]
async fn a_program_that_ends_over_the_handshake_is_started_again_and_asked_first() {
    let upstream = FakeUpstream::stdio()
        .speaking(modern::REVISION)
        .on("initialize", exit())
        .tool("echo", echo())
        .await;
    let daemon = TestDaemon::with_upstream(&upstream).await;
    // What ends at once has failed; whether it would like to be asked is not found out by starting it over and over.
    let reason = reason_of(&daemon, "exited").await;
    has!(reason, "exited with code");
}

#[tokio::test]
async fn a_server_that_has_changed_its_mind_is_met_anew() {
    for upstream in [FakeUpstream::stdio(), FakeUpstream::http()] {
        let over_http = usize::from(!upstream.is_over_pipes());
        let upstream = upstream.tool("echo", echo()).await;
        let home = used(&upstream).await.shutdown().await;
        upstream.speak(modern::REVISION).await;
        let daemon = TestDaemon::start_in(home).await;
        call(&daemon).await;
        let asked = upstream.received("server/discover").len();
        assert_eq!(asked, 1 + over_http);
        let home = daemon.shutdown().await;
        upstream.speak("2025-11-25").await;
        call(&TestDaemon::start_in(home).await).await;
        // Over HTTP the client's own era may be tried, too, before it is known that there is no other any more.
        let opened = upstream.received("notifications/initialized").len();
        assert!((2..=2 + over_http).contains(&opened), "{opened}");
    }
}

#[tokio::test]
async fn revisions_that_do_not_meet_are_named_on_both_sides() {
    for upstream in [FakeUpstream::stdio(), FakeUpstream::http()] {
        let upstream = upstream
            .speaking(modern::REVISION)
            .supporting(&["2031-01-01", "2032-02-02"])
            .await;
        let daemon = daemon_with(&upstream).await;
        upstream.wait_for("server/discover").await;
        let reason = reason_of(&daemon, "speaks").await;
        has!(reason, "only the protocol revisions 2031-01-01, 2032-02-02");
        has!(reason, modern::REVISION);
        has!(reason, "\"update mcpproxy\"");
    }
}

/// A server that is asked for another revision names those it speaks: one with a handshake is good enough.
#[tokio::test]
async fn a_server_that_names_an_older_revision_gets_its_handshake() {
    let refusal = r#"{"code":-32022,"message":"no","data":{"supported":["2025-06-18","2031-01-01"],"requested":"x"}}"#;
    for upstream in [FakeUpstream::stdio(), FakeUpstream::http()] {
        let upstream = upstream
            .without_sessions()
            .on("server/discover", error(refusal))
            .tool("echo", echo())
            .await;
        call(&daemon_with(&upstream).await).await;
        assert_eq!(upstream.received("notifications/initialized").len(), 1);
    }
}

#[tokio::test]
async fn a_server_that_refuses_what_it_speaks_is_asked_once_more() {
    let refusal =
        r#"{"code":-32022,"message":"no","data":{"supported":["2026-07-28"],"requested":"x"}}"#;
    let upstream = FakeUpstream::stdio()
        .on("server/discover", error(refusal))
        .tool("echo", echo())
        .await;
    let daemon = TestDaemon::builder()
        .upstream_with("up", &upstream, json!({"protocol_era": "modern"}))
        .await;
    upstream.wait_for_count("server/discover", 2).await;
    let reason = reason_of(&daemon, "speaks").await;
    has!(
        reason,
        "speaks the protocol revision 2026-07-28, but refused it"
    );
    assert_eq!(upstream.received("initialize"), [""; 0]);
}

#[tokio::test]
async fn an_operator_can_have_a_server_asked_again() {
    let upstream = FakeUpstream::http().tool("echo", echo()).await;
    let daemon = used(&upstream).await;
    let answer = daemon.rest("POST", "/api/v1/servers/up/restart", "").await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(upstream.received("server/discover").len(), 2);
}

async fn reason_of(daemon: &TestDaemon, word: &str) -> String {
    let mut found = String::new();
    until_async("a reason", async || {
        let servers = daemon.rest("GET", "/api/v1/servers", "").await;
        let servers: Value = serde_json::from_str(servers.text()).ok()?;
        let text = servers.to_string();
        text.contains(word).then(|| found = text)
    })
    .await;
    found
}
