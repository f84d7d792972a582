//! `/api/v1/doctor`: what is wrong, seen from the daemon. Nothing is started or changed.

use axum::extract::State;
use tokio::runtime::Handle;

use super::{Answer, Api, Route, Routes, blocking, config, ok};
use crate::{
    doctor::{self, DoctorReport, SeenDaemon, StartServers},
    failure::ErrorCode,
};

pub(super) fn routes() -> Routes {
    vec![
        Route::get("/api/v1/doctor", examine)
            .about(
                "doctor",
                "Finds problems and how to fix them; starts nothing.",
            )
            .gives::<DoctorReport>()
            .fails(&[ErrorCode::ConfigUnusable]),
    ]
}

async fn examine(State(api): State<Api>) -> Answer {
    let (management, location) = (&api.0.management, &api.0.location);
    let seen = SeenDaemon::Runs {
        status: Box::new(management.status(location, api.count_sessions())),
        servers: Ok(management.servers()?.servers),
    };
    // Most of it reads files.
    let examined = blocking(move || {
        let files = config::files(&api);
        let found = files.check(api.0.location.is_insecure());
        let report = doctor::examine(&files, &found, &seen, StartServers::No);
        Handle::current().block_on(report)
    });
    ok(&examined.await?)
}
