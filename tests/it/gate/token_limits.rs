//! What an issued token keeps from its holder: refused on every way in, by the call type that the gate gives each tool, and in no list.

use super::ways::{EFFECTS, House, Outcome, THINGS, WAYS, Way, effects, listed, refused, server};
use crate::support::prelude::*;

/// The ways of clients. The operator shows no token.
fn ways() -> impl Iterator<Item = Way> {
    let of_operators = [Way::Rest, Way::Cli, Way::ScriptRest];
    WAYS.into_iter()
        .filter(move |way| !of_operators.contains(way))
}

/// What each tool is called with: 0 for reading, 1 for writing, 2 for destroying.
const CALL_TYPES: [(&str, usize); 6] = [
    ("look", 0),
    ("change", 1),
    ("wreck", 2),
    ("delete_repo", 2),
    ("create_issue", 1),
    ("frobnicate", 1),
];

#[tokio::test]
async fn a_token_calls_what_its_limit_lets_it_on_every_way_in() {
    for (level, calls) in ["read", "write", "all"].into_iter().enumerate() {
        let house = House::of(effects(), &json!({}), json!({})).await;
        let house = house
            .by_token(json!({ "name": "ben", "calls": calls }))
            .await;
        for (tool, call_type) in CALL_TYPES {
            for way in ways() {
                let outcome = house.call(way, "up", tool).await;
                let is_shut = match way {
                    Way::Variant("write") => level < 1,
                    Way::Variant("destructive") => level < 2,
                    _ => false,
                };
                let expected = if call_type > level || is_shut {
                    refused("access_denied")
                } else if is_too_mild(way, tool) {
                    refused("wrong_variant")
                } else {
                    Outcome::Passed
                };
                // Such tools it never calls, and says so first.
                let is_never = way == Way::CallTool && call_type == 2;
                let is_fine =
                    outcome == expected || (is_never && outcome == refused("wrong_variant"));
                assert!(is_fine, "{calls}: {way:?} to {tool}: {outcome:?}");
            }
        }
        let mut tools = listed(&house.all, "tools/list", ("tools", "name")).await;
        tools.retain(|name| name.starts_with("up__"));
        let may_see = CALL_TYPES
            .iter()
            .filter(|(_, call_type)| *call_type <= level);
        assert_eq!(tools.len(), may_see.count(), "{calls}: {tools:?}");
        let mut records = house
            .daemon
            .home()
            .activity("outcome=refused&server=up&limit=200")
            .await;
        let mut mild = records
            .iter()
            .filter(|record| record["code"] == "wrong_variant");
        assert!(
            mild.all(|record| record["gate"]["call_with"].is_string()),
            "{calls}: {records:?}"
        );
        records.retain(|record| record["code"] == "access_denied" && record["gate"].is_object());
        assert_eq!(records.is_empty(), level == 2, "{calls}: {records:?}");
        for record in &records {
            assert_eq!(record["gate"]["decided_by"], "token", "{calls}: {record}");
        }
    }
}

/// Whether the way declares less than what is known of the tool.
fn is_too_mild(way: Way, tool: &str) -> bool {
    let (_, read, write) = EFFECTS
        .iter()
        .find(|(name, ..)| *name == tool)
        .expect("known");
    match way {
        Way::Variant("read") => !read,
        Way::Variant("write") | Way::CallTool => !write,
        _ => false,
    }
}

#[tokio::test]
async fn a_search_with_a_token_that_reads_says_that_it_finds_no_others() {
    let house = halved().await;
    let (client, _) = limited(&house, "reads", json!({ "calls": "read" })).await;
    let search = json!({ "query": "nothingness" }).to_string();
    let found = client.call("retrieve_tools", &search).await.value();
    let notice = found["structuredContent"]["notice"].as_str();
    has!(
        notice.unwrap_or_default(),
        "This token may only read; other tools are not found."
    );
}

#[tokio::test]
async fn a_token_that_reads_has_prompts_and_resources_and_no_method_that_nobody_knows() {
    let house = House::of(
        vec![("free".to_owned(), server("free"))],
        &json!({}),
        json!({}),
    )
    .await;
    let house = house.by_token(json!({ "name": "ben" })).await;
    for thing in THINGS {
        let outcomes = house.ask(thing, "free").await;
        assert_eq!(outcomes, [Outcome::Passed, Outcome::Passed], "{thing:?}");
    }
    let unknown = house.native("free").request("vendor/do", "{}").await;
    assert_eq!(Outcome::of(&unknown), refused("access_denied"));
    assert_eq!(house.server("free").received("vendor/do"), [""; 0]);
    for operation in [
        json!({ "operation": "disable", "name": "free" }),
        json!({ "operation": "restart", "name": "free" }),
        json!({ "operation": "remove", "name": "free" }),
        json!({ "operation": "patch", "name": "free", "idle_timeout": "1m" }),
        json!({ "operation": "add", "name": "more", "command": "x" }),
    ] {
        let reply = house
            .all
            .call("upstream_servers", &operation.to_string())
            .await;
        assert_eq!(Outcome::of(&reply), refused("access_denied"), "{operation}");
    }
    let list = r#"{"operation":"list"}"#;
    let reply = house.all.call("upstream_servers", list).await;
    assert_eq!(Outcome::of(&reply), Outcome::Passed, "{}", reply.frame);
}

