//! `/api/v1/status`: the state of the daemon; `/api/v1/version`: the versions of the program.

use axum::extract::State;

use super::{Answer, Api, Route, Routes, ok};
use crate::management::{ProgramVersion, StatusReport};

pub(super) const PATH: &str = "/api/v1/status";

pub(super) fn routes() -> Routes {
    vec![
        Route::get(PATH, show)
            .about(
                "status",
                "The state of the daemon: its addresses, its servers, and what needs you.",
            )
            .gives::<StatusReport>(),
        Route::get("/api/v1/version", version)
            .about(
                "version",
                "The daemon's version, its commit, and the revisions of MCP that it speaks.",
            )
            .gives::<ProgramVersion>(),
    ]
}

async fn show(State(api): State<Api>) -> Answer {
    let (management, location) = (&api.0.management, &api.0.location);
    ok(&management.status(location, api.count_sessions()))
}

async fn version() -> Answer {
    ok(&ProgramVersion::own())
}
