//! What a text means.

use std::{path::Path, time::Duration};

use crate::config::{
    Author, ConfigError, IdleTimeout, Inherit, Management, RoutingMode, ServerEntry, Settings,
    Start, Surroundings, ToolChanges, ToolClass, Transport, parse,
};

fn variable(name: &str) -> Option<String> {
    match name {
        "TOKEN" => Some("s3cret-value".to_owned()),
        "HOME" => Some("/home/me".to_owned()),
        "PORT" => Some("9999".to_owned()),
        _ => None,
    }
}

fn try_read(text: &str) -> Result<Settings, ConfigError> {
    let surroundings = Surroundings {
        lookup: &variable,
        folder: Path::new("/etc/mcp"),
    };
    parse(text, &surroundings)
}

#[track_caller]
fn read(text: &str) -> Settings {
    try_read(text).expect("a good configuration")
}

/// The one server of a configuration that holds this entry.
#[track_caller]
fn server(entry: &str) -> ServerEntry {
    let settings = read(&format!("{{\"mcpServers\": {{\"s\": {entry}}}}}"));
    assert_eq!(settings.broken, [], "{entry}");
    ServerEntry::clone(&settings.servers["s"])
}

/// Why the entry is broken.
#[track_caller]
fn fault(entry: &str) -> String {
    let settings = read(&format!(
        "{{\"mcpServers\": {{\"s\": {entry}, \"well\": {{\"command\": \"x\"}}}}}}"
    ));
    assert!(settings.servers.contains_key("well"), "{entry}");
    assert_eq!(settings.broken.len(), 1, "{entry}");
    settings.broken[0].reason.clone()
}

#[track_caller]
fn check_fault(entry: &str, expected: &str) {
    let reason = fault(entry);
    assert!(reason.contains(expected), "{entry}: {reason}");
}

fn minutes(count: u64) -> Duration {
    Duration::from_mins(count)
}

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
            "health_check_interval": "1m30s", "api_key": "${TOKEN}", "session_key": "k",
            "trusted_hosts": ["h"], "trusted_origins": ["https://o"],
            "intent_declaration": {"strict_server_validation": false},
            "environment": {"inherit": ["AWS_*"], "set": {"A": "${TOKEN}"}},
        }"#,
    );
    assert_eq!(settings.warnings, [] as [String; 0]);
    assert_eq!(settings.listen.to_string(), "localhost:9999");
    assert_eq!(
        settings.data_dir.as_deref(),
        Some(Path::new("/home/me/data"))
    );
    assert_eq!(settings.routing_mode, RoutingMode::Direct);
    assert_eq!((settings.tools_limit, settings.top_k), (30, 0));
    assert!(settings.legacy_call_tool && !settings.strict_server_validation);
    assert_eq!(settings.management, Management::Read);
    assert_eq!(settings.tool_discovery_interval, None);
    assert_eq!(settings.idle_check_interval, Duration::from_secs(10));
    assert_eq!(settings.health_check_interval, Duration::from_secs(90));
    assert_eq!(settings.api_key.expect("a key").reveal(), "s3cret-value");
    assert_eq!(settings.session_key.expect("a key").reveal(), "k");
    assert_eq!(settings.trusted_hosts, ["h"]);
    assert_eq!(settings.trusted_origins, ["https://o"]);
    assert!(settings.environment.inherits("AWS_REGION"));
    assert_eq!(settings.environment.set["A"].reveal(), "s3cret-value");
    let all = read(r#"{"environment": {"inherit": "all"}}"#);
    assert_eq!(all.environment.inherit, Inherit::All);
}

