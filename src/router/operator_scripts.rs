//! Scripts of operators, which run as those of clients do.

use super::{Reply, Router, built_in, operator_calls::as_failure, recording};
use crate::{
    activity::{CallBody, CallEntrance},
    call_context::CallContext,
    failure::error_code::Failure,
    wire::{Edit, Outcome, Raw, Thing, method, splice},
};

impl Router {
    /// A script as operators run it: `arguments` are those of `code_execution`.
    pub async fn run_script(
        &self,
        context: &CallContext,
        arguments: &Raw,
        meta: Option<&Raw>,
    ) -> Result<Raw, Failure> {
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
