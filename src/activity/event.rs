//! Events of the log: typed and cheap to make. Nothing is formatted or redacted here; that is done where records are made.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use super::seen_call::SeenCall;
use crate::{failure::ErrorCode, telemetry::metrics::Metrics, trust::fingerprint::Fingerprint};

/// Who changes servers and settings.
pub(super) const OPERATOR: &str = "operator";

/// Who takes over an edit of the configuration, whoever made it.
pub(super) const DAEMON: &str = "daemon";

/// Something that happened.
#[derive(Debug)]
pub(super) struct ActivityEvent {
    pub(super) time: SystemTime,
    pub(super) what: EventKind,
}

impl ActivityEvent {
    /// Has it counted, if it is no call: those are counted together.
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

    /// Copies what it has of messages, so that it keeps nothing of them alive. All of that is small.
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

/// A request that was not let through and was no call: nobody waits for its answer.
#[derive(Debug, Default)]
pub struct RefusedNotice {
    /// Whose it was, if that is known.
    pub caller: Option<Arc<str>>,
    /// Its method.
    pub method: Option<Box<str>>,
    /// The server it was for.
    pub server: Option<Box<str>>,
    /// The requested path, where nothing more of the request was read.
    pub path: Option<Box<str>>,
    /// Which rule.
    pub code: Option<ErrorCode>,
    /// In words.
    pub error: String,
    /// How many of its like there were since the last record of them, this one included; `None` where each has a record.
    pub times: Option<u64>,
}

/// Something that the operator did, or had done by an edit of the file.
#[derive(Debug, Default)]
pub struct OperatorChange {
    /// Who did it.
    pub caller: Arc<str>,
    /// What: a verb, as the command line calls it.
    pub action: &'static str,
    /// To which server.
    pub server: Option<Box<str>>,
    /// More of it.
    pub detail: Option<String>,
    /// The definitions that it is about.
    pub things: Vec<TouchedThing>,
    /// Why it came to nothing.
    pub error: Option<String>,
}

impl OperatorChange {
    /// Something that the operator did to a server.
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
    /// Which definition, if that is known.
    pub fingerprint: Option<Fingerprint>,
    /// Why, in words.
    pub why: Option<&'static str>,
}

/// Something that happened to a server.
#[derive(Debug)]
pub(super) struct ServerNews {
    pub(super) server: Box<str>,
    pub(super) action: &'static str,
    /// The first of those that it is about.
    pub(super) things: Vec<TouchedThing>,
    /// How many there are besides.
    pub(super) more: usize,
    pub(super) step: ServerStep,
}

/// Limit: things that a record names.
pub(super) const MOST_THINGS: usize = 20;

impl EventKind {
    /// The bytes that it keeps of strangers' texts until its record is made.
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

/// What there is to say of something that happened to a server.
#[derive(Debug, Default)]
pub struct ServerStep {
    /// Why, if it is no good news.
    pub error: Option<String>,
    /// More of it: how many tools it has, how long nobody used it.
    pub detail: Option<String>,
    /// How long it took.
    pub took: Option<Duration>,
    /// How many alike this stands for; `None` where it is one.
    pub times: Option<u64>,
}
