//! What the commands ask of a daemon, and how they show its answers.

use std::{io::Write, os::unix::net::UnixListener, thread};

use serde_json::{Value, json};

use super::{
    Place,
    playback::{Playback, status},
};

#[test]
fn something_else_on_the_socket_is_not_taken_for_the_daemon() {
    let place = Place::new();
    let listener = UnixListener::bind(place.socket()).expect("bound");
    thread::spawn(move || {
        for stream in listener.incoming() {
            let _ = stream.expect("a connection").write_all(b"220 hello\r\n");
        }
    });
    place
        .run(&["status"])
        .ended(3)
        .says(&["failed to reach the daemon"]);
}

#[test]
fn the_status_is_shown_to_people_and_passed_on_to_programs() {
    let place = Place::new();
    let _daemon = Playback::answering(&place, 200, "{}");
    let shown = place.run(&["status"]).ended(0);
    assert!(shown.stderr.is_empty(), "{}", shown.stderr);
    shown.shows(&[
        "http://127.0.0.1:8080/mcp",
        "1m 1s, process 7",
        "2 configured, 1 connected",
        "look out",
    ]);
    let json = place.run(&["status", "-o", "json"]).ended(0).json();
    assert_eq!(json.to_string(), status(env!("CARGO_PKG_VERSION")));
}

#[test]
fn a_daemon_of_another_version_is_pointed_out_on_stderr() {
    let place = Place::new();
    let _daemon = Playback::of_version("99.0.0", &place, 200, r#"{"servers":[]}"#);
    let ran = place
        .run(&["upstream", "list", "-o", "json"])
        .ended(0)
        .says(&["99.0.0", "restart the daemon"]);
    assert_eq!(ran.json(), json!({ "servers": [] }));
}

#[test]
fn servers_are_listed_as_the_daemon_tells() {
    let place = Place::new();
    let row = json!({ "servers": [{
        "name": "github", "transport": "stdio", "state": "Error", "enabled": true, "quarantined": false,
        "tools": 12, "last_error": "exit status 1\u{1b}[31m", "next_step": "look at the log", "later_key": 1.10,
    }] });
    let daemon = Playback::answering(&place, 200, &row.to_string());
    let ran = place.run(&["upstream", "list"]).ended(0).shows(&[
        "NAME",
        "TRANSPORT",
        "STATE",
        "TOOLS",
        "LAST ERROR",
        "NEXT STEP",
        "github",
        "stdio",
        "Error",
        "12",
        "exit status 1\\u{1b}[31m",
        "look at the log",
    ]);
    assert_eq!(ran.stdout.lines().count(), 2);
    assert_eq!(daemon.asked(), "GET /api/v1/servers ");
    assert_eq!(place.run(&["upstream", "list", "-o", "json"]).json(), row);
}

#[test]
fn json_holds_nothing_that_steers_a_terminal_and_says_the_same() {
    let place = Place::new();
    let row = json!({ "servers": [{
        "name": "x", "state": "Error", "last_error": "\u{9b}2J\u{202e}\u{e0041}ü",
    }] });
    let _daemon = Playback::answering(&place, 200, &row.to_string());
    for listed in ["list", "ls"] {
        let ran = place.run(&["upstream", listed, "-o", "json"]).ended(0);
        assert_eq!(ran.json(), row);
        let is_plain = |c: char| c == '\n' || c == 'ü' || c == ' ' || c.is_ascii_graphic();
        assert!(ran.stdout.chars().all(is_plain), "{}", ran.stdout);
    }
}

#[test]
fn failures_are_told_to_programs_on_stdout_too() {
    let place = Place::new();
    let none = place.run(&["status", "-o", "json"]).ended(3);
    let told = none.json();
    assert_eq!(told["exit_code"], 3);
    assert!(
        told["error"]
            .as_str()
            .expect("text")
            .contains("not running")
    );
    assert!(told["hint"].as_str().expect("text").contains("serve"));
    none.says(&["error: the daemon is not running"]);
    let wrong = place.run(&["-o", "json", "upstream", "nonsense"]).ended(2);
    assert_eq!(wrong.json()["exit_code"], 2);
    let body = json!({ "error": "no", "code": "access_denied", "hint": "do this" }).to_string();
    let _daemon = Playback::answering(&place, 403, &body);
    for command in [
        &["call", "read", "a:b"][..],
        &["tools", "list"],
        &["upstream", "show", "a"],
        &["upstream", "add", "a", "--", "x"],
    ] {
        let told = place
            .run(&[&["-o", "json"], command].concat())
            .ended(4)
            .json();
        let expected =
            json!({ "error": "no", "code": "access_denied", "hint": "do this", "exit_code": 4 });
        assert_eq!(told, expected, "{command:?}");
    }
    for command in [
        &["upstream", "enable", "a", "b"][..],
        &["upstream", "restart", "a"],
    ] {
        let told = place
            .run(&[&["-o", "json"], command].concat())
            .ended(4)
            .json();
        let first =
            json!({ "name": "a", "error": "no", "code": "access_denied", "hint": "do this" });
        assert_eq!(told["changes"][0], first, "{command:?}");
    }
}

#[test]
fn quiet_says_nothing_beside_data_and_errors() {
    let place = Place::new();
    let ran = place.run(&["upstream", "list", "-q"]).ended(0);
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("", ""));
    place.run(&["-q", "status"]).ended(3).says(&["error: "]);
    place
        .run(&["upstream", "list", "--verbose"])
        .ended(0)
        .says(&["nothing answers on"]);
}

