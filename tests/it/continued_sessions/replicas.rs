//! Several daemons with one key.

use super::{check_unknown, lively};
use crate::support::{balancer::Balancer, prelude::*};

const KEY: &str = "0b9f4c1e7d2a8c36-not-the-users-key";

async fn replicas(upstreams: [&Upstream; 2], more: &Value) -> ([TestDaemon; 2], Balancer) {
    let start = async |upstream| {
        let daemon = TestDaemon::builder()
            .config(json!({ "session_key": KEY }))
            .upstream_with("up", upstream, more.clone())
            .await;
        let client = daemon.client("/mcp/all").await;
        let listed = client.tool_names().await.into_iter().next();
        client
            .wait_for_tool(listed.as_deref().unwrap_or("up__echo"))
            .await;
        client.delete().await;
        daemon
    };
    let daemons = [start(upstreams[0]).await, start(upstreams[1]).await];
    let targets = daemons.iter().map(Reachable::address).collect();
    let balancer = Balancer::before(targets).await;
    (daemons, balancer)
}

#[tokio::test]
async fn daemons_with_one_key_serve_each_others_sessions() {
    let [a, b] = [lively(FakeUpstream::stdio()), lively(FakeUpstream::stdio())];
    let (a, b) = (a.await, b.await);
    let (daemons, balancer) = replicas([&a, &b], &json!({})).await;
    let client = TestClient::speaking("2025-06-18")
        .connect(&balancer, "/mcp/all")
        .await;
    for _ in 0..10 {
        client.call("up__echo", "{}").await.result();
    }
    let calls = [&a, &b].map(|upstream| upstream.received("tools/call").len());
    assert_eq!(calls, [5, 5], "each has half of them");
    // A session is ended where its end is heard of: that is why balancers should send a client to the same daemon.
    let [mut first, mut second] = [
        daemons[0].client("/mcp").await,
        daemons[1].client("/mcp").await,
    ];
    first.move_to(&daemons[1]);
    assert_eq!(first.delete().await.status, 204);
    check_unknown(&first).await;
    first.move_to(&daemons[0]);
    assert_eq!(first.request("ping", "{}").await.status, 200);
    // Without the key nothing of it is worth anything.
    let stranger = TestDaemon::builder().await;
    second.move_to(&stranger);
    check_unknown(&second).await;
}

#[tokio::test]
async fn a_session_that_may_have_a_process_at_another_daemon_begins_anew() {
    let scripted = || FakeUpstream::stdio().tool("itself", itself());
    let (a, b) = (scripted().await, scripted().await);
    let (daemons, _balancer) = replicas([&a, &b], &json!({"session_scope": "client"})).await;
    let mut client = daemons[0].client("/mcp/all").await;
    client.wait_for_tool("up__itself").await;
    client.call("up__itself", "{}").await.result();
    client.move_to(&daemons[1]);
    // It cannot be known here before something of its own is needed.
    client.wait_for_tool("up__itself").await;
    let lost: Reply = client.call("up__itself", "{}").await;
    assert_eq!(lost.failure()["code"], "connection_lost");
    check_unknown(&client).await;
    assert_eq!(b.received("tools/call"), [""; 0], "it was not sent");
}

#[tokio::test]
async fn long_capabilities_are_kept_by_the_daemon_that_heard_them() {
    let key = json!({ "session_key": KEY });
    let daemon = TestDaemon::builder().config(key.clone()).await;
    let replica = TestDaemon::builder().config(key).await;
    let long = json!({"roots": {}, "experimental": {"x": "y".repeat(3_000)}}).to_string();
    let speaking = || TestClient::speaking("2025-06-18");
    let mut client = speaking().declaring(&long).connect(&daemon, "/mcp").await;
    assert!(client.session().len() < 4_096);
    client.move_to(&replica);
    check_unknown(&client).await;
    let daemon = TestDaemon::start_in(daemon.shutdown().await).await;
    client.move_to(&daemon);
    assert_eq!(client.request("ping", "{}").await.result(), "{}");
}

#[tokio::test]
async fn a_key_that_is_easy_to_guess_is_refused_and_not_shown() {
    let home = TestDaemon::builder().home();
    let mut command = program(&home, &["serve", "--listen", "127.0.0.1:0"]);
    command
        .env("MCPPROXY_SESSION_KEY", "hunter2-hunter2")
        .stderr(std::process::Stdio::piped())
        .kill_on_drop(true);
    let refused = within("the daemon to give up", command.output()).await;
    let refused = refused.expect("the program runs");
    assert_eq!(refused.status.code(), Some(1));
    let said = String::from_utf8_lossy(&refused.stderr);
    let reason = "`$MCPPROXY_SESSION_KEY` needs at least 32 characters";
    has!(said, reason);
    has!(said, "correct the variable");
    lacks!(said, "hunter2");
    lacks!(said, "cannot be used");
}
