//! A quarantined server is started once to be listed, and again only when a person asks.

use super::inspected;
use crate::support::prelude::*;

#[tokio::test]
async fn what_fails_to_be_listed_is_not_started_again_until_a_person_asks() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let starts = folder.path().join("starts");
    let script = format!("echo x >> '{}'; echo no good >&2; exit 3", starts.display());
    let started = || {
        let starts = std::fs::read_to_string(&starts).unwrap_or_default();
        starts.lines().count()
    };
    let entry = json!({ "command": "/bin/sh", "args": ["-c", script], "quarantined": true });
    let daemon = TestDaemon::builder().entry("up", entry).await;
    let found = until_async("the attempt to have failed", async || {
        let found = inspected(&daemon, "up").await;
        (found["server"]["state"] == "Error").then_some(found)
    })
    .await;
    let row = &found["server"];
    assert_eq!(row["next_attempt_in_seconds"], Value::Null, "{row}");
    let why = row["last_error"].as_str().expect("why");
    has!(why, "exited with code 3");
    lacks!(why, "tried");
    has!(row["next_step"], "upstream inspect up --connect");
    has!(found["contact_error"], "exited with code 3");
    has!(found["contact_error"], "upstream logs up");

    let again = daemon
        .rest("POST", "/api/v1/servers/up/inspect?wait=20", "")
        .await
        .json();
    assert!(again["contact_error"].is_string(), "{again}");
    assert_eq!(again["inspected"], false, "{again}");
    assert_eq!(started(), 2, "once, and once because it was asked for");

    let report = daemon.rest("GET", "/api/v1/doctor", "").await;
    let report = report.text();
    has!(report, "listing its tools failed");
    lacks!(report, "was not started");
}

async fn store(daemon: &TestDaemon) {
    let path = "/api/v1/secrets/k";
    let set = daemon
        .rest("PUT", path, r#"{"value":"s3cret-value"}"#)
        .await;
    assert_eq!(set.status, 200, "{}", set.text());
}

/// A server that waits for approval, was listed once, and lacks its secret since.
async fn lacking(up: &Upstream) -> Home {
    let entry = json!({ "env": { "TOKEN": "${keyring:k}" }, "quarantined": true });
    let daemon = TestDaemon::builder()
        .config(json!({ "keyring": "file" }))
        .upstream_with("up", up, entry)
        .await;
    store(&daemon).await;
    until_async("it to be listed", async || {
        let found = inspected(&daemon, "up").await;
        (found["inspected"] == true).then_some(())
    })
    .await;
    assert_eq!(up.spawn_count(), 1);
    let home = daemon.shutdown().await;
    let removed = json!({ "version": 1, "secrets": {} }).to_string();
    std::fs::write(home.data_dir().join("secrets.json"), removed).expect("our folder");
    home
}

#[tokio::test]
async fn what_waits_for_approval_and_lacks_its_secret_still_waits_for_approval() {
    let up = FakeUpstream::stdio().tool("echo", echo()).await;
    let home = lacking(&up).await;
    let (_, list, _) = home.cli(&["upstream", "list"]).await;
    has!(list, "Quarantined", "from the files");
    let daemon = TestDaemon::start_in(home).await;

    let details = daemon.rest("GET", "/api/v1/servers/up", "").await.json();
    let row = &details["server"];
    let said = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
    is_like!(row, { "state": "Error", "quarantined": true, "unusable": true });
    is_like!(row, { "transport": "stdio", "tools": 1 });
    has!(said("last_error"), "needs the secret", "{row}");
    let step = said("next_step");
    has!(step, "upstream inspect up");
    has!(step, "secret set k");
    assert_eq!(
        details["entry"]["env"]["TOKEN"], "${keyring:k}",
        "{details}"
    );
    let status = daemon.rest("GET", "/api/v1/status", "").await.json();
    let counts = (
        &status["servers"]["quarantined"],
        &status["servers"]["error"],
    );
    assert_eq!(counts, (&json!(1), &json!(0)), "{status}");
    assert_eq!(status["problems"][0]["name"], "up", "{status}");
    assert_eq!(daemon.get("/health").await.json()["status"], "ok");
    for command in [
        ["upstream", "list"],
        ["upstream", "show"],
        ["upstream", "inspect"],
    ] {
        let name = (command[1] != "list").then_some("up");
        let words: Vec<&str> = command.into_iter().chain(name).collect();
        let (_, said, _) = daemon.home().cli(&words).await;
        has!(said, "Quarantined", "{words:?}");
    }
    let doctor = daemon.rest("GET", "/api/v1/doctor", "").await;
    has!(doctor.text(), "waits for approval");
    let client = TestClient::stateless(&daemon, "/mcp");
    let call = client.call("call_tool_read", r#"{"name":"up:echo"}"#).await;
    assert_eq!(call.failure()["status"], "QUARANTINED_SERVER_BLOCKED");

    // All that it listed is there to be reviewed.
    let found = inspected(&daemon, "up").await;
    assert_eq!(found["inspected"], true, "{found}");
    assert_eq!(found["things"][0]["name"], "echo", "{found}");

    // With its secret it waits for approval as before: it was listed, so it is not started again.
    store(&daemon).await;
    let settled = daemon
        .rest("POST", "/api/v1/servers/up/inspect?wait=20", "")
        .await
        .json();
    is_like!(settled["server"], { "state": "Disconnected", "quarantined": true }, "{settled}");
    assert_eq!(settled["seen"], found["seen"], "nothing else is approved");
    assert_eq!(up.spawn_count(), 1);
    let reloads = daemon.home().activity("kind=change").await;
    let reload = reloads.iter().find(|record| record["action"] == "reload");
    let detail = reload.map(|record| record["detail"].clone());
    assert_eq!(detail, Some(json!("changed up")), "{reloads:?}");
}

#[tokio::test]
async fn what_lacks_its_secret_can_be_approved_as_it_stands() {
    let up = FakeUpstream::stdio().tool("echo", echo()).await;
    let daemon = TestDaemon::start_in(lacking(&up).await).await;
    let seen = inspected(&daemon, "up").await["seen"].clone();
    let body = json!({ "seen": seen });
    let path = "/api/v1/servers/up/approve";
    let approved = daemon.rest("POST", path, &body).await;
    assert_eq!(approved.status, 200, "{}", approved.text());
    let row = &approved.json()["server"];
    is_like!(row, { "state": "Error", "quarantined": false, "next_step": "`mcpproxy secret set k`" });
    store(&daemon).await;
    let client = daemon.client_of("up__echo").await;
    client.call("up__echo", "{}").await.result();
}
