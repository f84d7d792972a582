//! What happens to calls and lists while connections to upstreams come and go.

use serde_json::json;

use crate::support::{
    behaviours::*,
    client::TestClient,
    daemon::TestDaemon,
    fake_upstream::FakeUpstream,
    patience::{until, until_async},
};

const INITIALIZED: &str = r#"{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"up","version":"1"}}"#;

#[tokio::test]
async fn a_restart_gives_up_an_attempt_that_hangs() {
    let upstream = FakeUpstream::stdio()
        .on("initialize", gate("awake").then(reply(INITIALIZED)))
        .tool("echo", echo())
        .start()
        .await;
    let daemon = TestDaemon::builder()
        .upstream_with("up", &upstream, json!({"init_timeout": "10m"}))
        .start()
        .await;
    let client = daemon.client("/mcp/all").await;
    upstream.wait_for("initialize").await;
    let waiting = client.call("up__echo", "{}");
    let restart = daemon.rest("POST", "/api/v1/servers/up/restart", "");
    let second = async {
        upstream.wait_for_count("initialize", 2).await;
        upstream.open("awake").await;
    };
    let (reply, answer, ()) = tokio::join!(waiting, restart, second);
    reply.result();
    assert_eq!(answer.json()["server"]["state"], "Ready");
    upstream.wait_for_children(1).await;
    assert_eq!(upstream.spawn_count(), 2);
}

#[tokio::test]
async fn a_server_that_is_switched_off_and_on_never_runs_twice() {
    // Stubborn: it takes its time to end.
    let upstream = FakeUpstream::stdio()
        .tool("echo", echo())
        .stubborn()
        .start()
        .await;
    let on = || TestDaemon::builder().upstream("up", &upstream);
    let off = TestDaemon::builder().upstream_with("up", &upstream, json!({"enabled": false}));
    let daemon = on().start().await;
    let client = daemon.client("/mcp/all").await;
    client.wait_for_tool("up__echo").await;
    for config in [off, on()] {
        daemon.home().write_config(&config.text());
        let wanted = config.text().contains("enabled");
        until_async("the edit to count", async || {
            let rows = daemon.rest("GET", "/api/v1/servers", "").await.json();
            (rows["servers"][0]["enabled"] == !wanted).then_some(())
        })
        .await;
    }
    let call = client.call("up__echo", "{}");
    let watch = until("the second child", || {
        (upstream.spawn_count() == 2).then(|| upstream.alive().len())
    });
    let (reply, alive) = tokio::join!(call, watch);
    assert_eq!(alive, 1, "the first had ended");
    reply.result();
}

#[tokio::test]
async fn what_an_edit_hides_or_shows_is_announced() {
    let upstream = FakeUpstream::stdio().tool("echo", echo()).start().await;
    let with = |more| TestDaemon::builder().upstream_with("up", &upstream, more);
    let daemon = with(json!({})).start().await;
    let client = daemon.client("/mcp/all").await;
    client.wait_for_tool("up__echo").await;
    let mut stream = client.listen().await;
    let edits = [
        (json!({"enabled": false}), 0),
        (json!({}), 1),
        (json!({"disabled_tools": ["*"]}), 0),
        (json!({}), 1),
    ];
    for (entry, shown) in edits {
        daemon.home().write_config(&with(entry).text());
        stream.next_frame("notifications/tools/list_changed").await;
        assert_eq!(client.tool_names().await.len(), shown);
    }
}

#[tokio::test]
async fn timeouts_that_are_edited_count_at_the_next_start() {
    let upstream = FakeUpstream::stdio()
        .on("initialize", gate("awake").then(reply(INITIALIZED)))
        .tool("echo", echo())
        .start()
        .await;
    upstream.open("awake").await;
    let with = |timeout: &str| {
        TestDaemon::builder().upstream_with("up", &upstream, json!({"init_timeout": timeout}))
    };
    let daemon = with("10m").start().await;
    daemon
        .client("/mcp/all")
        .await
        .wait_for_tool("up__echo")
        .await;
    let home = daemon.shutdown().await;

    upstream.shut("awake").await;
    let daemon = TestDaemon::start_in(home).await;
    let client = daemon.client("/mcp/all").await;
    let edited = with("1s").entry("sign", json!({"command": "x", "enabled": false}));
    daemon.home().write_config(&edited.text());
    until_async("the edit to count", async || {
        let rows = daemon.rest("GET", "/api/v1/servers", "").await.json();
        (rows["servers"].as_array()?.len() == 2).then_some(())
    })
    .await;
    let failure = client.call("up__echo", "{}").await.failure();
    assert_eq!(failure["code"], "server_unavailable");
}

