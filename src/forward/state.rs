//! What a forwarded call does next. Pure: [`super::call`] does it.

use super::{budget::RoundBudget, request::RoundReplies};
use crate::{
    call_context::NotAnswered,
    wire::{
        Id, Notification, Outcome, Raw, Request, RpcError, bridge,
        input_required::{InputRequest, MAX_REQUESTS},
    },
};

/// Where a call stands. Its end is no phase: the answer, a failure, or its future being dropped ends it in each of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallPhase {
    /// The server works on it.
    Running,
    /// So many questions of the server wait for its client's answers on the stream of its request.
    Asking(usize),
    /// So many questions were collected for a result that asks; more may come.
    Collecting(usize),
    /// Its client has a result that asks, and is to call again.
    Parked,
    /// The server has answered with a result that asks, and its client has the questions on the stream of its request.
    Round,
}

/// The route of a server's question to a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum QuestionRoute {
    /// By a request on the stream of its own.
    Stream,
    /// By a result, for which the client calls again.
    Result,
}

/// What an upstream's result asks.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RoundQuestions {
    pub(super) requests: Vec<InputRequest>,
    /// What the upstream wants back as it is.
    pub(super) state: Option<Raw>,
}

/// What happened.
pub(super) enum CallEvent {
    /// The server sends a notice.
    Notice(Notification),
    /// The server asks something: the route, or the refusal.
    Question(Request, Result<QuestionRoute, RpcError>),
    /// The client answered a question on its stream.
    Reply(Id, Outcome),
    /// The server withdrew a question that was not answered yet.
    Withdrawn,
    /// The time to collect questions is over.
    Collected,
    /// The client called again, and left so many questions unanswered.
    Resumed { missing: usize },
    /// The server's result has questions for a client that takes them as requests.
    InputRequired(RoundQuestions),
    /// The client answered what such a result asks.
    RoundAnswered(RoundReplies),
    /// The server's answer.
    Answer(Outcome),
}

/// What is to be done.
#[derive(Debug)]
pub(super) enum CallAction {
    /// Nothing until something happens.
    Wait,
    /// Tell the client.
    Relay(Notification),
    /// Ask the client on its stream.
    Ask(Request),
    /// Keep the question for a result that asks.
    Collect(Request),
    /// Tell the server why its question is not answered.
    Refuse(Request, RpcError),
    /// Tell the server what the client answered.
    Reply(Id, Outcome),
    /// Keep the call, and give its client a result that asks what was collected.
    Park,
    /// Tell the server that what is left unanswered remains so.
    RefuseMissing,
    /// Ask the client what the result asks.
    AskRound(RoundQuestions),
    /// Send the request again with the answers.
    SendAgain(RoundReplies),
    /// Give the client this answer.
    Finish(Outcome),
    /// Fail: a question of the server gets no answer, for this reason.
    Fail(String),
}

/// The state of a forwarded call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CallState {
    phase: CallPhase,
    pub(super) budget: RoundBudget,
}

impl CallState {
    /// Of a request that was sent.
    pub(super) fn sent() -> Self {
        Self {
            phase: CallPhase::Running,
            budget: RoundBudget::default(),
        }
    }

    /// Whether the call waits for its client, so that the server's clock stands still.
    pub(super) fn holds_clock(self) -> bool {
        matches!(self.phase, CallPhase::Asking(_) | CallPhase::Parked)
    }

    /// Whether the server may still say something.
    pub(super) fn has_server(self) -> bool {
        self.phase != CallPhase::Round
    }

