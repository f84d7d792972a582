//! A server that dies, hangs or talks nonsense fails its own calls only, by name.

use crate::support::{prelude::*, script::HttpTrouble};

async fn listed(daemon: &TestDaemon, tools: &[&str]) -> TestClient {
    let client = daemon.client("/mcp/all").await;
    for tool in tools {
        client.wait_for_tool(tool).await;
    }
    client
}

#[tokio::test]
async fn a_crash_fails_its_calls_and_the_next_call_works() {
    // Over HTTP+SSE everything in flight is lost with the stream, and over HTTP where the connection is cut.
    for (upstream, is_cut) in [
        (FakeUpstream::stdio(), false),
        (FakeUpstream::sse(), false),
        (FakeUpstream::http(), true),
    ] {
        let over_pipes = upstream.is_over_pipes();
        let upstream = upstream
            .complaint("fatal: no database")
            .tool("die", exit())
            .tool("hang", hang())
            .tool("fine", reply_text("fine"))
            .await;
        let daemon = TestDaemon::builder().upstream("frail", &upstream).await;
        let client = listed(&daemon, &["frail__fine"]).await;
        let bystander = client.call("frail__hang", "{}");
        let culprit = async {
            upstream.wait_for("tools/call").await;
            let dying = client.call(if is_cut { "frail__hang" } else { "frail__die" }, "{}");
            let cut = async {
                upstream.wait_for_count("tools/call", 2).await;
                if is_cut {
                    upstream.cut_connections();
                }
            };
            tokio::join!(dying, cut).0
        };
        let (bystander, culprit) = tokio::join!(bystander, culprit);
        for reply in [bystander, culprit] {
            let failure = reply.failure();
            assert_eq!(failure["code"], "connection_lost", "{failure}");
            assert_eq!(failure["server"], "frail");
            lacks!(failure.to_string(), "no database");
        }
        assert_eq!(client.call("frail__fine", "{}").await.text(), "fine");
        let opened = upstream.received("initialize").len();
        assert_eq!(opened, if is_cut { 1 } else { 2 });
        let seen = upstream.received("tools/call");
        assert_eq!(seen.len(), 3, "nothing is sent twice: {seen:?}");
        if !over_pipes {
            continue;
        }
        // A person at a terminal is told first what must not be overlooked.
        let call = ["call", "destructive", "frail:die"];
        let (code, _, said) = daemon.home().cli(&call).await;
        let step = "next: check whether the call ran before you repeat it; `mcpproxy upstream logs frail` shows its log";
        assert!(code == 1 && said.contains(step), "{said}");
        // What goes to no model stands in the failure and in the record.
        has!(said, ": \"fatal: no database\"");
        until_async("both losses to be recorded", async || {
            let found = daemon.home().activity("kind=server&server=frail").await;
            let lost = found.iter().filter(|one| one["action"] == "lost");
            let words = lost.filter(|one| one["error"].to_string().contains("no database"));
            (words.count() == 2).then_some(())
        })
        .await;
    }
}

#[tokio::test]
async fn a_server_that_never_initializes_delays_nobody() {
    let silent = FakeUpstream::stdio()
        .on("initialize", hang())
        .unknown_methods(UnknownMethods::Ignored)
        .await;
    let good = FakeUpstream::stdio().tool("echo", echo()).await;
    // More of them than are discovered at a time.
    let silent_ones = (0..5).fold(TestDaemon::builder(), |daemon, n| {
        let name = format!("a-silent-{n}");
        daemon.upstream_with(&name, &silent, json!({"init_timeout": "10m"}))
    });
    let daemon = silent_ones.upstream("good", &good).await;
    let client = listed(&daemon, &["good__echo"]).await;
    client.call("good__echo", "{}").await.result();
    let health = daemon.get("/health").await;
    assert_eq!(health.status, 200);
    daemon.shutdown().await;
    silent.wait_for_children(0).await;
}

