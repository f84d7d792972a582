//! The tool `proxy` with what is refused: `list` and `info` show nothing of it, and `call` refuses it for the same reason as any other
//! way in, whatever its kind. Its calls of tools are among the ways of `ways.rs`.

use serde_json::{Value, json};

use super::ways::{House, LISTED, Outcome, THINGS, Thing, refused, server, suspicious};
use crate::support::{
    behaviours::*,
    client::{Reply, TestClient},
    fake_upstream::plain_tool,
    patience::until_async,
};

impl House {
    /// A call of `proxy`.
    pub(super) async fn proxied(&self, action: &str, kind: &str, path: &str) -> Reply {
        ask(&self.all, action, kind, path).await
    }
}

async fn ask(client: &TestClient, action: &str, kind: &str, path: &str) -> Reply {
    let arguments = json!({ "action": action, "type": kind, "path": path }).to_string();
    client.call("proxy", &arguments).await
}

/// Everything that `list` names, of all kinds.
async fn listed(client: &TestClient) -> Vec<String> {
    let mut found = Vec::new();
    for (kind, keys) in [
        ("tool", &["name"][..]),
        ("prompt", &["name"]),
        ("resource", &["uri", "uriTemplate"]),
    ] {
        let arguments = json!({ "action": "list", "type": kind }).to_string();
        let reply = client.call("proxy", &arguments).await.value();
        let text = reply["content"][0]["resource"]["text"].as_str();
        let entries: Value = serde_json::from_str(text.expect("a text")).expect("JSON");
        for entry in entries.as_array().expect("a list") {
            let named = keys.iter().find_map(|key| entry[*key].as_str());
            found.push(named.expect("a name").to_owned());
        }
    }
    // Of ours there are none that could be refused here.
    found.retain(|name| name.contains("__") || name.contains("://"));
    found
}

/// The paths by which a thing of a server can be asked for, of a kind of `proxy`.
fn paths(thing: Thing, server: &str) -> Option<(&'static str, Vec<String>)> {
    Some(match thing {
        Thing::Prompt => (
            "prompt",
            vec![format!("{server}__greet"), format!("{server}:greet")],
        ),
        Thing::Resource => (
            "resource",
            vec![
                format!("lib://{server}"),
                format!("{server}:lib://{server}"),
            ],
        ),
        Thing::PageOfTemplate => (
            "resource",
            vec![
                format!("page://{server}/proxied"),
                format!("{server}:page://{server}/proxied"),
            ],
        ),
        _ => return None,
    })
}

/// Asks for things in every way of `proxy`, and holds what comes of it against `expected`.
async fn check(house: &House, things: &[Thing], server: &str, expected: &Outcome) {
    let methods = ["prompts/get", "resources/read"];
    let reached = || -> usize {
        let server = house.server(server);
        methods
            .iter()
            .map(|method| server.received(method).len())
            .sum()
    };
    for thing in things {
        let Some((kind, paths)) = paths(*thing, server) else {
            continue;
        };
        for path in paths {
            let info = house.proxied("info", kind, &path).await;
            assert_eq!(Outcome::of(&info), *expected, "info of {path}");
            let before = reached();
            let called = house.proxied("call", kind, &path).await;
            assert_eq!(Outcome::of(&called), *expected, "call of {path}");
            let passed = usize::from(*expected == Outcome::Passed);
            assert_eq!(reached() - before, passed, "{path}");
            for reply in [info, called] {
                assert!(!reply.frame.contains("secretword"), "{}", reply.frame);
            }
        }
    }
    for path in [format!("{server}__echo"), format!("{server}:echo")] {
        let info = house.proxied("info", "tool", &path).await;
        let outcome = Outcome::of(&info);
        if *expected == Outcome::Passed {
            // Of these servers `echo` may be refused alone.
            let allowed = [
                Outcome::Passed,
                refused("tool_disabled"),
                refused("tool_changed"),
            ];
            assert!(allowed.contains(&outcome), "{path}: {outcome:?}");
        } else {
            assert_eq!(outcome, *expected, "info of {path}");
        }
    }
}

#[tokio::test]
async fn what_the_configuration_refuses() {
    let house = super::house().await;
    for (server, code) in super::REFUSED {
        check(&house, &THINGS, server, &refused(code)).await;
    }
    for server in ["free", "part", "rest"] {
        check(&house, &THINGS, server, &Outcome::Passed).await;
    }
    let listed = listed(&house.all).await;
    let expected = [
        "free__echo",
        "free__wave",
        "part__wave",
        "rest__wave",
        "free__greet",
        "part__greet",
        "rest__greet",
        "lib://free",
        "lib://part",
        "lib://rest",
        "page://free/{n}",
        "page://part/{n}",
        "page://rest/{n}",
    ];
    assert_eq!(listed, expected);
    for (server, code) in [("part", "tool_disabled"), ("rest", "tool_disabled")] {
        let info = house
            .proxied("info", "tool", &format!("{server}__echo"))
            .await;
        assert_eq!(Outcome::of(&info), refused(code));
    }
}

