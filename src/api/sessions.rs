//! `/api/v1/sessions`: the sessions that clients have open.

use axum::extract::State;
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Answer, Api, ok,
    routes::{About, Routes},
};
use crate::{call_context::OpenSession, text::moment};

/// Limit: sessions in one answer.
const MOST: usize = 500;

pub(super) fn routes() -> Routes {
    let about = About::new(
        "listSessions",
        "The sessions that clients have open, the one that sent something last first; at most 500.",
    );
    Routes::new().get("/api/v1/sessions", list, about.gives::<OpenSessions>())
}

/// An open session.
#[derive(Serialize, JsonSchema)]
struct SessionRow {
    /// The client's name and version, as it says.
    #[serde(skip_serializing_if = "Option::is_none")]
    client: Option<String>,
    /// The revision of MCP that was agreed on.
    revision: &'static str,
    /// `http`, `sse` or `stdio`.
    transport: &'static str,
    /// The path of its endpoint.
    endpoint: String,
    /// Who opened it.
    caller: String,
    /// Since when it is open here (RFC 3339).
    opened: String,
    /// When its client last sent something (RFC 3339).
    last_seen: String,
}

impl From<OpenSession> for SessionRow {
    fn from(session: OpenSession) -> Self {
        Self {
            client: session.client,
            revision: session.revision.as_str(),
            transport: session.transport,
            endpoint: session.endpoint,
            caller: session.caller,
            opened: moment::utc(session.opened),
            last_seen: moment::utc(session.last_seen),
        }
    }
}

/// Clients' sessions.
#[derive(Serialize, JsonSchema)]
struct OpenSessions {
    /// How many are open.
    open: usize,
    /// Which.
    sessions: Vec<SessionRow>,
}

async fn list(State(api): State<Api>) -> Answer {
    ok(&OpenSessions {
        open: api.count_sessions(),
        sessions: (api.0.list_sessions)(MOST)
            .into_iter()
            .map(SessionRow::from)
            .collect(),
    })
}