#[tokio::test]
async fn a_server_that_cannot_start_says_why_to_its_own_callers_only() {
    let stillborn = FakeUpstream::stdio()
        .complaint("SECRET-STDERR")
        .stillborn(7)
        .await;
    let good = FakeUpstream::stdio().tool("echo", echo()).await;
    let daemon = TestDaemon::builder()
        .upstream("dead", &stillborn)
        .upstream("good", &good)
        .entry("absent", json!({"command": "/no/such/program-anywhere"}))
        .entry("bad name", json!({"command": "x"}))
        .entry(
            "held",
            json!({"command": "/no/such/program", "quarantined": true}),
        )
        .await;
    let client = listed(&daemon, &["good__echo"]).await;
    client.call("good__echo", "{}").await.result();
    let native = TestClient::stateless(&daemon, "/mcp/server/dead");
    let reply = native.call("anything", "{}").await;
    lacks!(reply.frame, "SECRET-STDERR");
    let rows = daemon.rest("GET", "/api/v1/servers", "").await.json();
    let row = |name: &str| {
        let rows = rows["servers"].as_array().expect("rows");
        rows.iter().find(|row| row["name"] == name).cloned()
    };
    let absent = row("absent").expect("a row");
    assert_eq!(absent["state"], "Error", "{absent}");
    has!(absent["last_error"], "program-anywhere");
    assert!(absent["next_step"].is_string(), "{absent}");
    let held = async || daemon.rest("GET", "/api/v1/servers/held", "").await.json();
    until!(held().await["server"]["state"] == "Error");
    let health = daemon.get("/health").await.json();
    let ailing = health["servers"].as_array().expect("a list");
    let ailing: Vec<&Value> = ailing.iter().map(|one| &one["name"]).collect();
    assert_eq!(ailing, ["absent", "bad name", "dead"], "{health}");
    // Its tools are not unknown, whichever name is close to theirs.
    for name in ["dead", "absent"] {
        let by_offered_name = client.call(&format!("{name}__echo"), "{}").await;
        let declared = json!({ "name": format!("{name}:echo") });
        let by_own_name = client.call("call_tool_read", &declared).await;
        let failure = by_offered_name.failure();
        assert_eq!(failure["code"], "server_unavailable", "{failure}");
        assert_eq!(failure["code"], by_own_name.failure()["code"]);
    }
    let unknown = client.call("dead-or-not__echo", "{}").await;
    assert_eq!(unknown.error_code(), -32602, "{}", unknown.frame);
}

