//! The words of failures in answers: each begins with what was not done, and only requests from a terminal get steps that are commands.

use axum::{
    extract::{Request, State},
    middleware::Next,
    response::{IntoResponse, Response},
};

use super::FailureResponse;
use crate::{access::operators::OperatorPass, config::ChangeWay, failure::Failure};

/// Rewords the failure in an answer for whoever sent the request. `undone` is what it begins with, where it does not say so itself. A
/// request without a pass comes from a command line that has no daemon, so it counts as one from a terminal. The answer is built anew:
/// failures have no headers of their own.
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
        failure = for_programs(failure);
    }
    FailureResponse(failure).into_response()
}

/// With a step in the words of its hint, which names requests.
fn for_programs(failure: Failure) -> Failure {
    failure.over_rest().without_commands()
}

#[cfg(test)]
mod tests {
    use super::for_programs;
    use crate::failure::{ErrorCode, Failure, NextStep, RestFailure};

    #[test]
    fn a_program_reads_one_step_in_hint_and_step() {
        let failure = Failure::new(ErrorCode::NoLog, "no log", "Ask the user to read it.");
        let step = NextStep::act("`mcpproxy x`").or_request("Read it on its host.");
        let shown = RestFailure::of(for_programs(failure.with_step(step)));
        let shown = serde_json::to_value(&shown).expect("JSON");
        assert_eq!(shown["hint"], "Read it on its host.");
        assert_eq!(shown["step"]["how"], shown["hint"]);
    }
}
