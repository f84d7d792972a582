//! A call that ended, as it waits for its record: what is there already, and bounded copies. Nothing is formatted or redacted here.

use std::{borrow::Cow, fmt, sync::Arc, time::Instant};

use super::{copies::bounded, course::CallCourse};
use crate::{
    failure::Failure,
    telemetry::spans::CallTrace,
    text::names::ServerName,
    wire::{Raw, Thing},
};

/// A call that ended, with all that its record is made of.
#[derive(Debug)]
pub(super) struct SeenCall {
    pub(super) id: u64,
    pub(super) parent: Option<u64>,
    pub(super) caller: Arc<str>,
    pub(super) client: Raw,
    pub(super) endpoint: Option<CallEntrance>,
    pub(super) method: Cow<'static, str>,
    pub(super) server: Option<Box<str>>,
    pub(super) thing: ThingCalled,
    pub(super) variant: Option<&'static str>,
    pub(super) intent: Option<StatedIntent>,
    pub(super) body: SeenBody,
    pub(super) request_bytes: usize,
    pub(super) began: Instant,
    pub(super) ended: Instant,
    pub(super) end: CallEnd,
    pub(super) trace: Option<Arc<CallTrace>>,
    pub(super) course: Arc<CallCourse>,
}

impl SeenCall {
    /// Copies what it has of messages.
    pub(super) fn detach(&mut self) {
        self.client = self.client.detached();
        match &mut self.body {
            SeenBody::Nothing => (),
            SeenBody::Params(raw) | SeenBody::Arguments(raw) => *raw = raw.detached(),
        }
        match &mut self.end {
            CallEnd::Result {
                kept: Some(raw), ..
            }
            | CallEnd::RpcError { kept: raw, .. } => {
                *raw = raw.detached();
            }
            CallEnd::Result { kept: None, .. }
            | CallEnd::Withdrawn
            | CallEnd::Failed(_)
            | CallEnd::Invalid { .. } => (),
        }
    }

    /// The bytes that it keeps of messages.
    pub(super) fn held_bytes(&self) -> usize {
        let end = match &self.end {
            CallEnd::Result { kept, .. } => kept.as_ref(),
            CallEnd::RpcError { kept, .. } => Some(kept),
            CallEnd::Withdrawn | CallEnd::Failed(_) | CallEnd::Invalid { .. } => None,
        };
        let answer = self.course.answer();
        let parts = [Some(&self.client), self.body.raw(), end, answer.as_ref()];
        let lengths = parts.into_iter().flatten().map(|raw| raw.as_bytes().len());
        lengths.sum()
    }

    /// How long it took, in microseconds.
    pub(super) fn micros(&self) -> Option<u64> {
        u64::try_from((self.ended - self.began).as_micros()).ok()
    }
}

/// Where a call came in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallEntrance {
    /// At one of many servers, by its path.
    Path(&'static str),
    /// At that of a profile.
    Profile(Arc<str>),
    /// At that of one server.
    Server(ServerName),
}

impl fmt::Display for CallEntrance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => f.write_str(path),
            Self::Profile(profile) => write!(f, "/mcp/p/{profile}"),
            Self::Server(server) => write!(f, "/mcp/server/{server}"),
        }
    }
}

/// The intent of a call, in its caller's words.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StatedIntent {
    /// How sensitive the data are.
    pub data_sensitivity: Option<String>,
    /// Why it calls.
    pub reason: Option<String>,
}

/// What is called.
#[derive(Debug)]
pub(super) enum ThingCalled {
    Tool(Box<str>),
    Prompt(Box<str>),
    Resource(Box<str>),
    Task(Box<str>),
    Nothing,
}

impl ThingCalled {
    pub(super) fn of(thing: &Thing<'_>) -> Self {
        match thing {
            Thing::Tool(name) => Self::Tool(bounded(name).into()),
            Thing::Prompt(name) => Self::Prompt(bounded(name).into()),
            Thing::Resource(uri) => Self::Resource(bounded(uri).into()),
            Thing::Task(id) => Self::Task(bounded(id).into()),
            Thing::Nothing => Self::Nothing,
        }
    }
}

/// What of a request is kept until its record is made.
#[derive(Debug)]
pub(super) enum SeenBody {
    Nothing,
    Params(Raw),
    Arguments(Raw),
}

impl SeenBody {
    /// The part of the request that is kept.
    pub(super) fn raw(&self) -> Option<&Raw> {
        match self {
            Self::Nothing => None,
            Self::Params(raw) | Self::Arguments(raw) => Some(raw),
        }
    }
}

/// How a call ended.
#[derive(Debug)]
pub(super) enum CallEnd {
    /// Its future was dropped: nobody waits any more.
    Withdrawn,
    /// With a result, kept if it is wanted and small enough to be looked into.
    Result {
        size: usize,
        outcome: &'static str,
        kept: Option<Raw>,
    },
    /// With the server's own error, or what is small of it.
    RpcError { size: usize, kept: Raw },
    /// With a failure of ours.
    Failed(Box<Failure>),
    /// With an error of ours about the request itself.
    Invalid { code: i64, error: String },
}
