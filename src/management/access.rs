//! Checks of access: whether a caller may use an item, and whether the access rules, a token, a lock file or another guard decides. Nothing
//! is called.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

mod notes;

use super::{Backing, Management, OperatorView, operator_view::Judged};
use crate::{
    access::{Access, Caller, acl::Asked},
    config::{
        ANONYMOUS, AclRule, IssuedToken, NamePattern, OPERATOR, Policy, Settings, UriPattern,
        Wildcard, check_name,
    },
    failure::{ErrorCode, Failure, NextStep, Result},
    gate::Variant,
    text::names::{self, BUILT_IN_TOOLS},
    trust::approvals::ThingKind,
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
    pub profile: Option<String>,
    /// The kind of item.
    #[serde(default)]
    pub kind: AskedKind,
    /// The server; absent for a built-in tool and for a name such as `SERVER:TOOL`.
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
        // What a profile or a token leaves out is known; the step is to look there, and not among the known names.
        let is_sought = !matches!(self.step, None | Some(NextStep::Act { .. }));
        is_sought && code.is_some_and(ErrorCode::is_unknown_name)
    }
}

impl<B: Backing> Management<B> {
    /// Whether a caller may use an item, and what decides.
    pub fn check_access(&self, question: &AccessQuestion) -> Result<AccessVerdict> {
        let question = &question.with_server()?;
        let view = self.view()?;
        let (subject, profile) = (&question.subject, question.profile.as_deref());
        let (caller, roles) = imagined(subject, &question.roles, profile, &view.settings)?;
        let mut judged = view.judge(&caller, question.asked());
        let server = question.server.as_deref();
        let unknown = question.unknown_built_in(&view.settings);
        let unknown = unknown.or_else(|| view.unknown(server?, question.asked()));
        judged.refusal = unknown.or(judged.refusal);
        // A server that has not been listed yet may have the tool.
        judged.refusal.take_if(|refusal| {
            refusal.code == ErrorCode::UnknownTool
                && question.profile.is_none()
                && question.kind != AskedKind::BuiltIn
                && !view.lists.servers.contains_key(server.unwrap_or_default())
        });
        let notes = notes::notes(question, &view, &caller, judged.refusal.as_ref());
        let verdict = verdict(question, roles, &view, judged, &notes);
        Ok(under_lock(verdict, question, &view))
    }

    /// The caller as which something is looked up: `subject` if one is named, else `asking`; at the endpoint of `profile`, if one is named.
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

    /// The callers and profiles of the settings, to choose from.
    pub fn known_callers(&self) -> Result<KnownCallers> {
        let view = self.view()?;
        let settings = &view.settings;
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
        let callable: Vec<_> = view.callable_tools().collect();
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
    /// The question with its server, which may stand before the name of a tool.
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

    /// A failure if the question is about a built-in tool that does not exist, whatever the rules say of its name.
    fn unknown_built_in(&self, settings: &Settings) -> Option<Failure> {
        let name = &self.name;
        if self.kind != AskedKind::BuiltIn || BUILT_IN_TOOLS.contains(&&**name) {
            return None;
        }
        let what = if settings.servers.contains_key(&**name) {
            format!("{name:?} is a server")
        } else {
            format!("mcpproxy has no built-in tool {name:?}")
        };
        let error = format!("{what}; write a server's tool as SERVER:TOOL");
        let hint = "Correct the name.";
        Some(Failure::new(ErrorCode::UnknownTool, error, hint))
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

/// The caller of this name, with its roles: these, or those of its tokens where none are named. At the endpoint of a profile, if one is
/// named.
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
                format!("nothing was checked: a caller or role {why}"),
                "Name a caller and roles as the access rules do.",
            )
        })?;
    }
    let roles = if roles.is_empty() {
        roles_of_tokens(subject, settings).map_err(|error| {
            wrong(error, "Send `roles`.").at_terminal("name the roles with --role")
        })?
    } else {
        roles.to_vec()
    };
    // The limits of an issued token apply to its holder.
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

/// The caller at the endpoint of a profile, which must be configured.
fn in_profile(caller: &Caller, name: &str, settings: &Settings) -> Result<Caller> {
    if settings.profiles.contains_key(name) {
        return Ok(caller.in_profile(name));
    }
    let error = format!("no profile {name:?} is configured");
    let failure = Failure::new(ErrorCode::UnknownProfile, error, "Name a profile.");
    Err(with_profiles(failure, name, settings))
}

/// With what helps where no profile has this name.
pub(super) fn with_profiles(failure: Failure, name: &str, settings: &Settings) -> Failure {
    let known = settings.profiles.keys().map(AsRef::as_ref);
    let failure = failure.with_closest(names::closest(name, known));
    failure.with_step(if settings.profiles.is_empty() {
        let step = "add it to `profiles` in the configuration file: `mcpproxy config edit`";
        NextStep::act(step).or_request("Add it to `profiles`: PATCH /api/v1/config.")
    } else {
        NextStep::ShowProfiles
    })
}

