//! What happens to calls and lists while connections to upstreams come and go.

use axum::{Router, http::StatusCode};

use crate::support::{balancer::Balancer, prelude::*};

const INITIALIZED: &str = r#"{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"up","version":"1"}}"#;

#[tokio::test]
async fn a_restart_gives_up_an_attempt_that_hangs() {
    let upstream = FakeUpstream::stdio()
        .on("initialize", gate("awake").then(reply(INITIALIZED)))
        .tool("echo", echo())
        .await;
    let daemon = TestDaemon::builder()
        .upstream_with("up", &upstream, json!({"init_timeout": "10m"}))
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
    let upstream = FakeUpstream::stdio().tool("echo", echo()).stubborn().await;
    let on = || TestDaemon::builder().upstream("up", &upstream);
    let off = TestDaemon::builder().upstream_with("up", &upstream, json!({"enabled": false}));
    let daemon = on().await;
    let client = daemon.client_of("up__echo").await;
    for config in [off, on()] {
        daemon.home().write_config(config.text());
        let wanted = config.text().contains("enabled");
        until!(daemon.row("up").await["enabled"] == !wanted);
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
async fn timeouts_that_are_edited_count_at_the_next_start() {
    let upstream = FakeUpstream::stdio()
        .on("initialize", gate("awake").then(reply(INITIALIZED)))
        .tool("echo", echo())
        .await;
    upstream.open("awake").await;
    let with = |timeout: &str| {
        TestDaemon::builder().upstream_with("up", &upstream, json!({"init_timeout": timeout}))
    };
    let daemon = with("10m").await;
    daemon.wait_for_tool("up__echo").await;
    let home = daemon.shutdown().await;

    upstream.shut("awake").await;
    let daemon = TestDaemon::start_in(home).await;
    let client = daemon.client("/mcp/all").await;
    let edited = with("1s").entry("sign", json!({"command": "x", "enabled": false}));
    daemon.home().write_config(edited.text());
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
                answer "$id" '{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}'
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
        .await;
    let client = daemon.client_of("up__t").await;
    until!(mark.exists());
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
        .await;
    let daemon = TestDaemon::with_upstream(&upstream).await;
    let client = TestClient::stateless(&daemon, "/mcp/server/up");
    let reply = client.call("anything", "{}").await;
    lacks!(reply.frame, "SECRET");
    has!(reply.frame, "-32000");
    let health = daemon.get("/health").await;
    lacks!(health.text(), "SECRET");
    let rows = daemon.rest("GET", "/api/v1/servers", "").await;
    has!(rows.text(), "SECRET");
}

#[tokio::test]
async fn a_daemon_that_ended_leaves_no_socket_behind() {
    let daemon = TestDaemon::builder().await;
    let socket = daemon.home().data_dir().join("mcpproxy.sock");
    assert!(socket.exists());
    let _home = daemon.shutdown().await;
    assert!(!socket.exists());
}

/// The row of the only server in the listing, once it says this in `last_error`.
async fn row_saying(daemon: &TestDaemon, words: &str) -> Value {
    until_async(words, async || {
        let row = daemon.row("up").await;
        let said = row["last_error"].as_str()?.contains(words);
        said.then_some(row)
    })
    .await
}

#[tokio::test]
async fn a_server_that_was_asked_too_much_is_left_alone_as_long_as_it_asks() {
    let refuse = async || (StatusCode::TOO_MANY_REQUESTS, [("retry-after", "1500")]);
    let busy = http::serve(Router::new().fallback(refuse)).await;
    let url = format!("http://{busy}/mcp");
    let daemon = TestDaemon::builder()
        .entry("up", json!({ "url": url, "type": "http" }))
        .await;
    let row = row_saying(&daemon, "mcpproxy tries again").await;
    let error = row["last_error"].as_str().unwrap_or_default();
    let is_late = row["next_attempt_in_seconds"]
        .as_u64()
        .is_some_and(|seconds| (1_400..=1_500).contains(&seconds));
    assert!(is_late && error.contains("HTTP 429"), "{row}");
    let step = row["next_step"].as_str().unwrap_or_default();
    has!(step, "try again later");
    lacks!(step, "URL");
}

#[tokio::test]
async fn a_remote_server_that_is_down_says_when_it_is_tried_again_and_comes_back_by_itself() {
    let upstream = FakeUpstream::http().tool("echo", echo()).await;
    upstream.refuse_connections(true);
    let daemon = TestDaemon::with_upstream(&upstream).await;
    let row = row_saying(&daemon, "mcpproxy tries again").await;
    assert_eq!(row["state"], "Error", "{row}");
    let health = daemon.get("/health").await.json();
    assert_eq!(health["status"], "degraded");
    has!(health["servers"][0]["reason"], "again in");
    let model = TestClient::stateless(&daemon, "/mcp");
    until_async("a notice", async || {
        let found = model
            .call("retrieve_tools", r#"{"query":"echo"}"#)
            .await
            .text();
        lacks!(found, "tried");
        found.contains("Not searched: up (").then_some(())
    })
    .await;
    upstream.refuse_connections(false);
    until_async("health without a call", async || {
        let health = daemon.get("/health").await.json();
        (health["status"] == "ok" && health["tools"] == 1).then_some(())
    })
    .await;
    assert_eq!(upstream.received("tools/call"), [""; 0]);
}

#[tokio::test]
async fn a_program_that_talks_on_its_output_is_diagnosed_with_its_first_line() {
    let script = "printf 'Listening on \\033[1mport 3000\\n%s\\nmore\\n' \"$KEY\"; exec sleep 600";
    let entry = |script: &str| json!({"command": "sh", "args": ["-c", script], "init_timeout": "1s", "env": {"KEY": "hunter22"}});
    let daemon = TestDaemon::builder().entry("up", entry(script)).await;
    let row = row_saying(&daemon, "its stdout").await;
    has!(row["last_error"], r#""Listening on \u{1b}[1mport 3000""#);
    has!(row["next_step"], "only MCP messages to stdout");
    let health = daemon.get("/health").await;
    lacks!(health.text(), "Listening");

    let home = daemon.home();
    home.write_config(
        TestDaemon::builder()
            .entry("up", entry("printf '%s\\n' \"$KEY\"; exec sleep 600"))
            .text(),
    );
    let row = row_saying(&daemon, "\"***\"").await;
    lacks!(row.to_string(), "hunter22", "{row}");

    let stray = r#"echo '{"jsonrpc":"2.0","id":7,"result":{}}'; exec sleep 600"#;
    home.write_config(TestDaemon::builder().entry("up", entry(stray)).text());
    row_saying(&daemon, r#"\"id\":7"#).await;

    let endless = "head -c 80000000 /dev/zero | tr '\\0' x; exec sleep 600";
    let entry = json!({"command": "sh", "args": ["-c", endless]});
    home.write_config(TestDaemon::builder().entry("up", entry).text());
    let row = row_saying(&daemon, "it sent 64 MiB without a line end").await;
    has!(row["next_step"], "only MCP messages to stdout");
}

#[tokio::test]
async fn exit_codes_are_shown_whichever_way_the_end_is_noticed() {
    for script in [
        "exit 3",
        "read -r line; exit 3",
        "exec <&-; exec 1>&-; exit 3",
        "printf 'what?\\n'; exit 3",
    ] {
        let daemon = TestDaemon::builder()
            .entry("up", json!({"command": "sh", "args": ["-c", script]}))
            .await;
        let row = row_saying(&daemon, "exited with code 3").await;
        assert_eq!(row["transport"], "stdio", "{script}");
        lacks!(row.to_string(), "only MCP messages", "{script}");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn commands_that_cannot_be_started_are_explained_in_short() {
    use std::os::unix::fs::PermissionsExt;

    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("server.py");
    std::fs::write(&file, "print('hello')").expect("writable");
    let check = async |command: &str, reason: &str, next_step: &str| {
        let daemon = TestDaemon::builder()
            .entry("up", json!({"command": command}))
            .await;
        let row = row_saying(&daemon, reason).await;
        has!(row["next_step"], next_step);
        lacks!(row.to_string(), "/usr/bin", "{row}");
    };
    let file = file.to_str().expect("UTF-8");
    let no_program = "is neither a program for this machine nor a script";
    check(file, no_program, "interpreter into `command`").await;
    check("no-such-program", "not found on PATH", "name or path").await;
    let missing = format!("{file}.gone");
    check(&missing, "no program at", "correct the path").await;
    let interpreted = format!("{file}.sh");
    std::fs::write(&interpreted, "#!/no/such/interp -x\n").expect("writable");
    check(&interpreted, "is not executable", "chmod +x").await;
    for file in [file, interpreted.as_str()] {
        let executable = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(file, executable).expect("writable");
    }
    check(file, no_program, "interpreter into `command`").await;
    let reason = "names \"/no/such/interp\", which does not exist";
    check(&interpreted, reason, "correct the first line of").await;
}

#[tokio::test]
async fn a_remote_server_that_refuses_leads_the_operator_to_what_is_wrong() {
    for (status, next_step) in [
        (StatusCode::UNAUTHORIZED, "upstream login up"),
        (StatusCode::NOT_FOUND, "/mcp"),
        (StatusCode::FOUND, "if that is a login page"),
        (StatusCode::BAD_REQUEST, "correct its `url` or `headers`"),
        (StatusCode::BAD_GATEWAY, "read the log on its host"),
    ] {
        let refuse = move || async move { (status, "no") };
        let server = http::serve(Router::new().fallback(refuse)).await;
        let url = format!("http://{server}/x");
        let daemon = TestDaemon::builder()
            .entry("up", json!({ "url": url, "type": "http" }))
            .await;
        let row = row_saying(&daemon, &format!("HTTP {}", status.as_u16())).await;
        has!(row["next_step"], next_step);
        if status.is_server_error() {
            let logs = daemon.rest("GET", "/api/v1/servers/up/logs", "").await;
            has!(logs.json()["hint"], "Read the log on its host");
        }
    }
}

#[tokio::test]
async fn a_call_that_is_refused_for_its_credentials_says_where_they_are() {
    let upstream = FakeUpstream::http().tool("echo", echo()).await;
    let daemon = TestDaemon::with_upstream(&upstream).await;
    daemon.client_of("up__echo").await;
    upstream.forget_sessions(403);
    let call = r#"{"variant":"write","name":"up:echo"}"#;
    let refused = daemon.rest("POST", "/api/v1/call", call).await;
    has!(refused.json()["hint"], "credentials in its `headers`");
}

#[tokio::test]
async fn a_call_to_a_server_that_has_just_gone_says_what_to_do() {
    let upstream = FakeUpstream::http().tool("echo", echo()).await;
    let way = Balancer::before(vec![upstream.address()]).await;
    let entry = json!({ "url": format!("http://{}/mcp", way.address()), "type": "http" });
    let daemon = TestDaemon::builder().entry("up", entry).await;
    let client = daemon.client_of("up__echo").await;
    drop(way);
    upstream.cut_connections();
    let call = r#"{"variant":"write","name":"up:echo"}"#;
    let answered = async || daemon.rest("POST", "/api/v1/call", call).await;
    until!({
        let answer = answered().await;
        let answer = answer.text();
        lacks!(answer, "nothing answers");
        answer.contains("Start that server, or")
    });
    let failure = client.call("up__echo", "{}").await.failure();
    has!(failure["error"], "up is not available: nothing answers");
}
