//! Why somebody may or may not have something: what the access rules and every other guard say, before anybody asks for it.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

mod notes;

use super::{
    Backing, Management,
    gated::{self, Judged},
};
use crate::{
    access::{
        Access, Caller,
        acl::{Asked, Decision},
    },
    catalog::Snapshot,
    config::{
        ANONYMOUS, AclRule, IssuedToken, NamePattern, OPERATOR, Policy, Settings, UriPattern,
        Wildcard, check_name,
    },
    failure::{ErrorCode, Failure, NextStep, Result},
    gate::Variant,
    text::names::{self, BUILT_IN_TOOLS},
};

/// The caller and the item to check.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AccessQuestion {
    /// The caller.
    pub subject: String,
    /// The roles of the caller; by default those of its tokens.
    #[serde(default)]
    pub roles: Vec<String>,
    /// The profile at whose endpoint the caller asks.
    #[serde(default)]
    pub profile: Option<String>,
    /// The kind of item.
    #[serde(default)]
    pub kind: AskedKind,
    /// The server; absent for a built-in tool and for a name such as `SERVER:TOOL`.
    #[serde(default)]
    pub server: Option<String>,
    /// The server's name for the tool or prompt, or the URI of the resource.
    pub name: String,
}

/// A kind of item.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum AskedKind {
    /// A tool of a server.
    #[default]
    Tool,
    /// A prompt of a server.
    Prompt,
    /// A resource of a server.
    Resource,
    /// A built-in tool.
    BuiltIn,
}

/// Whether a caller may use an item, and what decides.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
pub struct AccessVerdict {
    /// The caller.
    pub subject: String,
    /// The roles of the caller.
    pub roles: Vec<String>,
    /// The profile at whose endpoint the caller asks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// The kind of item.
    pub kind: AskedKind,
    /// The server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// Its name.
    pub name: String,
    /// Whether the caller may use it.
    pub allowed: bool,
    /// What decides: `rule`, `default`, `no_rules`, `token`, `lock_file`, or `guard` for another check, such as quarantine.
    pub decided_by: String,
    /// The place of the rule in `serverAuth.acl.rules`, counted from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<usize>,
    /// The rule itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule_text: Option<String>,
    /// The code of the refusal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The decision in a sentence.
    pub reason: String,
    /// A known name that was probably meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closest: Option<String>,
    /// The next step, if a check other than the rules decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<NextStep>,
    /// A remark on the decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// The known callers and profiles.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
pub struct KnownCallers {
    /// The callers in tokens and access rules, and `anonymous`.
    pub subjects: Vec<String>,
    /// The profiles.
    pub profiles: Vec<String>,
    /// The number of callable tools of each profile.
    #[serde(default)]
    pub profile_tools: BTreeMap<String, usize>,
}

impl AccessVerdict {
    /// Whether mcpproxy knows the server or the tool; access rules say nothing of others.
    pub fn is_unknown(&self) -> bool {
        let code = self.code.as_deref().and_then(ErrorCode::parse);
        // What a profile or a token leaves out is known, and has no step.
        self.step.is_some() && code.is_some_and(ErrorCode::is_unknown_name)
    }
}

impl<B: Backing> Management<B> {
    /// Whether somebody may have something, and what says so.
    pub fn check_access(&self, question: &AccessQuestion) -> Result<AccessVerdict> {
        let question = &question.with_server()?;
        let settings = self.settings()?;
        let lists = self.lists(&settings);
        let (caller, roles) = caller_of(question, &settings)?;
        let mut judged = gated::judge(&settings, &lists, &caller, question.asked());
        let unknown = question.names_no_built_in();
        let server = question.server.as_deref();
        let unknown =
            unknown.or_else(|| gated::unknown(&settings, &lists, server?, question.asked()));
        judged.refusal = unknown.or(judged.refusal);
        // A list that is not known yet says nothing of what may be had.
        judged.refusal.take_if(|refusal| {
            let server = question.server.as_deref().unwrap_or_default();
            refusal.code == ErrorCode::UnknownTool
                && question.profile.is_none()
                && question.kind != AskedKind::BuiltIn
                && !lists.servers.contains_key(server)
        });
        let refusal = judged.refusal.as_ref();
        let notes = notes::notes(question, &settings, &lists, &caller, refusal);
        let verdict = verdict(question, roles, &settings, &lists, judged, &notes);
        Ok(under_lock(verdict, question, &lists))
    }

