//! Records of what people decide about trust, of what is held, and of requests that are refused before they are calls.

use super::{ready, upstream};
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
    ready(&daemon).await;
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
    let stale = json!({ "seen": "0000", "all": true }).to_string();
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
        daemon.home().write_config(&with(settings).text());
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

#[tokio::test]
async fn what_is_asked_for_wrongly_is_said_and_no_file_is_lost() {
    let upstream = upstream().await;
    let daemon = TestDaemon::with_upstream(&upstream).await;
    let client = ready(&daemon).await;
    let arguments = json!({ "name": "up:echo", "args": {} }).to_string();
    client.call("call_tool_read", &arguments).await;
    let home = daemon.home();
    for wrong in [
        ["--kind", "calls"],
        ["--outcome", "denied"],
        ["--since", "soon"],
    ] {
        let asked = [&["activity", "list"][..], &wrong[..]].concat();
        assert_eq!(home.cli(&asked).await.0, 2, "{wrong:?}");
    }
    let list = ["activity", "list", "--since", "yesterday", "--kind", "call"];
    let (code, table, _) = home.cli(&list).await;
    assert_eq!(code, 0);
    assert_eq!(
        table.matches("call_tool_read → up:echo").count(),
        1,
        "{table}"
    );
    let (_, whole, _) = home.cli(&[&list[..], &["-v"]].concat()).await;
    assert_eq!(
        whole.matches("call_tool_read → up:echo").count(),
        2,
        "{whole}"
    );
    let three = json!({ "server": "up", "tool": "echo" }).to_string();
    for _ in 0..3 {
        client.call("call_tool", &three).await;
    }
    for (most, rows) in [("2", 2), ("4", 4)] {
        let asked = [&list[..], &["-n", most]].concat();
        let (_, table, _) = home.cli(&asked).await;
        assert_eq!(table.lines().count(), 1 + rows, "{table}");
        has!(table, "call_tool → up:echo");
    }
    let file = home.folder().join("kept.jsonl");
    std::fs::write(&file, "mine").expect("writable");
    let file_name = file.to_str().expect("text");
    assert_eq!(home.cli(&["activity", "export", file_name]).await.0, 2);
    assert_eq!(std::fs::read_to_string(&file).expect("there"), "mine");
    let forced = ["activity", "export", file_name, "--force"];
    assert_eq!(home.cli(&forced).await.0, 0);
    let (_, told, _) = home.cli(&[&forced[..], &["-o", "json"]].concat()).await;
    let told: Value = serde_json::from_str(&told).expect("JSON");
    assert_eq!(told["file"], file_name);
    assert!(
        told["records"].as_u64().is_some_and(|count| count > 0),
        "{told}"
    );
    has!(std::fs::read_to_string(&file).expect("there"), "up");
}

#[tokio::test]
async fn a_damaged_file_without_a_daemon_says_what_to_do() {
    let home = TestDaemon::builder().home();
    std::fs::create_dir_all(home.data_dir()).expect("writable");
    let file = home.data_dir().join("activity.redb");
    std::fs::write(file, "no database".repeat(1000)).expect("writable");
    let (code, _, said) = home.cli(&["activity", "list"]).await;
    assert_eq!(code, 1, "{said}");
    has!(said, "`mcpproxy restart` sets a damaged file aside");
}
