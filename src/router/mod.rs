//! What an MCP client can ask, in one place: each request of a client, whatever face took it, is answered here from the catalog or
//! sent through the gate to its upstream.

mod built_in;
mod calls;
mod changes;
mod discovery;
mod exchange;
mod forward;
mod header_params;
mod input_required;
mod instances;
mod instructions;
mod lists;
mod log_lines;
mod opening;
mod parked;
mod resources;
mod rounds;
mod search;
mod search_answer;
mod signature;
mod subscriptions;
mod tasks;

use std::{sync::Arc, time::Duration};

use tokio::sync::watch;

pub use self::{
    changes::{Announcement, Changes, Known},
    search::{Found, FoundTool, Search},
    search_answer::{Detail, search_lists},
};
pub use crate::upstream::{LogSubscription, Subscription, Tell};

use self::lists::prefixed;
use crate::{
    call_context::{CallContext, ClientSession},
    caller::Caller,
    catalog::{Catalog, Snapshot},
    config::{RoutingMode, Settings},
    error_code::{ErrorCode, Failure},
    gate,
    long_work::LongWork,
    names::ServerName,
    upstream::{Upstream, Upstreams},
    wire::{Notification, Outcome, Raw, Request, RpcError, bridge, method},
};

/// How long a list with nothing known at all waits for the first discovery.
const FIRST_DISCOVERY: Duration = Duration::from_secs(5);

/// What an endpoint shows of the house.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum View {
    /// The configured mode.
    Configured,
    /// This mode.
    Mode(RoutingMode),
    /// One upstream, as it is.
    Server(ServerName),
}

/// Answers clients. Cheap to clone.
#[derive(Clone)]
pub struct Router(Arc<Parts>);

struct Parts {
    settings: watch::Receiver<Arc<Settings>>,
    catalog: Catalog,
    upstreams: Upstreams,
    lists: lists::Prepared,
    /// Calls that wait for what their clients are asked.
    parked: parked::Parked,
    tasks: tasks::Tasks,
    long_work: LongWork,
}

/// What became of a request.
enum Reply {
    /// Our own result, in the dress of legacy revisions.
    Own(Raw),
    /// An upstream's answer, as this client must get it.
    Passed(Outcome),
}

/// Why a request got no result.
enum Refused {
    /// The request itself is wrong.
    Rpc(RpcError),
    /// We could not do it.
    Failed(Failure),
}

impl From<RpcError> for Refused {
    fn from(error: RpcError) -> Self {
        Self::Rpc(error)
    }
}

impl From<Failure> for Refused {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl Router {
    /// A router over these parts.
    pub fn new(
        settings: watch::Receiver<Arc<Settings>>,
        catalog: Catalog,
        upstreams: Upstreams,
    ) -> Self {
        Self(Arc::new(Parts {
            settings,
            catalog,
            upstreams,
            lists: lists::Prepared::default(),
            parked: parked::Parked::default(),
            tasks: tasks::Tasks::default(),
            long_work: LongWork::default(),
        }))
    }

    /// Answers one request. Dropping the future withdraws it, upstream too.
    pub async fn request(&self, context: &CallContext, view: &View, request: &Request) -> Outcome {
        let answered = match view {
            View::Server(server) => self.transparent(context, server, request).await,
            View::Configured | View::Mode(_) => self.aggregated(context, view, request).await,
        };
        if answered.is_err() {
            self.abandon(context, request);
        }
        let own = |result| {
            let shaped = bridge::own_result_for(context.revision, &request.method, result);
            Outcome::Result(shaped)
        };
        match answered {
            Ok(Reply::Passed(outcome)) => outcome,
            Ok(Reply::Own(result)) => own(result),
            Err(Refused::Failed(failure)) if &*request.method == method::TOOLS_CALL => {
                own(failed_result(&failure))
            }
            Err(refused) => Outcome::Error(refusal(context, refused).to_raw()),
        }
    }

