//! A search by the operator for what a certain client would find, and who may be meant; and what is told of a daemon that works.

use crate::support::prelude::*;

async fn get(daemon: &TestDaemon, path: &str) -> Value {
    let answer = daemon.rest("GET", path, "").await;
    assert_eq!(answer.status, 200, "{path}: {}", answer.text());
    answer.json()
}

#[tokio::test]
async fn a_search_finds_what_a_certain_client_would_find() {
    let upstream = FakeUpstream::stdio()
        .tool("echo_text", echo())
        .tool("echo_number", echo())
        .await;
    // The rules hold for the operator, too.
    let rules = json!([
        { "subjects": ["operator"], "policy": "allow" },
        { "subjects": ["ada"], "tools": ["up:echo_text"], "policy": "allow" },
    ]);
    let settings = json!({
        "serverAuth": {
            "provider": "bearer",
            "bearer": { "tokens": { "0123456789abcdef-ada": "ada" } },
            "acl": { "default": "deny", "rules": rules },
        },
        "profiles": { "numbers": { "tools": ["up:echo_number"] } },
    });
    let daemon = TestDaemon::builder()
        .config(settings)
        .upstream("up", &upstream)
        .await;
    let found = async |with: &str| {
        let path = format!("/api/v1/tools?q=echo{with}");
        let answer = get(&daemon, &path).await;
        let tools = answer["tools"].as_array().expect("tools").iter();
        let mut names: Vec<String> = tools.map(|tool| tool["name"].to_string()).collect();
        names.sort();
        names.join(" ").replace('"', "")
    };
    until_async("both tools to be found", async || {
        (found("").await == "up:echo_number up:echo_text").then_some(())
    })
    .await;
    assert_eq!(found("&as=ada").await, "up:echo_text");
    assert_eq!(found("&as=bob").await, "");
    assert_eq!(found("&profile=numbers").await, "up:echo_number");
    assert_eq!(found("&as=ada&profile=numbers").await, "");
    for (with, code) in [
        ("&profile=none", "unknown_profile"),
        ("&as=", "invalid_arguments"),
    ] {
        let path = format!("/api/v1/tools?q=echo{with}");
        let answer = daemon.rest("GET", &path, "").await;
        assert_eq!(answer.json()["code"], code, "{}", answer.text());
    }
    let callers = get(&daemon, "/api/v1/access/callers").await;
    let expected = json!({ "subjects": ["ada", "anonymous"], "profiles": ["numbers"],
        "profile_tools": { "numbers": 1 } });
    assert_eq!(callers, expected);
    let status = get(&daemon, "/api/v1/status").await;
    assert_eq!(status["in_flight"], 0);
    let details = get(&daemon, "/api/v1/servers/up").await;
    assert_eq!(details["in_flight"], 0);
    if cfg!(target_os = "linux") {
        for told in [&status, &details] {
            let bytes = told["memory_bytes"].as_u64().expect("Linux tells it");
            assert!(bytes > 100_000, "{bytes}");
        }
    }
}
