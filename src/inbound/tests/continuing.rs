//! Sessions that another daemon opened: to whom they go on, and what no id gets.

use http::StatusCode;

use super::{BOTH, EVENTS, Endpoints, JSON, open, read, session_ids};
use crate::{
    inbound::sessions::Sessions,
    sessions::{
        sealing::{Agreement, Bound, MAX_SESSION_ID},
        session_records::{LIFETIME, SessionRecords, now},
    },
    wire::{Raw, Revision},
};

const PING: &str = r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#;

async fn status(endpoints: &Endpoints, caller: &str, request: &str, id: &str) -> StatusCode {
    let (headers, body) = match request.split_once(' ') {
        Some(("POST", _)) => (vec![JSON, BOTH], PING),
        _ => (vec![EVENTS], ""),
    };
    let headers = [&headers[..], &[("mcp-session-id", id)]].concat();
    let answer = endpoints.answer(caller, request, &headers, body).await;
    answer.status()
}

#[tokio::test]
async fn a_session_goes_on_for_its_own_subject_only() {
    for first in ["POST /mcp", "GET /mcp", "DELETE /mcp"] {
        let (here, there) = (Endpoints::new(), Endpoints::new());
        let id = open(&here, "a", "2025-06-18").await;
        for caller in ["b", "", "A", "a "] {
            let found = status(&there, caller, first, &id).await;
            assert_eq!(found, StatusCode::NOT_FOUND, "{first} of {caller:?}");
        }
        assert_eq!(there.inbound.0.sessions.count(), 0);
        let found = status(&there, "a", first, &id).await;
        assert!(found.is_success(), "{first}: {found}");
        // Held or not, it is nobody else's.
        let found = status(&there, "b", "POST /mcp", &id).await;
        assert_eq!(found, StatusCode::NOT_FOUND);
    }
}

/// An id that opens for `a` on `/mcp`, whatever else it says.
fn sealed(expires: u32) -> String {
    let agreement = Agreement {
        revision: Revision::NEWEST_LEGACY,
        info: Raw::empty_object(),
        capabilities: Some(Raw::empty_object()),
        origin: [0; 8],
        expires,
    };
    let bound = Bound {
        endpoint: "/mcp",
        subject: "a",
    };
    let id = session_ids().seal(&agreement, bound);
    id.expect("there are random bytes")
}

#[tokio::test]
async fn an_id_is_worth_nothing_after_its_time() {
    let endpoints = Endpoints::new();
    for (expires, expected) in [
        (0, StatusCode::NOT_FOUND),
        (now() - 1, StatusCode::NOT_FOUND),
        (now(), StatusCode::NOT_FOUND),
        (now() + LIFETIME + 24 * 60 * 60, StatusCode::NOT_FOUND),
        (u32::MAX, StatusCode::NOT_FOUND),
        (now() + 60, StatusCode::OK),
        (now() + LIFETIME, StatusCode::OK),
    ] {
        let found = status(&endpoints, "a", "POST /mcp", &sealed(expires)).await;
        assert_eq!(found, expected, "{expires}");
    }
}

#[tokio::test]
async fn hostile_ids_leave_nothing_behind() {
    let endpoints = Endpoints::new();
    let id = sealed(now() + 60);
    for n in 0..500 {
        let at = n % id.len();
        let forged: String = id
            .char_indices()
            .map(|(i, c)| {
                if i == at {
                    if c == 'x' { 'y' } else { 'x' }
                } else {
                    c
                }
            })
            .collect();
        let found = status(&endpoints, "a", "POST /mcp", &forged).await;
        assert_eq!(found, StatusCode::NOT_FOUND, "{n}");
    }
    let long = "1".repeat(MAX_SESSION_ID * 2);
    let found = status(&endpoints, "a", "POST /mcp", &long).await;
    assert_eq!(found, StatusCode::NOT_FOUND);
    let sessions = &endpoints.inbound.0.sessions;
    assert_eq!((sessions.count(), sessions.restorations()), (0, 0));
    let found = status(&endpoints, "a", "POST /mcp", &id).await;
    assert_eq!(found, StatusCode::OK);
    assert_eq!((sessions.count(), sessions.restorations()), (1, 0));
}

#[tokio::test]
async fn what_clients_may_make_us_hold_bounds_what_is_continued() {
    let (here, there) = (Endpoints::new(), Endpoints::new());
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{{"protocolVersion":"2025-06-18","capabilities":{{"experimental":"{}"}},"clientInfo":{{"name":"{}","version":"1"}}}}}}"#,
        "x".repeat(2_000),
        "y".repeat(450)
    );
    let opened = here.answer("a", "POST /mcp", &[JSON, BOTH], &body).await;
    let (_, headers, _) = read(opened).await;
    let id = headers.get("mcp-session-id").expect("a session");
    let id = id.to_str().expect("text");
    let mut all = there.inbound.memory().share();
    while all.try_grow(1 << 20) {}
    let found = status(&there, "a", "POST /mcp", id).await;
    assert_eq!(found, StatusCode::SERVICE_UNAVAILABLE);
    drop(all);
    let found = status(&there, "a", "POST /mcp", id).await;
    assert_eq!(found, StatusCode::OK);
}

#[tokio::test]
async fn a_session_that_was_forgotten_goes_on_and_an_ended_one_does_not() {
    let endpoints = Endpoints::new();
    let sessions: &Sessions = &endpoints.inbound.0.sessions;
    let (forgotten, ended) = (
        open(&endpoints, "a", "2025-06-18").await,
        open(&endpoints, "a", "2025-06-18").await,
    );
    sessions.forget_all();
    assert_eq!(sessions.count(), 0);
    let found = status(&endpoints, "a", "DELETE /mcp", &ended).await;
    assert_eq!(found, StatusCode::NO_CONTENT);
    for (id, expected) in [
        (&forgotten, StatusCode::OK),
        (&ended, StatusCode::NOT_FOUND),
    ] {
        let found = status(&endpoints, "a", "POST /mcp", id).await;
        assert_eq!(found, expected);
    }
    assert_eq!(
        SessionRecords::default().origin(),
        [0; 8],
        "as `sealed` has it"
    );
}
