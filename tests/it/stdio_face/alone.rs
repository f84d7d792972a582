//! `serve --stdio`: the daemon for the time of its client, unless one runs already.

use std::time::Instant;

use super::{ALONE, BRIDGE, SOON, builder, daemon_pid, opened, status, until_sessions};
use crate::support::prelude::*;

#[tokio::test]
async fn it_is_the_daemon_for_the_time_of_its_client_and_leaves_nothing_behind() {
    let upstream = FakeUpstream::stdio().tool("echo", echo()).await;
    let home = builder(&upstream).home();
    let mut client = opened(&home, ALONE).await;
    client.wait_for_tool("up__echo").await;
    client.call("up__echo", "{}").await.result();
    let said = status(&home).await.expect("its local socket is open");
    assert_eq!(said["pid"], client.pid());
    assert_eq!(said["listen"], json!([]), "no TCP");
    assert!(said["url"].is_null());
    let (_, _, text) = home.cli(&["start"]).await;
    has!(text, "listens only with --http");
    lacks!(text, "restart");
    let pids = upstream.alive();
    assert_eq!(pids.len(), 1);
    assert!(client.leave().await.success());
    assert!(!pids.iter().any(|pid| processes::runs(*pid)));
    assert!(status(&home).await.is_none());
}

#[tokio::test]
async fn with_an_address_it_serves_http_too() {
    let upstream = FakeUpstream::stdio().await;
    let home = builder(&upstream).home();
    let client = opened(&home, &["serve", "--stdio", "--http"]).await;
    let said = status(&home).await.expect("its local socket is open");
    assert!(said["listen"][0].is_string(), "{said}");
    assert!(client.leave().await.success());
}

#[tokio::test]
async fn it_ends_on_sigterm_after_what_runs() {
    let upstream = FakeUpstream::stdio()
        .tool("late", gate("go").then(reply_text("finished")))
        .await;
    let home = builder(&upstream).home();
    let mut client = opened(&home, ALONE).await;
    client.wait_for_tool("up__late").await;
    let late = client
        .ask("tools/call", &call_params("up__late", "{}"))
        .await;
    upstream.wait_for("tools/call").await;
    processes::terminate(client.pid());
    upstream.open("go").await;
    assert_eq!(client.answer(&late).await.text(), "finished");
    assert_eq!(client.line().await, None);
    assert!(client.wait().await.success());
    assert_eq!(upstream.alive(), [0; 0]);
}

#[tokio::test]
async fn one_that_finds_a_daemon_joins_it() {
    let upstream = FakeUpstream::stdio().tool("echo", echo()).await;
    let daemon = builder(&upstream).spawn().await;
    let mut first = opened(daemon.home(), ALONE).await;
    first.wait_for_tool("up__echo").await;
    let mut second = opened(daemon.home(), BRIDGE).await;
    let mut third = opened(daemon.home(), ALONE).await;
    for client in [&mut first, &mut second, &mut third] {
        client.call("up__echo", "{}").await.result();
    }
    assert_eq!(daemon_pid(daemon.home()).await, daemon.pid());
    assert_eq!(upstream.spawn_count(), 1);
    assert!(first.leave().await.success());
    second.call("up__echo", "{}").await.result();
    // One in the foreground stays.
    assert!(second.leave().await.success());
    assert!(third.leave().await.success());
    until_sessions(daemon.home(), 0).await;
    assert!(processes::runs(daemon.pid()));
}

#[tokio::test]
async fn later_ones_join_the_first_and_outlive_it() {
    let upstream = FakeUpstream::stdio().tool("echo", echo()).await;
    let home = builder(&upstream).home();
    let mut first = opened(&home, ALONE).await;
    first.wait_for_tool("up__echo").await;
    let mut second = opened(&home, BRIDGE).await;
    // An empty variable is no token.
    let mut joining = program(&home, &["serve", "--stdio"]);
    joining.env("MCPPROXY_TOKEN", "");
    let mut third = PipeClient::start_command(joining);
    third.open().await;
    for client in [&mut second, &mut third] {
        client.request("ping", "{}").await.result();
    }
    second.call("up__echo", "{}").await.result();
    assert_eq!(daemon_pid(&home).await, first.pid());
    assert_eq!(upstream.spawn_count(), 1);
    assert!(first.leave().await.success());
    second.call("up__echo", "{}").await.result();
    third.request("ping", "{}").await.result();
    assert_eq!(upstream.alive().len(), 1);
}

#[tokio::test]
async fn a_client_that_asks_nothing_is_left_at_once() {
    let upstream = FakeUpstream::stdio().await;
    let home = builder(&upstream).home();
    for arguments in [ALONE, BRIDGE] {
        let client = opened(&home, arguments).await;
        let began = Instant::now();
        assert!(client.leave().await.success());
        // Clients kill after two seconds; the test allows for a busy machine.
        assert!(began.elapsed() < SOON);
    }
}

#[tokio::test]
async fn a_faulty_configuration_is_named() {
    let upstream = FakeUpstream::stdio().await;
    let home = builder(&upstream).home();
    home.write_config("{ nonsense");
    let mut command = program(&home, ALONE);
    command
        .stdin(std::process::Stdio::null())
        .stderr(std::process::Stdio::piped());
    let done = command.output().await.expect("the program runs");
    assert_eq!((done.status.code(), done.stdout), (Some(1), Vec::new()));
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    has!(said, "line 1");

    // Who comes through a bridge hears it as an answer, and goes on when the file is mended.
    let mut client = PipeClient::start(&home, BRIDGE);
    let refused = client.open_speaking("2025-06-18").await.error_value();
    has!(refused["message"], "line 1");
    assert_eq!(refused["data"]["code"], "config_unusable");
    home.write_config(builder(&upstream).text());
    client.open().await;
    client.request("ping", "{}").await.result();
}
