//! The answer to one request, and the work on it. Knows no transport.

use std::{pin::Pin, sync::Arc, time::Duration};

use super::session::LegacySession;
use crate::{
    failure::{ErrorCode, Failure},
    router::failed_result,
    wire::{Id, MessageFrame, Outcome, Raw, RpcError, error_frame, method, result_frame},
};

/// What a request is answered.
pub(super) struct Answer {
    /// The whole message.
    pub(super) frame: MessageFrame,
    /// The code of the error that it says, if it says one.
    pub(super) error: Option<i64>,
    /// The session that the request opened.
    pub(super) opened: Option<Arc<LegacySession>>,
    /// The request was one too many; after this time there may be another.
    pub(super) retry_after: Option<Duration>,
}

/// The work on an answer; `None` when the client withdrew the request. Dropping it withdraws the request, too.
pub(super) type Answering = Pin<Box<dyn Future<Output = Option<Answer>> + Send>>;

impl Answer {
    /// To the request of this id.
    pub(super) fn of(id: &Id, outcome: &Outcome) -> Self {
        let (frame, error) = match outcome {
            Outcome::Result(result) => (result_frame(id, result), None),
            Outcome::Error(error) => (
                error_frame(Some(id), error).into(),
                RpcError::code_in(error),
            ),
        };
        Self {
            frame,
            error,
            opened: None,
            retry_after: None,
        }
    }

    /// To a request of this method that was one too many: a model reads that as the result of its call.
    pub(super) fn one_too_many(id: &Id, method: &str, wait: Duration) -> Self {
        let seconds = wait.as_secs_f64().ceil();
        let error = "more requests than rate_limit allows";
        let hint = format!("Retry in {seconds} s, and send fewer.");
        let failure = Failure::not_run(ErrorCode::RateLimited, error, hint);
        let outcome = match method {
            method::TOOLS_CALL => Outcome::Result(failed_result(&failure)),
            _ => Outcome::Error(failure.as_rpc_error().to_raw()),
        };
        Self {
            retry_after: Some(wait),
            ..Self::of(id, &outcome)
        }
    }

    /// To a request that opened a session.
    pub(super) fn opening(id: &Id, result: Raw, session: Arc<LegacySession>) -> Self {
        Self {
            opened: Some(session),
            ..Self::of(id, &Outcome::Result(result))
        }
    }

    /// To a request that is wrong.
    pub(super) fn refusal(id: &Id, error: &RpcError) -> Self {
        Self::of(id, &Outcome::Error(error.to_raw()))
    }
}