    /// Whoever is meant by `subject`, or else the one who asks, on the endpoint of a profile: what such a caller would get is looked up
    /// with it.
    pub fn caller_as(
        &self,
        asking: &Caller,
        subject: Option<&str>,
        profile: Option<&str>,
    ) -> Result<Caller> {
        let settings = self.settings()?;
        match (subject, profile) {
            (Some(subject), profile) => {
                imagined(subject, &[], profile, &settings).map(|(caller, _)| caller)
            }
            (None, Some(profile)) => in_profile(asking, profile, &settings),
            (None, None) => Ok(asking.clone()),
        }
    }

    /// Whom the settings know, and by which addresses somebody may come.
    pub fn known_callers(&self) -> Result<KnownCallers> {
        let settings = self.settings()?;
        let mut subjects = BTreeSet::from([ANONYMOUS.to_owned()]);
        subjects.extend(settings.issued.iter().map(|token| token.subject.clone()));
        if let Some(auth) = settings.server_auth.as_deref() {
            subjects.extend(auth.tokens.iter().map(|token| token.subject.clone()));
            let rules = auth.acl.iter().flat_map(|acl| &acl.rules);
            let named = rules.flat_map(|rule| &rule.subjects);
            let named =
                named.filter(|subject| subject.is_literal() && subject.as_str() != OPERATOR);
            subjects.extend(named.map(|subject| subject.as_str().to_owned()));
        }
        let lists = self.lists(&settings);
        let callable: Vec<_> = gated::callable_tools(&settings, &lists).collect();
        let profile_tools = settings.profiles.iter().map(|(name, profile)| {
            let mine = callable.iter();
            let mine = mine.filter(|(server, tool)| profile.has_tool(server, &tool.name));
            (name.clone(), mine.count())
        });
        Ok(KnownCallers {
            profile_tools: profile_tools.collect(),
            subjects: subjects.into_iter().collect(),
            profiles: settings.profiles.keys().map(ToString::to_string).collect(),
        })
    }
}

impl AccessQuestion {
    /// The same with its server, which a tool may have before its name.
    fn with_server(&self) -> Result<Self> {
        let mut question = self.clone();
        if question.server.is_some() || question.kind == AskedKind::BuiltIn {
            return Ok(question);
        }
        let parts = self.name.split_once(':');
        let Some((server, name)) = parts.filter(|_| self.kind == AskedKind::Tool) else {
            let error = "nothing was checked: `server` is missing";
            let hint = "Send `server`, or `name` as SERVER:TOOL; for a built-in tool send `kind` as `built_in`.";
            return Err(Failure::new(ErrorCode::InvalidArguments, error, hint));
        };
        (question.server, question.name) = (Some(server.to_owned()), name.to_owned());
        Ok(question)
    }

    /// That there is no such tool of our own, whatever the rules say of its name.
    fn names_no_built_in(&self) -> Option<Failure> {
        let name = &self.name;
        if self.kind != AskedKind::BuiltIn || BUILT_IN_TOOLS.contains(&&**name) {
            return None;
        }
        let error =
            format!("mcpproxy has no built-in tool {name:?}; write a server's tool as SERVER:TOOL");
        Some(Failure::new(
            ErrorCode::UnknownTool,
            error,
            "Correct the name.",
        ))
    }

    fn asked(&self) -> Asked<'_> {
        let (name, server) = (self.name.as_str(), self.server.as_deref());
        let server = server.unwrap_or_default();
        match self.kind {
            AskedKind::BuiltIn => Asked::BuiltIn(name),
            AskedKind::Tool => Asked::Tool { server, name },
            AskedKind::Prompt => Asked::Prompt { server, name },
            AskedKind::Resource => Asked::Resource { server, uri: name },
        }
    }
}

fn caller_of(question: &AccessQuestion, settings: &Settings) -> Result<(Caller, Vec<String>)> {
    let (subject, profile) = (&question.subject, question.profile.as_deref());
    imagined(subject, &question.roles, profile, settings)
}

