//! The access rules of `serverAuth.acl`: the first rule that matches decides, else the default. Pure, over names: whether such a server or
//! tool exists makes no difference here.

use std::cell::OnceCell;

use crate::{
    config::{Acl, AclRule, ComparedName, Coverage, Fold, NamePattern, Policy, UriPattern},
    text::visible::{letters, uris},
};

/// What access is requested to.
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

/// How strictly a name is compared with rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// As it is written: the server lists it so.
    Exact,
    /// As a server that is lenient about spelling may read it: it is denied if a rule denies anything that it could mean.
    Lenient,
}

/// The decision of the rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decision {
    /// Whether access is allowed.
    pub policy: Policy,
    /// The place of the rule that decided, counted from 0; `None` for the default.
    pub rule: Option<usize>,
}

/// The rules for one caller.
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

    /// The rules that concern the caller, each with its place in the configuration.
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

    /// Whether the caller may have this, and which rule decides.
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

/// What access is requested to, with the forms of its name that rules compare: each is made once, however many patterns there are.
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
            Asked::BuiltIn(name) => of_tools(rule, |tools| {
                tools.iter().any(|tool| tool.matches_built_in(name))
            }),
            _ => self.matches_by(
                rule,
                NamePattern::matches_exactly,
                UriPattern::matches_exactly,
            ),
        }
    }

    /// [`Question::matches`] for every spelling that a server may take for the same name.
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

    /// Whether a pattern of the rule for this kind of thing matches. Without patterns for prompts or resources, those for tools apply.
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

    /// Whether the rule is about things of this server and the name is ambiguous, so that it may mean one of them.
    fn may_mean(&self, rule: &AclRule) -> bool {
        let covered = match self.object {
            Asked::Tool { server, .. } => covered(rule, server).tools,
            Asked::Prompt { server, .. } => covered(rule, server).prompts,
            Asked::Resource { server, .. } => coverage(rule, server).1,
            Asked::BuiltIn(_) => return false,
        };
        covered > Coverage::Nothing && !self.is_plain()
    }

    /// Whether the name cannot be taken for another one, and a URI has no parts such as `..` that lead elsewhere.
    fn is_plain(&self) -> bool {
        *self.is_plain.get_or_init(|| match self.object {
            Asked::BuiltIn(_) => true,
            Asked::Tool { name, .. } | Asked::Prompt { name, .. } => letters::is_plain_name(name),
            Asked::Resource { uri, .. } => uris::leads_where_it_says(uri),
        })
    }
}

/// Whether a rule is about all tools, or its patterns for tools match.
fn of_tools(rule: &AclRule, matches: impl FnOnce(&[NamePattern]) -> bool) -> bool {
    let tools = rule.tools.as_ref();
    tools.is_some_and(|tools| tools.is_empty() || matches(tools))
}

/// How much of a server a rule covers: of the kind of thing that it covers least, and of the kind that it covers most.
fn coverage(rule: &AclRule, server: &str) -> (Coverage, Coverage) {
    let Covered {
        tools,
        prompts,
        resources,
    } = covered(rule, server);
    let least = tools.min(prompts).min(resources);
    (least, tools.max(prompts).max(resources))
}

/// How much of a server a rule covers, by the kind of thing.
struct Covered {
    tools: Coverage,
    prompts: Coverage,
    resources: Coverage,
}

fn covered(rule: &AclRule, server: &str) -> Covered {
    let names = |patterns: &[NamePattern]| {
        let covered = patterns.iter().map(|pattern| pattern.coverage(server));
        covered.max().unwrap_or(Coverage::Nothing)
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
            let covered = resources.iter().map(|pattern| pattern.coverage(server));
            covered.max().unwrap_or(Coverage::Nothing)
        }),
    }
}

#[cfg(test)]
mod tests;
