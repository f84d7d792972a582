//! REST for operators, under `/api/v1`: the same verbs as the command line, in JSON, a file for each resource. Failures carry
//! `{"error", "code", "server"?, "tool"?, "hint"}` and the status that the table of codes gives them.

mod access;
mod activity;
mod call;
mod changes;
mod clients;
mod code;
mod commands;
mod config;
mod config_changes;
mod config_warnings;
mod demo;
mod doctor;
mod events;
mod failure_words;
mod import;
mod login;
mod logs;
mod metrics;
mod notices;
mod openapi;
pub mod page;
mod page_login;
mod record_news;
mod refusal;
mod routes;
mod secrets;
mod servers;
mod sessions;
mod sse;
mod status;
mod strict_requests;
mod tokens;
mod tools;
mod usage;
mod verbs;

use std::sync::Arc;

use axum::{
    Extension, Router as HttpRouter,
    body::{self, Body},
    extract::{
        DefaultBodyLimit, FromRequest, FromRequestParts, Query, Request, State,
        rejection::BytesRejection,
    },
    middleware::{map_request, map_request_with_state, map_response},
    response::{IntoResponse, Response},
    routing::get,
};
use bytes::Bytes;
use http::{StatusCode, header, request::Parts};
use http_body_util::Full;
use percent_encoding::percent_decode_str;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use tower_service::Service;

pub use self::{
    changes::{MOST_CHANGED, ServerVerb},
    refusal::{refused, refused_body},
};
use self::{
    routes::{Route, Routes, served},
    verbs::Verbs,
};
use crate::{
    access::Access,
    call_context::{CallIds, OpenSession},
    config::{NO_OBJECT, Places, json_mistake, read_unrepeated_object},
    failure::{ErrorCode, Failure, RestFailure, in_plain_words},
    management::{DaemonLocation, Files, Management, blocking},
    process::{ChildLedger, LoginPath},
    router::Router,
    telemetry::metrics::Metrics,
    wire::Raw,
};

/// Limit: the largest request body, as for MCP clients.
const MAX_BODY: usize = 32 << 20;

/// What the handlers share. Cheap to clone.
#[derive(Clone)]
pub struct Api(Arc<ApiParts>);

/// What an API is made of.
pub struct ApiParts {
    /// What operators can do.
    pub management: Management,
    /// What makes their calls.
    pub router: Router,
    /// Who may come in.
    pub access: Access,
    /// Numbers calls.
    pub calls: CallIds,
    /// Where the daemon is.
    pub location: DaemonLocation,
    /// Where its files are.
    pub places: Places,
    /// Where commands of servers are looked for.
    pub login_path: LoginPath,
    /// The children of this daemon.
    pub ledger: ChildLedger,
    /// Counts client sessions.
    pub count_sessions: Box<dyn Fn() -> usize + Send + Sync>,
    /// Lists so many of them, the one that sent something last first.
    pub list_sessions: Box<dyn Fn(usize) -> Vec<OpenSession> + Send + Sync>,
}

/// The paths of [`Api::health_routes`].
const HEALTH: [&str; 3] = ["/health", "/healthz", "/readyz"];

/// Whether a path is one of [`Api::health_routes`].
pub fn is_health(path: &str) -> bool {
    HEALTH.contains(&path)
}

/// The path of [`Api::metrics_routes`].
const METRICS: &str = "/metrics";

/// Whether a path is one of [`Api::metrics_routes`]: for operators, and for requests from this machine.
pub fn is_metrics(path: &str) -> bool {
    path == METRICS
}

/// Whether a path is below `/api/`, where [`Api::routes`] answer.
pub fn is_below_api(path: &str) -> bool {
    path.starts_with("/api/")
}

/// Whether only operators get an answer at a path: all of the API but its description.
pub fn is_operators(path: &str) -> bool {
    is_below_api(path) && path != openapi::PATH
}

impl Api {
    /// An API over these parts.
    pub fn new(parts: ApiParts) -> Self {
        Self(Arc::new(parts))
    }

    /// The routes below `/api/v1`.
    pub fn routes(&self) -> HttpRouter {
        served(table())
            .fallback(unknown_path)
            .method_not_allowed_fallback(wrong_method)
            .layer(DefaultBodyLimit::max(MAX_BODY))
            .layer(map_request(refuse_unreadable_path))
            .layer(map_request_with_state(self.clone(), wait_for_lists))
            .layer(map_response(keep_private))
            .with_state(self.clone())
    }