/// Whoever has this name and these roles, or those of its tokens where none are named, on the endpoint of a profile.
fn imagined(
    subject: &str,
    roles: &[String],
    profile: Option<&str>,
    settings: &Settings,
) -> Result<(Caller, Vec<String>)> {
    let wrong = |error: String, hint: &str| Failure::new(ErrorCode::InvalidArguments, error, hint);
    for name in roles.iter().map(String::as_str).chain([subject]) {
        check_name(name).map_err(|why| {
            wrong(
                format!("nothing was checked: the caller or role {name:?} {why}"),
                "Name a caller and roles as the access rules do.",
            )
        })?;
    }
    let roles = if roles.is_empty() {
        roles_of_tokens(subject, settings)
            .map_err(|error| wrong(error, "Name the roles with --role."))?
    } else {
        roles.to_vec()
    };
    // What is asked of somebody who holds a token that was issued is asked of the token, too.
    let (caller, roles) = match token_of(subject, settings) {
        Some(token) if roles.is_empty() => (Access::imagined_holder(token), token.roles.clone()),
        _ => (Access::imagined(subject, roles.clone()), roles),
    };
    let caller = match profile {
        Some(profile) => in_profile(&caller, profile, settings)?,
        None => caller,
    };
    Ok((caller, roles))
}

/// The caller on the endpoint of a profile that there is.
fn in_profile(caller: &Caller, name: &str, settings: &Settings) -> Result<Caller> {
    if settings.profiles.contains_key(name) {
        return Ok(caller.in_profile(name));
    }
    let error = format!("no profile {name:?} is configured");
    let failure = Failure::new(
        ErrorCode::UnknownProfile,
        error,
        "Name a configured profile.",
    );
    let known = settings.profiles.keys().map(AsRef::as_ref);
    let failure = failure.with_closest(names::closest(name, known));
    Err(failure.with_step(if settings.profiles.is_empty() {
        NextStep::act("add it to `profiles` in the configuration file: `mcpproxy config edit`")
    } else {
        NextStep::ShowProfiles
    }))
}

/// The first token that was issued to a subject.
fn token_of<'a>(subject: &str, settings: &'a Settings) -> Option<&'a IssuedToken> {
    settings
        .issued
        .iter()
        .find(|token| token.subject == subject)
}

/// The roles that all tokens of a subject have.
fn roles_of_tokens(subject: &str, settings: &Settings) -> Result<Vec<String>, String> {
    let auth = settings.server_auth.as_ref();
    let tokens = auth.iter().flat_map(|auth| &auth.tokens);
    let mut roles = tokens
        .filter(|token| token.subject == subject)
        .map(|token| &token.roles);
    let first = roles.next();
    if roles.any(|other| Some(other) != first) {
        return Err(format!("the tokens of {subject:?} have different roles"));
    }
    Ok(first.cloned().unwrap_or_default())
}

