//! `/api/v1/servers`: the upstream servers, and what is done to them.

use axum::{
    Router as HttpRouter,
    extract::{
        Path, Query, State,
        rejection::{BytesRejection, QueryRejection},
    },
    routing::{delete, get, post},
};
use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Answer, Api, ok, wrong};
use crate::management::Enabled;

pub(super) fn routes() -> HttpRouter<Api> {
    HttpRouter::new()
        .route("/api/v1/servers", get(list).post(add))
        .route("/api/v1/servers/{name}", delete(remove))
        .route("/api/v1/servers/{name}/enable", post(enable))
        .route("/api/v1/servers/{name}/disable", post(disable))
        .route("/api/v1/servers/{name}/restart", post(restart))
        .route("/api/v1/servers/{name}/logs", get(logs))
        .route("/api/v1/servers/{name}/tools", get(tools))
}

async fn list(State(api): State<Api>) -> Answer {
    ok(&api.0.management.servers()?)
}

async fn add(State(api): State<Api>, body: Result<Bytes, BytesRejection>) -> Answer {
    let body = body.map_err(wrong)?;
    let mut entry: Map<String, Value> = serde_json::from_slice(&body).map_err(wrong)?;
    let Some(Value::String(name)) = entry.shift_remove("name") else {
        return Err(wrong("`name` is missing"));
    };
    ok(&api.0.management.add_server(&name, entry).await?)
}

async fn remove(State(api): State<Api>, Path(name): Path<String>) -> Answer {
    ok(&api.0.management.remove_server(&name).await?)
}

async fn enable(State(api): State<Api>, Path(name): Path<String>) -> Answer {
    ok(&api.0.management.set_enabled(&name, Enabled::On).await?)
}

async fn disable(State(api): State<Api>, Path(name): Path<String>) -> Answer {
    ok(&api.0.management.set_enabled(&name, Enabled::Off).await?)
}

async fn restart(State(api): State<Api>, Path(name): Path<String>) -> Answer {
    ok(&api.0.management.restart_server(&name).await?)
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
    ok(&api.0.management.server_logs(&name, lines)?)
}

async fn tools(State(api): State<Api>, Path(name): Path<String>) -> Answer {
    ok(&api.0.management.tools(Some(&name))?)
}
