//! `/api/v1/status`: the daemon as a whole.

use axum::extract::State;

use super::{
    Answer, Api, ok,
    routes::{About, Routes},
};
use crate::management::StatusReport;

pub(super) fn routes() -> Routes {
    let about = About::new(
        "status",
        "The daemon as a whole: where it is, how its servers are, and what needs a person.",
    );
    Routes::new().get("/api/v1/status", show, about.gives::<StatusReport>())
}

async fn show(State(api): State<Api>) -> Answer {
    let (management, location) = (&api.0.management, &api.0.location);
    ok(&management.status(location, api.count_sessions()))
}