/// A result that ends readers which recurse.
fn deep(levels: usize) -> String {
    let nested = "[".repeat(levels) + &"]".repeat(levels);
    format!(r#"{{"content":[],"structuredContent":{{"a":{nested}}}}}"#)
}

#[tokio::test]
async fn a_broken_answer_fails_its_call_only() {
    for upstream in FakeUpstream::of_each_transport() {
        let upstream = upstream
            .tool("broken", malformed())
            .tool("error", error(r#"{"code":"E","message":"m"}"#))
            .tool("boom", error("\"boom\""))
            .tool("null", error(r#"null,"result":{"content":[]}"#))
            .tool("huge", oversized(65 << 20))
            .tool("deep", reply(deep(600)))
            .tool("edge", reply(deep(400)))
            .tool("late", gate("go").then(reply_text("late")))
            .await;
        let daemon = TestDaemon::builder().upstream("odd", &upstream).await;
        let client = listed(&daemon, &["odd__late"]).await;
        let late = client.call("odd__late", "{}");
        let others = async {
            upstream.wait_for("tools/call").await;
            assert_eq!(client.call("odd__edge", "{}").await.result(), deep(400));
            let answered = client.call("odd__null", "{}").await;
            assert_eq!(answered.result(), r#"{"content":[]}"#, "no error beside it");
            for tool in [
                "odd__broken",
                "odd__huge",
                "odd__deep",
                "odd__error",
                "odd__boom",
            ] {
                let failure = client.call(tool, "{}").await.failure();
                is_like!(failure, { "server": "odd", "code": "bad_upstream_answer" });
            }
            upstream.open("go").await;
        };
        let (late, ()) = tokio::join!(late, others);
        assert_eq!(late.text(), "late");
        assert_eq!(upstream.received("initialize").len(), 1);
    }
}

#[tokio::test]
async fn a_call_that_takes_too_long_is_cancelled_upstream() {
    for upstream in [
        FakeUpstream::stdio(),
        FakeUpstream::http(),
        FakeUpstream::http().answering(HttpAnswers::Sse),
        FakeUpstream::sse(),
    ] {
        let upstream = upstream.tool("hang", hang()).tool("fine", echo()).await;
        let daemon = TestDaemon::builder()
            .upstream_with("slow", &upstream, json!({"call_tool_timeout": "1s"}))
            .await;
        let client = listed(&daemon, &["slow__hang"]).await;
        let failure = client.call("slow__hang", "{}").await.failure();
        assert_eq!(failure["code"], "timed_out", "{failure}");
        assert_eq!(failure["server"], "slow");
        upstream.wait_for("notifications/cancelled").await;
        client.call("slow__fine", "{}").await.result();
        assert_eq!(
            upstream.received("initialize").len(),
            1,
            "the server stays connected"
        );
    }
}

#[tokio::test]
async fn pages_are_followed_and_a_circle_ends() {
    for (upstream, is_cut) in [
        (FakeUpstream::stdio(), false),
        (FakeUpstream::stdio().cyclic_pages(), true),
    ] {
        let mut upstream = upstream.pages_of(2);
        for n in 0..5 {
            upstream = upstream.tool(&format!("t{n}"), echo());
        }
        let upstream = upstream.await;
        let daemon = TestDaemon::with_upstream(&upstream).await;
        let client = listed(&daemon, &["up__t4"]).await;
        let names = client.tool_names().await;
        assert_eq!(names, ["up__t0", "up__t1", "up__t2", "up__t3", "up__t4"]);
        let row = &daemon.rest("GET", "/api/v1/servers", "").await.json()["servers"][0];
        let said = row["last_error"].as_str().unwrap_or_default();
        assert_eq!(said.contains("tools/list was cut after"), is_cut, "{row}");
    }
}

#[tokio::test]
async fn definitions_that_clients_cannot_read_are_left_out_of_every_list() {
    let deep = format!("{}1{}", r#"{"a":"#.repeat(200), "}".repeat(200));
    let odd = [
        r#"{"name":"odd1","inputSchema":{"type":"string"}}"#.to_owned(),
        r#"{"name":"odd2","inputSchema":{},"annotations":{"readOnlyHint":"banana"}}"#.to_owned(),
        r#"{"name":"odd3","inputSchema":{},"title":7}"#.to_owned(),
        r#"{"name":7,"description":"odd"}"#.to_owned(),
        r#"{"description":"odd and nameless"}"#.to_owned(),
        r#"{"name":"odd4","inputSchema":{},"description":"\ud800"}"#.to_owned(),
        format!(r#"{{"name":"odd5","inputSchema":{deep}}}"#),
    ];
    let mut hostile = FakeUpstream::stdio()
        .prompt(r#"{"name":"odd","arguments":{}}"#, reply("{}"))
        .resource(r#"{"uri":"a:odd","name":"x","mimeType":5}"#, reply("{}"))
        .tool("fine", reply_text("fine"));
    for definition in &odd {
        hostile = hostile.raw_tool(definition, reply_text("odd"));
    }
    let hostile = hostile.await;
    let daemon = TestDaemon::builder().upstream("hostile", &hostile).await;
    let client = listed(&daemon, &["hostile__fine"]).await;
    for list in ["tools/list", "prompts/list", "resources/list"] {
        let reply = client.request(list, "{}").await;
        lacks!(reply.frame, "odd");
    }
}

/// The official TypeScript SDK refuses a whole list for one such tool.
#[tokio::test]
async fn a_tool_whose_schema_has_no_type_is_in_no_list_of_all_and_can_be_called() {
    let upstream = FakeUpstream::stdio()
        .raw_tool(
            r#"{"name":"untyped","description":"Waters plants.","inputSchema":{}}"#,
            reply_text("watered"),
        )
        .tool("fine", reply_text("fine"))
        .await;
    let daemon = TestDaemon::with_upstream(&upstream).await;
    let client = listed(&daemon, &["up__fine"]).await;
    assert_eq!(client.tool_names().await, ["up__fine"]);
    let searching = daemon.client("/mcp").await;
    until_async("the tool to be found", async || {
        let found = searching
            .call("retrieve_tools", r#"{"query":"water plants"}"#)
            .await;
        found.text().contains("up:untyped").then_some(())
    })
    .await;
    for (tool, arguments) in [
        ("call_tool_write", r#"{"name":"up:untyped","args":{}}"#),
        ("up__untyped", "{}"),
    ] {
        assert_eq!(searching.call(tool, arguments).await.text(), "watered");
    }
    // The endpoint of one server lists what it lists.
    let native = daemon.client("/mcp/server/up").await;
    assert_eq!(native.tool_names().await, ["untyped", "fine"]);
}

#[tokio::test]
async fn a_list_that_fails_costs_itself_alone() {
    for method in ["prompts/list", "resources/list", "resources/templates/list"] {
        for upstream in [FakeUpstream::stdio(), FakeUpstream::http()] {
            let upstream = upstream
                .on(
                    method,
                    error(r#"{"code":-32603,"message":"out of /home/SECRET"}"#),
                )
                .tool("fine", echo())
                .prompt(r#"{"name":"p"}"#, echo())
                .resource(r#"{"uri":"a://b","name":"r"}"#, echo())
                .template(r#"{"uriTemplate":"t://{x}","name":"t"}"#)
                .await;
            let daemon = TestDaemon::with_upstream(&upstream).await;
            let client = listed(&daemon, &["up__fine"]).await;
            client.call("up__fine", "{}").await.result();
            for (other, key) in [
                ("prompts/list", "up__p"),
                ("resources/list", "a://b"),
                ("resources/templates/list", "t://{x}"),
            ] {
                let list = client.request(other, "{}").await;
                let is_there = list.result().contains(key);
                assert_eq!(is_there, other != method, "{method}: {}", list.result());
            }
            let rows = daemon.rest("GET", "/api/v1/servers", "").await.json();
            let row = &rows["servers"][0];
            assert_eq!(row["state"], "Ready");
            has!(row["last_error"], method);
            has!(row["last_error"], "SECRET");
            assert_eq!(daemon.get("/health").await.json()["status"], "ok");
        }
    }
}

#[tokio::test]
async fn operators_alone_read_what_a_server_says_over_http() {
    let upstream = FakeUpstream::http().tool("echo", echo()).await;
    let daemon = TestDaemon::with_upstream(&upstream).await;
    let client = listed(&daemon, &["up__echo"]).await;
    upstream
        .change(|script| script.http.trouble = Some(HttpTrouble::Refused(500)))
        .await;
    let failure = client.call("up__echo", "{}").await.failure();
    assert_eq!(failure["code"], "bad_upstream_answer");
    lacks!(failure.to_string(), "trouble");
    let words = r#"answered HTTP 500: "trouble""#;
    let records = daemon.home().activity("tool=echo").await;
    has!(records[0]["error"], words);
    lacks!(records[0]["told"].to_string(), "trouble");
    let (_, _, shown) = daemon.home().cli(&["call", "read", "up:echo"]).await;
    has!(shown, words);
}
