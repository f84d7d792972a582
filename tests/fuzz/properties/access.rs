//! Who asks and what they may have: no header makes two people of one, and the rules say what a slow reading of them says.

use std::path::Path;

use http::{HeaderMap, HeaderName, HeaderValue, header};
use mcpproxy::{
    access::{
        acl::{Asked, Reading, RulesFor},
        bearer_token, forwarded_user,
    },
    config::{Acl, Forwarded, Policy, Surroundings, Wildcard, parse},
    wire::header_value,
};
use serde_json::{Value, json};

/// Limit: rules of one script, and questions about them.
const TRIED: usize = 16;

/// The first byte says what the rest is: headers, or a script of lines.
pub fn check(input: &[u8]) {
    let Some((kind, rest)) = input.split_first() else {
        return;
    };
    match kind {
        b'h' => check_headers(rest),
        b'a' => check_acl(rest),
        b'r' => check_rules(rest),
        b'v' => check_header_value(rest),
        _ => check_wildcard(rest),
    }
}

/// Values of headers, one a line.
fn check_headers(input: &[u8]) {
    let names = Forwarded {
        groups_header: Some(HeaderName::from_static("x-groups")),
        ..Forwarded::default()
    };
    let lines = input.split(|byte| *byte == b'\n').take(TRIED);
    let values: Vec<HeaderValue> = lines
        .filter_map(|line| HeaderValue::from_bytes(line).ok())
        .collect();
    for (index, value) in values.iter().enumerate() {
        let one = HeaderMap::from_iter([(header::AUTHORIZATION, value.clone())]);
        if let Ok(Some(token)) = bearer_token(&one) {
            assert!(!token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic()));
            let text = value.to_str().expect("a token is text");
            assert!(text.trim_end_matches(' ').ends_with(token), "{text:?}");
        }
        let mut user = HeaderMap::from_iter([(names.header.clone(), value.clone())]);
        let groups = values.get(index + 1);
        if let Some(groups) = groups {
            user.insert("x-groups", groups.clone());
        }
        if let Ok(Some(found)) = forwarded_user(&user, &names) {
            assert_eq!(found.subject.as_bytes(), value.as_bytes());
            let is_name = |name: &String| {
                !name.is_empty() && !name.contains(',') && !name.chars().any(char::is_control)
            };
            assert!(
                is_name(&found.subject) && found.roles.iter().all(is_name),
                "{found:?}"
            );
            assert!(!["anonymous", "operator"].contains(&found.subject.to_lowercase().as_str()));
        }
        // What stands there twice says nothing, whatever it is.
        for name in [header::AUTHORIZATION, names.header.clone()] {
            let mut twice = HeaderMap::new();
            twice.append(name.clone(), value.clone());
            twice.append(name, groups.unwrap_or(value).clone());
            assert!(bearer_token(&twice).is_err() || forwarded_user(&twice, &names).is_err());
        }
    }
}

/// A text that travels as the value of a header, and a value that somebody sent.
fn check_header_value(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let value = header_value::encode(&text);
    assert!(
        value.bytes().all(|byte| (b' '..=b'~').contains(&byte)) && value.trim() == value,
        "{value:?}"
    );
    assert_eq!(header_value::decode(&value).as_deref(), Some(&*text));
    if let Some(said) = header_value::decode(&text) {
        let written = header_value::encode(&said);
        assert_eq!(header_value::decode(&written).as_ref(), Some(&said));
    }
}

/// Any text as `serverAuth`.
fn check_acl(input: &[u8]) {
    let Ok(text) = str::from_utf8(input) else {
        return;
    };
    let text = format!("{{\"serverAuth\": {text}\n}}");
    let lookup = |name: &str| {
        name.len()
            .is_multiple_of(2)
            .then(|| "0123456789abcdef-x".to_owned())
    };
    let surroundings = Surroundings {
        lookup: &lookup,
        folder: Path::new("/folder"),
    };
    match parse(&text, &surroundings) {
        Ok(settings) => {
            let Some(auth) = settings.server_auth else {
                return;
            };
            assert!(
                auth.asks_for_credentials() || auth.acl.is_some() || auth.required.is_some(),
                "it says nothing: {text}"
            );
            let shown = format!("{auth:?}");
            for token in &auth.tokens {
                let token = token.token.reveal();
                let is_word =
                    token.len() < 8 || "serverauthbearerforwarded".contains(&token.to_lowercase());
                assert!(
                    is_word || !shown.contains(token) || text.matches(token).count() > 1,
                    "{shown}"
                );
            }
        }
        Err(error) => {
            for place in error.findings().iter().filter_map(|found| found.place) {
                let line = text.split('\n').nth(place.line - 1);
                let longest = line.map(|line| line.chars().count() + 1);
                assert!(
                    longest.is_some_and(|longest| place.column <= longest),
                    "{place} of {text}"
                );
            }
        }
    }
}

