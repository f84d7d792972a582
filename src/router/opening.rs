//! Answers `initialize` and `server/discover`. On an endpoint of one server, the answer is that of the server, in the form of the client's
//! revision.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::json;

use super::{Router, View};
use crate::{
    access::Caller,
    call_context::{CallContext, ClientIdentity},
    failure::Result,
    text::names::ServerName,
    wire::{Edit, Raw, Revision, RpcError, Target, bridge, method, presentation, splice},
};

/// The agreement with a client that opens a connection.
pub struct Opening {
    /// The revision that was agreed.
    pub revision: Revision,
    /// The result of `initialize`.
    pub result: Raw,
    /// The implementation and capabilities that the client declared.
    pub client: Arc<ClientIdentity>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct InitializeParams {
    protocol_version: Option<String>,
}

impl Router {
    /// Answers `initialize`. `context` is that of the request, without the client.
    pub async fn open(
        &self,
        mut context: CallContext,
        view: &View,
        params: Option<&Raw>,
    ) -> Result<Opening, RpcError> {
        let empty = Raw::empty_object();
        let params = params.unwrap_or(&empty);
        let offered: InitializeParams = params.read().map_err(|_| {
            RpcError::invalid_params("no session was opened: \"protocolVersion\" is not a string, such as \"2025-11-25\"")
        })?;
        let part = |key| params.get(key).unwrap_or_else(Raw::empty_object);
        let client = ClientIdentity::kept(&part("clientInfo"), &part("capabilities"))?;
        let revision = Revision::negotiate(offered.protocol_version.as_deref().unwrap_or_default());
        let client = Arc::new(client);
        context.client = client.clone();
        context.revision = revision;
        let context = context.at_client();
        let caller = &context.caller;
        if let View::Server(server) = view {
            self.meet(&context, server).await;
        }
        let presented = self.presented(caller, view).await;
        let presented = presented.map_err(|failure| failure.as_rpc_error())?;
        let result = match presented {
            Some(presented) => presentation::as_initialize(&presented, revision),
            None => self.own_opening(caller, view, revision),
        };
        Ok(Opening {
            revision,
            result,
            client,
        })
    }

    fn own_opening(&self, caller: &Caller, view: &View, revision: Revision) -> Raw {
        Raw::author(&json!({
            "protocolVersion": revision.as_str(),
            "capabilities": capabilities(),
            "serverInfo": presentation::own_titled_implementation(),
            "instructions": self.prepared(caller).instructions(view),
        }))
    }

    /// The result of `server/discover`.
    pub async fn discover(&self, caller: &Caller, view: &View) -> Result<Raw> {
        Ok(match self.presented(caller, view).await? {
            Some(presented) => presentation::as_discovery(&presented),
            None => self.own_discovery(caller, view),
        })
    }

    fn own_discovery(&self, caller: &Caller, view: &View) -> Raw {
        let mut capabilities = capabilities();
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

    /// Makes the server's lists for this client known, if the client may use the server and has a list of its own there.
    pub(super) async fn meet(&self, context: &CallContext, server: &ServerName) {
        let lists = Target::method_alone(method::TOOLS_LIST);
        let decided = self.0.gate.decide(&context.caller, server.as_str(), &lists);
        if decided.is_ok() {
            self.0.forwarder.meet(context, server).await;
        }
    }

    /// The server's own result of `initialize` or `server/discover`. `None` while it is not known, and on endpoints of many servers.
    async fn presented(&self, caller: &Caller, view: &View) -> Result<Option<Raw>> {
        let View::Server(server) = view else {
            return Ok(None);
        };
        let server = server.as_str();
        let target = Target::method_alone(method::INITIALIZE);
        self.0.gate.decide(caller, server, &target)?;
        self.ensure_listed(server).await?;
        let now = self.0.gate.now_for(caller);
        let known = now.snapshot().servers.get(server);
        let initialize = known.map(|known| known.listing.initialize.clone());
        Ok(initialize.map(|initialize| {
            if !now.rules().withholds_instructions(server) {
                return initialize;
            }
            let without = splice(&initialize, &[("instructions", Edit::Remove)]);
            without.unwrap_or_else(|_| Raw::empty_object())
        }))
    }
}

/// The capabilities of endpoints of many servers.
pub(super) fn capabilities() -> serde_json::Value {
    json!({
        "tools": { "listChanged": true },
        "prompts": { "listChanged": true },
        "resources": { "listChanged": true, "subscribe": true },
        "completions": {},
        "logging": {},
    })
}
