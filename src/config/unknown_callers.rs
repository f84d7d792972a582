//! Subjects and roles that access rules name, but no token in the file has. A token may be issued to such a caller later.

use super::{ANONYMOUS, AclRule, IssuedToken, OPERATOR, Provider, ServerAuth, Warning, Wildcard};
use crate::text::names;

/// A pattern of a rule that matches no token in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownCaller {
    pattern: Wildcard,
    part: CallerPart,
    /// The warning with the rule, and with a similar name if there is one.
    pub(super) warning: Warning,
}

/// The part of a caller that a pattern matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CallerPart {
    Subject,
    Role,
}

impl UnknownCaller {
    /// Whether the pattern matches an issued token.
    pub(super) fn matches(&self, token: &IssuedToken) -> bool {
        let is_meant = |name: &String| self.pattern.matches(name);
        match self.part {
            CallerPart::Role => token.roles.iter().any(is_meant),
            CallerPart::Subject => is_meant(&token.subject),
        }
    }
}

/// The patterns of all rules that match no token in the file.
pub(super) fn unknown_callers(auth: &ServerAuth) -> Vec<UnknownCaller> {
    let rules = auth.acl.iter().flat_map(|acl| &acl.rules).enumerate();
    let unknown = rules.flat_map(|(index, rule)| unknown_in_rule(auth, index, rule));
    unknown.collect()
}

/// The patterns of one rule. With a proxy there are none, because it may name any user.
fn unknown_in_rule(auth: &ServerAuth, index: usize, rule: &AclRule) -> Vec<UnknownCaller> {
    if auth.providers.contains(&Provider::Forwarded) {
        return Vec::new();
    }
    let tokens = auth.tokens.iter();
    let subjects = tokens.clone().map(|token| token.subject.as_str());
    let subjects: Vec<&str> = subjects.chain([ANONYMOUS, OPERATOR]).collect();
    let roles: Vec<&str> = tokens
        .flat_map(|token| token.roles.iter().map(String::as_str))
        .collect();
    let unknown = |part: CallerPart, patterns: &[Wildcard], known: &[&str]| {
        let word = match part {
            CallerPart::Subject => "subject",
            CallerPart::Role => "role",
        };
        let idle = patterns
            .iter()
            .filter(|pattern| !known.iter().any(|name| pattern.matches(name)));
        let texts = idle.map(|pattern| {
            let written = pattern.as_str();
            let close = names::closest(written, known.iter().copied());
            let close = close.map(|close| format!("; {}", names::did_you_mean(&[close])));
            let close = close.unwrap_or_default();
            UnknownCaller {
                pattern: pattern.clone(),
                part,
                warning: Warning::of_key(
                    format!("serverAuth.acl.rules[{index}]"),
                    format_args!("names the {word} {written:?}, which no token has{close}"),
                ),
            }
        });
        texts.collect::<Vec<_>>()
    };
    let mut all = unknown(CallerPart::Subject, &rule.subjects, &subjects);
    all.extend(unknown(CallerPart::Role, &rule.roles, &roles));
    all
}
