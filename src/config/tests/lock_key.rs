//! Keys that protect something: mistakes in them are not ignored.

use super::*;

#[track_caller]
fn check(text: &str, expected: &str) {
    let error = try_read(text).expect_err(text).to_string();
    assert!(error.contains(expected), "{text}: {error}");
}

#[test]
fn a_lock_file_that_is_named_by_a_slip_refuses_the_configuration() {
    for (text, expected) in [
        (r#"{"lock_file": null}"#, "`lock_file` must be a string"),
        (r#"{"lock_file": ""}"#, "`lock_file` is empty"),
        (r#"{"lock_file": " "}"#, "`lock_file` is empty"),
        (r#"{"lock_file": "${NONE:-}"}"#, "lock_file"),
        (r#"{"lock_file": 5}"#, "must be a string"),
        (
            r#"{"lock_file": "a.json", "lock_file": "b.json"}"#,
            "`lock_file` appears twice",
        ),
        (
            r#"{"lockFile": "a.json"}"#,
            "`lock_file` names the lock file",
        ),
        (r#"{"lock-file": "a.json"}"#, "`lock-file` is unknown"),
        (r#"{"LOCK_FILE": "a.json"}"#, "`LOCK_FILE` is unknown"),
        (r#"{"lock_fil": "a.json"}"#, "`lock_fil` is unknown"),
        (r#"{"locked": "a.json"}"#, "`locked` is unknown"),
        ("{\n \"lockfile\": null}", "line 2, column 2"),
    ] {
        check(text, expected);
    }
    let read = try_read(r#"{"lock_file": "a.json", "listen": "127.0.0.1:0"}"#);
    assert!(read.expect("a configuration").lock_file.is_some());
}

#[test]
fn what_guards_is_neither_misspelt_nor_doubled_nor_null() {
    for (text, expected) in [
        (
            r#"{"docker_isolation": {"enable": true}}"#,
            "`docker_isolation.enable` is unknown; did you mean `enabled`?",
        ),
        (
            r#"{"docker_isolation": {"enabled": null}}"#,
            "must be true or false",
        ),
        (
            r#"{"docker_isolation": {"enabled": true, "enabled": false}}"#,
            "`docker_isolation.enabled` appears twice",
        ),
        (r#"{"docker_isolation": null}"#, "must be an object"),
        (
            r#"{"docker_isolation": {}, "docker_isolation": {}}"#,
            "`docker_isolation` appears twice",
        ),
        (
            r#"{"docker_isolaton": {}}"#,
            "did you mean `docker_isolation`?",
        ),
        (
            r#"{"profiles": {"a": {"servers": []}, "a": {}}}"#,
            "`profiles.a` appears twice",
        ),
        (
            r#"{"profiles": {"a": {"servers": ["x"], "servers": ["*"]}}}"#,
            "`profiles.a.servers` appears twice",
        ),
        (
            r#"{"profiles": {"a": null}}"#,
            "`profiles.a` must be an object",
        ),
        (
            r#"{"profiles": {"a": {"servers": null}}}"#,
            "`profiles.a.servers` must be a list",
        ),
        (r#"{"profile": {}}"#, "did you mean `profiles`?"),
        (
            r#"{"management": "off", "management": "full"}"#,
            "`management` appears twice",
        ),
        (r#"{"management": ""}"#, "`management` is empty"),
        (
            r#"{"management": null}"#,
            "`management` must be one of \"full\", \"read\", \"off\"",
        ),
        (r#"{"managment": "off"}"#, "did you mean `management`?"),
        (
            r#"{"readonly_mode": true}"#,
            "did you mean `read_only_mode`?",
        ),
        (r#"{"read_only_mode": null}"#, "must be true or false"),
        (
            r#"{"disable_managment": true}"#,
            "did you mean `disable_management`?",
        ),
        (r#"{"rate_limit": null}"#, "`rate_limit` must be an object"),
        (
            r#"{"rate_limits": {"per_caller": 1}}"#,
            "did you mean `rate_limit`?",
        ),
        (
            r#"{"environment": {"inhert": "none"}}"#,
            "did you mean `inherit`?",
        ),
        (
            r#"{"environment": {"inherit": null}}"#,
            "`environment.inherit` must be",
        ),
        (
            r#"{"mcpServers": {}, "mcpServers": {}}"#,
            "`mcpServers` appears twice",
        ),
    ] {
        check(text, expected);
    }
    let of_go_program = r#"{"docker_isolation": {"registry": "docker.io", "timeout": "30s", "log_driver": ""},
        "environment": {"inherit_system_safe": true, "custom_vars": {}, "set": {"A": ""}}}"#;
    let warnings = try_read(of_go_program).expect("it is sound").warnings;
    assert_eq!(warnings.len(), 5, "{warnings:?}");
    assert_eq!(
        warnings[0].text,
        "`docker_isolation.registry` is unknown and ignored"
    );
}

#[test]
fn a_guard_that_stands_twice_or_says_nothing_disables_its_entry() {
    for (entry, expected) in [
        (
            r#"{"command": "x", "quarantined": true, "quarantined": false}"#,
            "`quarantined` appears again",
        ),
        (
            r#"{"command": "x", "changed_by": "agent", "changed_by": "person"}"#,
            "`changed_by` appears again",
        ),
        (
            r#"{"command": "x", "tool_acl": {"destructive": ["a"], "destructive": []}}"#,
            "`tool_acl.destructive` appears again",
        ),
        (
            r#"{"command": "x", "changed_by": null}"#,
            "`changed_by` must be",
        ),
        (
            r#"{"command": "x", "changed_by": ""}"#,
            "`changed_by` must be",
        ),
        (
            r#"{"command": "x", "changedBy": "agent"}"#,
            "did you mean `changed_by`?",
        ),
    ] {
        check_fault(entry, expected);
    }
    let array = "{\"mcpServers\": [{\"name\": \"s\", \"command\": \"x\", \"enabled_tools\": [],\n  \"enabled_tools\": [\"*\"]}]}";
    let [broken] = &read(array).broken[..] else {
        panic!("its entry is disabled");
    };
    let reason = broken.clone().with_places().reason;
    let place =
        "line 2, column 3: `enabled_tools` appears again, and only this last value would count";
    assert!(reason.starts_with(place), "{reason}");
    let harmless = r#"{"mcpServers": {"s": {"command": "x", "args": [], "args": ["y"]}}}"#;
    assert!(read(harmless).broken.is_empty());
}
