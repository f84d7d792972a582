//! Requests that take several rounds (revision 2026-07-28, basic/patterns/mrtr): a legacy upstream's call is kept while its modern
//! client fetches answers, and a modern upstream is asked again with the answers of its legacy client.

use std::time::Instant;

use super::{
    Refused, Reply, Router,
    exchange::{PATIENCE, Running},
    forward::{Begun, Shown},
    input_required::{self, Asked},
    parked::{self, Bound, ParkedCall},
};
use crate::{
    call_context::CallContext,
    error_code::{ErrorCode, Failure},
    fingerprint::Fingerprint,
    gate::Admitted,
    names::ServerName,
    wire::{Edit, Id, Outcome, Raw, Request, RpcError, bridge, meta, splice},
};

/// A request that went on with a parked call.
pub(super) enum Resumed {
    Going(Box<Running>),
    /// Its client has to answer more.
    Asking(Reply),
}

impl Router {
    /// Keeps the call, and hands its questions to the client.
    pub(super) fn park(
        &self,
        context: &CallContext,
        mut running: Running,
        questions: Vec<(Id, Asked)>,
    ) -> Result<Reply, Refused> {
        running.call.hold();
        running.rounds += 1;
        let shown: Vec<Asked> = questions.iter().map(|(_, asked)| asked.clone()).collect();
        let bound = bound(context, running.call.server(), &running);
        let call = ParkedCall { running, questions };
        match self.0.parked.park(call, bound, Instant::now()) {
            Ok(handle) => {
                let result = input_required::result(&shown, Some(&handle));
                Ok(Reply::Passed(Outcome::Result(result)))
            }
            // The call was dropped, and with that withdrawn.
            Err(full) => Err(Failure::new(
                ErrorCode::Overloaded,
                full.to_string(),
                "Answer or abandon what is open, then try again.",
            )
            .into()),
        }
    }

    /// The parked call that a request goes on with; `None` if it does not go on with one. The answers it brings are delivered.
    pub(super) async fn resumed(
        &self,
        context: &CallContext,
        admitted: &Admitted,
        begun: &Begun<'_>,
    ) -> Result<Option<Resumed>, Refused> {
        let Some(handle) = handle(context, begun.params) else {
            return Ok(None);
        };
        let message = admitted.message(begun.params, begun.edits)?;
        let bound = Bound {
            caller: context.caller.clone(),
            server: admitted.server().clone(),
            method: message.method().into(),
            params: fingerprint(message.params()),
        };
        let Some(call) = self.0.parked.take(&handle, &bound, Instant::now()) else {
            let why = "`requestState` is unknown, used, expired, or of another request. Send the request again without it and without `inputResponses`.";
            return Err(RpcError::invalid_params(why).into());
        };
        let ParkedCall {
            mut running,
            questions,
        } = call;
        running.progress.heard_as(begun.token.clone());
        running.call.resume();
        let responses = begun
            .params
            .and_then(|params| params.get(input_required::RESPONSES));
        let mut open = Vec::new();
        for (id, asked) in questions {
            match input_required::answer(responses.as_ref(), &asked) {
                Some(outcome) => running.call.answer(&id, &outcome).await?,
                None => open.push((id, asked)),
            }
        }
        if open.is_empty() {
            return Ok(Some(Resumed::Going(Box::new(running))));
        }
        // What is missing is asked again.
        if running.rounds < parked::ROUNDS {
            return self
                .park(context, running, open)
                .map(|reply| Some(Resumed::Asking(reply)));
        }
        for (id, asked) in open {
            let refusal = bridge::refused_question(&asked.method, "the client did not answer it");
            running
                .call
                .answer(&id, &Outcome::Error(refusal.to_raw()))
                .await?;
        }
        Ok(Some(Resumed::Going(Box::new(running))))
    }

    /// Gives up the call that a request which was refused would have gone on with.
    pub(super) fn abandon(&self, context: &CallContext, request: &Request) {
        if let Some(handle) = handle(context, request.params.as_ref()) {
            self.0.parked.forget(&handle);
        }
    }

