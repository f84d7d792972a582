use std::path::Path;

use super::*;
use crate::config::{self, Surroundings};

fn acl(text: &str) -> Acl {
    let surroundings = Surroundings {
        lookup: &|_| None,
        folder: Path::new("/"),
    };
    let text = format!(r#"{{"serverAuth": {{"acl": {text}}}}}"#);
    let settings = config::parse(&text, &surroundings).expect("a configuration");
    let auth = settings.server_auth.expect("access control");
    auth.acl.clone().expect("rules")
}

/// `tool`, `prompt`, `resource` or `own`, and a name.
fn object(text: &str) -> Asked<'_> {
    let (kind, name) = text.split_once(' ').expect("a kind and a name");
    let (server, name) = name.split_once(' ').unwrap_or(("", name));
    match kind {
        "tool" => Asked::Tool { server, name },
        "prompt" => Asked::Prompt { server, name },
        "resource" => Asked::Resource { server, uri: name },
        _ => Asked::BuiltIn(name),
    }
}

#[track_caller]
fn check_as(acl: &Acl, who: (&str, &[&str]), text: &str, expected: (Policy, Option<usize>)) {
    let roles: Vec<String> = who.1.iter().map(|role| (*role).to_owned()).collect();
    let found = RulesFor::new(acl, who.0, &roles).decide(object(text), Reading::Exact);
    assert_eq!((found.policy, found.rule), expected, "{who:?} {text}");
}

use Policy::{Allow, Deny};

#[test]
fn the_first_rule_that_matches_decides() {
    let acl = acl(r#"{"default": "deny", "rules": [
            {"subjects": ["ada"], "tools": ["github__delete_*"], "policy": "deny"},
            {"subjects": ["ada", "*@example.com"], "tools": ["github__*", "retrieve_tools"], "policy": "allow"},
            {"roles": ["ops*"], "policy": "allow"},
            {"subjects": ["bob"], "roles": ["dev"], "tools": ["notes:get_*"], "policy": "allow"}
        ]}"#);
    let nobody: &[&str] = &[];
    for (who, text, expected) in [
        (("ada", nobody), "tool github delete_repo", (Deny, Some(0))),
        (("ada", nobody), "tool github get_repo", (Allow, Some(1))),
        (
            ("eve@example.com", nobody),
            "tool github delete_repo",
            (Allow, Some(1)),
        ),
        (
            ("eve@example.org", nobody),
            "tool github get_repo",
            (Deny, None),
        ),
        (("ada", nobody), "tool gitlab get_repo", (Deny, None)),
        (("ada", nobody), "own retrieve_tools", (Allow, Some(1))),
        (("ada", nobody), "own call_tool_read", (Deny, None)),
        (("ada", &["ops-eu"]), "own call_tool_read", (Allow, Some(2))),
        (
            ("ada", &["ops-eu"]),
            "tool github delete_repo",
            (Deny, Some(0)),
        ),
        (
            ("eve", &["dev", "ops"]),
            "resource x file:///a",
            (Allow, Some(2)),
        ),
        (("bob", nobody), "tool notes get_a", (Deny, None)),
        (("bob", &["dev"]), "tool notes get_a", (Allow, Some(3))),
        (("bob", &["dev"]), "tool notes set_a", (Deny, None)),
        (("eve", &["dev"]), "tool notes get_a", (Deny, None)),
        (("Ada", nobody), "tool github get_repo", (Deny, None)),
    ] {
        check_as(&acl, who, text, expected);
    }
}

