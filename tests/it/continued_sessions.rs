//! Sessions of Streamable HTTP that outlive the daemon which opened them.

mod replicas;

use std::fs;

use crate::support::prelude::*;

const SUBSCRIBE: &str = "resources/subscribe";
const UPDATED: &str = "notifications/resources/updated";
const LISTS: [&str; 3] = [
    "notifications/tools/list_changed",
    "notifications/prompts/list_changed",
    "notifications/resources/list_changed",
];

fn line(level: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{"level":"{level}","data":"x"}}}}"#
    )
}

fn lively(upstream: FakeUpstream) -> FakeUpstream {
    let spoken = notice(line("info")).then(notice(line("error")));
    let note = reply(r#"{"contents":[]}"#);
    upstream
        .tool("echo", echo())
        .tool("talk", spoken.then(reply_text("done")))
        .tool("hang", notice(line("error")).then(hang()))
        .resource(r#"{"uri":"lib://note","name":"n"}"#, note.clone())
        .resource(r#"{"uri":"lib://other","name":"o"}"#, note)
}

async fn over_http() -> Upstream {
    let upstream = FakeUpstream::http().answering(HttpAnswers::Sse);
    lively(upstream).await
}

/// How a daemon ends.
#[derive(Debug, Clone, Copy)]
enum Ending {
    Asked,
    Killed,
}

const ENDINGS: [Ending; 2] = [Ending::Asked, Ending::Killed];

/// Another daemon on the same data.
async fn restarted(mut daemon: DaemonProcess, ending: Ending) -> DaemonProcess {
    let home = match ending {
        Ending::Asked => {
            daemon.terminate();
            assert!(daemon.wait().await.success());
            daemon.into_home()
        }
        Ending::Killed => daemon.kill().await,
    };
    DaemonProcess::spawn_in(home).await
}

async fn subscribe(client: &TestClient, uri: &str) {
    let params = json!({ "uri": uri });
    assert_eq!(client.request(SUBSCRIBE, &params).await.result(), "{}");
}

fn update(uri: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"{UPDATED}","params":{{"uri":"{uri}"}}}}"#)
}

/// That this session is unknown, whatever is asked of it.
async fn check_unknown(client: &TestClient) {
    let posted = client.request("ping", "{}").await;
    assert_eq!((posted.status, posted.error_code()), (404, -32001));
    let session = ("mcp-session-id", client.session());
    for (method, accept) in [("GET", "text/event-stream"), ("DELETE", "*/*")] {
        let headers = [("accept", accept), session];
        let answer = http::send(client.address(), method, client.path(), &headers, "").await;
        assert_eq!(answer.status, 404, "{method}");
        assert_eq!(answer.json()["error"]["code"], -32001, "{method}");
    }
}

async fn active_clients(to: &impl Reachable) -> u64 {
    let health = http::send(to.address(), "GET", "/health", &[], "").await;
    health.json()["active_clients"].as_u64().expect("a number")
}

#[tokio::test]
async fn a_session_goes_on_after_a_restart_with_all_that_was_agreed() {
    for ending in ENDINGS {
        let upstream = over_http().await;
        let daemon = DaemonProcess::with_upstream(&upstream).await;
        let mut client = daemon.client("/mcp/all").await;
        client.wait_for_tool("up__echo").await;
        let before = client.request("tools/list", "{}").await;
        let level = client.request("logging/setLevel", r#"{"level":"warning"}"#);
        level.await.result();
        for uri in ["lib://note", "lib://other"] {
            subscribe(&client, uri).await;
        }
        let params = r#"{"uri":"lib://other"}"#;
        client
            .request("resources/unsubscribe", params)
            .await
            .result();

        let daemon = restarted(daemon, ending).await;
        client.move_to(&daemon);
        let told = upstream.wait_for_count(SUBSCRIBE, 2).await.len();
        assert!(told >= 2, "{ending:?}");
        let after = client.request("tools/list", "{}").await;
        assert_eq!(after.result(), before.result(), "{ending:?}");
        let reply = client.call("up__talk", "{}").await;
        assert_eq!(reply.text(), "done");
        assert_eq!(
            reply.notices,
            [line("error")],
            "{ending:?}: from its level on"
        );
        let mut stream = client.listen().await;
        for list in LISTS {
            stream.next_frame(list).await;
        }
        let resumed = |told: &[String]| told.iter().any(|frame| frame.contains("lib://note"));
        until("the subscription to be resumed", || {
            let told = upstream.received(SUBSCRIBE);
            (told.len() > 2 && resumed(told.get(2..)?)).then_some(())
        })
        .await;
        upstream.push(&update("lib://other")).await;
        upstream.push(&update("lib://note")).await;
        assert_eq!(stream.next_frame(UPDATED).await, update("lib://note"));
        let subscribed = upstream.received(SUBSCRIBE).len();
        assert_eq!(subscribed, 3, "{ending:?}: not to what was given up");
    }
}

#[tokio::test]
async fn each_endpoint_and_revision_continues_and_no_other_does() {
    let upstream = lively(FakeUpstream::stdio()).await;
    let daemon = TestDaemon::with_upstream(&upstream).await;
    let endpoints = ["/mcp", "/mcp/all", "/mcp/call", "/mcp/server/up"];
    let mut clients = Vec::new();
    for path in endpoints {
        for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
            clients.push(TestClient::speaking(revision).connect(&daemon, path).await);
        }
    }
    let daemon = TestDaemon::start_in(daemon.shutdown().await).await;
    for client in &mut clients {
        client.move_to(&daemon);
        let session = client.session().to_owned();
        for elsewhere in endpoints.into_iter().filter(|path| *path != client.path()) {
            let headers = [JSON, BOTH, ("mcp-session-id", &*session)];
            let answer = http::send(daemon.address(), "POST", elsewhere, &headers, PING).await;
            assert_eq!(answer.status, 404, "{} at {elsewhere}", client.path());
        }
        assert_eq!(client.request("ping", "{}").await.result(), "{}");
    }
    assert_eq!(active_clients(&daemon).await, 16);
}

#[tokio::test]
async fn many_requests_of_a_session_continue_it_once() {
    let upstream = lively(FakeUpstream::stdio()).await;
    let daemon = TestDaemon::with_upstream(&upstream).await;
    let mut client = daemon.client("/mcp/all").await;
    client.wait_for_tool("up__echo").await;
    // What has to be read from the disk takes longest.
    let level = client.request("logging/setLevel", r#"{"level":"error"}"#);
    level.await.result();
    let daemon = TestDaemon::start_in(daemon.shutdown().await).await;
    client.move_to(&daemon);
    let calls = (0..50).map(|_| client.call("up__echo", "{}"));
    for reply in futures_util::future::join_all(calls).await {
        reply.result();
    }
    assert_eq!(active_clients(&daemon).await, 1);
    assert_eq!(client.delete().await.status, 204);
    assert_eq!(active_clients(&daemon).await, 0);
}

#[tokio::test]
async fn a_deleted_session_stays_deleted() {
    for ending in ENDINGS {
        let daemon = TestDaemon::builder().spawn().await;
        let mut deleted = daemon.client("/mcp").await;
        let mut kept = daemon.client("/mcp").await;
        assert_eq!(deleted.delete().await.status, 204);
        check_unknown(&deleted).await;
        let daemon = restarted(daemon, ending).await;
        deleted.move_to(&daemon);
        check_unknown(&deleted).await;
        // One that this daemon has not seen can be ended, too.
        kept.move_to(&daemon);
        assert_eq!(kept.delete().await.status, 204);
        check_unknown(&kept).await;
        let daemon = restarted(daemon, Ending::Killed).await;
        for mut client in [deleted, kept] {
            client.move_to(&daemon);
            check_unknown(&client).await;
        }
    }
}

#[tokio::test]
async fn ids_that_nobody_was_given_are_unknown() {
    let daemon = TestDaemon::builder()
        .spawn_with_args(&["--log-level", "debug"])
        .await;
    let stranger = TestDaemon::builder().await;
    let mut client = daemon.client("/mcp").await;
    let good = client.session().to_owned();
    assert!(good.len() < 400, "{}", good.len());
    assert!(
        good.bytes()
            .all(|c| c.is_ascii_alphanumeric() || b"-_".contains(&c))
    );
    let theirs = stranger.client("/mcp").await.session().to_owned();
    // As it is after a restart, when no id is held.
    let daemon = restarted(daemon, Ending::Killed).await;
    client.move_to(&daemon);
    let mut hostile = vec![
        theirs,
        "1".to_owned(),
        "x".repeat(4_000),
        "1".repeat(5_000),
        good.to_uppercase(),
        format!("{good}A"),
        format!("{good}{good}"),
        format!("{good}="),
        uuid::Uuid::new_v4().to_string(),
    ];
    let at = |share: usize| good.len() * share / 20;
    for share in 0..20 {
        let (head, tail) = good.split_at(at(share));
        let (first, rest) = tail.split_at(1);
        let other = if first == "B" { "C" } else { "B" };
        hostile.push(format!("{head}{other}{rest}"));
        hostile.push(if head.is_empty() { "2" } else { head }.to_owned());
    }
    for id in hostile {
        client.pretend(&id);
        check_unknown(&client).await;
    }
    assert_eq!(active_clients(&daemon).await, 0);
    client.pretend(&good);
    assert_eq!(client.request("ping", "{}").await.result(), "{}");
    let (beginning, _) = good.split_at(40);
    lacks!(daemon.log(), beginning, "ids are not logged");
}

#[tokio::test]
async fn a_session_with_a_process_of_its_own_begins_anew() {
    for scope in ["client", "workspace"] {
        let upstream = FakeUpstream::stdio().tool("itself", itself()).await;
        let entry = json!({ "session_scope": scope });
        let daemon = TestDaemon::builder().upstream_with("up", &upstream, entry);
        let daemon = daemon.spawn().await;
        let mut with = TestClient::speaking("2025-06-18")
            .declaring(r#"{"roots":{}}"#)
            .connect(&daemon, "/mcp/all")
            .await;
        let mut without = daemon.client("/mcp/all").await;
        with.wait_for_tool("up__itself").await;
        let mut call = with
            .start("tools/call", r#"{"name":"up__itself","arguments":{}}"#)
            .await;
        if scope == "workspace" {
            let frame = call.next().await.expect("a question");
            let question: Value = serde_json::from_str(&frame).expect("JSON");
            assert_eq!(question["method"], "roots/list");
            let roots = r#"{"roots":[{"uri":"file:///"}]}"#;
            with.respond(&question["id"], roots).await;
        }
        call.finish().await.result();
        let daemon = restarted(daemon, Ending::Killed).await;
        with.move_to(&daemon);
        without.move_to(&daemon);
        check_unknown(&with).await;
        assert_eq!(
            without.request("ping", "{}").await.result(),
            "{}",
            "{scope}"
        );
    }
}

#[tokio::test]
async fn a_stream_that_ended_with_its_daemon_ends_its_request() {
    for revision in ["2025-03-26", "2025-06-18", "2025-11-25"] {
        let upstream = over_http().await;
        let daemon = DaemonProcess::with_upstream(&upstream).await;
        let mut client = TestClient::speaking(revision)
            .connect(&daemon, "/mcp/all")
            .await;
        client.wait_for_tool("up__hang").await;
        let hang = r#"{"name":"up__hang","arguments":{}}"#;
        let mut stream = client.stream("tools/call", hang).await;
        let request = client.last_id();
        let seen = stream.next().await.expect("an event").id.expect("an id");
        let daemon = restarted(daemon, Ending::Killed).await;
        client.move_to(&daemon);
        let answer = client.resume(&seen).await;
        assert_eq!(answer.status, 200);
        let mut stream = EventStream::new(answer);
        let event = stream.next().await.expect("an answer");
        let answer: Value = serde_json::from_str(&event.data).expect("JSON");
        assert_eq!(answer["id"], request, "{revision}");
        let error = &answer["error"];
        let message = "mcpproxy restarted during the request, which may have run";
        assert_eq!(error["message"], message);
        assert_eq!(error["data"]["code"], "connection_lost");
        assert!(stream.next().await.is_none(), "that was all");
        // What is no event of anybody's stays unknown.
        assert_eq!(client.resume("nonsense").await.status, 400);
        client.call("up__echo", "{}").await.result();
    }
}

#[tokio::test]
async fn the_clients_own_stream_is_taken_up_after_a_restart() {
    let upstream = over_http().await;
    let daemon = DaemonProcess::with_upstream(&upstream).await;
    let speaking = TestClient::speaking("2025-11-25");
    let mut client = speaking.connect(&daemon, "/mcp/all").await;
    client.wait_for_tool("up__echo").await;
    let mut stream = client.listen().await;
    let seen = stream.next().await.expect("a priming event").id;
    let daemon = restarted(daemon, Ending::Killed).await;
    client.move_to(&daemon);
    let answer = client.resume(&seen.expect("an id")).await;
    assert_eq!(answer.status, 200);
    let mut stream = EventStream::new(answer);
    for list in LISTS {
        stream.next_frame(list).await;
    }
    client.wait_for_tool("up__echo").await;
    // Told once: another stream begins with nothing but news.
    let mut again = client.listen().await;
    assert_eq!(again.next().await.expect("a priming event").data, "");
    subscribe(&client, "lib://note").await;
    upstream.push(&update("lib://note")).await;
    let first = again.next().await.expect("the update");
    assert_eq!(first.data, update("lib://note"));
}

#[tokio::test]
async fn damaged_records_are_set_aside_and_named() {
    let daemon = TestDaemon::builder().spawn().await;
    let mut plain = daemon.client("/mcp").await;
    let mut leveled = daemon.client("/mcp").await;
    let level = leveled.request("logging/setLevel", r#"{"level":"error"}"#);
    level.await.result();
    let folder = daemon.home().data_dir().join("sessions");
    let files = || {
        let entries = fs::read_dir(&folder).expect("a folder of the daemon");
        let names = entries.map(|entry| entry.expect("readable").path());
        names.collect::<Vec<_>>()
    };
    let is_kept = |path: &std::path::PathBuf| path.extension().is_some_and(|end| end == "json");
    let kept: Vec<_> = files().into_iter().filter(is_kept).collect();
    let [kept] = &kept[..] else {
        panic!("one session has something to be kept: {kept:?}");
    };
    fs::write(kept, "{").expect("writable");
    let daemon = restarted(daemon, Ending::Killed).await;
    plain.move_to(&daemon);
    leveled.move_to(&daemon);
    assert_eq!(plain.request("ping", "{}").await.result(), "{}");
    check_unknown(&leveled).await;
    let aside = kept.with_extension("damaged");
    assert!(aside.exists(), "{:?}", files());
    has!(daemon.log(), &*aside.to_string_lossy());
    fs::write(folder.join("ended"), "?").expect("writable");
    let daemon = restarted(daemon, Ending::Killed).await;
    plain.move_to(&daemon);
    check_unknown(&plain).await;
    let aside = folder.join("ended.damaged");
    has!(daemon.log(), &*aside.to_string_lossy());
    daemon.client("/mcp").await;
}
