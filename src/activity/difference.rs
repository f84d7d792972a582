//! Describes in words what an edit of the configuration changed.

use std::collections::BTreeMap;

use crate::config::{Acl, BrokenEntry, ServerAuth, ServerEntry, Settings};

/// The servers that differ, by name, and the other settings that do; `None` if nothing differs.
pub(super) fn difference(old: &Settings, new: &Settings) -> Option<String> {
    let (was, is) = (entries(old), entries(new));
    let added = is.keys().filter(|name| !was.contains_key(*name));
    let removed = was.keys().filter(|name| !is.contains_key(*name));
    let changed = is
        .iter()
        .filter(|(name, entry)| was.get(*name).is_some_and(|was| was != *entry));
    let named = |what: &str, names: Vec<&str>| {
        (!names.is_empty()).then(|| format!("{what} {}", names.join(", ")))
    };
    let parts = [
        named("added", added.copied().collect()),
        named("removed", removed.copied().collect()),
        named("changed", changed.map(|(name, _)| *name).collect()),
    ];
    let others = other_differences(old, new);
    let others = others.into_iter().map(str::to_owned);
    let parts: Vec<String> = parts.into_iter().flatten().chain(others).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// The entry of a server, valid or not.
#[derive(PartialEq)]
enum Standing<'a> {
    Sound(&'a ServerEntry),
    Broken(&'a BrokenEntry),
}

/// All servers in the file by name.
fn entries(settings: &Settings) -> BTreeMap<&str, Standing<'_>> {
    let sound = settings.servers.values();
    let sound = sound.map(|entry| (entry.name.as_str(), Standing::Sound(entry)));
    let broken = settings.broken.iter();
    let broken = broken.map(|entry| (&*entry.name, Standing::Broken(entry)));
    broken.chain(sound).collect()
}

/// The differences besides servers, each in words.
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
        // Derived from servers or from the text of the file.
        broken: Vec::new(),
        warnings: Vec::new(),
        lacks_secrets: false,
        demo: None,
        server_auth: None,
        profiles: BTreeMap::new(),
        rate_limit: None,
        otlp_endpoint: None,
        ..settings.clone()
    };
    #[rustfmt::skip]
    let all = [
        (rules(old) != rules(new), "access rules changed"),
        (without_rules(old) != without_rules(new), "authentication of clients changed"),
        (old.rate_limit != new.rate_limit, "rate limit changed"),
        (old.profiles != new.profiles, "profiles changed"),
        (old.otlp_endpoint != new.otlp_endpoint, "export of spans changed"),
        (bare(old) != bare(new), "other settings changed"),
    ];
    let changed = all.into_iter().filter(|(differs, _)| *differs);
    changed.map(|(_, words)| words).collect()
}
