//! `/api/v1/import`: imports of servers from the files of other programs of the user who runs the daemon, and from pasted text. Only known
//! files in the user's home are read: those of projects may be somebody else's.

use std::collections::BTreeMap;

use axum::extract::{Path, State, rejection::BytesRejection};
use bytes::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Answer, Api, Json, Route, Routes,
    changes::check_count,
    clients::{body_or_default, client_named, with_files},
    ok, wrong,
};
use crate::{
    clients::{
        Client, ImportReport, MovedServers, MovesBack, gather, gather_pasted, home_places,
        move_back, move_out, our_address,
    },
    failure::{ErrorCode, Failure},
};

pub(super) fn routes() -> Routes {
    vec![
        Route::post("/api/v1/import/pasted", read_pasted)
            .about(
                "readPasted",
                "The servers in pasted text, and the values that each needs; imports nothing.",
            )
            .takes::<Pasted>()
            .gives::<ImportReport>()
            .fails(&[ErrorCode::ConfigUnusable]),
        Route::get("/api/v1/import", preview)
            .about(
                "previewImport",
                "The servers in the files of AI clients and other proxies, and what an import would do with each; imports nothing.",
            )
            .gives::<ImportReport>()
            .fails(&[ErrorCode::ClientUnchanged, ErrorCode::ConfigUnusable]),
        Route::post("/api/v1/import", take_over)
            .about(
                "importServers",
                "Imports servers by name; if one fails, the others are still imported.",
            )
            .takes::<Picked>()
            .gives::<ImportReport>()
            .fails(&[
                ErrorCode::ClientUnchanged,
                ErrorCode::ConfigUnusable,
                ErrorCode::KeyringUnavailable,
                ErrorCode::SecretExists,
                ErrorCode::ServerExists,
                ErrorCode::ServerMisconfigured,
                ErrorCode::UnknownServer,
            ]),
        Route::post("/api/v1/clients/{client}/move", move_here)
            .about(
                "moveClientServers",
                "Imports the servers of a client's file, stores their secrets in the keyring, and removes them from that file, so that none runs twice; keeps a backup. Does not import servers that must stay in the file.",
            )
            .may_take::<MoveBody>()
            .gives::<ImportReport>()
            .fails(&[
                ErrorCode::ClientUnchanged,
                ErrorCode::ConfigUnusable,
                ErrorCode::KeyringUnavailable,
                ErrorCode::UnknownClient,
            ])
            .undone("nothing was moved"),
        Route::delete("/api/v1/clients/{client}/move", put_back)
            .about(
                "putBackClientServers",
                "Puts the moved servers back into the client's file; restores it byte for byte if it has not changed since.",
            )
            .undone("nothing was moved")
            .gives::<PutBack>()
            .fails(&[ErrorCode::ClientUnchanged, ErrorCode::UnknownClient]),
    ]
}

/// The servers that were put back into a client's files.
#[derive(Serialize, JsonSchema)]
struct PutBack {
    /// The servers of each file.
    put_back: Vec<MovedServers>,
}

/// The servers to import.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Picked {
    /// The names of the servers, as in the preview.
    #[schemars(length(min = 1, max = 256))]
    servers: Vec<String>,
    /// Whether they stay quarantined until you approve them.
    #[serde(default, rename = "quarantined")]
    is_held: bool,
    /// The pasted text with the servers; by default clients' files are read.
    pasted: Option<Pasted>,
    /// The values of their placeholders, by server and place.
    #[serde(default)]
    values: GivenValues,
    /// Whether their secrets go into the keyring; by default they stay in the entries.
    #[serde(default, rename = "keyring")]
    keeps_secrets: bool,
}

/// How to move servers.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct MoveBody {
    /// The values of placeholders, by server and place; a server that lacks one stays in the file.
    #[serde(default)]
    values: GivenValues,
}

/// Values of placeholders, by server and place.
type GivenValues = BTreeMap<String, BTreeMap<String, String>>;

/// Pasted text with servers.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Pasted {
    /// The JSON, TOML or YAML of a client, a list of servers, an entry, a command, a link or a URL, or a README with any of them.
    #[schemars(length(min = 1))]
    text: String,
    /// The name for the server, if the text has only one.
    name: Option<String>,
}

/// The servers in the files of a client, or of all clients.
async fn read_client_files(api: &Api, client: Option<Client>) -> Answer<ImportReport> {
    let found = with_files(api, move |files, api| {
        let places = home_places(files)?;
        let us = our_address(files, Some(&api.0.location));
        let mut candidates = places.files();
        candidates.retain(|file| {
            file.project().is_none() && client.is_none_or(|client| file.client == Some(client))
        });
        gather(files, &us, places.home(), candidates, false)
    });
    found.await
}

/// The servers in pasted text.
async fn read_text(api: &Api, pasted: Pasted) -> Answer<ImportReport> {
    let found = with_files(api, move |files, api| {
        let us = our_address(files, Some(&api.0.location));
        gather_pasted(files, &us, (&pasted.text, None), pasted.name.as_deref())
    });
    found.await
}

