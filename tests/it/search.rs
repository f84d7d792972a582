//! `retrieve_tools` while servers come and go, and what is too long for it. What it finds in which order is in
//! `cli/transcripts/search.txt`.

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
async fn what_the_words_add_is_the_score() {
    let upstream = forge().await;
    let daemon = TestDaemon::builder().upstream("forge", &upstream).await;
    let path = "/api/v1/tools?q=create%20forge%20issues%20repository&explain=true";
    let found = async || {
        let answer = daemon.rest("GET", path, "").await.json();
        (answer["tools"].as_array()?.len() == 3).then_some(answer)
    };
    let answer = until_async("the tools are indexed", found).await;
    for tool in answer["tools"].as_array().expect("tools") {
        let words = tool["why"]["words"].as_array().expect("words").iter();
        let fields = ["name", "description", "parameters", "server"];
        let shares = words.flat_map(|word| fields.map(|field| word[field].as_f64()));
        let sum: f64 = shares.map(|share| share.expect("a share")).sum();
        let score = tool["score"].as_f64().expect("a score");
        assert!((sum - score).abs() < 0.002, "{sum} is not {score}: {tool}");
    }
}

#[tokio::test]
async fn what_is_too_long_is_cut_and_does_not_come_back_whole() {
    let upstream = forge().await;
    let daemon = TestDaemon::builder().upstream("forge", &upstream).await;
    let client = daemon.client("/mcp").await;
    until!(!names(&search(&client, json!({ "query": "create" })).await).is_empty());
    let long = format!("issue {}", "\"Creates an\" ".repeat(100_000));
    let result = client
        .call("retrieve_tools", json!({ "query": long }))
        .await;
    assert!(result.frame.len() < 20_000, "{}", result.frame.len());
    let answer = search(&client, json!({ "query": long })).await;
    assert_eq!(names(&answer), ["forge:create_issue"]);
    has!(answer["notice"], "too long");
    let repeated = answer["query"].as_str().expect("the query");
    assert!(long.starts_with(repeated) && repeated.len() == 2048);

    let name = "x".repeat(1_000_000);
    let arguments = json!({ "names": [name] });
    let described = client.call("describe_tool", &arguments).await;
    assert!(described.frame.contains("longer than 8 KiB") && described.frame.len() < 20_000);
    let arguments = json!({ "name": name });
    let refused = client.call("call_tool_read", &arguments).await;
    assert!(refused.frame.len() < 20_000, "{}", refused.frame.len());
    let refused = client.call(&name, "{}").await;
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
    // What was not searched has no match to speak of, and what is not known lacks no tool.
    let alone = search(&client, json!({ "query": "time", "server": "gone" })).await;
    has!(alone["notice"], down);
    lacks!(alone["notice"].to_string(), "No match");
    let described = client
        .call("describe_tool", r#"{"names":["gone:x"]}"#)
        .await;
    has!(described.text(), "server_unavailable");
    lacks!(described.text(), "has no tool");
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
        let notice = notice.as_str()?.strip_prefix("Not connected now: clock (");
        let ending = "). Calls to its tools may fail.";
        notice?.ends_with(ending).then_some(())
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
async fn new_tools_are_found_and_gone_ones_are_not() {
    let upstream = clock().await;
    let daemon = TestDaemon::builder().upstream("clock", &upstream).await;
    let client = daemon.client("/mcp").await;
    let find = async |query: &str| search(&client, json!({ "query": query })).await;
    until!(!names(&find("time").await).is_empty());
    // Awake, so that it can announce a change.
    client.call("clock__getTime", "{}").await;
    let definition = r#"{"name":"ring","description":"Rings a bell.","inputSchema":{}}"#.to_owned();
    upstream.offer(&[(definition, echo())]).await;
    until!(names(&find("bell").await) == ["clock:ring"]);
    assert!(names(&find("time").await).is_empty());
}
