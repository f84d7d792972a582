//! `serverAuth.acl`: the access rules. The room `access` decides by them.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::config::{NamePattern, UriPattern, Wildcard, values::schema_as};

/// Limit: access rules; a decision may have to check all.
const MOST_RULES: usize = 1_000;

/// Whether a rule allows or denies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Policy {
    /// Allowed.
    Allow,
    /// Denied.
    Deny,
}

/// The rules. The first that matches decides.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "RawAcl")]
pub struct Acl {
    /// The policy if no rule matches.
    pub default: Policy,
    /// The rules in order.
    pub rules: Vec<AclRule>,
    /// An index of the rules by their subjects.
    by_subject: RulesBySubject,
}

/// Indices of rules, each list in ascending order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct RulesBySubject {
    /// The rules whose subjects are all without `*`, by each subject.
    named: HashMap<Box<str>, Vec<usize>>,
    /// All other rules.
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
    /// The rules that may apply to a subject, in order, with their indices.
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
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "RawRule")]
pub struct AclRule {
    /// The callers to whom it applies; all if empty.
    pub subjects: Vec<Wildcard>,
    /// The roles to which it applies; all if empty.
    pub roles: Vec<Wildcard>,
    /// The tools, built-in ones too; all if the list is empty, none if the rule has only prompts or resources.
    pub tools: Option<Vec<NamePattern>>,
    /// The prompts; if absent, `tools` applies to their names.
    pub prompts: Option<Vec<NamePattern>>,
    /// The resources; if absent, `tools` applies to their URIs.
    pub resources: Option<Vec<UriPattern>>,
    /// Whether it allows or denies.
    pub policy: Policy,
}

/// The rules as they are written.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(super) struct RawAcl {
    /// The decision if no rule matches.
    default: Policy,
    /// The rules in order; the first that matches decides.
    #[serde(default)]
    rules: Vec<AclRule>,
}

/// One access rule.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "rule")]
struct RawRule {
    /// Callers to whom the rule applies; all if empty.
    #[serde(default)]
    subjects: Vec<Wildcard>,
    /// Roles to which the rule applies; all if empty.
    #[serde(default)]
    roles: Vec<Wildcard>,
    /// Tools, as `server__tool`, server:tool or the name of a built-in tool; all if empty.
    tools: Option<Vec<NamePattern>>,
    /// Prompts, as `server__prompt`; by default `tools` applies to prompts, too.
    #[schemars(length(min = 1))]
    prompts: Option<Vec<NamePattern>>,
    /// Resources, as URIs or `server__URI`; by default `tools` applies to resources, too.
    #[schemars(length(min = 1))]
    resources: Option<Vec<UriPattern>>,
    /// Whether the rule allows or denies.
    policy: Policy,
}

schema_as!(Acl, RawAcl);
schema_as!(AclRule, RawRule);

impl TryFrom<RawAcl> for Acl {
    type Error = String;

    fn try_from(raw: RawAcl) -> Result<Self, String> {
        if raw.rules.len() > MOST_RULES {
            return Err(format!("has more than {MOST_RULES} rules"));
        }
        Ok(Self {
            default: raw.default,
            by_subject: RulesBySubject::of(&raw.rules),
            rules: raw.rules,
        })
    }
}

impl TryFrom<RawRule> for AclRule {
    type Error = String;

    fn try_from(raw: RawRule) -> Result<Self, String> {
        // An empty list could mean all or nothing.
        let counts = [
            ("prompts", raw.prompts.as_ref().map(Vec::len)),
            ("resources", raw.resources.as_ref().map(Vec::len)),
        ];
        if let Some((key, _)) = counts.iter().find(|(_, count)| *count == Some(0)) {
            return Err(format!(
                "has an empty `{key}`: write [\"*\"] for all, or leave it out"
            ));
        }
        let names_other_things = raw.prompts.is_some() || raw.resources.is_some();
        Ok(Self {
            subjects: raw.subjects,
            roles: raw.roles,
            tools: raw.tools.or((!names_other_things).then(Vec::new)),
            prompts: raw.prompts,
            resources: raw.resources,
            policy: raw.policy,
        })
    }
}
