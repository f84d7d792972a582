//! The session that a server's answer to `initialize` opened, or that there is none to open.

use std::sync::{
    OnceLock,
    atomic::{AtomicBool, Ordering},
};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, header::CONTENT_LENGTH};
use tokio::sync::watch;

use crate::{
    link::{LinkError, remote::SESSION_ID},
    runtime::sync::Guarded,
    wire::{Id, Raw, Revision},
};

/// Says which revision was agreed (revision 2025-06-18 and later).
const REVISION: HeaderName = HeaderName::from_static("mcp-protocol-version");

/// A session, never changed: when it is lost, another takes its place. Its number shows a caller whose session is gone whether
/// it has been renewed meanwhile.
#[derive(Default)]
pub(super) struct HttpSession {
    pub(super) number: u64,
    id: Option<HeaderValue>,
    revision: Option<HeaderValue>,
    /// Requests are stateless: headers repeat what is in the body, closing the stream withdraws the request, and the server asks nothing.
    stateless: bool,
    /// The headers of each message that is posted in it, once one was.
    of_messages: OnceLock<HeaderMap>,
    /// It took the place of a lost one, and the server's lists were not read since: it may be another version of the server.
    has_unread_lists: AtomicBool,
}

impl HttpSession {
    /// The session after `previous`: its id from the head of the answer to `initialize`, its revision from the result.
    pub(super) fn after(previous: &Self, id: Option<HeaderValue>, initialized: &Raw) -> Self {
        let revision = initialized.get("protocolVersion").and_then(|r| r.string());
        Self {
            number: previous.number + 1,
            id,
            revision: revision.and_then(|r| HeaderValue::try_from(r).ok()),
            stateless: false,
            of_messages: OnceLock::new(),
            has_unread_lists: AtomicBool::new(false),
        }
    }

    /// The session after one that was lost.
    pub(super) fn renewed(previous: &Self, id: Option<HeaderValue>, initialized: &Raw) -> Self {
        Self {
            has_unread_lists: AtomicBool::new(true),
            ..Self::after(previous, id, initialized)
        }
    }

    /// What comes after `previous` where this revision is spoken without a handshake; with `None`, where nothing is agreed yet.
    pub(super) fn speaking(previous: &Self, revision: Option<Revision>) -> Self {
        Self {
            number: previous.number + 1,
            id: None,
            revision: revision.map(|revision| HeaderValue::from_static(revision.as_str())),
            stateless: revision.is_some(),
            of_messages: OnceLock::new(),
            has_unread_lists: AtomicBool::new(false),
        }
    }

    /// Whether requests are stateless.
    pub(super) fn is_stateless(&self) -> bool {
        self.stateless
    }

    /// Whether the lists that calls are checked against were read before it.
    pub(super) fn has_unread_lists(&self) -> bool {
        self.has_unread_lists.load(Ordering::Acquire)
    }

    /// The lists have been read in it, and calls are checked against them.
    pub(super) fn lists_read(&self) {
        self.has_unread_lists.store(false, Ordering::Release);
    }

    /// Whether the server gave it an id: only then can it be lost, and a cut stream be resumed.
    pub(super) fn has_id(&self) -> bool {
        self.id.is_some()
    }

    /// The headers of each message that is posted in it, of which all messages to the server have these.
    pub(super) fn of_messages(&self, of_all: impl FnOnce() -> HeaderMap) -> &HeaderMap {
        self.of_messages.get_or_init(|| {
            let mut headers = of_all();
            // A place for the length of each, so that none has to make room.
            headers.insert(CONTENT_LENGTH, HeaderValue::from_static("0"));
            self.stamp(&mut headers);
            headers
        })
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

/// What there is to know about renewing the session of a link.
#[derive(Default)]
pub(super) struct Renewals {
    /// The `initialize` request that opened the first session.
    pub(super) opening: Guarded<Option<(Id, Bytes)>>,
    pub(super) newest: Guarded<Option<Renewal>>,
    /// The HTTP status with which the first `initialize` was refused.
    pub(super) refused: OnceLock<u16>,
}

/// A renewal under way or done.
pub(super) struct Renewal {
    /// The number of the session that was lost.
    pub(super) lost: u64,
    pub(super) outcome: watch::Receiver<Option<Result<(), LinkError>>>,
}
