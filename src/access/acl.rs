//! Who may have what by the rules of `serverAuth.acl`: the first match decides, else the default. Pure, over names; what there
//! is of servers and tools nobody asks here.

use std::cell::OnceCell;

use crate::{
    config::{Acl, AclRule, ComparedName, Coverage, Fold, NamePattern, Policy, UriPattern},
    text::visible::{letters, uris},
};

/// The object of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked<'a> {
    /// A built-in tool.
    BuiltIn(&'a str),
    /// A tool of a server.
    Tool {
        /// The server.
        server: &'a str,
        /// The server's own name for it.
        name: &'a str,
    },
    /// A prompt of a server.
    Prompt {
        /// The server.
        server: &'a str,
        /// The server's own name for it.
        name: &'a str,
    },
    /// A resource of a server, or what a template of it describes.
    Resource {
        /// The server.
        server: &'a str,
        /// The server's own URI, or template.
        uri: &'a str,
    },
}

/// How a name is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// As it stands: the server lists it so.
    Exact,
    /// As a server may read it that is lenient about spelling: whatever it could mean is forbidden if a rule forbids it.
    Lenient,
}

/// What the rules say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decision {
    /// Whether it may be had.
    pub policy: Policy,
    /// The place of the rule that decided, counted from 0; `None` for the default.
    pub rule: Option<usize>,
}

/// The rules as they concern one caller.
#[derive(Clone, Copy)]
pub struct RulesFor<'a> {
    acl: &'a Acl,
    subject: &'a str,
    roles: &'a [String],
}

impl<'a> RulesFor<'a> {
    /// For this subject with these roles.
    pub fn new(acl: &'a Acl, subject: &'a str, roles: &'a [String]) -> Self {
        Self {
            acl,
            subject,
            roles,
        }
    }

    /// The rules that concern the caller, with their places.
    pub fn rules(self) -> impl Iterator<Item = (usize, &'a AclRule)> {
        let rules = self.acl.rules_of(self.subject);
        rules.filter(move |(_, rule)| self.concerns(rule))
    }

    fn concerns(self, rule: &AclRule) -> bool {
        let is_subject = || {
            rule.subjects
                .iter()
                .any(|subject| subject.matches(self.subject))
        };
        let has_role = || {
            let mut roles = self.roles.iter();
            roles.any(|role| rule.roles.iter().any(|pattern| pattern.matches(role)))
        };
        (rule.subjects.is_empty() || is_subject()) && (rule.roles.is_empty() || has_role())
    }

    /// Whether the caller may have this, and which rule says so.
    pub fn decide(self, object: Asked<'_>, reading: Reading) -> Decision {
        let question = Question::new(object);
        let matches = |rule: &AclRule| match (reading, rule.policy) {
            (Reading::Exact, _) => question.matches(rule),
            (Reading::Lenient, Policy::Deny) => {
                question.matches(rule) || question.matches_folded(rule) || question.may_mean(rule)
            }
            (Reading::Lenient, Policy::Allow) => question.matches(rule) && question.is_plain(),
        };
        let found = self.rules().find(|(_, rule)| matches(rule));
        Decision {
            policy: found.map_or(self.acl.default, |(_, rule)| rule.policy),
            rule: found.map(|(place, _)| place),
        }
    }

    /// Whether the caller may have anything of a server, as far as the rules decide it.
    pub fn may_have_some(self, server: &str) -> bool {
        for (_, rule) in self.rules() {
            match (coverage(rule, server), rule.policy) {
                ((_, most), Policy::Allow) if most > Coverage::Nothing => return true,
                ((Coverage::Everything, _), Policy::Deny) => return false,
                _ => (),
            }
        }
        self.acl.default == Policy::Allow
    }

    /// Whether the caller may have everything of a server, whatever that is.
    pub fn may_have_all(self, server: &str) -> bool {
        for (_, rule) in self.rules() {
            match (coverage(rule, server), rule.policy) {
                ((Coverage::Everything, _), Policy::Allow) => return true,
                ((_, most), Policy::Deny) if most > Coverage::Nothing => return false,
                _ => (),
            }
        }
        self.acl.default == Policy::Allow
    }
}

/// The object of a decision, with what rules compare of it: each is made once, however many rules and patterns there are.
struct Question<'a> {
    object: Asked<'a>,
    name: ComparedName<'a>,
    is_plain: OnceCell<bool>,
}

