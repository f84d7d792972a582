//! A session is its caller's: to everybody else it is as if it were not there, whatever they ask of it.

use http::StatusCode;
use http_body_util::BodyExt;

use super::{BOTH, EVENTS, Endpoints, JSON, open, read};

const PING: &str = r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#;
const NOTICE: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// That a stranger is answered as if the session were not there, to the byte.
async fn check_hidden(
    endpoints: &Endpoints,
    session: &str,
    request: &str,
    headers: &[(&str, &str)],
    body: &str,
) {
    let with = |session| [headers, &[("mcp-session-id", session)]].concat();
    let stranger = endpoints.answer("b", request, &with(session), body).await;
    let (status, _, said) = read(stranger).await;
    assert_eq!(status, StatusCode::NOT_FOUND, "{request}: {said}");
    let nobodys = with("no-such-session");
    let nobodys = endpoints.answer("b", request, &nobodys, body).await;
    let (unknown, _, nothing) = read(nobodys).await;
    assert_eq!((status, said), (unknown, nothing), "{request}");
}

#[tokio::test]
async fn a_session_is_nobody_elses_to_use_or_to_end() {
    let endpoints = Endpoints::new();
    let session = open(&endpoints, "a", "2025-06-18").await;
    for body in [PING, NOTICE] {
        check_hidden(&endpoints, &session, "POST /mcp", &[JSON, BOTH], body).await;
    }
    check_hidden(&endpoints, &session, "GET /mcp", &[EVENTS], "").await;
    check_hidden(&endpoints, &session, "DELETE /mcp", &[], "").await;
    let its = [JSON, BOTH, ("mcp-session-id", &session)];
    let (status, ..) = read(endpoints.answer("a", "POST /mcp", &its, PING).await).await;
    assert_eq!(status, StatusCode::OK, "it is still there for its owner");
    let (status, ..) = read(endpoints.answer("a", "DELETE /mcp", &its, "").await).await;
    assert_eq!(status, StatusCode::NO_CONTENT);
}

#[tokio::test]
async fn a_lost_stream_is_nobody_elses_to_resume() {
    let endpoints = Endpoints::new();
    let session = open(&endpoints, "a", "2025-11-25").await;
    let its = [EVENTS, ("mcp-session-id", session.as_str())];
    let mut stream = endpoints
        .answer("a", "GET /mcp", &its, "")
        .await
        .into_body();
    let first = stream.frame().await.expect("an event").expect("its bytes");
    let first = first.into_data().expect("data");
    let first = String::from_utf8(first.to_vec()).expect("text");
    let id = first.lines().find_map(|line| line.strip_prefix("id: "));
    let id = id.expect("the event has an id").to_owned();
    drop(stream);
    let last = [EVENTS, ("last-event-id", id.as_str())];
    check_hidden(&endpoints, &session, "GET /mcp", &last, "").await;
    let its = [&last[..], &its[1..]].concat();
    let resumed = endpoints.answer("a", "GET /mcp", &its, "").await;
    assert_eq!(resumed.status(), StatusCode::OK);
}

#[tokio::test]
async fn nobody_else_posts_into_a_session_of_one_stream() {
    let endpoints = Endpoints::new();
    let mut stream = endpoints
        .answer("a", "GET /sse", &[EVENTS], "")
        .await
        .into_body();
    let first = stream.frame().await.expect("an event").expect("its bytes");
    let first = first.into_data().expect("data");
    let first = String::from_utf8(first.to_vec()).expect("text");
    let address = first.lines().find_map(|line| line.strip_prefix("data: "));
    let post = format!("POST {}", address.expect("an address"));
    let (status, _, said) = read(endpoints.answer("b", &post, &[JSON], PING).await).await;
    assert_eq!(status, StatusCode::NOT_FOUND, "{said}");
    let unknown = endpoints.answer("b", "POST /mcp?session_id=x", &[JSON], PING);
    let (_, _, nothing) = read(unknown.await).await;
    assert_eq!(said, nothing);
    let (status, ..) = read(endpoints.answer("a", &post, &[JSON], PING).await).await;
    assert_eq!(status, StatusCode::ACCEPTED);
}