    /// Takes note of a notification of a client. Those that concern a connection (initialized, cancelled) are the face's business.
    pub async fn notification(
        &self,
        caller: &Caller,
        session: Option<&ClientSession>,
        view: &View,
        notification: &Notification,
    ) {
        if &*notification.method == method::ROOTS_CHANGED {
            if let Some(session) = session {
                self.roots_changed(caller, session, notification).await;
            }
            return;
        }
        if let View::Server(server) = view
            && is_for_upstream(&notification.method)
            && let Some(upstream) = self.used_by(caller, session, server)
        {
            self.pass_on(caller, &upstream, notification).await;
        }
    }

    /// To an upstream that is awake; one that sleeps has nothing to be told.
    async fn pass_on(&self, caller: &Caller, upstream: &Upstream, notification: &Notification) {
        let (server, name) = (upstream.name(), &*notification.method);
        let admitted = gate::admit(
            &self.settings(),
            &self.0.catalog.snapshot(),
            caller,
            server.as_str(),
            gate::Wanted::Method(name),
        );
        let passed = match admitted {
            Ok(admitted) => {
                let params = notification.params.as_ref();
                upstream.notify(&admitted, name, params).await
            }
            Err(failure) => Err(failure),
        };
        if let Err(failure) = passed {
            tracing::debug!(%server, %failure, "a notification could not be passed on");
        }
    }

    /// Whether a server of this name is in the configuration, usable or not.
    pub fn knows_server(&self, name: &str) -> bool {
        let settings = self.0.settings.borrow();
        settings.servers.contains_key(name)
            || settings.broken.iter().any(|broken| broken.name == name)
    }

    /// What an endpoint lists.
    fn mode(&self, view: &View) -> RoutingMode {
        match view {
            View::Mode(mode) => *mode,
            View::Configured | View::Server(_) => self.0.settings.borrow().routing_mode,
        }
    }

    async fn aggregated(
        &self,
        context: &CallContext,
        view: &View,
        request: &Request,
    ) -> Result<Reply, Refused> {
        first_page_only(request)?;
        let params = request.params.as_ref();
        match &*request.method {
            method::PING => Ok(Reply::Own(Raw::empty_object())),
            method::DISCOVER => self.discovered(context, view).await,
            method::TOOLS_LIST => Ok(Reply::Own(self.tools_of(self.mode(view)).await)),
            method::PROMPTS_LIST => Ok(Reply::Own(self.lists().await.prompts.clone())),
            method::RESOURCES_LIST => Ok(Reply::Own(self.lists().await.resources.clone())),
            method::TEMPLATES_LIST => Ok(Reply::Own(self.lists().await.templates.clone())),
            method::TOOLS_CALL => self.call_offered_tool(context, params).await,
            method::PROMPTS_GET => self.get_offered_prompt(context, params).await,
            method::RESOURCES_READ => self.read_offered_resource(context, params).await,
            method::COMPLETE => self.complete_offered(context, params).await,
            method::TASKS_GET | method::TASKS_UPDATE | method::TASKS_CANCEL => {
                self.offered_task(context, &request.method, params).await
            }
            other => Err(RpcError::method_not_found(other).into()),
        }
    }

    /// One upstream under its own names. Lists come from the catalog, everything else goes to it, known or not.
    async fn transparent(
        &self,
        context: &CallContext,
        server: &ServerName,
        request: &Request,
    ) -> Result<Reply, Refused> {
        match &*request.method {
            method::PING => return Ok(Reply::Own(Raw::empty_object())),
            method::DISCOVER => {
                return self
                    .discovered(context, &View::Server(server.clone()))
                    .await;
            }
            _ => (),
        }
        first_page_only(request)?;
        self.ensure_listed(server.as_str()).await?;
        match &*request.method {
            method::TOOLS_LIST => Ok(Reply::Own(self.own_tools(context, server)?)),
            method::PROMPTS_LIST | method::RESOURCES_LIST | method::TEMPLATES_LIST => Ok(
                Reply::Own(self.own_list(context, server, &request.method)?),
            ),
            _ => self.pass(context, server, request).await,
        }
    }

