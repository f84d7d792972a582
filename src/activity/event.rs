//! Events of the log: typed and cheap to make. They are formatted and redacted later, when their records are made.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use super::seen_call::SeenCall;
use crate::{failure::ErrorCode, telemetry::metrics::Metrics, trust::fingerprint::Fingerprint};

/// The caller in records of changes by an operator.
pub(super) const OPERATOR: &str = "operator";

/// The caller in records of edits of the configuration file, whoever made them.
pub(super) const DAEMON: &str = "daemon";

/// Something that happened.
#[derive(Debug)]
pub(super) struct ActivityEvent {
    pub(super) time: SystemTime,
    pub(super) what: EventKind,
}

impl ActivityEvent {
    /// Counts the event in the metrics. Calls are counted elsewhere, in tallies.
    pub(super) fn count(&self, metrics: &Metrics) {
        match &self.what {
            EventKind::Refusal(refusal) => {
                let code = refusal.code.map_or("other", ErrorCode::as_str);
                metrics.count_refusals(code, refusal.times.unwrap_or(1));
            }
            EventKind::Server(news) => metrics.count_event(&news.server, news.action),
            EventKind::Call(_) | EventKind::Change(_) => (),
        }
    }

    /// Copies its parts of messages, so that it keeps no message alive.
    pub(super) fn detach(&mut self) {
        if let EventKind::Call(call) = &mut self.what {
            call.detach();
        }
    }
}

#[derive(Debug)]
pub(super) enum EventKind {
    Call(Box<SeenCall>),
    Refusal(Box<RefusedNotice>),
    Change(Box<OperatorChange>),
    Server(Box<ServerNews>),
}

/// A request that was refused before it became a call.
#[derive(Debug, Default)]
pub struct RefusedNotice {
    /// The caller, if known.
    pub caller: Option<Arc<str>>,
    /// Its method.
    pub method: Option<Box<str>>,
    /// The server it was for.
    pub server: Option<Box<str>>,
    /// The path of the request, if nothing more of it was read.
    pub path: Option<Box<str>>,
    /// The error code.
    pub code: Option<ErrorCode>,
    /// The error in words.
    pub error: String,
    /// The number of equal requests since the last record of them, with this one; `None` if each has a record.
    pub times: Option<u64>,
}

/// A change by the operator, or by an edit of the configuration file.
#[derive(Debug, Default)]
pub struct OperatorChange {
    /// The caller.
    pub caller: Arc<str>,
    /// A verb, as the command line calls it.
    pub action: &'static str,
    /// The server, if it is about one.
    pub server: Option<Box<str>>,
    /// Details in words.
    pub detail: Option<String>,
    /// The definitions that it is about.
    pub things: Vec<TouchedThing>,
    /// Why it failed, if it did.
    pub error: Option<String>,
}

impl OperatorChange {
    /// A change of a server by the operator.
    pub fn by_operator(action: &'static str, server: &str) -> Self {
        Self {
            caller: OPERATOR.into(),
            action,
            server: Some(server.into()),
            ..Self::default()
        }
    }
}

/// A definition that was approved or is held.
#[derive(Debug, Clone)]
pub struct TouchedThing {
    /// `tool`, `prompt` and so on.
    pub kind: &'static str,
    /// Its name, as its server wrote it.
    pub name: Box<str>,
    /// The fingerprint of the definition, if known.
    pub fingerprint: Option<Fingerprint>,
    /// The reason in words.
    pub why: Option<&'static str>,
}

/// An event of a server.
#[derive(Debug)]
pub(super) struct ServerNews {
    pub(super) server: Box<str>,
    pub(super) action: &'static str,
    /// The first definitions that it is about, at most [`MOST_THINGS`].
    pub(super) things: Vec<TouchedThing>,
    /// The number of further ones.
    pub(super) more: usize,
    pub(super) step: ServerStep,
}

/// Limit: definitions that a record names.
pub(super) const MOST_THINGS: usize = 20;

impl EventKind {
    /// The bytes that it keeps of texts from outside.
    pub(super) fn held_bytes(&self) -> usize {
        let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        let named = |things: &[TouchedThing]| {
            let names = things.iter().map(|thing| thing.name.len());
            names.sum::<usize>() + size_of_val(things)
        };
        match self {
            Self::Call(call) => call.held_bytes(),
            Self::Refusal(refusal) => {
                let path = refusal.path.as_ref().map_or(0, |path| path.len());
                refusal.error.len() + path
            }
            Self::Change(change) => {
                named(&change.things) + length(&change.detail) + length(&change.error)
            }
            Self::Server(news) => {
                named(&news.things) + length(&news.step.detail) + length(&news.step.error)
            }
        }
    }
}

/// The details of an event of a server.
#[derive(Debug, Default)]
pub struct ServerStep {
    /// The error, if something failed.
    pub error: Option<String>,
    /// Details, such as the number of tools or the idle time.
    pub detail: Option<String>,
    /// How long it took.
    pub took: Option<Duration>,
    /// The number of equal events that this one stands for; `None` for one.
    pub times: Option<u64>,
}
