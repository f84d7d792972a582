//! Answers every request of an MCP client, whatever transport it came by: from the catalog, by a built-in tool, or by sending it through
//! the gate to its upstream.

mod admission;
mod built_in;
mod calls;
mod changes;
mod cutting;
mod declared_call;
mod definitions;
mod forward;
mod header_params;
mod held_things;
mod instructions;
pub mod large_results;
mod lists;
mod offered_names;
mod opening;
mod operator_calls;
mod quarantine;
mod recording;
mod resources;
pub mod search;
mod startup;
mod subscriptions;
mod tasks;
mod things;
mod view;

use std::sync::Arc;

use tokio::sync::watch;

pub use self::{
    built_in::{ToolRequest, passed_on, stated_intent},
    changes::{Announcement, Changes, Known},
    tasks::declares_tasks,
    view::View,
};
pub use crate::upstream::{LogSubscription, Notifier, Subscription};

use crate::{
    access::Caller,
    activity::Activity,
    call_context::{CallContext, ClientSession},
    catalog::Catalog,
    code_execution::Scripts,
    config::Settings,
    failure::{ErrorCode, Failure, shown_failure},
    forward::{Forwarder, RequestError},
    gate::Gate,
    management::Management,
    router::{large_results::LargeResults, search::ToolSearch},
    runtime::{long_work::LongWork, memory_budget::MemoryBudget},
    text::names::ServerName,
    upstream::{Upstream, Upstreams},
    wire::{Notification, Outcome, Raw, Request, RpcError, Target, bridge, method},
};

/// Answers clients. Cheap to clone.
#[derive(Clone)]
pub struct Router(Arc<Parts>);

struct Parts {
    settings: watch::Receiver<Arc<Settings>>,
    gate: Gate,
    catalog: Catalog,
    upstreams: Upstreams,
    lists: lists::Prepared,
    forwarder: Forwarder,
    tasks: tasks::Tasks,
    named_to_others: resources::NamedToOthers,
    search: ToolSearch,
    activity: Activity,
    management: Management,
    scripts: Scripts,
    memory: MemoryBudget,
    large_results: LargeResults,
    /// Puts large answers of built-in tools together.
    long_work: LongWork,
}

/// The answer to a request that was not refused.
enum Reply {
    /// A result of our own, in the shape of legacy revisions.
    Own(Raw),
    /// An answer in the shape of the client's revision: an upstream's, for example.
    Passed(Outcome),
}

impl Reply {
    /// A result in the shape of the client's revision.
    fn result(result: Raw) -> Self {
        Self::Passed(Outcome::Result(result))
    }
}

impl Router {
    /// A router over these parts.
    pub fn new(
        settings: watch::Receiver<Arc<Settings>>,
        gate: Gate,
        catalog: Catalog,
        upstreams: Upstreams,
        activity: Activity,
        management: Management,
        scripts: Scripts,
    ) -> Self {
        let search = ToolSearch::new(gate.clone(), catalog.clone(), upstreams.clone());
        let memory = MemoryBudget::default();
        Self(Arc::new(Parts {
            settings,
            gate,
            catalog,
            search,
            forwarder: Forwarder::new(upstreams.clone()),
            upstreams,
            lists: lists::Prepared::default(),
            tasks: tasks::Tasks::default(),
            named_to_others: resources::NamedToOthers::default(),
            activity,
            management,
            scripts,
            large_results: LargeResults::within(memory.clone()),
            memory,
            long_work: LongWork::default(),
        }))
    }

    /// The budget for what clients make the daemon hold, here and wherever they are served.
    pub fn memory(&self) -> &MemoryBudget {
        &self.0.memory
    }

