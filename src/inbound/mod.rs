//! The faces that MCP clients connect to: from HTTP to calls and back. Knows sessions, streams and status codes, and nothing of
//! servers or tools.

mod agreed;
mod answer;
mod answering;
mod attach;
mod body;
mod bounds;
mod client_connection;
mod dispatch;
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
mod session_headers;
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
    Extension, Router as HttpRouter,
    extract::{Path, Request, State},
    response::Response,
    routing::{MethodRouter, any, get as on_get},
};
use http::Method;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

pub use self::{
    answer::{behind_itself, unauthorized},
    attach::LINES,
    body::{LARGEST_BODY, UnreadBody, read_body, refused_as_too_large as too_large},
    presence::{Presence, Present},
    sessions::Sessions,
};
use crate::{
    access::{Access, Caller},
    call_context::CallIds,
    config::RoutingMode,
    router::{Router, View},
    runtime::memory_budget::MemoryBudget,
    telemetry::log_throttle::LogThrottle,
    text::names::ServerName,
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
    no_messages: Arc<LogThrottle>,
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
            no_messages: Arc::default(),
        }))
    }

    /// The MCP endpoints, and the answers that clients which probe for OAuth must get.
    pub fn routes(&self) -> HttpRouter {
        endpoints()
            .route("/", on_get(index_page::index_page))
            .route("/.well-known/{*path}", on_get(answer::not_found))
            .route("/mcp/.well-known/{*path}", on_get(answer::not_found))
            .route("/register", any(answer::not_found))
            .fallback(answer::not_found)
            .with_state(self.clone())
    }

    /// The MCP endpoints for the local socket, where bridges can attach to each.
    pub fn local_routes(&self) -> HttpRouter {
        endpoints()
            .layer(Extension(attach::Local))
            .with_state(self.clone())
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
        loop {
            let change = tokio::select! {
                () = self.0.closing.cancelled() => return,
                change = changes.next() => change,
            };
            match change {
                Some(mut announcement) => {
                    self.0.sessions.announce(&mut announcement);
                    self.0.listeners.announce(&mut announcement);
                }
                None => return,
            }
        }
    }

    async fn handle(&self, caller: Caller, view: View, request: Request) -> Response {
        if attach::wants_lines(&request) {
            return self.attach(caller, view, request);
        }
        if request.method() == Method::POST
            && let Err(refusal) = body::check_type(request.headers())
        {
            return refusal;
        }
        let transport = request.extensions().get().copied().unwrap_or_default();
        let (uri, headers) = (request.uri(), request.headers());
        let legacy = match *request.method() {
            Method::GET => transport == AddressKind::LegacySse || legacy_sse::wants_stream(headers),
            _ => legacy_sse::is_meant(uri, headers),
        };
        match *request.method() {
            Method::GET if legacy => self.converse(caller, view, transport, uri),
            Method::POST if legacy => self.take_post(&caller, view, request).await,
            _ if transport == AddressKind::LegacySse => answer::method_not_allowed("GET"),
            Method::POST => self.post(caller, view, request).await,
            Method::GET => self.get(&caller, &view, headers).await,
            Method::DELETE => self.delete(&caller, &view, headers).await,
            _ => answer::method_not_allowed("GET, POST, DELETE"),
        }
    }
}

/// Whether a path is one of an MCP endpoint, there or not: requests for it need a credential. Clients that probe for OAuth have not
/// come so far.
pub fn is_endpoint(path: &str) -> bool {
    let below = path.strip_prefix("/mcp");
    let is_below = below.is_some_and(|below| below.is_empty() || below.starts_with('/'));
    (is_below && !path.starts_with("/mcp/.well-known/")) || path == legacy_sse::SUFFIX
}

fn endpoints() -> HttpRouter<Inbound> {
    let endpoints = [
        ("/mcp", of_all(View::Configured)),
        ("/mcp/all", of_all(View::Mode(RoutingMode::Direct))),
        ("/mcp/call", of_all(View::Mode(RoutingMode::RetrieveTools))),
        ("/mcp/code", of_all(View::Mode(RoutingMode::CodeExecution))),
        ("/mcp/proxy", of_all(View::Mode(RoutingMode::Proxy))),
        ("/mcp/p/{name}", any(profile)),
        ("/mcp/server/{name}", any(server)),
    ];
    let mut routes = HttpRouter::new();
    for (path, endpoint) in endpoints {
        let legacy = endpoint.clone().layer(Extension(AddressKind::LegacySse));
        routes = routes
            .route(path, endpoint)
            .route(&format!("{path}{}", legacy_sse::SUFFIX), legacy);
    }
    let legacy = of_all(View::Configured).layer(Extension(AddressKind::LegacySse));
    routes.route(legacy_sse::SUFFIX, legacy)
}

/// Which transports an address serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum AddressKind {
    /// Streamable HTTP, and HTTP+SSE to those who ask for it.
    #[default]
    Both,
    /// HTTP+SSE only.
    LegacySse,
}

/// Serves all servers, in this view.
fn of_all(view: View) -> MethodRouter<Inbound> {
    any(
        move |State(inbound): State<Inbound>,
              Extension(caller): Extension<Caller>,
              request: Request| async move { inbound.handle(caller, view, request).await },
    )
}

async fn profile(
    State(inbound): State<Inbound>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
    request: Request,
) -> Response {
    if !inbound.0.router.knows_profile(&name) {
        return answer::unknown_profile(&name);
    }
    let caller = caller.in_profile(&name);
    inbound
        .handle(caller, View::Profile(name.into()), request)
        .await
}

async fn server(
    State(inbound): State<Inbound>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
    request: Request,
) -> Response {
    match ServerName::parse(&name) {
        Ok(name) if inbound.0.router.knows_server(&caller, name.as_str()) => {
            inbound.handle(caller, View::Server(name), request).await
        }
        _ => answer::unknown_server(&name),
    }
}
