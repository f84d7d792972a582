//! Which workers the settings want, and which of those that run have to be started, stopped or replaced for that. Pure.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    config::{self, ServerEntry, SessionScope, Settings},
    gate::{self, Standing},
    text::names::ServerName,
};

/// What a worker is made for. A server with another identity gets another worker.
#[derive(PartialEq)]
pub(super) struct Identity {
    fingerprint: String,
    start: config::Start,
    standing: Standing,
    scope: SessionScope,
}

impl Identity {
    pub(super) fn of(entry: &ServerEntry) -> Self {
        Self {
            fingerprint: entry.fingerprint.clone(),
            start: entry.start,
            standing: gate::standing(entry),
            scope: entry.session_scope,
        }
    }
}

/// The servers whose last known lists are kept: all that stand in the file, usable or not. A mistake in an entry is soon corrected.
pub(super) fn known(settings: &Settings) -> Vec<ServerName> {
    let broken = settings.broken.iter();
    let broken = broken.filter_map(|broken| ServerName::parse(&broken.name).ok());
    settings.servers.keys().cloned().chain(broken).collect()
}

/// The servers that run, each with the identity that its worker has to have.
pub(super) fn wanted(settings: &Settings) -> BTreeMap<ServerName, Identity> {
    let runs = |entry: &&Arc<ServerEntry>| entry.may_be_contacted();
    settings
        .servers
        .values()
        .filter(runs)
        .map(|e| (e.name.clone(), Identity::of(e)))
        .collect()
}

/// What has to be done to one server.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum WorkerChange {
    Start(ServerName),
    Stop(ServerName),
    Replace(ServerName),
}

/// The changes from the running workers to the wanted ones, each given by name and identity.
pub(super) fn plan<I: PartialEq>(
    wanted: &BTreeMap<ServerName, I>,
    running: &BTreeMap<ServerName, I>,
) -> Vec<WorkerChange> {
    let gone = running
        .keys()
        .filter(|name| !wanted.contains_key(*name))
        .cloned()
        .map(WorkerChange::Stop);
    let rest = wanted
        .iter()
        .filter_map(|(name, identity)| match running.get(name) {
            None => Some(WorkerChange::Start(name.clone())),
            Some(current) if current != identity => Some(WorkerChange::Replace(name.clone())),
            Some(_) => None,
        });
    gone.chain(rest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_changed_is_touched() {
        let set = |pairs: &[(&str, &str)]| -> BTreeMap<ServerName, String> {
            pairs
                .iter()
                .map(|(name, digest)| {
                    (
                        ServerName::parse(name).expect("a name"),
                        (*digest).to_owned(),
                    )
                })
                .collect()
        };
        let name = |text| ServerName::parse(text).expect("a name");
        let running = set(&[("same", "1"), ("changed", "1"), ("gone", "1")]);
        let wanted = set(&[("same", "1"), ("changed", "2"), ("new", "1")]);
        assert_eq!(
            plan(&wanted, &running),
            [
                WorkerChange::Stop(name("gone")),
                WorkerChange::Replace(name("changed")),
                WorkerChange::Start(name("new"))
            ]
        );
        assert!(plan(&running, &running).is_empty());
    }
}
