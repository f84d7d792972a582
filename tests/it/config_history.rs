//! Values of the configuration changed by REST, the terminal, agents and an editor: checked, in the history, and undone.

use crate::support::prelude::*;

async fn patch(daemon: &TestDaemon, body: &Value) -> Value {
    daemon
        .rest("PATCH", "/api/v1/config", &body.to_string())
        .await
        .json()
}

async fn history(daemon: &TestDaemon) -> Vec<Value> {
    let answer = daemon
        .rest("GET", "/api/v1/config/history", "")
        .await
        .json();
    answer["entries"].as_array().expect("entries").clone()
}

fn text(daemon: &TestDaemon) -> String {
    std::fs::read_to_string(daemon.home().config_file()).expect("a file")
}

#[tokio::test]
async fn a_value_is_shown_before_it_is_changed_and_undone_to_the_byte() {
    let daemon = TestDaemon::builder().await;
    let written = "{\n  // how many\n  \"tools_limit\": 12, /* kept */\n  \"mcpServers\": {},\n}\n";
    daemon.home().write_config(written);
    let change = json!({ "path": "tools_limit", "value": 20 });
    let dry = patch(&daemon, &json!({ "changes": [change], "dry_run": true })).await;
    is_like!(dry, { "changes": [{ "path": ["tools_limit"], "before": 12, "after": 20 }], "needs": "nothing" });
    assert_eq!(text(&daemon), written);
    let stale = json!({ "changes": [change], "seen": "another" });
    is_like!(patch(&daemon, &stale).await, { "code": "invalid_arguments" });
    let done = patch(
        &daemon,
        &json!({ "changes": [change], "seen": dry["seen"] }),
    )
    .await;
    assert!(done["id"].is_u64(), "{done}");
    assert_eq!(text(&daemon), written.replace("12", "20"));
    let shown = daemon.rest("GET", "/api/v1/config", "").await.json();
    is_like!(shown["settings"], { "tools_limit": 20 });
    let listen =
        json!({ "changes": [{ "path": "listen", "value": "127.0.0.1:0" }], "dry_run": true });
    is_like!(patch(&daemon, &listen).await, { "needs": "restart" });
    for (path, value) in [
        (json!("top_kk"), json!(1)),
        (json!("top_k"), json!("many")),
        (json!("serverAuth.x"), json!(1)),
        (json!(["mcpServers"]), json!({})),
        (json!([]), json!(1)),
    ] {
        let wrong = json!({ "changes": [{ "path": path, "value": value }] });
        is_like!(patch(&daemon, &wrong).await, { "code": "invalid_arguments" });
    }
    let undone = daemon
        .rest("POST", "/api/v1/config/undo", "{}")
        .await
        .json();
    assert_eq!(undone["undoes"], done["id"], "{undone}");
    assert_eq!(text(&daemon), written);
    let entries = history(&daemon).await;
    is_like!(entries[0], { "undoes": done["id"], "by": "operator" });
    is_like!(entries[1], { "undone_by": undone["id"], "needs": "nothing" });
    let again = daemon
        .rest(
            "POST",
            "/api/v1/config/undo",
            &json!({ "id": done["id"] }).to_string(),
        )
        .await;
    is_like!(again.json(), { "code": "invalid_arguments" });
}

