//! What an entry under `mcpServers` means.

use std::{path::Path, time::Duration};

use super::{check_fault, minutes, printed, read, server};
use crate::config::{Author, IdleTimeout, ProtocolEra, Start, ToolChanges, ToolClass, Transport};

#[test]
fn a_stdio_entry_has_its_defaults() {
    let entry = server(r#"{"command": "x"}"#);
    assert_eq!(entry.transport.kind().to_string(), "stdio");
    assert!(entry.enabled && !entry.quarantined);
    let (min, max) = (minutes(1), minutes(5));
    assert_eq!(entry.idle_timeout, IdleTimeout::Adaptive { min, max });
    assert_eq!(entry.start, Start::OnDemand);
    assert_eq!(entry.protocol_era, ProtocolEra::Auto);
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
            "start": "eager", "session_scope": "shared", "protocol_era": "modern", "enabled_tools": ["get_*"],
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
    assert_eq!(entry.protocol_era, ProtocolEra::Modern);
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
        assert_eq!(server(entry).transport.kind().to_string(), label, "{entry}");
    };
    check(r#"{"command": "x", "url": ""}"#, "stdio");
    check(r#"{"command": "x", "url": "${EMPTY}"}"#, "stdio");
    check(
        r#"{"command": "x", "type": "stdio", "protocol": "stdio"}"#,
        "stdio",
    );
    check(r#"{"url": "http://h/mcp"}"#, "http");
    check(r#"{"url": " https://h/sse\n"}"#, "auto");
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
fn a_broken_entry_names_its_unknown_keys() {
    check_fault(
        r#"{"comand": "x", "argz": [], "zebra": 1, "created": "today"}"#,
        "`command` and `url` are missing or empty; one is needed; `comand` is unknown; did you mean `command`?; `argz` is unknown; did you mean `args`?; `zebra` is unknown",
    );
}

#[test]
fn a_misspelt_guard_disables_its_entry() {
    check_fault(
        r#"{"command": "x", "quarantin": true, "argz": []}"#,
        "`quarantin` is unknown; did you mean `quarantined`?; `argz` is unknown; did you mean `args`?",
    );
    check_fault(
        r#"{"command": "x", "disable_tools": ["rm"]}"#,
        "did you mean `disabled_tools`?",
    );
    check_fault(
        r#"{"command": "x", "tool_acl": {"reed": []}}"#,
        "`tool_acl.reed` is unknown; did you mean `read`?",
    );
    let faults = super::fault(r#"{"quarantin": true}"#);
    assert_eq!(faults.matches("`quarantin`").count(), 1, "{faults}");
    assert!(server(r#"{"command": "x", "quarantin": false}"#).enabled);
}

#[test]
fn what_other_programs_call_a_key_of_ours_is_understood_but_not_taken() {
    let settings = read(r#"{"mcpServers": {"s": {"command": "x", "timeout": 5}}}"#);
    assert_eq!(
        printed(&settings.warnings),
        ["server \"s\": `timeout` is unknown and ignored; did you mean `call_tool_timeout`?"]
    );
}

#[test]
fn a_broken_entry_disables_only_itself() {
    check_fault("3", "must be an object");
    check_fault(
        "{}",
        "`command` and `url` are missing or empty; one is needed",
    );
    check_fault(
        r#"{"command": "x", "url": "http://h"}"#,
        "`url` and `command` are both given; keep one",
    );
    check_fault(
        r#"{"type": "http", "command": "x"}"#,
        "`url` is missing, but `type` needs it",
    );
    check_fault(
        r#"{"type": "stdio", "url": "http://h"}"#,
        "`command` is missing, but `type` needs it",
    );
    check_fault(
        r#"{"type": "pigeon", "url": "http://h"}"#,
        "`type` must be one of \"stdio\", \"http\"",
    );
    check_fault(
        r#"{"type": "sse", "transport": "http", "url": "http://h"}"#,
        "`transport` contradicts `type`",
    );
    check_fault(
        r#"{"command": "x", "args": "a b"}"#,
        "`args` must be a list",
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
        "`command` needs the variable NOPE",
    );
    check_fault(
        r#"{"command": "x", "env": {"A": "${env:NOPE}"}}"#,
        "`env.A` needs the variable NOPE",
    );
    check_fault(
        r#"{"command": "x", "env": {"A": "${keyring:gh}"}}"#,
        "`env.A` needs the secret gh, and secrets are not looked up here",
    );
}

#[test]
fn what_is_no_header_says_why_and_shows_no_value() {
    for (name, expected) in [
        ("", "has an empty name"),
        ("a b", "has a name with a space after \"a\""),
        (
            "X-Api-Key: hunter2",
            "has a name with ':' after \"X-Api-Key\"; use letters, digits and signs such as `-` only",
        ),
        (":a", "has a name that begins with ':'"),
    ] {
        let entry = format!(r#"{{"url": "http://h", "headers": {{"{name}": "1"}}}}"#);
        check_fault(&entry, &format!("`headers` {expected}"));
    }
}

#[test]
fn a_bad_url_timeout_or_policy_breaks_its_entry() {
    for (url, fault) in [
        ("ftp://h", "must begin with http:// or https://"),
        ("example.com/mcp", "must begin with http:// or https://"),
        ("http://h/my mcp", "contains a space or a line break"),
        ("http://", "names no host"),
        ("http://:80/mcp", "names no host"),
        ("https://exämple.com/mcp", "has a host that is not ASCII"),
        (
            "http://h/<mcp>",
            "contains a character that is not allowed in that place",
        ),
    ] {
        check_fault(&format!(r#"{{"url": "{url}"}}"#), &format!("`url` {fault}"));
    }
    for port in ["99999", "abc", "0", ""] {
        check_fault(
            &format!(r#"{{"url": "http://127.0.0.1:{port}/mcp"}}"#),
            "`url` must have a port from 1 to 65535, or none",
        );
    }
    check_fault(
        r#"{"url": "http://h", "headers": {"A": "x\ny"}}"#,
        "`headers.A` contains a character that is not allowed in a header, such as a line break",
    );
    for name in [
        "Content-Length",
        "transfer-encoding",
        "Connection",
        "Mcp-Session-Id",
    ] {
        let entry = format!(r#"{{"url": "http://h", "headers": {{"{name}": "1"}}}}"#);
        let expected = format!("`headers.{name}` is not allowed");
        check_fault(&entry, &expected);
    }
    check_fault(
        r#"{"url": "http://h", "headers": {"Authorization": "a", "AUTHORIZATION": "b"}}"#,
        "`headers.AUTHORIZATION` and `Authorization` are the same header",
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
    check_fault(
        r#"{"command": "x", "enabled_tools": ["a["]}"#,
        "is not a glob",
    );
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
        "`roots[0]` is neither an absolute path",
    );
    check_fault(
        r#"{"command": "x", "session_scope": "mine"}"#,
        "must be one of \"auto\", \"shared\"",
    );
    check_fault(
        r#"{"command": "x", "protocol_era": "new"}"#,
        "must be one of \"auto\"",
    );
    check_fault(
        r#"{"url": "http://h", "oauth": {"client_secret": "x"}}"#,
        "`oauth.client_secret` needs a `client_id`",
    );
    check_fault(
        r#"{"url": "http://h", "oauth": {"scopes": ["a b"]}}"#,
        "`oauth.scopes` has an invalid scope",
    );
    check_fault(
        r#"{"url": "http://h", "oauth": {"redirect_uri": "urn:x"}}"#,
        "`oauth.redirect_uri` must be a URL such as http://127.0.0.1/callback",
    );
    check_fault(
        r#"{"url": "http://h", "oauth": {"extra_params": {"state": "x"}}}"#,
        "`oauth.extra_params.state` is not allowed: mcpproxy sets it for each login",
    );
    check_fault(
        r#"{"command": "x", "changed_by": "nobody"}"#,
        "must be one of \"person\", \"agent\"",
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
    assert!(
        settings.broken[0]
            .reason
            .contains("another entry has the same name, \"GitHub\"")
    );
    let array = read(
        r#"{"mcpServers": [{"name": "a", "command": "x"}, {"command": "y"}, 5, {"name": "A"}]}"#,
    );
    assert_eq!(array.servers.len(), 1);
    let names: Vec<&str> = array.broken.iter().map(|b| b.name.as_str()).collect();
    assert_eq!(names, ["mcpServers[1]", "mcpServers[2]", "A"]);
    assert_eq!(array.broken[0].reason, "the entry has no `name`");
    assert_eq!(array.broken[1].reason, "the entry must be an object");
}

#[test]
fn keys_without_effect_are_named_unless_empty() {
    let warnings = |entry: &str| {
        let text = format!("{{\"mcpServers\": {{\"s\": {entry}}}}}");
        printed(&read(&text).warnings)
    };
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
    assert_eq!(
        warnings(r#"{"url": "http://h/x", "type": "sse", "protocol_era": "modern"}"#),
        ["server \"s\": `protocol_era` has no effect: HTTP+SSE always begins with a handshake"]
    );
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
        r#"{"command": "x", "args": ["a", "b"], "protocol_era": "legacy"}"#,
        r#"{"url": "http://x"}"#,
    ] {
        assert_ne!(base, print(other), "{other}");
    }
    let with_environment = read(
        r#"{"environment": {"set": {"A": "1"}}, "mcpServers": {"s": {"command": "x", "args": ["a", "b"]}}}"#,
    );
    assert_ne!(base, with_environment.servers["s"].fingerprint);
}

#[test]
fn what_is_arranged_for_a_login_is_read_and_shown_without_secrets() {
    let entry = server(
        r#"{"url": "https://h/mcp", "oauth": {"client_id": "id", "client_secret": "hunter2-hunter2", "scopes": ["a", "b:c"],
            "redirect_uri": "http://127.0.0.1:7000/back", "extra_params": {"audience": "x"}}}"#,
    );
    let Transport::Remote(remote) = &entry.transport else {
        panic!("a remote server");
    };
    assert_eq!(remote.oauth.client_id.as_deref(), Some("id"));
    assert_eq!(remote.oauth.scopes, ["a", "b:c"]);
    let shown = entry.shown()["oauth"].to_string();
    let expected = r#"{"client_id":"id","client_secret":"***","scopes":["a","b:c"],"redirect_uri":"http://127.0.0.1:7000/back","extra_params":{"audience":"***"}}"#;
    assert_eq!(shown, expected);
    assert!(!format!("{entry:?}{:?}", remote.oauth).contains("hunter2"));
    assert_eq!(entry.secrets.redacted("x hunter2-hunter2"), "x ***");
    let plain = server(r#"{"url": "https://h/mcp"}"#);
    assert_ne!(plain.fingerprint, entry.fingerprint);
    let empty = server(r#"{"url": "https://h/mcp", "oauth": {"client_id": ""}}"#);
    assert_eq!(plain.fingerprint, empty.fingerprint);
}
