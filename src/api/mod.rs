//! REST for operators, under `/api/v1`: the same verbs as the command line, in JSON. Failures carry `{"error", "code", "server"?,
//! "tool"?, "hint"}` and the status that the table of codes gives them.

use std::{path::PathBuf, sync::Arc};

use axum::{
    Router as HttpRouter,
    body::Body,
    extract::{
        DefaultBodyLimit, Path, Query, State,
        rejection::{BytesRejection, QueryRejection},
    },
    response::{IntoResponse, Response},
    routing::{delete, get, post},
};
use bytes::Bytes;
use http::{HeaderValue, StatusCode, header};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json, value::RawValue};

use crate::{
    call_context::CallContext,
    caller::Caller,
    catalog::Matching,
    error_code::{ErrorCode, Failure},
    gate::Variant,
    management::{Enabled, Management, ServerRow},
    router::{Detail, Router, Search},
    wire::{Outcome, Raw},
};

/// Limit: the largest request body, as for MCP clients.
const MAX_BODY: usize = 32 << 20;

/// What the handlers share. Cheap to clone.
#[derive(Clone)]
pub struct Api(Arc<Parts>);

struct Parts {
    management: Management,
    router: Router,
    standing: Standing,
    /// Counts client sessions.
    sessions: Box<dyn Fn() -> usize + Send + Sync>,
}

/// What does not change while the daemon runs.
#[derive(Debug, Clone, Default)]
pub struct Standing {
    /// The data folder in use.
    pub data_dir: PathBuf,
    /// The addresses that are served.
    pub listen: Vec<String>,
    /// Where clients connect, unless only the local socket is served.
    pub url: Option<String>,
}

impl Api {
    /// An API over these parts. `sessions` counts client sessions.
    pub fn new(
        management: Management,
        router: Router,
        standing: Standing,
        sessions: impl Fn() -> usize + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(Parts {
            management,
            router,
            standing,
            sessions: Box::new(sessions),
        }))
    }

    /// The routes.
    pub fn routes(&self) -> HttpRouter {
        HttpRouter::new()
            .route("/api/v1/status", get(status))
            .route("/api/v1/servers", get(servers).post(add_server))
            .route("/api/v1/servers/{name}", delete(remove_server))
            .route("/api/v1/servers/{name}/enable", post(enable))
            .route("/api/v1/servers/{name}/disable", post(disable))
            .route("/api/v1/servers/{name}/restart", post(restart))
            .route("/api/v1/servers/{name}/logs", get(logs))
            .route("/api/v1/servers/{name}/tools", get(server_tools))
            .route("/api/v1/tools", get(tools))
            .route("/api/v1/tools/show", get(show_tool))
            .route("/api/v1/call", post(call))
            .fallback(unknown_path)
            .method_not_allowed_fallback(wrong_method)
            .layer(DefaultBodyLimit::max(MAX_BODY))
            .with_state(self.clone())
    }

    /// Health for everybody: no authentication, never blocks.
    pub fn health_routes(&self) -> HttpRouter {
        HttpRouter::new()
            .route("/health", get(health))
            .route("/healthz", get(health))
            .route("/readyz", get(health))
            .with_state(self.clone())
    }
}

/// A failure on its way out.
struct Failed(Failure);

impl From<Failure> for Failed {
    fn from(failure: Failure) -> Self {
        Self(failure)
    }
}

impl IntoResponse for Failed {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.0.code.http_status())
            .unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        answer(status, &self.0)
    }
}

type Answer = Result<Response, Failed>;

fn answer(status: StatusCode, value: &impl Serialize) -> Response {
    let mut response = Response::new(Body::from(Raw::author(value).bytes().clone()));
    *response.status_mut() = status;
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

fn wrong(why: impl std::fmt::Display) -> Failed {
    Failed(Failure::new(
        ErrorCode::InvalidArguments,
        format!("the request is wrong: {why}"),
        "Correct the request.",
    ))
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

async fn health(State(api): State<Api>) -> Response {
    answer(StatusCode::OK, &api.0.management.health((api.0.sessions)()))
}

async fn status(State(api): State<Api>) -> Answer {
    let (management, standing) = (&api.0.management, &api.0.standing);
    let settings = management.settings();
    let health = management.health((api.0.sessions)());
    let mut status = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "pid": std::process::id(),
        "uptime_seconds": management.uptime().as_secs(),
        "config_file": management.config_file(),
        "data_dir": standing.data_dir,
        "listen": standing.listen,
        "url": standing.url,
        "routing_mode": settings.routing_mode.as_str(),
        "servers": { "configured": health.backends_configured, "connected": health.backends_connected },
        "tools": health.tools,
        "sessions": health.active_clients,
        "warnings": settings.warnings,
    });
    if let (Some(error), Some(map)) = (management.config_error(), status.as_object_mut()) {
        map.insert("config_error".to_owned(), Value::String(error));
    }
    ok(&status)
}

async fn servers(State(api): State<Api>) -> Answer {
    ok(&json!({ "servers": api.0.management.servers() }))
}

async fn add_server(State(api): State<Api>, body: Result<Bytes, BytesRejection>) -> Answer {
    let body = body.map_err(wrong)?;
    let mut entry: Map<String, Value> = serde_json::from_slice(&body).map_err(wrong)?;
    let Some(Value::String(name)) = entry.shift_remove("name") else {
        return Err(wrong("`name` is missing"));
    };
    let row = api.0.management.add_server(&name, entry).await?;
    changed(&row, &["added"])
}

