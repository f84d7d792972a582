//! What may be asked of a server and what is refused: the same on every way in, in every list and in every search.

mod denied;
mod every_way;
mod held_things;
mod outcome;
mod proxied;
mod records;
mod scripts;
mod spellings;
mod token_limits;
mod ways;

use self::ways::{
    EFFECTS, House, LISTS, Outcome, THINGS, WAYS, Way, all_listed, effects, names, refused, server,
};
use crate::support::prelude::*;

/// Entries that refuse everything, and the code that says so.
const REFUSED: [(&str, &str); 3] = [
    ("held", "server_quarantined"),
    ("off", "server_disabled"),
    ("wrong", "server_misconfigured"),
];

/// Servers of each kind. `free` refuses nothing, `part` and `rest` refuse the tool `echo`.
async fn house() -> House {
    let names = ["free", "held", "off", "part", "rest", "wrong"];
    let servers = names.map(|name| (name.to_owned(), server(name)));
    let house = House::of(servers.into(), &json!({}), json!({})).await;
    house
        .edit(&[
            ("held", json!({ "quarantined": true })),
            ("off", json!({ "enabled": false })),
            ("part", json!({ "disabled_tools": ["ec*"] })),
            ("rest", json!({ "enabled_tools": ["wave"] })),
            ("wrong", json!({ "args": ["${NO_SUCH_VARIABLE_ANYWHERE}"] })),
        ])
        .await;
    house
}

#[tokio::test]
async fn a_tool_is_called_or_refused_on_every_way_in() {
    let house = house().await;
    for way in WAYS {
        // Each way works, so what follows is refused for its own reason.
        assert_eq!(house.call(way, "free", "echo").await, Outcome::Passed);
        assert_eq!(house.call(way, "part", "wave").await, Outcome::Passed);
        assert_eq!(house.call(way, "rest", "wave").await, Outcome::Passed);
        for (server, code) in REFUSED {
            let outcome = house.call(way, server, "echo").await;
            assert_eq!(outcome, refused(code), "{way:?} to {server}");
        }
        for server in ["part", "rest"] {
            let outcome = house.call(way, server, "echo").await;
            assert_eq!(outcome, refused("tool_disabled"), "{way:?} to {server}");
        }
    }
}

#[tokio::test]
async fn a_held_server_that_never_listed_is_named_as_held_and_not_as_down() {
    let entry = json!({ "command": "nothing-here", "quarantined": true });
    let daemon = TestDaemon::builder().entry("held", entry).await;
    let client = TestClient::speaking("2025-06-18")
        .connect(&daemon, "/mcp")
        .await;
    for (tool, arguments) in [
        ("call_tool_read", json!({ "name": "held:echo" })),
        ("call_tool", json!({ "server": "held", "tool": "echo" })),
    ] {
        let called = client.call(tool, &arguments.to_string()).await.failure();
        assert_eq!(called["status"], "QUARANTINED_SERVER_BLOCKED", "{called}");
    }
    let (code, _, _) = daemon.home().cli(&["call", "held:echo"]).await;
    assert_eq!(code, 4, "refused");
}

#[tokio::test]
async fn what_is_unknown_is_refused_on_every_way_in() {
    let house = house().await;
    for way in WAYS {
        let unlisted = match way {
            Way::Offered | Way::OfferedModern | Way::Native | Way::NativeModern => {
                refused("-32602")
            }
            _ => refused("unknown_tool"),
        };
        let outcome = house.call(way, "free", "nothing").await;
        assert_eq!(outcome, unlisted, "{way:?}");
        let absent = match way {
            Way::Offered | Way::OfferedModern => refused("-32602"),
            // Nothing says that it would be a server's.
            Way::ProxyOffered => refused("unknown_tool"),
            // There is no such endpoint.
            Way::Native | Way::NativeModern => continue,
            _ => refused("unknown_server"),
        };
        let outcome = house.call(way, "absent", "echo").await;
        assert_eq!(outcome, absent, "{way:?}");
    }
}

