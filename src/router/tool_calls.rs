//! Calls of tools by server and own name, declared as a variant: what the tools of our own and operators make.

use super::{
    Reply, RequestError, Router, cutting::Cutting, echoed_arguments::echoed, recording,
    tasks::NOT_AS_A_TASK,
};
use crate::{
    access::Caller,
    activity::{CallBody, CallEntrance, StatedIntent},
    call_context::CallContext,
    failure::error_code::{ErrorCode, Failure},
    forward::{EndpointKind, ForwardRequest},
    gate::Variant,
    telemetry::log_context::LoggedWork,
    text::names::ServerName,
    wire::{Edit, Outcome, Raw, Target, Thing, method},
};

/// All that a built-in tool can do with the tools of servers.
#[derive(Clone, Copy)]
pub(super) struct ToolCalls<'a>(&'a Router, Option<&'a Cutting>);

/// Who reads the outcome of a call.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Audience {
    /// The client whose call it is.
    Client,
    /// The script that makes it.
    Script,
    /// An operator, who needs the steps of a person.
    Operator,
}

/// What is called, and as what.
pub(super) struct DeclaredCall<'a> {
    pub(super) variant: Variant,
    /// Whether the caller stated it, rather than the router found it out.
    pub(super) is_stated: bool,
    pub(super) server: &'a str,
    /// The server's own name for it.
    pub(super) tool: &'a str,
    /// An object, or nothing.
    pub(super) arguments: Option<Raw>,
    /// What the caller says that it is for.
    pub(super) intent: Option<StatedIntent>,
    /// Who reads the outcome.
    pub(super) audience: Audience,
}

impl<'a> ToolCalls<'a> {
    /// Over this router; what is called is noted where the result of it all may be cut.
    pub(super) fn new(router: &'a Router, cutting: Option<&'a Cutting>) -> Self {
        Self(router, cutting)
    }

    /// Whose tool is offered under this name, and its own name.
    pub(super) fn offered(self, caller: &Caller, name: &str) -> Option<(ServerName, Box<str>)> {
        self.0.find_tool(caller, name)
    }

    /// The variant that a tool is to be called with, if its server lists it. A server whose list is not known is woken.
    pub(super) async fn call_with(
        self,
        context: &CallContext,
        server: &str,
        tool: &str,
    ) -> Result<Option<Variant>, Failure> {
        self.0
            .ensure_known_for(context, server, &Target::tool(tool))
            .await?;
        let now = self.0.0.gate.now();
        let known = now.snapshot().tool(server, tool);
        Ok(known.map(|known| now.rules().call_with(server, known)))
    }

    /// Makes a call in the course of the one that this built-in tool answers. `params` are those of the outer call: its metadata and
    /// what we do not know belong to the inner one.
    pub(super) async fn call(
        self,
        outer: &CallContext,
        declared: DeclaredCall<'_>,
        params: &Raw,
    ) -> Result<Reply, RequestError> {
        let inner = outer.child(method::TOOLS_CALL);
        let (server, tool) = (declared.server, declared.tool);
        let calling = self.0.call_recorded(&inner, declared, Some(params));
        let called = calling.logged_in(inner.logged_as.clone()).await;
        if let Some(answer) = inner.course.answer() {
            outer.course.note_answer(answer);
        }
        let called = called?;
        if let Some(cutting) = self.1 {
            cutting.note_tool(server, tool);
        }
        Ok(Reply::Passed(called))
    }

    /// Records a call that is not made, in the course of the one that this built-in tool answers.
    pub(super) fn refuse(self, outer: &CallContext, declared: &DeclaredCall<'_>, why: &Failure) {
        let inner = outer.child(method::TOOLS_CALL);
        let body = CallBody::Arguments(declared.arguments.as_ref());
        let mut record = self.0.begin(&inner, None, method::TOOLS_CALL, body);
        record.is_of(Some(declared.server), &Thing::Tool(declared.tool.into()));
        let refused: Result<(), Failure> = Err(why.clone());
        let target = Target::tool(declared.tool);
        self.0
            .note_denied(&inner, declared.server, &target, &refused);
        record.failed(why);
    }
}

