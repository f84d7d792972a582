//! What the top level means, and what is said and shown about all of it.

use std::{path::Path, time::Duration};

use super::{fault, printed, read, server, try_read};
use crate::config::{
    AgentManagement, Inherit, RoutingMode, Settings, Surroundings, Transport, parse,
};

#[test]
fn an_empty_text_means_the_defaults() {
    for text in [
        "",
        "// nothing",
        "{}",
        "{\"mcpServers\": null, \"listen\": null}",
    ] {
        assert_eq!(read(text), Settings::default(), "{text}");
    }
}

#[test]
fn every_key_of_the_top_level_is_read() {
    let settings = read(
        r#"{
            "listen": ":${PORT}", "data_dir": "~/data", "routing_mode": "direct", "tools_limit": 30,
            "top_k": 0, "legacy_call_tool": true, "management": "read",
            "tool_discovery_interval": "0s", "idle_check_interval": 10,
            "health_check_interval": "1m30s", "api_key": "${TOKEN}", "session_key": "kqD2v0N8xYb1Rz7cTj5mWf9aLg3hPe6s",
            "trusted_hosts": ["h"], "trusted_origins": ["https://o"],
            "intent_declaration": {"strict_server_validation": false},
            "environment": {"inherit": ["AWS_*"], "set": {"A": "${TOKEN}"}},
        }"#,
    );
    assert_eq!(settings.warnings, []);
    assert_eq!(settings.listen.to_string(), "localhost:9999");
    assert_eq!(
        settings.data_dir.as_deref(),
        Some(Path::new("/home/me/data"))
    );
    assert_eq!(settings.routing_mode, RoutingMode::Direct);
    assert_eq!((settings.tools_limit, settings.top_k), (30, 0));
    assert!(settings.legacy_call_tool && !settings.strict_server_validation);
    assert_eq!(settings.management, AgentManagement::Read);
    assert_eq!(settings.tool_discovery_interval, None);
    assert_eq!(settings.idle_check_interval, Duration::from_secs(10));
    assert_eq!(settings.health_check_interval, Duration::from_secs(90));
    assert_eq!(settings.api_key.expect("a key").reveal(), "s3cret-value");
    let key = settings.session_key.expect("a key");
    assert_eq!(key.reveal(), "kqD2v0N8xYb1Rz7cTj5mWf9aLg3hPe6s");
    assert_eq!(settings.trusted_hosts, ["h"]);
    assert_eq!(settings.trusted_origins, ["https://o"]);
    assert!(settings.environment.inherits("AWS_REGION"));
    assert_eq!(settings.environment.set["A"].reveal(), "s3cret-value");
    let all = read(r#"{"environment": {"inherit": "all"}}"#);
    assert_eq!(all.environment.inherit, Inherit::All);
}

