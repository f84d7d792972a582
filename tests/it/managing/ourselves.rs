//! Servers that turn out to be the daemon which connects to them, however their addresses and commands are spelled.

use std::path::Path;

use crate::support::prelude::*;

const OURSELVES: &str = "this server is mcpproxy itself";

/// Adds a server and gives its row once an attempt has come to something.
async fn added(daemon: &TestDaemon, entry: &Value) -> Value {
    let mut body = entry.clone();
    body["name"] = json!("self");
    let answer = daemon
        .rest("POST", "/api/v1/servers", &body.to_string())
        .await;
    assert_eq!(answer.status, 200, "{entry}: {}", answer.text());
    until_async("an attempt to connect", async || {
        let rows = daemon.rest("GET", "/api/v1/servers", "").await.json();
        let mut rows = rows["servers"].as_array()?.iter();
        let row = rows.find(|row| row["name"] == "self")?;
        let is_over = row["state"] == "Ready" || !row["last_error"].is_null();
        is_over.then(|| row.clone())
    })
    .await
}

async fn is_given_up(daemon: &TestDaemon, entry: &Value) {
    let row = added(daemon, entry).await;
    assert_eq!(row["state"], "Error", "{entry}: {row}");
    let error = row["last_error"].as_str().unwrap_or_default();
    assert!(error.starts_with(OURSELVES), "{entry}: {row}");
    let step = row["next_step"].as_str().unwrap_or_default();
    assert_eq!(step, "`mcpproxy upstream remove self`", "{entry}: {row}");
    let has_none = row["tools"].is_null() || row["tools"] == 0;
    assert!(has_none, "{entry}: {row}");
    let removed = daemon.rest("DELETE", "/api/v1/servers/self", "").await;
    assert_eq!(removed.status, 200, "{}", removed.text());
}

#[tokio::test]
async fn an_address_of_this_daemon_is_given_up_whatever_its_spelling() {
    // So that no check of names catches it.
    let daemon = TestDaemon::builder()
        .config(json!({ "trusted_hosts": ["127.1", "2130706433"] }))
        .await;
    let port = daemon.address().port();
    for (host, path, more) in [
        ("127.1", "/mcp", json!({})),
        ("127.1", "/mcp/all", json!({ "protocol_era": "legacy" })),
        ("127.1", "/mcp", json!({ "protocol_era": "modern" })),
        ("2130706433", "/sse", json!({ "type": "sse" })),
        ("2130706433", "/mcp/call", json!({ "type": "http" })),
        // Not trusted, and nothing is said of credentials.
        ("0x7f.1", "/mcp", json!({})),
    ] {
        let mut entry = more;
        entry["url"] = json!(format!("http://{host}:{port}{path}"));
        is_given_up(&daemon, &entry).await;
    }
}

/// What it is called to stand for the daemon of a home on stdin and stdout.
fn arguments(home: &Home, command: &[&str]) -> Vec<String> {
    let text = |path: &Path| path.to_str().expect("text").to_owned();
    let mut arguments: Vec<String> = command.iter().map(|&word| word.to_owned()).collect();
    arguments.extend(["--config".to_owned(), text(&home.config_file())]);
    arguments.extend(["--data-dir".to_owned(), text(&home.data_dir())]);
    arguments
}

/// Our program by another name.
fn other_name(home: &Home) -> String {
    let link = home.folder().join("innocent");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_mcpproxy"), &link).expect("our folder");
    link.to_str().expect("text").to_owned()
}

#[tokio::test]
async fn a_program_that_comes_back_to_the_daemon_is_given_up_whatever_its_name() {
    let daemon = TestDaemon::builder().await;
    let link = other_name(daemon.home());
    let stdio = arguments(daemon.home(), &["stdio"]);
    let serve = arguments(daemon.home(), &["serve", "--stdio"]);
    let wrapper = daemon.home().folder().join("wrapper");
    let script = format!("#!/bin/sh\n{link} \"$@\"\nexit $?\n");
    std::fs::write(&wrapper, script).expect("our folder");
    let words = |command: &[&str]| {
        let command = command.iter().map(|&word| word.to_owned());
        command.chain(stdio.clone()).collect::<Vec<String>>()
    };
    for entry in [
        json!({ "command": link, "args": stdio }),
        json!({ "command": link, "args": serve }),
        json!({ "command": link, "args": stdio, "protocol_era": "modern" }),
        json!({ "command": "sh", "args": words(&[wrapper.to_str().expect("text")]) }),
        json!({ "command": "env", "args": words(&["nice", &link]) }),
    ] {
        is_given_up(&daemon, &entry).await;
    }
}

#[tokio::test]
async fn another_mcpproxy_is_a_server_like_any_other_over_pipes_and_http() {
    let server = FakeUpstream::stdio().tool("echo", echo()).await;
    let other = TestDaemon::with_upstream(&server).await;
    let daemon = TestDaemon::builder().await;
    let link = other_name(daemon.home());
    let port = other.address().port();
    for entry in [
        json!({ "command": link, "args": arguments(other.home(), &["stdio"]) }),
        json!({ "url": format!("http://127.0.0.1:{port}/mcp") }),
    ] {
        let row = added(&daemon, &entry).await;
        assert_eq!(row["state"], "Ready", "{entry}: {row}");
        let removed = daemon.rest("DELETE", "/api/v1/servers/self", "").await;
        assert_eq!(removed.status, 200, "{}", removed.text());
    }
}

#[tokio::test]
async fn servers_hear_one_id_of_the_daemon_and_none_of_clients() {
    let server = FakeUpstream::http().tool("echo", echo()).await;
    let (daemon, client) = TestDaemon::before(&server, "echo").await;
    let ask = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"up__echo","arguments":{}}}"#;
    let headers = [
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        ("mcp-session-id", client.session()),
        ("mcpproxy-instance", "somebody"),
    ];
    let path = "/mcp/all";
    let answer = http::send(daemon.address(), "POST", path, &headers, ask.to_owned()).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let mut calls = server.everything();
    calls.retain(|received| received.method() == "tools/call");
    let ids = calls.iter().map(|call| call.header("mcpproxy-instance"));
    let ids: Vec<&str> = ids.map(|id| id.expect("one")).collect();
    assert_eq!(ids.len(), 1);
    assert_eq!(ids[0].len(), 32, "{ids:?}");
}
