//! `server/discover`: how we present ourselves to a modern client. On the endpoint of one server that is the server's own
//! presentation, brought into this era if it is of the other.

use serde_json::json;

use super::{Reply, RequestError, Router, View, opening};
use crate::{
    access::Caller,
    call_context::CallContext,
    failure::error_code::Failure,
    wire::{Outcome, Raw, Revision, bridge, method, presentation},
};

impl Router {
    pub(super) async fn discovered(
        &self,
        context: &CallContext,
        view: &View,
    ) -> Result<Reply, RequestError> {
        let result = self.discover(&context.caller, view).await?;
        Ok(Reply::Passed(Outcome::Result(result)))
    }

    /// The result of `server/discover`.
    pub async fn discover(&self, caller: &Caller, view: &View) -> Result<Raw, Failure> {
        let presented = match view {
            View::Configured | View::Mode(_) | View::Profile(_) => None,
            View::Server(server) => self.presentation(caller, server.as_str()).await?,
        };
        Ok(match presented {
            Some(presented) => presentation::as_discovery(&presented),
            None => self.own_discovery(caller, view),
        })
    }

    fn own_discovery(&self, caller: &Caller, view: &View) -> Raw {
        let mut capabilities = opening::capabilities();
        if self.some_server_has_tasks(caller) {
            capabilities["extensions"] = json!({ (presentation::TASKS_EXTENSION): {} });
        }
        let result = Raw::author(&json!({
            "supportedVersions": Revision::names_without_handshake(),
            "capabilities": capabilities,
            "instructions": self.prepared(caller).instructions(view),
        }));
        bridge::own_result_for(Revision::NEWEST, method::DISCOVER, result)
    }
}
