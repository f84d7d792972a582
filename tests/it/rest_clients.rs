//! REST over the files of AI clients: what stands in them, servers taken over from them, and our entry in them; and what may be wrong.

use std::{fs, path::Path};

use serde_json::{Value, json};

use crate::support::daemon::{DaemonProcess, TestDaemon};

const SECRET: &str = "ghp_0123456789abcdefghijABCDEFGHIJ012345";

/// A daemon whose user has these files.
async fn daemon(files: &[(&str, &str)]) -> DaemonProcess {
    let home = TestDaemon::builder()
        .entry(
            "time",
            json!({ "command": "uvx", "args": ["mcp-server-time"], "enabled": false }),
        )
        .home();
    for (path, text) in files {
        let file = home.folder().join(path);
        fs::create_dir_all(file.parent().expect("a folder")).expect("ours");
        fs::write(file, text).expect("ours");
    }
    DaemonProcess::spawn_in(home).await
}

async fn ask(daemon: &DaemonProcess, method: &str, path: &str, body: &Value) -> (u16, Value) {
    let body = if body.is_null() {
        String::new()
    } else {
        body.to_string()
    };
    let answer = daemon.home().rest(method, path, &body).await;
    let answer = answer.expect("the local socket is open while it serves");
    assert!(
        !answer.text().contains("0123456789abc"),
        "{}",
        answer.text()
    );
    (answer.status, answer.json())
}

fn read(daemon: &DaemonProcess, path: impl AsRef<Path>) -> String {
    fs::read_to_string(daemon.home().folder().join(path)).expect("it is there")
}

fn found<'a>(report: &'a Value, name: &str) -> &'a Value {
    let mut servers = report["servers"].as_array().expect("servers").iter();
    let row = servers.find(|row| row["written_name"] == name);
    row.unwrap_or_else(|| panic!("no {name} in {report:#}"))
}

#[tokio::test]
async fn found_servers_are_shown_without_secrets_and_the_picked_ones_are_taken_over() {
    let cursor = format!(
        r#"{{ "mcpServers": {{
            "git hub": {{ "command": "npx", "args": ["gh", "--token", "{SECRET}"], "env": {{ "TOKEN": "{SECRET}" }}, "disabled": true }},
            "time": {{ "command": "uvx", "args": ["mcp-server-time"] }},
            "mcpproxy": {{ "command": "mcpproxy", "args": ["stdio"] }},
            "pages": {{ "url": "http://127.0.0.1:9/mcp" }}
        }} }}"#
    );
    let files = [
        (".cursor/mcp.json", &*cursor),
        (".codex/config.toml", "a = 1\n[b\n"),
        (
            ".mcp.json",
            r#"{ "mcpServers": { "of-a-project": { "url": "http://127.0.0.1:9/x" } } }"#,
        ),
    ];
    let daemon = daemon(&files).await;
    let (status, report) = ask(&daemon, "GET", "/api/v1/import", &Value::Null).await;
    assert_eq!(status, 200, "{report:#}");
    let home = daemon.home().folder().display().to_string();
    assert_eq!(report["home"], home);
    assert_eq!(found(&report, "git hub")["outcome"], "renamed");
    assert_eq!(found(&report, "git hub")["name"], "git-hub");
    assert_eq!(found(&report, "time")["outcome"], "same");
    assert_eq!(found(&report, "mcpproxy")["outcome"], "ourselves");
    assert_eq!(found(&report, "pages")["outcome"], "new");
    assert_eq!(
        report["servers"].as_array().map(Vec::len),
        Some(4),
        "{report:#}"
    );
    assert_eq!(report["faults"][0]["line"], 2, "{report:#}");
    assert_eq!(report["imported"], 0);

    let picked = json!({ "servers": ["git-hub"], "quarantined": true });
    let (status, done) = ask(&daemon, "POST", "/api/v1/import", &picked).await;
    assert_eq!((status, &done["imported"]), (200, &json!(1)), "{done:#}");
    assert_eq!(found(&done, "git hub")["imported"], true);
    let (_, server) = ask(&daemon, "GET", "/api/v1/servers/git-hub", &Value::Null).await;
    assert_eq!(server["server"]["quarantined"], true, "{server:#}");
    assert_eq!(read(&daemon, ".cursor/mcp.json"), cursor, "it is only read");

    for (wrong, expected) in [
        (json!({ "servers": ["git hub"] }), "server_exists"),
        (json!({ "servers": ["mcpproxy"] }), "server_misconfigured"),
        (json!({ "servers": ["of-a-project"] }), "unknown_server"),
        (json!({ "servers": [] }), "invalid_arguments"),
        (
            json!({ "servers": ["pages"], "from": "/etc/passwd" }),
            "invalid_arguments",
        ),
    ] {
        let (_, refused) = ask(&daemon, "POST", "/api/v1/import", &wrong).await;
        assert_eq!(refused["code"], expected, "{wrong}: {refused}");
    }
}

