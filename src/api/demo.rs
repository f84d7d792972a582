//! `/api/v1/demo`: the bundled demo server, to try things with before anything is configured.

use axum::extract::State;

use super::{Answer, Api, Route, Routes, ok};
use crate::{failure::ErrorCode, management::ServerChange};

pub(super) fn routes() -> Routes {
    vec![
        Route::post("/api/v1/demo", start)
            .about(
                "startDemo",
                "Starts the bundled demo server as `demo`, until it is removed or the daemon stops; writes nothing.",
            )
            .gives::<ServerChange>()
            .fails(&[
                ErrorCode::ServerExists,
                ErrorCode::ConfigUnusable,
                ErrorCode::Overloaded,
            ]),
    ]
}

async fn start(State(api): State<Api>) -> Answer {
    ok(&api.0.management.start_demo().await?)
}
