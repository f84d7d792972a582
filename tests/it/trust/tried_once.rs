//! A quarantined server is started once to be listed, and again only when a person asks.

use serde_json::{Value, json};

use super::inspected;
use crate::support::{daemon::TestDaemon, patience::until_async};

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
    let daemon = TestDaemon::builder().entry("up", entry).start().await;
    let found = until_async("the attempt to have failed", async || {
        let found = inspected(&daemon, "up").await;
        (found["server"]["state"] == "Error").then_some(found)
    })
    .await;
    let row = &found["server"];
    assert_eq!(row["next_attempt_in_seconds"], Value::Null, "{row}");
    let why = row["last_error"].as_str().expect("why");
    assert!(
        why.contains("exit code 3") && !why.contains("in a row"),
        "{why}"
    );
    let step = row["next_step"].as_str().expect("a step");
    assert!(step.contains("upstream inspect up --connect"), "{step}");
    let told = found["contact_error"].as_str().expect("why and what to do");
    assert!(
        told.contains("exit code 3") && told.contains("upstream logs up"),
        "{told}"
    );

    let again = daemon
        .rest("POST", "/api/v1/servers/up/inspect?wait=20", "")
        .await
        .json();
    assert!(again["contact_error"].is_string(), "{again}");
    assert_eq!(again["inspected"], false, "{again}");
    assert_eq!(started(), 2, "once, and once because it was asked for");

    let report = daemon.rest("GET", "/api/v1/doctor", "").await;
    let report = report.text();
    assert!(report.contains("was tried once"), "{report}");
    assert!(!report.contains("so it was not started"), "{report}");
}
