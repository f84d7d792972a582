//! What calls add up to, and that time which passes is no news.

use super::{daemon, get, post, stream, until};
use crate::support::prelude::*;

#[tokio::test]
async fn calls_are_added_up_for_all_a_server_and_a_tool() {
    let (_upstream, daemon) = daemon().await;
    let call = json!({ "variant": "write", "name": "up:echo", "args": { "n": 1 } });
    for _ in 0..3 {
        assert_eq!(post(&daemon, "/api/v1/call", &call).await.status, 200);
    }
    let refused = json!({ "variant": "write", "name": "up:nothing", "args": {} });
    assert_eq!(post(&daemon, "/api/v1/call", &refused).await.status, 404);
    let figures =
        async |query: &str| get(&daemon, &format!("/api/v1/activity/figures{query}")).await;
    for period in ["", "?since=1h", "?since=24h"] {
        let found = figures(period).await;
        assert_eq!(found["all"]["calls"], 4, "{found}");
        assert_eq!(found["all"]["failed"], 1, "{found}");
        assert_eq!(found["complete"], true, "the file was empty: {found}");
        assert_eq!(found["tools"], json!([]));
        assert!(found["all"]["median_us"].is_u64(), "{found}");
    }
    let server = figures("?since=24h&server=up").await;
    let tools = server["tools"].as_array().expect("a list");
    let echo = tools
        .iter()
        .find(|one| one["tool"] == "echo")
        .expect("called");
    assert_eq!((&echo["calls"], &echo["failed"]), (&json!(3), &json!(0)));
    for query in ["?tool=up:echo", "?tool=echo&server=up"] {
        assert_eq!(figures(query).await["all"]["calls"], 3, "{query}");
    }
    assert_eq!(figures("?server=nobody").await["all"]["calls"], 0);
    for wrong in ["since=2h", "tool=echo", "limit=3"] {
        let path = format!("/api/v1/activity/figures?{wrong}");
        assert_eq!(daemon.rest("GET", &path, "").await.status, 400, "{wrong}");
    }
}

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
