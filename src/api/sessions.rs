//! `/api/v1/sessions`: the sessions that clients have open.

use axum::extract::State;
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Answer, Api, ok,
    routes::{About, Routes},
};
use crate::call_context::OpenSession;

/// Limit: sessions in one answer.
const MOST: usize = 500;

pub(super) fn routes() -> Routes {
    let about = About::new(
        "listSessions",
        "The sessions that clients have open, the one that sent something last first; at most 500.",
    );
    Routes::new().get("/api/v1/sessions", list, about.gives::<OpenSessions>())
}

/// Clients' sessions.
#[derive(Serialize, JsonSchema)]
struct OpenSessions {
    /// How many are open.
    open: usize,
    /// Which.
    sessions: Vec<OpenSession>,
}

async fn list(State(api): State<Api>) -> Answer {
    ok(&OpenSessions {
        open: api.count_sessions(),
        sessions: (api.0.list_sessions)(MOST),
    })
}
