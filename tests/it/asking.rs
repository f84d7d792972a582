//! Servers that ask their clients, under `session_scope: auto`: one connection for all until the first question; from then on one for
//! each client that can answer, and one for all others.

mod late;
mod without_sessions;

use crate::support::prelude::*;

const FORM: &str = r#"{"message":"Who?","requestedSchema":{}}"#;

const ABLE: &str = r#"{"elicitation":{"form":{}},"experimental":{"x":{"n":1.10}}}"#;

const DECLINED: &str = r#"{"action":"decline"}"#;

fn question(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":"{id}","method":"elicitation/create","params":{FORM}}}"#)
}

/// Says which process it is, and asks; another of its tools is there for clients that can answer only.
fn asking() -> FakeUpstream {
    FakeUpstream::stdio().tool("itself", itself()).tool(
        "form",
        ask("elicitation/create", FORM).then(reply_with_answer()),
    )
}

async fn before(upstream: &Upstream) -> TestDaemon {
    before_with(upstream, json!({})).await
}

async fn before_with(upstream: &Upstream, entry: Value) -> TestDaemon {
    let daemon = TestDaemon::builder()
        .upstream_with("up", upstream, entry)
        .await;
    let client = daemon.client("/mcp/server/up").await;
    client.wait_for_tool("form").await;
    client.delete().await;
    daemon
}

/// Has the server ask somebody who cannot answer.
async fn asks_once(daemon: &TestDaemon) {
    let unable = TestClient::stateless(daemon, "/mcp/server/up");
    let reply = unable.call("form", "{}").await;
    has!(reply.text(), "-32601");
}

async fn able(to: &impl Reachable, path: &str) -> TestClient {
    TestClient::speaking("2025-11-25")
        .declaring(ABLE)
        .connect(to, path)
        .await
}

fn modern(daemon: &TestDaemon) -> ModernClient {
    ModernClient::able_to(daemon, "/mcp/server/up", &json!({ "elicitation": {} }))
}

fn pid_in(reply: &Reply) -> u64 {
    let told: Value = serde_json::from_str(&reply.text()).expect("JSON");
    told["pid"].as_u64().expect("a number")
}

async fn pid_for(client: &TestClient, tool: &str) -> u64 {
    pid_in(&client.call(tool, "{}").await)
}

async fn pid_for_modern(client: &ModernClient) -> u64 {
    pid_in(&client.call("itself", "{}").await)
}

/// A modern client begins a call that asks: its state.
async fn begin(client: &ModernClient) -> String {
    let asked = client.call("form", "{}").await.value();
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    asked["requestState"].as_str().expect("a state").to_owned()
}

async fn go_on(client: &ModernClient, state: &str) -> Reply {
    let params = format!(
        r#"{{"name":"form","arguments":{{}},"inputResponses":{{"elicitation":{DECLINED}}},"requestState":"{state}"}}"#
    );
    client.request("tools/call", &params).await
}

#[tokio::test]
async fn all_share_a_server_until_it_asks() {
    let upstream = asking().await;
    let daemon = before(&upstream).await;
    let (a, b) = (
        able(&daemon, "/mcp/server/up").await,
        able(&daemon, "/mcp/all").await,
    );
    let unable = daemon.client("/mcp/server/up").await;
    let shared = pid_for(&a, "itself").await;
    assert_eq!(pid_for(&b, "up__itself").await, shared);
    assert_eq!(pid_for(&unable, "itself").await, shared);
    assert_eq!(pid_for_modern(&modern(&daemon)).await, shared);
    assert_eq!(upstream.spawn_count(), 1);
}

#[tokio::test]
async fn a_question_passes_two_daemons_and_the_answer_comes_back() {
    let near_server = before(&asking().await).await;
    let url = format!("http://{}/mcp/server/up", near_server.address());
    let builder = TestDaemon::builder().entry("up", json!({ "url": url }));
    let daemon = builder.start().await;
    daemon.wait_for_tool("up__form").await;
    let client = modern(&daemon);
    let state = begin(&client).await;
    has!(go_on(&client, &state).await.text(), "decline");
    let again = go_on(&client, &state).await;
    has!(again.error().to_string(), "requestState");
}

