//! Forwarding by the endpoint that a request came by.

use super::{Reply, RequestError, Router};
use crate::{
    call_context::CallContext,
    error_code::ErrorCode,
    forward::{EndpointKind, ForwardRequest},
    gate::Admitted,
    names::ServerName,
    wire::{Edit, Outcome, Raw, Request, RpcError, Target},
};

impl Router {
    /// Forwards a request of an endpoint that shows many servers, with `edits` made to the params besides the name.
    pub(super) async fn forward(
        &self,
        context: &CallContext,
        admitted: &Admitted,
        params: Option<&Raw>,
        edits: &[(&str, Edit<'_>)],
    ) -> Result<Reply, RequestError> {
        let request = ForwardRequest {
            params,
            edits,
            endpoint: EndpointKind::ManyServers,
        };
        self.forwarded(context, admitted, request).await
    }

    async fn forwarded(
        &self,
        context: &CallContext,
        admitted: &Admitted,
        request: ForwardRequest<'_>,
    ) -> Result<Reply, RequestError> {
        self.check_task(context, admitted)?;
        let outcome = self.0.forwarder.forward(context, admitted, request).await?;
        if let Outcome::Result(result) = &outcome {
            self.note_task(context, admitted, request.params, result);
        }
        Ok(Reply::Passed(self.own_tasks(context, admitted, outcome)))
    }

    /// Forwards a request of an endpoint of one server as it is, whatever its method.
    pub(super) async fn pass(
        &self,
        context: &CallContext,
        server: &ServerName,
        request: &Request,
    ) -> Result<Reply, RequestError> {
        let params = request.params.as_ref();
        let target = Target::of(&request.method, params)?;
        let admitted = self.0.gate.admit(&context.caller, server.as_str(), target);
        let admitted = admitted.map_err(|failure| match failure.code {
            ErrorCode::UnknownTool => {
                RpcError::invalid_params(format!("{}. {}", failure.error, failure.hint)).into()
            }
            _ => RequestError::from(failure),
        })?;
        let request = ForwardRequest {
            params,
            edits: &[],
            endpoint: EndpointKind::OneServer,
        };
        self.forwarded(context, &admitted, request).await
    }
}
