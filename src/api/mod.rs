//! REST for operators, under `/api/v1`: the same verbs as the command line, in JSON, a file for each resource. Failures carry
//! `{"error", "code", "server"?, "tool"?, "hint"}` and the status that the table of codes gives them.

mod activity;
mod call;
mod code;
mod login;
mod servers;
mod status;
mod telling;
mod tools;

use std::sync::Arc;

use axum::{
    Router as HttpRouter,
    body::Body,
    extract::{DefaultBodyLimit, Query, State, rejection::QueryRejection},
    response::{IntoResponse, Response},
    routing::get,
};
use bytes::Bytes;
use http::{HeaderValue, StatusCode, header};
use serde::Serialize;
use serde_json::json;

use crate::{
    call_context::CallIds,
    error_code::{ErrorCode, Failure},
    management::{DaemonLocation, Management},
    router::Router,
    wire::Raw,
};

/// Limit: the largest request body, as for MCP clients.
const MAX_BODY: usize = 32 << 20;

/// What the handlers share. Cheap to clone.
#[derive(Clone)]
pub struct Api(Arc<ApiParts>);

struct ApiParts {
    management: Management,
    router: Router,
    calls: CallIds,
    location: DaemonLocation,
    /// Counts client sessions.
    sessions: Box<dyn Fn() -> usize + Send + Sync>,
}

/// Where [`Api::health_routes`] answer.
const HEALTH: [&str; 3] = ["/health", "/healthz", "/readyz"];

/// Whether a path is one of [`Api::health_routes`].
pub fn is_health(path: &str) -> bool {
    HEALTH.contains(&path)
}

/// Whether a path is the operator's.
pub fn is_operators(path: &str) -> bool {
    path.starts_with("/api/")
}

impl Api {
    /// An API over these parts. `sessions` counts client sessions.
    pub fn new(
        management: Management,
        router: Router,
        calls: CallIds,
        location: DaemonLocation,
        sessions: impl Fn() -> usize + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(ApiParts {
            management,
            router,
            calls,
            location,
            sessions: Box::new(sessions),
        }))
    }

    /// The routes.
    pub fn routes(&self) -> HttpRouter {
        status::routes()
            .merge(servers::routes())
            .merge(login::routes())
            .merge(tools::routes())
            .merge(call::routes())
            .merge(code::routes())
            .merge(activity::routes())
            .fallback(unknown_path)
            .method_not_allowed_fallback(wrong_method)
            .layer(DefaultBodyLimit::max(MAX_BODY))
            .with_state(self.clone())
    }

    /// Health for everybody: no authentication, never blocks.
    pub fn health_routes(&self) -> HttpRouter {
        let routes = HEALTH.iter().fold(HttpRouter::new(), |routes, path| {
            routes.route(path, get(health))
        });
        routes.with_state(self.clone())
    }

    fn count_sessions(&self) -> usize {
        (self.0.sessions)()
    }
}

async fn health(State(api): State<Api>) -> Response {
    answer(
        StatusCode::OK,
        &api.0.management.health(api.count_sessions()),
    )
}

/// The answer to a body that is too large.
pub fn too_large() -> Response {
    let error = "the request is larger than 32 MiB";
    let hint = "Send less at a time.";
    let failure = Failure::new(ErrorCode::InvalidArguments, error, hint);
    answer(StatusCode::PAYLOAD_TOO_LARGE, &failure)
}

/// A failure on its way out.
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
        answer(status, &self.0)
    }
}

type Answer = Result<Response, FailureResponse>;

fn answer(status: StatusCode, value: &impl Serialize) -> Response {
    let mut response = json_response(Raw::author(value).bytes().clone());
    *response.status_mut() = status;
    response
}

fn json_response(text: Bytes) -> Response {
    let mut response = Response::new(Body::from(text));
    response.headers_mut().insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/json"),
    );
    response
}

#[expect(clippy::unnecessary_wraps, reason = "every handler ends with it")]
fn ok(value: &impl Serialize) -> Answer {
    Ok(answer(StatusCode::OK, value))
}

fn wrong(why: impl std::fmt::Display) -> FailureResponse {
    FailureResponse(Failure::new(
        ErrorCode::InvalidArguments,
        format!("the request is wrong: {why}"),
        "Correct the request.",
    ))
}

/// The parameters of an address as they are.
type Said = Vec<(String, String)>;

/// Refuses parameters that there are not: with a filter that is misspelt, everything would be found.
fn check_parameters(
    said: Result<Query<Said>, QueryRejection>,
    known: &[&str],
) -> Result<(), FailureResponse> {
    /// Limit: characters of it that are repeated.
    const REPEATED: usize = 100;
    let Query(said) = said.map_err(wrong)?;
    let unknown = said.iter().find(|(key, _)| !known.contains(&key.as_str()));
    unknown.map_or(Ok(()), |(key, _)| {
        let key: String = key.chars().take(REPEATED).collect();
        let known = known.join(", ");
        Err(wrong(format!(
            "there is no parameter {key:?}: there are {known}"
        )))
    })
}

async fn unknown_path() -> Response {
    answer(StatusCode::NOT_FOUND, &json!({ "error": "not_found" }))
}

async fn wrong_method() -> Response {
    answer(
        StatusCode::METHOD_NOT_ALLOWED,
        &json!({ "error": "method_not_allowed" }),
    )
}