#[test]
fn an_api_key_that_can_be_guessed_does_not_count() {
    let settings = read(r#"{"api_key": "short-key"}"#);
    assert_eq!(settings.api_key, None);
    let [warning] = &settings.warnings[..] else {
        panic!("{:?}", settings.warnings);
    };
    let text = &warning.text;
    assert!(text.starts_with("`api_key` is ignored") && !text.contains("short-key"));
    assert_eq!(read(r#"{"api_key": ""}"#), Settings::default());
    let empty = r#"{"api_key": "${NOPE:-}", "data_dir": "${EMPTY}", "listen": "${EMPTY}"}"#;
    assert_eq!(read(empty), Settings::default());
}

#[test]
fn a_bad_value_at_the_top_level_names_the_key_and_what_is_accepted() {
    let check = |text: &str, expected: &str| {
        let error = try_read(text).expect_err(text).to_string();
        assert!(error.contains(expected), "{error}");
    };
    check(
        r#"{"routing_mode": "fast"}"#,
        "`routing_mode` must be one of \"retrieve_tools\", \"direct\"",
    );
    check(
        r#"{"listen": "nowhere"}"#,
        "`listen` is wrong: \"nowhere\" is not an address",
    );
    check(r#"{"listen": 8080}"#, "`listen` must be a string");
    check(
        r#"{"tools_limit": 0}"#,
        "`tools_limit` must be a whole number from 1",
    );
    check(
        r#"{"tools_limit": 1.5}"#,
        "`tools_limit` must be a whole number",
    );
    check(
        r#"{"idle_check_interval": "soon"}"#,
        "`idle_check_interval` must be a duration such as",
    );
    check(
        r#"{"idle_check_interval": "0s"}"#,
        "`idle_check_interval` must be at least 100ms",
    );
    check(
        r#"{"management": "none"}"#,
        "must be one of \"full\", \"read\", \"off\"",
    );
    check(
        r#"{"legacy_call_tool": "yes"}"#,
        "`legacy_call_tool` must be true or false",
    );
    check(
        r#"{"trusted_hosts": "h"}"#,
        "`trusted_hosts` must be a list",
    );
    check(
        r#"{"environment": {"set": {"A=B": "x"}}}"#,
        "`environment.set.A=B` cannot be",
    );
    for key in [
        "k",
        "0123456789abcdef0123456789abcde",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    ] {
        let text = format!(r#"{{"session_key": "{key}"}}"#);
        check(&text, "`session_key` needs at least 32 characters");
    }
    check(
        r#"{"code_execution_timeout_ms": 0}"#,
        "`code_execution_timeout_ms` must be a whole number from 1 to 600000",
    );
    check(
        r#"{"enable_code_execution": "yes"}"#,
        "`enable_code_execution`",
    );
    check(
        r#"{"tool_response_limit": -1}"#,
        "`tool_response_limit` must be a whole number from 0 to 100000000",
    );
    check(
        r#"{"data_dir": "${NOPE}"}"#,
        "`data_dir` needs the variable NOPE",
    );
    check("{\n\"a\": }", "line 2, column 6");
}

#[test]
fn unknown_keys_are_reported_and_never_fatal() {
    let settings = read(
        r#"{"listne": ":1", "activity": {"max_ag": 1}, "enable_code_execution": true,
            "tool_response_limit": 0, "servers": {}, "top_k": 1, "top_k": 2,
            "tool_response_limit": 0, "tool_response_limit": 0,
            "mcpServers": {"s": {"command": "x", "comand": "y"}}}"#,
    );
    assert_eq!(
        printed(&settings.warnings),
        [
            "`top_k` appears twice; the last one, in line 2, counts",
            "`tool_response_limit` appears 3 times; the last one, in line 3, counts",
            "`listne` is unknown and ignored; did you mean `listen`?",
            "`activity.max_ag` is unknown and ignored; did you mean `max_age`?",
            "`servers` is unknown and ignored; did you mean `mcpServers`?",
            "server \"s\": `comand` is unknown and ignored; did you mean `command`?",
        ]
    );
    assert_eq!(settings.top_k, 2);
}

#[test]
fn a_note_in_what_guards_something_is_reported_and_a_near_miss_is_fatal() {
    let settings = read(
        r#"{"environment": {"note": 1}, "rate_limit": {"per_caller": 1, "note": 1}, "docker_isolation": {"note": 1},
            "profiles": {"p": {"servers": ["s"], "note": 1}},
            "mcpServers": {"s": {"command": "x", "tool_acl": {"note": 1}, "isolation": {"note": 1, "enabled": false}}}}"#,
    );
    let ignored = |place: &str| format!("`{place}.note` is unknown and ignored");
    let of_entry = |place: &str| format!("server \"s\": {}", ignored(place));
    let expected = [
        ignored("environment"),
        ignored("rate_limit"),
        ignored("docker_isolation"),
        ignored("profiles.p"),
        of_entry("tool_acl"),
        of_entry("isolation"),
    ];
    assert_eq!(printed(&settings.warnings), expected);
    assert!(settings.servers.contains_key("s"));
    let text = r#"{"profiles": {"p": {"server": ["s"]}}}"#;
    let near = try_read(text).expect_err(text).to_string();
    let expected = "`profiles.p.server` is unknown; did you mean `servers`?";
    assert!(near.contains(expected), "{near}");
}

#[test]
fn too_small_a_limit_of_results_is_raised() {
    let limit = |written: usize| {
        let settings = read(&format!(r#"{{"tool_response_limit": {written}}}"#));
        (settings.tool_response_limit, settings.warnings.len())
    };
    assert_eq!(read("{}").tool_response_limit, 0);
    assert_eq!(limit(0), (0, 0));
    assert_eq!(limit(999), (1000, 1));
    assert_eq!(limit(1000), (1000, 0));
    assert_eq!(limit(20_000), (20_000, 0));
}

#[test]
fn restrictions_of_the_go_program_hold() {
    let management = |text| read(text).management;
    assert_eq!(
        management(r#"{"read_only_mode": true}"#),
        AgentManagement::Read
    );
    assert_eq!(
        management(r#"{"disable_management": true, "management": "full"}"#),
        AgentManagement::Off
    );
    assert_eq!(
        management(r#"{"read_only_mode": true, "management": "off"}"#),
        AgentManagement::Off
    );
}

#[test]
fn mcp_timeout_counts_seconds_up_to_ten_minutes() {
    let check = |written: &str, expected: u64, warnings: usize| {
        let lookup = |name: &str| (name == "MCP_TIMEOUT").then(|| written.to_owned());
        let surroundings = Surroundings {
            lookup: &lookup,
            folder: Path::new("/"),
        };
        let text = r#"{"mcpServers": {"s": {"command": "npx"}, "t": {"command": "x", "init_timeout": 5}}}"#;
        let settings = parse(text, &surroundings).expect("a good configuration");
        assert_eq!(
            settings.servers["s"].init_timeout.as_secs(),
            expected,
            "{written}"
        );
        assert_eq!(settings.servers["t"].init_timeout.as_secs(), 5);
        assert_eq!(settings.warnings.len(), warnings, "{written}");
    };
    check("90", 90, 0);
    check("600", 600, 0);
    check("", 60, 0);
    check("601", 60, 1);
    check("30000", 60, 1);
    check("0", 60, 1);
    check("1m", 60, 1);
}

#[test]
fn secrets_are_redacted_wherever_an_entry_is_shown() {
    for entry in [
        r#"{"command": "run-${TOKEN}", "args": ["--x=${TOKEN}", "--api-key", "s3cret-value"], "env": {"A": "s3cret-value"}}"#,
        r#"{"url": "http://u:s3cret-value@h/${TOKEN}?key=s3cret-value", "headers": {"A": "s3cret-value"}}"#,
        r#"{"url": "http://h", "headers": {"Authorization": "Bearer ${TOKEN}"}}"#,
        r#"{"command": "x", "cwd": "/${TOKEN}"}"#,
        r#"{"url": "http://h", "ca_file": "${TOKEN}"}"#,
    ] {
        let entry = server(entry);
        let shown = entry.shown().to_string();
        let debugged = format!("{entry:?}");
        assert!(
            shown.contains("***") && !shown.contains("s3cret"),
            "{shown}"
        );
        assert!(!debugged.contains("s3cret"), "{debugged}");
    }
    let settings =
        read(r#"{"api_key": "s3cret-value", "environment": {"set": {"A": "s3cret-value"}}}"#);
    assert!(!format!("{settings:?}").contains("s3cret"));
}

#[test]
fn faults_never_repeat_what_a_reference_gave() {
    for entry in [
        r#"{"command": "x", "start": "${TOKEN}"}"#,
        r#"{"command": "x", "enabled_tools": ["[${TOKEN}"]}"#,
        r#"{"url": "${TOKEN}"}"#,
        r#"{"url": "http://h", "headers": {"A": "${TOKEN}\n"}}"#,
        r#"{"command": "x", "idle_timeout": "${TOKEN}"}"#,
        r#"{"command": "x", "roots": ["${TOKEN}"]}"#,
    ] {
        let reason = fault(entry);
        assert!(!reason.contains("s3cret"), "{reason}");
    }
    let error = try_read(r#"{"listen": "${TOKEN}"}"#).expect_err("a bad address");
    assert!(!error.to_string().contains("s3cret"), "{error}");
    let settings = read(
        r#"{"serverAuth": {"acl": {"default": "allow", "rules": [{"subjects": ["${TOKEN}"], "tools": ["${TOKEN}__*", "${TOKEN}"],
            "policy": "deny"}]}}, "profiles": {"a": {"servers": ["${TOKEN}"]}}, "trusted_hosts": ["http://${TOKEN}"]}"#,
    );
    let warnings = settings.all_warnings();
    assert!(warnings.len() >= 5, "{warnings:?}");
    let warnings = format!("{warnings:?}");
    assert!(!warnings.contains("s3cret"), "{warnings}");
}

#[test]
fn what_looks_like_a_credential_is_in_no_finding() {
    let token = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
    let key = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789";
    for text in [
        r#"{"listen": "TOKEN"}"#,
        r#"{"routing_mode": "TOKEN"}"#,
        r#"{"activity": {"arguments": "TOKEN"}}"#,
        r#"{"profiles": {"a": {"tools": ["[TOKEN"]}}}"#,
        r#"{"serverAuth": {"acl": {"default": "TOKEN"}}}"#,
    ] {
        let text = text.replace("TOKEN", token).replace("KEY", key);
        let error = try_read(&text).expect_err(&text).to_string();
        assert!(!error.contains("abcdef"), "{error}");
    }
    for entry in [
        r#"{"command": "x", "start": "TOKEN"}"#,
        r#"{"command": "x", "type": "TOKEN"}"#,
        r#"{"command": "x", "tool_changes": "TOKEN"}"#,
        r#"{"url": "http://h", "oauth": {"KEY": 1}, "start": 1}"#,
    ] {
        let reason = fault(&entry.replace("TOKEN", token).replace("KEY", key));
        assert!(!reason.contains("abcdef"), "{reason}");
    }
    let settings = read(
        &r#"{"KEY": 1, "environment": {"KEY": 1}, "docker_isolation": {"KEY": 1}, "profiles": {"a": {"KEY": 1}},
            "serverAuth": {"acl": {"default": "allow", "rules": [{"subjects": ["TOKEN"], "policy": "deny"}]}},
            "mcpServers": {"s": {"command": "TOKEN", "cwd": "/TOKEN", "KEY": 1, "oauth": {"KEY": 1}},
            "t": {"command": "x", "isolation": {"KEY": 1}, "tool_acl": {"KEY": 1}}}}"#
            .replace("TOKEN", token)
            .replace("KEY", key),
    );
    let warnings = format!("{:?}", settings.warnings);
    assert!(settings.warnings.len() >= 8, "{warnings}");
    assert!(!warnings.contains("abcdef"), "{warnings}");
    let shown = settings.servers["s"].shown().to_string();
    assert!(!shown.contains("abcdef"), "{shown}");
}

#[test]
fn what_an_agent_wrote_is_neither_contacted_nor_resolved_until_approved() {
    let entry = server(
        r#"{"command": "x", "args": ["${TOKEN}"], "env": {"A": "${NOPE}"}, "quarantined": true, "changed_by": "agent"}"#,
    );
    assert!(!entry.may_be_contacted());
    let Transport::Stdio(stdio) = &entry.transport else {
        panic!("a stdio server");
    };
    assert_eq!(stdio.args, ["${TOKEN}"]);
    assert_eq!(stdio.env["A"].reveal(), "${NOPE}");
    assert!(server(r#"{"command": "x", "quarantined": true}"#).may_be_contacted());
    assert!(server(r#"{"command": "x", "changed_by": "agent"}"#).may_be_contacted());
}
