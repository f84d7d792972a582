//! `/api/v1/status` and `/api/v1/config/reload`: the daemon as a whole.

use axum::{
    Router as HttpRouter,
    extract::State,
    routing::{get, post},
};
use serde_json::json;

use super::{Answer, Api, ok};

pub(super) fn routes() -> HttpRouter<Api> {
    HttpRouter::new()
        .route("/api/v1/status", get(show))
        .route("/api/v1/config/reload", post(reload))
}

async fn show(State(api): State<Api>) -> Answer {
    let (management, location) = (&api.0.management, &api.0.location);
    ok(&management.status(location, api.count_sessions()))
}

/// The file is looked at by itself; the secrets that it refers to are not.
async fn reload(State(api): State<Api>) -> Answer {
    let error = api.0.management.read_configuration().await;
    ok(&json!({ "error": error }))
}