    /// Answers one request. Dropping the future withdraws it, upstream too.
    pub async fn request(&self, context: &CallContext, view: &View, request: &Request) -> Outcome {
        let answered = match view.server() {
            Some(server) => self.answer_of_one_server(context, server, request).await,
            None => self.answer_of_many_servers(context, view, request).await,
        };
        // A request with wrong arguments leaves a parked call as it is: the corrected request may follow.
        if let Err(RequestError::Failed(refused)) = &answered
            && refused.code != ErrorCode::InvalidArguments
        {
            let params = request.params.as_ref();
            let forwarder = &self.0.forwarder;
            forwarder.abandon(context, &request.method, params);
        }
        let own = |result| {
            let shaped = bridge::own_result_for(context.revision, &request.method, result);
            Outcome::Result(shaped)
        };
        match answered {
            Ok(Reply::Passed(outcome)) => outcome,
            Ok(Reply::Own(result)) => own(result),
            // A result, so that a model reads it.
            Err(RequestError::Failed(failure)) if &*request.method == method::TOOLS_CALL => {
                own(Self::refused_call(context, &failure))
            }
            Err(refused) => Outcome::Error(refusal(context, refused).to_raw()),
        }
    }

    /// Runs for ever: gives up parked calls whose clients do not come back in time, and drops cut results that expired.
    pub async fn give_up_unanswered(self) {
        let (calls, texts) = (&self.0.forwarder, &self.0.large_results);
        tokio::join!(calls.forget_expired(), texts.forget_expired());
    }

    /// Takes a notification of a client. Those that concern a connection (initialized, cancelled) do not come here.
    pub async fn notification(
        &self,
        caller: &Caller,
        session: Option<&ClientSession>,
        view: &View,
        notification: &Notification,
    ) {
        if &*notification.method == method::ROOTS_CHANGED {
            if let Some(session) = session {
                for upstream in self.0.forwarder.own_upstreams(session) {
                    self.pass_on(caller, &upstream, notification).await;
                }
                self.0.forwarder.roots_changed(session).await;
            }
            return;
        }
        if let View::Server(server) = view
            && is_for_upstream(&notification.method)
            && let Some(upstream) = self.0.forwarder.upstream_in_use(session, server)
        {
            self.pass_on(caller, &upstream, notification).await;
        }
    }

    /// Sends a notification to an upstream that is awake; one that sleeps needs none.
    async fn pass_on(&self, caller: &Caller, upstream: &Upstream, notification: &Notification) {
        let (server, params) = (upstream.name(), notification.params.as_ref());
        let passing = async {
            // Servers may act on it as they do on a request.
            let target = Target::of(&notification.method, params)?;
            let admitted = self.0.gate.admit(caller, server.as_str(), target)?;
            let message = admitted.message(params, &[])?;
            Ok(upstream.notify(&message).await?)
        };
        if let Err(refused) = passing.await {
            let why = match refused {
                RequestError::Rpc(error) => error.message,
                RequestError::Failed(failure) => {
                    self.note_refused(caller, server, &notification.method, &failure);
                    failure.error
                }
            };
            tracing::debug!(%server, why, "a notification could not be passed on");
        }
    }

    /// Runs work that would hold up a worker of the runtime, for operators' requests too.
    pub fn long_work(&self) -> &LongWork {
        &self.0.long_work
    }

    /// The search of built-in tools and of operators.
    pub fn search(&self) -> &ToolSearch {
        &self.0.search
    }

    /// Whether a server of this name is configured, usable or not, and within the caller's token and profile.
    pub fn knows_server(&self, caller: &Caller, name: &str) -> bool {
        let now = self.0.gate.now();
        let settings = now.settings();
        let is_there = settings.servers.contains_key(name)
            || settings.broken.iter().any(|broken| broken.name == name);
        let lists = Target::method_alone(method::TOOLS_LIST);
        is_there && now.rules().reaches(caller, name, &lists)
    }

    /// The refusal of a server that is not known so.
    pub fn unknown_server(&self, caller: &Caller, name: &str) -> Failure {
        self.0.gate.now().rules().unknown_server(caller, name)
    }

    /// Whether a profile of this name is in the configuration.
    pub fn knows_profile(&self, name: &str) -> bool {
        self.0.settings.borrow().profiles.contains_key(name)
    }