/// Two servers, and a profile that shows a half of one of them.
async fn halved() -> House {
    let servers = ["in", "out"].map(|name| (name.to_owned(), server(name)));
    let settings = json!({ "profiles": { "half": { "servers": ["in"], "tools": ["in__wave"] } } });
    House::of(servers.into(), &json!({}), settings).await
}

/// A client with a new token that has these limits, and may call everything within them unless they say less, and what it shows.
async fn limited(house: &House, name: &str, mut limits: Value) -> (TestClient, String) {
    limits["name"] = name.into();
    if limits["calls"].is_null() {
        limits["calls"] = "all".into();
    }
    let issued = house
        .daemon
        .rest("POST", "/api/v1/tokens", &limits.to_string())
        .await
        .json();
    let credential = format!("Bearer {}", issued["token"].as_str().expect("a token"));
    let speaking = TestClient::speaking("2025-06-18").showing("authorization", &credential);
    let client = speaking.connect(&house.daemon, "/mcp/all").await;
    (client, credential)
}

#[tokio::test]
async fn servers_outside_of_a_token_are_not_there() {
    let house = halved().await;
    for (name, limits, tools) in [
        (
            "by-servers",
            json!({ "servers": ["in"] }),
            &["in__echo", "in__wave"][..],
        ),
        ("by-profile", json!({ "profile": "half" }), &["in__wave"]),
    ] {
        let (client, credential) = limited(&house, name, limits).await;
        let mut names = listed(&client, "tools/list", ("tools", "name")).await;
        names.retain(|name| name.contains("__"));
        names.sort_unstable();
        assert_eq!(names, tools, "{name}");
        for (list, of) in [
            ("prompts/list", ("prompts", "name")),
            ("resources/list", ("resources", "uri")),
        ] {
            let names = listed(&client, list, of).await;
            assert!(!names.iter().any(|name| name.contains("out")), "{names:?}");
        }
        for [tool, arguments] in rows(
            r#"
            out__echo | {}
            call_tool_read | {"name":"out:echo"}
            call_tool_destructive | {"name":"out:echo"}
            call_tool | {"server":"out","tool":"echo"}
            describe_tool | {"names":["out:echo"]}
            retrieve_tools | {"query":"server:out echo"}
            upstream_servers | {"operation":"tail_log","name":"out"}
            upstream_servers | {"operation":"list"}
            quarantine_security | {"operation":"inspect","name":"out"}
            code_execution | {"code":"call_tool('out', 'echo').error?.reason"}
            proxy | {"action":"call","type":"tool","path":"out:echo"}
            proxy | {"action":"list","type":"resource"}
        "#,
        ) {
            let reply = client.call(tool, arguments).await;
            let said = reply.frame.replace("out:echo", "").replace("out__echo", "");
            let said = said.replace("server:out", "").replace("\\\"out\\\"", "");
            assert!(
                !said.contains("out__") && !said.contains("lib://out"),
                "{tool}: {said}"
            );
        }
        // What is there outside of it and what is not there at all are the same.
        for tool in ["out__echo", "out__nothing", "nobody__echo"] {
            let error = client.call(tool, "{}").await.error_value();
            assert_eq!(error["code"], -32602, "{name}: {tool}: {error}");
        }
        for path in ["/mcp/server/out", "/mcp/server/nobody"] {
            let headers = [
                ("authorization", &*credential),
                ("content-type", "application/json"),
                ("accept", "application/json, text/event-stream"),
            ];
            let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
            let address = house.daemon.address();
            let answer = http::send(address, "POST", path, &headers, list).await;
            assert_eq!(answer.status, 404, "{name}: {path}: {}", answer.text());
        }
        assert!(
            house.server("out").received("tools/call").is_empty(),
            "{name}"
        );
    }
}

#[tokio::test]
async fn a_token_learns_no_name_from_the_filters_of_a_search_and_changes_no_server_of_which_it_sees_a_part()
 {
    let house = halved().await;
    for (name, limits) in [
        ("by-servers", json!({ "servers": ["in"] })),
        ("by-profile", json!({ "profile": "half" })),
    ] {
        let (client, _) = limited(&house, name, limits).await;
        // The beginning of a name outside of it narrows nothing.
        for query in ["in:wave", "ou:wave"] {
            let search = json!({ "query": query });
            // The index follows the lists.
            let found = until_async("a tool to be found", async || {
                let found = client.call("retrieve_tools", &search).await.value();
                let total = found["structuredContent"]["total"].as_u64();
                total.filter(|total| *total > 0)
            });
            assert_eq!(found.await, 1, "{name}: {query}");
        }
        let change = json!({ "operation": "patch", "name": "in", "idle_timeout": "5m" });
        let changed = client.call("upstream_servers", &change.to_string()).await;
        let is_refused = changed.frame.contains("token may not change servers");
        assert_eq!(
            is_refused,
            name == "by-profile",
            "{name}: {}",
            changed.frame
        );
    }
}
