//! Servers that not all clients share: one process for each client session, or for each set of client roots.

use std::path::PathBuf;

use tempfile::TempDir;

use crate::support::prelude::*;

fn scoped(upstream: &Upstream, scope: &str) -> Builder {
    TestDaemon::builder().upstream_with("up", upstream, json!({ "session_scope": scope }))
}

/// The daemon, once it knows what the server offers and the process that said so has ended.
async fn ready(upstream: &Upstream, scope: &str) -> TestDaemon {
    let daemon = scoped(upstream, scope).await;
    let client = daemon.client("/mcp/server/up").await;
    client.wait_for_tool("itself").await;
    client.delete().await;
    if scope == "client" {
        upstream.wait_for_children(0).await;
    }
    daemon
}

fn telling() -> FakeUpstream {
    FakeUpstream::stdio().tool("itself", itself())
}

/// What the server says of itself to this client: process, folder, and how often it was asked.
async fn told(client: &TestClient, tool: &str) -> (u64, String, u64) {
    let reply = client.call(tool, "{}").await;
    let told: Value = serde_json::from_str(&reply.text()).expect("JSON");
    let number = |key: &str| told[key].as_u64().expect("a number");
    let cwd = told["cwd"].as_str().expect("a folder");
    (number("pid"), cwd.to_owned(), number("calls"))
}

#[tokio::test]
async fn each_session_has_a_process_with_a_state_of_its_own() {
    for (path, tool) in [("/mcp/server/up", "itself"), ("/mcp/all", "up__itself")] {
        let upstream = telling().await;
        let daemon = ready(&upstream, "client").await;
        assert_eq!(daemon.row("up").await["instances"], 0);
        let (a, b) = (daemon.client(path).await, daemon.client(path).await);
        let (pid_of_a, _, calls) = told(&a, tool).await;
        assert_eq!(calls, 1);
        let (pid_of_b, _, calls) = told(&b, tool).await;
        assert_ne!(pid_of_a, pid_of_b);
        assert_eq!(calls, 1, "nobody else's calls");
        assert_eq!(told(&a, tool).await, (pid_of_a, told(&b, tool).await.1, 2));
        let row = daemon.row("up").await;
        is_like!(row, { "instances": 2, "state": "Ready" });
        // The one that listed the tools is not among them.
        assert_eq!(upstream.spawn_count(), 3);
        daemon.shutdown().await;
        upstream.wait_for_children(0).await;
    }
}

#[tokio::test]
async fn many_first_calls_of_a_session_start_one_process() {
    let upstream = telling().await;
    let daemon = ready(&upstream, "client").await;
    let client = daemon.client("/mcp/server/up").await;
    let calls = (0..50).map(|_| told(&client, "itself"));
    let told = futures_util::future::join_all(calls).await;
    assert!(told.iter().all(|(pid, _, _)| *pid == told[0].0));
    assert_eq!(upstream.spawn_count(), 2);
}

#[tokio::test]
async fn a_session_that_ends_takes_its_process_along() {
    let upstream = telling().await;
    let daemon = ready(&upstream, "client").await;
    let (leaving, staying) = (
        daemon.client("/mcp/server/up").await,
        daemon.sse_client("/mcp/server/up/sse").await,
    );
    told(&leaving, "itself").await;
    let (pid, _, _) = told(&staying, "itself").await;
    upstream.wait_for_children(2).await;
    leaving.delete().await;
    upstream.wait_for_children(1).await;
    assert_eq!(told(&staying, "itself").await.0, pid);
    // A client over one stream ends with it.
    drop(staying);
    upstream.wait_for_children(0).await;
}

#[tokio::test]
async fn a_tool_that_the_process_of_a_session_lacks_is_not_blamed_on_the_client() {
    let upstream = telling().await;
    let daemon = ready(&upstream, "client").await;
    let client = daemon.client("/mcp/server/up").await;
    let other = [(plain_tool("other"), itself())];
    upstream.offer_silently(&other).await;
    let failure = client.call("itself", "{}").await.failure();
    has!(failure["hint"], "Find another tool");
}

