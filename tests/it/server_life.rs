//! The life of a server: started once by whoever comes first, kept while it is used, put to sleep when it is idle, looked after while
//! it is connected.

mod counted;
mod known_lists;
mod liveness;

use futures_util::future::join_all;

use crate::support::prelude::*;

/// A daemon with this server that knows its list from before, and has not started it yet.
async fn asleep(upstream: &Upstream, more: Value) -> TestDaemon {
    let builder = TestDaemon::builder().upstream_with("up", upstream, more);
    let daemon = builder.await;
    daemon.client_of("up__echo").await;
    let home = daemon.shutdown().await;
    TestDaemon::start_in(home).await
}

/// The row of the only server, once it is like this.
async fn row(daemon: &TestDaemon, what: &str, is_it: impl Fn(&Value) -> bool) -> Value {
    until_async(what, async || {
        let rows = daemon.rest("GET", "/api/v1/servers", "").await.json();
        Some(rows["servers"][0].clone()).filter(&is_it)
    })
    .await
}

#[tokio::test]
async fn hundreds_of_first_calls_are_one_start() {
    for upstream in [FakeUpstream::stdio(), FakeUpstream::http()] {
        let upstream = upstream
            .on("initialize", gate("awake").then(reply(INITIALIZED)))
            .tool("echo", echo())
            .await;
        upstream.open("awake").await;
        let daemon = asleep(
            &upstream,
            json!({"idle_timeout": "10m", "protocol_era": "legacy"}),
        )
        .await;
        let before = upstream.received("initialize").len();
        upstream.shut("awake").await;
        let clients = join_all((0..10).map(|_| daemon.client("/mcp/all"))).await;
        let calls = (0..300).map(|n| {
            let client = &clients[n % clients.len()];
            async move { client.call("up__echo", &format!(r#"{{"n":{n}}}"#)).await }
        });
        let start = async {
            upstream.wait_for_count("initialize", before + 1).await;
            upstream.open("awake").await;
        };
        let (replies, ()) = tokio::join!(join_all(calls), start);
        for (n, reply) in replies.iter().enumerate() {
            assert_eq!(
                reply.value()["structuredContent"]["n"],
                n,
                "{}",
                reply.frame
            );
        }
        assert_eq!(upstream.received("initialize").len(), before + 1);
    }
}

#[tokio::test]
async fn servers_that_a_name_may_be_of_start_side_by_side() {
    let upstream = FakeUpstream::http()
        .on("initialize", gate("awake").then(reply(INITIALIZED)))
        .tool("echo", echo())
        .await;
    upstream.refuse_connections(true);
    let builder = ["up", "upper"]
        .iter()
        .fold(TestDaemon::builder(), |daemon, name| {
            daemon.upstream_with(name, &upstream, json!({"protocol_era": "legacy"}))
        });
    let daemon = builder.await;
    let client = daemon.client("/mcp/all").await;
    client.call("upper__echo", "{}").await;
    upstream.refuse_connections(false);
    let start = async {
        upstream.wait_for_count("initialize", 2).await;
        upstream.open("awake").await;
    };
    let (reply, ()) = tokio::join!(client.call("upper__echo", r#"{"n":1}"#), start);
    assert_eq!(reply.value()["structuredContent"]["n"], 1);
}

const INITIALIZED: &str = r#"{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"up","version":"1"}}"#;

#[tokio::test]
async fn nineteen_servers_do_not_wait_for_one_that_hangs() {
    const HEALTHY: usize = 19;
    let hanging = FakeUpstream::stdio()
        .on("initialize", hang())
        .unknown_methods(UnknownMethods::Ignored)
        .await;
    let healthy = FakeUpstream::http().tool("echo", echo()).await;
    let names: Vec<String> = (0..HEALTHY).map(|n| format!("s{n:02}")).collect();
    let builder = names.iter().fold(TestDaemon::builder(), |daemon, name| {
        daemon.upstream(name, &healthy)
    });
    // The first in every order.
    let patient = json!({"init_timeout": "10m", "start": "eager"});
    let daemon = builder.upstream_with("a-hanging", &hanging, patient).await;
    hanging.wait_for("initialize").await;
    let client = daemon.client("/mcp/all").await;
    for name in &names {
        client.wait_for_tool(&format!("{name}__echo")).await;
    }
    let model = TestClient::stateless(&daemon, "/mcp");
    let listed = model
        .call("upstream_servers", r#"{"operation":"list"}"#)
        .await;
    for part in ["fetching", "packages", "last_output", "detail"] {
        lacks!(listed.frame, part, "{part}");
    }
    // The index follows the lists a moment later.
    let search = async || {
        let arguments = r#"{"query":"echo","limit":15}"#;
        model.call("retrieve_tools", arguments).await.text()
    };
    until!(search().await.contains(":echo"));
    // If any of them waited for the server, or for as long as first lists wait, this would not end in time.
    within("twenty rounds of everything", async {
        for round in 0..20 {
            assert_eq!(client.tool_names().await.len(), HEALTHY);
            let found = search().await;
            has!(found, ":echo");
            let calls = names.iter().map(|name| {
                let (client, tool) = (&client, format!("{name}__echo"));
                async move { client.call(&tool, &format!(r#"{{"n":{round}}}"#)).await }
            });
            for reply in join_all(calls).await {
                assert_eq!(reply.value()["structuredContent"]["n"], round);
            }
            assert_eq!(daemon.get("/health").await.status, 200);
        }
    })
    .await;
    let rows = daemon.rest("GET", "/api/v1/servers", "").await.json();
    assert_eq!(rows["servers"][0]["name"], "a-hanging");
    assert_eq!(rows["servers"][0]["state"], "Connecting");
}

#[tokio::test]
async fn a_server_at_work_does_not_sleep_and_one_that_sleeps_stays_listed() {
    const FORM: &str = r#"{"message":"Name?","requestedSchema":{"type":"object","properties":{}}}"#;
    let working = FakeUpstream::stdio()
        .tool("late", gate("go").then(reply_text("done")))
        .await;
    let asking = FakeUpstream::stdio()
        .tool(
            "form",
            ask("elicitation/create", FORM).then(reply_with_answer()),
        )
        .await;
    let idle = FakeUpstream::stdio().tool("echo", echo()).await;
    let nervous = json!({"min_idle_timeout": "1s", "max_idle_timeout": "1s"});
    let shared =
        json!({"min_idle_timeout": "1s", "max_idle_timeout": "1s", "session_scope": "shared"});
    let daemon = TestDaemon::builder()
        .config(json!({"idle_check_interval": "1s"}))
        .upstream_with("working", &working, nervous.clone())
        .upstream_with("asking", &asking, shared)
        .upstream_with("idle", &idle, nervous)
        .await;
    let client = TestClient::speaking("2025-06-18")
        .declaring(r#"{"elicitation":{}}"#)
        .connect(&daemon, "/mcp/all")
        .await;
    for tool in ["working__late", "asking__form", "idle__echo"] {
        client.wait_for_tool(tool).await;
    }
    let late = client.call("working__late", "{}");
    let meanwhile = async {
        working.wait_for("tools/call").await;
        let mut form = client
            .start("tools/call", &call_params("asking__form", "{}"))
            .await;
        let id = question(&mut form).await;
        // Called after them, asleep before them: it was looked at since.
        client.call("idle__echo", "{}").await.result();
        idle.wait_for_children(0).await;
        client.call("idle__echo", "{}").await.result();
        idle.wait_for_children(0).await;
        let row = daemon.row("idle").await;
        assert!(row["last_start_us"].as_u64() > Some(0), "{row}");
        assert_eq!((working.alive().len(), asking.alive().len()), (1, 1));
        assert!(client.tool_names().await.contains(&"idle__echo".to_owned()));
        client.respond(&id, r#"{"action":"decline"}"#).await;
        has!(form.finish().await.text(), "decline");
        working.open("go").await;
    };
    let (late, ()) = tokio::join!(late, meanwhile);
    assert_eq!(late.text(), "done");
    working.wait_for_children(0).await;
    asking.wait_for_children(0).await;
    assert_eq!((working.spawn_count(), asking.spawn_count()), (1, 1));
}

/// The id of what the client is asked.
async fn question(call: &mut Exchange) -> Value {
    let frame = within("a question", call.next()).await.expect("a question");
    let question: Value = serde_json::from_str(&frame).expect("JSON");
    assert_eq!(question["method"], "elicitation/create", "{frame}");
    question["id"].clone()
}

#[tokio::test]
async fn an_eager_server_runs_before_anybody_calls_and_comes_back_by_itself() {
    let upstream = FakeUpstream::stdio().tool("echo", echo()).await;
    let hasty = json!({"start": "eager", "idle_timeout": "1s"});
    let daemon = asleep(&upstream, hasty).await;
    let runs_again = |count| {
        let upstream = &upstream;
        until("the server to run", move || {
            (upstream.spawn_count() == count && upstream.alive().len() == 1).then_some(())
        })
    };
    runs_again(2).await;
    row(&daemon, "to be ready", |row| row["state"] == "Ready").await;
    upstream.crash().await;
    runs_again(3).await;
    assert!(upstream.received("tools/call").is_empty());
}

#[tokio::test]
async fn a_server_takes_as_many_requests_at_a_time_as_it_may_and_all_in_the_end() {
    let upstream = FakeUpstream::stdio()
        .tool("late", gate("go").then(echo()))
        .await;
    let two = json!({"max_concurrent_requests": 2});
    let daemon = TestDaemon::builder()
        .upstream_with("up", &upstream, two)
        .await;
    let (a, b) = (
        daemon.client_of("up__late").await,
        daemon.client_of("up__late").await,
    );
    let calls = (0..20).map(|n| {
        let client = if n < 18 { &a } else { &b };
        async move { client.call("up__late", &format!(r#"{{"n":{n}}}"#)).await }
    });
    let opening = async {
        upstream.wait_for_count("tools/call", 2).await;
        // Lists are ours, and wait for nobody.
        assert_eq!(b.tool_names().await, ["up__late"]);
        assert_eq!(upstream.received("tools/call").len(), 2);
        upstream.open("go").await;
    };
    let (replies, ()) = tokio::join!(join_all(calls), opening);
    for (n, reply) in replies.iter().enumerate() {
        assert_eq!(
            reply.value()["structuredContent"]["n"],
            n,
            "{}",
            reply.frame
        );
    }
    assert_eq!(upstream.received("tools/call").len(), 20);
}

#[cfg(unix)]
#[tokio::test]
async fn a_first_start_that_may_download_says_so() {
    use std::os::unix::fs::PermissionsExt;

    let folder = tempfile::tempdir().expect("a temporary folder");
    let npx = folder.path().join("npx");
    let script = "#!/bin/sh\nprintf 'fetching\\nadded 10 packages\\r' >&2\nexec sleep 600\n";
    std::fs::write(&npx, script).expect("our folder");
    std::fs::set_permissions(&npx, std::fs::Permissions::from_mode(0o700)).expect("our file");
    let daemon = TestDaemon::builder()
        .entry("up", json!({"command": npx, "args": ["-y", "some-server"]}))
        .await;
    let shown = row(&daemon, "its last line", |row| {
        row["last_output"].is_string()
    })
    .await;
    assert_eq!(shown["state"], "Connecting", "{shown}");
    assert_eq!(shown["detail"], "first start may download, up to 5m");
    until_async("the line that has no end yet", async || {
        let rows = daemon.rest("GET", "/api/v1/servers", "").await.json();
        let line = rows["servers"][0]["last_output"].as_str()?.to_owned();
        ["fetching", "added 10 packages"]
            .contains(&&*line)
            .then_some(())
    })
    .await;
    let model = TestClient::stateless(&daemon, "/mcp");
    let told = model
        .call("retrieve_tools", r#"{"query":"anything"}"#)
        .await;
    lacks!(told.frame, "fetching", "stderr is for the operator");
}

#[cfg(unix)]
#[tokio::test]
async fn a_server_that_always_fails_is_given_up_and_says_what_to_do() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let broken = folder.path().join("broken");
    let upstream = FakeUpstream::stdio().tool("echo", echo()).await;
    let (command, args) = upstream.command_line();
    let script = format!(
        "test -e {} && {{ echo broken >&2; exit 3; }}; exec {} {}",
        broken.display(),
        command.display(),
        args[0].display()
    );
    let daemon = TestDaemon::builder()
        .entry("up", json!({"command": "sh", "args": ["-c", script]}))
        .await;
    daemon.client_of("up__echo").await;
    let home = daemon.shutdown().await;
    std::fs::write(&broken, "").expect("our folder");
    let daemon = TestDaemon::start_in(home).await;
    let client = daemon.client("/mcp/all").await;
    for _ in 0..5 {
        let failure = client.call("up__echo", "{}").await.failure();
        assert_eq!(failure["code"], "server_unavailable", "{failure}");
    }
    let shown = row(&daemon, "to be given up", |row| row["state"] == "Error").await;
    let error = shown["last_error"].as_str().unwrap_or_default();
    has!(error, "gave up after 5 tries; the next call tries again");
    has!(shown["next_step"], "upstream logs up");
    std::fs::remove_file(&broken).expect("it is there");
    let restarted = daemon.rest("POST", "/api/v1/servers/up/restart", "").await;
    assert_eq!(restarted.status, 200, "{}", restarted.text());
    row(&daemon, "to be ready", |row| {
        row["state"] == "Ready" && row["last_error"].is_null()
    })
    .await;
    client.call("up__echo", "{}").await.result();
}
