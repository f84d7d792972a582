//! Forwards admitted requests, and all requests of endpoints of one server.

use super::{RequestError, Router, View, calls::unknown_as_invalid_params, recording};
use crate::{
    activity::{CallStage, OpenCall},
    call_context::CallContext,
    forward::{EndpointKind, ForwardRequest},
    gate::Admitted,
    text::names::ServerName,
    wire::{Outcome, Request, Target, Thing, method},
};

impl Router {
    /// Forwards a request, and remembers the task that it may have created. The outcome has the URIs that the endpoint offers.
    pub(super) async fn forward(
        &self,
        context: &CallContext,
        admitted: &Admitted,
        request: ForwardRequest<'_>,
    ) -> Result<Outcome, RequestError> {
        context.course.note_decision(admitted.decision());
        let forwarded = self.0.forwarder.forward(context, admitted, request).await;
        context.course.enter(CallStage::Ours);
        if let Some(trace) = &context.trace {
            trace.note_answered();
        }
        let outcome = forwarded?;
        let is_native = request.endpoint == EndpointKind::OneServer;
        let may_be_task = is_native || context.revision.has_task_results();
        if may_be_task && let Outcome::Result(result) = &outcome {
            self.note_task(context, admitted, request.params, result);
        }
        Ok(match request.endpoint {
            EndpointKind::OneServer => outcome,
            EndpointKind::ManyServers => self.with_offered_uris(context, admitted, outcome),
        })
    }

    /// Forwards a request of an endpoint of one server as it is, whatever its method.
    pub(super) async fn pass(
        &self,
        context: &CallContext,
        server: &ServerName,
        request: &Request,
    ) -> Result<Outcome, RequestError> {
        let view = View::Server(server.clone());
        let mut record = self.record(context, &view, request);
        let passed = self
            .pass_recorded(context, server, request, &mut record)
            .await;
        if let Err(error) = &passed {
            self.note_blocked_request(context, &view, request, error);
        }
        recording::end_forwarded(record, &passed);
        passed
    }

    async fn pass_recorded(
        &self,
        context: &CallContext,
        server: &ServerName,
        request: &Request,
        record: &mut OpenCall,
    ) -> Result<Outcome, RequestError> {
        let params = request.params.as_ref();
        record.is_of(Some(server.as_str()), &Thing::Nothing);
        let target = Target::of(&request.method, params)?;
        record.is_of(Some(server.as_str()), target.thing());
        let listing = match &*request.method {
            // The gate decides about what these name once the lists are known.
            method::TOOLS_CALL
            | method::PROMPTS_GET
            | method::RESOURCES_READ
            | method::COMPLETE
            | method::TASKS_GET
            | method::TASKS_UPDATE
            | method::TASKS_CANCEL
            | method::TASKS_RESULT => Target::method_alone(method::TOOLS_LIST),
            other => Target::method_alone(other),
        };
        self.ensure_known_for(context, server.as_str(), &listing)
            .await?;
        let gate = &self.0.gate;
        let decide = || gate.admit(&context.caller, server.as_str(), target.clone());
        let wanted = (server.as_str(), &target);
        let admitted = self.admit_awake(context, wanted, decide).await;
        let admitted = admitted.map_err(unknown_as_invalid_params)?;
        self.check_task(context, &admitted)?;
        self.check_tool_of_task(context, &admitted)?;
        let request = ForwardRequest {
            params,
            edits: &[],
            endpoint: EndpointKind::OneServer,
        };
        let outcome = self.forward(context, &admitted, request).await?;
        Ok(if admitted.method() == method::TASKS_LIST {
            self.own_tasks(context, &admitted, outcome)
        } else {
            outcome
        })
    }
}
