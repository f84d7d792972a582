//! `/api/v1/secrets`: secrets by name. Values come in and never leave.

use axum::extract::{Path, State};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Answer, Api, Json, Route, Routes, clients::with_files, ok, wrong};
use crate::{
    clients::to_keyring,
    failure::ErrorCode,
    management::{Files, SecretList, SecretRow, ServerChange, secret_value},
    text::secret::Secret,
};

pub(super) fn routes() -> Routes {
    vec![
        Route::get("/api/v1/secrets", list)
            .about(
                "listSecrets",
                "The names of secrets, where each is stored and which servers use it; never values.",
            )
            .gives::<SecretList>()
            .fails(&[ErrorCode::ConfigUnusable, ErrorCode::KeyringUnavailable]),
        Route::put("/api/v1/secrets/{name}", set)
            .about(
                "setSecret",
                "Stores a secret; write a `/` in its name as `%2F`.",
            )
            .takes::<NewSecret>()
            .gives::<SecretRow>()
            .fails(&[
                ErrorCode::ConfigUnusable,
                ErrorCode::KeyringUnavailable,
                ErrorCode::SecretExists,
            ]),
        Route::post("/api/v1/servers/{name}/keyring", move_in)
            .about(
                "moveToKeyring",
                "Moves the value of a variable or header into the keyring, and leaves a reference in the server's entry.",
            )
            .takes::<MovedValue>()
            .gives::<ServerChange>()
            .fails(&[
                ErrorCode::ConfigUnusable,
                ErrorCode::KeyringUnavailable,
                ErrorCode::SecretExists,
                ErrorCode::UnknownServer,
            ]),
        Route::delete("/api/v1/secrets/{name}", remove)
            .about("removeSecret", "Removes a secret.")
            .gives::<SecretRow>()
            .fails(&[
                ErrorCode::ConfigUnusable,
                ErrorCode::KeyringUnavailable,
                ErrorCode::UnknownSecret,
            ]),
    ]
}

/// A secret to store.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NewSecret {
    /// The value: at most 64 KiB, without NUL characters.
    #[schemars(length(min = 1, max = 65536))]
    value: String,
    /// Whether to refuse the request with `secret_exists` if a secret of this name is stored.
    #[serde(default)]
    new: bool,
}

/// The value to move into the keyring.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct MovedValue {
    /// `env.NAME` or `headers.NAME`.
    place: String,
}

async fn list(State(api): State<Api>) -> Answer {
    ok(&with_files(&api, |files, _| files.secrets()).await?)
}

async fn set(
    State(api): State<Api>,
    Path(name): Path<String>,
    secret: Answer<Json<NewSecret>>,
) -> Answer {
    // The parser's own words may repeat the value.
    let Json(secret) = secret.map_err(|_| {
        wrong("the body must be {\"value\": \"TEXT\"}, optionally with \"new\": true")
    })?;
    let is_new = secret.new;
    let value = Secret::new(secret.value);
    secret_value(value.reveal()).map_err(|why| wrong(format!("the value {why}")))?;
    let store = move |files: &Files, _: &Api| {
        if is_new {
            files.add_secret(&name, &value)
        } else {
            files.set_secret(&name, &value)
        }
    };
    let row = with_files(&api, store).await?;
    api.0.management.read_configuration().await;
    ok(&row)
}

async fn move_in(
    State(api): State<Api>,
    Path(name): Path<String>,
    Json(MovedValue { place }): Json<MovedValue>,
) -> Answer {
    let server = name.clone();
    let patch = with_files(&api, move |files, _| to_keyring(files, &server, &place)).await?;
    api.0.management.read_configuration().await;
    ok(&api.0.management.patch_server(&name, patch).await?)
}

async fn remove(State(api): State<Api>, Path(name): Path<String>) -> Answer {
    let row = with_files(&api, move |files, _| files.remove_secret(&name)).await?;
    api.0.management.read_configuration().await;
    ok(&row)
}
