//! Access rules and profiles that cannot do what was meant: patterns, subjects and roles that match nothing whatever the servers offer,
//! and a default that shuts out the operator. Servers that are not configured are `unknown_servers`'.

use super::{
    server_auth::{ANONYMOUS, Acl, AclRule, OPERATOR, Policy, Provider, ServerAuth},
    settings::Settings,
    trusted,
    wildcard::{Coverage, NamePattern, Wildcard},
};
use crate::text::names::{self, BUILT_IN_TOOLS, ServerName};

/// What is said of them.
pub(super) fn warnings(settings: &Settings) -> Vec<String> {
    let usable = settings.servers.keys().map(ServerName::as_str);
    let broken = settings.broken.iter().map(|broken| broken.name.as_str());
    let servers: Vec<&str> = usable.chain(broken).collect();
    let mut warnings = Vec::new();
    if let Some(auth) = settings.server_auth.as_ref()
        && let Some(acl) = &auth.acl
    {
        for (index, rule) in acl.rules.iter().enumerate() {
            let place = format!("serverAuth.acl.rules[{index}]");
            let tools = rule.tools.iter().flatten();
            let tools = tools.filter_map(|tool| matches_nothing(tool, &servers, BUILT_IN_TOOLS));
            let prompts = rule.prompts.iter().flatten();
            let prompts = prompts.filter_map(|prompt| matches_nothing(prompt, &servers, &[]));
            let nobody = concerns_nobody(auth, rule);
            let all = tools.chain(prompts).chain(nobody);
            warnings.extend(all.map(|what| format!("`{place}` {what}")));
        }
        if shuts_out_operator(acl, &servers) {
            warnings.push(format!(
                "the operator is denied by default: `mcpproxy call` and `tools search` at your own terminal may use no tool of a server; \
                 the rule {{\"subjects\": [\"{OPERATOR}\"], \"policy\": \"allow\"}} in `serverAuth.acl.rules` lets you"
            ));
        }
    }
    for (name, profile) in &settings.profiles {
        let tools = profile.tools.iter().flatten();
        let tools = tools.filter_map(|tool| matches_nothing(tool, &servers, &[]));
        warnings.extend(tools.map(|what| format!("`profiles.{name}` {what}")));
    }
    warnings.extend(trusted::warnings(settings));
    warnings
}

/// What is said of a pattern that matches nothing of these servers and none of these tools of ours.
fn matches_nothing(pattern: &NamePattern, servers: &[&str], built_in: &[&str]) -> Option<String> {
    let written = pattern.as_str();
    let is_open = written.contains('*');
    let matches = pattern.server().is_some()
        || (is_open && servers.is_empty())
        || built_in.iter().any(|name| pattern.matches_built_in(name))
        || servers
            .iter()
            .any(|server| pattern.coverage(server) > Coverage::Nothing);
    if matches {
        return None;
    }
    let hint = if servers.contains(&written) {
        format!("write \"{written}__*\" for what the server offers")
    } else if let Some((server, name)) = after_server(written, servers) {
        format!("did you mean \"{server}__{name}\"?")
    } else if let Some(close) = closest_tool(written, built_in) {
        format!("did you mean {close:?}?")
    } else {
        "what a server offers is called \"SERVER__NAME\"".to_owned()
    };
    Some(format!(
        "names {written:?}, which nothing can match; {hint}"
    ))
}

/// The tool of ours that was meant. One whose name is the beginning of what is written is not: more was meant than that.
fn closest_tool<'a>(written: &str, built_in: &[&'a str]) -> Option<&'a str> {
    let longer = built_in.iter().copied();
    names::closest(written, longer.filter(|name| !written.starts_with(name)))
}

/// The server that a pattern begins with, and what stands behind it and some other separator.
fn after_server<'a>(written: &'a str, servers: &[&'a str]) -> Option<(&'a str, &'a str)> {
    servers.iter().find_map(|server| {
        let rest = written.strip_prefix(server)?;
        let name = rest.trim_start_matches(['.', '/', '_', '-', ' ']);
        (name.len() < rest.len() && !name.is_empty()).then_some((*server, name))
    })
}

/// What is said of subjects and roles that nobody can have. A proxy may name anybody.
fn concerns_nobody(auth: &ServerAuth, rule: &AclRule) -> Vec<String> {
    if auth.providers.contains(&Provider::Forwarded) {
        return Vec::new();
    }
    let tokens = auth.tokens.iter();
    let subjects = tokens.clone().map(|token| token.subject.as_str());
    let subjects: Vec<&str> = subjects.chain([ANONYMOUS, OPERATOR]).collect();
    let roles: Vec<&str> = tokens
        .flat_map(|token| token.roles.iter().map(String::as_str))
        .collect();
    let unknown = |word: &str, patterns: &[Wildcard], known: &[&str]| {
        let idle = patterns
            .iter()
            .filter(|pattern| !known.iter().any(|name| pattern.matches(name)));
        let said = idle.map(|pattern| {
            let written = pattern.as_str();
            let close = names::closest(written, known.iter().copied());
            let close = close.map(|close| format!("; did you mean {close:?}?"));
            let close = close.unwrap_or_default();
            format!("names the {word} {written:?}, which no token has{close}")
        });
        said.collect::<Vec<_>>()
    };
    let mut said = unknown("subject", &rule.subjects, &subjects);
    said.extend(unknown("role", &rule.roles, &roles));
    said
}

/// Whether no rule lets the operator have anything of a server, and the default denies it.
fn shuts_out_operator(acl: &Acl, servers: &[&str]) -> bool {
    let reaches = |tools: &[NamePattern]| {
        tools.is_empty()
            || tools.iter().any(|tool| {
                tool.server().is_some()
                    || (servers.is_empty() && tool.as_str().contains('*'))
                    || servers
                        .iter()
                        .any(|server| tool.coverage(server) > Coverage::Nothing)
            })
    };
    let lets_in = |rule: &AclRule| {
        let subjects = &rule.subjects;
        rule.policy == Policy::Allow
            && rule.roles.is_empty()
            && (subjects.is_empty() || subjects.iter().any(|one| one.matches(OPERATOR)))
            && rule.tools.as_deref().is_some_and(reaches)
    };
    acl.default == Policy::Deny && !acl.rules.iter().any(lets_in)
}
