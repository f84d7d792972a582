//! What a check of access says beside its verdict: what else a call needs, that no token has the subject, and what a profile leaves out.

use std::time::SystemTime;

use super::{AccessQuestion, AskedKind};
use crate::{
    access::{Caller, acl::Asked},
    catalog::Snapshot,
    config::{ANONYMOUS, IssuedToken, OPERATOR, Provider, RoutingMode, Settings},
    failure::{Failure, NextStep},
    management::{OperatorView, operator_hints},
    text::{
        moment,
        names::{self, BUILT_IN_TOOLS, as_argument},
    },
};

/// The tools that call others, the mildest first.
const CALL_TOOLS: [&str; 4] = [
    "call_tool_read",
    "call_tool_write",
    "call_tool_destructive",
    "call_tool",
];

/// The remarks on a verdict.
pub(super) fn notes(
    question: &AccessQuestion,
    view: &OperatorView,
    caller: &Caller,
    refusal: Option<&Failure>,
) -> Vec<String> {
    let subject = unknown_subject(&question.subject, &view.settings);
    let notes = if refusal.is_some() {
        [subject, None, None]
    } else {
        let needs = also_needed(question, view, caller);
        [subject, needs, unlisted(question, &view.lists)]
    };
    notes.into_iter().flatten().collect()
}

/// A remark on a tool of a server that has not been listed yet.
fn unlisted(question: &AccessQuestion, lists: &Snapshot) -> Option<String> {
    let server = question.server.as_deref()?;
    let is_unlisted = question.kind == AskedKind::Tool && !lists.servers.contains_key(server);
    is_unlisted.then(|| format!("the tools of {server:?} are not known yet"))
}

/// A remark on a subject that no token has, where only tokens identify callers.
fn unknown_subject(subject: &str, settings: &Settings) -> Option<String> {
    let auth = settings.server_auth.as_ref();
    let written = auth.iter().flat_map(|auth| &auth.tokens);
    let written = written.map(|token| token.subject.as_str());
    let issued = settings.issued.iter().map(|token| token.subject.as_str());
    let subjects: Vec<&str> = written.chain(issued).collect();
    let is_known = [ANONYMOUS, OPERATOR].contains(&subject)
        || auth.is_some_and(|auth| auth.providers != [Provider::Bearer])
        || subjects.contains(&subject);
    if is_known {
        return None;
    }
    let close = names::closest(subject, subjects.into_iter());
    let close = close.map(|close| format!("; {}", names::did_you_mean(&[close])));
    let close = close.unwrap_or_default();
    Some(format!("no token has the subject {subject:?}{close}"))
}

/// A remark on a built-in tool that is denied although models need it to call the tool, because servers' tools are not listed. A call by
/// the tool's own name works all the same.
fn also_needed(question: &AccessQuestion, view: &OperatorView, caller: &Caller) -> Option<String> {
    let (server, settings) = (question.server.as_deref()?, &view.settings);
    if question.kind != AskedKind::Tool || settings.routing_mode == RoutingMode::Direct {
        return None;
    }
    let variant = view.call_variant(server, &question.name);
    let mildest = variant.map(|variant| format!("call_tool_{}", variant.as_str()));
    let first = CALL_TOOLS
        .iter()
        .position(|tool| mildest.as_deref() == Some(tool));
    let (who, enough) = match settings.routing_mode {
        RoutingMode::Proxy => ("a model", &["proxy"][..]),
        _ => (
            "a model that searches",
            CALL_TOOLS.get(first.unwrap_or_default()..)?,
        ),
    };
    let judge = |tool: &str| view.judge(caller, Asked::BuiltIn(tool));
    if !enough.iter().all(|tool| judge(tool).refusal.is_some()) {
        return None;
    }
    let tool = enough.first()?;
    let rule = judge(tool).decision.and_then(|decision| decision.rule);
    let by = match rule {
        Some(place) => format!("serverAuth.acl.rules[{place}]"),
        None => "serverAuth.acl.default".to_owned(),
    };
    let endpoint = match &question.profile {
        Some(profile) => format!("/mcp/p/{profile}"),
        None => "/mcp".to_owned(),
    };
    let (server, _) = settings.servers.get_key_value(server)?;
    let offered = names::offered(server, &question.name);
    Some(format!(
        "{who} at {endpoint} also needs `{tool}`, which {by} denies; the name `{offered}` works there without it"
    ))
}