    /// Gives up calls whose clients do not come back in time, for ever.
    pub async fn give_up_unanswered(self) {
        self.0.parked.forget_expired().await;
    }

    /// Asks a legacy client what a modern upstream's result asks, and sends the request again with the answers.
    pub(super) async fn next_round(
        &self,
        context: &CallContext,
        admitted: &Admitted,
        running: Running,
        result: &Raw,
    ) -> Result<Running, Refused> {
        let server = admitted.server();
        if running.rounds >= parked::ROUNDS {
            return Err(unanswered(server, "it asks again and again").into());
        }
        let asked = input_required::asked(result);
        if asked.len() > input_required::QUESTIONS {
            return Err(unanswered(server, "it asks too much at once").into());
        }
        let asking = asked
            .iter()
            .map(|asked| answer_of(context, server, running.shown, asked));
        let answers = tokio::time::timeout(PATIENCE, futures_util::future::try_join_all(asking));
        let answers = match answers.await {
            Ok(answers) => answers?,
            Err(_) => return Err(unanswered(server, "the client did not answer in time").into()),
        };
        let answers: Vec<(&str, Edit<'_>)> = asked
            .iter()
            .zip(answers)
            .map(|(asked, answer)| (&*asked.key, Edit::Set(answer)))
            .collect();
        let mut edits = vec![(input_required::RESPONSES, Edit::Within(&answers))];
        if let Some(state) = result.get(input_required::STATE) {
            edits.push((input_required::STATE, Edit::Set(state)));
        }
        let token = running.progress.token();
        let Running {
            call,
            params,
            shown,
            rounds,
            waited,
            ..
        } = running;
        // It has its answer; the place that it holds at a server which has few may be the one that the next needs.
        drop(call);
        let begun = Begun {
            params: params.as_ref(),
            edits: &edits,
            token,
            shown,
        };
        let mut next = self.begin(context, admitted, begun).await?;
        (next.params, next.rounds, next.waited) = (params, rounds + 1, waited);
        Ok(next)
    }
}

/// One question of a modern upstream to a legacy client.
async fn answer_of(
    context: &CallContext,
    server: &ServerName,
    shown: Shown,
    asked: &Asked,
) -> Result<Raw, Refused> {
    let mut params = input_required::for_legacy(asked, context.revision);
    if shown == Shown::Offered {
        params = input_required::signed(server, &asked.method, params.as_ref());
    }
    let outcome = context.ask(&asked.method, params.as_ref()).await;
    let outcome = outcome.map_err(|why| unanswered(server, &why.to_string()))?;
    input_required::response(asked, outcome).map_err(|error| {
        let said = error.get("message").and_then(|message| message.string());
        let why = format!("the client refused: {}", said.unwrap_or_default());
        unanswered(server, &why).into()
    })
}

fn unanswered(server: &ServerName, why: &str) -> Failure {
    let error = format!("the server {server:?} asked something that was not answered: {why}");
    let hint =
        "Use a client that can answer questions of servers, or call in a way that needs none.";
    Failure::new(ErrorCode::QuestionUnanswered, error, hint).of_server(server)
}

fn handle(context: &CallContext, params: Option<&Raw>) -> Option<String> {
    if context.revision.has_handshake() {
        return None;
    }
    let state = params?.get(input_required::STATE)?.string()?;
    parked::is_handle(&state).then_some(state)
}

fn bound(context: &CallContext, server: &ServerName, running: &Running) -> Bound {
    Bound {
        caller: context.caller.clone(),
        server: server.clone(),
        method: running.method.clone(),
        params: fingerprint(running.params.as_ref()),
    }
}

/// Of params without metadata and answers.
fn fingerprint(params: Option<&Raw>) -> Fingerprint {
    let empty = Raw::empty_object();
    let params = input_required::without_answers(params.unwrap_or(&empty));
    let bare = splice(&params, &[(meta::META, Edit::Remove)]).unwrap_or(params);
    Fingerprint::of_value(&bare)
}