    /// Makes sure that a server's lists are known, if that takes waking it.
    async fn ensure_listed(&self, server: &str) -> Result<(), Failure> {
        if self.0.catalog.glance().servers.contains_key(server) {
            return Ok(());
        }
        match self.0.upstreams.get(server) {
            Some(upstream) => upstream.wake().await,
            // The gate knows why and says it better.
            None => Ok(()),
        }
    }

    /// [`Router::ensure_listed`] for a name that a caller gave.
    async fn ensure_known(&self, server: &str) -> Result<(), Failure> {
        gate::entry(&self.settings(), server)?;
        self.ensure_listed(server).await
    }

    fn snapshot(&self) -> Arc<Snapshot> {
        self.0.catalog.snapshot()
    }

    fn admit_as(
        &self,
        context: &CallContext,
        variant: gate::Variant,
        server: &str,
        tool: &str,
    ) -> Result<gate::Admitted, Failure> {
        gate::admit_as(
            &self.0.settings.borrow(),
            &self.0.catalog.glance(),
            &context.caller,
            variant,
            server,
            tool,
        )
    }

    fn settings(&self) -> Arc<Settings> {
        self.0.settings.borrow().clone()
    }

    /// Whether the gate lets this caller see a thing.
    fn sees(
        &self,
        context: &CallContext,
        server: &ServerName,
        wanted: gate::Wanted<'_>,
    ) -> Result<(), Failure> {
        gate::decide(
            &self.0.settings.borrow(),
            &self.0.catalog.glance(),
            &context.caller,
            server.as_str(),
            wanted,
        )
    }

    fn admit(
        &self,
        context: &CallContext,
        server: &str,
        wanted: gate::Wanted<'_>,
    ) -> Result<gate::Admitted, Failure> {
        gate::admit(
            &self.0.settings.borrow(),
            &self.0.catalog.glance(),
            &context.caller,
            server,
            wanted,
        )
    }
}

/// Lists come in one page, so nobody has a cursor from us (pagination, "Error Handling"). An empty one is that of a careless client's
/// first page.
fn first_page_only(request: &Request) -> Result<(), RpcError> {
    let lists = [
        method::TOOLS_LIST,
        method::PROMPTS_LIST,
        method::RESOURCES_LIST,
        method::TEMPLATES_LIST,
    ];
    let params = request.params.as_ref();
    let cursor = params.and_then(|params| params.get("cursor"));
    let is_ours = cursor.is_none_or(|cursor| cursor.is_null() || cursor.as_bytes() == b"\"\"");
    if is_ours || !lists.contains(&&*request.method) {
        return Ok(());
    }
    let error = format!("{}: the cursor is not one of ours", request.method);
    Err(RpcError::invalid_params(error))
}

/// Our own failures are results for tools, so that a model reads them; for everything else they are JSON-RPC errors with the
/// same JSON as data.
fn refusal(context: &CallContext, refused: Refused) -> RpcError {
    let failure = match refused {
        Refused::Rpc(error) => return error,
        Refused::Failed(failure) => failure,
    };
    let code = match failure.code {
        ErrorCode::UnknownResource => context.revision.missing_resource_code(),
        ErrorCode::UnknownPrompt | ErrorCode::InvalidArguments => RpcError::INVALID_PARAMS,
        _ => RpcError::INTERNAL,
    };
    RpcError::new(code, failure.error.clone()).with_data(Raw::author(&failure))
}

/// A tool result that says what failed.
pub fn failed_result(failure: &Failure) -> Raw {
    let text = Raw::author(failure);
    Raw::author(&serde_json::json!({
        "content": [{ "type": "text", "text": text.as_str() }],
        "isError": true,
    }))
}

/// Whether a client's notification concerns the upstream behind a transparent endpoint, rather than our connection with the client.
fn is_for_upstream(name: &str) -> bool {
    !matches!(
        name,
        method::INITIALIZED | method::CANCELLED | method::PROGRESS
    )
}