/// Why a configured server or tool is hidden from the caller, and the next step: the profile hides it, or the caller's token.
pub(super) fn hidden_by(
    token: Option<&IssuedToken>,
    question: &AccessQuestion,
    OperatorView { settings, lists }: &OperatorView,
) -> Option<(String, NextStep)> {
    let server = question.server.as_deref()?;
    settings.servers.get(server)?;
    let is_listed = question.kind == AskedKind::Tool && lists.servers.contains_key(server);
    (!is_listed || lists.tool(server, &question.name).is_some()).then_some(())?;
    let limited = token.and_then(|token| token.servers.as_ref());
    if limited.is_some_and(|servers| !servers.iter().any(|one| one == server)) {
        let subject = &question.subject;
        let reason = format!("the token of {subject} gives no access to {server}");
        let step = NextStep::act("`mcpproxy token list` shows its servers");
        return Some((reason, step));
    }
    let of_token = token.and_then(|token| token.profile.as_ref());
    let name = question.profile.as_ref().or(of_token)?;
    let (profile, tool) = (settings.profiles.get(name)?, &question.name);
    let thing = if !profile.has_server(server) {
        server.to_owned()
    } else if question.kind == AskedKind::Tool && !profile.has_tool(server, tool) {
        format!("{server}:{tool}")
    } else {
        return None;
    };
    let step = NextStep::act(format!("`mcpproxy config get profiles.{name}`"));
    Some((format!("{thing} is not in the profile {name}"), step))
}

/// The known name that was probably meant, where the next step is to look for it.
pub(super) fn closest(
    question: &AccessQuestion,
    step: &NextStep,
    OperatorView { settings, lists }: &OperatorView,
) -> Option<String> {
    let name = &question.name;
    let Some(server) = question.server.as_deref() else {
        let mut servers = lists.servers.values();
        let known = servers.find(|known| known.tools.iter().any(|tool| *tool.name == **name));
        let whole = known.map(|known| format!("{}:{name}", known.server));
        let is_server = settings.servers.contains_key(&**name);
        let built_in = names::closest(name, BUILT_IN_TOOLS.iter().copied());
        return whole.or(built_in.filter(|_| !is_server).map(str::to_owned));
    };
    match step {
        NextStep::ShowServers => {
            let close = operator_hints::closest_server(settings, server)?;
            Some(format!("{close}:{name}"))
        }
        NextStep::ShowTools => {
            let known = lists.servers.get(server)?;
            let close = names::closest(name, known.tools.iter().map(|tool| &*tool.name))?;
            Some(format!("{server}:{close}"))
        }
        _ => None,
    }
}

/// What a token allows.
pub(super) fn beyond_token(token: &IssuedToken) -> String {
    format!("the token {:?} {}", token.name, token.calls.in_words())
}

/// The commands that issue a token anew, so that it allows a call of this type, with its other limits.
pub(super) fn token_for(token: &IssuedToken, call_type: Option<&str>) -> NextStep {
    // Every field is named, so that no new limit is left out.
    let IssuedToken {
        name,
        roles,
        servers,
        profile,
        expires,
        subject: _,
        calls: _,
        client: _,
        created: _,
        begins: _,
        hash: _,
    } = token;
    let name = as_argument(name);
    let calls = if call_type == Some("write") {
        "write"
    } else {
        "all"
    };
    let limits = match (servers, profile) {
        (Some(servers), _) => format!(" --servers {}", servers.join(",")),
        (None, Some(profile)) => format!(" --profile {profile}"),
        (None, None) => String::new(),
    };
    let roles = roles.iter().flat_map(|role| [" --role ", role]);
    let roles: String = roles.collect();
    let now = moment::millis(SystemTime::now());
    let expires = expires.map(|expires| format!(" --expires {}", rest(expires, now)));
    let expires = expires.unwrap_or_default();
    NextStep::act(format!(
        "`mcpproxy token revoke {name}`, then `mcpproxy token add {name}{limits}{roles}{expires} --calls {calls}`"
    ))
}

/// The time from `now` to `end` as an option takes it, rounded down. Both are in milliseconds since 1970.
fn rest(end: u64, now: u64) -> String {
    let minutes = end.saturating_sub(now) / 60_000;
    let hours = minutes / 60;
    match (hours / 24, hours % 24) {
        (0, 0) => format!("{}m", minutes.max(1)),
        (0, hours) => format!("{hours}h"),
        (days, 0) => format!("{days}d"),
        (days, hours) => format!("{days}d{hours}h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{AllowedCalls, TokenHash};

    #[test]
    fn a_token_that_allows_more_keeps_its_other_limits() {
        const HOUR: u64 = 3_600_000;
        for (left, expected) in [
            (10, "1m"),
            (HOUR - 1, "59m"),
            (25 * HOUR, "1d1h"),
            (48 * HOUR + 1, "2d"),
        ] {
            assert_eq!(rest(7 + left, 7), expected);
        }
        let token = IssuedToken {
            name: "ada".to_owned(),
            subject: "ada".to_owned(),
            roles: vec!["dev".to_owned()],
            servers: Some(vec!["a".to_owned(), "b".to_owned()]),
            profile: None,
            calls: AllowedCalls::Read,
            client: None,
            created: 0,
            expires: Some(0),
            begins: String::new(),
            hash: TokenHash::of("x"),
        };
        let step = token_for(&token, Some("write")).at_terminal("");
        let limits = "add ada --servers a,b --role dev --expires 1m --calls write`";
        assert!(step.ends_with(limits), "{step}");
    }
}