#[tokio::test]
async fn from_its_first_question_on_each_client_that_can_answer_has_a_connection_that_says_so() {
    let upstream = asking().await;
    let daemon = before(&upstream).await;
    let (a, b) = (
        able(&daemon, "/mcp/server/up").await,
        able(&daemon, "/mcp/all").await,
    );
    // The first to be asked is alone there, so it is asked.
    let mut call = a.start("tools/call", &call_params("form", "{}")).await;
    let asked = call.next().await.expect("a question");
    let asked: Value = serde_json::from_str(&asked).expect("JSON");
    a.respond(&asked["id"], DECLINED).await;
    has!(call.finish().await.text(), "decline");
    let unable = [
        daemon.client("/mcp/server/up").await,
        TestClient::stateless(&daemon, "/mcp/server/up"),
    ];
    let (of_a, of_b) = (pid_for(&a, "itself").await, pid_for(&b, "up__itself").await);
    let of_unable = pid_for(&unable[0], "itself").await;
    assert_eq!(pid_for(&unable[1], "itself").await, of_unable, "they share");
    assert!(of_a != of_b && of_a != of_unable && of_b != of_unable);
    assert_eq!(pid_for(&a, "itself").await, of_a, "and keep it");
    let said: Vec<Value> = upstream
        .received("initialize")
        .iter()
        .map(|frame| serde_json::from_str::<Value>(frame).expect("JSON"))
        .map(|frame| frame["params"]["capabilities"].clone())
        .collect();
    let own: Value = serde_json::from_str(ABLE).expect("JSON");
    assert_eq!(said[1..], [own.clone(), own, json!({})]);
    // Both are asked at the same time, and each gets its own answer through.
    let both = [(&a, "form", "Who?"), (&b, "up__form", "[up] Who?")];
    let mut calls = Vec::new();
    for (client, tool, message) in both {
        let mut call = client.start("tools/call", &call_params(tool, "{}")).await;
        let asked = call.next().await.expect("a question");
        let asked: Value = serde_json::from_str(&asked).expect("JSON");
        assert_eq!(asked["params"]["message"], message);
        calls.push((client, call, asked["id"].clone()));
    }
    for (n, (client, call, id)) in calls.into_iter().enumerate().rev() {
        let answer = format!(r#"{{"action":"accept","content":{{"n":{n}}}}}"#);
        client.respond(&id, &answer).await;
        assert!(call.finish().await.text().contains(&answer));
    }
    // What they leave behind ends with them.
    a.delete().await;
    b.delete().await;
    drop(daemon.shutdown().await);
    upstream.wait_for_children(0).await;
}

#[tokio::test]
async fn the_connection_that_only_lists_ends_when_nothing_is_in_flight_there() {
    let upstream = asking().await;
    let daemon = TestDaemon::builder()
        .config(json!({ "idle_check_interval": "1s" }))
        .upstream_with("up", &upstream, json!({ "idle_timeout": "never" }))
        .await;
    let a = able(&daemon, "/mcp/server/up").await;
    a.wait_for_tool("form").await;
    let mut call = a.start("tools/call", &call_params("form", "{}")).await;
    let asked = call.next().await.expect("a question");
    let asked: Value = serde_json::from_str(&asked).expect("JSON");
    // The call that showed that the server asks runs there to its end.
    let shared = upstream.pids()[0];
    let own = pid_for(&a, "itself").await;
    assert_ne!(own, u64::from(shared));
    a.respond(&asked["id"], DECLINED).await;
    has!(call.finish().await.text(), "decline");
    upstream.wait_for_children(1).await;
    assert_eq!(pid_for(&a, "itself").await, own, "never idle");
    a.delete().await;
    upstream.wait_for_children(0).await;
}

#[tokio::test]
async fn what_a_server_does_is_remembered_over_a_restart_with_its_configuration() {
    let upstream = asking().await;
    let daemon = before(&upstream).await;
    asks_once(&daemon).await;
    let home = daemon.shutdown().await;
    let daemon = TestDaemon::start_in(home).await;
    let (a, b) = (
        able(&daemon, "/mcp/server/up").await,
        able(&daemon, "/mcp/server/up").await,
    );
    assert_ne!(pid_for(&a, "itself").await, pid_for(&b, "itself").await);
    // Under another configuration it may be another program.
    let builder =
        TestDaemon::builder().upstream_with("up", &upstream, json!({ "env": { "EDITED": "1" } }));
    let initialized = upstream.received("initialize").len();
    daemon.home().write_config(builder.text());
    upstream.wait_for_count("initialize", initialized + 1).await;
    let shared = until_async("both to share the new process", async || {
        let pids = [pid_for(&a, "itself").await, pid_for(&b, "itself").await];
        (pids[0] == pids[1]).then_some(pids[0])
    });
    shared.await;
    // What is taken out of the configuration leaves nothing running.
    daemon.home().write_config(TestDaemon::builder().text());
    upstream.wait_for_children(0).await;
}

#[tokio::test]
async fn a_server_may_offer_more_to_clients_that_can_answer() {
    let lists = |more: &str| format!(r#"{{"tools":[{}{more}]}}"#, plain_tool("form"));
    let more = format!(",{}", plain_tool("more"));
    let upstream = asking()
        .tool("more", reply_text("more"))
        .on(
            "tools/list",
            reply_to_the_able("elicitation", &lists(&more), &lists("")),
        )
        .await;
    let daemon = before(&upstream).await;
    asks_once(&daemon).await;
    let (able, unable) = (
        able(&daemon, "/mcp/server/up").await,
        daemon.client("/mcp/server/up").await,
    );
    assert_eq!(able.call("more", "{}").await.text(), "more");
    let failure = unable.call("more", "{}").await.failure();
    assert_eq!(failure["code"], "unknown_tool", "{failure}");
    has!(failure["error"], "to this client");
    has!(failure["hint"], "needs a client with elicitation");
    for (client, has_more) in [(&able, true), (&unable, false)] {
        assert_eq!(
            client.tool_names().await.contains(&"more".to_owned()),
            has_more
        );
    }
    assert_eq!(upstream.spawn_count(), 3, "nobody had it listed again");
    // Somebody who has not called yet gets the same lists: on the server's address at once, elsewhere as soon as it is known.
    let others = [("/mcp/server/up", "more"), ("/mcp/all", "up__more")];
    for (path, more) in others {
        let unable = daemon.client(path).await;
        until!(!unable.tool_names().await.contains(&more.to_owned()));
    }
    let found = daemon.client("/mcp").await;
    let found = found.call("retrieve_tools", r#"{"query":"more"}"#).await;
    lacks!(found.text(), "up:more");
}

#[tokio::test]
async fn a_tool_that_a_server_adds_is_heard_of_listed_and_called_by_the_client_whose_connection_it_is()
 {
    let upstream = asking().await;
    let daemon = before(&upstream).await;
    asks_once(&daemon).await;
    for (path, prefix) in [("/mcp/server/up", ""), ("/mcp/all", "up__")] {
        let client = able(&daemon, path).await;
        let mut news = client.listen().await;
        pid_for(&client, &format!("{prefix}itself")).await;
        let extra = format!("extra{}", path.len());
        let tools = [("itself", itself()), (&extra, reply_text("added"))];
        let tools = tools.map(|(name, does)| (plain_tool(name), does));
        upstream.offer(&tools).await;
        news.next_frame("notifications/tools/list_changed").await;
        let extra = format!("{prefix}{extra}");
        client.wait_for_tool(&extra).await;
        assert_eq!(client.call(&extra, "{}").await.text(), "added");
        client.delete().await;
    }
}

const ROOTS: &str = r#"{"roots":[{"uri":"file:///of-the-client"}]}"#;

fn asking_for_roots() -> FakeUpstream {
    asking().tool("roots", ask("roots/list", "{}").then(reply_with_answer()))
}

async fn rooted(daemon: &TestDaemon) -> TestClient {
    TestClient::speaking("2025-11-25")
        .declaring(r#"{"roots":{}}"#)
        .connect(daemon, "/mcp/server/up")
        .await
}

#[tokio::test]
async fn a_server_that_clients_share_is_never_told_the_roots_of_one() {
    let (entry, modern_able) = (json!({ "session_scope": "shared" }), json!({ "roots": {} }));
    for upstream in [
        asking_for_roots(),
        FakeUpstream::http()
            .answering(HttpAnswers::Sse)
            .tool("form", echo())
            .tool("roots", ask("roots/list", "{}").then(reply_with_answer())),
    ] {
        let upstream = upstream.await;
        let daemon = before_with(&upstream, entry.clone()).await;
        let reply = rooted(&daemon).await.call("roots", "{}").await;
        assert!(reply.notices.is_empty(), "{:?}", reply.notices);
        has!(reply.text(), "-32601");
        let modern = ModernClient::able_to(&daemon, "/mcp/server/up", &modern_able);
        let text = modern.call("roots", "{}").await.text();
        has!(text, "-32601");
    }
    let upstream = asking_for_roots().await;
    let entry = json!({ "session_scope": "shared", "roots": ["file:///of-the-settings"] });
    let daemon = before_with(&upstream, entry).await;
    let text = rooted(&daemon).await.call("roots", "{}").await.text();
    has!(text, "file:///of-the-settings");
}

#[tokio::test]
async fn a_client_names_its_roots_on_a_connection_of_its_own() {
    let upstream = asking_for_roots().await;
    let daemon = before(&upstream).await;
    let client = rooted(&daemon).await;
    // The first question comes on the connection that all share.
    let first = client.call("roots", "{}").await;
    has!(first.text(), "-32601");
    let mut call = client
        .start("tools/call", &call_params("roots", "{}"))
        .await;
    let asked = call.next().await.expect("a question");
    let asked: Value = serde_json::from_str(&asked).expect("JSON");
    assert_eq!(asked["method"], "roots/list");
    client.respond(&asked["id"], ROOTS).await;
    has!(call.finish().await.text(), "of-the-client");
    let modern = ModernClient::able_to(&daemon, "/mcp/server/up", &json!({ "roots": {} }));
    let asked = modern.call("roots", "{}").await.value();
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    // One that has none is told so, and not that others share its connection.
    let without = able(&daemon, "/mcp/server/up").await;
    let text = without.call("roots", "{}").await.text();
    has!(text, "declared no roots");
}

#[tokio::test]
async fn roots_of_the_settings_hold_for_clients_that_have_none() {
    let upstream = asking_for_roots().await;
    let entry = json!({ "roots": ["file:///of-the-settings"] });
    let daemon = before_with(&upstream, entry).await;
    asks_once(&daemon).await;
    let clients = [
        able(&daemon, "/mcp/server/up").await,
        daemon.client("/mcp/server/up").await,
    ];
    for client in &clients {
        let text = client.call("roots", "{}").await.text();
        has!(text, "file:///of-the-settings");
    }
    let said = upstream.received("initialize");
    let roots = said.iter().filter(|frame| frame.contains(r#""roots":{"#));
    assert_eq!(roots.count(), 3, "{said:?}");
}

#[tokio::test]
async fn a_remote_server_that_asks_has_a_session_for_each_client_that_can_answer() {
    let upstream = FakeUpstream::sse()
        .tool("itself", echo())
        .tool(
            "form",
            ask("elicitation/create", FORM).then(reply_with_answer()),
        )
        .await;
    let daemon = before(&upstream).await;
    asks_once(&daemon).await;
    let opened = upstream.received("initialize").len();
    for n in 1..=2 {
        let client = able(&daemon, "/mcp/server/up").await;
        let mut call = client.start("tools/call", &call_params("form", "{}")).await;
        let asked = call.next().await.expect("a question");
        let asked: Value = serde_json::from_str(&asked).expect("JSON");
        client.respond(&asked["id"], DECLINED).await;
        has!(call.finish().await.text(), "decline");
        assert_eq!(upstream.received("initialize").len(), opened + n);
    }
}

/// One program serves all connections over HTTP, and may tell one of them alone.
#[tokio::test]
async fn what_a_server_over_http_announces_to_one_client_is_listed_to_the_others_too() {
    let changed = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
    let tools = || {
        let form = ask("elicitation/create", FORM).then(reply_with_answer());
        let add = notice(changed).then(reply_text("done"));
        [("form", form), ("add", add)].map(|(name, does)| (plain_tool(name), does))
    };
    let [form, add] = tools().map(|(_, does)| does);
    let upstream = FakeUpstream::http()
        .answering(HttpAnswers::Sse)
        .tool("form", form)
        .tool("add", add)
        .await;
    let daemon = before(&upstream).await;
    asks_once(&daemon).await;
    let (a, b) = (
        able(&daemon, "/mcp/server/up").await,
        able(&daemon, "/mcp/server/up").await,
    );
    for client in [&a, &b] {
        assert_eq!(client.call("add", "{}").await.text(), "done");
    }
    let mut heard = b.listen().await;
    let [form, add] = tools();
    let extra = (plain_tool("extra"), reply_text("added"));
    upstream.offer_silently(&[form, add, extra]).await;
    assert_eq!(a.call("add", "{}").await.text(), "done");
    a.wait_for_tool("extra").await;
    heard.next_frame("notifications/tools/list_changed").await;
    assert_eq!(b.call("extra", "{}").await.text(), "added");
}
