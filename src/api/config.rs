//! `/api/v1/config`: the configuration file as written, its mistakes and its schema, and a reload. Secrets in it are masked.

use axum::extract::State;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Answer, Api, Route, Routes, blocking, json_response, ok};
use crate::{
    config,
    failure::ErrorCode,
    management::{ConfigReport, Files, Management, WrittenConfig},
};

pub(super) fn routes() -> Routes {
    vec![
        Route::get("/api/v1/config", show)
            .about(
                "showConfig",
                "The configuration file as written, with secrets as `***`.",
            )
            .gives::<WrittenConfig>()
            .fails(&[ErrorCode::ConfigUnusable]),
        Route::get("/api/v1/config/check", check)
            .about(
                "checkConfig",
                "The mistakes in the configuration file, and its keys without effect.",
            )
            .gives::<ConfigReport>(),
        Route::get("/api/v1/config/schema", schema)
            .about("configSchema", "The JSON Schema of the configuration file.")
            .gives::<serde_json::Map<String, serde_json::Value>>(),
        Route::post("/api/v1/config/reload", reload)
            .about(
                "reloadConfig",
                "Reads the configuration file again, and the secrets to which it refers.",
            )
            .gives::<Reloaded>(),
    ]
}

/// The result of a reload.
#[derive(Serialize, JsonSchema)]
struct Reloaded {
    /// Why mcpproxy does not use the file; null if it does.
    error: Option<String>,
}

/// The verbs over the files of the daemon.
pub(super) fn files(api: &Api) -> Files {
    Management::over_files(api.0.places.clone(), config::process_environment())
}

async fn show(State(api): State<Api>) -> Answer {
    ok(&blocking(move || files(&api).written_config()).await??)
}

async fn check(State(api): State<Api>) -> Answer {
    let checked = move || files(&api).check(api.0.location.is_insecure());
    ok(&blocking(checked).await?)
}

async fn schema() -> Answer {
    Ok(json_response(config::schema().into()))
}

/// The daemon notices changes of the file by itself, but not of the secrets to which it refers.
async fn reload(State(api): State<Api>) -> Answer {
    let error = api.0.management.read_configuration().await;
    ok(&Reloaded { error })
}
