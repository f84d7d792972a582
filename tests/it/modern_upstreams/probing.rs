//! How it is found out what a server speaks, once.

use super::daemon_with;
use crate::support::{
    behaviours::*,
    daemon::TestDaemon,
    fake_upstream::{FakeUpstream, Upstream},
    modern,
    script::UnknownMethods,
};

/// A daemon that has listed and called this server, which is then put aside.
async fn used(upstream: &Upstream) -> TestDaemon {
    let daemon = daemon_with(upstream).await;
    call(&daemon).await;
    daemon
}

async fn call(daemon: &TestDaemon) {
    let client = daemon.client("/mcp/all").await;
    client.wait_for_tool("up__echo").await;
    client.call("up__echo", r#"{"n":1.10}"#).await.result();
}

#[tokio::test]
async fn servers_with_a_handshake_are_asked_once_and_remembered() {
    for fate in [UnknownMethods::Refused, UnknownMethods::Ignored] {
        for upstream in [FakeUpstream::stdio(), FakeUpstream::http()] {
            let upstream = upstream
                .unknown_methods(fate)
                .tool("echo", echo())
                .without_sessions()
                .start()
                .await;
            let home = used(&upstream).await.shutdown().await;
            assert_eq!(upstream.received("server/discover").len(), 1);
            assert_eq!(upstream.received("initialize").len(), 1);
            call(&TestDaemon::start_in(home).await).await;
            assert_eq!(upstream.received("server/discover").len(), 1);
            assert_eq!(upstream.received("initialize").len(), 2);
            assert!(upstream.received("notifications/cancelled").is_empty());
        }
    }
}

#[tokio::test]
async fn a_server_that_ends_when_it_is_asked_is_started_again() {
    let upstream = FakeUpstream::stdio()
        .unknown_methods(UnknownMethods::Fatal)
        .tool("echo", echo())
        .start()
        .await;
    let home = used(&upstream).await.shutdown().await;
    assert_eq!(upstream.spawn_count(), 2);
    call(&TestDaemon::start_in(home).await).await;
    assert_eq!(upstream.spawn_count(), 3);
    assert_eq!(upstream.received("server/discover").len(), 1);
}

#[tokio::test]
async fn a_server_that_speaks_both_is_spoken_to_without_handshake() {
    for upstream in [FakeUpstream::stdio(), FakeUpstream::http()] {
        let upstream = upstream.speaking_both().tool("echo", echo()).start().await;
        let home = used(&upstream).await.shutdown().await;
        call(&TestDaemon::start_in(home).await).await;
        assert!(upstream.received("initialize").is_empty());
    }
}

/// The description comes late, when the handshake was offered already; it counts all the same.
#[tokio::test]
async fn a_server_that_starts_slowly_may_still_want_no_handshake() {
    let described = r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"public"}"#;
    let upstream = FakeUpstream::stdio()
        .speaking(modern::REVISION)
        .on("server/discover", gate("awake").then(reply(described)))
        .on("initialize", hang())
        .tool("echo", echo())
        .start()
        .await;
    let daemon = daemon_with(&upstream).await;
    upstream.wait_for("initialize").await;
    upstream.open("awake").await;
    call(&daemon).await;
    assert_eq!(upstream.spawn_count(), 1);
}

#[tokio::test]
async fn a_server_that_has_changed_its_mind_is_met_anew() {
    for upstream in [FakeUpstream::stdio(), FakeUpstream::http()] {
        let upstream = upstream.tool("echo", echo()).start().await;
        let home = used(&upstream).await.shutdown().await;
        upstream.speak(modern::REVISION).await;
        let daemon = TestDaemon::start_in(home).await;
        call(&daemon).await;
        assert_eq!(upstream.received("server/discover").len(), 2);
        let home = daemon.shutdown().await;
        upstream.speak("2025-11-25").await;
        call(&TestDaemon::start_in(home).await).await;
        assert_eq!(upstream.received("notifications/initialized").len(), 2);
    }
}

#[tokio::test]
async fn revisions_that_do_not_meet_are_named_on_both_sides() {
    for upstream in [FakeUpstream::stdio(), FakeUpstream::http()] {
        let upstream = upstream
            .speaking(modern::REVISION)
            .supporting(&["2031-01-01", "2032-02-02"])
            .start()
            .await;
        let daemon = daemon_with(&upstream).await;
        upstream.wait_for("server/discover").await;
        let reason = reason_of(&daemon).await;
        assert!(reason.contains("2031-01-01, 2032-02-02"), "{reason}");
        assert!(reason.contains(modern::REVISION), "{reason}");
        assert!(upstream.received("initialize").is_empty());
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
            .start()
            .await;
        call(&daemon_with(&upstream).await).await;
        assert_eq!(upstream.received("initialize").len(), 1);
    }
}

#[tokio::test]
async fn a_server_that_refuses_what_it_speaks_is_asked_once_more() {
    let refusal =
        r#"{"code":-32022,"message":"no","data":{"supported":["2026-07-28"],"requested":"x"}}"#;
    let upstream = FakeUpstream::stdio()
        .on("server/discover", error(refusal))
        .tool("echo", echo())
        .start()
        .await;
    let daemon = daemon_with(&upstream).await;
    upstream.wait_for_count("server/discover", 2).await;
    let reason = reason_of(&daemon).await;
    assert!(reason.contains("2026-07-28"), "{reason}");
    assert_eq!(upstream.received("initialize"), [""; 0]);
}

#[tokio::test]
async fn an_operator_can_have_a_server_asked_again() {
    let upstream = FakeUpstream::stdio().tool("echo", echo()).start().await;
    let daemon = used(&upstream).await;
    let answer = daemon.rest("POST", "/api/v1/servers/up/restart", "").await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(upstream.received("server/discover").len(), 2);
}

async fn reason_of(daemon: &TestDaemon) -> String {
    let mut found = String::new();
    crate::support::patience::until_async("a reason", async || {
        let servers = daemon.rest("GET", "/api/v1/servers", "").await;
        let servers: serde_json::Value = serde_json::from_str(servers.text()).ok()?;
        let text = servers.to_string();
        text.contains("speaks").then(|| found = text)
    })
    .await;
    found
}
