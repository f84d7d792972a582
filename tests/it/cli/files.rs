//! What the commands do with the files alone, while no daemon runs.

use std::path::Path;

use serde_json::json;

use super::Place;
use crate::support::{
    behaviours::*, daemon::TestDaemon, fake_upstream::FakeUpstream, patience::until_async,
};

const SERVERS: &str = r#"{
  // My servers.
  "mcpServers": {
    "time": { "command": "uvx", "args": ["mcp-server-time"] }, // keep this
    "docs": { "url": "https://example.com/mcp", "enabled": false },
    "held": { "command": "x", "quarantined": true, "mine": 1 },
    "broken": { "command": 7 },
  },
}
"#;

fn offering(tools: &[&str]) -> FakeUpstream {
    let offer = |server: FakeUpstream, tool: &&str| server.raw_tool(tool, echo());
    tools.iter().fold(FakeUpstream::stdio(), offer)
}

/// The servers of [`SERVERS`], two of which a daemon has listed before it ended.
async fn listed(time: &[&str], held: &[&str]) -> Place {
    let n_tools = time.len() + held.len();
    let time = offering(time).start().await;
    let held = offering(held).start().await;
    let daemon = TestDaemon::builder()
        .upstream("time", &time)
        .entry(
            "docs",
            json!({ "url": "https://example.com/mcp", "enabled": false }),
        )
        .upstream_with("held", &held, json!({ "quarantined": true }))
        .entry("broken", json!({ "command": 7 }))
        .start()
        .await;
    until_async("every tool to be listed", async || {
        let tools = daemon.rest("GET", "/api/v1/tools", "").await.json();
        (tools["total"] == n_tools).then_some(())
    })
    .await;
    let home = daemon.shutdown().await;
    Place { home }
}

#[tokio::test]
async fn the_servers_of_the_file_are_listed_with_what_is_wrong() {
    let tools = [
        r#"{"name":"now","inputSchema":{}}"#,
        r#"{"name":"convert","inputSchema":{}}"#,
    ];
    let secret = r#"{"name":"secret","inputSchema":{}}"#;
    let place = listed(&tools, &[secret]).await;
    let ran = place
        .run(&["upstream", "list", "-o", "json"])
        .ended(0)
        .says(&["not running"]);
    let listed = ran.json();
    let states: Vec<_> = listed["servers"]
        .as_array()
        .expect("an array")
        .iter()
        .map(|row| {
            (
                row["name"].as_str().expect("text"),
                row["state"].as_str().expect("text"),
                [&row["enabled"], &row["quarantined"]].map(|switch| *switch == true),
                &row["tools"],
            )
        })
        .collect();
    let unknown = &json!(null);
    assert_eq!(
        states,
        [
            ("broken", "Error", [true, false], unknown),
            ("docs", "Disconnected", [false, false], unknown),
            ("held", "Disconnected", [true, true], &json!(1)),
            ("time", "Disconnected", [true, false], &json!(2)),
        ]
    );
    let error = listed["servers"][0]["last_error"].as_str().expect("text");
    assert!(error.contains("command"), "{error}");
    place.run(&["upstream", "list"]).ended(0).shows(&[
        "time",
        "stdio",
        "http",
        "Disconnected (disabled)",
        "Disconnected (quarantined)",
        "`mcpproxy upstream enable docs` switches it on",
    ]);
}

#[test]
fn no_file_is_an_empty_list_and_a_hint() {
    let place = Place::new();
    let ran = place
        .run(&["upstream", "list"])
        .ended(0)
        .says(&["mcpproxy upstream add"]);
    assert!(ran.stdout.is_empty());
    assert_eq!(
        place.run(&["upstream", "list", "-o", "json"]).json(),
        json!({ "servers": [] })
    );
}

#[test]
fn a_server_is_added_changed_and_removed_in_the_file() {
    let place = Place::configured(SERVERS);
    place
        .run(&["upstream", "add", "new", "--env", "A=b", "--", "x", "y"])
        .ended(0)
        .says(&["added"]);
    place
        .run(&["upstream", "disable", "time"])
        .ended(0)
        .says(&["disabled"]);
    place
        .run(&["upstream", "enable", "docs"])
        .ended(0)
        .says(&["enabled"]);
    place
        .run(&["upstream", "remove", "broken"])
        .ended(0)
        .says(&["removed"]);
    let written = place.written();
    for kept in ["// My servers.", "// keep this", "\"mine\": 1", "\"held\""] {
        assert!(written.contains(kept), "no {kept} in {written}");
    }
    assert!(!written.contains("broken"), "{written}");
    let listed = place.run(&["upstream", "list", "-o", "json"]).json();
    let enabled: Vec<_> = listed["servers"]
        .as_array()
        .expect("an array")
        .iter()
        .map(|row| {
            (
                row["name"].as_str().expect("text"),
                row["enabled"].as_bool().expect("a flag"),
            )
        })
        .collect();
    assert_eq!(
        enabled,
        [
            ("docs", true),
            ("held", true),
            ("new", true),
            ("time", false)
        ]
    );
}

