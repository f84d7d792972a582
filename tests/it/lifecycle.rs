//! The daemon as a process: how it begins and ends, and that it leaves nothing behind.

use crate::support::prelude::*;

/// Stands in the environment of every child of one test.
const MARK: &str = "MCPPROXY_TEST_MARK";

async fn two_upstreams() -> (Upstream, Upstream) {
    let meek = FakeUpstream::stdio().tool("echo", echo()).await;
    let stubborn = FakeUpstream::stdio()
        .tool("echo", echo())
        .tool("late", gate("go").then(reply_text("finished")))
        .stubborn()
        .await;
    (meek, stubborn)
}

async fn spawn(meek: &Upstream, stubborn: &Upstream, mark: &str) -> (DaemonProcess, TestClient) {
    let env = json!({"env": {MARK: mark}});
    let daemon = TestDaemon::builder()
        .upstream_with("meek", meek, env.clone())
        .upstream_with("stubborn", stubborn, env)
        .spawn()
        .await;
    let client = daemon.client("/mcp/all").await;
    for tool in ["meek__echo", "stubborn__echo"] {
        client.wait_for_tool(tool).await;
        client.call(tool, "{}").await.result();
    }
    (daemon, client)
}

fn mark() -> String {
    uuid::Uuid::new_v4().to_string()
}

#[tokio::test]
async fn sigterm_ends_it_and_every_child() {
    let (meek, stubborn) = two_upstreams().await;
    let mark = mark();
    let (mut daemon, _client) = spawn(&meek, &stubborn, &mark).await;
    let pids = [meek.pids(), stubborn.pids()].concat();
    assert!(pids.iter().all(|pid| processes::runs(*pid)));
    daemon.terminate();
    let status = daemon.wait().await;
    assert!(status.success(), "{status}:\n{}", daemon.log());
    assert!(!pids.iter().any(|pid| processes::runs(*pid)));
    until!(processes::marked(MARK, &mark).is_empty());
}

#[tokio::test]
async fn sigterm_lets_a_call_in_flight_finish() {
    let (meek, stubborn) = two_upstreams().await;
    let (mut daemon, client) = spawn(&meek, &stubborn, "finish").await;
    let call = client.call("stubborn__late", "{}");
    let end = async {
        stubborn.wait_for_count("tools/call", 2).await;
        daemon.terminate();
        until!(std::net::TcpStream::connect(Reachable::address(&daemon)).is_err());
        stubborn.open("go").await;
    };
    let (reply, ()) = tokio::join!(call, end);
    assert_eq!(reply.text(), "finished");
    assert!(daemon.wait().await.success());
}

#[tokio::test]
async fn what_a_killed_daemon_leaves_the_next_one_sweeps() {
    let (meek, stubborn) = two_upstreams().await;
    let mark = mark();
    let (daemon, _client) = spawn(&meek, &stubborn, &mark).await;
    let orphans = stubborn.pids();
    let home = daemon.kill().await;

    let mut daemon = DaemonProcess::spawn_in(home).await;
    until!(!processes::runs(orphans[0]));
    let client = daemon.client("/mcp/all").await;
    let names = client.tool_names().await;
    assert_eq!(names, ["meek__echo", "stubborn__echo", "stubborn__late"]);
    client.call("stubborn__echo", "{}").await.result();
    assert_eq!(stubborn.spawn_count(), 2);
    daemon.terminate();
    assert!(daemon.wait().await.success());
    until!(processes::marked(MARK, &mark).is_empty());
}

#[tokio::test]
async fn what_a_killed_daemon_leaves_ends_without_another_one() {
    let (meek, stubborn) = two_upstreams().await;
    let mark = mark();
    let (daemon, _client) = spawn(&meek, &stubborn, &mark).await;
    let orphans = stubborn.pids();
    let _home = daemon.kill().await;
    until!(!processes::runs(orphans[0]) && processes::marked(MARK, &mark).is_empty());
}

#[tokio::test]
async fn a_second_daemon_on_the_same_data_gives_up() {
    let daemon = TestDaemon::builder().spawn().await;
    let (status, said) = daemon.spawn_rival().await;
    assert_eq!(status.code(), Some(1), "{said}");
    let holder = format!("another daemon (pid {}, ", daemon.pid());
    assert!(said.contains(&holder), "{said}");
    daemon.client("/mcp/all").await;
}

#[tokio::test]
async fn a_daemon_whose_folder_another_one_has_ends() {
    let mut daemon = TestDaemon::builder().spawn().await;
    let folder = daemon.home().data_dir();
    // As if somebody had removed the lock before another daemon began.
    let others = folder.join("lock.other");
    let lock = std::fs::File::create(&others).expect("the folder is there");
    lock.lock().expect("nobody has it");
    std::fs::rename(&others, folder.join("lock")).expect("it is ours");
    assert_eq!(daemon.wait().await.code(), Some(1));
    let log = daemon.log();
    has!(log, "another daemon has taken the data folder");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_full_disk_keeps_no_daemon_from_starting() {
    let daemon = TestDaemon::builder().spawn().await;
    let home = daemon.kill().await;
    let daemon = DaemonProcess::spawn_in_under_ulimit(home, "-f 0").await;
    let client = daemon.client("/mcp/all").await;
    client.tool_names().await;
    client.delete().await;
}
