//! What a caller may have by the access rules and by the profile of its endpoint, whatever the server's standing. Pure.

use super::rules::{Refusal, Rules};
use crate::{
    access::{
        Caller,
        acl::{Asked, Decision, Reading, RulesFor},
    },
    activity::DecidedAccess,
    catalog::ListedDefinition,
    config::{Policy, ServerAuth},
    failure::{Failure, Result},
    text::visible::letters,
    trust::approvals::ThingKind,
    wire::{Target, Thing, method},
};

impl<'a> Rules<'a> {
    /// Whether rules and profile let this caller have what it wants of a server, and what of the rules does. A server that is not configured is nobody's.
    pub(super) fn permit<'t>(
        self,
        caller: &Caller,
        server: &str,
        target: &'t Target<'_>,
    ) -> Result<DecidedAccess, Refusal<'t>>
    where
        'a: 't,
    {
        // Before anything reads it: what follows does so several times.
        target.thing().check_length().map_err(Refusal::TooLong)?;
        self.check_profile(caller.profile(), server, target)?;
        let access = match &self.settings.server_auth {
            None => DecidedAccess::NoRules,
            Some(auth) => match self.permission(auth, caller, server, target) {
                Some(access) => access,
                None if !self.is_configured(server) => return Ok(DecidedAccess::NoRules),
                None => return Err(Refusal::Denied(target.thing().clone())),
            },
        };
        self.check_token(caller, server, target)?;
        Ok(access)
    }

    /// Why the access rules keep a thing from a caller, there or not.
    pub fn denial(self, caller: &Caller, server: &str, target: &Target<'_>) -> Option<Failure> {
        let refusal = self.permit(caller, server, target).err()?;
        matches!(refusal, Refusal::Denied(_)).then(|| self.explained(caller, server, &refusal))
    }

    /// Whether a caller may know of a server: it may be used, and something of it is for this caller.
    pub fn offers(self, caller: &Caller, server: &str) -> bool {
        self.allows(caller, server, &Target::method_alone(method::TOOLS_LIST))
    }

    /// Whether a caller may know that a server is configured, usable or not: something of it is for this caller.
    pub fn shows(self, caller: &Caller, server: &str) -> bool {
        let lists = Target::method_alone(method::TOOLS_LIST);
        self.is_configured(server) && self.permit(caller, server, &lists).is_ok()
    }

    /// Whether it could know of one of this name that is not there yet.
    pub fn would_show(self, caller: &Caller, server: &str) -> bool {
        let lists = Target::method_alone(method::TOOLS_LIST);
        let is_outside = self
            .check_profile(caller.profile(), server, &lists)
            .is_err()
            || self.check_token(caller, server, &lists).is_err();
        if is_outside {
            return false;
        }
        let auth = self.settings.server_auth.as_ref();
        auth.is_none_or(|auth| self.permission(auth, caller, server, &lists).is_some())
    }

    /// Whether the profile of the caller's endpoint and its token have a thing. What they lack is as if it were not there.
    pub fn reaches(self, caller: &Caller, server: &str, target: &Target<'_>) -> bool {
        self.check_profile(caller.profile(), server, target).is_ok()
            && self.token_reaches(caller, server, target)
    }

    /// [`Rules::permits_built_in`], and why not.
    pub fn decide_built_in(self, caller: &Caller, name: &str) -> Result {
        if self.permits_built_in(caller, name) {
            return Ok(());
        }
        let beyond = self.beyond_token(caller, name);
        Err(beyond.unwrap_or_else(|| super::explained::denied_built_in(name)))
    }

    /// Whether a caller may use a tool of our own. Profiles are about servers only.
    pub fn permits_built_in(self, caller: &Caller, name: &str) -> bool {
        if !self.token_permits_built_in(caller, name) {
            return false;
        }
        let Some(auth) = &self.settings.server_auth else {
            return true;
        };
        caller.is_current(self.settings)
            && self
                .decision(auth, caller, Asked::BuiltIn(name), Reading::Exact)
                .policy
                == Policy::Allow
    }

    /// What the access rules say of one thing, and by which rule. Nothing where there are none.
    pub fn explain_access(self, caller: &Caller, object: Asked<'_>) -> Option<Decision> {
        let auth = self.settings.server_auth.as_ref()?;
        let reading = match object {
            Asked::BuiltIn(_) => Reading::Exact,
            Asked::Tool { server, name } => self.reading(server, &Target::tool(name)),
            Asked::Prompt { server, name } => self.reading(server, &Target::prompt(name)),
            Asked::Resource { server, uri } => self.reading(server, &Target::resource(uri)),
        };
        auth.acl.as_ref()?;
        Some(self.decision(auth, caller, object, reading))
    }

    /// Which of the access rules decides over what a caller wants of a server.
    pub(super) fn deciding(
        self,
        caller: &Caller,
        server: &str,
        target: &Target<'_>,
    ) -> DecidedAccess {
        let object = match target.thing() {
            Thing::Tool(name) => Asked::Tool { server, name },
            Thing::Prompt(name) => Asked::Prompt { server, name },
            Thing::Resource(uri) => Asked::Resource { server, uri },
            Thing::Task(_) | Thing::Nothing => {
                let auth = self.settings.server_auth.as_ref();
                let has_rules = auth.is_some_and(|auth| auth.acl.is_some());
                return if has_rules {
                    DecidedAccess::Together
                } else {
                    DecidedAccess::NoRules
                };
            }
        };
        let decision = self.explain_access(caller, object);
        decision.map_or(DecidedAccess::NoRules, access_by)
    }

    pub(super) fn check_profile<'t>(
        self,
        name: Option<&str>,
        server: &str,
        target: &'t Target<'_>,
    ) -> Result<(), Refusal<'t>>
    where
        'a: 't,
    {
        let Some(name) = name else {
            return Ok(());
        };
        // One that was taken out of the file shows nothing.
        let profile = self.settings.profiles.get(name);
        let profile = profile.filter(|profile| profile.has_server(server));
        let Some(profile) = profile else {
            return Err(Refusal::NoEntry(None));
        };
        match target.thing() {
            Thing::Tool(tool) if !profile.has_tool(server, tool) => Err(Refusal::UnknownTool(tool)),
            _ => Ok(()),
        }
    }

    /// What of the rules allows a caller what it wants of a server. None where nothing does.
    fn permission(
        self,
        auth: &ServerAuth,
        caller: &Caller,
        server: &str,
        target: &Target<'_>,
    ) -> Option<DecidedAccess> {
        if !caller.is_current(self.settings) {
            return None;
        }
        if caller.only_looks() {
            return Some(DecidedAccess::NoRules);
        }
        let Some(acl) = &auth.acl else {
            return Some(DecidedAccess::NoRules);
        };
        let together = |is_allowed: bool| is_allowed.then_some(DecidedAccess::Together);
        let rules = RulesFor::new(acl, caller.subject(), caller.roles(self.settings));
        let object = match target.thing() {
            Thing::Tool(name) => Asked::Tool { server, name },
            Thing::Prompt(name) => Asked::Prompt { server, name },
            Thing::Resource(uri) => Asked::Resource { server, uri },
            Thing::Task(_) => return together(self.has_some(rules, server)),
            // What we do not know may do anything.
            Thing::Nothing if names_nothing(target.method()) => {
                return together(self.has_some(rules, server));
            }
            Thing::Nothing => return together(rules.may_have_all(server)),
        };
        let reading = self.reading(server, target);
        let decision = self.ruled(rules, object, reading);
        let is_allowed = decision.policy == Policy::Allow
            && (reading == Reading::Exact || !self.is_denied_in_other_letters(rules, object));
        is_allowed.then(|| access_by(decision))
    }

    fn decision(
        self,
        auth: &ServerAuth,
        caller: &Caller,
        object: Asked<'_>,
        reading: Reading,
    ) -> Decision {
        let allowed = Decision {
            policy: Policy::Allow,
            rule: None,
        };
        let roles = caller.roles(self.settings);
        auth.acl.as_ref().map_or(allowed, |acl| {
            self.ruled(RulesFor::new(acl, caller.subject(), roles), object, reading)
        })
    }

    /// The rules' decision on a thing. A resource that is offered under another URI than its server's is denied by a denial of either.
    fn ruled(self, rules: RulesFor<'_>, object: Asked<'_>, reading: Reading) -> Decision {
        let decision = rules.decide(object, reading);
        let Asked::Resource { server, uri } = object else {
            return decision;
        };
        if decision.policy == Policy::Deny {
            return decision;
        }
        let Some(offered) = self.snapshot.other_offered(server, uri) else {
            return decision;
        };
        let as_offered = Asked::Resource {
            server,
            uri: &offered,
        };
        let of_offered = rules.decide(as_offered, reading);
        // Among the rules the first decides, as ever.
        let is_earlier = match (of_offered.rule, decision.rule) {
            (Some(deny), Some(allow)) => deny < allow,
            (Some(_), None) => true,
            (None, _) => false,
        };
        if of_offered.policy == Policy::Deny && is_earlier {
            of_offered
        } else {
            decision
        }
    }

    fn is_configured(self, server: &str) -> bool {
        self.settings.servers.contains_key(server) || self.settings.broken_entry(server).is_some()
    }

    /// Only names that a server lists are read by it as they stand, for certain.
    fn reading(self, server: &str, target: &Target<'_>) -> Reading {
        let known = self.snapshot.servers.get(server);
        let is_listed = known.is_some_and(|known| match target.thing() {
            Thing::Tool(name) => known.tool(name).is_some(),
            Thing::Prompt(name) => known.prompt(name).is_some(),
            Thing::Resource(uri) => known.resource(uri).is_some() || known.template(uri).is_some(),
            Thing::Task(_) | Thing::Nothing => true,
        });
        if is_listed {
            Reading::Exact
        } else {
            Reading::Lenient
        }
    }

    /// Whether a server that is lenient about spelling could take a tool that it does not list for one that it lists and that is denied.
    fn is_denied_in_other_letters(self, rules: RulesFor<'_>, object: Asked<'_>) -> bool {
        let Asked::Tool { server, name } = object else {
            return false;
        };
        let known = self.snapshot.servers.get(server);
        let letters = letters::folded_name(name);
        let mut alike = known
            .iter()
            .flat_map(|known| known.tools_of_letters(&letters));
        alike.any(|other| {
            let listed = Asked::Tool {
                server,
                name: &other.name,
            };
            rules.decide(listed, Reading::Exact).policy == Policy::Deny
        })
    }

    /// Whether something of a server is for the caller: something that it lists, where that is known.
    fn has_some(self, rules: RulesFor<'_>, server: &str) -> bool {
        let allows = |object| self.ruled(rules, object, Reading::Exact).policy == Policy::Allow;
        if !rules.may_have_some(server) {
            return false;
        }
        let Some(known) = self.snapshot.servers.get(server) else {
            return true;
        };
        let mut listed = known.definitions().peekable();
        listed.peek().is_none()
            || listed.any(|ListedDefinition { kind, name, .. }| {
                allows(match kind {
                    ThingKind::Prompt => Asked::Prompt { server, name },
                    ThingKind::Resource | ThingKind::Template => {
                        Asked::Resource { server, uri: name }
                    }
                    ThingKind::Tool | ThingKind::Instructions => Asked::Tool { server, name },
                })
            })
    }
}

/// What of the rules decided so.
fn access_by(decision: Decision) -> DecidedAccess {
    match decision.rule {
        None => DecidedAccess::Default,
        Some(place) => DecidedAccess::Rule(place),
    }
}

/// Methods that we know and that name no thing of a server.
pub(super) fn names_nothing(name: &str) -> bool {
    matches!(
        name,
        method::INITIALIZE
            | method::INITIALIZED
            | method::DISCOVER
            | method::PING
            | method::CANCELLED
            | method::PROGRESS
            | method::ROOTS_CHANGED
            | method::SET_LEVEL
            | method::LISTEN
            | method::TOOLS_LIST
            | method::PROMPTS_LIST
            | method::RESOURCES_LIST
            | method::TEMPLATES_LIST
            | method::TASKS_LIST
    )
}

#[cfg(test)]
mod tests;