    /// What an event means in this state.
    pub(super) fn on(&mut self, event: CallEvent) -> CallAction {
        use CallPhase::{Asking, Collecting, Parked, Round, Running};
        let used_up = self.budget.used_up();
        let has_round = used_up.is_none();
        let (phase, action) = match (self.phase, event) {
            (_, CallEvent::Answer(outcome)) => return CallAction::Finish(outcome),
            (phase, CallEvent::Notice(notice)) => (phase, CallAction::Relay(notice)),
            (phase, CallEvent::Question(question, Err(why))) => {
                (phase, CallAction::Refuse(question, why))
            }
            (phase, CallEvent::Question(question, Ok(QuestionRoute::Stream))) => {
                let open = match phase {
                    Asking(open) => open,
                    _ => 0,
                };
                (Asking(open + 1), CallAction::Ask(question))
            }
            (Collecting(n), CallEvent::Question(question, Ok(QuestionRoute::Result))) => {
                if n < MAX_REQUESTS {
                    (Collecting(n + 1), CallAction::Collect(question))
                } else {
                    let why = NotAnswered::TooMany.to_string();
                    (Collecting(n), refused(question, &why))
                }
            }
            (_, CallEvent::Question(question, Ok(QuestionRoute::Result))) if has_round => {
                (Collecting(1), CallAction::Collect(question))
            }
            (phase, CallEvent::Question(question, Ok(QuestionRoute::Result))) => {
                (phase, refused(question, &used_up.unwrap_or_default()))
            }
            (phase, CallEvent::Reply(id, outcome)) => {
                let phase = match phase {
                    Asking(open @ 2..) => Asking(open - 1),
                    _ => Running,
                };
                (phase, CallAction::Reply(id, outcome))
            }
            (phase, CallEvent::Withdrawn) => {
                let phase = match phase {
                    Asking(open @ 2..) => Asking(open - 1),
                    Collecting(n @ 2..) => Collecting(n - 1),
                    Asking(_) | Collecting(_) => Running,
                    other => other,
                };
                (phase, CallAction::Wait)
            }
            (Collecting(_), CallEvent::Collected) => (Parked, CallAction::Park),
            (phase, CallEvent::Collected) => (phase, CallAction::Wait),
            (_, CallEvent::Resumed { missing: 0 }) => (Running, CallAction::Wait),
            // Missing answers are requested again.
            (_, CallEvent::Resumed { .. }) if has_round => (Parked, CallAction::Park),
            (_, CallEvent::Resumed { .. }) => (Running, CallAction::RefuseMissing),
            (_, CallEvent::InputRequired(_)) if !has_round => {
                return CallAction::Fail(used_up.unwrap_or_default());
            }
            (_, CallEvent::InputRequired(questions)) if questions.requests.len() > MAX_REQUESTS => {
                let why = format!("the server asks more than {MAX_REQUESTS} questions at once");
                return CallAction::Fail(why);
            }
            (_, CallEvent::InputRequired(questions)) => {
                self.budget.begin_live();
                (Round, CallAction::AskRound(questions))
            }
            (_, CallEvent::RoundAnswered(replies)) => (Running, CallAction::SendAgain(replies)),
        };
        self.phase = phase;
        action
    }
}

