//! Callers whom access rules name and who have no token in the file. An issued token may be theirs.

use super::{ANONYMOUS, AclRule, IssuedToken, OPERATOR, Provider, ServerAuth, Warning, Wildcard};
use crate::text::names;

/// A pattern of a rule for callers that no token of the file has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownCaller {
    pattern: Wildcard,
    word: &'static str,
    /// Where it stands, and what was meant perhaps.
    pub(super) warning: Warning,
}

impl UnknownCaller {
    /// Whether an issued token is for such a caller.
    pub(super) fn is_of(&self, token: &IssuedToken) -> bool {
        let is_meant = |name: &String| self.pattern.matches(name);
        match self.word {
            ROLE => token.roles.iter().any(is_meant),
            _ => is_meant(&token.subject),
        }
    }
}

const SUBJECT: &str = "subject";
const ROLE: &str = "role";

/// The callers of all rules that no token of the file has.
pub(super) fn unknown_callers(auth: &ServerAuth) -> Vec<UnknownCaller> {
    let rules = auth.acl.iter().flat_map(|acl| &acl.rules).enumerate();
    let unknown = rules.flat_map(|(index, rule)| concerns_nobody(auth, index, rule));
    unknown.collect()
}

/// The subjects and roles of a rule that no token of the file has. A proxy may name anybody.
fn concerns_nobody(auth: &ServerAuth, index: usize, rule: &AclRule) -> Vec<UnknownCaller> {
    if auth.providers.contains(&Provider::Forwarded) {
        return Vec::new();
    }
    let tokens = auth.tokens.iter();
    let subjects = tokens.clone().map(|token| token.subject.as_str());
    let subjects: Vec<&str> = subjects.chain([ANONYMOUS, OPERATOR]).collect();
    let roles: Vec<&str> = tokens
        .flat_map(|token| token.roles.iter().map(String::as_str))
        .collect();
    let unknown = |word: &'static str, patterns: &[Wildcard], known: &[&str]| {
        let idle = patterns
            .iter()
            .filter(|pattern| !known.iter().any(|name| pattern.matches(name)));
        let texts = idle.map(|pattern| {
            let written = pattern.as_str();
            let close = names::closest(written, known.iter().copied());
            let close = close.map(|close| format!("; did you mean {close:?}?"));
            let close = close.unwrap_or_default();
            UnknownCaller {
                pattern: pattern.clone(),
                word,
                warning: Warning::of_key(
                    format!("serverAuth.acl.rules[{index}]"),
                    format_args!("names the {word} {written:?}, which no token has{close}"),
                ),
            }
        });
        texts.collect::<Vec<_>>()
    };
    let mut all = unknown(SUBJECT, &rule.subjects, &subjects);
    all.extend(unknown(ROLE, &rule.roles, &roles));
    all
}