/// Lines `subject|role|pattern|policy` are rules, and lines `subject role server name` are questions.
fn check_rules(input: &[u8]) {
    let Ok(text) = str::from_utf8(input) else {
        return;
    };
    let mut rules: Vec<Value> = Vec::new();
    let mut questions = Vec::new();
    for line in text.lines() {
        let fields: Vec<&str> = line.split('|').collect();
        let question: Vec<&str> = line.split(' ').collect();
        match (&fields[..], &question[..]) {
            ([subject, role, pattern, policy], _) if rules.len() < TRIED => {
                let policy = if policy.len().is_multiple_of(2) {
                    "deny"
                } else {
                    "allow"
                };
                rules.push(json!({ "subjects": [subject], "roles": [role], "tools": [pattern], "policy": policy }));
            }
            (_, [subject, role, server, name]) if questions.len() < TRIED => {
                questions.push((*subject, (*role).to_owned(), *server, *name));
            }
            _ => (),
        }
    }
    let acl = json!({ "default": "deny", "rules": rules });
    let text = json!({ "serverAuth": { "acl": acl } })
        .to_string()
        .replace("${", "$${");
    let surroundings = Surroundings {
        lookup: &|_| None,
        folder: Path::new("/folder"),
    };
    let Ok(settings) = parse(&text, &surroundings) else {
        return;
    };
    let auth = settings.server_auth.expect("it is there");
    let acl = auth.acl.as_ref().expect("rules");
    for (subject, role, server, name) in &questions {
        ask(acl, &rules, (subject, role, server, name));
    }
}

fn ask(acl: &Acl, rules: &[Value], (subject, role, server, name): (&str, &str, &str, &str)) {
    let all_roles = [role.to_owned()];
    let caller = RulesFor::new(acl, subject, &all_roles);
    let asked = Asked::Tool { server, name };
    let found = caller.decide(asked, Reading::Exact);
    let text = |rule: &Value, key: &str| rule[key][0].as_str().unwrap_or_default().to_owned();
    let expected = rules.iter().position(|rule| {
        slow(&text(rule, "subjects"), subject)
            && slow(&text(rule, "roles"), role)
            && is_named(&text(rule, "tools"), server, name)
    });
    assert_eq!(
        found.rule, expected,
        "{rules:?} {subject} {role} {server} {name}"
    );
    let policy = expected.map_or(Policy::Deny, |place| acl.rules[place].policy);
    assert_eq!(found.policy, policy);
    // What may be read otherwise is never allowed where it is denied as it stands.
    let lenient = caller.decide(asked, Reading::Lenient).policy;
    assert!(lenient == Policy::Deny || found.policy == Policy::Allow);
    // What of a server is allowed is something of it, and all of it.
    assert!(
        found.policy == Policy::Deny || caller.may_have_some(server),
        "{rules:?}"
    );
    assert!(
        found.policy == Policy::Allow || !caller.may_have_all(server),
        "{rules:?}"
    );
}

fn is_named(pattern: &str, server: &str, name: &str) -> bool {
    let parts = [pattern.split_once(':'), pattern.split_once("__")];
    match parts
        .into_iter()
        .flatten()
        .min_by_key(|(first, _)| first.len())
    {
        Some((first, second)) => slow(first, server) && slow(second, name),
        None => slow(pattern, &format!("{server}__{name}")),
    }
}

/// A pattern, and a text under it.
fn check_wildcard(input: &[u8]) {
    let Ok(text) = str::from_utf8(input) else {
        return;
    };
    let (pattern, text) = text.split_once('\n').unwrap_or((text, ""));
    if pattern.len() < 64 && text.len() < 256 {
        let found = Wildcard::new(pattern).matches(text);
        assert_eq!(found, slow(pattern, text), "{pattern:?} {text:?}");
    }
}

/// Whether a pattern matches, by every way in which it could.
fn slow(pattern: &str, text: &str) -> bool {
    let text: Vec<char> = text.chars().collect();
    // The places up to which the pattern so far can match.
    let mut ends = vec![false; text.len() + 1];
    ends[0] = true;
    for c in pattern.chars() {
        let mut next = vec![false; text.len() + 1];
        for at in 0..=text.len() {
            next[at] = match c {
                '*' => ends[at] || (at > 0 && next[at - 1]),
                c => at > 0 && ends[at - 1] && text[at - 1] == c,
            };
        }
        ends = next;
    }
    ends[text.len()]
}
