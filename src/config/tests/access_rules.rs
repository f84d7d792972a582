//! Rules, `profiles` and `rate_limit`: what can have no effect is named, and what they say holds.

use std::time::Duration;

use super::{printed, read, try_read};
use crate::config::ConfigError;

#[test]
fn profiles_and_limits_that_are_wrong_have_their_place_and_what_was_meant() {
    for (text, expected) in [
        (
            "{\n\"profiles\": {\n  \"office\": {\"tool\": [\"x\"]}}}",
            "line 3, column 14: `profiles.office.tool` is unknown; did you mean `tools`?",
        ),
        (
            "{\n  \"rate_limit\": {\"per_caler\": 5}}",
            "line 2, column 18: `rate_limit.per_caler` is unknown; did you mean `per_caller`?",
        ),
        (
            "{\n  \"rate_limit\": {}}",
            "line 2, column 3: `rate_limit` has no `per_caller`",
        ),
    ] {
        let error = try_read(text).expect_err(text).to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn rules_that_can_match_nothing_are_named() {
    let settings = read(
        r#"{"serverAuth": {"provider": "bearer", "bearer": {"tokens": {"short": "ada"}},
              "acl": {"default": "allow", "rules": [{"tools": ["gihtub__*", "s__x", "*__y", "own"], "policy": "deny"}]}},
            "profiles": {"p": {"servers": ["s", "t"], "tools": ["u:*"]}},
            "mcpServers": {"s": {"command": "x"}}}"#,
    );
    assert_eq!(
        printed(&settings.warnings),
        [
            "`serverAuth.bearer.tokens[ada]` is a token of fewer than 16 characters, which can be guessed",
            "`serverAuth.acl.rules[0]` names the server \"gihtub\", which is not configured",
            "`serverAuth.acl.rules[0]` names \"own\", which nothing can match; a server's tools and prompts are named \"SERVER__NAME\"",
            "`profiles.p` names the server \"u\", which is not configured",
            "`profiles.p` names the server \"t\", which is not configured",
        ]
    );
}