#[test]
fn the_versions_of_program_and_daemon_are_printed() {
    let place = Place::new();
    let ours = env!("CARGO_PKG_VERSION");
    place.run(&["version"]).ended(0).shows(&[
        ours,
        "commit ",
        "2024-11-05, ",
        ", 2026-07-28",
        "not running",
    ]);
    let _daemon = Playback::of_version("99.0.0", &place, 200, "{}");
    let told = place.run(&["version", "-o", "json"]).ended(0).json();
    assert_eq!(told["version"], ours);
    assert_eq!(told["daemon"], "99.0.0");
    assert_eq!(told["revisions"][0], "2024-11-05");
    assert!(told.get("commit").is_some(), "{told}");
}

#[test]
fn a_server_is_added_with_what_was_given_and_nothing_else() {
    for (arguments, body) in [
        (
            &["time", "--", "uvx", "mcp-server-time", "--x"][..],
            json!({
                "name": "time", "command": "uvx", "args": ["mcp-server-time", "--x"],
            }),
        ),
        (
            &[
                "a",
                "--env",
                "A=b=c",
                "--env",
                "B=${B}",
                "--cwd",
                "/tmp",
                "--quarantined",
                "--disabled",
                "--type",
                "stdio",
                "--",
                "x",
            ],
            json!({
                "name": "a", "type": "stdio", "command": "x", "env": { "A": "b=c", "B": "${B}" }, "cwd": "/tmp",
                "quarantined": true, "enabled": false,
            }),
        ),
        (
            &[
                "docs",
                "--url",
                "https://example.com/mcp",
                "--header",
                "X-Key: a:b",
                "--type",
                "http",
            ],
            json!({
                "name": "docs", "type": "http", "url": "https://example.com/mcp", "headers": { "X-Key": "a:b" },
            }),
        ),
    ] {
        let place = Place::new();
        let daemon = Playback::answering(
            &place,
            200,
            r#"{"server":{"name":"x","state":"Connecting"}}"#,
        );
        let mut command = vec!["upstream", "add"];
        command.extend(arguments);
        let ran = place
            .run(&command)
            .ended(0)
            .says(&["added", "still connecting"]);
        assert!(ran.stdout.is_empty());
        assert_eq!(daemon.asked_first(), format!("POST /api/v1/servers {body}"));
        let waited = format!("GET /api/v1/servers/{}?wait=10 ", arguments[0]);
        assert_eq!(daemon.asked(), waited);
    }
}

#[test]
fn a_command_and_a_folder_relative_to_here_are_made_absolute() {
    let place = Place::new();
    let answer = r#"{"server":{"name":"a","state":"Connecting"}}"#;
    let daemon = Playback::answering(&place, 200, answer);
    place
        .run(&[
            "upstream",
            "add",
            "a",
            "--cwd",
            "sub",
            "--",
            "./server.py",
            "./data",
        ])
        .ended(0);
    let here = place.folder().canonicalize().expect("it exists");
    let asked = daemon.asked_first();
    let body: Value =
        serde_json::from_str(asked.split_once("servers ").expect("a body").1).expect("JSON");
    assert_eq!(
        body["command"],
        here.join("server.py").to_str().expect("text")
    );
    assert_eq!(body["cwd"], here.join("sub").to_str().expect("text"));
    assert_eq!(body["args"], json!(["./data"]));
}

#[test]
fn a_server_is_changed_through_the_daemon() {
    for (verb, asked) in [
        ("remove", "DELETE /api/v1/servers/a%20b "),
        ("enable", "POST /api/v1/servers/a%20b/enable "),
        ("disable", "POST /api/v1/servers/a%20b/disable "),
        ("restart", "POST /api/v1/servers/a%20b/restart "),
    ] {
        let place = Place::new();
        let answer = r#"{"server":{"name":"a b","state":"Ready"},"changed":["enabled"]}"#;
        let daemon = Playback::answering(&place, 200, answer);
        let ran = place
            .run(&["upstream", verb, "a b"])
            .ended(0)
            .says(&[verb.trim_end_matches('e'), "a b"]);
        assert!(ran.stdout.is_empty());
        assert_eq!(daemon.asked_first(), asked);
    }
}

