//! The workers that the settings want, and the fingerprints by which a changed one is replaced.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    config::{self, ServerEntry, SessionScope, Settings},
    gate::{self, Standing},
    text::names::ServerName,
};

/// What a worker is made for: another one means another worker.
#[derive(PartialEq)]
pub(in crate::upstream) struct Identity {
    fingerprint: String,
    start: config::Start,
    standing: Standing,
    scope: SessionScope,
}

impl Identity {
    pub(in crate::upstream) fn of(entry: &ServerEntry) -> Self {
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

pub(super) fn wanted(settings: &Settings) -> BTreeMap<ServerName, Identity> {
    let runs = |entry: &&Arc<ServerEntry>| entry.may_be_contacted();
    settings
        .servers
        .values()
        .filter(runs)
        .map(|e| (e.name.clone(), Identity::of(e)))
        .collect()
}