#[test]
fn a_rule_that_can_do_nothing_is_named_with_what_was_meant() {
    let rules = |provider: &str, rule: &str| {
        let warnings = read(&format!(
            r#"{{"serverAuth": {{{provider}, "acl": {{"default": "allow", "rules": [{rule}]}}}},
                "mcpServers": {{"weather": {{"command": "x"}}, "notes": {{"command": "x"}}}}}}"#
        ));
        printed(&warnings.all_warnings())
    };
    let bearer = r#""provider": "bearer", "bearer": {"tokens": {"0123456789abcdef": {"subject": "bob", "roles": ["admin"]}}}"#;
    for (rule, expected) in [
        (
            r#""tools": ["delete_note"]"#,
            Some("are named \"SERVER__NAME\""),
        ),
        (
            r#""tools": ["notes/delete_note"]"#,
            Some("did you mean \"notes__delete_note\"?"),
        ),
        (
            r#""tools": ["notes.delete_*"]"#,
            Some("did you mean \"notes__delete_*\"?"),
        ),
        (r#""tools": ["weather"]"#, Some("write \"weather__*\"")),
        (
            r#""tools": ["call_tool_raed"]"#,
            Some("did you mean \"call_tool_read\"?"),
        ),
        (
            r#""tools": ["wether*__get"]"#,
            Some("which nothing can match"),
        ),
        (
            r#""prompts": ["call_tool_read"]"#,
            Some("which nothing can match"),
        ),
        (
            r#""resources": ["wether__doc://*"]"#,
            Some("names the server \"wether\", which is not configured; did you mean \"weather\"?"),
        ),
        (
            r#""resources": ["weather__doc://*", "doc://a__b", "w*__x"]"#,
            None,
        ),
        (
            r#""subjects": ["bbo"]"#,
            Some("names the subject \"bbo\", which no token has; did you mean \"bob\"?"),
        ),
        (
            r#""roles": ["amdin"]"#,
            Some("names the role \"amdin\", which no token has; did you mean \"admin\"?"),
        ),
        (r#""roles": ["intern"]"#, Some("which no token has")),
        (
            r#""tools": ["weather*", "*_note", "*", "call_tool_*", "upstream_servers", "notes:x", "w*__get"]"#,
            None,
        ),
        (
            r#""subjects": ["b*", "operator", "anonymous"], "roles": ["*"]"#,
            None,
        ),
    ] {
        let warnings = rules(bearer, &format!(r#"{{{rule}, "policy": "deny"}}"#));
        assert_eq!(
            warnings.len(),
            usize::from(expected.is_some()),
            "{rule}: {warnings:?}"
        );
        for warning in &warnings {
            assert!(
                warning.starts_with("`serverAuth.acl.rules[0]` names "),
                "{warning}"
            );
            assert!(
                expected.is_some_and(|part| warning.contains(part)),
                "{warning}"
            );
        }
    }
    // A proxy may name anybody.
    let anybody = r#"{"subjects": ["bbo"], "roles": ["x"], "policy": "deny"}"#;
    assert!(rules(r#""provider": "forwarded""#, anybody).is_empty());
}

#[test]
fn a_default_that_shuts_out_the_operator_is_named() {
    for (rule, expected) in [
        (r#"{"subjects": ["operator"], "policy": "allow"}"#, false),
        (r#"{"policy": "allow", "tools": ["*__get_*"]}"#, false),
        (r#"{"subjects": ["ada"], "policy": "allow"}"#, true),
        (r#"{"roles": ["dev"], "policy": "allow"}"#, true),
        (
            r#"{"policy": "allow", "tools": ["call_tool_*", "retrieve_tools"]}"#,
            true,
        ),
        (r#"{"subjects": ["operator"], "policy": "deny"}"#, true),
    ] {
        let settings = read(&format!(
            r#"{{"serverAuth": {{"provider": "forwarded", "acl": {{"default": "deny", "rules": [{rule}]}}}},
                "mcpServers": {{"s": {{"command": "x"}}}}}}"#
        ));
        let warned = settings
            .warnings
            .iter()
            .any(|warning| warning.text.starts_with("you are denied, too"));
        assert_eq!(warned, expected, "{rule}: {:?}", settings.warnings);
    }
}

#[test]
fn a_profile_has_servers_and_tools() {
    let settings = read(
        r#"{"profiles": {"work": {"servers": ["git*", "notes"]}, "look": {"tools": ["*:get_*", "notes__*"]},
            "both": {"servers": ["github"], "tools": ["*__get_*"]}}}"#,
    );
    let has = |profile: &str, server: &str, tool: &str| {
        let profile = &settings.profiles[profile];
        (profile.has_server(server), profile.has_tool(server, tool))
    };
    assert_eq!(has("work", "github", "x"), (true, true));
    assert_eq!(has("work", "mail", "x"), (false, false));
    assert_eq!(has("look", "mail", "get_x"), (true, true));
    assert_eq!(has("look", "mail", "set_x"), (true, false));
    assert_eq!(has("look", "notes", "set_x"), (true, true));
    assert_eq!(has("both", "github", "get_x"), (true, true));
    assert_eq!(has("both", "github", "set_x"), (true, false));
    assert_eq!(has("both", "gitlab", "get_x"), (false, false));
    for bad in [
        r#"{"profiles": []}"#,
        r#"{"profiles": {"a/b": {}}}"#,
        r#"{"profiles": {"..": {}}}"#,
        r#"{"profiles": {"a": []}}"#,
        r#"{"profiles": {"a": {"servers": ["x"], "tool": ["y"]}}}"#,
        r#"{"profiles": {"a": {"servers": "x"}}}"#,
        r#"{"profiles": {"a": {"tools": ["[x]"]}}}"#,
    ] {
        assert!(
            matches!(try_read(bad), Err(ConfigError::Findings(_))),
            "{bad}"
        );
    }
}

#[test]
fn a_rate_limit_is_so_many_in_a_time() {
    let limit = |text: &str| {
        let limit = read(text).rate_limit.expect("a limit");
        (limit.interval, limit.burst)
    };
    assert_eq!(
        limit(r#"{"rate_limit": {"per_caller": 60}}"#),
        (Duration::from_secs(1), 60)
    );
    assert_eq!(
        limit(r#"{"rate_limit": {"per_caller": "10/s", "burst": 3}}"#),
        (Duration::from_millis(100), 3)
    );
    for bad in [
        "{}",
        r#"{"burst": 1}"#,
        r#"{"per_caller": 0}"#,
        r#"{"per_caller": 1, "burst": 0}"#,
        "5",
    ] {
        assert!(
            try_read(&format!(r#"{{"rate_limit": {bad}}}"#)).is_err(),
            "{bad}"
        );
    }
}