#[tokio::test]
async fn prompts_resources_completions_and_subscriptions_are_refused_likewise() {
    let house = house().await;
    for server in ["free", "part", "rest"] {
        proxied::check(&house, &THINGS, server, &Outcome::Passed).await;
    }
    for (server, code) in REFUSED {
        proxied::check(&house, &THINGS, server, &refused(code)).await;
    }
    for server in ["part", "rest"] {
        let info = house
            .proxied("info", "tool", &format!("{server}__echo"))
            .await;
        assert_eq!(Outcome::of(&info), refused("tool_disabled"), "{server}");
    }
    for thing in THINGS {
        for server in ["free", "part", "rest"] {
            let outcomes = house.ask(thing, server).await;
            assert_eq!(
                outcomes,
                [Outcome::Passed, Outcome::Passed],
                "{thing:?} of {server}"
            );
        }
        for (server, code) in REFUSED {
            let outcomes = house.ask(thing, server).await;
            assert_eq!(
                outcomes,
                [refused(code), refused(code)],
                "{thing:?} of {server}"
            );
        }
    }
}

#[tokio::test]
async fn what_we_do_not_know_passes_to_servers_that_refuse_nothing() {
    let house = house().await;
    for (server, code) in REFUSED {
        let client = house.native(server);
        client.notify("notifications/vendor/x", "{}").await;
        assert_eq!(
            Outcome::of(&client.request("vendor/do", "{}").await),
            refused(code)
        );
    }
    let free = house.native("free");
    free.notify("notifications/vendor/x", "{}").await;
    assert_eq!(free.request("vendor/do", "{}").await.result(), "{}");
    house
        .server("free")
        .wait_for("notifications/vendor/x")
        .await;
    for (server, _) in REFUSED {
        let server = house.server(server);
        assert_eq!(server.received("notifications/vendor/x"), [""; 0]);
        assert_eq!(server.received("vendor/do"), [""; 0]);
    }
}

#[tokio::test]
async fn a_tool_that_changed_is_refused_on_every_way_in_unless_changes_are_allowed() {
    for (policy, allowed) in [("hold", false), ("allow", true)] {
        // A server for each way: the first call wakes it.
        let name = |way: usize| format!("s{way}");
        let servers = (0..WAYS.len()).map(|way| (name(way), server(&name(way))));
        let more = json!({ "tool_changes": policy });
        let house = House::of(servers.collect(), &more, json!({})).await;
        let house = house.asleep().await;
        let changed = plain_tool("echo").replace("The tool", "The new tool");
        for server in house.servers() {
            server.offer_silently(&[(changed.clone(), echo())]).await;
        }
        for (n, way) in WAYS.into_iter().enumerate() {
            let outcome = house.call(way, &name(n), "echo").await;
            let expected = if allowed {
                Outcome::Passed
            } else {
                refused("tool_changed")
            };
            assert_eq!(outcome, expected, "{policy}: {way:?}");
            // It is held from then on.
            let again = house.call(way, &name(n), "echo").await;
            assert_eq!(again, expected, "{policy}: {way:?}");
        }
    }
}

#[tokio::test]
async fn a_tool_that_its_server_removed_while_it_slept_is_unknown_and_not_held() {
    let name = |way: usize| format!("s{way}");
    let servers = (0..WAYS.len()).map(|way| (name(way), server(&name(way))));
    let house = House::of(servers.collect(), &json!({}), json!({})).await;
    let house = house.asleep().await;
    for server in house.servers() {
        let other = plain_tool("other");
        server.offer_silently(&[(other, echo())]).await;
    }
    for (n, way) in WAYS.into_iter().enumerate() {
        let outcome = house.call(way, &name(n), "echo").await;
        let unknown = [refused("unknown_tool"), refused("-32602")];
        assert!(unknown.contains(&outcome), "{way:?}: {outcome:?}");
    }
}

