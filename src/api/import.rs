//! `/api/v1/import`: servers that other programs of the user who runs the daemon have in their files. Only files that are known as theirs
//! are read, and only those of the person: somebody else may have written a project's.

use axum::extract::{State, rejection::BytesRejection};
use bytes::Bytes;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    Answer, Api, FailureResponse, blocking, config, ok, read_body,
    routes::{About, Routes},
    wrong,
};
use crate::{
    clients::{ImportReport, gather, home_places, our_address},
    failure::error_code::ErrorCode,
};

/// Limit: servers of one request.
const MOST: usize = 256;

pub(super) fn routes() -> Routes {
    let look = About::new(
        "previewImport",
        "The servers in files of AI clients and other proxies, and the result for each; imports nothing.",
    );
    let take = About::new(
        "importServers",
        "Imports servers that were found, by their names here; a failure of one leaves the others alone.",
    );
    Routes::new()
        .get(
            "/api/v1/import",
            preview,
            look.gives::<ImportReport>()
                .fails(&[ErrorCode::ClientUnchanged, ErrorCode::ConfigUnusable]),
        )
        .post(
            "/api/v1/import",
            take_over,
            take.takes::<Picked>().gives::<ImportReport>().fails(&[
                ErrorCode::ClientUnchanged,
                ErrorCode::ConfigUnusable,
                ErrorCode::ServerExists,
                ErrorCode::ServerMisconfigured,
                ErrorCode::UnknownServer,
            ]),
        )
}

/// Which servers are to be taken over.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Picked {
    /// Their names, here or there, as the preview has them.
    #[schemars(length(min = 1, max = 256))]
    servers: Vec<String>,
    /// Holds them until a person approves.
    #[serde(default, rename = "quarantined")]
    is_held: bool,
}

async fn found(api: &Api) -> Result<ImportReport, FailureResponse> {
    let api = api.clone();
    let found = blocking(move || {
        let files = config::files(&api);
        let places = home_places()?;
        let us = our_address(&files, Some(&api.0.location));
        let mut candidates = places.files();
        candidates.retain(|file| file.project().is_none());
        gather(&files, &us, places.home(), candidates, false)
    });
    Ok(found.await??)
}

async fn preview(State(api): State<Api>) -> Answer {
    let mut report = found(&api).await?;
    let new = report.picked(&[])?;
    report.choose(&new);
    ok(&report)
}

async fn take_over(State(api): State<Api>, body: Result<Bytes, BytesRejection>) -> Answer {
    let picked: Picked = read_body(body)?;
    if picked.servers.is_empty() || picked.servers.len() > MOST {
        return Err(wrong(format!("`servers` names 1 to {MOST} servers")));
    }
    let mut report = found(&api).await?;
    let chosen = report.picked(&picked.servers)?;
    report.choose(&chosen);
    let management = &api.0.management;
    for (at, name, entry) in report.entries(picked.is_held) {
        let done = management.add_server(&name, entry).await;
        let error = done
            .err()
            .map(|failure| management.for_operator(failure).error);
        report.note(at, error);
    }
    ok(&report)
}
