//! `/api/v1/servers`: the upstream servers, their changes, and their review.

use std::{io, time::Duration};

use axum::{
    Extension,
    extract::{Path, State},
};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::{
    Answer, Api, Json, Params, Route, Routes, Verbs, blocking, config, json_response, ok,
    routes::{CHANGE, CONTACT, REVIEW},
    wrong,
};
use crate::{
    access::Caller,
    doctor::{self, TriedServer},
    failure::{ErrorCode, Failure, Result},
    management::{
        ApprovalBody, Enabled, Inspection, Management, ServerChange, ServerDetails, ServerList,
        ToolList, approver,
    },
    process,
    text::names::ServerName,
};

pub(super) fn routes<V: Verbs>() -> Routes<V> {
    let switches = [
        Route::post("/api/v1/servers/{name}/enable", enable::<V>)
            .about("enableServer", "Enables a server.")
            .gives::<ServerChange>()
            .fails(CHANGE)
            .undone("not enabled"),
        Route::post("/api/v1/servers/{name}/disable", disable::<V>)
            .about("disableServer", "Disables a server; its entry stays.")
            .gives::<ServerChange>()
            .fails(CHANGE)
            .undone("not disabled"),
        Route::get("/api/v1/servers/{name}/tools", tools::<V>)
            .about("listServerTools", "The tools of a server.")
            .gives::<ToolList>()
            .fails(&[ErrorCode::UnknownServer]),
    ];
    let all = entries::<V>().into_iter().chain(switches).chain(review());
    all.collect()
}

/// Failures of routes that take a new server.
const NEW: &[ErrorCode] = &[
    ErrorCode::ServerExists,
    ErrorCode::ServerMisconfigured,
    ErrorCode::ConfigUnusable,
];

/// The routes that need a daemon, because they connect servers.
pub(super) fn daemon_routes() -> Routes {
    vec![
        Route::post("/api/v1/trial", try_new)
            .about(
                "tryServer",
                "Tries a server without adding it: starts or contacts it, lists its tools, and stops it.",
            )
            .takes_as(new_server)
            .gives::<TriedServer>()
            .fails(NEW)
            .undone("nothing was started"),
        Route::post("/api/v1/servers/{name}/restart", restart)
            .about(
                "restartServer",
                "Restarts a server and reads its lists; answers when it is ready or has failed.",
            )
            .gives::<ServerChange>()
            .fails(CONTACT)
            .undone("not restarted"),
        Route::post("/api/v1/servers/{name}/inspect", contact_and_inspect)
            .about(
                "contactAndInspectServer",
                "Contacts a server to read its lists, even one that an agent added, then reviews it.",
            )
            .asks::<WaitQuery>()
            .gives::<Inspection>()
            .fails(CONTACT)
            .undone("nothing was inspected"),
    ]
}

/// The routes for the entries in the file.
fn entries<V: Verbs>() -> Routes<V> {
    vec![
        Route::get("/api/v1/servers", list::<V>)
            .about(
                "listServers",
                "The servers, each with its state, its error and its next step.",
            )
            .gives::<ServerList>(),
        Route::post("/api/v1/servers", add::<V>)
            .about(
                "addServer",
                "Adds a server; the body has the keys of its entry, and `name`.",
            )
            .takes_as(new_server)
            .gives::<ServerChange>()
            .fails(NEW),
        Route::post("/api/v1/additions", add_several::<V>)
            .about(
                "addServers",
                "Adds servers in one change of the configuration file; if one cannot be added, the others still are.",
            )
            .takes::<Additions>()
            .gives::<Added>()
            .fails(&[ErrorCode::ConfigUnusable]),
        Route::get("/api/v1/servers/{name}", show::<V>)
            .about(
                "showServer",
                "A server with its entry; with `wait`, answers after its first attempt to connect.",
            )
            .asks::<WaitQuery>()
            .gives::<ServerDetails>()
            .fails(&[ErrorCode::UnknownServer]),
        Route::patch("/api/v1/servers/{name}", patch::<V>)
            .about(
                "patchServer",
                "Changes keys of a server's entry: values replace, objects are merged, null removes, `***` keeps the stored value.",
            )
            .takes::<Map<String, Value>>()
            .gives::<ServerChange>()
            .fails(CHANGE)
            .undone("nothing was changed"),
        Route::delete("/api/v1/servers/{name}", remove::<V>)
            .about(
                "removeServer",
                "Stops a server and removes its entry, log and login.",
            )
            .gives::<ServerChange>()
            .fails(CHANGE)
            .undone("not removed"),
    ]
}

