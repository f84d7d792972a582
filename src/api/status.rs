//! `/api/v1/status`: the daemon as a whole.

use axum::{Router as HttpRouter, extract::State, routing::get};

use super::{Answer, Api, ok};

pub(super) fn routes() -> HttpRouter<Api> {
    HttpRouter::new().route("/api/v1/status", get(show))
}

async fn show(State(api): State<Api>) -> Answer {
    let (management, location) = (&api.0.management, &api.0.location);
    ok(&management.status(location, api.count_sessions()))
}
