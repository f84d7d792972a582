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
    is_like!(again.json(), { "code": "not_undone" });
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
    has!(undone.text(), "removed a secret", "{}", undone.text());
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

#[tokio::test]
async fn tokens_are_in_the_history_and_undoing_one_revokes_it() {
    let daemon = TestDaemon::builder().await;
    let undo = async |body: Value| {
        let path = "/api/v1/config/undo";
        daemon.rest("POST", path, &body.to_string()).await.json()
    };
    let issue = async || {
        let body = json!({ "name": "ben", "calls": "write" }).to_string();
        let issued = daemon.rest("POST", "/api/v1/tokens", &body).await.json();
        issued["token"].as_str().expect("a token").to_owned()
    };
    let names = async || {
        let list = daemon.rest("GET", "/api/v1/tokens", "").await.json();
        list["tokens"].as_array().expect("a list").len()
    };
    let token = issue().await;
    let first = history(&daemon).await[0].clone();
    is_like!(first, { "by": "operator", "way": "terminal", "needs": "nothing" });
    assert_eq!(paths(&first), ["tokens.ben"]);
    is_like!(first["changes"][0]["after"], { "calls": "write", "servers": null });
    let kept = daemon.home().data_dir().join("config-history.jsonl");
    let kept = std::fs::read_to_string(kept).expect("a history");
    let hash = blake3::hash(token.as_bytes()).to_hex();
    assert!(!kept.contains(&token) && !kept.contains(hash.as_str()));
    is_like!(undo(json!({ "dry_run": true })).await, { "undoes": first["id"] });
    assert_eq!(names().await, 1);
    let undone = undo(json!({})).await;
    is_like!(undone, { "undoes": first["id"], "needs": "nothing" });
    assert_eq!(paths(&undone), ["tokens.ben"]);
    assert_eq!(names().await, 0);
    is_like!(history(&daemon).await[1], { "undone_by": undone["id"] });

    // Another one of that name is not the one that was issued first.
    issue().await;
    let revoked = daemon.rest("DELETE", "/api/v1/tokens/ben", "").await;
    assert_eq!(revoked.status, 200, "{}", revoked.text());
    let entries = history(&daemon).await;
    has!(undo(json!({})).await["error"], "cannot come back");
    issue().await;
    let changed = undo(json!({ "id": entries[1]["id"] })).await;
    has!(changed["error"], "changed again");
    assert_eq!(names().await, 1);
    // The file has nothing to do with it.
    daemon.home().write_config("{\"top_k\": 3}");
    daemon.rest("POST", "/api/v1/config/reload", "").await;
    assert_eq!(paths(&history(&daemon).await[0]), ["top_k"]);
}

/// How many changes the storm below has: `MCPPROXY_CHANGES=1000` makes it long.
fn changes() -> usize {
    let given = std::env::var("MCPPROXY_CHANGES").ok();
    given.and_then(|text| text.parse().ok()).unwrap_or(60)
}

/// Servers that agents add in it: no more may wait for approval.
const WAITING: usize = 50;

/// Saves as an editor does, which takes no lock: another save may have come between reading and writing.
fn save_by_hand(daemon: &TestDaemon, key: &str) {
    let saved = text(daemon).replacen('{', &format!("{{\n  \"{key}\": 1,"), 1);
    let file = daemon.home().config_file();
    let new = file.with_extension("edited");
    std::fs::write(&new, &saved).expect("ours");
    std::fs::rename(&new, file).expect("ours");
}

/// The paths that a change is about, as far as it keeps them.
fn paths(entry: &Value) -> Vec<String> {
    let changes = entry["changes"].as_array().expect("changes").iter();
    let path = |one: &Value| {
        let keys = one["path"].as_array().expect("keys").iter();
        let keys: Vec<&str> = keys.filter_map(Value::as_str).collect();
        keys.join(".")
    };
    changes.map(path).collect()
}