    /// The address at which a browser logs in to the page; everybody may ask for it.
    pub fn page_routes(&self) -> HttpRouter {
        page_login::page_routes().with_state(self.clone())
    }

    /// Figures for Prometheus. Whoever serves them checks who may read them.
    pub fn metrics_routes(&self, metrics: &Metrics) -> HttpRouter {
        let routes = metrics::routes(self.clone(), metrics.clone());
        routes.method_not_allowed_fallback(wrong_method)
    }

    /// Health for everybody: no authentication, never blocks.
    pub fn health_routes(&self) -> HttpRouter {
        let routes = HEALTH.iter().fold(HttpRouter::new(), |routes, path| {
            routes.route(path, get(health))
        });
        let routes = routes.method_not_allowed_fallback(wrong_method);
        routes.with_state(self.clone())
    }

    fn count_sessions(&self) -> usize {
        (self.0.count_sessions)()
    }
}

/// Refuses paths that are no UTF-8 text, so that no handler has to.
async fn refuse_unreadable_path(request: Request) -> Answer<Request> {
    let path = request.uri().path();
    match percent_decode_str(path).decode_utf8() {
        Ok(_) => Ok(request),
        Err(_) => Err(wrong("the path contains bytes that are not valid UTF-8")),
    }
}

/// Waits until the last known lists are read, so that operators see them.
async fn wait_for_lists(State(api): State<Api>, request: Request) -> Request {
    let router = &api.0.router;
    match request.uri().path() {
        // Commands and bridges ask for it before anything else.
        status::PATH => router.begun_soon().await,
        _ => router.begun().await,
    }
    request
}

/// Keeps answers for operators out of caches, and browsers from guessing their type.
async fn keep_private(response: Response) -> Response {
    let (kept, typed) = (header::CACHE_CONTROL, header::X_CONTENT_TYPE_OPTIONS);
    ([(kept, "no-store"), (typed, "nosniff")], response).into_response()
}

/// The routes that need no daemon, over the files, for this process alone. Whoever can read the files is the operator.
pub struct FilesApi(HttpRouter);

impl FilesApi {
    /// Over these files.
    pub fn new(files: Files) -> Self {
        let operator = Access::default().terminal();
        let routes = served(shared()).layer(Extension(operator));
        Self(routes.with_state(files))
    }

    /// Answers a request.
    pub async fn answer(&self, request: http::Request<Full<Bytes>>) -> http::Response<Full<Bytes>> {
        let answer = self.0.clone().call(request.map(Body::new)).await;
        let (head, body) = answer.unwrap_or_else(|never| match never {}).into_parts();
        // None of them is a stream.
        let body = body::to_bytes(body, usize::MAX).await.unwrap_or_default();
        http::Response::from_parts(head, Full::new(body))
    }
}

/// The routes that need no daemon, with their descriptions.
fn shared<V: Verbs>() -> Routes<V> {
    let routes = [
        servers::routes::<V>(),
        changes::routes(),
        tools::routes(),
        activity::routes(),
        logs::routes(),
        access::routes(),
        config_changes::routes(),
        tokens::routes(),
        usage::routes(),
    ];
    routes.into_iter().flatten().collect()
}

/// Every route with its description.
fn table() -> Routes {
    let routes = [
        status::routes(),
        shared(),
        servers::daemon_routes(),
        sessions::routes(),
        login::routes(),
        call::routes(),
        code::routes(),
        activity::daemon_routes(),
        events::routes(),
        logs::daemon_routes(),
        config::routes(),
        clients::routes(),
        import::routes(),
        doctor::routes(),
        commands::routes(),
        demo::routes(),
        secrets::routes(),
        page_login::routes(),
        vec![
            Route::get(openapi::PATH, openapi::show)
                .about("openapi", "This document; it needs no API key.")
                .gives::<serde_json::Map<String, Value>>(),
        ],
    ];
    routes.into_iter().flatten().collect()
}

async fn health(State(api): State<Api>) -> Response {
    let health = api.0.management.health(api.count_sessions());
    answer(StatusCode::OK, &health)
}

/// The answer to a body that is too large.
pub fn too_large() -> Response {
    let error = "nothing was done: the request is larger than 32 MiB";
    let hint = "Send less at a time.";
    let failure = Failure::new(ErrorCode::InvalidArguments, error, hint);
    answer(StatusCode::PAYLOAD_TOO_LARGE, &failure)
}