#[tokio::test]
async fn what_access_rules_keep_from_the_caller() {
    let servers = ["free", "part", "shut"].map(|name| (name.to_owned(), server(name)));
    let house = House::of(servers.into(), &json!({}), json!({})).await;
    let acl = json!({ "default": "allow", "rules": [
        { "tools": ["shut__*", "part:echo"], "policy": "deny" },
        { "resources": ["part__*"], "policy": "deny" },
    ] });
    house
        .configure(json!({ "serverAuth": { "acl": acl } }))
        .await;
    let denied = refused("access_denied");
    check(&house, &THINGS, "shut", &denied).await;
    check(&house, &THINGS, "free", &Outcome::Passed).await;
    let resources = [Thing::Resource, Thing::PageOfTemplate];
    check(&house, &resources, "part", &denied).await;
    let prompt = house.proxied("call", "prompt", "part__greet").await;
    assert_eq!(Outcome::of(&prompt), Outcome::Passed);
    let expected = [
        "free__echo",
        "free__wave",
        "part__wave",
        "free__greet",
        "part__greet",
        "lib://free",
        "page://free/{n}",
    ];
    assert_eq!(listed(&house.all).await, expected);
    assert_eq!(house.server("shut").received("prompts/get"), [""; 0]);
    // No error names what is denied, but what was asked for.
    for (kind, path) in [
        ("tool", "shut__ekko"),
        ("tool", "shot:x"),
        ("tool", "part__ekko"),
        ("tool", "part:ekko"),
        ("prompt", "shut__gret"),
        ("resource", "lib://shot"),
        ("resource", "r"),
    ] {
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
                assert!(!said.contains(hidden), "{action} {path}: {said}");
            }
        }
    }
    // A tool of ours that is denied, the tool itself, and what none of them may call.
    let acl =
        json!({ "default": "allow", "rules": [{ "tools": ["describe_tool"], "policy": "deny" }] });
    house
        .configure(json!({ "serverAuth": { "acl": acl } }))
        .await;
    until_async("the rules to be in force", async || {
        let reply = house.proxied("call", "tool", "describe_tool").await;
        (Outcome::of(&reply) == refused("access_denied")).then_some(())
    })
    .await;
    let info = house.proxied("info", "tool", "describe_tool").await;
    assert_eq!(Outcome::of(&info), refused("access_denied"));
    let arguments = json!({ "action": "list", "type": "tool" }).to_string();
    let listed = house.all.call("proxy", &arguments).await;
    assert!(!listed.frame.contains(r#"\"name\":\"describe_tool\""#));
}

#[tokio::test]
async fn what_nobody_has_approved() {
    let servers = [
        ("swap".to_owned(), server("swap")),
        ("fish".to_owned(), suspicious("fish")),
    ];
    let house = House::of(servers.into(), &json!({}), json!({})).await;
    let changed = plain_tool("echo").replace("The tool", "The secretword tool");
    let offered = [(changed, echo()), (plain_tool("wave"), echo())];
    house.server("swap").offer(&offered).await;
    until_async("the change to be held", async || {
        let names = house.all.tool_names().await;
        (!names.contains(&"swap__echo".to_owned())).then_some(())
    })
    .await;
    check(&house, &LISTED, "fish", &refused("tool_held")).await;
    check(&house, &LISTED, "swap", &Outcome::Passed).await;
    let echo = house.proxied("info", "tool", "swap__echo").await;
    assert_eq!(Outcome::of(&echo), refused("tool_changed"));
    let by_name = house.proxied("call", "resource", "fish:n").await;
    assert_eq!(Outcome::of(&by_name), refused("tool_held"));
    let expected = [
        "fish__wave",
        "swap__wave",
        "swap__greet",
        "lib://swap",
        "page://swap/{n}",
    ];
    assert_eq!(listed(&house.all).await, expected);
    let fish = house.server("fish");
    assert_eq!(fish.received("resources/read"), [""; 0]);
    assert_eq!(fish.received("prompts/get"), [""; 0]);
}

#[tokio::test]
async fn what_the_profile_of_the_endpoint_lacks() {
    let servers = ["free", "part", "shut"].map(|name| (name.to_owned(), server(name)));
    let profiles = json!({ "profiles": {
        "work": { "servers": ["free", "part"], "tools": ["free__*", "part__wave"] },
    } });
    let house = House::of(servers.into(), &json!({}), profiles).await;
    let work = house.daemon.client("/mcp/p/work").await;
    let expected = [
        "free__echo",
        "free__wave",
        "part__wave",
        "free__greet",
        "part__greet",
        "lib://free",
        "lib://part",
        "page://free/{n}",
        "page://part/{n}",
    ];
    assert_eq!(listed(&work).await, expected);
    for (kind, path, code) in [
        ("tool", "shut__echo", "unknown_tool"),
        ("tool", "shut:echo", "unknown_server"),
        ("tool", "part__echo", "unknown_tool"),
        ("tool", "part:echo", "unknown_tool"),
        ("prompt", "shut__greet", "unknown_prompt"),
        ("prompt", "shut:greet", "unknown_server"),
        ("resource", "lib://shut", "unknown_resource"),
        ("resource", "page://shut/7", "unknown_resource"),
    ] {
        for action in ["info", "call"] {
            let reply = ask(&work, action, kind, path).await;
            assert_eq!(Outcome::of(&reply), refused(code), "{action} {path}");
            let said = reply.frame.replace(path, "");
            assert!(!said.contains("lib://shut"), "{said}");
        }
    }
    let by_name = ask(&work, "call", "resource", "shut:lib://shut").await;
    assert_eq!(Outcome::of(&by_name), refused("unknown_resource"));
    // A name that only what is not there would make ambiguous.
    let one = ask(&work, "call", "resource", "r").await;
    assert!(!one.frame.contains("shut"), "{}", one.frame);
    for method in ["tools/call", "prompts/get", "resources/read"] {
        assert_eq!(house.server("shut").received(method), [""; 0]);
    }
    let free = ask(&work, "call", "tool", "free__echo").await;
    assert_eq!(Outcome::of(&free), Outcome::Passed);
}