#[tokio::test]
async fn a_client_is_connected_after_a_look_at_the_change_and_disconnected_again() {
    let text = format!(
        "{{\n  // mine\n  \"mcpServers\": {{\n    \"a\": {{ \"command\": \"a\", \"args\": [\"--token\", \"{SECRET}\"] }}\n  }}\n}}\n"
    );
    let daemon = daemon(&[(".cursor/mcp.json", &text), (".gemini/settings.json", "{")]).await;
    let list = async || {
        let (_, list) = ask(&daemon, "GET", "/api/v1/clients", &Value::Null).await;
        let rows = list["clients"].as_array().expect("clients").clone();
        let of = |client: &str| rows.iter().find(|row| row["client"] == client).cloned();
        (
            of("cursor").expect("it is known"),
            of("gemini-cli").expect("it is known"),
        )
    };
    let (cursor, gemini) = list().await;
    assert_eq!(
        (&cursor["found"], &cursor["connected"]),
        (&json!(true), &json!(false))
    );
    assert_eq!(cursor["title"], "Cursor");
    assert!(gemini["error"].is_string(), "{gemini}");

    let path = "/api/v1/clients/cursor/connect";
    let (status, dry) = ask(&daemon, "POST", path, &json!({ "dry_run": true })).await;
    assert_eq!(
        (status, &dry["outcome"]),
        (200, &json!("would_connect")),
        "{dry:#}"
    );
    let diff = dry["diff"].to_string();
    assert!(diff.contains('+') && diff.contains("/mcp"), "{diff}");
    assert_eq!(
        read(&daemon, ".cursor/mcp.json"),
        text,
        "nothing is written"
    );

    let (_, done) = ask(&daemon, "POST", path, &Value::Null).await;
    assert_eq!(done["outcome"], "connected", "{done:#}");
    let backup = done["backup"].as_str().expect("a copy");
    assert_eq!(read(&daemon, backup), text);
    let address = format!(
        "http://{}/mcp",
        crate::support::http::Reachable::address(&daemon)
    );
    assert!(read(&daemon, ".cursor/mcp.json").contains(&address));
    assert_eq!(list().await.0["connected"], true);
    let (_, again) = ask(&daemon, "POST", path, &json!({})).await;
    assert_eq!(again["outcome"], "already_connected");

    let path = "/api/v1/clients/cursor/disconnect";
    let (_, undone) = ask(&daemon, "POST", path, &Value::Null).await;
    assert_eq!(undone["outcome"], "disconnected", "{undone:#}");
    assert_eq!(read(&daemon, ".cursor/mcp.json"), text);
    let (status, absent) = ask(&daemon, "POST", path, &Value::Null).await;
    assert_eq!((status, &absent["code"]), (409, &json!("client_unchanged")));

    for (client, body, expected) in [
        ("gemini-cli", json!({}), "client_unchanged"),
        ("magg", json!({}), "unknown_client"),
        ("emacs", json!({}), "unknown_client"),
        ("cursor", json!({ "name": "a b" }), "invalid_arguments"),
        ("cursor", json!({ "endpoint": "/etc" }), "invalid_arguments"),
        (
            "cursor",
            json!({ "endpoint": "/mcp/server/none" }),
            "client_unchanged",
        ),
        (
            "cursor",
            json!({ "endpoint": "/mcp/p/none" }),
            "client_unchanged",
        ),
        (
            "cursor",
            json!({ "file": "/etc/passwd" }),
            "invalid_arguments",
        ),
    ] {
        let path = format!("/api/v1/clients/{client}/connect");
        let (_, refused) = ask(&daemon, "POST", &path, &body).await;
        assert_eq!(refused["code"], expected, "{client} {body}: {refused}");
    }
    assert_eq!(read(&daemon, ".gemini/settings.json"), "{");
}

#[tokio::test]
async fn the_daemon_says_what_is_wrong_with_itself_and_what_program_it_is() {
    let daemon = daemon(&[(".cursor/mcp.json", "{")]).await;
    let (status, report) = ask(&daemon, "GET", "/api/v1/doctor", &Value::Null).await;
    assert_eq!(status, 200, "{report:#}");
    let findings = report["findings"].as_array().expect("findings");
    let says = |check: &str, part: &str| {
        let mut of_check = findings.iter().filter(|found| found["check"] == check);
        of_check.any(|found| {
            found["what"]
                .as_str()
                .is_some_and(|what| what.contains(part))
        })
    };
    assert!(says("daemon", "it runs, process"), "{report:#}");
    assert!(
        says("client", "the file of Cursor cannot be read"),
        "{report:#}"
    );
    assert!(says("port", "the daemon listens"), "{report:#}");
    let (_, version) = ask(&daemon, "GET", "/api/v1/version", &Value::Null).await;
    assert_eq!(version["version"], env!("CARGO_PKG_VERSION"));
    assert!(
        version["revisions"]
            .as_array()
            .is_some_and(|all| all.len() > 3)
    );
}

#[tokio::test]
async fn a_whole_command_line_is_no_command() {
    let daemon = daemon(&[]).await;
    for command in [
        "npx -y @modelcontextprotocol/server-memory",
        "uvx mcp-server-time",
    ] {
        let body = json!({ "name": "added", "command": command });
        let (status, refused) = ask(&daemon, "POST", "/api/v1/servers", &body).await;
        assert_eq!(status, 400, "{refused}");
        let said = |key: &str| refused[key].as_str().unwrap_or_default().to_owned();
        assert!(
            said("error").contains("no shell takes it apart"),
            "{refused}"
        );
        assert!(said("hint").contains("`args`"), "{refused}");
    }
    let (_, list) = ask(&daemon, "GET", "/api/v1/servers", &Value::Null).await;
    assert_eq!(list["servers"].as_array().map(Vec::len), Some(1), "{list}");
}