impl<'a> Question<'a> {
    fn new(object: Asked<'a>) -> Self {
        let name = match object {
            Asked::BuiltIn(name) => ComparedName::new("", name, Fold::Name),
            Asked::Tool { server, name } | Asked::Prompt { server, name } => {
                ComparedName::new(server, name, Fold::Name)
            }
            Asked::Resource { server, uri } => ComparedName::new(server, uri, Fold::Uri),
        };
        Self {
            object,
            name,
            is_plain: OnceCell::new(),
        }
    }

    fn matches(&self, rule: &AclRule) -> bool {
        match self.object {
            Asked::BuiltIn(name) => rule.tools.as_ref().is_some_and(|tools| {
                tools.is_empty() || tools.iter().any(|tool| tool.matches_built_in(name))
            }),
            _ => self.matches_by(
                rule,
                NamePattern::matches_exactly,
                UriPattern::matches_exactly,
            ),
        }
    }

    /// [`Question::matches`] for whatever the name could mean to a server.
    fn matches_folded(&self, rule: &AclRule) -> bool {
        match self.object {
            Asked::BuiltIn(_) => false,
            _ => self.matches_by(
                rule,
                NamePattern::matches_folded,
                UriPattern::matches_folded,
            ),
        }
    }

    /// Whether a pattern of the rule that is about such things of servers matches, by one way to compare.
    fn matches_by(
        &self,
        rule: &AclRule,
        of_name: impl Fn(&NamePattern, &ComparedName<'a>) -> bool,
        of_uri: impl Fn(&UriPattern, &ComparedName<'a>) -> bool,
    ) -> bool {
        let any = |patterns: &[NamePattern]| patterns.iter().any(|one| of_name(one, &self.name));
        let special = match self.object {
            Asked::Prompt { .. } => rule.prompts.as_ref().map(|prompts| any(prompts)),
            Asked::Resource { .. } => {
                let resources = rule.resources.as_ref();
                resources.map(|patterns| patterns.iter().any(|one| of_uri(one, &self.name)))
            }
            Asked::BuiltIn(_) | Asked::Tool { .. } => None,
        };
        special.unwrap_or_else(|| of_tools(rule, any))
    }

    /// Whether a path that does not lead where it says, or a name that may be read as another, may lead to what a rule is about.
    fn may_mean(&self, rule: &AclRule) -> bool {
        let covered = match self.object {
            Asked::Tool { server, .. } => covered(rule, server).tools,
            Asked::Prompt { server, .. } => covered(rule, server).prompts,
            Asked::Resource { server, .. } => coverage(rule, server).1,
            Asked::BuiltIn(_) => return false,
        };
        covered > Coverage::Nothing && !self.is_plain()
    }

    /// Whether a name is nobody's but its own, and whether a URI leads where it says.
    fn is_plain(&self) -> bool {
        *self.is_plain.get_or_init(|| match self.object {
            Asked::BuiltIn(_) => true,
            Asked::Tool { name, .. } | Asked::Prompt { name, .. } => letters::is_plain_name(name),
            Asked::Resource { uri, .. } => uris::leads_where_it_says(uri),
        })
    }
}

/// Whether the tools of a rule are all, or these match.
fn of_tools(rule: &AclRule, matches: impl FnOnce(&[NamePattern]) -> bool) -> bool {
    let tools = rule.tools.as_ref();
    tools.is_some_and(|tools| tools.is_empty() || matches(tools))
}

/// How much of a server a rule matches, of the kind of thing of which it matches least, and of that of which it matches most.
fn coverage(rule: &AclRule, server: &str) -> (Coverage, Coverage) {
    let Covered {
        tools,
        prompts,
        resources,
    } = covered(rule, server);
    let least = tools.min(prompts).min(resources);
    (least, tools.max(prompts).max(resources))
}

/// How much of a server a rule matches, by the kind of thing.
struct Covered {
    tools: Coverage,
    prompts: Coverage,
    resources: Coverage,
}

fn covered(rule: &AclRule, server: &str) -> Covered {
    let widest = |all: &mut dyn Iterator<Item = Coverage>| all.max().unwrap_or(Coverage::Nothing);
    let names = |patterns: &[NamePattern]| {
        widest(&mut patterns.iter().map(|pattern| pattern.coverage(server)))
    };
    let tools = match &rule.tools {
        None => Coverage::Nothing,
        Some(tools) if tools.is_empty() => Coverage::Everything,
        Some(tools) => names(tools),
    };
    Covered {
        tools,
        prompts: rule
            .prompts
            .as_ref()
            .map_or(tools, |prompts| names(prompts)),
        resources: rule.resources.as_ref().map_or(tools, |resources| {
            widest(&mut resources.iter().map(|pattern| pattern.coverage(server)))
        }),
    }
}

#[cfg(test)]
mod tests;
