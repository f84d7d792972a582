//! `/api/v1/sessions`: the sessions that clients have open.

use axum::extract::State;
use schemars::JsonSchema;
use serde::Serialize;

use super::{About, Answer, Api, Routes, ok};
use crate::{call_context::OpenSession, text::moment};

/// Limit: sessions in one answer.
const MOST: usize = 500;

pub(super) fn routes() -> Routes {
    let about = About::new(
        "listSessions",
        "The open sessions of clients, most recently active first; at most 500.",
    );
    Routes::new().get("/api/v1/sessions", list, about.gives::<OpenSessions>())
}

/// An open session.
#[derive(Serialize, JsonSchema)]
struct SessionRow {
    /// The client's name and version, as it gives them.
    #[serde(skip_serializing_if = "Option::is_none")]
    client: Option<String>,
    /// The agreed revision of MCP.
    revision: &'static str,
    /// `http`, `sse` or `stdio`.
    transport: &'static str,
    /// The path of its endpoint.
    endpoint: String,
    /// The caller.
    caller: String,
    /// When it was opened, or continued by this daemon (RFC 3339).
    opened: String,
    /// When its client last sent a message (RFC 3339).
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

/// The open sessions of clients.
#[derive(Serialize, JsonSchema)]
struct OpenSessions {
    /// The number of open sessions.
    open: usize,
    /// The sessions.
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
