//! An ended call that waits for its record: references and bounded copies, not formatted and not redacted.

use std::{borrow::Cow, fmt, sync::Arc, time::Instant};

use super::course::CallCourse;
use crate::{
    failure::{ErrorCode, Failure},
    telemetry::spans::CallTrace,
    text::names::ServerName,
    wire::{Raw, Thing},
};

/// An ended call, with all that its record is made of.
#[derive(Debug)]
pub(super) struct SeenCall {
    pub(super) id: u64,
    pub(super) parent: Option<u64>,
    pub(super) caller: Arc<str>,
    pub(super) client: Raw,
    pub(super) endpoint: Option<CallEntrance>,
    pub(super) method: Cow<'static, str>,
    pub(super) server: Option<Box<str>>,
    pub(super) thing: Thing<'static>,
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
    /// Copies its parts of messages, so that it keeps no message alive.
    pub(super) fn detach(&mut self) {
        self.client = self.client.detached();
        if let SeenBody::Params(raw) | SeenBody::Arguments(raw) = &mut self.body {
            *raw = raw.detached();
        }
        if let CallEnd::Result {
            kept: Some(raw), ..
        }
        | CallEnd::RpcError { kept: raw, .. } = &mut self.end
        {
            *raw = raw.detached();
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

    /// Its server, if there was one of this name.
    pub(super) fn known_server(&self) -> Option<&str> {
        let code = match &self.end {
            CallEnd::Failed(why) => Some(why.code.as_str()),
            _ => None,
        };
        if_known(self.server.as_deref(), code)
    }

    /// Its duration in microseconds.
    pub(super) fn micros(&self) -> Option<u64> {
        u64::try_from((self.ended - self.began).as_micros()).ok()
    }
}

/// The server that a call names, unless the code of its failure says that there was none: callers make names up.
pub(super) fn if_known<'a>(server: Option<&'a str>, code: Option<&str>) -> Option<&'a str> {
    server.filter(|_| code != Some(ErrorCode::UnknownServer.as_str()))
}

/// The endpoint at which a call came in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallEntrance {
    /// An endpoint for all servers, by its path.
    Path(&'static str),
    /// The endpoint of this profile.
    Profile(Arc<str>),
    /// The endpoint of this server.
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

/// The intent of a call, as its caller states it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StatedIntent {
    /// The caller's label for its data.
    pub data_sensitivity: Option<String>,
    /// The caller's reason for the call.
    pub reason: Option<String>,
}

/// The part of a request that is kept until its record is made.
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
    /// Without an answer: its client withdrew it.
    Withdrawn,
    /// With a result, kept if records have results and it is small.
    Result {
        size: usize,
        outcome: &'static str,
        kept: Option<Raw>,
    },
    /// With an error of the server, of which `kept` is the small part.
    RpcError { size: usize, kept: Raw },
    /// With a failure of mcpproxy.
    Failed(Box<Failure>),
    /// With an error about the request itself.
    Invalid { code: i64, error: String },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_a_call_makes_up_is_none() {
        let check = |code: Option<ErrorCode>, expected: Option<&str>| {
            let code = code.map(ErrorCode::as_str);
            assert_eq!(if_known(Some("up"), code), expected, "{code:?}");
        };
        check(None, Some("up"));
        check(Some(ErrorCode::UnknownTool), Some("up"));
        check(Some(ErrorCode::UnknownServer), None);
    }
}
