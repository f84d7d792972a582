//! `retrieve_tools` and `describe_tool`, and the same search over REST: who is found, in which order, with what, and what is said where
//! nothing is.

use crate::support::prelude::*;

/// A definition with numbers and keys that a careless proxy would rewrite.
const CREATE: &str = r#"{"name":"create_issue","description":"Creates an issue in a repository.","inputSchema":{"type":"object","properties":{"title":{"type":"string"},"weight":{"type":"number","maximum":1.10}},"required":["title"]},"x-odd":12345678901234567890123}"#;

async fn forge() -> Upstream {
    FakeUpstream::stdio()
        .raw_tool(CREATE, echo())
        .raw_tool(
            r#"{"name":"list_issues","description":"Lists the issues of a repository.","inputSchema":{},"annotations":{"readOnlyHint":true}}"#,
            echo(),
        )
        .raw_tool(r#"{"name":"delete_repo","description":"Deletes a repository.","inputSchema":{}}"#, echo())
        .await
}

async fn clock() -> Upstream {
    FakeUpstream::stdio()
        .raw_tool(
            r#"{"name":"getTime","description":"Says what time it is.","inputSchema":{}}"#,
            echo(),
        )
        .await
}

struct House {
    _upstreams: (Upstream, Upstream),
    daemon: TestDaemon,
    client: TestClient,
}

async fn house(settings: Value) -> House {
    let upstreams = (forge().await, clock().await);
    let daemon = TestDaemon::builder()
        .upstream("forge", &upstreams.0)
        .upstream("clock", &upstreams.1)
        .config(settings)
        .await;
    let client = daemon.client("/mcp").await;
    let all_are_known = async || {
        let answer = search(&client, json!({ "query": "create time" })).await;
        (names(&answer).len() == 2).then_some(())
    };
    until_async("both servers are indexed", all_are_known).await;
    House {
        _upstreams: upstreams,
        daemon,
        client,
    }
}

async fn search(client: &TestClient, arguments: Value) -> Value {
    let result = client
        .call("retrieve_tools", &arguments.to_string())
        .await
        .value();
    assert_eq!(result["isError"], Value::Null, "{result}");
    let text = result["content"][0]["text"].as_str().expect("a text");
    assert_eq!(
        serde_json::from_str::<Value>(text).expect("JSON"),
        result["structuredContent"]
    );
    result["structuredContent"].clone()
}

fn names(answer: &Value) -> Vec<&str> {
    let tools = answer["tools"].as_array().expect("a list");
    tools
        .iter()
        .map(|tool| tool["name"].as_str().expect("a name"))
        .collect()
}

#[tokio::test]
async fn the_best_tool_comes_first_with_all_that_a_call_needs() {
    let house = house(json!({})).await;
    let answer = search(&house.client, json!({ "query": "creating issues" })).await;
    assert_eq!(names(&answer), ["forge:create_issue", "forge:list_issues"]);
    is_like!(answer, { "query": "creating issues", "total": 2, "notice": null });
    let [first, second] = [&answer["tools"][0], &answer["tools"][1]];
    assert_eq!(first["server"], "forge");
    assert_eq!(first["description"], "Creates an issue in a repository.");
    assert_eq!(first["inputSchema"]["required"], json!(["title"]));
    assert_eq!(first["call_with"], "call_tool_write");
    assert_eq!(second["call_with"], "call_tool_read");
    assert_eq!(second["annotations"], json!({ "readOnlyHint": true }));
    let [best, next] = [first, second].map(|tool| tool["score"].as_f64().expect("a number"));
    assert!(0.0 < next && next < best && best <= 1.0, "{best} {next}");
    let delete = search(&house.client, json!({ "query": "forge:delete" })).await;
    assert_eq!(delete["tools"][0]["call_with"], "call_tool_destructive");
}

#[tokio::test]
async fn it_answers_in_every_mode() {
    let house = house(json!({})).await;
    for path in ["/mcp/all", "/mcp/call"] {
        let client = house.daemon.client(path).await;
        let answer = search(&client, json!({ "query": "time" })).await;
        assert_eq!(names(&answer), ["clock:getTime"], "{path}");
    }
}

#[tokio::test]
async fn queries_take_phrases_filters_and_bounds() {
    let house = house(json!({ "tools_limit": 2 })).await;
    let check = async |arguments: Value, expected: &[&str]| {
        let answer = search(&house.client, arguments.clone()).await;
        assert_eq!(names(&answer), expected, "{arguments}");
    };
    check(
        json!({ "query": "repository", "limit": 100 }),
        &["forge:delete_repo", "forge:create_issue"],
    )
    .await;
    check(
        json!({ "query": "repository", "limit": 1 }),
        &["forge:delete_repo"],
    )
    .await;
    check(
        json!({ "query": "\"issue in a\"" }),
        &["forge:create_issue"],
    )
    .await;
    check(json!({ "query": "forge:list" }), &["forge:list_issues"]).await;
    check(json!({ "query": "clock:" }), &["clock:getTime"]).await;
    check(
        json!({ "query": "", "server": "clock" }),
        &["clock:getTime"],
    )
    .await;
    check(
        json!({ "query": "create time", "server": "clock" }),
        &["clock:getTime"],
    )
    .await;
    check(
        json!({ "query": "create the issues", "match": "all" }),
        &["forge:create_issue"],
    )
    .await;
    check(
        json!({ "query": "issues repository", "read_only_only": true }),
        &["forge:list_issues"],
    )
    .await;
    check(
        json!({ "query": "delete repository", "exclude_destructive": true }),
        &["forge:create_issue", "forge:list_issues"],
    )
    .await;
    for odd in ["*", "\"", ":", "a AND (", "forge::x", "\\", "🦆"] {
        search(&house.client, json!({ "query": odd })).await;
    }
}

#[tokio::test]
async fn past_the_first_results_a_signature_stands_for_the_schema() {
    let house = house(json!({ "top_k": 1 })).await;
    let answer = search(&house.client, json!({ "query": "issues" })).await;
    let has_schema: Vec<bool> = answer["tools"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|tool| tool["inputSchema"].is_object())
        .collect();
    assert_eq!(has_schema, [true, false]);
    let answer = search(
        &house.client,
        json!({ "query": "create_issue", "detail": "compact" }),
    )
    .await;
    assert_eq!(
        answer["tools"][0]["signature"],
        "create_issue(title: string, weight?: number)"
    );
    assert_eq!(answer["tools"][0]["inputSchema"], Value::Null);
}

#[tokio::test]
async fn schemas_come_back_as_their_server_wrote_them() {
    let house = house(json!({})).await;
    let found = house
        .client
        .call("retrieve_tools", r#"{"query":"create issue"}"#)
        .await;
    has!(found.frame, r#"{"type":"number","maximum":1.10}"#);
    let described = house
        .client
        .call("describe_tool", r#"{"names":["forge:create_issue"]}"#)
        .await;
    has!(described.frame, r#""x-odd":12345678901234567890123"#);
}

#[tokio::test]
async fn what_is_too_long_is_cut_and_does_not_come_back_whole() {
    let house = house(json!({})).await;
    let long = format!("issue {}", "\"Creates an\" ".repeat(100_000));
    let result = house
        .client
        .call("retrieve_tools", &json!({ "query": long }).to_string())
        .await;
    assert!(result.frame.len() < 20_000, "{}", result.frame.len());
    let answer = search(&house.client, json!({ "query": long })).await;
    assert_eq!(names(&answer), ["forge:create_issue"]);
    has!(answer["notice"], "too long");
    let repeated = answer["query"].as_str().expect("the query");
    assert!(long.starts_with(repeated) && repeated.len() == 2048);

    let name = "x".repeat(1_000_000);
    let arguments = json!({ "names": [name] }).to_string();
    let described = house.client.call("describe_tool", &arguments).await;
    assert!(described.frame.contains("server:tool") && described.frame.len() < 20_000);
    let arguments = json!({ "name": name }).to_string();
    let refused = house.client.call("call_tool_read", &arguments).await;
    assert!(refused.frame.len() < 20_000, "{}", refused.frame.len());
    let refused = house.client.call(&name, "{}").await;
    assert!(refused.frame.len() < 20_000, "{}", refused.frame.len());
}

#[tokio::test]
async fn a_search_waits_for_nobody_and_says_who_is_missing() {
    let slow = FakeUpstream::stdio()
        .on("initialize", gate("slow").then(reply("{}")))
        .await;
    let clock = clock().await;
    let daemon = TestDaemon::builder()
        .upstream("slow", &slow)
        .upstream("clock", &clock)
        .await;
    let client = daemon.client("/mcp").await;
    let answer = search(&client, json!({ "query": "nothing like it" })).await;
    has!(answer["notice"], "Not searched yet");
    has!(answer["notice"], "slow");
    slow.open("slow").await;
}

#[tokio::test]
async fn a_search_names_the_servers_that_are_down_before_anybody_knows_their_tools() {
    let clock = clock().await;
    let daemon = TestDaemon::builder()
        .entry("gone", json!({ "command": "/no/such/program" }))
        .upstream("clock", &clock)
        .await;
    let client = daemon.client("/mcp").await;
    let said = async |arguments: &Value, expected: &str| {
        let answer = search(&client, arguments.clone()).await;
        let notice = answer["notice"].as_str().unwrap_or_default();
        notice.contains(expected).then_some(())
    };
    let down = "Not searched: gone";
    for query in ["nothing like it", "time"] {
        let query = json!({ "query": query });
        until_async("the server is given up", async || said(&query, down).await).await;
    }
    let reply = client.call("call_tool_read", r#"{"name":"gone:x"}"#).await;
    let failure = reply.failure();
    assert_eq!(failure["code"], "server_unavailable");
    lacks!(failure.to_string(), "`mcpproxy", "{failure}");
    let other = json!({ "query": "time", "server": "clock" });
    until_async("the other server is searched alone", async || {
        let answer = search(&client, other.clone()).await;
        (names(&answer) == ["clock:getTime"] && answer["notice"].is_null()).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_search_names_the_servers_of_what_it_finds_that_do_not_answer() {
    let clock = FakeUpstream::http()
        .tool("getTime", reply_text("noon"))
        .await;
    let forge = forge().await;
    let daemon = TestDaemon::builder()
        .upstream("clock", &clock)
        .upstream("forge", &forge)
        .config(json!({ "health_check_interval": "1s" }))
        .await;
    let client = daemon.client_of("clock__getTime").await;
    let notice = async |query: &str| {
        let found = search(&client, json!({ "query": query })).await;
        (found["total"] != 0).then(|| found["notice"].clone())
    };
    until_async("both are indexed", async || {
        notice("create").await.and(notice("time").await)
    })
    .await;
    clock.refuse_connections(true);
    clock.cut_connections();
    until_async("the server is missed", async || {
        let notice = notice("time").await?;
        let named = notice.as_str()?.starts_with("Not connected now: clock (");
        named.then_some(())
    })
    .await;
    assert_eq!(notice("create").await, Some(Value::Null), "not its tool");
}

#[tokio::test]
async fn the_first_search_after_a_start_finds_what_was_known_before_it() {
    let upstream = forge().await;
    let daemon = TestDaemon::builder().upstream("forge", &upstream).await;
    let client = daemon.client("/mcp").await;
    let is_known = async || {
        let answer = search(&client, json!({ "query": "create" })).await;
        (!names(&answer).is_empty()).then_some(())
    };
    until_async("the server is indexed", is_known).await;
    let lists = daemon.home().data_dir().join("catalog/forge.json");
    let is_kept = async || lists.exists().then_some(());
    until_async("its lists are kept", is_kept).await;
    let home = daemon.shutdown().await;
    // It never waits for the server, so what it finds is the known list.
    let again = TestDaemon::start_in(home).await;
    let answer = again.rest("GET", "/api/v1/tools?q=create", "").await;
    let answer = answer.json();
    assert_eq!(answer["tools"][0]["name"], "forge:create_issue", "{answer}");
}

#[tokio::test]
async fn words_that_no_tool_has_are_named() {
    let house = house(json!({})).await;
    for (query, expected) in [
        ("create an issue", None),
        ("fetch the issues", None),
        ("push issue", Some("No tool has the word \"push\".")),
        (
            "push issue force push upstream",
            Some("No tool has the words \"push\", \"force\", \"upstream\"."),
        ),
    ] {
        let answer = search(&house.client, json!({ "query": query })).await;
        assert_eq!(answer["notice"].as_str(), expected, "{query}");
    }
}

#[tokio::test]
async fn new_tools_are_found_and_gone_ones_are_not() {
    let upstream = clock().await;
    let daemon = TestDaemon::builder().upstream("clock", &upstream).await;
    let client = daemon.client("/mcp").await;
    let find = async |query: &str| search(&client, json!({ "query": query })).await;
    until_async("the first list is indexed", async || {
        (!names(&find("time").await).is_empty()).then_some(())
    })
    .await;
    // Awake, so that it can announce a change.
    client.call("clock__getTime", "{}").await;
    let definition = r#"{"name":"ring","description":"Rings a bell.","inputSchema":{}}"#.to_owned();
    upstream.offer(&[(definition, echo())]).await;
    until_async("the new tool is found", async || {
        (names(&find("bell").await) == ["clock:ring"]).then_some(())
    })
    .await;
    assert!(names(&find("time").await).is_empty());
}

#[tokio::test]
async fn descriptions_are_whole_and_unknown_names_get_the_closest() {
    let house = house(json!({})).await;
    let arguments = json!({ "names": ["forge:create_issue", "clock__getTime", "forge:create_isue", "list issues", "nobody:x"] });
    let result = house
        .client
        .call("describe_tool", &arguments.to_string())
        .await
        .value();
    let answer = &result["structuredContent"];
    assert_eq!(names(answer), ["forge:create_issue", "clock:getTime"]);
    assert_eq!(answer["tools"][0]["call_with"], "call_tool_write");
    let unknown = answer["unknown"].as_array().expect("a list");
    let closest: Vec<(&str, &str)> = unknown
        .iter()
        .map(|one| {
            (
                one["name"].as_str().expect("a name"),
                one["closest"][0].as_str().unwrap_or_default(),
            )
        })
        .collect();
    assert_eq!(
        closest,
        [
            ("forge:create_isue", "forge:create_issue"),
            ("list issues", "forge:list_issues"),
            ("nobody:x", "")
        ]
    );
    assert_eq!(unknown[2]["code"], "unknown_server");
}

#[tokio::test]
async fn rest_gives_the_ranking_of_retrieve_tools() {
    let house = house(json!({})).await;
    let told = search(
        &house.client,
        json!({ "query": "list issue", "limit": 2, "match": "any" }),
    )
    .await;
    let answer = house
        .daemon
        .rest("GET", "/api/v1/tools?q=list%20issue&limit=2&match=any", "")
        .await;
    assert_eq!((answer.status, answer.json()), (200, told));
    for (query, code) in [
        ("q=x&match=some", "invalid_arguments"),
        ("q=x&server=nobody", "unknown_server"),
    ] {
        let answer = house
            .daemon
            .rest("GET", &format!("/api/v1/tools?{query}"), "")
            .await;
        assert_eq!(answer.json()["code"], code, "{query}");
    }
}

#[tokio::test]
async fn a_filter_says_what_it_left_out_and_no_notice_names_a_stranger() {
    let tool = |name: &str| format!(r#"{{"name":"{name}","inputSchema":{{}}}}"#);
    let pays = FakeUpstream::stdio()
        .raw_tool(&tool("send_payment"), echo())
        .await;
    let held = FakeUpstream::stdio()
        .raw_tool(&tool("send_note"), echo())
        .raw_tool(&tool("refund_invoice"), echo())
        .await;
    let asks = FakeUpstream::stdio()
        .raw_tool(
            r#"{"name":"list_refunds","inputSchema":{},"annotations":{"readOnlyHint":true}}"#,
            echo(),
        )
        .await;
    let daemon = TestDaemon::builder()
        .upstream("pays", &pays)
        .upstream_with("held", &held, json!({ "quarantined": true }))
        .upstream("asks", &asks)
        .await;
    let client = daemon.client("/mcp").await;
    let answer = until_async("all are indexed", async || {
        let answer = search(
            &client,
            json!({ "query": "send payment", "read_only_only": true }),
        )
        .await;
        answer["omitted"].is_object().then_some(answer)
    })
    .await;
    let omitted = json!({ "read_only_only": { "declares_write": 0, "declares_nothing": 1 } });
    assert_eq!(answer["omitted"], omitted, "{answer}");
    has!(
        answer["notice"],
        "read_only_only left out 1 tool that fits: 1 without a declaration."
    );
    lacks!(answer["notice"].to_string(), "held");
    // What would stand first is named, what only has a word in common is not.
    let answer = until_async("what is held is known", async || {
        let answer = search(&client, json!({ "query": "refund invoice" })).await;
        let notice = answer["notice"].as_str().unwrap_or_default().to_owned();
        (names(&answer) == ["asks:list_refunds"] && notice.contains("is held")).then_some(answer)
    })
    .await;
    has!(
        answer["notice"],
        "The best match is held: the server \"held\" is quarantined"
    );
    let answer = search(&client, json!({ "query": "send payment" })).await;
    assert_eq!(
        (names(&answer), &answer["notice"]),
        (vec!["pays:send_payment"], &Value::Null)
    );
    // Blanks around a name mean nothing.
    let described = client
        .call("describe_tool", r#"{"names":[" pays:send_payment "]}"#)
        .await;
    has!(described.text(), "\"unknown\":[]");
    // What may stand in place of a held tool is a way around it.
    let described = client
        .call("describe_tool", r#"{"names":["held:send_payment"]}"#)
        .await
        .value();
    let unknown = &described["structuredContent"]["unknown"][0];
    assert_eq!(unknown["code"], "server_quarantined", "{unknown}");
    assert_eq!(unknown["closest"], json!([]));
    let called = client
        .call("call_tool_write", r#"{"name":" pays:send_payment "}"#)
        .await;
    called.result();
}