#[tokio::test]
async fn a_storm_of_changes_by_everybody_is_in_the_history_and_undone_to_the_first_byte() {
    let daemon = TestDaemon::builder().await;
    let first = "{\n  // mine\n  \"mcpServers\": {}, // theirs\n}\n";
    daemon.home().write_config(first);
    daemon.rest("POST", "/api/v1/config/reload", "").await;
    let start = history(&daemon).await.len();
    let agent = daemon.client("/mcp").await;
    let all = changes();
    let profile = json!({ "servers": ["a"] });
    let of_page = async {
        for n in 0..all * 4 / 10 {
            let change = json!({ "path": ["profiles", format!("page{n}")], "value": profile });
            let done = patch(&daemon, &json!({ "changes": [change] })).await;
            assert!(done["id"].is_u64(), "{done}");
        }
    };
    let of_servers = async {
        for n in 0..all * 3 / 10 {
            let entry = json!({ "name": format!("rest{n}"), "command": "x", "enabled": false });
            let entry = entry.to_string();
            let added = daemon.rest("POST", "/api/v1/servers", &entry).await;
            assert_eq!(added.status, 200, "{}", added.text());
        }
    };
    let of_terminal = async {
        for n in 0..all / 10 {
            let (key, value) = (format!("profiles.terminal{n}"), profile.to_string());
            let (code, _, told) = daemon.home().cli(&["config", "set", &key, &value]).await;
            assert_eq!(code, 0, "{told}");
        }
    };
    let of_agent = async {
        for n in 0..all / 10 {
            // No more servers of agents may wait for approval: the others change what is there.
            let name = format!("agent{}", n % WAITING);
            let change = if n < WAITING {
                json!({ "operation": "add", "name": name, "command": "x" })
            } else {
                json!({ "operation": "patch", "name": name, "call_tool_timeout": format!("{n}s") })
            };
            until_async("an agent’s turn", async || {
                let told = agent.call("upstream_servers", &change.to_string()).await;
                let told = told.text();
                let waits = told.contains("too many changes by agents");
                // A save by hand may have taken the server away.
                let is_gone = n >= WAITING && told.contains("unknown_server");
                assert!(waits || is_gone || told.contains("changed"), "{told}");
                (!waits).then_some(())
            })
            .await;
        }
    };
    let of_editor = async {
        for n in 0..all / 10 {
            save_by_hand(&daemon, &format!("x_editor{n}"));
            // Whoever edits by hand looks at the page in between.
            daemon.rest("GET", "/api/v1/status", "").await;
        }
    };
    tokio::join!(of_page, of_servers, of_terminal, of_agent, of_editor);
    daemon.rest("POST", "/api/v1/config/reload", "").await;
    let written = text(&daemon);
    let entries = history(&daemon).await;
    let is_noted = |path: &str, way: Option<&str>| {
        entries.iter().any(|entry| {
            let is_way = way.is_none_or(|way| entry["way"] == way);
            let mut paths = paths(entry).into_iter();
            is_way && paths.any(|one| one == path || path.starts_with(&format!("{one}.")))
        })
    };
    let of = |n: usize, begin: &'static str, key: &'static str| {
        (0..n).map(move |n| (format!("{begin}.{key}{n}"), format!("\"{key}{n}\"")))
    };
    let made = of(all * 4 / 10, "profiles", "page")
        .chain(of(all / 10, "profiles", "terminal"))
        .chain(of(all * 3 / 10, "mcpServers", "rest"))
        .chain(of((all / 10).min(WAITING), "mcpServers", "agent"));
    for (path, key) in made {
        assert!(is_noted(&path, None), "{path} is not in the history");
        // A save by hand may have taken it away again, and then that is known.
        let is_there = written.contains(&key) || is_noted(&path, Some("file"));
        assert!(is_there, "{path} is lost");
    }
    for n in 0..all / 10 {
        let key = format!("x_editor{n}");
        let is_there = written.contains(&key) || is_noted(&key, Some("file"));
        assert!(is_there, "{key} is lost");
    }
    // One after the other, the latest first, and nothing else: then every one was noted as it was.
    for _ in start..entries.len() {
        let undone = daemon.rest("POST", "/api/v1/config/undo", "{}").await;
        assert_eq!(undone.status, 200, "{}", undone.text());
    }
    assert_eq!(text(&daemon), first);
}
