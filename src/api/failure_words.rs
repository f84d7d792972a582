//! The words of failures in answers: each begins with what was not done, and only requests from a terminal get steps that are commands.

use axum::{
    extract::{Request, State},
    middleware::Next,
    response::{IntoResponse, Response},
};

use super::FailureResponse;
use crate::{
    config::{ChangeAuthor, ChangeWay},
    failure::Failure,
};

/// Rewords the failure in an answer for whoever sent the request. `undone` is what it begins with, where it does not say so itself. The
/// answer is built anew: failures have no headers of their own.
pub(super) async fn reword_failures(
    State(undone): State<Option<&'static str>>,
    request: Request,
    next: Next,
) -> Response {
    let mut response = next.run(request).await;
    let Some(mut failure) = response.extensions_mut().remove::<Failure>() else {
        return response;
    };
    if let Some(outcome) = undone {
        failure = failure.undone(outcome);
    }
    FailureResponse(for_sender(failure)).into_response()
}

/// For whoever sent the request of this task: only a terminal gets a step that is a command.
pub(super) fn for_sender(failure: Failure) -> Failure {
    if ChangeAuthor::of_this_task().way == ChangeWay::Terminal {
        return failure;
    }
    let failure = failure.over_rest();
    let words = failure.hint.for_people();
    let step = failure
        .step
        .map(|step| step.or_request(words).without_commands());
    Failure {
        step: step.map(Box::new),
        ..failure
    }
}

#[cfg(test)]
mod tests {
    use super::for_sender;
    use crate::{
        config::{ChangeAuthor, ChangeWay},
        failure::{ErrorCode, Failure, NextStep, RestFailure},
    };

    #[tokio::test]
    async fn a_program_reads_one_step_in_hint_and_step() {
        let failure = Failure::new(ErrorCode::NoLog, "no log", "Ask the user to read it.");
        let step = NextStep::act("`mcpproxy x`").or_request("Read it on its host.");
        let failure = failure.with_step(step);
        for (way, expected) in [
            (ChangeWay::Terminal, "`mcpproxy x`"),
            (ChangeWay::Rest, "Read it on its host."),
        ] {
            let failure = failure.clone();
            let worded = async move { RestFailure::of(for_sender(failure)) };
            let worded = ChangeAuthor::operator(way).during(worded).await;
            let shown = serde_json::to_value(&worded).expect("JSON");
            assert_eq!(shown["hint"], "Read it on its host.");
            assert_eq!(shown["step"]["how"], expected);
        }
    }
}
