//! `/api/v1/clients`: the AI clients of the user who runs the daemon, and mcpproxy's entry in their files. Only known files in the user's
//! home are read and written: those of projects belong to all who work on them.

use axum::extract::{Path, State, rejection::BytesRejection};
use bytes::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Answer, Api, Route, Routes, blocking, config, ok, read_body};
use crate::{
    clients::{
        Client, ClientList, ConnectRequest, Connected, Reaching, check_endpoint, client_of_word,
        connect, disconnect, endpoint_path, entry_name, give_token, home_places, judged_rows,
        our_address, shown_token, take_token,
    },
    failure::{ErrorCode, Failure, Result},
    management::Files,
    text::secret::Secret,
};

const FAILURES: &[ErrorCode] = &[ErrorCode::UnknownClient, ErrorCode::ClientUnchanged];

pub(super) fn routes() -> Routes {
    vec![
        Route::get("/api/v1/clients", list)
            .about(
                "listClients",
                "The AI clients, their files, and whether each is connected to this daemon.",
            )
            .gives::<ClientList>()
            .fails(&[ErrorCode::ClientUnchanged]),
        Route::post("/api/v1/clients/{client}/connect", connect_one)
            .about(
                "connectClient",
                "Adds mcpproxy to a client's file and keeps a backup; with `dry_run`, only shows the change.",
            )
            .may_take::<ConnectBody>()
            .gives::<Connected>()
            .fails(FAILURES)
            .undone("nothing was changed"),
        Route::post("/api/v1/clients/{client}/token", give_own_token)
            .about(
                "giveClientToken",
                "Issues a token to a client that is not connected or connects without a token, and writes it into the client's file; with `dry_run`, only shows the change.",
            )
            .may_take::<ChangeBody>()
            .gives::<OwnToken>()
            .fails(FAILURES)
            .undone("nothing was changed"),
        Route::delete("/api/v1/clients/{client}/token", take_own_token)
            .about(
                "takeClientToken",
                "Restores a client's entry as it was before its token, and revokes that token.",
            )
            .gives::<OwnToken>()
            .fails(FAILURES)
            .undone("nothing was changed"),
        Route::post("/api/v1/clients/{client}/disconnect", disconnect_one)
            .about(
                "disconnectClient",
                "Removes mcpproxy from a client's file and revokes the client's token; restores the file byte for byte if it has not changed since.",
            )
            .may_take::<ChangeBody>()
            .gives::<Connected>()
            .fails(FAILURES)
            .undone("nothing was changed"),
    ]
}

/// The result for a client's token.
#[derive(Serialize, JsonSchema)]
struct OwnToken {
    #[serde(flatten)]
    connected: Connected,
    /// The name of the token; absent if none was issued or revoked.
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<String>,
}

/// How to connect a client.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ConnectBody {
    /// Whether to show the change and write nothing.
    #[serde(default)]
    dry_run: bool,
    /// The name of a new entry, of letters, digits, `-` and `_`; by default `mcpproxy`.
    #[serde(default)]
    name: Option<String>,
    /// The endpoint for the client: `/mcp`, `/mcp/all`, `/mcp/server/NAME`, …
    #[serde(default)]
    endpoint: Option<String>,
    /// Whether the client starts `mcpproxy stdio` even if it could connect to the URL. An entry that starts it already still does.
    #[serde(default)]
    stdio: bool,
}

/// How to change a client's file.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ChangeBody {
    /// Whether to show the change and write nothing.
    #[serde(default)]
    dry_run: bool,
}

async fn list(State(api): State<Api>) -> Answer {
    let list = with_files(&api, |files, api| {
        let places = home_places(files)?;
        let us = our_address(files, Some(&api.0.location));
        let settings = files.settings_of_clients().ok();
        let listens = api.0.location.url.is_some();
        Ok(ClientList {
            home: places.home().display().to_string(),
            clients: judged_rows(&places, &us, listens, settings.as_ref()),
        })
    });
    ok(&list.await?)
}

async fn connect_one(
    State(api): State<Api>,
    Path(client): Path<String>,
    body: Result<Bytes, BytesRejection>,
) -> Answer {
    let body: ConnectBody = body_or_default(body)?;
    let client = client_named(&client)?;
    let checked = |key: &str, text: &Option<String>, check: fn(&str) -> Result<String, String>| {
        let checked = text.as_deref().map(|text| {
            check(text).map_err(|step| {
                let error = format!("nothing was done: `{key}` cannot be {text:?}");
                Failure::new(ErrorCode::InvalidArguments, error, step)
            })
        });
        checked.transpose()
    };
    let name = checked("name", &body.name, entry_name)?;
    let endpoint = checked("endpoint", &body.endpoint, endpoint_path)?;
    let done = with_files(&api, move |files, api| {
        if let Some(endpoint) = &endpoint {
            let settings = files.supposed_settings()?.settings;
            // The daemon may have a server that stands in no file, as the demo does.
            let has_server = |name: &str| api.0.management.server(name).is_ok();
            check_endpoint(&settings, has_server, endpoint)?;
        }
        let request = ConnectRequest {
            name: name.as_deref(),
            endpoint: endpoint.as_deref(),
            by_process: body.stdio,
            is_dry: body.dry_run,
            ..ConnectRequest::usual(client)
        };
        connect(&home_places(files)?, &reaching(files, api)?, &request)
    });
    ok(&done.await?)
}

