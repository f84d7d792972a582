//! Calls and scripts of operators, whose failures name the steps of a person.

use super::{
    Reply, RequestError, Router, built_in,
    declared_call::{Audience, DeclaredCall},
    recording,
    things::Things,
};
use crate::{
    activity::{CallBody, CallEntrance},
    call_context::CallContext,
    failure::{ErrorCode, Failure, NextStep, Result},
    gate::Variant,
    wire::{Edit, Outcome, Raw, Thing, method, splice},
};

impl Router {
    /// Makes the call of an operator, declared as a variant. `args` must be an object; `params` are sent beside it.
    pub async fn call_for_operator(
        &self,
        context: &CallContext,
        variant: Variant,
        server: &str,
        tool: &str,
        args: Option<&Raw>,
        params: Option<&Raw>,
    ) -> Result<Outcome> {
        let declared = DeclaredCall {
            variant,
            is_stated: true,
            server,
            tool,
            arguments: args.cloned(),
            intent: None,
            audience: Audience::Operator,
        };
        let called = self.make_recorded_call(context, declared, params).await;
        called.map_err(as_failure)
    }

    /// What a tool is called with where the operator says nothing.
    pub async fn variant_for_operator(
        &self,
        context: &CallContext,
        server: &str,
        tool: &str,
    ) -> Result<Variant> {
        let things = Things::new(self, None);
        let known = things.variant_for(context, server, tool).await;
        let known = known.map_err(|failure| self.0.management.for_operator(failure))?;
        // One that is not known is refused in any case.
        Ok(known.unwrap_or(Variant::Read))
    }

    /// The failure of an operator's call. Where it is for want of access, the next step names the tool; a program that was lost has its last
    /// words quoted.
    pub(super) async fn call_failed_for_operator(
        &self,
        error: RequestError,
        server: &str,
        tool: &str,
    ) -> RequestError {
        self.for_operator(match error {
            RequestError::Failed(failure) if failure.code == ErrorCode::AccessDenied => {
                failure.of_server(server).of_tool(tool).into()
            }
            RequestError::Failed(mut failure) if failure.code == ErrorCode::ConnectionLost => {
                if let Some(upstream) = self.0.upstreams.get(server)
                    && let Some(words) = upstream.last_words().await
                {
                    failure.error = format!("{}: {words}", failure.error);
                }
                failure.into()
            }
            RequestError::Failed(failure)
                if failure.code == ErrorCode::ServerUnavailable
                    && failure.step.as_deref().is_none_or(NextStep::only_shows) =>
            {
                // Its row has the reason then.
                if let Some(upstream) = self.0.upstreams.get(server) {
                    upstream.trouble().await;
                }
                failure.into()
            }
            error => error,
        })
    }

    /// The failure of an operator's request, in words for people.
    fn for_operator(&self, error: RequestError) -> RequestError {
        let management = &self.0.management;
        RequestError::Failed(management.for_operator(as_failure(error)))
    }

    /// Runs a script, as `code_execution` does for clients; `arguments` are those of that tool.
    pub async fn run_script(
        &self,
        context: &CallContext,
        arguments: &Raw,
        meta: Option<&Raw>,
    ) -> Result<Raw> {
        const NAME: &str = "code_execution";
        let entrance = Some(CallEntrance::Path("/api/v1/code"));
        let body = CallBody::Arguments(Some(arguments));
        let mut record = self.begin(context, entrance, method::TOOLS_CALL, body);
        record.is_of(None, &Thing::Tool(NAME.into()));
        let edits = [("arguments", Edit::Set(arguments.clone()))];
        let meta = meta.cloned().unwrap_or_else(Raw::empty_object);
        let running = async {
            self.0.gate.admit_built_in(&context.caller, NAME)?;
            let tool = built_in::find(NAME).expect("it is a built-in tool");
            let params = splice(&meta, &edits).unwrap_or_else(|_| Raw::empty_object());
            tool.run(self, context, &params, None).await
        };
        let answered = running.await;
        let answered = answered.map_err(|error| self.for_operator(error));
        recording::end(record, &answered);
        match answered {
            Ok(
                Reply::Own(result)
                | Reply::Passed(Outcome::Result(result) | Outcome::Error(result)),
            ) => Ok(result),
            Err(error) => Err(as_failure(error)),
        }
    }
}

/// The refusal of a request as a failure.
fn as_failure(error: RequestError) -> Failure {
    match error {
        RequestError::Failed(failure) => failure,
        RequestError::Rpc(error) => {
            let code = ErrorCode::InvalidArguments;
            Failure::new(code, error.message, "Correct the request.")
        }
    }
}
