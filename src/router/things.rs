//! The requests to servers that built-in tools make while they answer a call: calls of tools, prompts and resources. Each is recorded under
//! that call.

use super::{
    Reply, RequestError, Router, cutting::Cutting, declared_call::DeclaredCall,
    quarantine::meant_for_another, recording, tasks::NOT_AS_A_TASK,
};
use crate::{
    activity::CallBody,
    call_context::CallContext,
    catalog::Owner,
    failure::{Failure, Result},
    forward::{EndpointKind, ForwardRequest},
    gate::Variant,
    telemetry::log_context::LoggedWork,
    wire::{Edit, Outcome, Raw, Target, method},
};

/// Makes the requests of a built-in tool for things of servers.
#[derive(Clone, Copy)]
pub(super) struct Things<'a> {
    router: &'a Router,
    /// Notes the sources of the built-in tool's result, if that may be cut.
    cutting: Option<&'a Cutting>,
}

impl<'a> Things<'a> {
    pub(super) fn new(router: &'a Router, cutting: Option<&'a Cutting>) -> Self {
        Self { router, cutting }
    }

    /// Gets a prompt. `params` are those of the outer call, whose metadata the request repeats.
    pub(super) async fn get_prompt(
        self,
        outer: &CallContext,
        (server, prompt): (&str, &str),
        arguments: Option<&Raw>,
        params: &Raw,
    ) -> Result<Outcome, RequestError> {
        let passed_on = arguments.cloned().map_or(Edit::Remove, Edit::Set);
        let edits = [("arguments", passed_on), NOT_AS_A_TASK];
        let target = Target::prompt(prompt);
        let request = (server, target, arguments);
        self.request(outer, request, params, &edits).await
    }

    /// Reads a resource. `params` are those of the outer call, whose metadata the request repeats.
    pub(super) async fn read_resource(
        self,
        outer: &CallContext,
        owner: &Owner,
        params: &Raw,
    ) -> Result<Outcome, RequestError> {
        let remove = |key| (key, Edit::Remove);
        let edits = [remove("name"), remove("arguments"), NOT_AS_A_TASK];
        let request = (owner.server.as_str(), Target::resource(&owner.uri), None);
        self.request(outer, request, params, &edits).await
    }

    /// Makes one request, with these edits of the outer call's params.
    async fn request(
        self,
        outer: &CallContext,
        (server, target, arguments): (&str, Target<'_>, Option<&Raw>),
        params: &Raw,
        edits: &[(&str, Edit<'_>)],
    ) -> Result<Outcome, RequestError> {
        let inner = outer.child(target.method());
        let body = CallBody::Arguments(arguments);
        let mut record = self.router.begin(&inner, None, target.method(), body);
        record.is_of(Some(server), target.thing());
        let answering = async {
            let (router, caller) = (self.router, &inner.caller);
            router.ensure_known_for(&inner, server, &target).await?;
            let decide = || router.0.gate.admit(caller, server, target.clone());
            let admitted = router
                .admit_awake(&inner, (server, &target), decide)
                .await?;
            let request = ForwardRequest {
                params: Some(params),
                edits,
                endpoint: EndpointKind::ManyServers,
            };
            router.forward(&inner, &admitted, request).await
        };
        let answered = answering.logged_in(inner.logged_as.clone()).await;
        recording::end_forwarded(record, &answered);
        if let Some(cutting) = self.cutting {
            cutting.note_source(server, target);
        }
        answered
    }

    /// Records a request that is not made.
    pub(super) fn refuse(
        self,
        outer: &CallContext,
        target: &Target<'_>,
        why: &Failure,
        params: &Raw,
    ) {
        let inner = outer.child(target.method());
        if target.method() == method::TOOLS_CALL {
            self.router
                .note_blocked(&inner, why, || meant_for_another(Some(params)));
        }
        if let Some(answer) = inner.course.answer() {
            outer.course.note_answer(answer);
        }
        let body = CallBody::Arguments(None);
        let mut record = self.router.begin(&inner, None, target.method(), body);
        record.is_of(why.server.as_deref(), target.thing());
        record.failed(why);
    }

    /// The variant that a tool is to be called with, if its server lists it. A server whose list is not known is woken.
    pub(super) async fn variant_for(
        self,
        context: &CallContext,
        server: &str,
        tool: &str,
    ) -> Result<Option<Variant>> {
        self.router
            .ensure_known_for(context, server, &Target::tool(tool))
            .await?;
        let now = self.router.0.gate.now_for(&context.caller);
        let known = now.snapshot().tool(server, tool);
        Ok(known.map(|known| now.rules().call_with(server, known)))
    }

    /// Calls a tool. `params` are those of the outer call: the inner one repeats its metadata and every member that mcpproxy does not know.
    pub(super) async fn call_tool(
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
            cutting.note_source(server, Target::tool(tool));
        }
        Ok(Reply::Passed(called))
    }

    /// Records a call of a tool that is not made.
    pub(super) fn refuse_call(
        self,
        outer: &CallContext,
        (server, tool): (&str, &str),
        arguments: &Raw,
        why: &Failure,
    ) {
        let inner = outer.child(method::TOOLS_CALL);
        let (router, target) = (self.router, Target::tool(tool));
        let body = CallBody::Arguments(Some(arguments));
        let mut record = router.begin(&inner, None, method::TOOLS_CALL, body);
        record.is_of(Some(server), target.thing());
        let refused: Result = Err(why.clone());
        router.note_denied(&inner, server, &target, &refused);
        record.failed(why);
    }
}