async fn disconnect_one(
    State(api): State<Api>,
    Path(client): Path<String>,
    body: Result<Bytes, BytesRejection>,
) -> Answer {
    let body: ChangeBody = body_or_default(body)?;
    let client = client_named(&client)?;
    let (done, shown) = with_files(&api, move |files, api| {
        let request = ConnectRequest {
            is_dry: body.dry_run,
            ..ConnectRequest::usual(client)
        };
        let (places, reaching) = (home_places(files)?, reaching(files, api)?);
        let done = disconnect(&places, &reaching, &request, || ());
        Ok((done, shown_token(&places, &reaching.us, client)))
    })
    .await?;
    if body.dry_run {
        return ok(&done?);
    }
    ok(&without_tokens(&api, client, done, shown).await?)
}

/// Revokes the tokens of a client that was undone, unless its entry shows one. That does not depend on what its file says.
async fn without_tokens(
    api: &Api,
    client: Client,
    done: Result<Connected>,
    shown: Option<Secret>,
) -> Result<Connected> {
    let management = &api.0.management;
    let revoked_tokens = management
        .revoke_unused(client.id(), shown.as_ref())
        .await?;
    match done {
        Err(failure) if !revoked_tokens.is_empty() => {
            let names = revoked_tokens.join(", ");
            Err(failure.with_outcome(&format!("only its token was revoked, {names}")))
        }
        done => Ok(Connected {
            revoked_tokens,
            ..done?
        }),
    }
}

async fn give_own_token(
    State(api): State<Api>,
    Path(client): Path<String>,
    body: Result<Bytes, BytesRejection>,
) -> Answer {
    let body: ChangeBody = body_or_default(body)?;
    let client = client_named(&client)?;
    let write = async |token: Secret, is_dry: bool| {
        let writing = with_files(&api, move |files, api| {
            let (places, reaching) = (home_places(files)?, reaching(files, api)?);
            give_token(&places, &reaching, client, &token, is_dry)
        });
        writing.await
    };
    // A dry run first: if the file cannot be written, no token is issued.
    let connected = write(Secret::new("mcpp_0000"), true).await?;
    if body.dry_run {
        let token = None;
        return ok(&OwnToken { connected, token });
    }
    let management = &api.0.management;
    let issued = management.issue_token_to_client(client.id()).await?;
    let token = Secret::new(issued.token);
    match write(token.clone(), false).await {
        Ok(connected) => {
            management.revoke_unused(client.id(), Some(&token)).await?;
            ok(&OwnToken {
                connected,
                token: Some(issued.name),
            })
        }
        Err(failure) => {
            management.revoke_token(&issued.name).await?;
            Err(failure)
        }
    }
}

async fn take_own_token(State(api): State<Api>, Path(client): Path<String>) -> Answer {
    let client = client_named(&client)?;
    let (done, shown) = with_files(&api, move |files, api| {
        let (places, reaching) = (home_places(files)?, reaching(files, api)?);
        let done = take_token(&places, &reaching, client);
        Ok((done, shown_token(&places, &reaching.us, client)))
    })
    .await?;
    let connected = without_tokens(&api, client, done, shown).await?;
    let revoked = &connected.revoked_tokens;
    let token = (!revoked.is_empty()).then(|| revoked.join(", "));
    ok(&OwnToken { connected, token })
}

fn reaching(files: &Files, api: &Api) -> Result<Reaching> {
    let location = Some(&api.0.location);
    Reaching::new(files, location, our_address(files, location))
}

/// A body that may be empty, which means the defaults.
pub(super) fn body_or_default<T: Default + serde::de::DeserializeOwned>(
    body: Result<Bytes, BytesRejection>,
) -> Answer<T> {
    match body {
        Ok(body) if body.is_empty() => Ok(T::default()),
        body => read_body(body),
    }
}

/// The client of this name.
pub(super) fn client_named(word: &str) -> Result<Client> {
    client_of_word(word).map_err(|unknown| {
        let hint = "GET /api/v1/clients lists the clients.";
        Failure::new(ErrorCode::UnknownClient, unknown.to_string(), hint)
    })
}

/// Works with the files, off the workers of the runtime.
pub(super) async fn with_files<T: Send + 'static>(
    api: &Api,
    what: impl FnOnce(&Files, &Api) -> Result<T> + Send + 'static,
) -> Answer<T> {
    let api = api.clone();
    Ok(blocking(move || what(&config::files(&api), &api)).await??)
}