fn verdict(
    question: &AccessQuestion,
    roles: Vec<String>,
    settings: &Settings,
    lists: &Snapshot,
    judged: Judged,
    notes: &[String],
) -> AccessVerdict {
    let Judged { refusal, decision } = judged;
    let acl = settings
        .server_auth
        .as_ref()
        .and_then(|auth| auth.acl.as_ref());
    let rule = decision.and_then(|decision| decision.rule);
    let rule_text = rule.and_then(|place| acl?.rules.get(place)).map(shown);
    let by_rules = match (decision, rule) {
        (None, _) => "no_rules",
        (Some(_), Some(_)) => "rule",
        (Some(_), None) => "default",
    };
    let is_guard = refusal
        .as_ref()
        .is_some_and(|refusal| refusal.code != ErrorCode::AccessDenied);
    let is_denied = |decision: Decision| decision.policy == Policy::Deny;
    let decides = if decision.is_some_and(is_denied) {
        "denies"
    } else {
        "allows"
    };
    let by_token = !is_guard && refusal.is_some() && !decision.is_some_and(is_denied);
    let token = token_of(&question.subject, settings).filter(|_| by_token);
    let allowed = refusal.is_none();
    let token_known = token_of(&question.subject, settings);
    let hidden = notes::hidden_by(token_known, question, settings, lists);
    let guard = refusal
        .as_ref()
        .filter(|_| is_guard && hidden.is_none())
        .map(|refusal| refusal.code);
    let server = question.server.as_deref().unwrap_or_default();
    let step = guard.and_then(|code| match (code, question.kind) {
        (ErrorCode::UnknownServer, _) => Some(NextStep::ShowServers),
        (ErrorCode::UnknownTool, _) => Some(NextStep::ShowTools),
        (ErrorCode::UnknownPrompt, _) => Some(NextStep::ShowServer),
        _ => gated::next_step(code, server, settings, lists),
    });
    let step = step.or_else(|| {
        let call_type = gated::call_variant(settings, lists, server, &question.name);
        token.map(|token| notes::token_for(token, call_type.map(Variant::as_str)))
    });
    let reason = match (&refusal, by_rules, rule, &rule_text) {
        (Some(refusal), ..) if is_guard => hidden.unwrap_or_else(|| refusal.error.clone()),
        _ if token.is_some() => token.map_or_else(String::new, notes::beyond_token),
        (_, "rule", Some(place), Some(text)) => {
            format!("serverAuth.acl.rules[{place}] {decides} it: {text}")
        }
        (_, "default", ..) => format!("no rule matches, and serverAuth.acl.default {decides} it"),
        _ => "there are no access rules".to_owned(),
    };
    AccessVerdict {
        subject: question.subject.clone(),
        roles,
        profile: question.profile.clone(),
        kind: question.kind,
        server: question.server.clone(),
        name: question.name.clone(),
        allowed,
        decided_by: match token {
            Some(_) => "token",
            None if is_guard => "guard",
            None => by_rules,
        }
        .to_owned(),
        rule: rule.filter(|_| !is_guard && token.is_none()),
        rule_text: rule_text.filter(|_| !is_guard && token.is_none()),
        code: refusal.map(|refusal| refusal.code.to_string()),
        reason,
        closest: step
            .as_ref()
            .and_then(|step| notes::closest(question, step, settings, lists)),
        step,
        note: (!notes.is_empty()).then(|| notes.join("; ")),
    }
}

/// The same, where a lock file is in force: whether that is what decides.
fn under_lock(
    verdict: AccessVerdict,
    question: &AccessQuestion,
    lists: &Snapshot,
) -> AccessVerdict {
    let (Some(lock), Some(server), AskedKind::Tool) =
        (&lists.lock, &question.server, question.kind)
    else {
        return verdict;
    };
    let (name, file) = (&question.name, lock.file().display());
    if verdict.decided_by == "guard" && gated::is_locked_out(lists, server, name) {
        return AccessVerdict {
            decided_by: "lock_file".to_owned(),
            reason: format!(
                "the lock file {file} lacks the definition that {server:?} lists for {name:?}"
            ),
            ..verdict
        };
    }
    let is_accepted = verdict.allowed && lists.tool(server, name).is_some();
    let note = is_accepted.then(|| format!("the lock file {file} has its definition"));
    let notes: Vec<String> = verdict.note.into_iter().chain(note).collect();
    AccessVerdict {
        note: (!notes.is_empty()).then(|| notes.join("; ")),
        ..verdict
    }
}

/// A rule as it is written.
fn shown(rule: &AclRule) -> String {
    fn texts<'a, P: 'a>(patterns: impl Iterator<Item = &'a P>, text: fn(&P) -> &str) -> Value {
        patterns.map(text).collect()
    }
    let lists = [
        ("subjects", texts(rule.subjects.iter(), Wildcard::as_str)),
        ("roles", texts(rule.roles.iter(), Wildcard::as_str)),
        (
            "tools",
            texts(rule.tools.iter().flatten(), NamePattern::as_str),
        ),
        (
            "prompts",
            texts(rule.prompts.iter().flatten(), NamePattern::as_str),
        ),
        (
            "resources",
            texts(rule.resources.iter().flatten(), UriPattern::as_str),
        ),
    ];
    let given = lists.into_iter().filter(|(_, list)| *list != json!([]));
    let mut text: Map<String, Value> = given.map(|(key, list)| (key.to_owned(), list)).collect();
    text.insert("policy".to_owned(), json!(rule.policy));
    Value::Object(text).to_string()
}
