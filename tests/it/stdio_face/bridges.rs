//! `stdio`: many clients, one daemon, which comes with the first and goes after the last.

use std::{net::TcpListener, path::Path};

use super::{BRIDGE, builder, daemon_pid, opened, status, until_ended, until_sessions};
use crate::support::prelude::*;

/// Stands in the environment of every process of one test.
const MARK: &str = "MCPPROXY_TEST_MARK";

#[tokio::test]
async fn ten_at_once_start_one_daemon_and_each_upstream_once() {
    let upstream = FakeUpstream::stdio().tool("echo", echo()).await;
    let home = builder(&upstream).home();
    let mark = uuid::Uuid::new_v4().to_string();
    let mut clients: Vec<PipeClient> = (0..10)
        .map(|_| {
            let mut command = program(&home, BRIDGE);
            command.env(MARK, &mark);
            PipeClient::start_command(command)
        })
        .collect();
    for client in &mut clients {
        client.open().await;
    }
    for client in &mut clients {
        client.wait_for_tool("up__echo").await;
        client.call("up__echo", r#"{"a":1}"#).await.result();
    }
    until_sessions(&home, 10).await;
    assert_eq!(upstream.spawn_count(), 1);
    let daemon = daemon_pid(&home).await;
    let bridges: Vec<u32> = clients.iter().map(PipeClient::pid).collect();
    if Path::new("/proc").exists() {
        // Those that lost the race may take a moment to end.
        until("one daemon, what watches it, and ten bridges", || {
            let mut running = processes::marked(MARK, &mark);
            running.retain(|pid| !bridges.contains(pid));
            (running.len() == 2 && running.contains(&daemon)).then_some(())
        })
        .await;
    }
    for client in clients {
        assert!(client.leave().await.success());
    }
    until_ended(daemon).await;
    assert_eq!(upstream.alive(), [0; 0]);
    until("nothing that runs", || {
        processes::marked(MARK, &mark).is_empty().then_some(())
    })
    .await;
}

#[tokio::test]
async fn the_daemon_stays_as_long_as_somebody_is_there() {
    let upstream = FakeUpstream::stdio().tool("echo", echo()).await;
    let home = builder(&upstream).home();
    let first = opened(&home, BRIDGE).await;
    let daemon = daemon_pid(&home).await;
    let second = opened(&home, BRIDGE).await;
    assert!(first.leave().await.success());
    // Somebody who came over HTTP counts as well, also while no connection is open.
    let said = status(&home).await.expect("it runs");
    let address = said["listen"][0].as_str().expect("it listens");
    let address: std::net::SocketAddr = address.parse().expect("an address");
    let over_http = TestClient::speaking("2025-06-18")
        .connect(&address, "/mcp/all")
        .await;
    assert!(second.leave().await.success());
    until_sessions(&home, 1).await;
    over_http.wait_for_tool("up__echo").await;
    assert_eq!(daemon_pid(&home).await, daemon);
    assert_eq!(over_http.delete().await.status, 204);
    until_ended(daemon).await;
}

#[tokio::test]
async fn the_daemon_is_nobodys_child_and_keeps_a_log() {
    let upstream = FakeUpstream::stdio().await;
    let home = builder(&upstream).home();
    let client = opened(&home, BRIDGE).await;
    let daemon = daemon_pid(&home).await;
    if let Ok(stat) = std::fs::read_to_string(format!("/proc/{daemon}/stat")) {
        let (_, fields) = stat.rsplit_once(')').expect("a name in brackets");
        let numbers: Vec<i64> = fields.split_whitespace().flat_map(str::parse).collect();
        let (parent, group, session, terminal) = (numbers[0], numbers[1], numbers[2], numbers[3]);
        let own = i64::from(std::process::id());
        assert_ne!(parent, i64::from(client.pid()));
        assert_ne!(parent, own);
        assert_ne!(group, i64::from(client.pid()));
        assert_ne!(session, own);
        assert_eq!(terminal, 0);
    }
    assert!(client.leave().await.success());
    until_ended(daemon).await;
    let log = home.data_dir().join("logs").join("daemon.log");
    let text = std::fs::read_to_string(log).expect("a log");
    has!(text, "mcpproxy is ready");
    has!(text, "idle for a while");
}

#[tokio::test]
async fn a_port_that_is_taken_is_left_alone() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = taken.local_addr().expect("a bound socket").to_string();
    let upstream = FakeUpstream::stdio().await;
    let home = builder(&upstream).config(json!({"listen": address})).home();
    let mut client = opened(&home, BRIDGE).await;
    client.request("ping", "{}").await.result();
    let said = status(&home).await.expect("it runs");
    assert_eq!(said["listen"], json!([]));
}

#[tokio::test]
async fn a_bridge_serves_the_endpoint_it_is_told() {
    let upstream = FakeUpstream::stdio()
        .instructions("Be kind.")
        .tool("echo", echo())
        .await;
    let home = builder(&upstream).home();
    let mut client = PipeClient::start(&home, &["stdio", "--endpoint", "/mcp/server/up"]);
    assert_eq!(client.open().await.value()["instructions"], "Be kind.");
    assert_eq!(client.tool_names().await, ["echo"]);
    client.call("echo", "{}").await.result();
    for (endpoint, code, named) in [
        ("/mcp/nothing", "unknown_path", "/mcp/nothing"),
        ("/api/v1/servers", "unknown_path", "/api/v1/servers"),
        ("/mcp/server/nobody", "unknown_server", "\"nobody\""),
    ] {
        let mut lost = PipeClient::start(&home, &["stdio", "--endpoint", endpoint]);
        let refused = lost.open_speaking("2025-06-18").await.error_value();
        has!(refused["message"], named);
        assert_eq!(refused["data"]["code"], code, "{refused}");
    }
    processes::terminate(daemon_pid(&home).await);
}

/// The local socket is for bridges; a page or another machine gets no lines.
#[tokio::test]
async fn over_tcp_nobody_gets_a_connection_for_lines() {
    let daemon = TestDaemon::builder().await;
    let headers = [
        ("connection", "upgrade"),
        ("upgrade", "mcp-stdio"),
        ("accept", "application/json"),
    ];
    let to = Reachable::address(&daemon);
    let answer = http::send(to, "GET", "/mcp", &headers, "").await;
    assert_eq!(answer.status, 405);
}
