//! A session is its caller's: to everybody else it is as if it were not there, whatever they ask of it.

use http::StatusCode;
use http_body_util::BodyExt;

use super::{Endpoints, read};

const JSON: (&str, &str) = ("content-type", "application/json");
const BOTH: (&str, &str) = ("accept", "application/json, text/event-stream");
const EVENTS: (&str, &str) = ("accept", "text/event-stream");
const PING: &str = r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#;
const NOTICE: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

fn initialize(revision: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{{"protocolVersion":"{revision}","capabilities":{{}},"clientInfo":{{"name":"c","version":"1"}}}}}}"#
    )
}

/// The id of a session that this caller opens.
async fn open(endpoints: &Endpoints, caller: &str, revision: &str) -> String {
    let opening = initialize(revision);
    let answer = endpoints.answer(caller, "POST /mcp", &[JSON, BOTH], &opening);
    let (status, headers, body) = read(answer.await).await;
    assert_eq!(status, StatusCode::OK, "{body}");
    let id = headers.get("mcp-session-id").expect("a session");
    id.to_str().expect("text").to_owned()
}

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
