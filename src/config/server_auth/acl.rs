//! `serverAuth.acl`: the rules as they are written. Who may have what by them is decided in `access`.

use std::collections::HashMap;

use crate::config::{
    mistakes::{Mistakes, Read},
    strict::StrictValue,
    wildcard::{NamePattern, UriPattern, Wildcard, plain},
};

/// Limit: rules. A decision may look at all of them.
const MOST_RULES: usize = 1_000;

/// Whether something may be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Policy {
    /// It may.
    Allow,
    /// It may not.
    Deny,
}

/// The rules, of which the first that matches decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Acl {
    /// What holds where no rule matches.
    pub default: Policy,
    /// In order.
    pub rules: Vec<AclRule>,
    /// By their subjects, to find those of a caller among many.
    by_subject: RulesBySubject,
}

/// Places of rules, each list in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct RulesBySubject {
    /// Rules whose subjects are names, by each of those.
    named: HashMap<Box<str>, Vec<usize>>,
    /// All others.
    others: Vec<usize>,
}

impl RulesBySubject {
    fn of(rules: &[AclRule]) -> Self {
        let mut made = Self::default();
        for (place, rule) in rules.iter().enumerate() {
            if rule.subjects.is_empty() || !rule.subjects.iter().all(Wildcard::is_literal) {
                made.others.push(place);
                continue;
            }
            for subject in &rule.subjects {
                let places = made.named.entry(subject.as_str().into()).or_default();
                if places.last() != Some(&place) {
                    places.push(place);
                }
            }
        }
        made
    }
}

impl Acl {
    /// The rules that may concern a subject, in order, with their places. Those left out name others.
    pub fn rules_of(&self, subject: &str) -> impl Iterator<Item = (usize, &AclRule)> {
        let named = self.by_subject.named.get(subject);
        let mut named = named.into_iter().flatten().copied().peekable();
        let mut others = self.by_subject.others.iter().copied().peekable();
        let places = std::iter::from_fn(move || match (named.peek(), others.peek()) {
            (Some(one), Some(other)) if one > other => others.next(),
            (Some(_), _) => named.next(),
            (None, _) => others.next(),
        });
        places.filter_map(|place| Some((place, self.rules.get(place)?)))
    }
}

/// One rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AclRule {
    /// Whom it concerns; everybody where there are none.
    pub subjects: Vec<Wildcard>,
    /// What these have to be; anything where there are none.
    pub roles: Vec<Wildcard>,
    /// The tools, ours too; all where the list is empty, none where a rule names only other things.
    pub tools: Option<Vec<NamePattern>>,
    /// The prompts; where absent those that are called as `tools` says.
    pub prompts: Option<Vec<NamePattern>>,
    /// The resources; where absent those whose URIs are called as `tools` says.
    pub resources: Option<Vec<UriPattern>>,
    /// What holds.
    pub policy: Policy,
}

const POLICIES: [(&str, Policy); 2] = [("allow", Policy::Allow), ("deny", Policy::Deny)];

/// Reads the rules.
pub(super) fn read(value: &StrictValue<'_>) -> Read<Acl> {
    value.object(&["default", "rules"], |acl, mistakes| {
        let default = acl.get("default").ok_or_else(|| {
            acl.wrong(
                "has no `default`: say \"allow\" or \"deny\", which holds where no rule matches",
            )
        });
        let default = default.and_then(|default| default.choice(&POLICIES));
        let default = mistakes.take(default);
        let rules = acl.get("rules").map(StrictValue::elements).transpose();
        let rules = mistakes.take(rules)?.unwrap_or_default();
        if let Some(one_more) = rules.get(MOST_RULES) {
            let problem = format_args!("is one too many: {MOST_RULES} rules at most");
            mistakes.add(one_more.wrong(problem));
        }
        let rules = rules.iter().take(MOST_RULES).map(read_rule);
        let rules = mistakes.take(Mistakes::gather(rules));
        let (default, rules) = (default?, rules?);
        Some(Acl {
            default,
            by_subject: RulesBySubject::of(&rules),
            rules,
        })
    })
}

fn read_rule(value: &StrictValue<'_>) -> Read<AclRule> {
    let known = [
        "subjects",
        "roles",
        "tools",
        "prompts",
        "resources",
        "policy",
    ];
    value.object(&known, |rule, mistakes| {
        let plain_list = |key| match rule.get(key) {
            Some(list) => list.list(plain),
            None => Ok(Vec::new()),
        };
        let policy = rule.get("policy");
        let policy = policy.ok_or_else(|| rule.wrong("has no `policy`: say \"allow\" or \"deny\""));
        let policy = mistakes.take(policy.and_then(|policy| policy.choice(&POLICIES)));
        let subjects = mistakes.take(plain_list("subjects"));
        let roles = mistakes.take(plain_list("roles"));
        let tools = rule.get("tools").map(|list| list.list(NamePattern::parse));
        let prompts = rule
            .get("prompts")
            .map(|list| some(list, NamePattern::parse));
        let resources = rule
            .get("resources")
            .map(|list| some(list, UriPattern::parse));
        let names_other_things = prompts.is_some() || resources.is_some();
        let tools = match tools {
            None if names_other_things => Some(None),
            None => Some(Some(Vec::new())),
            Some(tools) => mistakes.take(tools).map(Some),
        };
        let prompts = mistakes.take(prompts.transpose());
        let resources = mistakes.take(resources.transpose());
        Some(AclRule {
            subjects: subjects?,
            roles: roles?,
            tools: tools?,
            prompts: prompts?,
            resources: resources?,
            policy: policy?,
        })
    })
}

/// A list in which something stands. An empty one could mean all or nothing.
fn some<T>(list: &StrictValue<'_>, read: impl Fn(&str) -> Result<T, String>) -> Read<Vec<T>> {
    let read = list.list(read)?;
    if read.is_empty() {
        return Err(list.wrong("is empty: write [\"*\"] for all, or leave it out"));
    }
    Ok(read)
}