/// As operators hear of it.
pub(super) fn as_failure(error: RequestError) -> Failure {
    match error {
        RequestError::Failed(failure) => failure,
        RequestError::Rpc(error) => Failure::new(
            ErrorCode::InvalidArguments,
            error.message,
            "Correct the request.",
        ),
    }
}

impl Router {
    /// One call by server and tool, as operators make them, declared as a variant. `args` must be an object; `params` are sent beside it.
    pub async fn call_tool(
        &self,
        context: &CallContext,
        variant: Variant,
        server: &str,
        tool: &str,
        args: Option<&Raw>,
        params: Option<&Raw>,
    ) -> Result<Outcome, Failure> {
        let declared = DeclaredCall {
            variant,
            is_stated: true,
            server,
            tool,
            arguments: args.cloned(),
            intent: None,
            audience: Audience::Operator,
        };
        let called = self.call_recorded(context, declared, params).await;
        called.map_err(as_failure)
    }

    /// [`Router::call_declared`], with its record. Those of operators are made in the course of no other.
    async fn call_recorded(
        &self,
        context: &CallContext,
        mut declared: DeclaredCall<'_>,
        params: Option<&Raw>,
    ) -> Result<Outcome, RequestError> {
        let audience = declared.audience;
        let entrance =
            (audience == Audience::Operator).then_some(CallEntrance::Path("/api/v1/call"));
        let body = CallBody::Arguments(declared.arguments.as_ref());
        let mut record = self.begin(context, entrance, method::TOOLS_CALL, body);
        record.is_of(Some(declared.server), &Thing::Tool(declared.tool.into()));
        if declared.is_stated {
            record.is_declared(declared.variant.as_str(), declared.intent.take());
        }
        let sent = declared.arguments.clone();
        let (server, tool) = (declared.server, declared.tool);
        let called = self.call_declared(context, declared, params).await;
        let called = match (called, audience) {
            (Err(RequestError::Failed(failure)), Audience::Operator)
                if failure.code == ErrorCode::AccessDenied =>
            {
                // So that the next step names it.
                let failure = failure.of_server(server).of_tool(tool);
                Err(self.for_operator(failure.into()))
            }
            (Err(error), Audience::Operator) => Err(self.for_operator(error)),
            (Err(RequestError::Failed(failure)), Audience::Client) => {
                self.note_blocked(context, &failure, || echoed(sent.as_ref()));
                Err(RequestError::Failed(failure))
            }
            (called, _) => called,
        };
        recording::end_with(record, &called);
        called
    }

    /// The failure of an operator's request, in words for people.
    pub(super) fn for_operator(&self, error: RequestError) -> RequestError {
        let management = &self.0.management;
        RequestError::Failed(management.for_operator(as_failure(error)))
    }

    async fn call_declared(
        &self,
        context: &CallContext,
        declared: DeclaredCall<'_>,
        params: Option<&Raw>,
    ) -> Result<Outcome, RequestError> {
        let DeclaredCall {
            variant,
            is_stated: _,
            server,
            tool,
            arguments,
            intent: _,
            audience: _,
        } = declared;
        let target = Target::tool(tool);
        self.ensure_known_for(context, server, &target).await?;
        let gate = &self.0.gate;
        let decide = || gate.admit_as(&context.caller, variant, server, tool);
        let admitted = self.admit_awake(context, (server, &target), decide).await?;
        let edits = [
            // Servers that hold arguments against a schema refuse a call without any.
            (
                "arguments",
                Edit::Set(arguments.unwrap_or_else(Raw::empty_object)),
            ),
            NOT_AS_A_TASK,
        ];
        let request = ForwardRequest {
            params,
            edits: &edits,
            endpoint: EndpointKind::ManyServers,
        };
        self.forward(context, &admitted, request).await
    }
}