async fn read_pasted(State(api): State<Api>, pasted: Answer<Json<Pasted>>) -> Answer {
    // The parser's own words may repeat a secret.
    let Json(pasted) = pasted.map_err(|_| {
        wrong("the body must be {\"text\": \"TEXT\"}, optionally with \"name\": \"NAME\"")
    })?;
    let mut report = read_text(&api, pasted).await?;
    let new = report.picked(&[])?;
    report.choose(&new);
    ok(&report)
}

async fn preview(State(api): State<Api>) -> Answer {
    let mut report = read_client_files(&api, None).await?;
    let new = report.picked(&[])?;
    report.choose(&new);
    for server in &mut report.servers {
        server.stays = server.why_it_stays();
    }
    ok(&report)
}

async fn take_over(State(api): State<Api>, Json(mut picked): Json<Picked>) -> Answer {
    check_count(&picked.servers)?;
    let mut report = match picked.pasted.take() {
        Some(pasted) => read_text(&api, pasted).await?,
        None => read_client_files(&api, None).await?,
    };
    let chosen = report.picked(&picked.servers)?;
    report.choose(&chosen);
    report.fill_placeholders(|name, one| picked.values.get_mut(name)?.remove(&one.place));
    ok(&add_chosen(&api, report, picked.is_held, picked.keeps_secrets).await?)
}

/// Imports the servers of a client's file that are not configured here yet, then removes all that are from the file. A server that has to
/// stay in the file is not imported, and none is if none can be removed.
async fn move_here(
    State(api): State<Api>,
    Path(client): Path<String>,
    body: Result<Bytes, BytesRejection>,
) -> Answer {
    let mut given: MoveBody = body_or_default(body)?;
    let client = client_named(&client)?;
    let mut report = read_client_files(&api, Some(client)).await?;
    let new = report.picked(&[])?;
    report.choose(&new);
    report.fill_placeholders(|name, one| given.values.get_mut(name)?.remove(&one.place));
    report.leave_what_stays();
    let mut report = remove_moved(&api, report, client, true).await?;
    if let Some((why, step)) = report.leave_unmovable() {
        let error = format!("nothing was moved: {why}");
        let correct = "correct that server in the client's file, then try again";
        let hint = step.as_ref().map(|step| step.at_terminal(""));
        let hint = hint.unwrap_or_else(|| correct.to_owned());
        let mut failure = Failure::new(ErrorCode::ClientUnchanged, error, hint);
        failure.step = step.map(Box::new);
        return Err(failure.into());
    }
    let report = add_chosen(&api, report, false, true).await?;
    ok(&remove_moved(&api, report, client, false).await?)
}

/// Removes the servers of a client's file that are imported, or says which would be.
async fn remove_moved(
    api: &Api,
    mut report: ImportReport,
    client: Client,
    dry_run: bool,
) -> Answer<ImportReport> {
    let moving = with_files(api, move |files, api| {
        let us = our_address(files, Some(&api.0.location));
        let places = (&home_places(files)?, &us);
        move_out(
            &mut report,
            places,
            |server| server.client == client,
            dry_run,
        );
        Ok(report)
    });
    moving.await
}

async fn put_back(State(api): State<Api>, Path(client): Path<String>) -> Answer {
    let client = client_named(&client)?;
    let put_back = with_files(&api, move |files, api| {
        let us = our_address(files, Some(&api.0.location));
        let places = home_places(files)?;
        let moved = move_back(&places, &us, MovesBack::Latest, |of| of == client);
        Ok(moved)
    });
    ok(&PutBack {
        put_back: put_back.await?,
    })
}

/// Adds the chosen servers, and notes the result of each in the report.
async fn add_chosen(
    api: &Api,
    mut report: ImportReport,
    is_held: bool,
    keeps_secrets: bool,
) -> Answer<ImportReport> {
    if keeps_secrets && !report.secrets_to_keep().is_empty() {
        report = keep_secrets(api, report).await?;
    }
    let management = &api.0.management;
    let entries = report.entries(is_held).into_iter();
    let (places, entries): (Vec<_>, Vec<_>) =
        entries.map(|(at, name, entry)| (at, (name, entry))).unzip();
    let outcomes = management.add_servers(entries).await?;
    for (at, outcome) in places.into_iter().zip(outcomes) {
        report.id = outcome.as_ref().map_or(report.id, |id| *id);
        let error = outcome.err();
        let error = error.map(|failure| management.for_operator(failure).error);
        report.note(at, error);
    }
    Ok(report)
}

/// Stores the secrets of the chosen servers, and has the daemon read them.
async fn keep_secrets(api: &Api, mut report: ImportReport) -> Answer<ImportReport> {
    let kept = with_files(api, move |files, _| {
        report.keep_secrets(|name, value| files.add_secret(name, value).map(|_| ()))?;
        Ok(report)
    });
    let report = kept.await?;
    api.0.management.read_configuration().await;
    Ok(report)
}
