//! A call of a tool by its server and the server's own name for it, declared as a variant: records it, and sends it through the gate.

use super::{RequestError, Router, quarantine::echoed, recording, tasks::NOT_AS_A_TASK};
use crate::{
    activity::{CallBody, CallEntrance, OpenCall, StatedIntent},
    call_context::CallContext,
    forward::{EndpointKind, ForwardRequest},
    gate::Variant,
    wire::{Edit, Outcome, Raw, Target, Thing, method},
};

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

/// A call of a server's tool.
pub(super) struct DeclaredCall<'a> {
    pub(super) variant: Variant,
    /// Whether the caller stated the variant. If not, it is the tool's own.
    pub(super) is_stated: bool,
    pub(super) server: &'a str,
    /// The server's own name for it.
    pub(super) tool: &'a str,
    /// An object, or nothing.
    pub(super) arguments: Option<Raw>,
    /// The purpose that the caller stated.
    pub(super) intent: Option<StatedIntent>,
    /// Who reads the outcome.
    pub(super) audience: Audience,
}

impl Router {
    /// Makes a call and records it.
    pub(super) async fn make_recorded_call(
        &self,
        context: &CallContext,
        mut declared: DeclaredCall<'_>,
        params: Option<&Raw>,
    ) -> Result<Outcome, RequestError> {
        let audience = declared.audience;
        let mut record = self.begin_declared(context, &declared);
        if declared.is_stated {
            record.is_declared(declared.variant.as_str(), declared.intent.take());
        }
        let sent = declared.arguments.clone();
        let (server, tool) = (declared.server, declared.tool);
        let called = self.forward_declared(context, declared, params).await;
        let called = match (called, audience) {
            (Err(error), Audience::Operator) => {
                let failing = self.call_failed_for_operator(error, server, tool);
                Err(Box::pin(failing).await)
            }
            (Err(RequestError::Failed(failure)), Audience::Client) => {
                self.note_blocked(context, &failure, || echoed(sent.as_ref()));
                Err(RequestError::Failed(failure))
            }
            (called, _) => called,
        };
        recording::end_forwarded(record, &called);
        called
    }

    /// Begins the record of a call. An operator's call has no outer call, so its record names the route.
    fn begin_declared(&self, context: &CallContext, declared: &DeclaredCall<'_>) -> OpenCall {
        let is_operator = declared.audience == Audience::Operator;
        let entrance = is_operator.then_some(CallEntrance::Path("/api/v1/call"));
        let body = CallBody::Arguments(declared.arguments.as_ref());
        let mut record = self.begin(context, entrance, method::TOOLS_CALL, body);
        record.is_of(Some(declared.server), &Thing::Tool(declared.tool.into()));
        record
    }

    /// Sends a call through the gate to its server.
    async fn forward_declared(
        &self,
        context: &CallContext,
        declared: DeclaredCall<'_>,
        params: Option<&Raw>,
    ) -> Result<Outcome, RequestError> {
        let DeclaredCall {
            variant,
            server,
            tool,
            arguments,
            ..
        } = declared;
        let target = Target::tool(tool);
        self.ensure_known_for(context, server, &target).await?;
        let gate = &self.0.gate;
        let decide = || gate.admit_as(&context.caller, variant, server, tool);
        let admitted = self.admit_awake(context, (server, &target), decide).await?;
        let edits = [
            // Servers that check arguments against a schema refuse a call without the member.
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
