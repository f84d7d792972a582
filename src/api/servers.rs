//! `/api/v1/servers`: the upstream servers, and what is done to them.

use std::time::Duration;

use axum::{
    Extension, Router as HttpRouter,
    extract::{
        Path, Query, State,
        rejection::{BytesRejection, QueryRejection},
    },
    routing::{get, post},
};
use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Answer, Api, FailureResponse, json_response, ok, wrong};
use crate::{
    access::Caller,
    config::read_unrepeated_object,
    management::{ApprovalBody, Enabled, approver},
};

pub(super) fn routes() -> HttpRouter<Api> {
    HttpRouter::new()
        .route("/api/v1/servers", get(list).post(add))
        .route(
            "/api/v1/servers/{name}",
            get(show).patch(patch).delete(remove),
        )
        .route("/api/v1/servers/{name}/enable", post(enable))
        .route("/api/v1/servers/{name}/disable", post(disable))
        .route("/api/v1/servers/{name}/restart", post(restart))
        .route("/api/v1/servers/{name}/logs", get(logs))
        .route("/api/v1/servers/{name}/tools", get(tools))
        .route(
            "/api/v1/servers/{name}/inspect",
            get(inspect).post(contact_and_inspect),
        )
        .route("/api/v1/servers/{name}/approve", post(approve))
        .route("/api/v1/servers/{name}/quarantine", post(quarantine))
        .route("/api/v1/lock", get(lock))
}

async fn list(State(api): State<Api>) -> Answer {
    ok(&api.0.management.servers()?)
}

#[derive(Deserialize)]
struct ShowQuery {
    /// Wait so many seconds for a first attempt to connect to come to an end.
    wait: Option<u64>,
}

impl ShowQuery {
    fn patience(&self) -> Duration {
        Duration::from_secs(self.wait.unwrap_or(0).min(LONGEST_WAIT))
    }
}

/// Limit: longer than any `init_timeout` that is not somebody's mistake.
const LONGEST_WAIT: u64 = 600;

async fn show(
    State(api): State<Api>,
    Path(name): Path<String>,
    query: Result<Query<ShowQuery>, QueryRejection>,
) -> Answer {
    let Query(query) = query.map_err(wrong)?;
    let settled = api.0.management.settled_server(&name, query.patience());
    ok(&settled.await?)
}

async fn add(State(api): State<Api>, body: Result<Bytes, BytesRejection>) -> Answer {
    let mut entry = object(body)?;
    let Some(Value::String(name)) = entry.shift_remove("name") else {
        return Err(wrong("`name` is missing"));
    };
    ok(&api.0.management.add_server(&name, entry).await?)
}

/// The object that a body is, in which each key stands once.
fn object(body: Result<Bytes, BytesRejection>) -> Result<Map<String, Value>, FailureResponse> {
    let body = body.map_err(wrong)?;
    read_unrepeated_object(&body).map_err(wrong)
}

/// The smart patch, with a person's rights.
async fn patch(
    State(api): State<Api>,
    Path(name): Path<String>,
    body: Result<Bytes, BytesRejection>,
) -> Answer {
    let patch = object(body)?;
    ok(&api.0.management.patch_server(&name, patch).await?)
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
    let management = &api.0.management;
    let restarted = management.restart_server(&name).await;
    ok(&restarted.map_err(|failure| management.for_operator(failure))?)
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
    let management = api.0.management.clone();
    let read = tokio::task::spawn_blocking(move || management.server_logs(&name, lines)).await;
    ok(&read.map_err(wrong)??)
}

async fn tools(State(api): State<Api>, Path(name): Path<String>) -> Answer {
    ok(&api.0.management.tools(Some(&name))?)
}

async fn inspect(State(api): State<Api>, Path(name): Path<String>) -> Answer {
    ok(&api.0.management.inspect(&name)?)
}

/// A person wants to know what the server lists, so it is connected for that if it was not: still nothing of it is called.
async fn contact_and_inspect(
    State(api): State<Api>,
    Path(name): Path<String>,
    query: Result<Query<ShowQuery>, QueryRejection>,
) -> Answer {
    let Query(query) = query.map_err(wrong)?;
    let contact = api.0.management.contact(&name, query.patience());
    ok(&contact.await?)
}

async fn approve(
    State(api): State<Api>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
    body: Result<Bytes, BytesRejection>,
) -> Answer {
    let body = body.map_err(wrong)?;
    let body: ApprovalBody = serde_json::from_slice(&body).map_err(wrong)?;
    let by = approver(caller.subject());
    ok(&api.0.management.approve(&name, body, by).await?)
}

async fn quarantine(State(api): State<Api>, Path(name): Path<String>) -> Answer {
    ok(&api.0.management.quarantine(&name).await?)
}

async fn lock(State(api): State<Api>) -> Answer {
    let text = api.0.management.lock_text()?;
    Ok(json_response(text.into()))
}
