//! `/api/v1/sessions`: the sessions that clients have open.

use std::time::Duration;

use axum::extract::State;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Answer, Api, Route, Routes, ok};
use crate::{call_context::OpenSession, text::moment};

/// Limit: sessions in one answer.
pub(super) const MOST: usize = 500;

/// After so long without a message a client may be gone: some never end their sessions.
const SILENCE: Duration = Duration::from_mins(5);

pub(super) fn routes() -> Routes {
    vec![
        Route::get("/api/v1/sessions", list)
            .about(
                "listSessions",
                "The open sessions of clients, most recently active first; at most 500.",
            )
            .gives::<OpenSessions>(),
    ]
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
    /// Whether its client has no stream open, waits for no answer, and has sent nothing for 5 min.
    silent: bool,
}

impl From<OpenSession> for SessionRow {
    fn from(session: OpenSession) -> Self {
        // If the clock was set back, no time has passed.
        let silence = session.last_seen.elapsed().unwrap_or_default();
        Self {
            silent: !session.is_attended && silence >= SILENCE,
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
    let sessions = (api.0.list_sessions)(MOST).into_iter();
    ok(&OpenSessions {
        open: api.count_sessions(),
        sessions: sessions.map(SessionRow::from).collect(),
    })
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;
    use crate::wire::Revision;

    #[test]
    fn a_client_is_silent_that_neither_listens_nor_sends() {
        let check = |is_attended: bool, silence: Duration, expected: bool| {
            let last_seen = SystemTime::now() - silence;
            let row = SessionRow::from(OpenSession {
                client: None,
                revision: Revision::NEWEST_LEGACY,
                transport: "http",
                endpoint: "/mcp".to_owned(),
                caller: "anonymous".to_owned(),
                opened: last_seen,
                last_seen,
                is_attended,
            });
            assert_eq!(row.silent, expected);
        };
        check(false, SILENCE, true);
        check(false, SILENCE / 2, false);
        check(true, SILENCE * 2, false);
    }
}