#[test]
fn the_first_server_makes_the_file() {
    let place = Place::new();
    place
        .run(&[
            "upstream",
            "add",
            "docs",
            "--url",
            "https://example.com/mcp",
        ])
        .ended(0);
    place.run(&["config", "check"]).ended(0).says(&["1 server"]);
    assert!(place.written().contains("https://example.com/mcp"));
}

#[test]
fn an_added_server_that_cannot_be_used_is_pointed_out() {
    let place = Place::new();
    place
        .run(&["upstream", "add", "a", "--env", "T=${NOT_SET}", "--", "x"])
        .ended(0)
        .says(&["cannot be used", "NOT_SET"]);
}

#[test]
fn lists_of_tools_name_the_servers_that_they_leave_out() {
    let place = Place::configured(
        r#"{ "mcpServers": { "a": { "command": "x", "env": { "T": "${NOT_SET}" } }, "b": { "command": "x" } } }"#,
    );
    let missing = "the tools of \"a\" are left out";
    for asked in [
        &["tools", "list"][..],
        &["tools", "list", "--server", "a"],
        &["tools", "list", "-o", "json"],
        &["tools", "search", "notes"],
        &["tools", "search", "notes", "-o", "json"],
    ] {
        place.run(asked).ended(0).says(&[missing, "NOT_SET"]);
    }
    let ran = place.run(&["tools", "list", "-o", "json"]).ended(0);
    let listed: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(listed["left_out"][0]["name"], "a", "{listed}");
    let reason = listed["left_out"][0]["reason"].as_str().expect("a reason");
    assert!(reason.contains("NOT_SET"), "{reason}");
    let other = place.run(&["tools", "list", "--server", "b"]).ended(0);
    assert!(!other.stderr.contains(missing), "{}", other.stderr);
    let show = place.run(&["tools", "show", "a:t"]).ended(1);
    show.says(&[missing]);
}

#[test]
fn a_wrong_name_fails_with_the_closest_one_and_leaves_the_file_alone() {
    let place = Place::configured(SERVERS);
    for asked in [
        &["upstream", "logs", "tme"][..],
        &["upstream", "inspect", "tme"],
        &["upstream", "show", "tme"],
        &["tools", "list", "--server", "tme"],
    ] {
        let list = "`mcpproxy upstream list` shows the configured servers";
        place
            .run(asked)
            .ended(1)
            .says(&[list, "closest configured name is \"time\""]);
    }
    place
        .run(&["upstream", "remove", "tme"])
        .ended(1)
        .says(&["\"tme\"", "closest configured name is \"time\""]);
    place.run(&["upstream", "enable", "zebra"]).ended(1).says(&[
        "\"zebra\"",
        "`mcpproxy upstream list` shows the configured servers",
    ]);
    place
        .run(&["upstream", "add", "TIME", "--", "x"])
        .ended(1)
        .says(&["exists already"]);
    assert_eq!(place.written(), SERVERS);
}

#[test]
fn the_path_is_that_of_the_file_that_counts() {
    let place = Place::new();
    let path = place.config_file();
    assert_eq!(
        place.run(&["config", "path"]).ended(0).stdout,
        format!("{}\n", path.display())
    );
    let json = place.run(&["config", "path", "-o", "json"]).json();
    assert_eq!(json["config_file"], path.to_str().expect("text"));
    let data_dir = place.home.data_dir();
    assert_eq!(json["data_dir"], data_dir.to_str().expect("text"));
    assert_eq!(json["exists"], false);
}

#[test]
fn the_schema_is_printed_whole() {
    let place = Place::new();
    let schema = place.run(&["config", "schema"]).json();
    assert!(schema["properties"]["mcpServers"].is_object(), "{schema}");
    assert!(schema["$defs"]["server"].is_object(), "{schema}");
}

