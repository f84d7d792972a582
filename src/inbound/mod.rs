//! The faces that MCP clients connect to: from HTTP to calls and back. Knows sessions, streams and status codes, and nothing of
//! servers or tools.

mod answer;
mod answering;
mod attach;
mod body;
mod bounds;
mod client_connection;
mod dispatch;
mod endpoint;
mod event_id;
mod index_page;
mod kept_session;
mod legacy_sse;
mod listen;
mod post;
mod presence;
mod request_headers;
mod restoring;
mod resumable;
mod resumable_streams;
mod resumption;
mod session;
mod session_stream;
mod sessions;
mod sse_event;
mod stateless;
mod stateless_post;
mod stdio;
mod stream;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use axum::{
    Router as HttpRouter,
    extract::Request,
    response::Response,
    routing::{any, get as on_get},
};
use bytes::Bytes;
use http::Method;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use self::endpoint::{AddressKind, ClientEndpoint};
pub use self::{
    answer::{behind_itself, failed, unauthorized},
    attach::{LINES, Local},
    body::{LARGEST_BODY, UnreadBody, read_body, refused_as_too_large as too_large},
    client_connection::is_passed_on,
    presence::{Presence, Present},
    sessions::Sessions,
};
use crate::{
    access::{Access, Caller},
    call_context::CallIds,
    router::{Router, View},
    runtime::memory_budget::MemoryBudget,
    telemetry::log_throttle::LogThrottle,
    text::names::ServerName,
    wire::FrameError,
};

/// What the handlers share. Cheap to clone.
#[derive(Clone)]
pub struct Inbound(Arc<Parts>);

struct Parts {
    access: Access,
    router: Router,
    calls: CallIds,
    sessions: Sessions,
    /// Streams of modern clients.
    listeners: listen::Listeners,
    /// Ends open streams, so that shutdown does not wait for clients which listen.
    closing: CancellationToken,
    /// What outlives the request that began it: clients on connections that are HTTP's no more, and streams that their clients can
    /// take up again.
    tasks: TaskTracker,
    /// How often the log mentions that client sent an invalid message.
    no_messages: LogThrottle,
}

impl Inbound {
    /// Faces over a router. `closing` ends streams that only listen.
    pub fn new(
        access: Access,
        router: Router,
        calls: CallIds,
        sessions: Sessions,
        closing: CancellationToken,
    ) -> Self {
        Self(Arc::new(Parts {
            access,
            router,
            calls,
            sessions,
            listeners: listen::Listeners::default(),
            closing,
            tasks: TaskTracker::new(),
            no_messages: LogThrottle::default(),
        }))
    }

    /// What is beside the MCP endpoints: the answers that clients which probe for OAuth must get, and what a browser sees.
    pub fn routes(&self) -> HttpRouter {
        HttpRouter::new()
            .route(
                "/",
                on_get(index_page::index_page).fallback(answer::no_endpoint),
            )
            .route("/.well-known/{*path}", on_get(answer::not_found))
            .route("/mcp/.well-known/{*path}", on_get(answer::not_found))
            .route("/register", any(answer::not_found))
            .fallback(answer::unknown_path)
            .with_state(self.clone())
    }

    /// Reads what a client sent. Logs what is no message, unless that was logged just now; `client` gives the name of the program.
    fn read(
        &self,
        text: &Bytes,
        (caller, view): (&Caller, &View),
        client: impl FnOnce() -> String,
    ) -> Result<dispatch::Unframed, FrameError> {
        dispatch::Unframed::read(text).inspect_err(|error| {
            if let Some(times) = self.0.no_messages.due() {
                let (client, caller, size) = (client(), caller.subject(), text.len());
                tracing::info!(client, caller, endpoint = %view, %error, size, times, "client sent an invalid message");
            }
        })
    }

    /// What clients may make us hold.
    pub fn memory(&self) -> &MemoryBudget {
        self.0.sessions.memory()
    }

    /// Who is there.
    pub fn presence(&self) -> &Presence {
        self.0.sessions.presence()
    }

    /// Tells clients of every change of the lists, until shutdown.
    pub async fn announce_changes(self) {
        let mut changes = self.0.router.changes();
        let closing = &self.0.closing;
        while let Some(Some(mut announcement)) = closing.run_until_cancelled(changes.next()).await {
            self.0.sessions.announce(&mut announcement);
            self.0.listeners.announce(&mut announcement);
        }
    }

    /// Answers a request of this caller for an address of an MCP endpoint, there or not. Bridges can attach where it has [`Local`] in it.
    pub async fn answer(&self, caller: Caller, request: Request) -> Response {
        let router = &self.0.router;
        let Some((endpoint, kind)) = ClientEndpoint::at(request.uri().path()) else {
            return answer::unknown_path(request.uri().clone()).await;
        };
        let (caller, view) = match endpoint {
            ClientEndpoint::All(view) => (caller, view),
            ClientEndpoint::Profile(name) if router.knows_profile(&name) => {
                (caller.in_profile(&name), View::Profile(name.into()))
            }
            ClientEndpoint::Profile(name) => return answer::unknown_profile(&name),
            ClientEndpoint::Server(name) => match ServerName::parse(&name) {
                Ok(server) if router.knows_server(&caller, server.as_str()) => {
                    (caller, View::Server(server))
                }
                _ => return failed(&router.unknown_server(&caller, &name).for_model()),
            },
        };
        self.handle(caller, view, kind, request).await
    }

    async fn handle(
        &self,
        caller: Caller,
        view: View,
        transport: AddressKind,
        request: Request,
    ) -> Response {
        if attach::wants_lines(&request) {
            return self.attach(caller, view, request);
        }
        if request.method() == Method::POST
            && let Err(refusal) = body::check_type(request.headers())
        {
            return refusal;
        }
        let (method, uri, headers) = (request.method(), request.uri(), request.headers());
        let legacy = match *method {
            Method::GET => transport == AddressKind::LegacySse || legacy_sse::wants_stream(headers),
            _ => legacy_sse::is_meant(uri, headers),
        };
        match *method {
            Method::GET if legacy => self.converse(caller, view, transport, uri),
            Method::POST if legacy => self.take_post(&caller, view, request).await,
            _ if transport == AddressKind::LegacySse => answer::method_not_allowed("GET"),
            Method::POST => self.post(caller, view, request).await,
            Method::GET | Method::DELETE => self.of_session(&caller, &view, method, headers).await,
            _ => answer::method_not_allowed("GET, POST, DELETE"),
        }
    }
}

/// Whether a path is one of an MCP endpoint, there or not: requests for it need a credential. Clients that probe for OAuth have not
/// come so far.
pub fn is_endpoint(path: &str) -> bool {
    let below = path.strip_prefix("/mcp");
    let is_below = below.is_some_and(|below| below.is_empty() || below.starts_with('/'));
    (is_below && !path.starts_with("/mcp/.well-known/")) || path == endpoint::SUFFIX
}
