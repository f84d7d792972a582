//! What of a request changes for its upstream, by the endpoint that it came by.

use super::{Refused, Reply, Router};
use crate::{
    call_context::CallContext,
    error_code::ErrorCode,
    forward::{EndpointKind, ForwardRequest},
    gate::{Admitted, Wanted},
    names::ServerName,
    wire::{Edit, Outcome, Raw, Request, RpcError, method},
};

impl Router {
    /// Forwards a request of an endpoint that shows many servers, with `edits` made to the params.
    pub(super) async fn forward(
        &self,
        context: &CallContext,
        admitted: &Admitted,
        method: &str,
        params: Option<&Raw>,
        edits: &[(&str, Edit<'_>)],
    ) -> Result<Reply, Refused> {
        let request = ForwardRequest {
            method,
            params,
            edits,
            endpoint: EndpointKind::ManyServers,
        };
        let outcome = self.0.forwarder.forward(context, admitted, request).await?;
        if let Outcome::Result(result) = &outcome
            && context.revision.has_task_results()
        {
            self.note_task(context, admitted.server(), result);
        }
        Ok(Reply::Passed(outcome))
    }

    /// Forwards a request of a transparent endpoint as it is, whatever its method.
    pub(super) async fn pass(
        &self,
        context: &CallContext,
        server: &ServerName,
        request: &Request,
    ) -> Result<Reply, Refused> {
        let params = request.params.as_ref();
        let text = |key: &str| {
            params
                .and_then(|p| p.get(key))
                .and_then(|value| value.string())
        };
        let (name, uri) = (text("name"), text("uri"));
        let wanted = match (&*request.method, &name, &uri) {
            (method::TOOLS_CALL, Some(name), _) => Wanted::Tool(name),
            (method::TOOLS_CALL, None, _) => {
                return Err(RpcError::invalid_params("tools/call: `name` is missing").into());
            }
            (method::PROMPTS_GET, Some(name), _) => Wanted::Prompt(name),
            (method::RESOURCES_READ, _, Some(uri)) => Wanted::Resource(uri),
            (other, _, _) => Wanted::Method(other),
        };
        let admitted =
            self.admit(context, server.as_str(), wanted)
                .map_err(|failure| match failure.code {
                    ErrorCode::UnknownTool => {
                        RpcError::invalid_params(format!("{}. {}", failure.error, failure.hint))
                            .into()
                    }
                    _ => Refused::from(failure),
                })?;
        // Set again, so that a name which stands twice means for the upstream what it meant for the gate.
        let edits: Vec<(&str, Edit<'_>)> = match wanted {
            Wanted::Tool(name) | Wanted::Prompt(name) => once(params, "name", name),
            Wanted::Resource(uri) => once(params, "uri", uri),
            Wanted::Method(_) => vec![],
        };
        let request = ForwardRequest {
            method: &request.method,
            params,
            edits: &edits,
            endpoint: EndpointKind::OneServer,
        };
        let forwarder = &self.0.forwarder;
        let outcome = forwarder.forward(context, &admitted, request).await?;
        Ok(Reply::Passed(outcome))
    }
}

/// Nothing to edit if the key stands there once.
fn once(
    params: Option<&Raw>,
    key: &'static str,
    value: &str,
) -> Vec<(&'static str, Edit<'static>)> {
    match params.map(|params| params.look_up([key])) {
        Some([found]) if found.times > 1 => vec![(key, Edit::Set(Raw::author(&value)))],
        _ => vec![],
    }
}
