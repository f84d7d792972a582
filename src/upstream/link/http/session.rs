//! The session that a server's answer to `initialize` opened.

use http::{HeaderMap, HeaderName, HeaderValue};

use crate::{upstream::link::remote::SESSION_ID, wire::Raw};

/// Says which revision was agreed (revision 2025-06-18 and later).
const REVISION: HeaderName = HeaderName::from_static("mcp-protocol-version");

/// A session, never changed: when it is lost, another takes its place. Its number tells a caller whose session is gone whether
/// somebody has renewed it meanwhile.
#[derive(Default)]
pub(super) struct Session {
    pub(super) number: u64,
    id: Option<HeaderValue>,
    revision: Option<HeaderValue>,
}

impl Session {
    /// The session after `previous`: its id from the head of the answer to `initialize`, its revision from the result.
    pub(super) fn after(previous: &Self, id: Option<HeaderValue>, initialized: &Raw) -> Self {
        let revision = initialized.get("protocolVersion").and_then(|r| r.string());
        Self {
            number: previous.number + 1,
            id,
            revision: revision.and_then(|r| HeaderValue::try_from(r).ok()),
        }
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
