//! Putting an upstream's questions to a client: the route, the request, and the error for the upstream where nobody answers.

use futures_util::future;

use super::{
    budget::LIVE_ANSWER,
    label,
    request::{EndpointKind, RoundReplies},
    state::{QuestionRoute, RoundQuestions},
};
use crate::{
    call_context::{CallContext, NotAnswered},
    failure::{ErrorCode, Failure, HintText, NextStep, Result},
    gate::Admitted,
    text::names::ServerName,
    wire::{
        Id, Outcome, Raw, Request, RpcError, bridge, capabilities::capability_for,
        input_required::InputRequest,
    },
};

/// The route of a question to the client during a request of this method, or the error that the upstream gets instead of an answer.
pub(super) fn route(
    context: &CallContext,
    method: &str,
    question: &Request,
) -> Result<QuestionRoute, RpcError> {
    let refused = |why: String| bridge::refused_question(&question.method, &why);
    let (client, params) = (&context.client, question.params.as_ref());
    if !client.can_answer(&question.method, params) {
        return Err(incapable(&question.method, client.unable));
    }
    if context.revision.has_server_requests() {
        let heard = context.heard_questions();
        return heard
            .map(|_| QuestionRoute::Stream)
            .map_err(|why| refused(why.to_string()));
    }
    if bridge::may_ask(method) {
        Ok(QuestionRoute::Result)
    } else {
        Err(refused(format!("clients cannot be asked during {method}")))
    }
}

/// The client did not declare that it can answer such a thing, or cannot be asked. The error names the capability that it would have to
/// declare: servers often pass it on.
pub(super) fn incapable(method: &str, why: NotAnswered) -> RpcError {
    let refused = bridge::refused_question(method, &why.to_string());
    if why != NotAnswered::Unable {
        return refused;
    }
    let refused = RpcError {
        code: RpcError::METHOD_NOT_FOUND,
        ..refused
    };
    match capability_for(method) {
        Some(capability) => {
            let data = serde_json::json!({ "requiredCapabilities": { capability: {} } });
            refused.with_data(Raw::author(&data))
        }
        None => refused,
    }
}

/// The client did not say that it can open pages, which its request takes.
pub(super) fn cannot_open_pages() -> RpcError {
    let data = serde_json::json!({ "requiredCapabilities": { "elicitation": { "url": {} } } });
    let text = "the server needs its user to open a URL, but this client cannot (elicitation, mode \"url\")";
    RpcError::new(RpcError::MISSING_CAPABILITY, text).with_data(Raw::author(&data))
}

/// Asks a client on the stream of its request.
pub(super) async fn ask(
    context: &CallContext,
    endpoint: EndpointKind,
    server: ServerName,
    question: Request,
) -> (Id, Outcome) {
    let method = &*question.method;
    let params = label::question(endpoint, &server, method, question.params.as_ref());
    let asking = context.ask(method, params.as_ref());
    let outcome = answer_or_refusal(&server, method, asking).await;
    (question.id, outcome)
}

/// What comes of asking a client, or the error that the server gets instead.
pub(super) async fn answer_or_refusal(
    server: &ServerName,
    method: &str,
    asking: impl Future<Output = Result<Outcome, NotAnswered>>,
) -> Outcome {
    let why = match tokio::time::timeout(LIVE_ANSWER, asking).await {
        Ok(Ok(outcome)) => return outcome,
        Ok(Err(why)) => why.to_string(),
        Err(_) => LATE.to_owned(),
    };
    tracing::info!(%server, method, why, "question of the server not answered");
    Outcome::Error(bridge::refused_question(method, &why).to_raw())
}

/// The reason to give up a client.
const LATE: &str = "the client did not answer in time";

/// Asks a client, on the stream of its request, all that an upstream's result asks.
pub(super) async fn ask_round(
    context: &CallContext,
    endpoint: EndpointKind,
    admitted: &Admitted,
    round: RoundQuestions,
) -> Result<RoundReplies> {
    let asking = round.requests.iter();
    let asking = asking.map(|request| ask_of_round(context, endpoint, admitted, request));
    let responses = tokio::time::timeout(LIVE_ANSWER, future::try_join_all(asking))
        .await
        .map_err(|_| unanswered(admitted, LATE))??;
    let keys = round.requests.into_iter().map(|request| request.key);
    Ok(RoundReplies {
        responses: keys.zip(responses).collect(),
        state: round.state,
        are_taken: false,
    })
}

async fn ask_of_round(
    context: &CallContext,
    endpoint: EndpointKind,
    admitted: &Admitted,
    request: &InputRequest,
) -> Result<Raw> {
    let params = request.params_for(context.revision);
    let server = admitted.server();
    let params = label::question(endpoint, server, &request.method, params.as_ref());
    let outcome = context.ask(&request.method, params.as_ref()).await;
    let outcome = outcome.map_err(|why| match why {
        NotAnswered::Script => Failure {
            hint: HintText::new("Call the tool itself, not from a script."),
            ..unanswered(admitted, &why.to_string())
        },
        // An operator's request is no client's.
        _ if context.endpoint.is_none() => unanswered(admitted, "only a client can answer it"),
        _ => unanswered(admitted, &why.to_string()),
    })?;
    request.response(outcome).map_err(|error| {
        let message = error.get("message").and_then(|message| message.string());
        let message = message.filter(|message| !message.is_empty());
        let message = message.map(|message| format!(": {message}"));
        let why = format!("the client refused{}", message.unwrap_or_default());
        unanswered(admitted, &why)
    })
}

/// The failure of a call whose server got no answer to its question.
fn unanswered(admitted: &Admitted, why: &str) -> Failure {
    let why = format!("the server asked a question, but {why}");
    unfinished(
        admitted,
        &why,
        "call it from a client that can answer questions",
    )
}

/// The failure of a call whose server asks more than it may.
pub(super) fn over_limit(admitted: &Admitted, why: &str) -> Failure {
    unfinished(admitted, why, "report this to the server's authors")
}

/// The failure of a call that ends with questions of its server.
fn unfinished(admitted: &Admitted, why: &str, then: &str) -> Failure {
    let server = admitted.server();
    let named = match admitted.tool() {
        Some(tool) => format!("{server}:{tool}"),
        None => format!("{} of {server}", admitted.method()),
    };
    let error = format!("{named} did not finish: {why}");
    let hint = "It may have run in part. Check before you repeat it, or tell the user.";
    let step = format!("check what {named} has done, then {then}");
    let failure = Failure::agents_only(ErrorCode::QuestionUnanswered, error, hint);
    failure.with_step(NextStep::act(step)).of_server(server)
}
