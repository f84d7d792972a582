//! What access rules keep from a caller, and what the profile of an endpoint does not show: refused on every way in, and in no list.

use super::proxied;
use super::ways::{
    House, Outcome, THINGS, Thing, WAYS, all_listed, listed, names, refused, server,
};
use crate::support::prelude::*;

/// Rules that concern everybody, the operator too: all of `shut`, and of `part` the tool `echo` and the resources.
fn rules() -> Value {
    json!({ "serverAuth": { "acl": { "default": "allow", "rules": [
        { "tools": ["shut__*", "part:echo"], "policy": "deny" },
        { "resources": ["part__*"], "policy": "deny" },
    ] } } })
}

/// A daemon that knows the lists of its servers, and has these rules since then.
async fn house() -> House {
    let servers = ["free", "part", "shut"].map(|name| (name.to_owned(), server(name)));
    let house = House::of(servers.into(), &json!({}), json!({})).await;
    house.configure(rules()).await;
    house
}

#[tokio::test]
async fn a_denied_tool_is_refused_on_every_way_in() {
    let house = house().await;
    for way in WAYS {
        assert_eq!(house.call(way, "free", "echo").await, Outcome::Passed);
        assert_eq!(house.call(way, "part", "wave").await, Outcome::Passed);
        for (server, tool) in [
            ("shut", "echo"),
            ("shut", "wave"),
            ("shut", "nothing"),
            ("part", "echo"),
        ] {
            let outcome = house.call(way, server, tool).await;
            assert_eq!(
                outcome,
                refused("access_denied"),
                "{way:?} to {server}:{tool}"
            );
        }
    }
}

