//! What each operation does, and what people do afterwards.

use super::{done, entry, house, refused};
use crate::{
    support::{
        behaviours::*, client::TestClient, daemon::TestDaemon, fake_upstream::FakeUpstream,
        patience::until_async, prelude::*,
    },
    trust::approve,
};

/// Returns when a tool answers: a server whose entry changed is connected anew.
async fn works(client: &TestClient, tool: &str) {
    let arguments = json!({ "name": tool }).to_string();
    until_async("the tool to answer", async || {
        let reply = client.call("call_tool_write", &arguments).await;
        reply.value()["isError"].is_null().then_some(())
    })
    .await;
}

#[tokio::test]
async fn what_an_agent_adds_is_held_until_a_person_looks_at_it() {
    let (_up, daemon, client) = house(json!({})).await;
    let added = FakeUpstream::stdio().tool("wave", echo()).await;
    let mut arguments = added.entry();
    arguments["action"] = "add".into();
    arguments["name"] = "new".into();
    arguments["env"] = json!({ "KEY": "${NO_SUCH_VARIABLE}" });
    let answer = done(&client, &arguments).await;
    assert_eq!(answer["changed"], json!(["added"]));
    assert_eq!(answer["server"]["quarantined"], true, "{answer}");
    has!(answer["notice"], "held", "{answer}");
    has!(
        answer["server"]["next_step"],
        "review the server",
        "{answer}"
    );
    let stored = entry(&daemon, "new");
    is_like!(stored, { "quarantined": true, "changed_by": "agent" });
    // Neither switching it on, nor a restart, nor a call starts it.
    done(&client, &json!({ "operation": "enable", "name": "new" })).await;
    let restart = refused(&client, &json!({ "operation": "restart", "name": "new" })).await;
    assert_eq!(restart["code"], "server_quarantined");
    let call = client
        .call("call_tool_read", r#"{"name":"new:wave"}"#)
        .await;
    assert_eq!(call.failure()["status"], "QUARANTINED_SERVER_BLOCKED");
    let log = refused(&client, &json!({ "operation": "tail_log", "name": "new" })).await;
    assert_eq!(log["code"], "server_quarantined");
    // Nor when it is switched off as well.
    done(&client, &json!({ "operation": "disable", "name": "new" })).await;
    let log = refused(&client, &json!({ "operation": "tail_log", "name": "new" })).await;
    assert_eq!(log["code"], "server_quarantined");
    done(&client, &json!({ "operation": "enable", "name": "new" })).await;
    let again = refused(&client, &arguments).await;
    assert_eq!(again["code"], "server_exists");
    assert_eq!(added.spawn_count(), 0);

    done(
        &client,
        &json!({ "operation": "patch", "name": "new", "env": null }),
    )
    .await;
    daemon
        .rest("POST", "/api/v1/servers/new/inspect?wait=20", "")
        .await;
    let approved = approve(&daemon, "new", &[]).await;
    assert_eq!(approved["server"]["quarantined"], false, "{approved}");
    works(&client, "new:wave").await;

    let gone = done(&client, &json!({ "operation": "remove", "name": "new" })).await;
    assert_eq!(
        gone,
        json!({ "server": { "name": "new" }, "changed": ["removed"] })
    );
    assert_eq!(entry(&daemon, "new"), Value::Null);
}

#[tokio::test]
async fn free_changes_count_at_once_and_others_hold_the_server() {
    let (up, daemon, client) = house(json!({ "env": { "TOKEN": "hunter2-hunter2" } })).await;
    let patch = json!({
        "operation": "patch", "name": "up", "env": { "TOKEN": "***" }, "call_tool_timeout": "1m",
    });
    let answer = done(&client, &patch).await;
    assert_eq!(answer["changed"], json!(["call_tool_timeout"]));
    assert_eq!(answer.get("held_for"), None, "{answer}");
    assert_eq!(
        entry(&daemon, "up")["env"],
        json!({ "TOKEN": "hunter2-hunter2" })
    );
    works(&client, "up:echo").await;
    let same = done(&client, &patch).await;
    assert_eq!(same["changed"], json!([]));

    let starts = up.spawn_count();
    let folder = daemon.home().folder().to_str().expect("text").to_owned();
    let answer = done(
        &client,
        &json!({ "operation": "update", "name": "up", "working_dir": folder, "enabled": true }),
    )
    .await;
    assert_eq!(answer["held_for"], json!(["cwd"]), "{answer}");
    assert_eq!(answer["server"]["quarantined"], true);
    let call = client
        .call("call_tool_write", r#"{"name":"up:echo"}"#)
        .await;
    assert_eq!(call.failure()["status"], "QUARANTINED_SERVER_BLOCKED");
    assert_eq!(up.spawn_count(), starts);
    daemon
        .rest("POST", "/api/v1/servers/up/inspect?wait=20", "")
        .await;
    approve(&daemon, "up", &[]).await;
    works(&client, "up:echo").await;
    assert_eq!(entry(&daemon, "up").get("changed_by"), None);
}

#[tokio::test]
async fn a_person_reviews_what_an_agent_changed_and_approves_nothing_else() {
    let env = json!({ "API_URL": "https://api.good.example/", "LOG": "info", "API_KEY": "hunter2-hunter2" });
    let (_up, daemon, client) = house(json!({ "env": env })).await;
    let inspected = async || {
        let answer = daemon.rest("GET", "/api/v1/servers/up/inspect", "").await;
        answer.json()
    };
    assert_eq!(inspected().await.get("entry_review"), None);
    let patch = json!({ "operation": "patch", "name": "up", "env": { "API_URL": "https://evil.example/steal" } });
    assert_eq!(
        done(&client, &patch).await["held_for"],
        json!(["env.API_URL"])
    );
    let more = json!({ "operation": "patch", "name": "up", "env": { "LOG": "debug" }, "cwd": "/" });
    done(&client, &more).await;
    let shown = inspected().await;
    assert_eq!(
        shown["entry"]["env"],
        json!({ "API_URL": "https://evil.example/steal", "LOG": "debug", "API_KEY": "***" })
    );
    assert_eq!(
        shown["entry_review"],
        json!({
            "held_for": ["cwd", "env.API_URL", "env.LOG"],
            "is_new": false,
            "changes": [
                { "place": "cwd", "is": "/", "holds": true },
                { "place": "env.API_URL", "was": "***", "is": "https://evil.example/steal", "holds": true },
                { "place": "env.LOG", "was": "***", "is": "debug", "holds": true },
            ],
        })
    );
    let (code, said, _) = daemon.home().cli(&["upstream", "inspect", "up"]).await;
    assert_eq!(code, 0);
    for part in [
        "an agent changed this entry; held for cwd, env.API_URL, env.LOG: the server is quarantined until a person approves",
        "what was trusted (-), and what stands there now (+):",
        "    - ***",
        "    + https://evil.example/steal",
    ] {
        has!(said, part, "{part}");
    }
    lacks!(said, "hunter2");

    // Whatever else is written is not what was seen.
    for change in [
        json!({ "start": "eager" }),
        json!({ "enabled": false }),
        json!({ "disabled_tools": ["x"] }),
        json!({ "call_tool_timeout": "3s" }),
        json!({ "max_concurrent_requests": 3 }),
        json!({ "session_scope": "client" }),
        json!({ "headers": { "Q": "z" } }),
        json!({ "enabled": true }),
    ] {
        let seen = inspected().await["seen"].clone();
        let mut patch = change.clone();
        patch["operation"] = "patch".into();
        patch["name"] = "up".into();
        done(&client, &patch).await;
        let body = json!({ "seen": seen }).to_string();
        let answer = daemon
            .rest("POST", "/api/v1/servers/up/approve", &body)
            .await;
        assert_eq!(answer.json()["code"], "tool_changed", "{change}");
    }
    approve(&daemon, "up", &[]).await;
    let shown = inspected().await;
    assert_eq!(shown.get("entry_review"), None, "{shown}");
    let added = json!({ "operation": "add", "name": "new", "command": "true" });
    done(&client, &added).await;
    let (_, said, _) = daemon.home().cli(&["upstream", "inspect", "new"]).await;
    has!(said, "an agent added this server");
}

#[tokio::test]
async fn servers_are_switched_restarted_and_their_logs_read() {
    let up = FakeUpstream::stdio()
        .tool("echo", echo())
        .complaint("token ghp_0123456789abcdefghij and hunter2-hunter2\u{1b}[31m")
        .await;
    let more = json!({ "env": { "TOKEN": "hunter2-hunter2" } });
    let daemon = TestDaemon::builder().upstream_with("up", &up, more).await;
    let client = daemon.client("/mcp/call").await;
    let restarted = done(&client, &json!({ "operation": "restart", "name": "up" })).await;
    assert_eq!(restarted["server"]["state"], "Ready", "{restarted}");
    let log = done(
        &client,
        &json!({ "operation": "tail_log", "name": "up", "lines": 500 }),
    )
    .await;
    let text = log["lines"].to_string();
    has!(text, "token ***");
    lacks!(text, "hunter2");
    lacks!(text, "ghp_");
    let one = done(
        &client,
        &json!({ "operation": "tail_log", "name": "up", "lines": "1" }),
    )
    .await;
    assert_eq!(one["lines"].as_array().map(Vec::len), Some(1), "{one}");
    let off = done(&client, &json!({ "operation": "disable", "name": "up" })).await;
    assert_eq!(
        (
            &off["changed"],
            &off["server"]["enabled"],
            &off["server"]["state"]
        ),
        (&json!(["enabled"]), &json!(false), &json!("Disconnected"))
    );
    let restart = refused(&client, &json!({ "operation": "restart", "name": "up" })).await;
    assert_eq!(restart["code"], "server_disabled");
    let on = done(
        &client,
        &json!({ "operation": "enable", "name": "up", "command": null }),
    )
    .await;
    assert_eq!(on["server"]["enabled"], true);
    let listed = done(&client, &json!({ "action": "list" })).await;
    let row = listed["servers"][0].as_object().expect("a row");
    let keys: Vec<&str> = row.keys().map(String::as_str).collect();
    let expected = [
        "name",
        "transport",
        "state",
        "enabled",
        "quarantined",
        "tools",
        "last_error",
        "next_step",
    ];
    assert_eq!(keys, expected);
}

#[tokio::test]
async fn changes_are_recorded_with_their_caller() {
    let (_up, daemon, client) = house(json!({})).await;
    done(
        &client,
        &json!({ "operation": "patch", "name": "up", "env": { "A": "plain-words" } }),
    )
    .await;
    refused(
        &client,
        &json!({ "operation": "patch", "name": "up", "quarantined": false }),
    )
    .await;
    daemon
        .rest("PATCH", "/api/v1/servers/up", r#"{"idle_timeout":"1m"}"#)
        .await;
    let page = daemon
        .rest("GET", "/api/v1/activity?limit=50", "")
        .await
        .json();
    let records = page["records"].as_array().expect("records");
    let changes: Vec<(&Value, &Value, &Value)> = records
        .iter()
        .filter(|record| record["action"] == "patch")
        .map(|record| (&record["caller"], &record["detail"], &record["error"]))
        .collect();
    assert_eq!(changes.len(), 3, "{page}");
    assert_eq!(
        (changes[2].0, changes[2].1),
        (&json!("anonymous"), &json!("env.A; held for env.A"))
    );
    has!(changes[1].2, "only the user can approve", "{page}");
    assert_eq!(
        (changes[0].0, changes[0].1),
        (&json!("operator"), &json!("idle_timeout"))
    );
    let text = page.to_string();
    lacks!(
        text,
        "plain-words",
        "values of variables are nobody's business"
    );
}

#[tokio::test]
async fn a_person_patches_by_rest_with_all_rights() {
    let (_up, daemon, _client) = house(json!({ "env": { "TOKEN": "hunter2-hunter2" } })).await;
    let patch = async |body: Value| {
        daemon
            .rest("PATCH", "/api/v1/servers/up", &body.to_string())
            .await
            .json()
    };
    let answer = patch(json!({ "tool_acl": { "read": ["echo"] }, "tool_changes": "allow", "env": { "TOKEN": "***", "PATH": "/bin" } })).await;
    assert_eq!(
        answer["changed"],
        json!(["env.PATH", "tool_acl", "tool_changes"]),
        "{answer}"
    );
    assert_eq!(answer["server"]["quarantined"], false);
    assert_eq!(entry(&daemon, "up")["env"]["TOKEN"], "hunter2-hunter2");
    assert_eq!(
        patch(json!({ "quarantined": true })).await["server"]["quarantined"],
        true
    );
    assert_eq!(
        patch(json!({ "quarantined": "null" })).await["server"]["quarantined"],
        false
    );
}
