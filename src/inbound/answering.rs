//! The answer to one request, and the work on it. Knows no transport.

use std::{pin::Pin, sync::Arc};

use bytes::Bytes;

use super::session::LegacySession;
use crate::wire::{Id, Outcome, Raw, RpcError, error_frame, result_frame};

/// What a request is answered.
pub(super) struct Answer {
    /// The whole message.
    pub(super) frame: Bytes,
    /// The code of the error that it says, if it says one.
    pub(super) error: Option<i64>,
    /// The session that the request opened.
    pub(super) opened: Option<Arc<LegacySession>>,
}

/// The work on an answer; `None` when the client withdrew the request. Dropping it withdraws the request, too.
pub(super) type Answering = Pin<Box<dyn Future<Output = Option<Answer>> + Send>>;

impl Answer {
    /// To the request of this id.
    pub(super) fn of(id: &Id, outcome: &Outcome) -> Self {
        let (frame, error) = match outcome {
            Outcome::Result(result) => (result_frame(id, result), None),
            Outcome::Error(error) => (error_frame(Some(id), error), code(error)),
        };
        Self {
            frame,
            error,
            opened: None,
        }
    }

    /// To a request that opened a session.
    pub(super) fn opening(id: &Id, result: &Raw, session: Arc<LegacySession>) -> Self {
        Self {
            frame: result_frame(id, result),
            error: None,
            opened: Some(session),
        }
    }

    /// To a request that is wrong.
    pub(super) fn refusal(id: &Id, error: &RpcError) -> Self {
        Self {
            frame: error_frame(Some(id), &error.to_raw()),
            error: Some(error.code),
            opened: None,
        }
    }
}

fn code(error: &Raw) -> Option<i64> {
    error.get("code")?.read().ok()
}
