//! Who may have what by the rules of `serverAuth.acl`: the first that matches decides, else the default. Pure, over names; what there
//! is of servers and tools nobody asks here.

use crate::{
    config::{Acl, AclRule, Coverage, NamePattern, Policy},
    visible::{letters, uris},
};

/// What is asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked<'a> {
    /// A tool of ours.
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
    pub fn decide(self, asked: Asked<'_>, reading: Reading) -> Decision {
        let matches = |rule: &AclRule| match (reading, rule.policy) {
            (Reading::Exact, _) => matches(rule, asked),
            (Reading::Lenient, Policy::Deny) => {
                matches(rule, asked) || matches_folded(rule, asked) || may_lead_to(rule, asked)
            }
            (Reading::Lenient, Policy::Allow) => matches(rule, asked) && is_plain(asked),
        };
        let found = self.rules().find(|(_, rule)| matches(rule));
        Decision {
            policy: found.map_or(self.acl.default, |(_, rule)| rule.policy),
            rule: found.map(|(place, _)| place),
        }
    }

    /// Whether the caller may have anything of a server, as far as the rules can tell.
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

fn matches(rule: &AclRule, asked: Asked<'_>) -> bool {
    let any = |patterns: &[NamePattern], server: &str, name: &str| {
        patterns.iter().any(|pattern| pattern.matches(server, name))
    };
    match asked {
        Asked::BuiltIn(name) => rule.tools.as_ref().is_some_and(|tools| {
            tools.is_empty() || tools.iter().any(|tool| tool.matches_built_in(name))
        }),
        Asked::Tool { server, name } => of_tools(rule, |tools| any(tools, server, name)),
        Asked::Prompt { server, name } => match &rule.prompts {
            Some(prompts) => any(prompts, server, name),
            None => of_tools(rule, |tools| any(tools, server, name)),
        },
        Asked::Resource { server, uri } => match &rule.resources {
            Some(resources) => resources.iter().any(|pattern| pattern.matches(server, uri)),
            None => of_tools(rule, |tools| any(tools, server, uri)),
        },
    }
}

/// Whether the tools of a rule are all, or these match.
fn of_tools(rule: &AclRule, matches: impl FnOnce(&[NamePattern]) -> bool) -> bool {
    let tools = rule.tools.as_ref();
    tools.is_some_and(|tools| tools.is_empty() || matches(tools))
}

/// [`matches`] for whatever the name could mean to a server.
fn matches_folded(rule: &AclRule, asked: Asked<'_>) -> bool {
    let any = |patterns: &[NamePattern], server: &str, name: &str| {
        patterns
            .iter()
            .any(|pattern| pattern.matches_folded(server, name, letters::loosely))
    };
    match asked {
        Asked::BuiltIn(_) => false,
        Asked::Tool { server, name } => of_tools(rule, |tools| any(tools, server, name)),
        Asked::Prompt { server, name } => match &rule.prompts {
            Some(prompts) => any(prompts, server, name),
            None => of_tools(rule, |tools| any(tools, server, name)),
        },
        Asked::Resource { server, uri } => match &rule.resources {
            Some(resources) => resources
                .iter()
                .any(|pattern| pattern.matches_folded(server, uri, uris::folded)),
            None => of_tools(rule, |tools| {
                tools
                    .iter()
                    .any(|pattern| pattern.matches_folded(server, uri, uris::folded))
            }),
        },
    }
}

/// Whether a path that does not lead where it says, or a name that may be read as another, may lead to what a rule is about.
fn may_lead_to(rule: &AclRule, asked: Asked<'_>) -> bool {
    let covered = match asked {
        Asked::Tool { server, .. } => covered(rule, server).tools,
        Asked::Prompt { server, .. } => covered(rule, server).prompts,
        Asked::Resource { server, .. } => coverage(rule, server).1,
        Asked::BuiltIn(_) => return false,
    };
    covered > Coverage::Nothing && !is_plain(asked)
}

/// Whether a name is nobody's but its own, and whether a URI leads where it says.
fn is_plain(asked: Asked<'_>) -> bool {
    let uri = match asked {
        Asked::BuiltIn(_) => return true,
        Asked::Tool { name, .. } | Asked::Prompt { name, .. } => {
            return letters::is_plain_name(name);
        }
        Asked::Resource { uri, .. } => uri,
    };
    uris::leads_where_it_says(uri)
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