/// The routes for reviews and approvals.
fn review<V: Verbs>() -> Routes<V> {
    vec![
        Route::get("/api/v1/servers/{name}/inspect", inspect::<V>)
            .about(
                "inspectServer",
                "Reviews a server: its entry, its definitions, what is held and why, the findings and the changes.",
            )
            .gives::<Inspection>()
            .fails(&[ErrorCode::UnknownServer]),
        Route::post("/api/v1/servers/{name}/approve", approve::<V>)
            .about(
                "approveServer",
                "Approves a quarantined server, or held definitions, unless they have changed since the review.",
            )
            .takes::<ApprovalBody>()
            .gives::<ServerChange>()
            .fails(REVIEW)
            .undone("nothing was approved"),
        Route::post("/api/v1/servers/{name}/quarantine", quarantine::<V>)
            .about(
                "quarantineServer",
                "Quarantines a server until you approve it.",
            )
            .gives::<ServerChange>()
            .fails(CHANGE)
            .undone("not quarantined"),
        Route::get("/api/v1/lock", lock::<V>)
            .about("lock", "The approved definitions as a lock file.")
            .gives::<Map<String, Value>>()
            .fails(REVIEW),
    ]
}

/// The schema of a server to add: an entry, as the schema of the configuration describes it, with a name.
fn new_server(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "allOf": [{ "$ref": "#/components/schemas/config_server" }],
        "type": "object",
        "properties": { "name": { "type": "string", "pattern": ServerName::PATTERN } },
        "required": ["name"],
    })
}

async fn list<V: Verbs>(State(verbs): State<V>) -> Answer {
    ok(&verbs.management().servers()?)
}

/// The time to wait.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WaitQuery {
    /// Seconds to wait for the end of the first attempt to connect, or of the login; at most 600.
    wait: Option<u64>,
}

impl WaitQuery {
    pub(super) fn patience(&self) -> Duration {
        Duration::from_secs(self.wait.unwrap_or(0).min(LONGEST_WAIT))
    }
}

/// The longest wait, in seconds: longer than any sensible `init_timeout`, and than a login takes.
const LONGEST_WAIT: u64 = 600;

async fn show<V: Verbs>(
    State(verbs): State<V>,
    Path(name): Path<String>,
    Params(query): Params<WaitQuery>,
) -> Answer {
    let settled = verbs.management().settled_server(&name, query.patience());
    let mut details = settled.await?;
    let data_dir = verbs.management().data_dir().to_owned();
    let memory = blocking(move || process::memory_of_server(&data_dir, &name));
    details.memory_bytes = memory.await?;
    ok(&details)
}

async fn add<V: Verbs>(State(verbs): State<V>, Json(entry): Json<Map<String, Value>>) -> Answer {
    let (name, entry) = with_name(entry)?;
    ok(&verbs.management().add_server(&name, entry).await?)
}

/// Servers to add.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Additions {
    /// For each server, the keys of its entry, and `name`.
    servers: Vec<Map<String, Value>>,
}

/// The result of adding servers.
#[derive(Serialize, JsonSchema)]
struct Added {
    /// The number of the change in the history, for an undo; null if nothing was written.
    id: Option<u64>,
    /// For each server, in the order of the request, why it was not added; null if it was.
    errors: Vec<Option<String>>,
}

async fn add_several<V: Verbs>(
    State(verbs): State<V>,
    Json(Additions { servers }): Json<Additions>,
) -> Answer {
    let named = servers.into_iter().map(with_name);
    let named = named.collect::<Result<Vec<_>, _>>()?;
    let outcomes = verbs.management().add_servers(named).await?;
    let id = outcomes.iter().flatten().next().copied().flatten();
    let errors = outcomes.into_iter().map(Result::err);
    let errors = errors.map(|failure| failure.map(|failure| failure.error));
    ok(&Added {
        id,
        errors: errors.collect(),
    })
}

