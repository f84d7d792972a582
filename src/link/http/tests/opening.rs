//! How a session is opened.

use super::{
    Client,
    odd_server::{OddServer, Seen, empty, in_session, json, open_events, typed},
};
use crate::link::LinkError;

#[tokio::test]
async fn a_login_that_is_missing_is_told_by_its_status() {
    let server = OddServer::start(|_| async { typed(401, "text/plain", "who?") }).await;
    let client = Client::to(&server.url);
    let refused = client.initialize().await.err();
    for refused in [refused, client.call(1, "x").await.err()] {
        assert!(
            matches!(refused, Some(LinkError::Status { status: 401, .. })),
            "{refused:?}"
        );
    }
}

#[tokio::test]
async fn a_refused_initialize_bears_its_status_and_opens_nothing() {
    let server = OddServer::start(|seen: Seen| async move {
        if seen.mentions("initialize") {
            empty(404)
        } else {
            empty(500)
        }
    })
    .await;
    let client = Client::to(&server.url);
    let refused = client.initialize().await;
    assert!(
        matches!(refused, Err(LinkError::Status { status: 404, .. })),
        "{refused:?}"
    );
    assert_eq!(client.link.shared.session().number, 0);
}

#[tokio::test]
async fn the_session_comes_from_the_answer_to_initialize_only() {
    let mut server =
        OddServer::after_handshake(|seen| in_session("another", json(200, &seen.answer("{}"))))
            .await;
    let client = Client::opened(&server.url).await;
    let initialized = server.sees("notifications/initialized").await;
    assert_eq!(initialized.session(), Some("s1"));
    assert_eq!(
        initialized.header("mcp-protocol-version"),
        Some("2025-06-18")
    );
    for _ in 0..2 {
        client.result(1, "x").await.expect("an answer");
        assert_eq!(server.sees("tools/call").await.session(), Some("s1"));
    }
}

#[tokio::test]
async fn an_initialize_answered_over_a_stream_opens_the_session() {
    let mut server = OddServer::start(|seen: Seen| async move {
        match seen.what().as_str() {
            "initialize" => {
                let answer = seen.answer(r#"{"protocolVersion":"2025-03-26"}"#);
                let response = open_events([format!("event: message\ndata: {answer}\n\n")]);
                in_session("s7", response)
            }
            _ => seen.handshake().expect("nothing else is sent"),
        }
    })
    .await;
    let _client = Client::opened(&server.url).await;
    let initialized = server.sees("notifications/initialized").await;
    assert_eq!(initialized.session(), Some("s7"));
    assert_eq!(
        initialized.header("mcp-protocol-version"),
        Some("2025-03-26")
    );
}