/// A failure as the answer to a request.
struct FailureResponse(Failure);

impl From<Failure> for FailureResponse {
    fn from(failure: Failure) -> Self {
        Self(failure)
    }
}

impl IntoResponse for FailureResponse {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.0.code.http_status())
            .unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = answer(status, &RestFailure::of(self.0.clone()));
        response.extensions_mut().insert(self.0);
        response
    }
}

type Answer<T = Response> = Result<T, FailureResponse>;

fn answer(status: StatusCode, value: &impl Serialize) -> Response {
    let response = json_response(Raw::author(value).bytes().clone());
    (status, response).into_response()
}

/// An answer of this JSON.
fn json_response(text: Bytes) -> Response {
    ([(header::CONTENT_TYPE, routes::JSON)], text).into_response()
}

#[expect(clippy::unnecessary_wraps, reason = "every handler ends with it")]
fn ok(value: &impl Serialize) -> Answer {
    Ok(answer(StatusCode::OK, value))
}

fn wrong(why: impl std::fmt::Display) -> FailureResponse {
    let error = format!("nothing was done: {}", in_plain_words(&why.to_string()));
    let hint = "GET /api/v1/openapi.json describes this request.";
    FailureResponse(Failure::new(ErrorCode::InvalidArguments, error, hint))
}

/// The value of a parameter that is one of a few words; absent where the parameter is.
fn one_of<T>(
    name: &str,
    words: &str,
    text: Option<&str>,
    parse: fn(&str) -> Option<T>,
) -> Answer<Option<T>> {
    let read = |text: &str| {
        parse(text).ok_or_else(|| wrong(format!("`{name}` must be {words}, not {text:?}")))
    };
    text.map(read).transpose()
}

/// What a body says, which is an object, with its text as it was sent.
fn raw_object(body: Result<Bytes, BytesRejection>) -> Answer<Raw> {
    let body = body.map_err(wrong)?;
    let read = Raw::parse(&body).map_err(|error| {
        let text = String::from_utf8_lossy(&body);
        unread(&json_mistake(&text, &error.into_inner()))
    })?;
    if read.is_object() {
        return Ok(read);
    }
    Err(unread(NO_OBJECT))
}

fn unread(why: &str) -> FailureResponse {
    let error = format!("nothing was done: the body cannot be read: {why}");
    let hint = "Correct the JSON and send it again; GET /api/v1/openapi.json describes it.";
    FailureResponse(Failure::new(ErrorCode::InvalidArguments, error, hint))
}

/// What a body says, which is an object that has no key twice, read as a `T`.
fn read_body<T: DeserializeOwned>(body: Result<Bytes, BytesRejection>) -> Answer<T> {
    let object = read_unrepeated_object(&body.map_err(wrong)?).map_err(|why| unread(&why))?;
    serde_path_to_error::deserialize(Value::Object(object)).map_err(wrong)
}

/// The JSON object that is the body of a request, read as a `T`.
struct Json<T>(T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Json<T> {
    type Rejection = FailureResponse;

    async fn from_request(request: Request, state: &S) -> Answer<Self> {
        read_body(Bytes::from_request(request, state).await).map(Self)
    }
}

/// The parameters in the query of a request, read as a `T`.
struct Params<T>(T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Params<T> {
    type Rejection = FailureResponse;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Answer<Self> {
        let query = Query::from_request_parts(parts, state).await;
        query.map(|Query(read)| Self(read)).map_err(wrong)
    }
}

async fn unknown_path(uri: http::Uri) -> FailureResponse {
    let hint = if is_below_api(uri.path()) {
        "GET /api/v1/openapi.json lists all paths."
    } else {
        "The web UI is at /ui/, REST at /api/v1/, MCP at /mcp."
    };
    let error = format!("nothing was done: there is no path {}", uri.path());
    FailureResponse(Failure::new(ErrorCode::UnknownPath, error, hint))
}

async fn wrong_method(method: http::Method, uri: http::Uri) -> FailureResponse {
    let hint = "The Allow header lists the methods of this path.";
    let error = format!("nothing was done: {} does not support {method}", uri.path());
    FailureResponse(Failure::new(ErrorCode::MethodNotAllowed, error, hint))
}