/// The name of a server that is to be added, and its entry.
fn with_name(mut entry: Map<String, Value>) -> Answer<(String, Map<String, Value>)> {
    match entry.shift_remove("name") {
        Some(Value::String(name)) => Ok((name, entry)),
        Some(_) => Err(wrong("`name` must be a string")),
        None => Err(wrong("`name` is missing")),
    }
}

/// Tries a server. If the request is dropped, the trial goes on until its server has ended.
async fn try_new(State(api): State<Api>, Json(entry): Json<Map<String, Value>>) -> Answer {
    let (name, entry) = with_name(entry)?;
    let (ledger, login_path) = (api.0.ledger.clone(), api.0.login_path.clone());
    let settings = blocking(move || config::files(&api).settings_to_try(&name, entry));
    let settings = settings.await??;
    let ending = CancellationToken::new();
    let _leaving = ending.clone().drop_guard();
    let trial = tokio::spawn(doctor::try_new(settings, ledger, login_path, ending));
    let tried = trial.await.map_err(io::Error::other).flatten();
    ok(&tried.map_err(|error| {
        let error = format!("servers cannot be started: {error}");
        Failure::new(ErrorCode::Internal, error, "Try again.")
    })?)
}

/// Patches an entry with a person's rights.
async fn patch<V: Verbs>(
    State(verbs): State<V>,
    Path(name): Path<String>,
    Json(patch): Json<Map<String, Value>>,
) -> Answer {
    ok(&verbs.management().patch_server(&name, patch).await?)
}

/// The result of a change of one server.
fn answer_of_one(outcomes: Vec<Result<ServerChange>>) -> Answer {
    ok(&outcomes.into_iter().next().transpose()?)
}

async fn remove<V: Verbs>(State(verbs): State<V>, Path(name): Path<String>) -> Answer {
    answer_of_one(verbs.management().remove_servers(&[name]).await)
}

async fn enable<V: Verbs>(State(verbs): State<V>, Path(name): Path<String>) -> Answer {
    answer_of_one(verbs.management().set_enabled(&[name], Enabled::On).await)
}

async fn disable<V: Verbs>(State(verbs): State<V>, Path(name): Path<String>) -> Answer {
    answer_of_one(verbs.management().set_enabled(&[name], Enabled::Off).await)
}

async fn restart(State(api): State<Api>, Path(name): Path<String>) -> Answer {
    ok(&api.restart(&name).await?)
}

async fn tools<V: Verbs>(State(verbs): State<V>, Path(name): Path<String>) -> Answer {
    let work = move |management: &Management<V::Backing>| ok(&management.tools(Some(&name))?);
    verbs.in_turn(work).await
}

async fn inspect<V: Verbs>(State(verbs): State<V>, Path(name): Path<String>) -> Answer {
    let work = move |management: &Management<V::Backing>| ok(&management.inspect(&name)?);
    verbs.in_turn(work).await
}

/// Connects a server to read its lists for a review, if it is not connected. Nothing of it is called.
async fn contact_and_inspect(
    State(api): State<Api>,
    Path(name): Path<String>,
    Params(query): Params<WaitQuery>,
) -> Answer {
    let turns = api.0.router.long_work();
    let contact = (api.0.management).contact(&name, query.patience(), turns);
    ok(&contact.await?)
}

async fn approve<V: Verbs>(
    State(verbs): State<V>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
    Json(body): Json<ApprovalBody>,
) -> Answer {
    let by = approver(caller.subject());
    ok(&verbs.management().approve(&name, body, by).await?)
}

async fn quarantine<V: Verbs>(State(verbs): State<V>, Path(name): Path<String>) -> Answer {
    answer_of_one(verbs.management().quarantine(&[name]).await)
}

async fn lock<V: Verbs>(State(verbs): State<V>) -> Answer {
    let text = verbs.management().lock_text()?;
    Ok(json_response(text.into()))
}
