//! Warnings of settings that cannot work as intended: access rules and profiles that name unknown servers or match nothing, and hosts and
//! origins that no client sends. Tests are in `tests::access_rules`.

use super::{
    Acl, AclRule, Coverage, NamePattern, OPERATOR, Policy, Profile, Settings, UriPattern, Warning,
    Wildcard, impossible_senders::impossible_senders,
};
use crate::text::{
    ServerName,
    names::{self, BUILT_IN_TOOLS},
};

/// All of these warnings. Those of callers without a token are made in `unknown_callers`, because they change with the issued tokens.
pub(super) fn warnings(settings: &Settings) -> Vec<Warning> {
    let usable = settings.servers.keys().map(ServerName::as_str);
    let broken = settings.broken.iter().map(|broken| broken.name.as_str());
    let servers: Vec<&str> = usable.chain(broken).collect();
    let mut warnings = Vec::new();
    if let Some(auth) = settings.server_auth.as_deref()
        && let Some(acl) = &auth.acl
    {
        for (index, rule) in acl.rules.iter().enumerate() {
            let key = format!("serverAuth.acl.rules[{index}]");
            let all = of_rule(rule, &servers);
            warnings.extend(all.map(|what| Warning::of_key(key.as_str(), what)));
        }
        if shuts_out_operator(acl, &servers) {
            let text = format!(
                "you are denied, too: `mcpproxy call` and `tools search` get no tools; add the rule {{\"subjects\": [\"{OPERATOR}\"], \"policy\": \"allow\"}} to `serverAuth.acl.rules`"
            );
            warnings.push(Warning::new(text).at("serverAuth.acl"));
        }
    }
    for (name, profile) in &settings.profiles {
        let key = format!("profiles.{name}");
        let all = of_profile(profile, &servers);
        warnings.extend(all.map(|what| Warning::of_key(key.as_str(), what)));
    }
    warnings.extend(impossible_senders(settings));
    warnings
}

fn of_rule(rule: &AclRule, servers: &[&str]) -> impl Iterator<Item = String> {
    let tools = rule.tools.iter().flatten();
    let tools = tools.filter_map(move |tool| matches_nothing(tool, servers, BUILT_IN_TOOLS));
    let prompts = rule.prompts.iter().flatten();
    let prompts = prompts.filter_map(move |prompt| matches_nothing(prompt, servers, &[]));
    let resources = rule.resources.iter().flatten();
    let resources = resources.filter_map(move |pattern| of_no_server(pattern, servers));
    tools.chain(prompts).chain(resources)
}

fn of_profile(profile: &Profile, servers: &[&str]) -> impl Iterator<Item = String> {
    let tools = profile.tools.iter().flatten();
    let tools = tools.filter_map(move |tool| matches_nothing(tool, servers, &[]));
    let named = profile.servers.iter().flatten().map(Wildcard::as_str);
    let named = named.filter(|server| !server.contains('*'));
    tools.chain(named.filter_map(move |server| unknown_server(server, servers)))
}

/// The warning of a server that is not configured: its name may be misspelt.
fn unknown_server(server: &str, servers: &[&str]) -> Option<String> {
    if servers.contains(&server) {
        return None;
    }
    let meant = match names::closest(server, servers.iter().copied()) {
        Some(closest) => format!("; {}", names::did_you_mean(&[closest])),
        None => String::new(),
    };
    Some(format!(
        "names the server {server:?}, which is not configured{meant}"
    ))
}

/// The warning of a pattern that matches nothing of these servers and no built-in tool.
fn matches_nothing(pattern: &NamePattern, servers: &[&str], built_in: &[&str]) -> Option<String> {
    if let Some(server) = pattern.server() {
        return unknown_server(server, servers);
    }
    let written = pattern.as_str();
    let matches_ours = || built_in.iter().any(|name| pattern.matches_built_in(name));
    if may_match(pattern, servers) || matches_ours() {
        return None;
    }
    let hint = if servers.contains(&written) {
        format!("write \"{written}__*\" for everything the server offers")
    } else if let Some((server, name)) = after_server(written, servers) {
        names::did_you_mean(&[format!("{server}__{name}")])
    } else if let Some(close) = closest_tool(written, built_in) {
        names::did_you_mean(&[close])
    } else {
        "a server's tools and prompts are named \"SERVER__NAME\"".to_owned()
    };
    Some(format!(
        "names {written:?}, which nothing can match; {hint}"
    ))
}

/// The warning of a pattern of resources whose server is not configured.
fn of_no_server(pattern: &UriPattern, servers: &[&str]) -> Option<String> {
    let (server, _) = pattern.as_str().split_once("__")?;
    let is_about = |server: &&str| pattern.coverage(server) > Coverage::Nothing;
    if servers.is_empty() || server.contains('*') || servers.iter().any(is_about) {
        return None;
    }
    unknown_server(server, servers)
}

/// Whether a pattern may match something of these servers; if there are none yet, of any server.
fn may_match(pattern: &NamePattern, servers: &[&str]) -> bool {
    let mut covered = servers.iter().map(|server| pattern.coverage(server));
    pattern.server().is_some()
        || (servers.is_empty() && pattern.as_str().contains('*'))
        || covered.any(|coverage| coverage > Coverage::Nothing)
}

/// The built-in tool that was probably meant. One that the pattern begins with was not: the pattern names something more.
fn closest_tool<'a>(written: &str, built_in: &[&'a str]) -> Option<&'a str> {
    let longer = built_in.iter().copied();
    names::closest(written, longer.filter(|name| !written.starts_with(name)))
}

/// The server that a pattern begins with, and the name after a wrong separator.
fn after_server<'a>(written: &'a str, servers: &[&'a str]) -> Option<(&'a str, &'a str)> {
    servers.iter().find_map(|server| {
        let rest = written.strip_prefix(server)?;
        let name = rest.trim_start_matches(['.', '/', '_', '-', ' ']);
        (name.len() < rest.len() && !name.is_empty()).then_some((*server, name))
    })
}

/// Whether the default denies the operator every tool of a server, and no rule allows one.
fn shuts_out_operator(acl: &Acl, servers: &[&str]) -> bool {
    let reaches = |tools: &[NamePattern]| {
        tools.is_empty() || tools.iter().any(|tool| may_match(tool, servers))
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
