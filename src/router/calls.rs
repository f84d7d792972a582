//! Requests for what endpoints of many servers offer: tools, prompts, resources, completions and tasks.

use super::{
    Reply, RequestError, Router, View, built_in, cutting::Cutting, offered_names::servers_named_in,
    recording, tasks::NOT_AS_A_TASK,
};
use crate::{
    activity::OpenCall,
    call_context::CallContext,
    failure::{ErrorCode, Failure},
    forward::{EndpointKind, ForwardRequest},
    text::names::ServerName,
    wire::{MemberSpan, Outcome, Raw, Request, RpcError, Target, Thing, method},
};

impl Router {
    /// Answers a request for a thing that endpoints of many servers offer: by a built-in tool, or by the thing's server under its own name for it.
    pub(super) async fn call_offered(
        &self,
        context: &CallContext,
        view: &View,
        request: &Request,
    ) -> Result<Reply, RequestError> {
        let mut record = self.record(context, view, request);
        let cutting = self.cutting(&context.caller, view, &request.method);
        // Awaited in the same expression: a future with a name takes its place twice, in every future around this one.
        let answered = self
            .answer_offered(context, request, &mut record, cutting.as_ref())
            .await;
        if let Err(error) = &answered {
            self.note_blocked_request(context, view, request, error);
        }
        recording::end(record, &answered);
        match cutting {
            Some(cutting) => Box::pin(self.cut(&context.caller, answered, cutting)).await,
            None => answered,
        }
    }

    async fn answer_offered(
        &self,
        context: &CallContext,
        request: &Request,
        record: &mut OpenCall,
        cutting: Option<&Cutting>,
    ) -> Result<Reply, RequestError> {
        let (method, params) = (&*request.method, request.params.as_ref());
        if method::is_of_tasks(method) && !context.revision.has_task_results() {
            return Err(RpcError::method_not_found(method).into());
        }
        let target = Target::of(method, params)?;
        record.is_of(None, target.thing());
        if let (Thing::Tool(offered), Some(params)) = (target.thing(), params) {
            check_spelling(params)?;
            if let Some(tool) = built_in::find(offered) {
                self.0.gate.admit_built_in(&context.caller, tool.name)?;
                let cutting = cutting.and_then(|cutting| cutting.note_ours(tool.name));
                return tool.run(self, context, params, cutting).await;
            }
        }
        let (server, own_name) = self.owner_of_thing(context, &target, record).await?;
        let target = target.renamed(&own_name);
        record.is_of(Some(server.as_str()), target.thing());
        let gate = &self.0.gate;
        let decide = || gate.admit(&context.caller, server.as_str(), target.clone());
        let wanted = (server.as_str(), &target);
        let admitted = self.admit_awake(context, wanted, decide).await?;
        self.check_tool_of_task(context, &admitted)?;
        let edits: &[_] = match admitted.target().thing() {
            Thing::Tool(_) => &[NOT_AS_A_TASK],
            _ => &[],
        };
        let request = ForwardRequest {
            params,
            edits,
            endpoint: EndpointKind::ManyServers,
        };
        let outcome = self.forward(context, &admitted, request).await?;
        if let (Some(cutting), Outcome::Result(result)) = (cutting, &outcome) {
            self.note_offered(cutting, &admitted, result);
        }
        Ok(Reply::Passed(outcome))
    }

    /// The server of an offered thing, and its own name for it.
    async fn owner_of_thing(
        &self,
        context: &CallContext,
        target: &Target<'_>,
        record: &mut OpenCall,
    ) -> Result<(ServerName, Box<str>), RequestError> {
        match target.thing() {
            Thing::Tool(offered) => {
                let found = self.offered_tool(context, offered).await;
                found.map_err(|failure| {
                    self.note_named_server(record, target, offered);
                    unknown_as_invalid_params(failure)
                })
            }
            Thing::Prompt(offered) => {
                let found = self.offered_prompt(&context.caller, offered);
                Ok(found.inspect_err(|_| self.note_named_server(record, target, offered))?)
            }
            Thing::Resource(uri) => {
                let owner = self.owner_of(context, uri)?;
                Ok((owner.server, owner.uri))
            }
            Thing::Task(id) => Ok((self.server_of_task(context, id)?, id.as_ref().into())),
            // A completion whose reference is neither a prompt nor a resource.
            Thing::Nothing => {
                let error = format!(
                    "{} did not run: ref.type must be \"ref/prompt\" or \"ref/resource\"",
                    target.method()
                );
                Err(RpcError::invalid_params(error).into())
            }
        }
    }

    /// Notes in the record of an unknown name the server with whose name it begins: people look for refused calls by server. Nothing is decided
    /// by it.
    fn note_named_server(&self, record: &mut OpenCall, target: &Target<'_>, offered: &str) {
        let settings = self.settings();
        if let Some((server, own_name)) = servers_named_in(&settings, offered).next() {
            let own = target.clone().renamed(own_name);
            record.is_of(Some(server.as_str()), own.thing());
        }
    }
}

/// The failure with the code that the specification has for an unknown tool.
pub(super) fn unknown_as_invalid_params(failure: Failure) -> RequestError {
    if failure.code != ErrorCode::UnknownTool {
        return failure.into();
    }
    let text = format!("{}. {}", failure.error, failure.hint.for_model());
    RpcError::invalid_params(text).into()
}

/// Keys for arguments that built-in tools take, but not `tools/call`.
const NOT_IN_MCP: [&str; 2] = ["args", "args_json"];

/// Refuses `args` in the params of a call without `arguments`: the caller mistook the key, and the tool would run without its arguments.
fn check_spelling(params: &Raw) -> Result<(), RpcError> {
    let is = |member: &MemberSpan, key: &str| member.is(params.as_bytes(), key);
    let Some(key) = params
        .members()
        .find_map(|member| NOT_IN_MCP.into_iter().find(|key| is(&member, key)))
    else {
        return Ok(());
    };
    if params
        .get("arguments")
        .is_some_and(|value| !value.is_null())
    {
        return Ok(());
    }
    let error = format!(
        "tools/call did not run: \"{key}\" is unknown in its params; the arguments of the tool go into \"arguments\""
    );
    Err(RpcError::invalid_params(error))
}