#[tokio::test]
async fn a_denied_call_says_the_same_on_every_way_in() {
    let house = house().await;
    let modern = ModernClient::new(&house.daemon, "/mcp/all");
    let by_name = json!({ "name": "part:echo" });
    let texts = [
        house.all.call("part__echo", "{}").await.failure(),
        modern.call("part__echo", "{}").await.failure(),
        house.native("part").call("echo", "{}").await.failure(),
        house.all.call("call_tool_read", &by_name).await.failure(),
        house
            .all
            .call("call_tool_destructive", &by_name)
            .await
            .failure(),
        house
            .all
            .call("call_tool", r#"{"server":"part","tool":"echo"}"#)
            .await
            .failure(),
    ];
    let body = json!({ "variant": "read", "name": "part:echo" });
    let over_rest = house.daemon.rest("POST", "/api/v1/call", &body).await;
    let of_agents = r#"access rules deny you the tool "echo" of server "part""#;
    let of_people = format!("nothing was called: {of_agents}");
    let texts = texts.map(|text| (text, of_agents));
    for (text, expected) in texts.into_iter().chain([(over_rest.json(), &*of_people)]) {
        assert_eq!(text["error"], expected, "{text}");
        is_like!(text, { "server": "part", "tool": "echo" });
    }
}

#[tokio::test]
async fn prompts_resources_completions_and_subscriptions_are_denied_likewise() {
    let house = house().await;
    let denied = refused("access_denied");
    proxied::check(&house, &THINGS, "shut", &denied).await;
    proxied::check(&house, &THINGS, "free", &Outcome::Passed).await;
    let resources = [Thing::Resource, Thing::PageOfTemplate];
    proxied::check(&house, &resources, "part", &denied).await;
    let prompt = house.proxied("call", "prompt", "part__greet").await;
    assert_eq!(Outcome::of(&prompt), Outcome::Passed);
    for thing in THINGS {
        let [all, native] = house.ask(thing, "free").await;
        assert_eq!(
            [all, native],
            [Outcome::Passed, Outcome::Passed],
            "{thing:?}"
        );
        let [all, native] = house.ask(thing, "shut").await;
        assert_eq!([all, native], [denied.clone(), denied.clone()], "{thing:?}");
        let of_part = match thing {
            Thing::Prompt | Thing::CompletionOfPrompt => Outcome::Passed,
            _ => denied.clone(),
        };
        let [all, native] = house.ask(thing, "part").await;
        assert_eq!(
            [all, native],
            [of_part.clone(), of_part],
            "{thing:?} of part"
        );
    }
}

#[tokio::test]
async fn no_list_no_search_and_no_suggestion_shows_what_is_denied() {
    let house = house().await;
    let all = &house.all;
    let expected = [
        &["free__echo", "free__wave", "part__wave"][..],
        &["free__greet", "part__greet"],
        &["lib://free"],
        &["page://free/{n}"],
    ];
    assert_eq!(all_listed(all).await, expected);
    assert_eq!(proxied::listed(all).await, expected.concat());
    // No error names what is denied, but what was asked for.
    for [kind, path] in rows(
        "
        tool | shut__ekko
        tool | shot:x
        tool | part__ekko
        tool | part:ekko
        prompt | shut__gret
        resource | lib://shot
        resource | r
    ",
    ) {
        for action in ["info", "call"] {
            let said = house.proxied(action, kind, path).await.frame;
            let said = said.replace(path, "");
            for hidden in [
                "shut:",
                "shut__",
                "part__echo",
                "part:echo",
                "lib://shut",
                "lib://part",
            ] {
                lacks!(said, hidden, "{action} {path}");
            }
        }
    }
    let part = house.native("part");
    let of_part = [&["wave"][..], &["greet"], &[], &[]];
    assert_eq!(all_listed(part).await, of_part);

    let arguments = json!({ "query": "echo wave", "limit": 20 });
    let found = until_async("all to be found", async || {
        let found = all.call("retrieve_tools", &arguments).await.value();
        (names(&found["structuredContent"]).len() == 3).then_some(found)
    })
    .await;
    let expected = ["free:echo", "free:wave", "part:wave"];
    assert_eq!(names(&found["structuredContent"]), expected);
    let searching = house.daemon.client("/mcp").await;
    let scripts = house.daemon.client("/mcp/code").await;
    let everything = [
        all.call("retrieve_tools", r#"{"query":"shut: echo"}"#)
            .await,
        all.call("retrieve_tools", r#"{"query":"part: echo"}"#)
            .await,
        all.call(
            "describe_tool",
            r#"{"names":["free:ecko","frea:echo","part:ekko"]}"#,
        )
        .await,
        all.call("part__ekko", "{}").await,
        all.call("call_tool_read", r#"{"name":"shot:x"}"#).await,
        all.call("call_tool_read", r#"{"name":"nothing:x"}"#).await,
        all.call("call_tool_read", r#"{"name":"part:ekko"}"#).await,
        part.call("ekko", "{}").await,
        all.request("prompts/get", r#"{"name":"shut__gret"}"#).await,
        searching.request("tools/list", "{}").await,
        // With a line for each tool that scripts can call.
        scripts.request("tools/list", "{}").await,
    ];
    for answer in everything {
        // What was asked for may be repeated.
        let said = answer
            .frame
            .replace("shut: echo", "")
            .replace("part: echo", "")
            .replace(r#"has the word \"shut\""#, "")
            .replace(r#"has the word \\\"shut\\\""#, "");
        for hidden in [
            "shut:",
            "shut__e",
            "shut__w",
            "shut__greet",
            "part__echo",
            "part:echo",
            "\\\"shut\\\"",
        ] {
            lacks!(said, hidden, "{hidden} in {said}");
        }
    }
    let instructions = house.daemon.client("/mcp").await.initialized;
    has!(instructions, "free");
    lacks!(instructions, "shut");
    let discovered = ModernClient::new(&house.daemon, "/mcp")
        .request("server/discover", "{}")
        .await;
    lacks!(discovered.frame, "shut");
}

#[tokio::test]
async fn the_endpoint_of_a_server_of_which_nothing_is_allowed_is_denied() {
    let house = house().await;
    let shut = house.native("shut");
    for (method, params) in [
        ("tools/list", "{}"),
        ("prompts/list", "{}"),
        ("vendor/do", "{}"),
    ] {
        let outcome = Outcome::of(&shut.request(method, params).await);
        assert_eq!(outcome, refused("access_denied"), "{method}");
    }
    // What we do not know may do anything.
    let outcome = Outcome::of(&house.native("part").request("vendor/do", "{}").await);
    assert_eq!(outcome, refused("access_denied"));
    let newcomer = TestClient::stateless(&house.daemon, "/mcp/server/shut");
    let params = r#"{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}"#;
    let modern = ModernClient::new(&house.daemon, "/mcp/server/shut");
    for reply in [
        newcomer.request("initialize", params).await,
        modern.request("server/discover", "{}").await,
    ] {
        assert_eq!(Outcome::of(&reply), refused("access_denied"));
    }
    assert!(house.server("shut").received("vendor/do").is_empty());
}

#[tokio::test]
async fn a_denied_request_wakes_nobody() {
    let servers = vec![
        ("shut".to_owned(), server("shut")),
        ("free".to_owned(), server("free")),
    ];
    let house = House::of(servers, &json!({}), json!({})).await;
    let house = house.asleep().await;
    house.configure(rules()).await;
    let started = house.server("shut").spawn_count();
    for way in WAYS {
        assert_eq!(
            house.call(way, "shut", "echo").await,
            refused("access_denied"),
            "{way:?}"
        );
    }
    assert_eq!(house.server("shut").spawn_count(), started);
}

#[tokio::test]
async fn a_tool_of_ours_that_is_denied_is_neither_listed_nor_run() {
    let house = house().await;
    let acl = json!({ "default": "allow", "rules": [
        { "tools": ["call_tool_destructive", "call_tool", "describe_tool"], "policy": "deny" },
    ] });
    house
        .configure(json!({ "serverAuth": { "acl": acl } }))
        .await;
    let call = house.daemon.client("/mcp/call").await;
    let ours = until_async("the rules to be in force", async || {
        let ours = call.tool_names().await;
        (!ours.iter().any(|name| name == "call_tool_destructive")).then_some(ours)
    })
    .await;
    assert!(
        ours.iter().any(|name| name == "call_tool_write"),
        "{ours:?}"
    );
    for tool in ["call_tool_destructive", "call_tool"] {
        let failure = call.call(tool, r#"{"name":"free:echo"}"#).await.failure();
        assert_eq!(failure["code"], "access_denied", "{failure}");
    }
    for action in ["info", "call"] {
        let reply = house.proxied(action, "tool", "describe_tool").await;
        assert_eq!(Outcome::of(&reply), refused("access_denied"), "{action}");
    }
    let arguments = json!({ "action": "list", "type": "tool" });
    let listed = house.all.call("proxy", &arguments).await;
    lacks!(listed.frame, r#"\"name\":\"describe_tool\""#);
    let close = call.call("call_tool_destructiv", "{}").await;
    lacks!(
        close.error(),
        "call_tool_destructive\\\"",
        "{}",
        close.frame
    );
}

/// The same servers, and a profile that has of `part` the tool `wave` and nothing of `shut`.
async fn profiled() -> House {
    let servers = ["free", "part", "shut"].map(|name| (name.to_owned(), server(name)));
    let profiles = json!({ "profiles": {
        "work": { "servers": ["free", "part"], "tools": ["free__*", "part__wave"] },
        "all": {},
    } });
    House::of(servers.into(), &json!({}), profiles).await
}

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "one story in rows")]
async fn a_profile_shows_its_servers_and_tools_and_nothing_else_is_there() {
    let house = profiled().await;
    let work = house.daemon.client("/mcp/p/work").await;
    let modern = ModernClient::new(&house.daemon, "/mcp/p/work");
    let sse = house.daemon.sse_client("/mcp/p/work/sse").await;
    for client in [&work, &sse] {
        for (offered, name) in [("shut__echo", "shut:echo"), ("part__echo", "part:echo")] {
            let error = client.call(offered, "{}").await;
            assert_eq!(error.error_code(), -32602, "{}", error.frame);
            has!(error.error(), "Unknown tool", "{}", error.frame);
            let by_name = json!({ "name": name });
            let failure = client.call("call_tool_read", &by_name).await.failure();
            let expected = if name == "shut:echo" {
                "unknown_server"
            } else {
                "unknown_tool"
            };
            assert_eq!(failure["code"], expected, "{failure}");
            has!(failure["error"], "has no ");
            lacks!(
                failure["hint"].as_str().expect("a hint"),
                "shut",
                "{failure}"
            );
        }
        client.call("free__echo", "{}").await.result();
        client
            .call("call_tool_write", r#"{"name":"part:wave"}"#)
            .await
            .result();
        for method in ["resources/read", "resources/subscribe"] {
            let missing = client.request(method, r#"{"uri":"lib://shut"}"#).await;
            assert_eq!(
                Outcome::of(&missing),
                refused("unknown_resource"),
                "{method}"
            );
        }
        let missing = client
            .request("prompts/get", r#"{"name":"shut__greet"}"#)
            .await;
        assert_eq!(Outcome::of(&missing), refused("unknown_prompt"));
        client
            .request("prompts/get", r#"{"name":"part__greet"}"#)
            .await
            .result();
        assert_eq!(
            listed(client, "resources/list", ("resources", "uri")).await,
            ["lib://free", "lib://part"]
        );
    }
    let found = until_async("all to be found", async || {
        let found = modern
            .call("retrieve_tools", r#"{"query":"echo wave"}"#)
            .await
            .value();
        (names(&found["structuredContent"]).len() == 3).then_some(found)
    })
    .await;
    assert_eq!(
        names(&found["structuredContent"]),
        ["free:echo", "free:wave", "part:wave"]
    );
    lacks!(work.initialized, "shut");
    has!(work.initialized, "part");
    let nowhere = TestClient::stateless(&house.daemon, "/mcp/p/none");
    let unknown = nowhere.request("ping", "{}").await;
    assert_eq!(unknown.status, 404);
    has!(unknown.frame, "unknown_profile");
    let expected = [
        &["free__echo", "free__wave", "part__wave"][..],
        &["free__greet", "part__greet"],
        &["lib://free", "lib://part"],
        &["page://free/{n}", "page://part/{n}"],
    ];
    assert_eq!(proxied::listed(&work).await, expected.concat());
    for [kind, path, code] in rows(
        "
        tool | shut__echo | unknown_tool
        tool | shut:echo | unknown_server
        tool | part__echo | unknown_tool
        tool | part:echo | unknown_tool
        prompt | shut__greet | unknown_prompt
        prompt | shut:greet | unknown_server
        resource | lib://shut | unknown_resource
        resource | page://shut/7 | unknown_resource
        resource | shut:lib://shut | unknown_resource
    ",
    ) {
        for action in ["info", "call"] {
            let reply = proxied::ask(&work, action, kind, path).await;
            assert_eq!(Outcome::of(&reply), refused(code), "{action} {path}");
            lacks!(
                reply.frame.replace(path, ""),
                "lib://shut",
                "{action} {path}"
            );
        }
    }
    // A name that only what is not there would make ambiguous.
    let one = proxied::ask(&work, "call", "resource", "r").await;
    lacks!(one.frame, "shut");
    for method in ["tools/call", "prompts/get", "resources/read"] {
        assert_eq!(house.server("shut").received(method), [""; 0]);
    }
    // A profile of everything, and the other endpoints, have it all.
    let all = house.daemon.client("/mcp/p/all").await;
    all.call("shut__echo", "{}").await.result();
}