    async fn answer_of_many_servers(
        &self,
        context: &CallContext,
        view: &View,
        request: &Request,
    ) -> Result<Reply, RequestError> {
        let caller = &context.caller;
        if method::is_list(&request.method) {
            check_first_page(request)?;
            self.0.forwarder.meet_soon(context).await;
        }
        match &*request.method {
            method::PING => Ok(Reply::Own(Raw::empty_object())),
            method::DISCOVER => Ok(Reply::result(self.discover(caller, view).await?)),
            method::TOOLS_LIST => Ok(Reply::Own(
                self.tools_of(caller, view.mode(&self.settings())).await,
            )),
            method::PROMPTS_LIST => Ok(Reply::Own(self.lists(caller).await.prompts.clone())),
            method::RESOURCES_LIST => Ok(Reply::Own(self.lists(caller).await.resources.clone())),
            method::TEMPLATES_LIST => Ok(Reply::Own(self.lists(caller).await.templates.clone())),
            method::TOOLS_CALL
            | method::PROMPTS_GET
            | method::RESOURCES_READ
            | method::COMPLETE
            | method::TASKS_GET
            | method::TASKS_UPDATE
            | method::TASKS_CANCEL => self.call_offered(context, view, request).await,
            other => Err(RpcError::method_not_found(other).into()),
        }
    }

    /// Lists come from the catalog; every other request goes to the server, whether its method is known or not.
    async fn answer_of_one_server(
        &self,
        context: &CallContext,
        server: &ServerName,
        request: &Request,
    ) -> Result<Reply, RequestError> {
        match &*request.method {
            method::PING => Ok(Reply::Own(Raw::empty_object())),
            method::DISCOVER => {
                let view = View::Server(server.clone());
                Ok(Reply::result(self.discover(&context.caller, &view).await?))
            }
            list if method::is_list(list) => {
                check_first_page(request)?;
                let target = Target::method_alone(list);
                self.ensure_known(&context.caller, server.as_str(), &target)
                    .await?;
                self.meet(context, server).await;
                Ok(Reply::Own(self.own_list(context, server, list)?))
            }
            _ => {
                let passed = self.pass(context, server, request).await;
                passed.map(Reply::Passed)
            }
        }
    }

    fn settings(&self) -> Arc<Settings> {
        self.0.settings.borrow().clone()
    }
}

/// Refuses cursors: lists come in one page, so no valid cursor exists (pagination, "Error Handling"). Some clients send an empty one for the
/// first page.
fn check_first_page(request: &Request) -> Result<(), RpcError> {
    let params = request.params.as_ref();
    let cursor = params.and_then(|params| params.get("cursor"));
    if cursor.is_none_or(|cursor| cursor.is_null() || cursor.as_bytes() == b"\"\"") {
        return Ok(());
    }
    let method = &request.method;
    let error = format!("{method} did not run: \"cursor\" is unknown; leave it out");
    Err(RpcError::invalid_params(error))
}

/// A refusal as a JSON-RPC error, with the failure as data.
fn refusal(context: &CallContext, refused: RequestError) -> RpcError {
    let failure = match refused {
        RequestError::Rpc(error) => return error,
        RequestError::Failed(failure) => failure,
    };
    let mut error = failure.as_rpc_error();
    error.code = match failure.code {
        ErrorCode::UnknownResource => context.revision.missing_resource_code(),
        code => code.rpc_code(),
    };
    error
}

/// The result of a tool call that failed, for a model.
pub fn failed_result(failure: &Failure) -> Raw {
    error_result(&shown_failure(&failure.for_model()))
}

/// The result of a tool call that failed, with this JSON as text.
fn error_result(shown: &Raw) -> Raw {
    Raw::author(&serde_json::json!({
        "content": [{ "type": "text", "text": shown.as_str() }],
        "isError": true,
    }))
}

/// Whether a tool of our own has this name.
pub fn is_built_in(name: &str) -> bool {
    built_in::find(name).is_some()
}

/// Whether a client's notification concerns the upstream behind a transparent endpoint, rather than our connection with the client.
fn is_for_upstream(name: &str) -> bool {
    !matches!(
        name,
        method::INITIALIZED | method::CANCELLED | method::PROGRESS
    )
}