#[tokio::test]
async fn a_call_that_is_declared_too_mild_is_refused_on_every_way_in() {
    let house = House::of(effects(), &json!({}), json!({})).await;
    for (tool, read, write) in EFFECTS {
        let name = format!("up:{tool}");
        for (variant, allowed) in [("read", read), ("write", write), ("destructive", true)] {
            let expected = if allowed {
                Outcome::Passed
            } else {
                refused("wrong_variant")
            };
            for outcome in [
                house.call(Way::Variant(variant), "up", tool).await,
                house.rest_call(variant, &name).await,
                house.cli_call(variant, &name).await,
            ] {
                assert_eq!(outcome, expected, "{tool} as {variant}");
            }
        }
        let outcome = house.call(Way::CallTool, "up", tool).await;
        let expected = if write {
            Outcome::Passed
        } else {
            refused("wrong_variant")
        };
        assert_eq!(outcome, expected, "{tool} through call_tool");
    }
}

#[tokio::test]
async fn a_refusal_names_the_variant_that_fits() {
    let house = House::of(effects(), &json!({}), json!({})).await;
    for [built_in, arguments, fitting] in rows(
        r#"
        call_tool_read | {"name":"up:change"} | call_tool_write
        call_tool_read | {"name":"up:wreck"} | call_tool_destructive
        call_tool_write | {"name":"up:wreck"} | call_tool_destructive
        call_tool | {"server":"up","tool":"wreck"} | call_tool_destructive
    "#,
    ) {
        let failure = house.all.call(built_in, arguments).await.failure();
        let hint = failure["hint"].as_str().expect("a hint");
        has!(hint, fitting, "{built_in} {arguments}");
        lacks!(hint, "mcpproxy");
    }
}

#[tokio::test]
async fn without_strict_validation_the_caller_decides() {
    let lenient = json!({ "intent_declaration": { "strict_server_validation": false } });
    let house = House::of(effects(), &json!({}), lenient).await;
    for (tool, _, _) in EFFECTS {
        let outcome = house.call(Way::Variant("read"), "up", tool).await;
        assert_eq!(outcome, Outcome::Passed, "{tool}");
    }
}

const TOOLS: [&str; 4] = ["free__echo", "free__wave", "part__wave", "rest__wave"];

#[tokio::test]
async fn lists_of_all_servers_show_what_may_be_asked_for() {
    let house = house().await;
    let all = &house.all;
    let expected = [
        &TOOLS[..],
        &["free__greet", "part__greet", "rest__greet"],
        &["lib://free", "lib://part", "lib://rest"],
        &["page://free/{n}", "page://part/{n}", "page://rest/{n}"],
    ];
    assert_eq!(all_listed(all).await, expected);
    assert_eq!(proxied::listed(all).await, expected.concat());
    let modern = ModernClient::new(&house.daemon, "/mcp/all");
    assert_eq!(modern.tool_names().await, TOOLS);
    let ours = house.daemon.client("/mcp/call").await.tool_names().await;
    assert!(ours.iter().all(|name| !name.contains("__")), "{ours:?}");
}

#[tokio::test]
async fn the_endpoint_of_a_server_shows_what_may_be_asked_of_it() {
    let house = house().await;
    for (server, tools) in [
        ("free", &["echo", "wave"][..]),
        ("part", &["wave"]),
        ("rest", &["wave"]),
    ] {
        let (resource, page) = (format!("lib://{server}"), format!("page://{server}/{{n}}"));
        let expected = [tools, &["greet"], &[&resource], &[&page]];
        assert_eq!(all_listed(house.native(server)).await, expected);
    }
    for (server, code) in REFUSED {
        let path = format!("/mcp/server/{server}");
        let modern = ModernClient::new(&house.daemon, &path);
        for (list, _) in LISTS {
            for reply in [
                house.native(server).request(list, "{}").await,
                modern.request(list, "{}").await,
            ] {
                assert_eq!(Outcome::of(&reply), refused(code), "{list} of {server}");
            }
        }
        // Nor does it present itself to a client that comes now.
        let newcomer = TestClient::stateless(&house.daemon, &path);
        let params = r#"{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}"#;
        for reply in [
            newcomer.request("initialize", params).await,
            modern.request("server/discover", "{}").await,
        ] {
            assert_eq!(Outcome::of(&reply), refused(code), "{server}");
        }
    }
}

