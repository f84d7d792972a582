use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::*;
use crate::config::{self, ServerPatch};

fn object(value: &Value) -> Map<String, Value> {
    value.as_object().expect("an object").clone()
}

fn verdict(stored: &Value, patch: &Value) -> AgentVerdict {
    let patch = ServerPatch::read(object(patch)).expect("a good patch");
    let patched = patch.apply(&object(stored));
    judge(&patched.map_err(|error| error.to_string()).expect("applied"))
}

fn held(places: &[&str]) -> AgentVerdict {
    AgentVerdict::Held(places.iter().map(|&place| place.to_owned()).collect())
}

/// Verdicts for a key that is set anew, changed, made to refer to a variable, and taken out.
struct Row {
    key: &'static str,
    values: [Value; 3],
    verdicts: [Word; 4],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Word {
    Free,
    Held,
    Refused,
}

use Word::{Free, Held, Refused};

fn row(key: &'static str, values: [Value; 3], verdicts: [Word; 4]) -> Row {
    Row {
        key,
        values,
        verdicts,
    }
}

fn word(verdict: &AgentVerdict) -> Word {
    match verdict {
        AgentVerdict::Free => Free,
        AgentVerdict::Held(_) => Held,
        AgentVerdict::Refused(..) => Refused,
    }
}

/// Every key of an entry: its first value, another one, one with a reference; and what follows for an agent.
fn rows() -> Vec<Row> {
    let texts = |a: &str, b: &str| [json!(a), json!(b), json!("${SECRET}")];
    let free = [Free, Free, Held, Free];
    let held = [Held; 4];
    vec![
        row("command", texts("npx", "sh"), held),
        row(
            "args",
            [json!(["a"]), json!(["b"]), json!(["${SECRET}"])],
            held,
        ),
        row("cwd", texts("/a", "/b"), held),
        row("url", texts("https://a", "https://b"), held),
        row("ca_file", texts("/a", "/b"), held),
        row("client_cert", texts("/a", "/b"), held),
        row("type", texts("http", "sse"), held),
        row(
            "roots",
            [json!(["/a"]), json!(["/b"]), json!(["${SECRET}"])],
            held,
        ),
        row("session_scope", texts("shared", "client"), held),
        row("protocol_era", texts("legacy", "modern"), held),
        row(
            "isolation",
            [
                json!({ "enabled": true }),
                json!({ "enabled": false }),
                json!({ "image": "${SECRET}" }),
            ],
            held,
        ),
        row(
            "oauth",
            [
                json!({ "client_id": "a" }),
                json!({ "client_id": "b" }),
                json!({ "scopes": ["${SECRET}"] }),
            ],
            held,
        ),
        row(
            "env",
            [
                json!({ "MODE": "a" }),
                json!({ "MODE": "b" }),
                json!({ "MODE": "${SECRET}" }),
            ],
            held,
        ),
        row(
            "headers",
            [
                json!({ "X-A": "a" }),
                json!({ "X-A": "b" }),
                json!({ "X-A": "${SECRET}" }),
            ],
            held,
        ),
        row(
            "enabled",
            [json!(true), json!(false), json!("${SECRET}")],
            free,
        ),
        row("start", texts("eager", "on_demand"), held),
        row("idle_timeout", texts("1m", "2m"), free),
        row("min_idle_timeout", texts("1m", "2m"), free),
        row("max_idle_timeout", texts("1m", "2m"), free),
        row("init_timeout", texts("1m", "2m"), free),
        row("call_tool_timeout", texts("1m", "2m"), free),
        row(
            "max_concurrent_requests",
            [json!(1), json!(2), json!("${SECRET}")],
            held,
        ),
    ]
}

fn all_rows() -> impl Iterator<Item = Row> {
    rows().into_iter().chain(guarded_rows())
}

/// The same for keys of which something is refused.
fn guarded_rows() -> Vec<Row> {
    let texts = |a: &str, b: &str| [json!(a), json!(b), json!("${SECRET}")];
    let refused = [Refused; 4];
    vec![
        row("tool_changes", texts("hold", "allow"), refused),
        row("new_tools", texts("hold", "allow"), refused),
        row(
            "tool_acl",
            [
                json!({ "read": ["*"] }),
                json!({ "read": ["a"] }),
                json!({ "write": ["${SECRET}"] }),
            ],
            refused,
        ),
        row("changed_by", texts("agent", "person"), refused),
        row(
            "quarantined",
            [json!(true), json!(false), json!("${SECRET}")],
            [Free, Refused, Refused, Refused],
        ),
        row(
            "enabled_tools",
            [json!(["a"]), json!(["b"]), json!(["${SECRET}"])],
            [Free, Refused, Refused, Refused],
        ),
        row(
            "disabled_tools",
            [json!(["a"]), json!(["b"]), json!(["a", "${SECRET}"])],
            [Free, Refused, Held, Refused],
        ),
    ]
}

#[test]
fn every_key_and_every_kind_of_change() {
    for Row {
        key,
        values: [first, other, reference],
        verdicts,
    } in all_rows()
    {
        let nothing = json!({});
        let stored = json!({ key: first });
        let changes = [
            (&nothing, &first),
            (&stored, &other),
            (&stored, &reference),
            (&stored, &Value::Null),
        ];
        for ((stored, value), expected) in changes.iter().zip(verdicts) {
            let found = verdict(stored, &json!({ key: value }));
            assert_eq!(word(&found), expected, "{key}: {stored} to {value}");
        }
        // What is so already is no change.
        assert_eq!(verdict(&stored, &stored), AgentVerdict::Free, "{key}");
    }
}

#[test]
fn the_table_has_every_key_of_the_schema() {
    let schema: Value = serde_json::from_str(config::schema()).expect("good JSON");
    let known = schema["$defs"]["server"]["properties"]
        .as_object()
        .expect("keys");
    let other_spellings = ["working_dir", "protocol", "transport", "disabled"];
    let known: BTreeSet<&str> = known.keys().map(String::as_str).collect();
    let mut listed: BTreeSet<&str> = all_rows().map(|row| row.key).collect();
    listed.extend(other_spellings);
    assert_eq!(
        known, listed,
        "say what an agent may do with a key that is new"
    );
}

#[test]
fn every_variable_and_header_that_changes_is_named() {
    let stored = json!({ "env": { "TOKEN": "${T}", "MODE": "a" }, "headers": { "X-A": "a" } });
    let check = |patch: Value, expected: &[&str]| {
        assert_eq!(verdict(&stored, &patch), held(expected), "{patch}");
    };
    check(
        json!({ "env": { "MODE": "b", "NEW": "1", "TOKEN": null } }),
        &["env.MODE", "env.NEW", "env.TOKEN"],
    );
    check(json!({ "env": null }), &["env.TOKEN", "env.MODE"]);
    check(json!({ "headers": { "X-A": "b" } }), &["headers.X-A"]);
    check(
        json!({ "enabled": false, "cwd": "/x", "env": { "MODE": "b" } }),
        &["env.MODE", "cwd"],
    );
}

#[test]
fn tool_lists_only_get_narrower() {
    let stored = json!({ "enabled_tools": ["get_*", "list"], "disabled_tools": ["get_secret"] });
    let check = |patch: Value, expected: Word| {
        assert_eq!(word(&verdict(&stored, &patch)), expected, "{patch}");
    };
    check(json!({ "enabled_tools": ["get_*"] }), Free);
    check(json!({ "enabled_tools": ["get_issue", "list"] }), Free);
    check(json!({ "enabled_tools": ["get_i*"] }), Refused);
    check(json!({ "enabled_tools": ["get_i*", "l*"] }), Refused);
    check(json!({ "enabled_tools": [] }), Free);
    check(
        json!({ "enabled_tools": ["get_*", "list", "delete"] }),
        Refused,
    );
    check(json!({ "enabled_tools": ["g*"] }), Refused);
    check(json!({ "enabled_tools": ["get_{x,y}"] }), Refused);
    check(json!({ "enabled_tools": ["get_${X}"] }), Refused);
    check(json!({ "enabled_tools": null }), Refused);
    check(json!({ "disabled_tools": ["get_secret", "list"] }), Free);
    check(json!({ "disabled_tools": ["*"] }), Free);
    check(json!({ "disabled_tools": ["list"] }), Refused);
    check(json!({ "disabled_tools": [] }), Refused);
    check(json!({ "disabled_tools": null }), Refused);
}

#[test]
fn a_new_entry_may_not_say_what_only_a_person_says() {
    let check = |entry: Value, expected: Option<&str>| {
        let judged = judge_new(&object(&entry));
        let judged: Vec<&str> = judged.iter().map(|(key, _)| key.as_str()).collect();
        assert_eq!(judged, Vec::from_iter(expected), "{entry}");
    };
    check(json!({ "command": "x", "quarantined": true }), None);
    check(json!({ "url": "https://h", "enabled_tools": ["*"] }), None);
    check(json!({ "quarantined": false }), Some("quarantined"));
    check(json!({ "quarantined": "no" }), Some("quarantined"));
    check(json!({ "changed_by": "person" }), Some("changed_by"));
    check(json!({ "tool_changes": "allow" }), Some("tool_changes"));
    check(json!({ "new_tools": "allow" }), Some("new_tools"));
    check(json!({ "tool_acl": {} }), Some("tool_acl"));
}