#[test]
fn a_bad_value_at_the_top_level_names_the_key_and_what_is_accepted() {
    let check = |text: &str, expected: &str| {
        let error = try_read(text).expect_err(text).to_string();
        assert!(error.contains(expected), "{error}");
    };
    check(
        r#"{"routing_mode": "fast"}"#,
        "`routing_mode` is \"fast\"; accepted are \"retrieve_tools\"",
    );
    check(
        r#"{"listen": "nowhere"}"#,
        "`listen` is wrong: \"nowhere\" is no address",
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
    check(r#"{"management": "none"}"#, "\"full\", \"read\", \"off\"");
    check(
        r#"{"legacy_call_tool": "yes"}"#,
        "`legacy_call_tool` must be true or false",
    );
    check(
        r#"{"trusted_hosts": "h"}"#,
        "`trusted_hosts` must be an array of strings",
    );
    check(
        r#"{"environment": {"set": {"A=B": "x"}}}"#,
        "`environment.set.A=B` cannot be",
    );
    check(
        r#"{"data_dir": "${NOPE}"}"#,
        "`data_dir` refers to the environment variable NOPE",
    );
    check("{\n\"a\": }", "line 2, column 6");
}

#[test]
fn unknown_keys_are_reported_and_never_fatal() {
    let settings = read(
        r#"{"listne": ":1", "profiles": {"p": {}}, "activity": {}, "enable_code_execution": false,
            "tool_response_limit": 0, "rate_limit": {"burst": 1}, "servers": {}, "top_k": 1, "top_k": 2,
            "mcpServers": {"s": {"command": "x", "comand": "y", "tool_acl": {"reed": []}}}}"#,
    );
    assert_eq!(
        settings.warnings,
        [
            "`top_k` stands twice; the last one counts",
            "`profiles` is not supported by this version and is ignored",
            "`rate_limit` is not supported by this version and is ignored",
            "`listne` is unknown and ignored; did you mean `listen`?",
            "`servers` is unknown and ignored; did you mean `mcpServers`?",
            "server \"s\": `tool_acl.reed` is unknown and ignored; did you mean `read`?",
            "server \"s\": `comand` is unknown and ignored; did you mean `command`?",
        ]
    );
    assert_eq!(settings.top_k, 2);
}

#[test]
fn access_control_that_is_not_enforced_refuses_to_start() {
    for text in [
        r#"{"serverAuth": {"provider": "bearer"}}"#,
        r#"{"serverAuth": {}}"#,
        r#"{"server_auth": {"acl": {}}}"#,
        r#"{"serverAuth": null, "ServerAuth": {}}"#,
        r#"{"require_mcp_auth": true}"#,
    ] {
        let error = try_read(text).expect_err(text);
        assert!(matches!(error, ConfigError::AccessControl { .. }), "{text}");
        assert!(error.to_string().contains("not enforced by this version"));
    }
    read(r#"{"serverAuth": null}"#);
}

#[test]
fn restrictions_of_the_go_program_hold() {
    let management = |text| read(text).management;
    assert_eq!(management(r#"{"read_only_mode": true}"#), Management::Read);
    assert_eq!(
        management(r#"{"disable_management": true, "management": "full"}"#),
        Management::Off
    );
    assert_eq!(
        management(r#"{"read_only_mode": true, "management": "off"}"#),
        Management::Off
    );
    let isolated = read(
        r#"{"docker_isolation": {"enabled": true}, "mcpServers": {"a": {"command": "x"},
            "b": {"url": "http://h"}, "c": {"command": "x", "isolation": {"enabled": false}}}}"#,
    );
    assert_eq!(isolated.broken.len(), 1);
    assert_eq!(isolated.broken[0].name, "a");
    assert_eq!(isolated.servers.len(), 2);
}

#[test]
fn a_stdio_entry_has_its_defaults() {
    let entry = server(r#"{"command": "x"}"#);
    assert_eq!(entry.transport.label(), "stdio");
    assert!(entry.enabled && !entry.quarantined);
    let (min, max) = (minutes(1), minutes(5));
    assert_eq!(entry.idle_timeout, IdleTimeout::Adaptive { min, max });
    assert_eq!(entry.start, Start::OnDemand);
    assert_eq!(entry.tool_changes, ToolChanges::Hold);
    assert_eq!(
        (entry.init_timeout, entry.first_init_timeout),
        (minutes(1), minutes(1))
    );
    assert_eq!(entry.call_tool_timeout, minutes(2));
    assert_eq!(entry.max_concurrent_requests, None);
    assert_eq!(entry.changed_by, Author::Person);
}

#[test]
fn every_key_of_an_entry_is_read() {
    let entry = server(
        r#"{"command": "c", "args": ["a b", 1, true, "${TOKEN}"], "env": {"K": "${TOKEN}", "N": 1},
            "working_dir": "work", "disabled": true, "quarantined": true, "idle_timeout": "2m",
            "start": "eager", "session_scope": "shared", "enabled_tools": ["get_*"],
            "disabled_tools": ["get_x"], "tool_changes": "allow",
            "tool_acl": {"read": ["get_*"]}, "init_timeout": "10s", "call_tool_timeout": 5,
            "max_concurrent_requests": 3, "isolation": {"enabled": false}, "oauth": {},
            "roots": ["/a b", "file:///c", {"uri": "/d", "name": "D"}]}"#,
    );
    let Transport::Stdio(stdio) = &entry.transport else {
        panic!("a stdio server");
    };
    // The entry is disabled, so its references stay as they are.
    assert_eq!(stdio.args, ["a b", "1", "true", "${TOKEN}"]);
    assert_eq!(stdio.env["N"].reveal(), "1");
    assert_eq!(stdio.cwd.as_deref(), Some(Path::new("/etc/mcp/work")));
    assert!(!entry.enabled && entry.quarantined);
    assert_eq!(entry.idle_timeout, IdleTimeout::After(minutes(2)));
    assert_eq!(entry.start, Start::Eager);
    assert!(entry.tools.allows("get_y") && !entry.tools.allows("get_x"));
    assert_eq!(entry.tool_changes, ToolChanges::Allow);
    assert_eq!(entry.tool_acl.class("get_y"), Some(ToolClass::Read));
    assert_eq!(entry.init_timeout, Duration::from_secs(10));
    assert_eq!(entry.call_tool_timeout, Duration::from_secs(5));
    assert_eq!(entry.max_concurrent_requests, Some(3));
    let uris: Vec<&str> = entry.roots.iter().map(|root| root.uri.as_str()).collect();
    assert_eq!(uris, ["file:///a%20b", "file:///c", "file:///d"]);
    assert_eq!(entry.roots[2].name.as_deref(), Some("D"));
}

#[test]
fn the_transport_follows_type_and_shape() {
    let check = |entry: &str, label: &str| {
        assert_eq!(server(entry).transport.label(), label, "{entry}");
    };
    check(r#"{"command": "x", "url": ""}"#, "stdio");
    check(
        r#"{"command": "x", "type": "stdio", "protocol": "stdio"}"#,
        "stdio",
    );
    check(r#"{"url": "http://h/mcp"}"#, "http");
    check(r#"{"url": "https://h/sse"}"#, "auto");
    check(r#"{"url": "https://h/sse/?a=b"}"#, "auto");
    for (word, label) in [
        ("http", "http"),
        ("streamable-http", "http"),
        ("streamableHttp", "http"),
        ("sse", "sse"),
        ("auto", "auto"),
    ] {
        for key in ["type", "protocol", "transport"] {
            check(
                &format!(r#"{{"url": "http://h", "{key}": "{word}"}}"#),
                label,
            );
        }
    }
}

#[test]
fn idle_timeouts_have_their_forms() {
    let check = |entry: &str, expected: IdleTimeout| {
        assert_eq!(server(entry).idle_timeout, expected, "{entry}");
    };
    let adaptive = |min, max| IdleTimeout::Adaptive {
        min: minutes(min),
        max: minutes(max),
    };
    check(r#"{"url": "http://h"}"#, IdleTimeout::Never);
    check(
        r#"{"url": "http://h", "idle_timeout": "adaptive"}"#,
        adaptive(1, 5),
    );
    check(
        r#"{"command": "x", "idle_timeout": "never"}"#,
        IdleTimeout::Never,
    );
    check(
        r#"{"command": "x", "idle_timeout": 120}"#,
        IdleTimeout::After(minutes(2)),
    );
    check(
        r#"{"command": "x", "min_idle_timeout": "10m"}"#,
        adaptive(10, 10),
    );
    check(
        r#"{"command": "x", "max_idle_timeout": "60s"}"#,
        adaptive(1, 1),
    );
}

#[test]
fn what_may_download_gets_longer_for_its_first_start() {
    let check = |entry: &str, first: u64| {
        let entry = server(entry);
        assert_eq!(
            (entry.init_timeout, entry.first_init_timeout),
            (minutes(1), minutes(first))
        );
    };
    check(r#"{"command": "npx"}"#, 5);
    check(r#"{"command": "/usr/bin/uvx"}"#, 5);
    check(r#"{"command": "C:\\bin\\npx.cmd"}"#, 5);
    check(r#"{"command": "docker"}"#, 5);
    check(r#"{"command": "node"}"#, 1);
    check(r#"{"url": "http://h"}"#, 1);
    let given = server(r#"{"command": "npx", "init_timeout": "20s"}"#);
    assert_eq!(given.first_init_timeout, Duration::from_secs(20));
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
fn a_broken_entry_disables_only_itself() {
    check_fault("3", "must be an object");
    check_fault("{}", "`command` is missing, and so is `url`");
    check_fault(
        r#"{"command": "x", "url": "http://h"}"#,
        "only one can be meant",
    );
    check_fault(r#"{"type": "http", "command": "x"}"#, "`url` is missing");
    check_fault(
        r#"{"type": "stdio", "url": "http://h"}"#,
        "`command` is missing",
    );
    check_fault(
        r#"{"type": "pigeon", "url": "http://h"}"#,
        "`type` is \"pigeon\"; accepted are \"stdio\", \"http\"",
    );
    check_fault(
        r#"{"type": "sse", "transport": "http", "url": "http://h"}"#,
        "`transport` says something else than `type`",
    );
    check_fault(
        r#"{"command": "x", "args": "a b"}"#,
        "`args` must be an array of strings",
    );
    check_fault(
        r#"{"command": "x", "args": [["a"]]}"#,
        "`args[0]` must be a string",
    );
    check_fault(r#"{"command": ["x"]}"#, "`command` must be a string");
    check_fault(r#"{"command": "x\u0000"}"#, "NUL");
    check_fault(
        r#"{"command": "x", "env": {"A": null}}"#,
        "`env.A` must be a string",
    );
    check_fault(
        r#"{"command": "x", "env": {"": "1"}}"#,
        "cannot be an environment variable",
    );
    check_fault(
        r#"{"command": "${NOPE}"}"#,
        "`command` refers to the environment variable NOPE, which is not set",
    );
    check_fault(
        r#"{"command": "x", "env": {"A": "${env:NOPE}"}}"#,
        "`env.A` refers to the environment variable NOPE",
    );
    check_fault(
        r#"{"command": "x", "env": {"A": "${keyring:gh}"}}"#,
        "the keyring is not supported by this version",
    );
}

#[test]
fn a_bad_url_timeout_or_policy_breaks_its_entry() {
    check_fault(
        r#"{"url": "ftp://h"}"#,
        "`url` must begin with http:// or https://",
    );
    check_fault(r#"{"url": "not a url"}"#, "`url` is no URL");
    check_fault(
        r#"{"url": "http://h", "headers": {"a b": "1"}}"#,
        "`headers.a b` cannot be an HTTP header",
    );
    check_fault(
        r#"{"url": "http://h", "headers": {"A": "x\ny"}}"#,
        "`headers.A` cannot be an HTTP header",
    );
    check_fault(
        r#"{"command": "x", "enabled": true, "disabled": true}"#,
        "contradicts",
    );
    check_fault(
        r#"{"command": "x", "idle_timeout": "often"}"#,
        "`idle_timeout` must be \"adaptive\", \"never\"",
    );
    check_fault(r#"{"command": "x", "idle_timeout": "0s"}"#, "at least 1s");
    check_fault(
        r#"{"command": "x", "min_idle_timeout": "9m", "max_idle_timeout": "1m"}"#,
        "longer than `max_idle_timeout`",
    );
    check_fault(r#"{"command": "x", "enabled_tools": ["a["]}"#, "is no glob");
    check_fault(
        r#"{"command": "x", "init_timeout": "0s"}"#,
        "`init_timeout` must be at least 100ms",
    );
    check_fault(
        r#"{"command": "x", "max_concurrent_requests": 0}"#,
        "from 1 to",
    );
    check_fault(
        r#"{"command": "x", "roots": ["relative"]}"#,
        "`roots[0]` is no absolute path",
    );
    check_fault(
        r#"{"command": "x", "session_scope": "client"}"#,
        "not supported by this version",
    );
    check_fault(
        r#"{"command": "x", "session_scope": "mine"}"#,
        "accepted are \"shared\"",
    );
    check_fault(
        r#"{"command": "x", "isolation": {"enabled": true}}"#,
        "`isolation.enabled` is not supported by this version",
    );
    check_fault(
        r#"{"url": "http://h", "oauth": {"client_id": "x"}}"#,
        "`oauth` is not supported by this version",
    );
    check_fault(
        r#"{"command": "x", "changed_by": "ghost"}"#,
        "accepted are \"person\", \"agent\"",
    );
}

#[test]
fn names_follow_their_rule_and_are_unique_whatever_the_case() {
    let settings = read(
        r#"{"mcpServers": {"GitHub": {"command": "a"}, "github": {"command": "b"},
            "GitHub": {"command": "c"}, "a__b": {"command": "d"}, "ä": {"command": "e"}}}"#,
    );
    assert_eq!(settings.servers.len(), 1);
    assert_eq!(settings.servers["GitHub"].shown()["command"], "a");
    let names: Vec<&str> = settings.broken.iter().map(|b| b.name.as_str()).collect();
    assert_eq!(names, ["github", "GitHub", "a__b", "ä"]);
    assert!(settings.broken[0].reason.contains("named \"GitHub\""));
    let array = read(
        r#"{"mcpServers": [{"name": "a", "command": "x"}, {"command": "y"}, 5, {"name": "A"}]}"#,
    );
    assert_eq!(array.servers.len(), 1);
    let names: Vec<&str> = array.broken.iter().map(|b| b.name.as_str()).collect();
    assert_eq!(names, ["mcpServers[1]", "mcpServers[2]", "A"]);
    assert_eq!(array.broken[0].reason, "the entry has no `name`");
}

#[test]
fn secrets_are_masked_wherever_an_entry_is_shown() {
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
}

#[test]
fn keys_without_effect_are_named_unless_empty() {
    let warnings = |entry: &str| read(&format!("{{\"mcpServers\": {{\"s\": {entry}}}}}")).warnings;
    let quiet = r#"{"url": "http://h", "args": [], "env": {}, "cwd": "", "created": "2025"}"#;
    assert_eq!(warnings(quiet), [] as [String; 0]);
    assert_eq!(
        warnings(r#"{"url": "http://h", "env": {"A": "1"}}"#),
        ["server \"s\": `env` has no effect on a remote server"]
    );
    assert_eq!(
        warnings(r#"{"command": "x", "headers": {"A": "1"}}"#),
        ["server \"s\": `headers` has no effect on a stdio server"]
    );
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

#[test]
fn the_fingerprint_changes_exactly_when_the_connection_must() {
    let print = |entry: &str| server(entry).fingerprint;
    let base = print(r#"{"command": "x", "args": ["a", "b"]}"#);
    assert_eq!(
        base,
        print(
            r#"{"args": ["a", "b"], "command": "x", "disabled": true, "call_tool_timeout": 9, "disabled_tools": ["z"]}"#
        )
    );
    for other in [
        r#"{"command": "x", "args": ["ab"]}"#,
        r#"{"command": "x", "args": ["a", "b"], "env": {"A": "1"}}"#,
        r#"{"command": "x", "args": ["a", "b"], "cwd": "/"}"#,
        r#"{"command": "x", "args": ["a", "b"], "roots": ["/"]}"#,
        r#"{"url": "http://x"}"#,
    ] {
        assert_ne!(base, print(other), "{other}");
    }
    let with_environment = read(
        r#"{"environment": {"set": {"A": "1"}}, "mcpServers": {"s": {"command": "x", "args": ["a", "b"]}}}"#,
    );
    assert_ne!(base, with_environment.servers["s"].fingerprint);
}