async fn remove_server(State(api): State<Api>, Path(name): Path<String>) -> Answer {
    changed(&api.0.management.remove_server(&name).await?, &["removed"])
}

async fn enable(State(api): State<Api>, Path(name): Path<String>) -> Answer {
    changed(
        &api.0.management.set_enabled(&name, Enabled::On).await?,
        &["enabled"],
    )
}

async fn disable(State(api): State<Api>, Path(name): Path<String>) -> Answer {
    changed(
        &api.0.management.set_enabled(&name, Enabled::Off).await?,
        &["enabled"],
    )
}

async fn restart(State(api): State<Api>, Path(name): Path<String>) -> Answer {
    changed(&api.0.management.restart_server(&name).await?, &[])
}

fn changed(row: &ServerRow, what: &[&str]) -> Answer {
    ok(&json!({ "server": row, "changed": what }))
}

#[derive(Deserialize)]
struct LogsQuery {
    lines: Option<usize>,
}

/// How many log lines are shown unless asked otherwise, and at most.
const LOG_LINES: (usize, usize) = (50, 500);

async fn logs(
    State(api): State<Api>,
    Path(name): Path<String>,
    query: Result<Query<LogsQuery>, QueryRejection>,
) -> Answer {
    let Query(query) = query.map_err(wrong)?;
    let lines = query.lines.unwrap_or(LOG_LINES.0).min(LOG_LINES.1);
    ok(&json!({ "lines": api.0.management.server_logs(&name, lines)? }))
}

async fn server_tools(State(api): State<Api>, Path(name): Path<String>) -> Answer {
    list_tools(&api, Some(&name))
}

#[derive(Deserialize)]
struct ToolsQuery {
    server: Option<String>,
    /// Turns the list into a search.
    q: Option<String>,
    limit: Option<usize>,
    r#match: Option<String>,
    detail: Option<String>,
}

async fn tools(State(api): State<Api>, query: Result<Query<ToolsQuery>, QueryRejection>) -> Answer {
    let Query(query) = query.map_err(wrong)?;
    let Some(text) = query.q else {
        return list_tools(&api, query.server.as_deref());
    };
    let matching = match query.r#match.as_deref() {
        None => Matching::default(),
        Some(text) => Matching::parse(text)
            .ok_or_else(|| wrong(format!("`match` is any or all, not {text:?}")))?,
    };
    let detail = match query.detail.as_deref() {
        None => Detail::default(),
        Some(text) => Detail::parse(text)
            .ok_or_else(|| wrong(format!("`detail` is full or compact, not {text:?}")))?,
    };
    let search = Search {
        query: text,
        limit: query.limit,
        matching,
        server: query.server,
        up_to: Variant::Destructive,
    };
    let router = &api.0.router;
    let operator = Caller::operator();
    ok(&router.search_answer(&operator, &search, detail).await?)
}

fn list_tools(api: &Api, server: Option<&str>) -> Answer {
    let rows = api.0.management.tools(server)?;
    ok(&json!({ "total": rows.len(), "tools": rows.iter().map(Raw::author).collect::<Vec<_>>() }))
}

#[derive(Deserialize)]
struct ShowQuery {
    name: String,
}

async fn show_tool(
    State(api): State<Api>,
    query: Result<Query<ShowQuery>, QueryRejection>,
) -> Answer {
    let Query(query) = query.map_err(wrong)?;
    ok(&api.0.management.tool(&query.name)?)
}

#[derive(Deserialize)]
struct CallBody<'a> {
    variant: String,
    name: String,
    #[serde(borrow)]
    args: Option<&'a RawValue>,
}

async fn call(State(api): State<Api>, body: Result<Bytes, BytesRejection>) -> Answer {
    let body = body.map_err(wrong)?;
    let request: CallBody<'_> = serde_json::from_slice(&body).map_err(wrong)?;
    let Some((server, tool)) = request.name.split_once(':') else {
        return Err(wrong(format!(
            "the name {:?} is not of the form server:tool",
            request.name
        )));
    };
    let args = request.args.map(Raw::from);
    if args.as_ref().is_some_and(|args| !args.is_object()) {
        return Err(wrong("`args` is not an object"));
    }
    if args.as_ref().is_some_and(Raw::is_too_deep) {
        return Err(wrong("`args` nests deeper than 512 levels"));
    }
    let variant = Variant::parse(&request.variant).ok_or_else(|| {
        wrong(format!(
            "the variant {:?} is not read, write or destructive",
            request.variant
        ))
    })?;
    let context = CallContext::alone(Caller::operator());
    let (key, payload) = match api
        .0
        .router
        .call_tool(&context, variant, server, tool, args.as_ref())
        .await?
    {
        Outcome::Result(result) => ("result", result),
        Outcome::Error(error) => ("rpc_error", error),
    };
    // Put together by hand: what the upstream answered stays as it is.
    let text = [format!("{{\"{key}\":").as_bytes(), payload.as_bytes(), b"}"].concat();
    let mut response = Response::new(Body::from(text));
    response.headers_mut().insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/json"),
    );
    Ok(response)
}
