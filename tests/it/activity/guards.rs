//! Records of what people decide about trust, of what is held, and of requests that are refused before they are calls.

use super::upstream;
use crate::{
    support::{
        behaviours::*,
        daemon::TestDaemon,
        fake_upstream::{FakeUpstream, plain_tool},
        http::{self, Reachable},
        patience::until_async,
        prelude::*,
    },
    trust::approve,
};

fn actions(found: &[Value]) -> Vec<&str> {
    let actions = found.iter().rev().map(|record| &record["action"]);
    let actions = actions.filter_map(Value::as_str);
    actions.filter(|action| *action != "reload").collect()
}

#[tokio::test]
async fn what_is_held_approved_and_quarantined_is_recorded() {
    let server = FakeUpstream::stdio()
        .capabilities(r#"{"tools":{"listChanged":true}}"#)
        .tool("echo", echo())
        .await;
    let daemon = TestDaemon::with_upstream(&server).await;
    daemon.wait_for_tool("up__echo").await;
    let other = plain_tool("echo").replace("The tool", "Other words");
    server.offer(&[(other, echo())]).await;
    let held = until_async("the change to be held", async || {
        let found = daemon.home().activity("kind=server&server=up").await;
        let mut held = found.into_iter().filter(|one| one["action"] == "held");
        held.next()
    })
    .await;
    let detail = held["detail"].as_str().expect("a detail");
    let words: Vec<&str> = detail.split_whitespace().collect();
    assert_eq!(words[..2], ["tool", "echo"], "{detail}");
    let fingerprint = words[2];
    assert!(
        fingerprint.len() == 16 && fingerprint.bytes().all(|b| b.is_ascii_hexdigit()),
        "{detail}"
    );
    has!(detail, "its definition changed");

    approve(&daemon, "up", &["echo"]).await;
    daemon
        .rest("POST", "/api/v1/servers/up/quarantine", "")
        .await;
    approve(&daemon, "up", &[]).await;
    let stale = json!({ "seen": "0000", "all": true });
    daemon
        .rest("POST", "/api/v1/servers/up/approve", &stale)
        .await;
    let found = daemon.home().activity("kind=change&server=up").await;
    let expected = [
        "approve",
        "quarantine",
        "approve",
        "lift_quarantine",
        "approve",
    ];
    assert_eq!(actions(&found), expected, "{found:?}");
    let changes: Vec<&Value> = found.iter().rev().collect();
    let first = changes[0]["detail"].as_str().expect("a detail");
    assert!(
        first.starts_with(&format!("by {}; tool echo", crate::trust::account()))
            && first.contains(fingerprint),
        "{first}"
    );
    assert_eq!(changes[4]["outcome"], "failed", "what was seen is no more");
}

#[tokio::test]
async fn a_reload_says_what_of_the_rules_changed() {
    let upstream = upstream().await;
    let with = |settings: Value| {
        TestDaemon::builder()
            .upstream("up", &upstream)
            .config(settings)
    };
    let daemon = with(json!({})).await;
    for (settings, expected) in [
        (
            json!({ "serverAuth": { "acl": { "default": "deny" } } }),
            "access rules changed",
        ),
        (
            json!({ "serverAuth": { "acl": { "default": "deny" } }, "rate_limit": { "per_caller": "100/s" } }),
            "rate limit changed",
        ),
        (
            json!({ "serverAuth": { "acl": { "default": "deny" } }, "rate_limit": { "per_caller": "100/s" }, "profiles": { "p": {} } }),
            "profiles changed",
        ),
    ] {
        daemon.home().write_config(with(settings).text());
        until_async(expected, async || {
            let found = daemon.home().activity("kind=change&limit=1").await;
            let newest = found.first()?;
            newest["detail"]
                .as_str()
                .is_some_and(|detail| detail.starts_with(expected))
                .then_some(())
        })
        .await;
    }
}

#[tokio::test]
async fn refusals_that_anybody_can_cause_are_recorded_once_a_minute() {
    let upstream = upstream().await;
    let token = "token-of-ada-0123456789";
    let settings = json!({
        "serverAuth": { "provider": "bearer", "bearer": { "tokens": { token: "ada" } } },
        "rate_limit": { "per_caller": "1/h", "burst": 4 },
    });
    let daemon = TestDaemon::builder()
        .upstream("up", &upstream)
        .config(settings)
        .await;
    for _ in 0..5 {
        let answer = http::send(daemon.address(), "POST", "/mcp", &[], "").await;
        assert_eq!(answer.status, 401);
    }
    let unknown = daemon
        .home()
        .activity("kind=refusal&outcome=unauthorized")
        .await;
    assert_eq!(unknown.len(), 1, "{unknown:?}");
    is_like!(unknown[0], { "times": 1, "endpoint": "/mcp" });
    let bearer = format!("Bearer {token}");
    let ada = TestClient::speaking("2025-06-18")
        .showing("authorization", &bearer)
        .connect(&daemon, "/mcp/all")
        .await;
    for _ in 0..8 {
        ada.request("tools/list", "{}").await;
    }
    let hasty = daemon.home().activity("outcome=rate_limited").await;
    assert_eq!(hasty.len(), 1, "{hasty:?}");
    is_like!(hasty[0], { "kind": "refusal", "caller": "ada", "method": "tools/list" });
}
