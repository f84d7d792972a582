//! The session that a server's answer to `initialize` opened, or that there is none to open.

use http::{HeaderMap, HeaderName, HeaderValue};

use crate::{
    link::remote::SESSION_ID,
    wire::{Raw, Revision},
};

/// Says which revision was agreed (revision 2025-06-18 and later).
const REVISION: HeaderName = HeaderName::from_static("mcp-protocol-version");

/// A session, never changed: when it is lost, another takes its place. Its number tells a caller whose session is gone whether
/// somebody has renewed it meanwhile.
#[derive(Default)]
pub(super) struct Session {
    pub(super) number: u64,
    id: Option<HeaderValue>,
    revision: Option<HeaderValue>,
    /// Every request speaks for itself: headers say what is in its body, closing its stream withdraws it, and nothing is asked back.
    stateless: bool,
}

impl Session {
    /// The session after `previous`: its id from the head of the answer to `initialize`, its revision from the result.
    pub(super) fn after(previous: &Self, id: Option<HeaderValue>, initialized: &Raw) -> Self {
        let revision = initialized.get("protocolVersion").and_then(|r| r.string());
        Self {
            number: previous.number + 1,
            id,
            revision: revision.and_then(|r| HeaderValue::try_from(r).ok()),
            stateless: false,
        }
    }

    /// What comes after `previous` where this revision is spoken without a handshake; with `None`, where nothing is agreed yet.
    pub(super) fn speaking(previous: &Self, revision: Option<Revision>) -> Self {
        Self {
            number: previous.number + 1,
            id: None,
            revision: revision.map(|revision| HeaderValue::from_static(revision.as_str())),
            stateless: revision.is_some(),
        }
    }

    /// Whether requests speak for themselves.
    pub(super) fn is_stateless(&self) -> bool {
        self.stateless
    }

    /// Whether the server gave it an id: only then can it be lost, and a cut stream be resumed.
    pub(super) fn has_id(&self) -> bool {
        self.id.is_some()
    }

    /// Marks a request as belonging to this session.
    pub(super) fn stamp(&self, headers: &mut HeaderMap) {
        for (name, value) in [(SESSION_ID, &self.id), (REVISION, &self.revision)] {
            if let Some(value) = value {
                headers.insert(name, value.clone());
            }
        }
    }
}
