use super::*;

#[track_caller]
fn check(text: &str, expected: &str) {
    let error = try_read(text).expect_err(text).to_string();
    assert!(error.contains(expected), "{text}: {error}");
}

#[test]
fn a_lock_file_that_is_named_by_a_slip_refuses_the_configuration() {
    for (text, expected) in [
        (r#"{"lock_file": null}"#, "`lock_file` is null"),
        (r#"{"lock_file": ""}"#, "`lock_file` is empty"),
        (r#"{"lock_file": " "}"#, "`lock_file` is empty"),
        (r#"{"lock_file": "${NONE:-}"}"#, "lock_file"),
        (r#"{"lock_file": 5}"#, "must be a string"),
        (
            r#"{"lock_file": "a.json", "lock_file": "b.json"}"#,
            "`lock_file` stands there twice",
        ),
        (
            r#"{"lockFile": "a.json"}"#,
            "the lock file is named with `lock_file`",
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
fn a_guard_that_stands_twice_or_says_nothing_disables_its_entry() {
    for (entry, expected) in [
        (
            r#"{"command": "x", "quarantined": true, "quarantined": false}"#,
            "`quarantined` stands twice",
        ),
        (
            r#"{"command": "x", "changed_by": "agent", "changed_by": "person"}"#,
            "`changed_by` stands twice",
        ),
        (
            r#"{"command": "x", "tool_acl": {"destructive": ["a"], "destructive": []}}"#,
            "`tool_acl.destructive` stands twice",
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
    let array = r#"{"mcpServers": [{"name": "s", "command": "x", "enabled_tools": [], "enabled_tools": ["*"]}]}"#;
    assert_eq!(read(array).broken.len(), 1);
    let harmless = r#"{"mcpServers": {"s": {"command": "x", "args": [], "args": ["y"]}}}"#;
    assert!(read(harmless).broken.is_empty());
}
