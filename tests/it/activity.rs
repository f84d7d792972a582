//! The activity log: what of the life of a daemon is in it, what never is, and how it is read.

mod disk;
mod guards;
mod reading;

use std::{fs, os::unix::fs::PermissionsExt};

use crate::support::prelude::*;

const FILE: &str = "activity.redb";

/// A token that a client sends, one in a reference, one in an address, and one that a server answers.
const SENT: &str = "ghp_Sent0123456789Sent";
const REFERRED: &str = "hunter2-from-a-reference";
const IN_URL: &str = "InTheAddress0123456789x";
const ANSWERED: &str = "glpat-Answered0123456789";
const ALL: [&str; 4] = [SENT, REFERRED, IN_URL, ANSWERED];

async fn upstream() -> Upstream {
    FakeUpstream::stdio()
        .tool("echo", echo())
        .tool("hang", hang())
        .tool("die", exit())
        .tool("tell", reply_text(ANSWERED))
        .tool("refuse", error(r#"{"code":-32001,"message":"not today"}"#))
        .tool("fail", reply(r#"{"content":[],"isError":true}"#))
        .resource(
            r#"{"uri":"lib://a","name":"r"}"#,
            reply(r#"{"contents":[]}"#),
        )
        .on("resources/read", reply(r#"{"contents":[]}"#))
        .await
}

#[tokio::test]
async fn a_call_is_recorded_however_it_ends() {
    let upstream = upstream().await;
    let daemon = TestDaemon::builder()
        .upstream_with("up", &upstream, json!({ "call_tool_timeout": "2s" }))
        .await;
    let client = daemon.client_of("up__echo").await;
    client.call("up__echo", "{}").await;
    client.call("up__refuse", "{}").await;
    client.call("up__fail", "{}").await;
    client.call("up__nothing", "{}").await;
    client.call("call_tool_read", "{}").await;
    client.call("up__hang", "{}").await;
    // Withdrawn by its client.
    let body = r#"{"jsonrpc":"2.0","id":"w","method":"tools/call","params":{"name":"up__hang"}}"#;
    let withdrawn = async {
        upstream.wait_for_count("tools/call", 5).await;
        let params = r#"{"requestId":"w"}"#;
        client.notify("notifications/cancelled", params).await
    };
    let headers = [JSON, BOTH, ("mcp-session-id", client.session())];
    tokio::join!(client.raw_post(&headers, body), withdrawn);
    until_async("the withdrawal", async || {
        let withdrawn = daemon.home().activity("outcome=withdrawn").await;
        (!withdrawn.is_empty()).then_some(())
    })
    .await;
    client.call("up__die", "{}").await;
    let found = daemon.home().activity("kind=call").await;
    let ends: Vec<_> = found
        .iter()
        .rev()
        .map(|r| {
            (
                r["tool"].as_str().unwrap_or("-"),
                r["outcome"].as_str().unwrap_or("-"),
                r["code"].as_str().unwrap_or("-"),
            )
        })
        .collect();
    let expected = [
        ("echo", "ok", "-"),
        ("refuse", "rpc_error", "-32001"),
        ("fail", "tool_error", "-"),
        ("nothing", "invalid", "-32602"),
        ("call_tool_read", "invalid", "invalid_arguments"),
        ("hang", "failed", "timed_out"),
        ("hang", "withdrawn", "-"),
        ("die", "failed", "connection_lost"),
    ];
    assert_eq!(ends, expected);
    let first = &found[found.len() - 1];
    is_like!(first, { "client": "test 1", "endpoint": "/mcp/all" });
    assert!(
        first["duration_us"].as_u64().is_some_and(|took| took > 0),
        "{first}"
    );
}

#[tokio::test]
async fn of_an_error_the_same_is_kept_whoever_says_it() {
    let text = format!("password=hunter2 {}", "I".repeat(3_000));
    let said = json!({ "content": [{ "type": "text", "text": text }], "isError": true });
    let refusal = json!({ "code": -32001, "message": text });
    let upstream = FakeUpstream::stdio()
        .tool("echo", echo())
        .tool("fail", reply(said.to_string()))
        .tool("refuse", error(refusal.to_string()))
        .await;
    // What is known to be secret has an end.
    let entry = json!({ "env": { "A_TOKEN": "hunter2-of-the-entry" } });
    let text = text.replace("hunter2", "hunter2-of-the-entry");
    let known = json!({ "code": -32001, "message": text });
    let knowing = FakeUpstream::stdio()
        .tool("refuse", error(known.to_string()))
        .await;
    let daemon = TestDaemon::builder()
        .upstream("up", &upstream)
        .upstream_with("knowing", &knowing, entry)
        .await;
    let client = daemon.client_of("up__echo").await;
    client.wait_for_tool("knowing__refuse").await;
    for tool in ["up__fail", "up__refuse", "knowing__refuse"] {
        client.call(tool, "{}").await;
    }
    let found = daemon.home().activity("kind=call").await;
    let kept: Vec<_> = found.iter().rev().map(|r| r["error"].clone()).collect();
    let whole = format!("password=*** {}…", "I".repeat(500 - "password=*** ".len()));
    assert_eq!(kept, ["password=***…", "password=***…", &whole]);
}

#[tokio::test]
async fn no_secret_stands_in_the_file() {
    let upstream = upstream().await;
    let settings = json!({ "activity": { "results": "redacted" }, "api_key": REFERRED });
    let daemon = TestDaemon::builder()
        .upstream("up", &upstream)
        .config(settings)
        .await;
    let client = daemon.client_of("up__echo").await;
    let url = format!("https://user:{IN_URL}@host/x?token={IN_URL}");
    let arguments = json!({
        "token": "short", "note": format!("use {SENT}, please"), "deep": [{ "url": url, "q": format!("is it {REFERRED}?") }],
        "json": json!({ "password": "short", "t": SENT }).to_string(), (SENT): 1,
    });
    client.call("up__echo", &arguments.to_string()).await;
    client.call("up__tell", "{}").await;
    client.call(&format!("up__{SENT}"), "{}").await;
    client
        .request(
            "resources/read",
            json!({ "uri": format!("lib://a?token={IN_URL}") }),
        )
        .await;
    let intent =
        json!({ "operation_type": "read", "reason": format!("with {SENT} and {REFERRED}") });
    let inner = json!({ "name": "up:echo", "args_json": arguments.to_string(), "intent": intent });
    client.call("call_tool_read", &inner.to_string()).await;
    let native = daemon.client("/mcp/server/up").await;
    native
        .request("resources/read", json!({ "uri": url }))
        .await;
    let found = daemon.home().activity("kind=call").await;
    assert_eq!(found.len(), 7, "{found:?}");
    let echoed = &found[6]["arguments"];
    is_like!(echoed, { "token": "***", "note": "use ***, please" });
    assert_eq!(echoed["deep"][0]["q"], "is it ***?");
    has!(
        found[5]["result"]["content"].to_string(),
        "***",
        "{}",
        found[5]
    );
    let home = daemon.shutdown().await;
    let file = home.data_dir().join(FILE);
    let content = fs::read(&file).expect("readable");
    for secret in ALL {
        let is_there = content
            .windows(secret.len())
            .any(|part| part == secret.as_bytes());
        assert!(!is_there, "{secret} stands in the file");
    }
    let mode = fs::metadata(&file)
        .expect("it is there")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[tokio::test]
async fn arguments_are_kept_as_the_setting_says_and_an_edit_counts_at_once() {
    let upstream = upstream().await;
    let configured = |activity: Value| {
        TestDaemon::builder()
            .upstream("up", &upstream)
            .config(json!({ "activity": activity }))
    };
    let daemon = configured(json!({ "arguments": "off" })).await;
    let client = daemon.client_of("up__echo").await;
    let call = async |expected: Value| {
        until_async("the setting to be in force", async || {
            client.call("up__echo", r#"{"token":"short","a":1}"#).await;
            let found = daemon.home().activity("tool=echo&limit=1").await;
            (found[0]["arguments"] == expected).then_some(())
        })
        .await;
    };
    call(Value::Null).await;
    daemon
        .home()
        .write_config(configured(json!({ "arguments": "full" })).text());
    call(json!({ "token": "short", "a": 1 })).await;
    daemon
        .home()
        .write_config(configured(json!({ "arguments": "redacted" })).text());
    call(json!({ "token": "***", "a": 1 })).await;
    let reloads = daemon.home().activity("kind=change").await;
    assert_eq!(
        (reloads.len(), &reloads[0]["action"], &reloads[0]["caller"]),
        (2, &json!("reload"), &json!("daemon")),
        "{reloads:?}"
    );
}

#[tokio::test]
async fn what_was_written_survives_a_kill_and_ids_go_on() {
    let upstream = upstream().await;
    let daemon = DaemonProcess::with_upstream(&upstream).await;
    let client = daemon.client_of("up__echo").await;
    client.call("up__echo", "{}").await;
    // Read is written.
    let before = daemon.home().activity("tool=echo").await;
    assert_eq!(before.len(), 1);
    let home = daemon.kill().await;
    let daemon = DaemonProcess::spawn_in(home).await;
    let client = daemon.client("/mcp/all").await;
    client.call("up__echo", "{}").await;
    let found = daemon.home().activity("tool=echo").await;
    assert_eq!((found.len(), &found[1]), (2, &before[0]));
    assert_eq!(
        (found[0]["run"].clone(), found[1]["run"].clone()),
        (json!(2), json!(1))
    );
    assert!(found[0]["id"].as_u64() > found[1]["id"].as_u64());
    let log = daemon.log();
    let line = log
        .lines()
        .find(|line| line.contains("a call ended"))
        .expect("a line each");
    for part in [
        "INFO",
        "caller=\"anonymous\"",
        "server=\"up\"",
        "tool=\"echo\"",
        "outcome=\"ok\"",
        "duration_us=",
    ] {
        has!(line, part);
    }
}

#[tokio::test]
async fn a_damaged_file_is_named_and_the_daemon_runs() {
    let upstream = upstream().await;
    let home = TestDaemon::builder().upstream("up", &upstream).home();
    fs::create_dir_all(home.data_dir()).expect("a folder");
    fs::write(home.data_dir().join(FILE), "spoilt ".repeat(2_000)).expect("writable");
    let older = home.data_dir().join("activity.redb.damaged-2026-01-01");
    fs::write(&older, "spoilt").expect("writable");
    let (code, ..) = home.cli(&["activity", "list"]).await;
    assert_eq!(code, 1, "without a daemon it is said, and left alone");
    let daemon = TestDaemon::start_in(home).await;
    let client = daemon.client_of("up__echo").await;
    client.call("up__echo", "{}").await;
    assert_eq!(daemon.home().activity("kind=call").await.len(), 1);
    let status = daemon.rest("GET", "/api/v1/status", "").await.json();
    let set_aside = status["activity"]["set_aside"]
        .as_str()
        .expect("it is named");
    assert!(
        set_aside.contains("activity.redb.damaged-") && fs::exists(set_aside).expect("readable"),
        "{status}"
    );
    assert!(!older.exists(), "the newest is kept");
    let (_, shown, _) = daemon.home().cli(&["status"]).await;
    has!(shown, "a damaged file was set aside as");
}
