//! Makes the calls of a script: each passes the gate with the rights of the script's caller, and is recorded under the script.

use futures_util::{
    future::BoxFuture,
    stream::{self, StreamExt},
};

use super::{ScriptRequest, arguments::InnerCall, call_answer::CallAnswer, progress::Progress};
use crate::{
    code_execution::limits,
    config::{ChangeAuthor, ChangeWay},
    failure::{ErrorCode, Failure, NextStep},
    gate::Variant,
    router::{
        Reply, RequestError,
        built_in::Call,
        declared_call::{Audience, DeclaredCall},
    },
};

/// What a script gets of the calls of a batch.
pub(super) struct BatchAnswer {
    /// An array of their answers, in their order.
    pub(super) json: Vec<u8>,
    /// How many of them failed.
    pub(super) failed: usize,
}

/// Makes the calls of one script.
pub(super) struct InnerCalls<'a> {
    /// The call that runs the script.
    outer: &'a Call<'a>,
    request: &'a ScriptRequest,
    progress: Progress<'a>,
}

impl<'a> InnerCalls<'a> {
    pub(super) fn of(outer: &'a Call<'a>, request: &'a ScriptRequest) -> Self {
        Self {
            outer,
            request,
            progress: Progress::of(outer),
        }
    }

    /// Makes these calls, a few at once. Of one that is wrong nothing is sent.
    pub(super) async fn make(
        &self,
        calls: &[Result<InnerCall, String>],
        max_parallel: usize,
    ) -> BatchAnswer {
        let at_once = max_parallel.clamp(1, limits::MAX_PARALLEL);
        let answering: Vec<BoxFuture<'_, CallAnswer>> =
            calls.iter().map(|call| self.answer(call)).collect();
        let mut answers = stream::iter(answering).buffered(at_once);
        let (mut json, mut failed) = (vec![b'['], 0);
        let writing = async {
            while let Some(mut answer) = answers.next().await {
                if json.len() > 1 {
                    json.push(b',');
                }
                if json.len() + answer.json.len() > limits::RESULTS {
                    answer = CallAnswer::too_large(answer.json.len());
                }
                json.extend_from_slice(&answer.json);
                failed += usize::from(answer.failure.is_some());
                self.progress.count(answer.failure.as_deref());
            }
        };
        self.progress.with_progress(Box::pin(writing)).await;
        json.push(b']');
        BatchAnswer { json, failed }
    }

    /// Makes a call, or refuses it.
    fn answer<'s>(&'s self, call: &'s Result<InnerCall, String>) -> BoxFuture<'s, CallAnswer> {
        Box::pin(async move {
            let call = match call {
                Ok(call) => call,
                Err(why) => return CallAnswer::not_sent(why),
            };
            if !self.request.allows(&call.server) {
                let failure = server_not_allowed(&call.server, &call.tool);
                self.record_refusal(call, &failure);
                let hint = failure.hint.for_model();
                return CallAnswer::refusal("SERVER_NOT_ALLOWED", &failure.error, &hint);
            }
            match self.send(call).await {
                Err(RequestError::Failed(failure)) if self.outer.context.caller.is_operator() => {
                    let failure = self.outer.router.0.management.for_operator(failure);
                    CallAnswer::failed(&match ChangeAuthor::of_this_task().way {
                        ChangeWay::Terminal => failure.with_commands(),
                        _ => failure,
                    })
                }
                called => CallAnswer::of(call, &called),
            }
        })
    }

    /// Makes a call as the variant that its tool declares.
    async fn send(&self, call: &InnerCall) -> Result<Reply, RequestError> {
        let InnerCall { server, tool, .. } = call;
        let (things, context) = (self.outer.things, self.progress.context());
        let refuse = |failure: Failure| {
            self.record_refusal(call, &failure);
            RequestError::from(failure)
        };
        let variant = match things.variant_for(context, server, tool).await {
            Ok(Some(Variant::Destructive)) if !self.request.allows_destructive => {
                return Err(refuse(not_allowed_to_destroy(server, tool)));
            }
            Ok(variant) => variant.unwrap_or(Variant::Write),
            Err(failure) => return Err(refuse(failure)),
        };
        let params = self.progress.params(server, tool);
        let declared = DeclaredCall {
            variant,
            is_stated: false,
            server,
            tool,
            arguments: Some(call.arguments.clone()),
            intent: None,
            audience: Audience::Script,
        };
        things.call_tool(context, declared, &params).await
    }

    /// Records a call that is not made.
    fn record_refusal(&self, call: &InnerCall, failure: &Failure) {
        let (things, context) = (self.outer.things, self.progress.context());
        let named = (&*call.server, &*call.tool);
        things.refuse_call(context, named, &call.arguments, failure);
    }
}

/// The failure for the record. The script gets a code of its own.
fn server_not_allowed(server: &str, tool: &str) -> Failure {
    let error = format!("the server {server:?} is not among the allowed_servers of this script");
    let hint = "Use another server, or add it to options.allowed_servers.";
    Failure::not_run(ErrorCode::AccessDenied, error, hint)
        .of_server(server)
        .of_tool(tool)
}

fn not_allowed_to_destroy(server: &str, tool: &str) -> Failure {
    let error = format!("{server}:{tool} is destructive, and this script may not call such tools");
    let hint =
        "Ask the user; if they agree, run the script again with options.allow_destructive: true.";
    let step = NextStep::act("if you want that, give --allow-destructive")
        .or_request("if you want that, set `options.allow_destructive` to true");
    Failure::for_agents(ErrorCode::WrongVariant, error, hint, step)
        .of_server(server)
        .of_tool(tool)
}