/// The first token that was issued to a subject.
fn token_of<'a>(subject: &str, settings: &'a Settings) -> Option<&'a IssuedToken> {
    settings
        .issued
        .iter()
        .find(|token| token.subject == subject)
}

/// The roles of the tokens of a subject in the configuration, which must be the same.
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
    view: &OperatorView,
    Judged { refusal, decision }: Judged,
    notes: &[String],
) -> AccessVerdict {
    let is_denied = decision.is_some_and(|decision| decision.policy == Policy::Deny);
    let decides = if is_denied { "denies" } else { "allows" };
    let token = token_of(&question.subject, &view.settings);
    let by_guard = refusal
        .as_ref()
        .filter(|refusal| refusal.code != ErrorCode::AccessDenied);
    let by_token = token.filter(|_| refusal.is_some() && by_guard.is_none() && !is_denied);
    let auth = view.settings.server_auth.as_ref();
    let acl = auth.and_then(|auth| auth.acl.as_ref());
    let rule = decision.and_then(|decision| decision.rule);
    let rule = rule.filter(|_| by_guard.is_none() && by_token.is_none());
    let by_rule = rule.and_then(|place| {
        let rule = acl?.rules.get(place)?;
        Some((place, shown(rule)))
    });
    let (decided_by, reason, step) = match (by_guard, by_token, &by_rule) {
        (Some(refusal), ..) => match notes::hidden_by(token, question, view) {
            Some((hidden, step)) => ("guard", hidden, Some(step)),
            None => (
                "guard",
                refusal.error.clone(),
                guard_step(refusal.code, question, view),
            ),
        },
        (None, Some(token), _) => {
            let server = question.server.as_deref().unwrap_or_default();
            let call_type = view.call_variant(server, &question.name);
            let step = notes::token_for(token, call_type.map(Variant::as_str));
            ("token", notes::beyond_token(token), Some(step))
        }
        (None, None, Some((place, text))) => {
            let reason = format!("serverAuth.acl.rules[{place}] {decides} it: {text}");
            ("rule", reason, None)
        }
        (None, None, None) if decision.is_some() => {
            let reason = format!("no rule matches, and serverAuth.acl.default {decides} it");
            ("default", reason, None)
        }
        (None, None, None) => ("no_rules", "there are no access rules".to_owned(), None),
    };
    let (rule, rule_text) = by_rule.unzip();
    AccessVerdict {
        subject: question.subject.clone(),
        roles,
        profile: question.profile.clone(),
        kind: question.kind,
        server: question.server.clone(),
        name: question.name.clone(),
        allowed: refusal.is_none(),
        decided_by: decided_by.to_owned(),
        rule,
        rule_text,
        code: refusal.map(|refusal| refusal.code.to_string()),
        reason,
        closest: step
            .as_ref()
            .and_then(|step| notes::closest(question, step, view)),
        step,
        note: (!notes.is_empty()).then(|| notes.join("; ")),
    }
}

/// The next step about a refusal that is not the access rules'.
fn guard_step(code: ErrorCode, question: &AccessQuestion, view: &OperatorView) -> Option<NextStep> {
    match (code, question.kind) {
        (ErrorCode::UnknownServer, _) => Some(NextStep::ShowServers),
        (ErrorCode::UnknownTool, _) => Some(NextStep::ShowTools),
        (ErrorCode::UnknownPrompt, _) => Some(NextStep::ShowServer),
        (ErrorCode::ToolDisabled, _) => {
            Some(view.step_of_disabled(question.server.as_deref(), &question.name))
        }
        _ => view.next_step(code, question.server.as_deref().unwrap_or_default()),
    }
}

/// The verdict with what a lock file that is in force says: that it decides, or that it has the definition.
fn under_lock(
    verdict: AccessVerdict,
    question: &AccessQuestion,
    view: &OperatorView,
) -> AccessVerdict {
    let (Some(lock), Some(server), AskedKind::Tool) =
        (&view.lists.lock, &question.server, question.kind)
    else {
        return verdict;
    };
    let (name, file) = (&question.name, lock.file().display());
    let held = view.locked_out(server, name);
    if let Some(held) = held.filter(|_| verdict.decided_by == "guard") {
        let why = held.explained(ThingKind::Tool);
        return AccessVerdict {
            decided_by: "lock_file".to_owned(),
            reason: format!("{server}:{name} is held: {why}, {file}"),
            ..verdict
        };
    }
    let is_accepted = verdict.allowed && view.lists.tool(server, name).is_some();
    let note = is_accepted.then(|| format!("the lock file {file} has its definition"));
    let notes: Vec<String> = verdict.note.into_iter().chain(note).collect();
    AccessVerdict {
        note: (!notes.is_empty()).then(|| notes.join("; ")),
        ..verdict
    }
}

/// A rule as JSON, as it stands in the configuration.
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
