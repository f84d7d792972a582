//! The words of failures: each begins with what was not done, and commands are for a terminal.

use axum::{
    extract::{Request, State},
    middleware::Next,
    response::{IntoResponse, Response},
};

use super::FailureResponse;
use crate::{access::operators::OperatorPass, config::ChangeWay, failure::Failure};

/// Passes on the answer, with a failure in the words for its way. `undone` is what it begins with, where it does not say that itself.
pub(super) async fn reword_failures(
    State(undone): State<Option<&'static str>>,
    request: Request,
    next: Next,
) -> Response {
    let pass = request.extensions().get::<OperatorPass>();
    let is_at_terminal = pass.is_none_or(|pass| pass.way() == ChangeWay::Terminal);
    let mut response = next.run(request).await;
    let Some(mut failure) = response.extensions_mut().remove::<Failure>() else {
        return response;
    };
    if let Some(outcome) = undone {
        failure = failure.undone(outcome);
    }
    if !is_at_terminal {
        failure = failure.without_commands();
    }
    FailureResponse(failure).into_response()
}
