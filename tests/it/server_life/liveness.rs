//! Signs of life: who is asked for them, and what becomes of who gives none.

use crate::support::prelude::*;

#[tokio::test]
async fn a_server_that_hangs_is_found_out_and_started_anew() {
    for (revision, sign) in [
        ("2025-06-18", "ping"),
        (modern::REVISION, "server/discover"),
    ] {
        let upstream = FakeUpstream::stdio()
            .speaking(revision)
            .tool("echo", echo())
            .await;
        let daemon = TestDaemon::builder()
            .config(json!({"health_check_interval": "1s"}))
            .upstream_with("up", &upstream, json!({"start": "eager"}))
            .await;
        let client = daemon.client_of("up__echo").await;
        let signs = upstream.received(sign).len();
        upstream.wait_for_count(sign, signs + 2).await;
        assert_eq!(upstream.spawn_count(), 1, "{sign}");
        processes::stop(upstream.pids()[0]);
        until!(upstream.spawn_count() == 2);
        client.call("up__echo", r#"{"n":1}"#).await.result();
        assert!(!processes::runs(upstream.pids()[0]));
    }
}

#[tokio::test]
async fn a_server_that_does_not_know_pings_is_left_in_peace() {
    for upstream in FakeUpstream::of_each_transport() {
        let upstream = upstream.on("ping", hang()).tool("echo", echo()).await;
        let daemon = TestDaemon::builder()
            .config(json!({"health_check_interval": "1s", "tool_discovery_interval": "0s"}))
            .upstream_with(
                "up",
                &upstream,
                json!({"start": "eager", "idle_timeout": "never"}),
            )
            .await;
        let client = daemon.client_of("up__echo").await;
        // The first is the listing; the others are asked instead of pings.
        upstream.wait_for_count("tools/list", 3).await;
        assert_eq!(upstream.received("ping").len(), 1, "it is not pinged again");
        assert_eq!(upstream.received("initialize").len(), 1);
        client.call("up__echo", "{}").await.result();
    }
}

#[tokio::test]
async fn a_server_that_refuses_pings_lives() {
    for upstream in [FakeUpstream::stdio(), FakeUpstream::http()] {
        let upstream = upstream
            .on(
                "ping",
                error(r#"{"code":-32601,"message":"what is a ping?"}"#),
            )
            .tool("echo", echo())
            .await;
        let daemon = TestDaemon::builder()
            .config(json!({"health_check_interval": "1s"}))
            .upstream_with("up", &upstream, json!({"start": "eager"}))
            .await;
        daemon.client_of("up__echo").await;
        upstream.wait_for_count("ping", 2).await;
        assert_eq!(upstream.received("initialize").len(), 1);
    }
}