#[test]
fn a_sound_file_passes_the_check() {
    let place =
        Place::configured(r#"{ "mcpServers": { "a": { "command": "x" } }, "lisen": ":1" }"#);
    place
        .run(&["config", "check"])
        .ended(0)
        .shows(&["warning", "lisen"])
        .says(&["1 server"]);
    let json = place
        .run(&["config", "check", "-o", "json"])
        .ended(0)
        .json();
    assert_eq!((&json["ok"], &json["servers"]), (&json!(true), &json!(1)));
    assert_eq!(json["warnings"].as_array().expect("an array").len(), 1);
}

#[test]
fn a_broken_entry_fails_the_check_by_name() {
    let place = Place::configured(SERVERS);
    let ran = place.run(&["config", "check"]).ended(1);
    ran.says(&["1 of the servers"])
        .shows(&["broken server", "broken", "command"]);
    let json = place
        .run(&["config", "check", "-o", "json"])
        .ended(1)
        .json();
    assert_eq!(
        (&json["ok"], &json["broken"][0]["name"]),
        (&json!(false), &json!("broken"))
    );
}

#[test]
fn an_unreadable_file_fails_the_check_with_line_and_column() {
    let place = Place::configured("{\n  \"mcpServers\": {,\n}");
    let ran = place
        .run(&["config", "check"])
        .ended(1)
        .says(&["line 2, column"]);
    assert!(ran.stdout.is_empty());
    let json = place
        .run(&["config", "check", "-o", "json"])
        .ended(1)
        .json();
    assert!(json["error"].as_str().expect("text").contains("line 2"));
    for edit in [
        &["upstream", "list"][..],
        &["upstream", "remove", "a"],
        &["tools", "list"],
    ] {
        place.run(edit).ended(1).says(&["line 2", "config check"]);
    }
}

#[test]
fn a_folder_named_by_the_file_is_where_the_daemon_is_looked_for() {
    let place = Place::configured(r#"{ "data_dir": "elsewhere" }"#);
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_mcpproxy"));
    command
        .env_clear()
        .env("HOME", place.folder())
        .arg("--config")
        .arg(place.config_file());
    let ran = command.arg("status").output().expect("the program runs");
    assert_eq!(ran.status.code(), Some(3));
    let socket = Path::new("elsewhere").join("mcpproxy.sock");
    let said = String::from_utf8(ran.stderr).expect("text");
    assert!(said.contains(socket.to_str().expect("text")), "{said}");
}

#[tokio::test]
async fn tools_are_known_from_the_last_lists() {
    let definition = r#"{"name":"now","description":"The time.","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object","x":1.10}}"#;
    let held = r#"{"name":"secret","inputSchema":{"type":"object"}}"#;
    let place = listed(&[definition], &[held]).await;
    let ran = place
        .run(&["tools", "list"])
        .ended(0)
        .says(&["not running"]);
    ran.shows(&[
        "time:now",
        "read",
        "The time.",
        "held:secret",
        "no: the server \"held\" is quarantined",
    ]);
    let json = place
        .run(&["tools", "list", "--server", "time", "-o", "json"])
        .ended(0)
        .json();
    assert_eq!(
        json,
        json!({ "tools": [{
        "name": "time:now", "server": "time", "offered_name": "time__now", "description": "The time.",
        "annotations": { "readOnlyHint": true }, "callable": true, "reason": null, "call_with": "read",
    }], "total": 1 })
    );
    let shown = place.run(&["tools", "show", "time:now"]).ended(0).stdout;
    assert!(shown.contains("\"x\": 1.10\n"), "{shown}");
    assert_eq!(
        place.run(&["tools", "show", "time__now"]).ended(0).stdout,
        shown
    );
    place
        .run(&["tools", "show", "time:nw"])
        .ended(1)
        .says(&["time:nw", "closest known name is time:now"]);
    place
        .run(&["tools", "show", "time"])
        .ended(1)
        .says(&[
            "\"time\" is a server, and no tool",
            "next step: `mcpproxy tools list --server time` lists its tools",
        ])
        .does_not_say(&["closest"]);
    place
        .run(&["tools", "list", "--server", "tim"])
        .ended(1)
        .says(&["closest configured name is \"time\""]);
}

#[tokio::test]
async fn the_last_lists_are_searched_as_the_daemon_would() {
    let tools = [
        r#"{"name":"now","description":"Says the time.","inputSchema":{}}"#,
        r#"{"name":"ring","description":"Rings.","inputSchema":{}}"#,
    ];
    let place = listed(&tools, &[r#"{"name":"time_bomb","inputSchema":{}}"#]).await;
    let ran = place
        .run(&["tools", "search", "what", "time"])
        .ended(0)
        .says(&["not running"]);
    let ran = ran.shows(&["SCORE", "time:now", "write", "Says the time."]);
    assert!(!ran.stdout.contains("bomb"), "{}", ran.stdout);
    let json = place
        .run(&[
            "tools",
            "search",
            "\"says the time\"",
            "--limit",
            "1",
            "-o",
            "json",
        ])
        .ended(0)
        .json();
    assert_eq!(
        (&json["tools"][0]["name"], &json["total"]),
        (&json!("time:now"), &json!(1))
    );
    place.run(&["tools", "search", "bomb"]).ended(0).says(&[
        "held back",
        "quarantined",
        "no tool was found",
    ]);
    place
        .run(&["tools", "search", "x", "--server", "nobody"])
        .ended(1)
        .says(&["no server \"nobody\" is configured"]);
}