#[tokio::test]
async fn a_secret_is_in_no_history_and_comes_back_while_the_daemon_runs() {
    let daemon = TestDaemon::builder().await;
    let written = r#"{"mcpServers": {"a": {"command": "x", "enabled": false, "env": {"API_KEY": "s3cret-value-123"}}}}"#;
    daemon.home().write_config(written);
    until_async("the server to be there", async || {
        let row = daemon.rest("GET", "/api/v1/servers/a", "").await;
        (row.status == 200).then_some(())
    })
    .await;
    let removed = daemon.rest("DELETE", "/api/v1/servers/a", "").await;
    assert_eq!(removed.status, 200, "{}", removed.text());
    let shown = daemon.rest("GET", "/api/v1/config/history", "").await;
    let shown = shown.text();
    assert!(!shown.contains("s3cret"), "{shown}");
    let file = daemon.home().data_dir().join("config-history.jsonl");
    let kept = std::fs::read_to_string(&file).expect("a history");
    assert!(
        !kept.contains("s3cret") && kept.contains("mcpServers"),
        "{kept}"
    );
    let undone = daemon.rest("POST", "/api/v1/config/undo", "{}").await;
    assert_eq!(undone.status, 200, "{}", undone.text());
    assert_eq!(text(&daemon), written);
    daemon.rest("DELETE", "/api/v1/servers/a", "").await;
    let home = daemon.shutdown().await;
    let daemon = TestDaemon::start_in(home).await;
    let undone = daemon.rest("POST", "/api/v1/config/undo", "{}").await;
    has!(undone.text(), "took away a secret", "{}", undone.text());
}

#[tokio::test]
async fn changes_by_all_at_once_are_all_there_and_all_in_the_history() {
    let daemon = TestDaemon::builder().await;
    daemon.home().write_config("{\"mcpServers\": {}}\n");
    let agent = daemon.client("/mcp").await;
    let count: usize = if cfg!(debug_assertions) { 40 } else { 250 };
    let of_rest = async {
        for n in 0..count {
            let edit = json!({ "changes": [{ "path": ["profiles", format!("p{n}")], "value": { "servers": ["a"] } }] });
            let done = patch(&daemon, &edit).await;
            assert!(done["id"].is_u64(), "{done}");
        }
    };
    let of_servers = async {
        for n in 0..count {
            let entry = json!({ "name": format!("s{n}"), "command": "x", "enabled": false });
            let added = daemon
                .rest("POST", "/api/v1/servers", &entry.to_string())
                .await;
            assert_eq!(added.status, 200, "{}", added.text());
        }
    };
    let of_agent = async {
        for n in 0..10 {
            let add = json!({ "operation": "add", "name": format!("agent{n}"), "command": "x" });
            agent
                .call("upstream_servers", &add.to_string())
                .await
                .text();
        }
    };
    tokio::join!(of_rest, of_servers, of_agent);
    // An editor takes no lock: each save is followed by a change that nobody delays.
    for n in 0..10 {
        let saved = text(&daemon).replacen('{', &format!("{{\"x_{n}\": {n}, "), 1);
        let new = daemon.home().config_file().with_extension("edited");
        std::fs::write(&new, &saved).expect("ours");
        std::fs::rename(&new, daemon.home().config_file()).expect("ours");
        let edit = json!({ "changes": [{ "path": "top_k", "value": n + 1 }] });
        let done = patch(&daemon, &edit).await;
        assert!(done["id"].is_u64(), "{done}");
    }
    daemon.rest("POST", "/api/v1/config/reload", "").await;
    let written = text(&daemon);
    for n in 0..count {
        assert!(
            written.contains(&format!("\"p{n}\"")) && written.contains(&format!("\"s{n}\"")),
            "{n}"
        );
    }
    let entries = history(&daemon).await;
    let has = |path: &str| {
        entries.iter().any(|entry| {
            let changes = entry["changes"].as_array().expect("changes");
            changes.iter().any(|one| {
                let keys = one["path"].as_array().expect("keys").iter();
                let keys: Vec<&str> = keys.filter_map(Value::as_str).collect();
                keys.join(".") == path || path.starts_with(&format!("{}.", keys.join(".")))
            })
        })
    };
    for n in 0..count {
        assert!(
            has(&format!("profiles.p{n}")) && has(&format!("mcpServers.s{n}")),
            "{n}"
        );
    }
    for n in 0..10 {
        assert!(
            has(&format!("mcpServers.agent{n}")) && has(&format!("x_{n}")),
            "{n}"
        );
    }
    let ways: std::collections::BTreeSet<&str> = entries
        .iter()
        .filter_map(|entry| entry["way"].as_str())
        .collect();
    assert!(
        ways.is_superset(&["agent", "file", "terminal"].into()),
        "{ways:?}"
    );
}