#[test]
fn an_empty_list_matches_all_and_a_rule_for_other_things_no_tools() {
    let check = |rule: &str, text: &str, matches: bool| {
        let acl = acl(&format!(r#"{{"default": "deny", "rules": [{rule}]}}"#));
        let expected = if matches {
            (Allow, Some(0))
        } else {
            (Deny, None)
        };
        check_as(&acl, ("ada", &[]), text, expected);
    };
    let all = r#"{"subjects": [], "roles": [], "tools": [], "policy": "allow"}"#;
    for text in [
        "tool s t",
        "prompt s p",
        "resource s u:r",
        "own retrieve_tools",
    ] {
        check(all, text, true);
        check(r#"{"policy": "allow"}"#, text, true);
        check(r#"{"tools": ["*"], "policy": "allow"}"#, text, true);
    }
    let prompts = r#"{"prompts": ["s__*"], "policy": "allow"}"#;
    check(prompts, "prompt s p", true);
    check(prompts, "prompt t p", false);
    check(prompts, "tool s p", false);
    check(prompts, "own retrieve_tools", false);
    check(prompts, "resource s s__x", false);
    let resources = r#"{"resources": ["file:///pub/*", "s__*"], "policy": "allow"}"#;
    check(resources, "resource t file:///pub/a", true);
    check(resources, "resource t file:///a", false);
    check(resources, "resource s file:///a", true);
    check(resources, "tool s t", false);
    let tools = r#"{"tools": ["s__*"], "policy": "allow"}"#;
    check(tools, "prompt s p", true);
    check(tools, "resource s file:///a", true);
    check(tools, "resource t file:///a", false);
    let without_prompts = r#"{"tools": ["s__*"], "prompts": ["s__x"], "policy": "allow"}"#;
    check(without_prompts, "prompt s p", false);
    check(without_prompts, "prompt s x", true);
    check(without_prompts, "resource s u:r", true);
}

#[test]
fn no_spelling_passes_for_what_is_denied() {
    let acl = acl(r#"{"default": "allow", "rules": [
            {"tools": ["s__delete_*"], "policy": "deny"},
            {"resources": ["file:///secret/*", "https://secret.example/*"], "policy": "deny"},
            {"subjects": ["eve"], "resources": ["file:///pub/*"], "policy": "allow"},
            {"subjects": ["eve"], "resources": ["*"], "policy": "deny"}
        ]}"#);
    let decide = |subject: &str, text: &str| {
        RulesFor::new(&acl, subject, &[])
            .decide(object(text), Reading::Lenient)
            .policy
    };
    for denied in [
        "tool s delete_x",
        "tool s DELETE_X",
        "tool s delete-x",
        "tool s deletex",
        "prompt s Delete x",
        "tool s %64elete_x",
        "tool s %2564elete_x",
        "tool s delete%5Fx",
        "tool s ｄｅｌｅｔｅ_ｘ",
        "tool s d\u{435}lete_x",
        "tool s delete\u{200b}_x",
        "tool s 𝐝𝐞𝐥𝐞𝐭𝐞_x",
        "tool s d\u{e9}lete_x",
        "tool s remove\u{200b}x",
        "tool s løschen",
        "tool s del\\u0065te_x",
        "tool s wave\u{0}x",
        "tool s wave%00x",
        "tool s x/../delete_y",
        "tool s x/./../delete_y",
        "tool s x/y/../../delete_y",
        "tool s x/..//delete_y",
        "tool s x/../DELETE_Y",
        "tool s x\\..\\delete_y",
        "tool s x/%2e%2e/delete_y",
        "prompt s x/../delete_y",
        "prompt s x_../delete_y",
        "prompt s %64elete_x",
        "prompt s w\u{430}ve",
        "resource s file:///secret/a",
        "resource s FILE:///Secret/a",
        "resource s file:///%73ecret/a",
        "resource s file:///%2573ecret/a",
        "resource s file:////secret//a",
        "resource s file:///pub/../secret/a",
        "resource s file:///pub/%2e%2e/x",
        "resource s file:\\\\\\secret\\a",
        "resource s file://localhost/secret/a",
        "resource s file://x/secret/a",
        "resource s file:secret/a",
        "resource s file:///sec\tret/a",
        "resource s file:///pub/.\t./secret/a",
        "resource s  file:///secret/a",
        "resource s \u{1}file:///secret/a",
        "resource s https://secret.example:443/a",
        "resource s https://u:p@secret.example/a",
        "resource s https://secret.example./a",
        "resource s https:secret.example/a",
        "resource s https:///secret.example/a",
        "resource s https://sec\nret.example/a",
        "resource s https://ｓecret.example/a",
        "resource s https://secret。example/a",
    ] {
        assert_eq!(decide("ada", denied), Deny, "{denied}");
    }
    for allowed in [
        "tool s undelete",
        "tool s w%61ve",
        "tool s new.tool/v2",
        "tool t delete_x",
        "tool t løschen",
        "resource s file:///pub/a",
        "resource s https://other.example/a",
        "resource s https://secret.example:8443/a",
        "resource s memo:secret",
    ] {
        assert_eq!(decide("ada", allowed), Allow, "{allowed}");
    }
    assert_eq!(decide("eve", "resource s file:///pub/a"), Allow);
    assert_eq!(decide("eve", "resource s file:///pub/../etc"), Deny);
}

#[test]
fn a_name_that_may_be_read_otherwise_is_allowed_by_no_rule_unless_it_is_listed() {
    let acl = acl(r#"{"default": "deny", "rules": [{"tools": ["s__get_*"], "policy": "allow"}]}"#);
    for (text, lenient) in [
        ("tool s get_x", Allow),
        ("tool s g%65t_x", Deny),
        ("tool s get_\u{200b}x", Deny),
        ("tool s get_ｘ", Deny),
        ("tool s get_x\u{430}", Deny),
        ("tool s get_../del_x", Deny),
        ("tool s get_x/../del_x", Deny),
        ("tool s get_x/y.z", Allow),
    ] {
        let decide = |reading| {
            let rules = RulesFor::new(&acl, "ada", &[]);
            rules.decide(object(text), reading).policy
        };
        assert_eq!(decide(Reading::Lenient), lenient, "{text}");
    }
    let listed = RulesFor::new(&acl, "ada", &[]).decide(object("tool s get_ｘ"), Reading::Exact);
    assert_eq!(listed.policy, Allow);
}

#[test]
fn what_of_a_server_may_be_had() {
    let check = |rules: &str, default: &str, some: bool, all: bool| {
        let acl = acl(&format!(
            r#"{{"default": "{default}", "rules": [{rules}]}}"#
        ));
        let rules_for = RulesFor::new(&acl, "ada", &[]);
        let found = (rules_for.may_have_some("s"), rules_for.may_have_all("s"));
        assert_eq!(found, (some, all), "{rules} {default}");
    };
    check("", "allow", true, true);
    check("", "deny", false, false);
    check(
        r#"{"tools": ["s__*"], "policy": "allow"}"#,
        "deny",
        true,
        true,
    );
    check(
        r#"{"tools": ["s__a"], "policy": "allow"}"#,
        "deny",
        true,
        false,
    );
    check(
        r#"{"tools": ["t__*", "retrieve_tools"], "policy": "allow"}"#,
        "deny",
        false,
        false,
    );
    check(
        r#"{"tools": ["s__*"], "policy": "deny"}"#,
        "allow",
        false,
        false,
    );
    check(
        r#"{"tools": ["s__a"], "policy": "deny"}"#,
        "allow",
        true,
        false,
    );
    check(
        r#"{"tools": ["t__*"], "policy": "deny"}"#,
        "allow",
        true,
        true,
    );
    check(
        r#"{"subjects": ["bob"], "policy": "deny"}"#,
        "allow",
        true,
        true,
    );
    check(
        r#"{"prompts": ["s__*"], "policy": "allow"}"#,
        "deny",
        true,
        false,
    );
    check(
        r#"{"tools": ["*__delete_*"], "policy": "deny"}, {"tools": ["s__*"], "policy": "allow"}"#,
        "deny",
        true,
        false,
    );
}

#[test]
fn a_hundred_rules_are_read_in_order() {
    let rules: Vec<String> = (0..100)
        .map(|n| {
            format!(
                r#"{{"subjects": ["u{n}"], "tools": ["s{n}__*", "s0__get_*"], "policy": "allow"}}"#
            )
        })
        .collect();
    let acl = acl(&format!(
        r#"{{"default": "deny", "rules": [{}]}}"#,
        rules.join(",")
    ));
    for n in 0..100 {
        let subject = format!("u{n}");
        check_as(
            &acl,
            (&subject, &[]),
            &format!("tool s{n} x"),
            (Allow, Some(n)),
        );
        check_as(&acl, (&subject, &[]), "tool s0 get_x", (Allow, Some(n)));
        check_as(&acl, (&subject, &[]), "tool s100 x", (Deny, None));
    }
}

#[test]
fn the_rules_of_a_caller_are_those_that_concern_it_in_their_order() {
    let acl = acl(r#"{"default": "deny", "rules": [
            {"subjects": ["bob", "ada", "ada"], "tools": ["a__*"], "policy": "deny"},
            {"tools": ["b__*"], "policy": "deny"},
            {"subjects": ["ada"], "tools": ["c__*"], "policy": "deny"},
            {"subjects": ["a*"], "tools": ["d__*"], "policy": "deny"},
            {"subjects": ["ada", "*@example.com"], "tools": ["e__*"], "policy": "deny"},
            {"subjects": ["ada"], "roles": ["ops"], "tools": ["f__*"], "policy": "deny"},
            {"roles": ["ops"], "tools": ["g__*"], "policy": "deny"},
            {"subjects": ["bob"], "tools": ["h__*"], "policy": "deny"}
        ]}"#);
    let ops = ["ops".to_owned()];
    for (subject, roles, expected) in [
        ("ada", &[][..], vec![0, 1, 2, 3, 4]),
        ("ada", &ops, vec![0, 1, 2, 3, 4, 5, 6]),
        ("bob", &[], vec![0, 1, 7]),
        ("eve@example.com", &[], vec![1, 4]),
        ("nobody", &ops, vec![1, 6]),
    ] {
        let rules = RulesFor::new(&acl, subject, roles).rules();
        let places: Vec<usize> = rules.map(|(place, _)| place).collect();
        assert_eq!(places, expected, "{subject} {roles:?}");
    }
}

#[test]
fn a_name_is_folded_once_however_many_patterns_there_are() {
    let patterns: Vec<String> = (0..60).map(|n| format!("s__delete_{n}*")).collect();
    let rules = serde_json::json!({
        "default": "allow",
        "rules": [
            { "tools": patterns, "policy": "deny" },
            { "resources": patterns, "policy": "deny" },
            { "tools": ["*wipe*"], "policy": "deny" },
        ],
    });
    let acl = acl(&rules.to_string());
    for kind in ["tool", "prompt", "resource"] {
        let text = format!("{kind} s {}", "a%41/".repeat(1600));
        let before = letters::decoded_bytes();
        let found = RulesFor::new(&acl, "ada", &[]).decide(object(&text), Reading::Lenient);
        let read = letters::decoded_bytes() - before;
        assert_eq!(found.policy, Allow, "{kind}");
        assert!(read < 8 * text.len(), "{read} bytes for {}", text.len());
    }
}
