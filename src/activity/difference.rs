//! What an edit of the configuration changed, in words.

use std::collections::BTreeMap;

use crate::{
    config::{Acl, ServerAuth, Settings},
    names::ServerName,
};

/// Which servers differ, and whether something else does.
pub(super) fn difference(old: &Settings, new: &Settings) -> Option<String> {
    let added = new
        .servers
        .keys()
        .filter(|name| !old.servers.contains_key(*name));
    let removed = old
        .servers
        .keys()
        .filter(|name| !new.servers.contains_key(*name));
    let changed = new
        .servers
        .iter()
        .filter(|(name, entry)| old.servers.get(*name).is_some_and(|old| old != *entry));
    let named = |what: &str, names: Vec<&str>| {
        (!names.is_empty()).then(|| format!("{what} {}", names.join(", ")))
    };
    let parts = [
        named("added", added.map(ServerName::as_str).collect()),
        named("removed", removed.map(ServerName::as_str).collect()),
        named("changed", changed.map(|(name, _)| name.as_str()).collect()),
    ];
    let others = other_differences(old, new);
    let others = others.into_iter().map(str::to_owned);
    let parts: Vec<String> = parts.into_iter().flatten().chain(others).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// What differs besides servers, each in words.
fn other_differences(old: &Settings, new: &Settings) -> Vec<&'static str> {
    fn rules(settings: &Settings) -> Option<&Acl> {
        settings.server_auth.as_ref()?.acl.as_ref()
    }
    let without_rules = |settings: &Settings| {
        let auth = settings.server_auth.as_deref()?;
        Some(ServerAuth {
            acl: None,
            ..auth.clone()
        })
    };
    let bare = |settings: &Settings| Settings {
        servers: BTreeMap::new(),
        server_auth: None,
        profiles: BTreeMap::new(),
        rate_limit: None,
        otlp_endpoint: None,
        ..settings.clone()
    };
    let all = [
        (rules(old) != rules(new), "access rules changed"),
        (
            without_rules(old) != without_rules(new),
            "who clients are changed",
        ),
        (old.rate_limit != new.rate_limit, "rate limit changed"),
        (old.profiles != new.profiles, "profiles changed"),
        (
            old.otlp_endpoint != new.otlp_endpoint,
            "where spans go changed",
        ),
        (bare(old) != bare(new), "other settings changed"),
    ];
    let changed = all.into_iter().filter(|(differs, _)| *differs);
    changed.map(|(_, words)| words).collect()
}
