//! Checks what was admitted once more, right before it is sent.

use super::{NotSent, Upstream, handle::Live};
use crate::{
    failure::{ErrorCode, Failure, NextStep, Result},
    gate::{Admitted, AdmittedMessage},
    text::ServerName,
    trust::approvals::ThingKind,
    upstream::instance_scope::InstanceScope,
    wire::{
        RpcError,
        bridge::{self, Sender},
        header_params,
    },
};

impl Upstream {
    /// What was admitted to one server reaches no other.
    pub(super) fn check_recipient(&self, admitted: &Admitted) -> Result {
        if admitted.server() == self.name() {
            Ok(())
        } else {
            Err(misdirected(self.name()))
        }
    }

    /// What was admitted must be what the connected server lists, and the gate must let it through as things stand now: a server that was
    /// asleep may have woken with another definition, and rules may have changed while the request waited.
    pub(super) fn check_still_admitted(&self, admitted: &Admitted, live: &Live) -> Result {
        self.check_definition(admitted, live)?;
        self.0.gate.renew(admitted)?;
        if self.0.instance_scope.is_some() {
            let listed = live.catalog.load();
            return self.0.gate.check_listed(admitted, &listed);
        }
        Ok(())
    }

    /// Refuses a tool that the connected server lists otherwise than it was admitted, or no longer.
    pub(super) fn check_definition(&self, admitted: &Admitted, live: &Live) -> Result {
        let (Some(tool), Some(fingerprint)) = (admitted.tool(), admitted.fingerprint()) else {
            return Ok(());
        };
        let catalog = live.catalog.load();
        let listed = catalog.tool(tool);
        if listed.is_some_and(|listed| listed.fingerprint == fingerprint) {
            return Ok(());
        }
        if listed.is_some() || catalog.leaves_out(ThingKind::Tool, tool) {
            return Err(admitted.refusal_of_another(fingerprint));
        }
        let (name, scope) = (self.name(), self.0.instance_scope.as_ref());
        let not_to_this =
            || format!("the server {name:?} does not offer the tool {tool:?} to this client");
        let find = "Find another tool: search for it, or list the tools.";
        let (error, hint, step) = match scope {
            None => (
                format!("the server {name:?} has no tool {tool:?} any more"),
                find,
                NextStep::ShowTools,
            ),
            Some(InstanceScope::Unable) => (
                not_to_this(),
                "It needs a client with elicitation, sampling or roots; use another tool.",
                NextStep::act(
                    "call it from an AI client that supports sampling, elicitation or roots: the server offers it only to such clients",
                ),
            ),
            Some(_) => (not_to_this(), find, NextStep::ShowTools),
        };
        let failure = Failure::for_agents(ErrorCode::UnknownTool, error, hint, step);
        Err(failure.of_server(name).of_tool(tool))
    }

    /// Refuses params that no right server could take: the continuation of a question that this server never asked, and an argument that
    /// is given twice though a header has to repeat it.
    pub(super) fn check_params(
        &self,
        message: &AdmittedMessage<'_>,
        sender: &Sender<'_>,
        live: &Live,
    ) -> Result<(), NotSent> {
        let (catalog, params) = (live.catalog.load(), message.params());
        let upstream = catalog.listing.revision;
        if let Some(why) = bridge::foreign_round(sender.revision, upstream, params) {
            return Err(NotSent::Wrong(RpcError::invalid_params(why)));
        }
        let tool = message.admitted().tool();
        let tool = tool.and_then(|tool| catalog.tool(tool));
        let Some(tool) = tool.filter(|tool| !tool.header_params.is_empty()) else {
            return Ok(());
        };
        let arguments = params.and_then(|params| params.get("arguments"));
        match header_params::doubled(&tool.header_params, arguments.as_ref()) {
            None => Ok(()),
            Some(key) => {
                let error = format!("the argument {key:?} appears twice");
                let hint = "Give it once.";
                let failure = Failure::not_run(ErrorCode::InvalidArguments, error, hint);
                Err(failure.of_server(self.name()).of_tool(&*tool.name).into())
            }
        }
    }
}

/// A fault of mcpproxy: a message for something else than what was admitted.
pub(super) fn misdirected(server: &ServerName) -> Failure {
    let error = format!("mcpproxy mixed up a request to {server:?}");
    let hint = "This is a mistake in mcpproxy; report it.";
    Failure::new(ErrorCode::Internal, error, hint).of_server(server)
}
