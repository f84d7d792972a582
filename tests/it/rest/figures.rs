//! What calls add up to, and that time which passes is no news.

use super::{daemon, post, stream, until};
use crate::support::prelude::*;

#[tokio::test]
async fn a_server_that_waits_for_its_next_attempt_is_no_news() {
    let (_upstream, daemon) = daemon().await;
    let nowhere = json!({ "name": "nowhere", "url": "http://127.0.0.1:9/mcp" });
    let (mut events, _) = stream(&daemon, "/api/v1/events", "open").await;
    assert_eq!(post(&daemon, "/api/v1/servers", &nowhere).await.status, 200);
    let is_waiting = |row: &Value| {
        row["name"] == "nowhere" && row["state"] == "Error" && row["last_error"].is_string()
    };
    let mut rows = vec![until(&mut events, "server", is_waiting).await];
    // Two more attempts: the pauses before them last for some seconds.
    for failures in ["tried 2 times", "tried 3 times"] {
        loop {
            let row = until(&mut events, "server", |row| row["name"] == "nowhere").await;
            assert_ne!(rows.last(), Some(&row), "the same is told twice");
            let is_next = row["last_error"]
                .as_str()
                .is_some_and(|text| text.contains(failures));
            rows.push(row);
            if is_next {
                break;
            }
        }
    }
    assert!(
        rows.len() <= 9,
        "each attempt is told a few times: {rows:#?}"
    );
}
