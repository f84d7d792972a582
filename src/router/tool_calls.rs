//! All that a built-in tool can do with the tools of servers.

use super::{Reply, RequestError, Router, cutting::Cutting, declared_call::DeclaredCall};
use crate::{
    access::Caller,
    call_context::CallContext,
    failure::error_code::Failure,
    gate::Variant,
    telemetry::log_context::LoggedWork,
    text::names::ServerName,
    wire::{Raw, Target, method},
};

/// The calls of one built-in tool.
#[derive(Clone, Copy)]
pub(super) struct ToolCalls<'a> {
    router: &'a Router,
    /// Notes what is called, where the result of it all may be cut.
    cutting: Option<&'a Cutting>,
}

impl<'a> ToolCalls<'a> {
    /// Over this router; what is called is noted where the result of it all may be cut.
    pub(super) fn new(router: &'a Router, cutting: Option<&'a Cutting>) -> Self {
        Self { router, cutting }
    }

    /// Finds whose tool is offered under this name, and its own name.
    pub(super) fn find_offered(
        self,
        caller: &Caller,
        name: &str,
    ) -> Option<(ServerName, Box<str>)> {
        self.router.find_tool(caller, name)
    }

    /// The variant that a tool is to be called with, if its server lists it. A server whose list is not known is woken.
    pub(super) async fn variant_for(
        self,
        context: &CallContext,
        server: &str,
        tool: &str,
    ) -> Result<Option<Variant>, Failure> {
        self.router
            .ensure_known_for(context, server, &Target::tool(tool))
            .await?;
        let now = self.router.0.gate.now_for(&context.caller);
        let known = now.snapshot().tool(server, tool);
        Ok(known.map(|known| now.rules().call_with(server, known)))
    }

    /// Makes a call in the course of the one that this built-in tool answers. `params` are those of the outer call: its metadata and
    /// what we do not know belong to the inner one.
    pub(super) async fn make(
        self,
        outer: &CallContext,
        declared: DeclaredCall<'_>,
        params: &Raw,
    ) -> Result<Reply, RequestError> {
        let inner = outer.child(method::TOOLS_CALL);
        let (server, tool) = (declared.server, declared.tool);
        let router = self.router;
        let calling = Box::pin(router.make_recorded_call(&inner, declared, Some(params)));
        let called = calling.logged_in(inner.logged_as.clone()).await;
        if let Some(answer) = inner.course.answer() {
            outer.course.note_answer(answer);
        }
        let called = called?;
        if let Some(cutting) = self.cutting {
            cutting.note_tool(server, tool);
        }
        Ok(Reply::Passed(called))
    }

    /// Records a call that is not made, in the course of the one that this built-in tool answers.
    pub(super) fn record_refusal(
        self,
        outer: &CallContext,
        declared: &DeclaredCall<'_>,
        why: &Failure,
    ) {
        let inner = outer.child(method::TOOLS_CALL);
        let record = self.router.begin_declared(&inner, declared);
        let refused: Result<(), Failure> = Err(why.clone());
        let target = Target::tool(declared.tool);
        self.router
            .note_denied(&inner, declared.server, &target, &refused);
        record.failed(why);
    }
}
