//! `mcpproxy access check`.

use super::*;

async fn check(daemon: &TestDaemon, arguments: &[&str]) -> (Option<i32>, Value) {
    let arguments = [&["access", "check"], arguments, &["-o", "json"]].concat();
    let mut command = program(daemon.home(), &arguments);
    let output = within("the command to end", command.output())
        .await
        .expect("it runs");
    let text = String::from_utf8(output.stdout).expect("text");
    let verdict = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    (output.status.code(), verdict)
}

/// What `bob` may not have, as a table says it.
async fn a_person_reads_why_once(daemon: &TestDaemon) {
    let arguments = ["access", "check", "bob", "up:wave"];
    let denied = within(
        "the command to end",
        program(daemon.home(), &arguments).output(),
    )
    .await;
    let denied = denied.expect("it runs");
    assert_eq!(denied.status.code(), Some(4));
    assert!(String::from_utf8_lossy(&denied.stdout).contains("no rule matches"));
    assert_eq!(String::from_utf8_lossy(&denied.stderr), "");
}

#[tokio::test]
async fn access_check_says_which_rule_decides() {
    let upstream = upstream().await;
    let mut auth = auth();
    auth["acl"] = json!({ "default": "deny", "rules": [
        { "subjects": ["bob"], "tools": ["up:echo", "retrieve_tools"], "policy": "allow" },
        { "roles": ["dev"], "tools": ["up__wave"], "policy": "deny" },
        { "roles": ["dev"], "policy": "allow" },
    ] });
    let builder =
        with(&upstream, &auth).config(json!({ "profiles": { "none": { "servers": ["x"] } } }));
    let daemon = builder
        .entry("off", json!({ "command": "x", "enabled": false }))
        .await;
    as_subject(&daemon, "/mcp/all", ADA)
        .await
        .wait_for_tool("up__echo")
        .await;
    let rule = |place: usize| (json!("rule"), json!(place));
    let default = || (json!("default"), Value::Null);
    let guard = || (json!("guard"), Value::Null);
    for (arguments, allowed, (by, place)) in [
        (&["ada", "up:echo"][..], true, rule(2)),
        (&["ada", "up__wave"], false, rule(1)),
        (&["ada", "up:greet", "--prompt"], true, rule(2)),
        (&["bob", "up:echo"], true, rule(0)),
        (&["bob", "up:wave"], false, default()),
        (&["bob", "up:lib://x", "--resource"], false, default()),
        (&["bob", "retrieve_tools"], true, rule(0)),
        (&["bob", "call_tool_read"], false, default()),
        (
            &["bob", "--role", "dev", "--role", "qa", "call_tool_read"],
            true,
            rule(2),
        ),
        (&["eve", "up:echo"], false, default()),
        (&["operator", "up:echo"], false, default()),
        (&["ada", "off:echo"], false, guard()),
        (&["ada", "nowhere:echo"], false, guard()),
        (&["ada", "up:echo", "--profile", "none"], false, guard()),
    ] {
        let (code, verdict) = check(&daemon, arguments).await;
        assert_eq!(
            code,
            Some(if allowed { 0 } else { 4 }),
            "{arguments:?} {verdict}"
        );
        assert_eq!(verdict["allowed"], allowed, "{arguments:?} {verdict}");
        assert_eq!(
            (&verdict["decided_by"], &verdict["rule"]),
            (&by, &place),
            "{arguments:?} {verdict}"
        );
        assert!(
            verdict["reason"]
                .as_str()
                .is_some_and(|reason| !reason.is_empty())
        );
    }
    let (_, verdict) = check(&daemon, &["ada", "up:wave"]).await;
    let reason = r#"denied by serverAuth.acl.rules[1]: {"roles":["dev"],"tools":["up__wave"],"policy":"deny"}"#;
    assert_eq!(verdict["reason"], reason);
    for (arguments, key, expected) in [
        (
            &["bob", "up:echo"][..],
            "note",
            "a model that searches at /mcp also needs `call_tool_",
        ),
        (&["bob", "up:echo"], "note", "which is denied by default"),
        (
            &["bob", "up:echo"],
            "note",
            "the name `up__echo` works there without it",
        ),
        (
            &["Bob", "up:echo"],
            "note",
            "no token has the subject \"Bob\", did you mean \"bob\"?",
        ),
        (
            &["ada", "up:echo", "--profile", "none"],
            "reason",
            "the profile \"none\" does not show the server \"up\"",
        ),
    ] {
        let (_, verdict) = check(&daemon, arguments).await;
        let said = verdict[key].as_str().unwrap_or_default();
        assert!(said.contains(expected), "{arguments:?} {verdict}");
    }
    let (_, verdict) = check(&daemon, &["ada", "up:echo"]).await;
    assert_eq!(verdict["note"], Value::Null, "{verdict}");
    a_person_reads_why_once(&daemon).await;
    let (code, wrong) = check(&daemon, &["ada", "nonsense"]).await;
    assert_eq!((code, wrong["exit_code"].clone()), (Some(2), json!(2)));
    let (code, _) = check(&daemon, &["ada", "up:echo", "--profile", "absent"]).await;
    assert_eq!(code, Some(1));
}

#[tokio::test]
async fn access_check_names_the_tool_that_the_mode_needs() {
    let upstream = upstream().await;
    let mut auth = auth();
    auth["acl"] = json!({ "default": "deny", "rules": [
        { "subjects": ["bob"], "tools": ["up:echo"], "policy": "allow" },
        { "subjects": ["ada"], "tools": ["up:echo", "proxy"], "policy": "allow" },
    ] });
    let builder = with(&upstream, &auth).config(json!({ "routing_mode": "proxy" }));
    let daemon = builder.await;
    as_subject(&daemon, "/mcp/all", ADA)
        .await
        .wait_for_tool("up__echo")
        .await;
    let (_, verdict) = check(&daemon, &["bob", "up:echo"]).await;
    let note = verdict["note"].as_str().unwrap_or_default();
    let expected = "a model at /mcp also needs `proxy`, which is denied by default";
    assert!(note.starts_with(expected), "{verdict}");
    let (_, verdict) = check(&daemon, &["ada", "up:echo"]).await;
    assert_eq!(verdict["note"], Value::Null, "{verdict}");
}
