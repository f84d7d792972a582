//! `config check` finds what a start would, and commands find their daemon whatever became of the file.

use std::process::Command;

use serde_json::json;

use super::{Place, serving::Serving};
use crate::support::patience::until;

#[test]
fn an_address_that_serve_refuses_fails_the_check() {
    let place = Place::configured(r#"{ "listen": "0.0.0.0:0" }"#);
    let checked = place
        .run(&["config", "check"])
        .ended(1)
        .says(&["`listen`: 0.0.0.0:0", "--insecure"])
        .shows(&["fault"]);
    assert!(!checked.stderr.contains("is sound"));
    place
        .run(&["serve"])
        .ended(1)
        .says(&["0.0.0.0:0", "--insecure"]);
    place.run(&["config", "check", "--insecure"]).ended(0);
}

#[test]
fn a_file_that_was_named_and_is_not_there_fails_the_check() {
    let place = Place::new();
    place.run(&["config", "check"]).ended(1).says(&[
        "there is no file",
        "mcp_config.json",
        "--config",
    ]);
    // Where nobody named one, having none is fine.
    let ran = Command::new(env!("CARGO_BIN_EXE_mcpproxy"))
        .env_clear()
        .env("HOME", place.folder())
        .args(["config", "check"])
        .output()
        .expect("the program runs");
    assert_eq!(ran.status.code(), Some(0), "{ran:?}");
}

#[test]
fn every_wrong_key_of_the_top_level_is_named_at_once() {
    let place = Place::configured(
        "{\"listen\": 5, \"tools_limit\": \"a\",\n \"top_k\": -1, \"routing_mode\": \"foo\", \"management\": \"x\",\n \"activity\": {\"max_age\": 1}}",
    );
    for command in [&["config", "check"][..], &["serve"]] {
        let ran = place.run(command).ended(1);
        let said = format!("{}{}", ran.stdout, ran.stderr);
        for key in [
            "listen",
            "tools_limit",
            "top_k",
            "routing_mode",
            "management",
            "activity.max_age",
        ] {
            let found = said.matches(&format!("`{key}`")).count();
            assert_eq!(found, 1, "{key}: {said}");
        }
        assert!(said.contains("line 2, column"), "{said}");
    }
}

#[tokio::test]
async fn an_empty_file_is_pointed_out_and_a_daemon_that_refuses_it_is_asked() {
    let place = Place::configured(r#"{ "mcpServers": {} }"#);
    let _daemon = Serving::start(&place);
    place.run(&["config", "check"]).ended(0).says(&["is sound"]);
    std::fs::write(place.config_file(), r#"{ "mcpServer": {} }"#).expect("ours");
    place
        .run(&["config", "check"])
        .ended(0)
        .says(&["is usable, with 1 warning"]);
    std::fs::write(place.config_file(), "").expect("ours");
    let checked = until("the daemon to refuse the file", || {
        let checked = place.run(&["config", "check"]);
        (checked.code == 1).then_some(checked)
    });
    checked
        .await
        .shows(&["the file is empty"])
        .says(&["does not take the file as it stands", "gone or empty"]);
}

#[tokio::test]
async fn servers_under_a_misspelt_key_stay_and_nothing_is_written_beside_them() {
    let sound = r#"{ "mcpServers": { "kept": { "command": "cat", "enabled": false } } }"#;
    let place = Place::configured(sound);
    let _daemon = Serving::start(&place);
    let misspelt = sound.replace("mcpServers", "mcpServer");
    std::fs::write(place.config_file(), &misspelt).expect("ours");
    place.run(&["config", "check"]).ended(1).says(&[
        "line 1, column 3: `mcpServer` is unknown",
        "there is no `mcpServers`: did you mean that?",
    ]);
    let listed = until("the daemon to refuse the file", || {
        let listed = place.run(&["upstream", "list"]);
        listed.stderr.contains("is not in force").then_some(listed)
    });
    listed
        .await
        .ended(0)
        .says(&["`mcpServer` is unknown"])
        .shows(&["kept"]);
    let added = place.run(&["upstream", "add", "new", "--", "cat"]);
    assert_ne!(added.code, 0, "{}", added.stdout);
    added.says(&["`mcpServer` is unknown"]);
    assert_eq!(place.written(), misspelt);
}

#[test]
fn secrets_that_any_user_can_read_in_the_list_of_processes_are_named() {
    let place = Place::configured(
        r#"{ "keyring": "file", "mcpServers": {
            "a": { "command": "x", "args": ["--token", "${SOME_WORD:-x}", "${keyring:a-key}", "${GITHUB_TOKEN:-y}", "--api-key=${PLAIN}"], "enabled": false },
            "b": { "command": "x", "args": ["--api-key", "s3cret-value"] },
            "c": { "command": "x", "args": ["${HOME}", "--verbose"], "env": { "TOKEN": "${keyring:c}" }, "enabled": false } } }"#,
    );
    let ran = place.run(&["config", "check", "-o", "json"]).ended(0);
    let report = ran.json();
    let warnings: Vec<&str> = report["warnings"]
        .as_array()
        .expect("warnings")
        .iter()
        .filter_map(|warning| warning.as_str())
        .collect();
    let [of_a, of_b] = &warnings[..] else {
        panic!("{warnings:?}");
    };
    for part in [
        "server \"a\": `args`",
        "${SOME_WORD",
        "${keyring:a-key}",
        "${GITHUB_TOKEN",
        "${PLAIN}",
        "list of its processes",
        "`env`",
    ] {
        assert!(of_a.contains(part), "{part}: {of_a}");
    }
    assert!(
        of_b.contains("server \"b\": `args` have a secret in them"),
        "{of_b}"
    );
    assert!(!report.to_string().contains("s3cret"), "{report}");
    place
        .run(&["doctor"])
        .shows(&["`args` have a secret in them"]);
}

#[test]
fn keys_of_other_programs_and_typos_are_named_with_what_was_meant() {
    let place = Place::configured(
        r#"{ "mcpServers": { "a": { "comand": "x", "argz": [] }, "b": { "command": "x", "timeout": 5 }, "B": { "command": "x" } } }"#,
    );
    place.run(&["config", "check"]).ended(1).shows(&[
        "`comand` is unknown, did you mean `command`?",
        "`argz` is unknown, did you mean `args`?",
        "`timeout` is unknown and ignored; did you mean `call_tool_timeout`?",
        "its name is taken: the entry \"b\" stands before it",
    ]);
}

#[test]
fn everything_that_is_wrong_with_an_entry_is_named_at_once() {
    for (entry, faults) in [
        (
            r#"{ "args": 7, "env": { "A": "${NOT_SET_A}", "B": "${NOT_SET_B}", "C": [] }, "start": "soon", "comand": "x" }"#,
            &[
                "`command` is missing, and so is `url`",
                "`args`",
                "NOT_SET_A",
                "NOT_SET_B",
                "`env.C` must be a string",
                "`start` is \"soon\"",
                "`comand` is unknown",
            ][..],
        ),
        (
            r#"{ "command": "x", "url": "http://x", "roots": ["a"], "init_timeout": "1ms", "quarantined": 1 }"#,
            &[
                "`url` stands beside `command`",
                "`roots[0]`",
                "`init_timeout`",
                "`quarantined`",
            ],
        ),
        (
            r#"{ "url": "gopher://x", "headers": { "a b": "x" }, "type": "pigeon" }"#,
            &[
                "`url` must begin with",
                "`headers.a b`",
                "`type` is \"pigeon\"",
            ],
        ),
        (
            r#"{ "type": "http", "tool_acl": { "read": 1 } }"#,
            &["`url` is missing", "`tool_acl.read`"],
        ),
    ] {
        let place = Place::configured(&format!(r#"{{ "mcpServers": {{ "a": {entry} }} }}"#));
        let checked = place.run(&["config", "check"]).ended(1).shows(faults);
        let rows = checked
            .stdout
            .lines()
            .filter(|line| line.contains("broken server"));
        assert_eq!(rows.count(), 1, "{}", checked.stdout);
    }
}

#[test]
fn a_name_that_stands_twice_is_not_removed() {
    let file = r#"{ "mcpServers": [{ "name": "a", "command": "x" }, { "name": "a", "command": "y" }, { "name": "b", "command": "z" }] }"#;
    let place = Place::configured(file);
    place.run(&["upstream", "rm", "a"]).ended(2).says(&[
        "2 entries of the configuration are named \"a\"",
        "nothing was removed",
    ]);
    assert_eq!(place.written(), file);
    place.run(&["upstream", "rm", "b"]).ended(0);
    assert!(!place.written().contains("\"z\""));
}

/// The program without `--data-dir`, so that the file decides.
fn by_file(place: &Place, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mcpproxy"));
    command
        .env_clear()
        .env("HOME", place.folder())
        .arg("--config")
        .arg(place.config_file())
        .args(arguments);
    command
}

#[test]
fn a_daemon_is_found_whatever_the_file_says_of_its_data_folder_now() {
    let place = Place::configured(r#"{ "data_dir": "one" }"#);
    let _daemon = Serving::start_as(by_file(&place, &["serve", "--port", "0"]));
    let moved = "is not the one that the configuration names now";
    let broken = "cannot be read as it stands; the daemon that runs uses the data folder";
    for (text, says) in [
        (r#"{ "data_dir": "two" }"#, moved),
        (r#"{ "data_dir": "one", "#, broken),
        (r#"{ "data_dir": "one", "mcpServers": 7 }"#, broken),
        ("{}", moved),
    ] {
        std::fs::write(place.config_file(), text).expect("ours");
        let ran = by_file(&place, &["status", "-o", "json"])
            .output()
            .expect("runs");
        assert_eq!(ran.status.code(), Some(0), "{text}: {ran:?}");
        let status: serde_json::Value = serde_json::from_slice(&ran.stdout).expect("JSON");
        let folder = place.folder().join("one");
        assert_eq!(status["data_dir"], json!(folder), "{text}");
        let said = String::from_utf8_lossy(&ran.stderr);
        assert!(said.contains(says), "{text}: {said}");
    }
}

#[test]
fn another_data_folder_in_the_file_waits_for_a_restart_and_the_check_says_so() {
    let place = Place::configured(r#"{ "data_dir": "one", "mcpServers": {} }"#);
    let _daemon = Serving::start_as(by_file(&place, &["serve", "--port", "0"]));
    let check = || {
        let ran = by_file(&place, &["config", "check", "-o", "json"]).output();
        let ran = ran.expect("runs");
        assert_eq!(ran.status.code(), Some(0), "{ran:?}");
        let report: serde_json::Value = serde_json::from_slice(&ran.stdout).expect("JSON");
        report["warnings"].clone()
    };
    assert_eq!(check(), json!([]));
    std::fs::write(
        place.config_file(),
        r#"{ "data_dir": "two", "mcpServers": {} }"#,
    )
    .expect("ours");
    let [one, two] = ["one", "two"].map(|name| place.folder().join(name));
    // At once, whether or not the daemon has read the file again.
    let expected = format!(
        "`data_dir` is {} now, and the daemon that runs uses {}; the new value counts after a restart of the daemon",
        two.display(),
        one.display()
    );
    assert_eq!(check(), json!([expected]));
}

#[test]
fn a_variable_that_only_this_command_lacks_is_no_error() {
    let file = r#"{ "mcpServers": { "r": { "command": "/bin/cat", "env": { "A": "${ONLYDAEMON}" } }, "s": { "command": "x" } } }"#;
    let place = Place::configured(file);
    place
        .run(&["config", "check"])
        .ended(1)
        .shows(&["broken server", "ONLYDAEMON, which is not set"]);
    let mut command = place.command();
    command.env("ONLYDAEMON", "a-value");
    command.args(["serve", "--http", "127.0.0.1:0"]);
    let _daemon = Serving::start_as(command);
    let checked = place.run(&["config", "check"]).ended(0).shows(&[
        "warning",
        "ONLYDAEMON, which is not set for this command; the daemon that runs has it",
    ]);
    checked.says(&["usable, with 1 warning; it has 2 servers"]);
    let report = place.run(&["doctor", "-o", "json"]).json();
    let findings = report["findings"].as_array().expect("findings").iter();
    let about = findings.filter(|finding| finding.to_string().contains("ONLYDAEMON"));
    let severities: Vec<_> = about.map(|finding| &finding["severity"]).collect();
    assert_eq!(severities, ["warn"], "{report:#}");
    // What the daemon lacks, too, stays an error.
    let file = file.replace("${ONLYDAEMON}", "${NOBODY_HAS_IT}");
    std::fs::write(place.config_file(), file).expect("ours");
    place
        .run(&["upstream", "restart", "r"])
        .does_not_say(&["restarted"]);
    place.run(&["config", "check"]).ended(1);
}

/// What a team has: tokens that only the daemon knows.
const TOKENS: &str = r#"{ "listen": "127.0.0.1:0", "mcpServers": { "time": { "command": "/bin/cat", "enabled": false } }, "serverAuth": { "provider": "bearer", "bearer": { "tokens": { "${ADA_TOKEN}": "ada", "${BEN_TOKEN}": "ben" } }, "acl": { "default": "deny" } } }"#;

#[test]
fn tokens_that_only_the_daemon_has_keep_no_command_from_its_work() {
    let place = Place::configured(TOKENS);
    let step = "the file itself is right: set ADA_TOKEN, BEN_TOKEN where the daemon runs";
    place
        .run(&["config", "check"])
        .ended(1)
        .says(&[step])
        .does_not_say(&["correct the file"]);
    let mut command = place.command();
    command
        .env("ADA_TOKEN", "a-token-of-ada-that-is-long-enough")
        .env("BEN_TOKEN", "a-token-of-ben-that-is-long-enough")
        .arg("serve");
    let _daemon = Serving::start_as(command);
    place
        .run(&["config", "check"])
        .ended(0)
        .shows(&[
            "refers to ADA_TOKEN, BEN_TOKEN",
            "the daemon that runs has it",
        ])
        .says(&["is usable, with"]);
    let doctor = place.run(&["doctor", "-o", "json"]).json();
    let mut findings = doctor["findings"].as_array().expect("findings").iter();
    let wrong =
        findings.find(|found| found["check"] == "configuration" && found["severity"] == "fail");
    assert_eq!(wrong, None, "{doctor:#}");
    // The daemon knows who may have what.
    place
        .run(&["access", "check", "ben", "time:convert_time"])
        .ended(4)
        .shows(&["denied", "serverAuth.acl.default"]);
    // And whoever is connected has to show a token.
    place
        .run(&["connect", "cursor"])
        .ended(0)
        .says(&["set MCPPROXY_TOKEN in the environment of Cursor"]);
    let cursor = std::fs::read_to_string(place.folder().join(".cursor/mcp.json"));
    let cursor = cursor.expect("it was written");
    assert!(cursor.contains("Bearer ${env:MCPPROXY_TOKEN}"), "{cursor}");
}

#[test]
fn nobody_is_connected_by_a_file_of_which_it_is_not_known_whether_it_asks_for_tokens() {
    let place = Place::configured(r#"{ "serverAuth": "#);
    place
        .run(&["connect", "cursor"])
        .ended(1)
        .says(&["config check"]);
    assert!(!place.folder().join(".cursor").exists());
}

#[test]
fn a_daemon_of_another_file_is_left_alone() {
    let place = Place::configured(r#"{ "mcpServers": {} }"#);
    let _daemon = Serving::start_as(by_file(&place, &["serve", "--port", "0"]));
    let (served, other) = (place.config_file(), place.folder().join("other.json"));
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mcpproxy"));
        let command = command.env_clear().env("HOME", place.folder());
        let ran = command.arg("--config").arg(&other).args(arguments).output();
        ran.expect("runs")
    };
    let add = ["upstream", "add", "new", "--url", "http://127.0.0.1:9/mcp"];
    std::fs::write(&other, r#"{ "mcpServers": {"#).expect("ours");
    let ran = run(&add);
    assert_eq!(ran.status.code(), Some(1), "{ran:?}");
    std::fs::write(&other, r#"{ "mcpServers": {} }"#).expect("ours");
    let ran = run(&add);
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(
        ran.status.success() && said.contains("no daemon of"),
        "{ran:?}"
    );
    for stop in [&["stop"][..], &["upstream", "restart", "new"]] {
        assert_eq!(run(stop).status.code(), Some(3), "{stop:?}");
    }
    let read = |file| std::fs::read_to_string(file).expect("a file");
    assert!(read(&other).contains("127.0.0.1:9"));
    assert!(!read(&served).contains("127.0.0.1:9"));
    let ran = by_file(&place, &["status"]).output().expect("runs");
    assert!(ran.status.success(), "{ran:?}");
}

#[test]
fn a_server_behind_itself_is_found_and_refused_without_a_daemon() {
    let never_ends = "a server behind itself would never end";
    let place = Place::configured(
        r#"{ "listen": "127.0.0.1:18080", "mcpServers": {
            "self": { "url": "http://localhost:18080/mcp" }, "other": { "url": "http://localhost:18081/mcp" } } }"#,
    );
    for command in [&["config", "check"][..], &["doctor", "--no-start"]] {
        let ran = place.run(command).ended(1);
        let said = format!("{}{}", ran.stdout, ran.stderr);
        assert_eq!(said.matches(never_ends).count(), 1, "{said}");
    }
    let file = place.config_file();
    let file = file.to_str().expect("text");
    let before = place.written();
    for target in [
        &["--url", "http://127.0.0.1:18080/mcp/all"][..],
        &["--", "mcpproxy", "--config", file, "stdio"],
    ] {
        let add = ["upstream", "add", "again"];
        place
            .run(&[&add[..], target].concat())
            .ended(2)
            .says(&[never_ends]);
    }
    assert_eq!(place.written(), before);
    // Its configuration is the usual one, which is not ours here.
    place
        .run(&["upstream", "add", "usual", "--", "mcpproxy", "stdio"])
        .ended(0);
}