#[tokio::test]
async fn a_request_is_sent_again_when_its_server_has_gone_deaf() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    // The first child closes its input after it was listed, and lives on; the next one behaves.
    let script = r#"
        answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$1" "$2"; }
        while read -r line; do
            id=$(printf '%s' "$line" | sed -n 's/.*"id":\("[^"]*"\|[0-9]*\).*/\1/p')
            case "$line" in
            *'"method":"initialize"'*) answer "$id" "$INITIALIZED" ;;
            *'"method":"tools/list"'*)
                answer "$id" '{"tools":[{"name":"t","inputSchema":{}}]}'
                if mkdir "$MARK" 2>/dev/null; then exec <&-; exec sleep 600; fi ;;
            *'"method":"tools/call"'*) answer "$id" '{"content":[]}' ;;
            esac
        done"#;
    let mark = folder.path().join("deaf");
    let daemon = TestDaemon::builder()
        .entry(
            "up",
            json!({"command": "sh", "args": ["-c", script], "env": {"INITIALIZED": INITIALIZED, "MARK": mark}}),
        )
        .start()
        .await;
    let client = daemon.client("/mcp/all").await;
    client.wait_for_tool("up__t").await;
    until("the child to be deaf", || mark.exists().then_some(())).await;
    // Whether the first call is lost or sent again depends on when the closed pipe is noticed; the second one must pass.
    let first = client.call("up__t", "{}").await;
    if !first.result().contains("connection_lost") {
        return;
    }
    client.call("up__t", "{}").await.result();
}

#[tokio::test]
async fn a_server_that_refuses_in_its_own_words_is_not_quoted_to_clients() {
    let upstream = FakeUpstream::stdio()
        .on(
            "initialize",
            error(r#"{"code":-32000,"message":"no licence in /home/SECRET/key"}"#),
        )
        .start()
        .await;
    let daemon = TestDaemon::builder()
        .upstream("up", &upstream)
        .start()
        .await;
    let client = TestClient::stateless(&daemon, "/mcp/server/up");
    let reply = client.call("anything", "{}").await;
    assert!(!reply.frame.contains("SECRET"), "{}", reply.frame);
    assert!(reply.frame.contains("-32000"), "{}", reply.frame);
    let health = daemon.get("/health").await;
    assert!(!health.text().contains("SECRET"), "{}", health.text());
    let rows = daemon.rest("GET", "/api/v1/servers", "").await;
    assert!(rows.text().contains("SECRET"), "{}", rows.text());
}

#[tokio::test]
async fn a_progress_token_in_a_second_meta_does_not_pass() {
    let upstream = FakeUpstream::stdio().tool("echo", echo()).start().await;
    let daemon = TestDaemon::builder()
        .upstream("up", &upstream)
        .start()
        .await;
    for (path, tool) in [("/mcp/all", "up__echo"), ("/mcp/server/up", "echo")] {
        let client = daemon.client(path).await;
        client.wait_for_tool(tool).await;
        let params =
            format!(r#"{{"name":"{tool}","_meta":{{}},"_meta":{{"progressToken":"p1"}}}}"#);
        let reply = client.request("tools/call", &params).await;
        assert_eq!(reply.error_code(), -32602);
    }
    assert_eq!(upstream.received("tools/call"), [""; 0]);
}

#[tokio::test]
async fn a_daemon_that_ended_leaves_no_socket_behind() {
    let daemon = TestDaemon::builder().start().await;
    let socket = daemon.home().data_dir().join("mcpproxy.sock");
    assert!(socket.exists());
    let _home = daemon.shutdown().await;
    assert!(!socket.exists());
}
