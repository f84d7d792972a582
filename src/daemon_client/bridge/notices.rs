//! The notices that the client of a bridge wants besides answers: its log level and its subscriptions, as far as a daemon agreed. Pure.

use std::collections::BTreeMap;

use crate::wire::{Raw, Request, method};

/// Limit: subscriptions that are remembered; a daemon allows no more.
const MAX_SUBSCRIPTIONS: usize = 1_000;

/// What a request changes about the notices when it succeeds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NoticeChange {
    LogLevel(Raw),
    Subscribe(String),
    Unsubscribe(String),
}

impl NoticeChange {
    /// What this request changes, if anything.
    pub(super) fn of(request: &Request) -> Option<Self> {
        let params = request.params.as_ref()?;
        let uri = || params.get("uri")?.string();
        match &*request.method {
            method::SET_LEVEL => Some(Self::LogLevel(params.detached())),
            method::RESOURCES_SUBSCRIBE => uri().map(Self::Subscribe),
            method::RESOURCES_UNSUBSCRIBE => uri().map(Self::Unsubscribe),
            _ => None,
        }
    }
}

/// The notices that the client wants.
#[derive(Debug, Default)]
pub(super) struct WantedNotices {
    log_level: Option<Raw>,
    /// The params of each subscription, by URI.
    subscriptions: BTreeMap<String, Raw>,
}

impl WantedNotices {
    /// The client has opened its connection anew.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    pub(super) fn apply(&mut self, change: NoticeChange) {
        match change {
            NoticeChange::LogLevel(params) => self.log_level = Some(params),
            NoticeChange::Subscribe(uri) if self.subscriptions.len() < MAX_SUBSCRIPTIONS => {
                let params = Raw::author(&serde_json::json!({ "uri": uri }));
                self.subscriptions.insert(uri, params);
            }
            NoticeChange::Subscribe(_) => (),
            NoticeChange::Unsubscribe(uri) => {
                self.subscriptions.remove(&uri);
            }
        }
    }

    /// The requests that renew them at a new daemon.
    pub(super) fn requests(&self) -> impl Iterator<Item = (&'static str, &Raw)> {
        let level = self.log_level.iter().map(|raw| (method::SET_LEVEL, raw));
        let subscriptions = self.subscriptions.values();
        level.chain(subscriptions.map(|raw| (method::RESOURCES_SUBSCRIBE, raw)))
    }
}
