//! The tool `proxy` with what is refused: `list` and `info` show nothing of it, and `call` refuses it for the same reason as any other
//! way in, whatever its kind. Its calls of tools are among the ways of `ways.rs`; the tests of refusals ask for everything else.

use super::ways::{House, Outcome, Thing, refused};
use crate::support::prelude::*;

impl House {
    /// A call of `proxy`.
    pub(super) async fn proxied(&self, action: &str, kind: &str, path: &str) -> Reply {
        ask(&self.all, action, kind, path).await
    }
}

pub(super) async fn ask(client: &TestClient, action: &str, kind: &str, path: &str) -> Reply {
    let arguments = json!({ "action": action, "type": kind, "path": path });
    client.call("proxy", &arguments).await
}

/// Everything that `list` names, of all kinds.
pub(super) async fn listed(client: &TestClient) -> Vec<String> {
    let mut found = Vec::new();
    for (kind, keys) in [
        ("tool", &["name"][..]),
        ("prompt", &["name"]),
        ("resource", &["uri", "uriTemplate"]),
    ] {
        let arguments = json!({ "action": "list", "type": kind });
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
pub(super) async fn check(house: &House, things: &[Thing], server: &str, expected: &Outcome) {
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
                lacks!(reply.frame, "secretword");
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