#[tokio::test]
async fn searches_find_what_may_be_called_and_say_what_is_held_back() {
    let house = house().await;
    let expected = ["free:echo", "free:wave", "part:wave", "rest:wave"];
    for path in ["/mcp", "/mcp/all", "/mcp/call"] {
        let client = house.daemon.client(path).await;
        let search = async |query: &str| {
            let arguments = json!({ "query": query, "limit": 20 });
            let found = client.call("retrieve_tools", &arguments).await.value();
            found["structuredContent"].clone()
        };
        // The index follows the edit.
        let found = until_async("all to be found", async || {
            let found = search("echo wave").await;
            (names(&found).len() >= expected.len()).then_some(found)
        })
        .await;
        assert_eq!(names(&found), expected, "{path}");
        let found = search("part:echo").await;
        assert!(names(&found).is_empty(), "{found}");
        has!(found["notice"], "No match can be called: ");
        has!(found["notice"], "echo");
    }
    let found = house
        .daemon
        .rest("GET", "/api/v1/tools?q=echo%20wave&limit=20", "")
        .await;
    assert_eq!(names(&found.json()), expected);
    let search = [
        "tools", "search", "echo", "wave", "--limit", "20", "-o", "json",
    ];
    let (_, found, _) = house.daemon.home().cli(&search).await;
    let found: Value = serde_json::from_str(&found).expect("JSON");
    assert_eq!(names(&found), expected);
}

#[tokio::test]
async fn descriptions_and_the_operators_lists_say_why_a_tool_is_refused() {
    let house = house().await;
    let reasons = [
        ("held:echo", "server_quarantined", "quarantined"),
        ("off:echo", "server_disabled", "disabled"),
        ("part:echo", "tool_disabled", "is disabled"),
        ("rest:echo", "tool_disabled", "is disabled"),
        ("wrong:echo", "server_misconfigured", "cannot be used"),
    ];
    let asked = json!({ "names": reasons.map(|(name, _, _)| name) });
    let described = house.all.call("describe_tool", &asked).await.value();
    let answer = &described["structuredContent"];
    assert_eq!(names(answer), [""; 0]);
    let unknown = answer["unknown"].as_array().expect("a list");
    let found: Vec<_> = unknown
        .iter()
        .map(|one| (&one["name"], &one["code"]))
        .collect();
    let expected = reasons.map(|(name, code, _)| (json!(name), json!(code)));
    assert_eq!(found, expected.each_ref().map(|(name, code)| (name, code)));

    let listed = house.daemon.rest("GET", "/api/v1/tools", "").await.json();
    let list = ["tools", "list", "-o", "json"];
    let (_, shown, _) = house.daemon.home().cli(&list).await;
    let shown: Value = serde_json::from_str(&shown).expect("JSON");
    for tools in [&listed["tools"], &shown["tools"]] {
        let rows = tools.as_array().expect("a list");
        assert_eq!(rows.len(), 12, "all of them");
        for row in rows {
            let name = row["name"].as_str().expect("a name");
            let is_open = name.starts_with("free:") || ["part:wave", "rest:wave"].contains(&name);
            assert_eq!(row["callable"], is_open, "{row}");
            let reason = row["reason"].as_str().unwrap_or_default();
            let known = reasons.iter().find(|(refused, _, _)| *refused == name);
            let word = known.map_or("", |(_, _, word)| word);
            has!(reason, word, "{row}");
        }
    }
}