fn refused(question: Request, why: &str) -> CallAction {
    let refusal = bridge::refused_question(&question.method, why);
    CallAction::Refuse(question, refusal)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is left of the rounds.
    #[derive(Debug, Clone, Copy)]
    enum Budget {
        Fresh,
        Spent,
    }
    use Budget::{Fresh, Spent};

    fn state(phase: CallPhase, budget: Budget) -> CallState {
        let mut state = CallState::sent();
        state.phase = phase;
        while matches!(budget, Spent) && state.budget.used_up().is_none() {
            state.budget.begin_parked();
        }
        state
    }

    #[track_caller]
    fn check(from: CallPhase, budget: Budget, event: CallEvent, to: CallPhase, action: &str) {
        let mut state = state(from, budget);
        let made = format!("{:?}", state.on(event));
        let name = made.split(['(', ' ']).next();
        assert_eq!(
            (state.phase, name),
            (to, Some(action)),
            "{from:?} {budget:?}"
        );
    }

    fn question(route: Option<QuestionRoute>) -> CallEvent {
        let question = Request {
            id: Id::ours(1),
            method: "elicitation/create".into(),
            params: None,
        };
        let refusal = RpcError::new(RpcError::INTERNAL, "no");
        CallEvent::Question(question, route.ok_or(refusal))
    }

    fn outcome() -> Outcome {
        Outcome::Result(Raw::empty_object())
    }

    fn reply() -> CallEvent {
        CallEvent::Reply(Id::ours(1), outcome())
    }

    fn asks(count: usize) -> CallEvent {
        let one = InputRequest {
            key: "k".to_owned(),
            method: "roots/list".into(),
            params: None,
        };
        CallEvent::InputRequired(RoundQuestions {
            requests: vec![one; count],
            state: None,
        })
    }

    use CallPhase::{Asking, Collecting, Parked, Round, Running};
    const ALL: [CallPhase; 5] = [Running, Asking(1), Collecting(1), Parked, Round];

    #[test]
    fn an_answer_ends_a_call_in_every_phase() {
        for phase in ALL {
            let answer = CallEvent::Answer(outcome());
            check(phase, Spent, answer, phase, "Finish");
        }
    }

    #[test]
    fn notices_pass_and_refusals_change_nothing() {
        for phase in ALL {
            let notice = Notification {
                method: "m".into(),
                params: None,
            };
            check(phase, Fresh, CallEvent::Notice(notice), phase, "Relay");
            check(phase, Fresh, question(None), phase, "Refuse");
        }
    }

    #[test]
    fn a_client_with_a_stream_is_asked_on_it_until_all_is_answered() {
        let asks = || question(Some(QuestionRoute::Stream));
        check(Running, Spent, asks(), Asking(1), "Ask");
        check(Asking(1), Spent, asks(), Asking(2), "Ask");
        check(Asking(2), Fresh, reply(), Asking(1), "Reply");
        check(Asking(1), Fresh, reply(), Running, "Reply");
        let withdrawn = || CallEvent::Withdrawn;
        check(Asking(2), Fresh, withdrawn(), Asking(1), "Wait");
        check(Asking(1), Fresh, withdrawn(), Running, "Wait");
        check(Running, Fresh, withdrawn(), Running, "Wait");
    }

    #[test]
    fn other_clients_are_asked_by_results_within_their_rounds() {
        let asks = || question(Some(QuestionRoute::Result));
        check(Running, Fresh, asks(), Collecting(1), "Collect");
        check(Running, Spent, asks(), Running, "Refuse");
        check(Collecting(1), Fresh, asks(), Collecting(2), "Collect");
        let full = Collecting(MAX_REQUESTS);
        check(full, Fresh, asks(), full, "Refuse");
        check(full, Fresh, CallEvent::Collected, Parked, "Park");
        check(Running, Fresh, CallEvent::Collected, Running, "Wait");
        let withdrawn = || CallEvent::Withdrawn;
        check(Collecting(2), Fresh, withdrawn(), Collecting(1), "Wait");
        check(Collecting(1), Fresh, withdrawn(), Running, "Wait");
        check(Parked, Fresh, withdrawn(), Parked, "Wait");
    }

    #[test]
    fn a_client_that_comes_back_is_asked_again_for_what_is_missing() {
        let resumed = |missing| CallEvent::Resumed { missing };
        check(Parked, Fresh, resumed(0), Running, "Wait");
        check(Parked, Spent, resumed(0), Running, "Wait");
        check(Parked, Fresh, resumed(2), Parked, "Park");
        check(Parked, Spent, resumed(2), Running, "RefuseMissing");
    }

    #[test]
    fn a_result_that_asks_is_a_round() {
        check(Running, Fresh, asks(0), Round, "AskRound");
        check(Running, Fresh, asks(MAX_REQUESTS), Round, "AskRound");
        check(Running, Fresh, asks(MAX_REQUESTS + 1), Running, "Fail");
        check(Running, Spent, asks(1), Running, "Fail");
        let answered = CallEvent::RoundAnswered(RoundReplies::default());
        check(Round, Fresh, answered, Running, "SendAgain");
    }

    #[test]
    fn rounds_of_results_are_counted() {
        let mut state = CallState::sent();
        let mut rounds = 0;
        while matches!(state.on(asks(1)), CallAction::AskRound(_)) {
            state.on(CallEvent::RoundAnswered(RoundReplies::default()));
            rounds += 1;
        }
        assert_eq!(rounds, 16);
    }

    #[test]
    fn the_clock_stands_still_while_the_client_is_asked() {
        let held = ALL.map(|phase| state(phase, Fresh).holds_clock());
        assert_eq!(held, [false, true, false, true, false]);
        let heard = ALL.map(|phase| state(phase, Fresh).has_server());
        assert_eq!(heard, [true, true, true, true, false]);
    }
}