#[test]
fn a_restart_that_ends_in_an_error_fails_with_it() {
    let place = Place::new();
    let answer = r#"{"server":{"name":"a","state":"Error","last_error":"no such file","next_step":"check the command"}}"#;
    let _daemon = Playback::answering(&place, 200, answer);
    place
        .run(&["upstream", "restart", "a"])
        .ended(1)
        .says(&["\"a\": no such file", "check the command"]);
    let told = place.run(&["upstream", "restart", "a", "-o", "json"]);
    assert_eq!(
        told.ended(1).json()["changes"][0]["code"],
        "server_unavailable"
    );
}

#[test]
fn refusals_say_what_the_daemon_said_and_end_with_the_code_of_their_kind() {
    for (status, code, exit) in [
        (404, "unknown_server", 1),
        (403, "server_quarantined", 4),
        (403, "access_denied", 4),
        (400, "invalid_arguments", 2),
        (500, "a_code_of_tomorrow", 1),
    ] {
        let place = Place::new();
        let body = json!({ "error": "it is so", "code": code, "hint": "do this" }).to_string();
        let _daemon = Playback::answering(&place, status, &body);
        let ran = place.run(&["call", "write", "a:b"]).ended(exit);
        assert!(ran.stdout.is_empty());
        ran.says(&["error: it is so", "next step: do this"]);
    }
    let place = Place::new();
    let _daemon = Playback::answering(&place, 503, "<html>");
    place
        .run(&["tools", "list"])
        .ended(1)
        .says(&["HTTP status 503"]);
}

#[test]
fn log_lines_are_shown_as_they_are() {
    let place = Place::new();
    let daemon = Playback::answering(&place, 200, r#"{"lines":["one","  two"]}"#);
    assert_eq!(
        place
            .run(&["upstream", "logs", "a", "-n", "2"])
            .ended(0)
            .stdout,
        "one\n  two\n"
    );
    assert_eq!(daemon.asked(), "GET /api/v1/servers/a/logs?lines=2 ");
}

#[test]
fn tools_are_listed_with_what_they_are_called_with() {
    let place = Place::new();
    let daemon = Playback::answering(&place, 200, &json!({ "tools": [
        { "name": "a:read", "call_with": "read", "callable": true, "description": "Reads.\nMore." },
        { "name": "a:wipe", "call_with": "destructive", "callable": false, "reason": "switched off" },
        { "name": "a:odd", "callable": true, "reason": null },
    ], "total": 3 }).to_string());
    let ran = place.run(&["tools", "list", "--server", "a"]).ended(0);
    assert_eq!(daemon.asked(), "GET /api/v1/tools?server=a ");
    let lines: Vec<Vec<&str>> = ran
        .stdout
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(
        lines,
        [
            &["NAME", "CALL", "WITH", "CALLABLE", "DESCRIPTION"][..],
            &["a:read", "read", "yes", "Reads."],
            &["a:wipe", "destructive", "no:", "switched", "off"],
            &["a:odd", "-", "yes"],
        ]
    );
}

#[test]
fn a_tool_is_shown_as_its_server_defined_it() {
    let place = Place::new();
    let daemon = Playback::answering(
        &place,
        200,
        r#"{"name":"a:b","callable":false,"reason":"held","definition":{"name":"b","x":1.10,"n":123456789012345678901}}"#,
    );
    let ran = place
        .run(&["tools", "show", "a:b"])
        .ended(0)
        .says(&["a:b cannot be called: held"]);
    assert_eq!(
        ran.stdout,
        "{\n  \"name\": \"b\",\n  \"x\": 1.10,\n  \"n\": 123456789012345678901\n}\n"
    );
    assert_eq!(daemon.asked(), "GET /api/v1/tools/show?name=a%3Ab ");
}

#[test]
fn a_search_shows_the_daemons_ranking() {
    let place = Place::new();
    let found = json!({ "tools": [
        { "name": "a:read", "server": "a", "description": "Reads.\nMore.", "score": 0.875, "call_with": "call_tool_read", "inputSchema": {} },
        { "name": "b:wipe", "server": "b", "description": "", "score": 0.1, "call_with": "call_tool_destructive", "signature": "wipe()" },
    ], "query": "read it", "total": 7, "notice": "Discovery is still running." });
    let daemon = Playback::answering(&place, 200, &found.to_string());
    let ran = place
        .run(&["tools", "search", "read", "it"])
        .ended(0)
        .says(&[
            "Discovery is still running.",
            "2 of 7 tools",
            "no more than `tools_limit`",
        ]);
    assert_eq!(daemon.asked(), "GET /api/v1/tools?q=read%20it&match=any ");
    let lines: Vec<Vec<&str>> = ran
        .stdout
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(
        lines,
        [
            &["SCORE", "NAME", "CALL", "WITH", "DESCRIPTION"][..],
            &["0.88", "a:read", "read", "Reads."],
            &["0.10", "b:wipe", "destructive"],
        ]
    );
    let all = [
        "tools", "search", "x", "--server", "a b", "--limit", "3", "--match", "all", "-o", "json",
    ];
    assert_eq!(place.run(&all).ended(0).json(), found);
    assert_eq!(
        daemon.asked(),
        "GET /api/v1/tools?q=x&match=all&server=a%20b&limit=3 "
    );
}