const ROOTS: &str = r#"{"roots":[{"uri":"file:///tmp/é","name":"x","n":1.10}]}"#;

/// Asks for the roots before it lists anything, where it may.
fn rooted() -> FakeUpstream {
    let lists = format!(
        r#"{{"tools":[{},{}]}}"#,
        plain_tool("itself"),
        plain_tool("roots")
    );
    telling()
        .tool("roots", ask("roots/list", "{}").then(reply_with_answer()))
        .on(
            "tools/list",
            ask_the_able("roots", "roots/list", "{}").then(reply(lists)),
        )
}

/// The next frame of a call, which must be a question: answers it.
async fn respond(client: &TestClient, frame: &str, answer: &str) {
    let question: Value = serde_json::from_str(frame).expect("JSON");
    assert!(question["method"].is_string(), "{frame}");
    client.respond(&question["id"], answer).await;
}

#[tokio::test]
async fn the_server_is_told_what_this_client_can_do_and_asks_it_before_it_lists() {
    const ABLE: &str = r#"{"roots":{"listChanged":true},"experimental":{"x":{"n":1.10}}}"#;
    let upstream = rooted().await;
    let daemon = ready(&upstream, "client").await;
    let client = TestClient::speaking("2025-11-25")
        .declaring(ABLE)
        .connect(&daemon, "/mcp/server/up")
        .await;
    // No other stream is open than that of the call.
    let mut call = client.start("tools/call", r#"{"name":"roots"}"#).await;
    let asked = call.next().await.expect("a question while it connects");
    respond(&client, &asked, ROOTS).await;
    let asked = call.next().await.expect("a question within the call");
    respond(&client, &asked, ROOTS).await;
    has!(call.finish().await.text(), ROOTS, "as it was sent");
    let [listing, own] = &upstream.received("initialize")[..] else {
        panic!("one to list, one for the session");
    };
    has!(own, ABLE);
    has!(listing, "roots");
}

#[tokio::test]
async fn an_edit_ends_the_processes_of_all_sessions_and_their_next_calls_start_others() {
    let upstream = telling().await;
    let daemon = ready(&upstream, "client").await;
    let client = daemon.client("/mcp/server/up").await;
    let (pid, _, _) = told(&client, "itself").await;
    let edited = json!({ "session_scope": "client", "env": { "EDITED": "1" } });
    let builder = TestDaemon::builder().upstream_with("up", &upstream, edited);
    daemon.home().write_config(builder.text());
    // The one that lists under the new entry, and none besides.
    upstream.wait_for_count("initialize", 3).await;
    upstream.wait_for_children(0).await;
    assert_ne!(told(&client, "itself").await.0, pid);
    let builder = TestDaemon::builder();
    daemon.home().write_config(builder.text());
    upstream.wait_for_children(0).await;
}

#[tokio::test]
async fn a_server_that_offers_something_else_by_now_is_listed_again() {
    let upstream = telling().await;
    let daemon = ready(&upstream, "client").await;
    let definition = plain_tool("itself").replace("The tool", "The new tool");
    upstream.offer_silently(&[(definition, itself())]).await;
    let client = daemon.client("/mcp/all").await;
    let reply = client.call("up__itself", "{}").await;
    assert_eq!(reply.failure()["code"], "tool_changed");
    // For everybody, not only for the client whose connection showed it.
    let other = daemon.client("/mcp/all").await;
    until_async("the new definition to be held", async || {
        let listed = other.tool_names().await;
        (!listed.contains(&"up__itself".to_owned())).then_some(())
    })
    .await;
    crate::trust::approve(&daemon, "up", &["itself"]).await;
    let list = client.request("tools/list", "{}").await;
    has!(list.result(), "The new tool");
    told(&client, "up__itself").await;
    // One listed first, one listed again, and the session has its own.
    assert_eq!(upstream.spawn_count(), 3);
    upstream.wait_for_children(1).await;
}

#[tokio::test]
async fn updates_of_a_resource_reach_the_session_whose_process_sent_them() {
    let upstream = telling()
        .resource(
            r#"{"uri":"lib://note","name":"n"}"#,
            reply(r#"{"contents":[]}"#),
        )
        .await;
    let daemon = ready(&upstream, "client").await;
    let (a, b) = (
        daemon.client("/mcp/server/up").await,
        daemon.client("/mcp/server/up").await,
    );
    let (mut to_a, mut to_b) = (a.listen().await, b.listen().await);
    let subscribe = ("resources/subscribe", r#"{"uri":"lib://note"}"#);
    assert_eq!(a.request(subscribe.0, subscribe.1).await.result(), "{}");
    assert_eq!(b.request(subscribe.0, subscribe.1).await.result(), "{}");
    assert_eq!(upstream.received("resources/subscribe").len(), 2);
    a.delete().await;
    upstream.wait_for_children(1).await;
    let update = r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"lib://note"}}"#;
    upstream.push(update).await;
    assert_eq!(
        to_b.next_frame("notifications/resources/updated").await,
        update
    );
    assert!(to_a.next().await.is_none_or(|event| event.data.is_empty()));
}

#[tokio::test]
async fn remote_servers_have_a_session_for_each_of_ours() {
    let upstream = FakeUpstream::http().tool("itself", echo()).await;
    let daemon = scoped(&upstream, "client").await;
    let (a, b) = (
        daemon.client("/mcp/server/up").await,
        daemon.client("/mcp/server/up").await,
    );
    a.wait_for_tool("itself").await;
    for client in [&a, &b, &a] {
        client.call("itself", "{}").await.result();
    }
    assert_eq!(upstream.received("initialize").len(), 3);
    a.delete().await;
    let closed = upstream.wait_for_event(How::Delete).await;
    assert_eq!(closed.header("mcp-session-id"), Some("fake-session-2"));
}

/// A client with these folders as its roots.
struct Rooted {
    client: TestClient,
    roots: Vec<Value>,
}

impl Rooted {
    async fn at(daemon: &TestDaemon, path: &str, folders: &[&TempDir]) -> Self {
        let able = TestClient::speaking("2025-11-25").declaring(r#"{"roots":{}}"#);
        let mut rooted = Self {
            client: able.connect(daemon, path).await,
            roots: Vec::new(),
        };
        rooted.move_to(folders);
        rooted
    }

    fn move_to(&mut self, folders: &[&TempDir]) {
        let uri =
            |folder: &&TempDir| json!({ "uri": format!("file://{}", folder.path().display()) });
        self.roots = folders.iter().map(uri).collect();
    }

    /// What the server says of itself; on the way the client is asked for its roots so many times.
    async fn told(&self, tool: &str, times_asked: usize) -> (u64, PathBuf) {
        let params = format!(r#"{{"name":"{tool}"}}"#);
        let mut call = self.client.start("tools/call", &params).await;
        for _ in 0..times_asked {
            let asked = call.next().await.expect("a question");
            has!(asked, "roots/list");
            let roots = json!({ "roots": self.roots }).to_string();
            respond(&self.client, &asked, &roots).await;
        }
        let reply = call.finish().await;
        assert_eq!(reply.notices.len(), 0, "{:?}", reply.notices);
        let told: Value = serde_json::from_str(&reply.text()).expect("JSON");
        let cwd = told["cwd"].as_str().expect("a folder");
        (told["pid"].as_u64().expect("a number"), cwd.into())
    }
}

fn folder() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().canonicalize().expect("it is there");
    (folder, path)
}

#[tokio::test]
async fn clients_with_the_same_roots_share_a_process_that_starts_in_the_first() {
    let upstream = rooted().await;
    let daemon = ready(&upstream, "workspace").await;
    let ((one, path_of_one), (two, _)) = (folder(), folder());
    let a = Rooted::at(&daemon, "/mcp/server/up", &[&one, &two]).await;
    let b = Rooted::at(&daemon, "/mcp/all", &[&two, &one]).await;
    let c = Rooted::at(&daemon, "/mcp/server/up", &[&two]).await;
    let (pid, cwd) = a.told("itself", 1).await;
    assert_eq!(cwd, path_of_one);
    assert_eq!(a.told("itself", 0).await.0, pid, "asked once");
    assert_eq!(b.told("up__itself", 1).await.0, pid, "the same set");
    assert_ne!(c.told("itself", 1).await.0, pid);
    assert_eq!(daemon.row("up").await["instances"], 2);
    // What it asks for, it gets from what is known.
    let reply = a.client.call("roots", "{}").await;
    let named = json!({ "roots": a.roots }).to_string();
    assert!(reply.text().contains(&named), "{}", reply.text());
    assert!(reply.notices.is_empty());

    // The process goes with its last client.
    a.client.delete().await;
    assert_eq!(b.told("up__itself", 0).await.0, pid);
    b.client.delete().await;
    let gone = || {
        (!upstream
            .alive()
            .contains(&u32::try_from(pid).expect("a pid")))
        .then_some(())
    };
    until("the process of nobody to end", gone).await;
}

#[tokio::test]
async fn clients_without_roots_share_the_process_of_all() {
    let upstream = telling().await;
    let daemon = ready(&upstream, "workspace").await;
    let mute = daemon.client("/mcp/server/up").await;
    let (pid, _, _) = told(&mute, "itself").await;
    let stateless = TestClient::stateless(&daemon, "/mcp/server/up");
    assert_eq!(told(&stateless, "itself").await.0, pid);
    let without = Rooted::at(&daemon, "/mcp/server/up", &[]).await;
    assert_eq!(without.told("itself", 1).await.0, pid);
    assert_eq!(without.told("itself", 0).await.0, pid, "asked once");
    assert_eq!(daemon.row("up").await["instances"], 0);
}

#[tokio::test]
async fn a_client_that_moves_to_other_roots_finds_another_process_there() {
    let upstream = telling().await;
    let daemon = ready(&upstream, "workspace").await;
    let ((one, _), (two, path_of_two)) = (folder(), folder());
    let mut client = Rooted::at(&daemon, "/mcp/server/up", &[&one]).await;
    let (pid, _) = client.told("itself", 1).await;
    client.move_to(&[&two]);
    let changed = "notifications/roots/list_changed";
    assert_eq!(client.client.notify(changed, "{}").await.status, 202);
    assert_eq!(client.told("itself", 1).await.1, path_of_two);
    client.move_to(&[&one]);
    assert_eq!(client.client.notify(changed, "{}").await.status, 202);
    assert_eq!(client.told("itself", 1).await.0, pid);
}

#[tokio::test]
async fn a_server_of_one_client_hears_that_its_roots_changed() {
    let upstream = telling().await;
    let daemon = ready(&upstream, "client").await;
    for (count, path) in [(1, "/mcp/server/up"), (2, "/mcp/all")] {
        let client = daemon.client(path).await;
        let tool = if path == "/mcp/all" {
            "up__itself"
        } else {
            "itself"
        };
        told(&client, tool).await;
        let changed = "notifications/roots/list_changed";
        client.notify(changed, r#"{"x":1.10}"#).await;
        let heard = upstream.wait_for_count(changed, count).await;
        let heard = &heard[count - 1];
        has!(heard.body, r#"{"x":1.10}"#);
    }
}

#[tokio::test]
async fn a_folder_that_is_not_there_is_named_to_the_operator() {
    let upstream = telling().await;
    let daemon = ready(&upstream, "workspace").await;
    let (gone, path) = folder();
    let client = Rooted::at(&daemon, "/mcp/all", &[&gone]).await;
    drop(gone);
    let mut call = client
        .client
        .start("tools/call", r#"{"name":"up__itself"}"#)
        .await;
    let asked = call.next().await.expect("a question");
    let roots = json!({ "roots": client.roots }).to_string();
    respond(&client.client, &asked, &roots).await;
    let failure = call.finish().await.failure();
    assert_eq!(failure["code"], "server_unavailable", "{failure}");
    lacks!(failure.to_string(), path.to_str().expect("UTF-8"));
    let row = daemon.row("up").await;
    has!(row["last_error"], path.to_str().expect("UTF-8"), "{row}");
}
