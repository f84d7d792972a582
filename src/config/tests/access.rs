//! `serverAuth`: what is not understood as a whole lets nobody in.

use super::{read, try_read};
use crate::config::{ConfigError, LineColumn, Policy, Provider};

/// The error of a configuration that is refused; with the line and the column where it is wrong.
#[track_caller]
fn check_at(text: &str, expected_place: (usize, usize), expected: &str) {
    let error = try_read(text).expect_err(text);
    let place = error.findings().first().and_then(|finding| finding.place);
    let LineColumn { line, column } = place.unwrap_or_else(|| panic!("{error}"));
    assert!(error.to_string().contains(expected), "{text}: {error}");
    assert_eq!((line, column), expected_place, "{error}");
}

/// The same, wherever it is.
#[track_caller]
fn check(auth: &str, expected: &str) {
    let text = format!("{{\"serverAuth\": {auth}}}");
    let error = try_read(&text).expect_err(&text);
    assert!(matches!(error, ConfigError::Findings(_)), "{error}");
    assert!(error.to_string().contains(expected), "{text}: {error}");
}

#[test]
fn access_control_is_read_whole() {
    let settings = read(
        r#"{"serverAuth": {
            "providers": ["forwarded", "bearer"],
            "bearer": {"tokens": {"${TOKEN}-of-sixteen": "ada", "0123456789abcdef-b": {"subject": "bob", "roles": ["dev"]}}},
            "forwarded": {"header": "X-User", "groups_header": "X-Groups", "trusted_proxies": ["10.0.0.0/8", "::1"]},
            "acl": {"default": "deny", "rules": [{"subjects": ["ada"], "policy": "allow"}]}
        }}"#,
    );
    let auth = settings.server_auth.as_ref().expect("access control");
    assert_eq!(auth.providers, [Provider::Forwarded, Provider::Bearer]);
    assert_eq!(auth.tokens[0].token.reveal(), "s3cret-value-of-sixteen");
    assert_eq!(auth.tokens[1].roles, ["dev"]);
    assert_eq!(auth.forwarded.header, "x-user");
    assert_eq!(auth.forwarded.trusted_proxies.len(), 2);
    let acl = auth.acl.as_ref().expect("rules");
    assert_eq!((acl.default, acl.rules.len()), (Policy::Deny, 1));
    // Nothing of a token shows.
    let shown = format!("{settings:?}");
    assert!(
        !shown.contains("s3cret") && !shown.contains("0123456789abcdef"),
        "{shown}"
    );
    let redacted = settings.secrets();
    assert_eq!(redacted.redacted("x 0123456789abcdef-b y"), "x *** y");
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn whatever_is_unknown_or_malformed_refuses_to_start() {
    let tokens = r#""bearer": {"tokens": {"0123456789abcdef": "ada"}}"#;
    for (auth, expected) in [
        ("{}", "has no `provider`, `acl` or `required`"),
        ("[]", "must be an object"),
        ("true", "must be an object"),
        (r#"{"providr": "bearer"}"#, "did you mean `provider`?"),
        (
            r#"{"tokens": {}}"#,
            "`serverAuth` has an unknown key; use `provider`",
        ),
        (r#"{"rules": []}"#, "has an unknown key; use `provider`"),
        (
            r#"{"rate_limit": {}}"#,
            "has an unknown key; use `provider`",
        ),
        (
            r#"{"acl": {"default": "deny", "rules": [{"policy": "allow", "servers": ["x"]}]}}"#,
            "rules[0].servers` is unknown; did you mean `tools`?",
        ),
        (
            r#"{"acl": {"default": "deny", "rules": [{"effect": "allow"}]}}"#,
            "did you mean `policy`?",
        ),
        (
            r#"{"bearer": {"tokens": {"0123456789abcdef": "ada"}}}"#,
            "add `\"provider\": \"bearer\"`",
        ),
        (
            r#"{"provider": "basic"}"#,
            r#"must be one of "bearer", "forwarded""#,
        ),
        (
            r#"{"provider": null, "acl": {"default": "deny"}}"#,
            r#"must be one of "bearer", "forwarded""#,
        ),
        (r#"{"provider": "bearer"}"#, "has no `bearer.tokens`"),
        (r#"{"provider": "bearer", "bearer": {}}"#, "has no `tokens`"),
        (
            r#"{"provider": "bearer", "bearer": {"tokens": {}}}"#,
            "every client would be refused",
        ),
        (
            r#"{"provider": "bearer", "bearer": {"tokens": []}}"#,
            "must be an object",
        ),
        (
            r#"{"provider": "bearer", "bearer": {"tokens": {"a b": "ada"}}}"#,
            "is not a token",
        ),
        (
            r#"{"provider": "bearer", "bearer": {"tokens": {"": "ada"}}}"#,
            "is empty",
        ),
        (
            r#"{"provider": "bearer", "bearer": {"tokens": {"${NOPE}": "ada"}}}"#,
            "needs the variable NOPE",
        ),
        (
            r#"{"provider": "bearer", "bearer": {"tokens": {"t": ""}}}"#,
            "is empty",
        ),
        (
            r#"{"provider": "bearer", "bearer": {"tokens": {"t": 1}}}"#,
            "must be a string",
        ),
        (
            r#"{"provider": "bearer", "bearer": {"tokens": {"t": "operator"}}}"#,
            "reserved by mcpproxy",
        ),
        (
            r#"{"provider": "bearer", "bearer": {"tokens": {"t": "a,b"}}}"#,
            "contains a comma",
        ),
        (
            r#"{"provider": "bearer", "bearer": {"tokens": {"t": {"roles": []}}}}"#,
            "has no `subject`",
        ),
        (
            r#"{"provider": "bearer", "bearer": {"tokens": {"t": {"subject": "a", "role": []}}}}"#,
            "did you mean `roles`?",
        ),
        (
            r#"{"provider": "bearer", "bearer": {"tokens": {"t": "a", "t": "b"}}}"#,
            "`serverAuth.bearer.tokens[b]` appears twice",
        ),
        (
            r#"{"provider": "bearer", "bearer": {"tokens": {"${TOKEN}": "a", "s3cret-value": "b"}}}"#,
            "has the same token twice, for a and b",
        ),
        (
            &format!("{{{tokens}}}"),
            r#"has no effect: add `"provider": "bearer"`, or"#,
        ),
        (
            &format!(r#"{{"provider": "forwarded", {tokens}}}"#),
            r#"write `"providers": ["forwarded", "bearer"]` instead"#,
        ),
        (
            &format!(r#"{{"providers": ["forwarded"], {tokens}}}"#),
            r#"add `"bearer"` to `providers`"#,
        ),
        (
            &format!(r#"{{"provider": "bearer", "providers": ["bearer"], {tokens}}}"#),
            "both `providers` and `provider`",
        ),
        (
            &format!(r#"{{"providers": ["bearer", "bearer"], {tokens}}}"#),
            r#"names "bearer" twice in `providers`; remove one"#,
        ),
        (
            &format!(r#"{{"provider": "bearer", "provider": "bearer", {tokens}}}"#),
            "appears twice",
        ),
        (
            r#"{"providers": []}"#,
            "has no `provider`, `acl` or `required`",
        ),
        (
            r#"{"provider": "forwarded", "forwarded": {"header": "a b"}}"#,
            "is not the name of a header",
        ),
        (
            r#"{"provider": "forwarded", "forwarded": {"header": "Authorization"}}"#,
            "with another meaning",
        ),
        (
            r#"{"provider": "forwarded", "forwarded": {"header": "x", "groups_header": "X"}}"#,
            "the same header for users and groups",
        ),
        (
            r#"{"provider": "forwarded", "forwarded": {"trusted_proxies": ["0.0.0.0/0"]}}"#,
            "matches every address",
        ),
        (
            r#"{"provider": "forwarded", "forwarded": {"trusted_proxies": ["10.0.0.1/8"]}}"#,
            "beyond its prefix; write 10.0.0.0/8",
        ),
        (
            r#"{"provider": "forwarded", "forwarded": {"trusted_proxies": ["proxy"]}}"#,
            "neither an address",
        ),
        (
            r#"{"provider": "forwarded", "forwarded": {"trusted_proxies": []}}"#,
            "every user from a proxy would be refused",
        ),
        (r#"{"acl": []}"#, "must be an object"),
        (r#"{"acl": {"rules": []}}"#, "has no `default`"),
        (
            r#"{"acl": {"default": "maybe"}}"#,
            r#"must be one of "allow", "deny""#,
        ),
        (
            r#"{"acl": {"default": "deny", "rules": {}}}"#,
            "must be a list",
        ),
        (
            r#"{"acl": {"default": "deny", "rules": [{}]}}"#,
            "has no `policy`",
        ),
        (
            r#"{"acl": {"default": "deny", "rules": [{"policy": "allow", "tool": ["x"]}]}}"#,
            "did you mean `tools`?",
        ),
        (
            r#"{"acl": {"default": "deny", "rules": [{"policy": "allow", "tools": "x"}]}}"#,
            "must be a list",
        ),
        (
            r#"{"acl": {"default": "deny", "rules": [{"policy": "allow", "tools": [1]}]}}"#,
            "must be a string",
        ),
        (
            r#"{"acl": {"default": "deny", "rules": [{"policy": "allow", "tools": ["a[b]"]}]}}"#,
            "`*` is the only wildcard",
        ),
        (
            r#"{"acl": {"default": "deny", "rules": [{"policy": "allow", "subjects": [""]}]}}"#,
            "is empty",
        ),
        (
            r#"{"acl": {"default": "deny", "rules": [{"policy": "allow", "prompts": []}]}}"#,
            "write [\"*\"] for all",
        ),
        (
            r#"{"acl": {"default": "deny", "rules": [{"policy": "allow", "policy": "deny"}]}}"#,
            "appears twice",
        ),
    ] {
        check(auth, expected);
    }
}

#[test]
fn a_mistake_has_its_line_and_column_and_shows_no_token() {
    check_at(
        "{\n  \"serverAuth\": {\n    \"acl\": {\"default\": \"dney\"}\n  }\n}",
        (3, 13),
        "`serverAuth.acl.default` must be",
    );
    check_at(
        "{\n  // ä\n  \"serverAuth\": {\"provider\": \"bearer\", \"bearer\": {\"tokens\": {\"hunter2\": 3}}}\n}",
        (3, 62),
        "`serverAuth.bearer.tokens[0]` must be a string",
    );
    let twice = "{\"serverAuth\": {\"acl\": {\"default\": \"deny\"}},\n\"serverAuth\": {}}";
    check_at(twice, (2, 1), "appears twice");
    for hidden in [
        r#"{"provider": "bearer", "bearer": {"hunter2-hunter2": "ada"}}"#,
        r#"{"provider": "bearer", "bearer": {"tokens": {"hunter2-hunter2": {"x": 1}}}}"#,
        r#"{"provider": "bearer", "bearer": {"tokens": {"hunter2-hunter2": "a", "hunter2-hunter2": "b"}}}"#,
    ] {
        let error = try_read(&format!("{{\"serverAuth\": {hidden}}}")).expect_err(hidden);
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }
}

#[test]
fn what_looks_like_access_control_is_not_passed_over() {
    check_at(
        r#"{"server_auth": {"acl": {}}}"#,
        (1, 2),
        "is called `serverAuth`",
    );
    check_at(
        r#"{"listen": ":1", "ServerAuth": {}}"#,
        (1, 18),
        "is called `serverAuth`",
    );
    check_at(
        r#"{"require_mcp_auth": true}"#,
        (1, 2),
        "set `serverAuth` instead",
    );
    check_at(r#"{"serverAuth": null}"#, (1, 2), "must be an object");
    assert!(read(r#"{"require_mcp_auth": false}"#).server_auth.is_none());
    let both = r#"{"require_mcp_auth": true, "serverAuth": {"provider": "forwarded"}}"#;
    assert!(read(both).server_auth.is_some());
    let rules_only = r#"{"require_mcp_auth": true, "serverAuth": {"acl": {"default": "deny"}}}"#;
    assert!(try_read(rules_only).is_err());
}

#[test]
fn parts_of_access_control_at_the_top_level_refuse_to_start() {
    for key in [
        "auth",
        "bearer",
        "tokens",
        "provider",
        "providers",
        "forwarded",
        "acl",
        "ACL",
    ] {
        let text =
            format!("{{\n  \"mcpServers\": {{}},\n  \"{key}\": {{\"default\": \"deny\"}}\n}}");
        check_at(&text, (3, 3), "`serverAuth");
        // What is not there guards nothing.
        assert!(read(&format!("{{\"{key}\": null}}")).server_auth.is_none());
    }
    for key in [
        "serverAuht",
        "server-auth",
        "serverauth",
        "srverAuth",
        "serverAuths",
    ] {
        check_at(
            &format!("{{\"{key}\": {{}}}}"),
            (1, 2),
            "is called `serverAuth`",
        );
    }
    for other in [
        "features",
        "security",
        "tls",
        "servers",
        "server",
        "registries",
        "users",
    ] {
        read(&format!("{{\"{other}\": {{}}}}"));
    }
}

#[test]
fn a_token_in_the_place_of_its_subject_is_refused_and_not_shown() {
    let tokens = |tokens: &str| {
        try_read(&format!(
            "{{\"serverAuth\": {{\"provider\": \"bearer\", \"bearer\": {{\"tokens\": {tokens}}}}}}}"
        ))
    };
    for (swapped, secret) in [
        (r#"{"bob": "bob-token-0123456789abcdef"}"#, "0123456789"),
        (
            r#"{"bob": {"subject": "bob-token-0123456789abcdef"}}"#,
            "0123456789",
        ),
        (r#"{"bob": "${TOKEN}-1234"}"#, "s3cret"),
        (
            r#"{"0123456789abcdef-of-bob": "ghp_abcdefghijklmnopqrstuvwxyz0123456789"}"#,
            "ghp_",
        ),
        (r#"{"bob": "Zk3vQ9xT1mB7cN5wR2yL8pD4"}"#, "Zk3v"),
    ] {
        let error = tokens(swapped).expect_err(swapped).to_string();
        assert!(error.contains("has a token as the subject"), "{error}");
        assert!(error.starts_with("line 1, column "), "{error}");
        assert!(!error.contains(secret), "{error}");
    }
    for sound in [
        r#"{"t": "ada"}"#,
        r#"{"t": "somebody.with.a.long-name2@example.com"}"#,
        r#"{"0123456789abcdef": "github-actions-runner-01"}"#,
        r#"{"0123456789abcdef": "continuousintegration2"}"#,
        r#"{"short": "continuous-integration"}"#,
    ] {
        assert!(tokens(sound).is_ok(), "{sound}");
    }
}

#[test]
fn all_mistakes_are_named_each_with_its_place() {
    let text = r#"{
  "acl": {},
  "serverAuth": {
    "providers": ["bearer", "basic", "bearer"],
    "bearer": {"tokens": {
      "0123456789abcdef": {"role": []},
      "a b": "ada"
    }},
    "forwarded": {"header": "a b", "trusted_proxies": ["proxy", "0.0.0.0/0"]},
    "acl": {
      "rules": [
        {"tool": ["x"], "tools": ["a[b]", 1]},
        {"policy": "dney"}
      ]
    },
    "acls": 1
  }
}"#;
    let error = try_read(text).expect_err("nobody is let in").to_string();
    let expected = [
        "line 2, column 3: `acl` belongs under",
        "line 4, column 29: `serverAuth.providers[1]` must be",
        "line 6, column 7: `serverAuth.bearer.tokens[0]` has no `subject`",
        "line 6, column 28: `serverAuth.bearer.tokens[0].role` is unknown",
        "line 7, column 7: `serverAuth.bearer.tokens[ada]` is not a token",
        "line 9, column 19: `serverAuth.forwarded.header` is not the name",
        "line 9, column 56: `serverAuth.forwarded.trusted_proxies[0]` is neither",
        "line 9, column 65: `serverAuth.forwarded.trusted_proxies[1]` matches every address",
        "line 10, column 5: `serverAuth.acl` has no `default`",
        "line 12, column 9: `serverAuth.acl.rules[0]` has no `policy`",
        "line 12, column 10: `serverAuth.acl.rules[0].tool` is unknown",
        "line 12, column 35: `serverAuth.acl.rules[0].tools[0]` contains '['",
        "line 12, column 43: `serverAuth.acl.rules[0].tools[1]` must be a string",
        "line 13, column 10: `serverAuth.acl.rules[1].policy` must be",
        "line 16, column 5: `serverAuth.acls` is unknown; did you mean `acl`?",
    ];
    let mut rest = error.as_str();
    for expected in expected {
        let after = rest.split_once(expected);
        (_, rest) = after.unwrap_or_else(|| panic!("{expected} in order in {error}"));
    }
    assert_eq!(error.matches("line ").count(), expected.len(), "{error}");
    let many = vec![r#"{"policy": 1}"#; 50].join(",");
    let many = format!(r#"{{"serverAuth": {{"acl": {{"default": "deny", "rules": [{many}]}}}}}}"#);
    let error = try_read(&many).expect_err("nobody is let in").to_string();
    assert!(error.ends_with("; and 30 more"), "{error}");
    assert_eq!(error.matches("must be one of \"allow\"").count(), 20);
}
